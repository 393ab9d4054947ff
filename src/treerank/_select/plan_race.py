"""Chooses the plan of a forest by comparing a few trees of each plan on out-of-bag rows.

The trees of all plans are grown on the same samples, so that their out-of-bag AUCs are computed on
the same rows and differ only because of the plan. A few trees favour plans whose single trees are
good, while a forest may gain more from trees that differ from each other. The variance of a mean
over k trees is proportional to 1 / k, and the AUC that is lost by it approximately so. The AUC of
many trees is therefore extrapolated from those of two smaller numbers of trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from treerank._select.shrinkage import choosing_rows, qualities_of
from treerank._trees.packed_forest import ForestArrays

if TYPE_CHECKING:
    from treerank._growth.forest import ForestPlan, Trees
    from treerank._growth.forest_rows import ForestRows

# Trees per plan: enough to distinguish plans, but at most 1 / RACE_SHARE of the forest. With fewer
# than RACE_TREES, the AUC of many trees cannot be extrapolated.
RACE_TREES, RACE_SHARE = 24, 8
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
        Out-of-bag AUC of every plan that was tried; empty if there was nothing to choose. In
        forests of 192 trees and more, it is extrapolated to many trees, except for the plan that
        was left out after half of the `n_trees` trees.
    n_trees : int
        Number of trees of each plan that were compared.
    """

    name: str
    oob_auc: dict[str, float]
    n_trees: int


def race(
    plans: list[ForestPlan], rows: ForestRows
) -> tuple[ForestPlan, Trees | None, ForestChoice]:
    """Return the plan with the highest out-of-bag AUC, and its trees if they can be kept."""
    n_trees = min(RACE_TREES, len(plans[0].kind_of) // RACE_SHARE)
    extrapolates = n_trees == RACE_TREES
    entrants = [_with_trees(plan, n_trees // 2 if extrapolates else n_trees) for plan in plans]
    trees = rows.grow_each(entrants)
    auc = [_out_of_bag_auc(few, own, rows) for few, own in zip(entrants, trees, strict=True)]
    if extrapolates:
        worst = int(np.argmin(auc))
        for i in range(len(plans)):
            if i != worst:
                trees[i], auc[i] = _extrapolate(_with_trees(plans[i], n_trees), trees[i], rows)
    best = int(np.argmax(auc))  # on ties, the first
    names = [plan.name for plan in plans]
    choice = ForestChoice(names[best], dict(zip(names, auc, strict=True)), n_trees)
    keeps_trees = plans[best].n_rows <= RACE_ROWS
    return plans[best], trees[best] if keeps_trees else None, choice


def _with_trees(plan: ForestPlan, n_trees: int) -> ForestPlan:
    """Return the plan of a few trees that draw at most RACE_ROWS rows."""
    sampling = plan.sampling
    if plan.n_rows > RACE_ROWS:
        sampling = replace(sampling, n_draws=min(sampling.n_draws or RACE_ROWS, RACE_ROWS))
    return replace(plan, kind_of=plan.kind_of[:n_trees], sampling=sampling, verbose=0)


def _extrapolate(plan: ForestPlan, before: Trees, rows: ForestRows) -> tuple[Trees, float]:
    """Grow the rest of the trees; return them, and the out-of-bag AUC of many.

    The AUC of k trees is taken as linear in 1 / k, through a quarter of the trees and all of them.
    """
    trees = rows.grow(plan, before)
    assert isinstance(trees, ForestArrays)
    quarter = _out_of_bag_auc(plan, trees.some_trees(0, trees.n_trees // 4), rows)
    whole = _out_of_bag_auc(plan, trees, rows)
    return trees, min(1.0, whole + (whole - quarter) / 3)


def _out_of_bag_auc(plan: ForestPlan, trees: Trees, rows: ForestRows) -> float:
    """Return the out-of-bag AUC with the best shrinkage for the plan."""
    numbers = choosing_rows(plan)
    shrinkages = plan.shrinkages[::2]  # a coarse grid is enough to compare plans
    some = rows.unseen(trees, plan.sampling, numbers, shrinkages)
    found = qualities_of(some, np.ones(len(numbers), dtype=bool), rows, plan)
    return 0.5 if found is None else float(found.max())
