"""Chooses the depth of the LeafRank trees, and soft or own labels, by the held-out AUC.

With a depth of 1, a split uses one feature at a time and finds nothing if two features matter only
together; a deeper LeafRank does, but needs more rows. For each depth, a tree is grown, pruned and
shrunk as if it were the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treerank._select.pruning import Chosen

DEPTHS = (1, 2, 3, 4)
# Maximum number of rows on which depths are compared; the chosen tree is then grown on all rows.
RACE_ROWS = 20_000
# Held-out AUCs that differ by less than this, in standard errors of the best, are considered equal.
SIMPLER_SLACK = 0.5
# The same for soft labels of two classes, which already reveal what single tests cannot see.
SOFT_SIMPLER_SLACK = 1.0
# The tree grown to the labels themselves must be better than the tree grown to soft labels on
# held-out rows, by this many of its standard errors.
OWN_LABELS_SLACK = 0.5
# Added to the noise limit of deeper trees: the best of several is more likely to be good by chance.
DEEPER_LIMIT = 1.0


def simpler_slack(is_soft: bool, n_classes: int) -> float:
    """Return the standard errors of the best by which the tree of a smaller depth may be worse."""
    return SOFT_SIMPLER_SLACK if is_soft and n_classes == 2 else SIMPLER_SLACK


@dataclass(frozen=True)
class SplitterChoice:
    """The depths of LeafRank that were compared, and the results.

    Attributes
    ----------
    depths : tuple of int
    heldout_auc : tuple of float
        Held-out AUC of the pruned tree for each depth; VUS for more than two classes.
    heldout_std_error : tuple of float
    n_leaves : tuple of int
        Number of strata of the pruned tree for each depth.
    chosen : int
        The depth that `fit` has chosen.
    """

    depths: tuple[int, ...]
    heldout_auc: tuple[float, ...]
    heldout_std_error: tuple[float, ...]
    n_leaves: tuple[int, ...]
    chosen: int


def may_gain_by_depth(depth: int, shallower: list[Chosen]) -> bool:
    """Whether a depth is worth trying.

    The largest depth is tried if the one before it ranks best, or if no tree was split at all.
    """
    if depth < DEPTHS[-1]:
        return True
    top = [one.top for one in shallower]
    has_splits = any(one.path.n_leaves[one.path.chosen] > 1 for one in shallower)
    return top.index(max(top)) == len(top) - 1 or not has_splits


def choose_depth(chosen_by_depth: list[Chosen], slack: float) -> SplitterChoice:
    """Choose the smallest depth whose tree ranks held-out rows as well as the best.

    This means within `slack` standard errors, measured by the AUC or, with a focus, by the local or
    partial AUC.
    """
    depths = DEPTHS[: len(chosen_by_depth)]
    paths = [one.path for one in chosen_by_depth]
    auc = np.array([path.heldout_auc[path.chosen] for path in paths])
    error = np.array([path.heldout_std_error[path.chosen] for path in paths])
    top = np.array([one.top for one in chosen_by_depth])
    best = int(np.argmax(top))
    least = top[best] - slack * chosen_by_depth[best].top_std_error
    chosen = int(np.flatnonzero(top >= least)[0])
    return SplitterChoice(
        depths,
        tuple(auc.tolist()),
        tuple(error.tolist()),
        tuple(int(path.n_leaves[path.chosen]) for path in paths),
        depths[chosen],
    )


def prefers_own_labels(soft: Chosen | None, own: Chosen | None) -> bool:
    """Whether a tree grown to the labels themselves is preferred to one grown to soft labels.

    It is preferred if it ranks held-out rows clearly better. If the pruned tree ranks the training
    rows without error, there is no noise that soft labels could remove; it then only has to be at
    most one standard error worse.
    """
    if soft is None or own is None:
        return False
    slack = OWN_LABELS_SLACK
    if own.path.train_auc[own.path.chosen] >= 1.0 - 1e-12:
        slack = -1.0
    return own.top >= soft.top + slack * own.top_std_error
