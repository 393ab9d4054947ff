"""Chooses the plan of a forest by comparing a few trees of each plan on out-of-bag rows.

The trees of all plans are grown on the same samples, so that their out-of-bag AUCs are computed on
the same rows and differ only because of the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from treerank._select.quality import held_out_qualities
from treerank._select.shrinkage import CHOOSING_ROWS

if TYPE_CHECKING:
    from treerank._growth.forest import ForestPlan, Trees
    from treerank._growth.forest_rows import ForestRows

# Trees per plan: enough to distinguish plans, but at most 1 / RACE_SHARE of the forest.
RACE_TREES, RACE_SHARE = 12, 8
# Maximum number of rows that each tree draws. With more training rows, the trees are not kept.
RACE_ROWS = 20_000


@dataclass(frozen=True)
class ForestChoice:
    """The plan that a forest has chosen, and why.

    Attributes
    ----------
    name : str
        Description of the plan.
    oob_auc : dict
        Out-of-bag AUC of every plan that was tried, with `n_trees` trees each; empty if there was
        nothing to choose.
    n_trees : int
    """

    name: str
    oob_auc: dict[str, float]
    n_trees: int


def race(
    plans: list[ForestPlan], rows: ForestRows
) -> tuple[ForestPlan, Trees | None, ForestChoice]:
    """Return the plan with the highest out-of-bag AUC, and its trees if they can be kept."""
    first = plans[0]
    n_trees = min(RACE_TREES, len(first.kind_of) // RACE_SHARE)
    whole = first.n_rows <= RACE_ROWS
    entrants = []
    for plan in plans:
        sampling = plan.sampling
        if not whole:
            sampling = replace(sampling, n_draws=min(sampling.n_draws or RACE_ROWS, RACE_ROWS))
        entrants.append(replace(plan, kind_of=plan.kind_of[:n_trees], sampling=sampling, verbose=0))
    trees = rows.grow_each(entrants)
    auc = [_out_of_bag_auc(few, own, rows) for few, own in zip(entrants, trees, strict=True)]
    best = int(np.argmax(auc))  # on ties, the first
    names = [plan.name for plan in plans]
    choice = ForestChoice(names[best], dict(zip(names, auc, strict=True)), n_trees)
    return plans[best], trees[best] if whole else None, choice


def _out_of_bag_auc(plan: ForestPlan, trees: Trees, rows: ForestRows) -> float:
    """Return the out-of-bag AUC with the best shrinkage for the plan."""
    numbers = np.arange(0, plan.n_rows, max(1, plan.n_rows // CHOOSING_ROWS))
    some = rows.unseen(trees, plan.sampling, numbers, plan.shrinkages)
    used = np.isfinite(some.means[:, 0])
    labels = some.labels[used]
    n_classes = len(rows.sizes)
    if len(np.unique(labels)) < n_classes:
        return 0.5
    weight = None if some.units is None else some.units[used]
    found = held_out_qualities(labels, some.means[used], n_classes, weight, plan.focus, rows.n_jobs)
    return float(found.max())
