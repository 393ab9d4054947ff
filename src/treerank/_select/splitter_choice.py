"""Choose how deep the trees inside the cells are, and which labels, by the held-out AUC.

A depth of 1 sees one feature at a time, and cannot begin where two matter only together; a deeper
LeafRank can, but needs more rows. Each depth is grown, pruned and shrunk as it would be if it were
the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treerank._select.pruning import Chosen

DEPTHS = (1, 2, 3, 4)
# Rows at most on which depths are compared; what is chosen is then grown on all.
RACE_ROWS = 20_000
# Held-out AUCs closer than this, in standard errors of the best, are taken as equal.
SIMPLER_SLACK = 0.5
# The same where labels are soft: these bring out what single tests cannot see.
SOFT_SIMPLER_SLACK = 1.0
# By how many of its standard errors the tree of the labels themselves has to be better on held-out
# rows than that of soft labels.
OWN_LABELS_SLACK = 0.5
# Added to the noise limit of deeper trees: the best of several is more often good by chance.
DEEPER_LIMIT = 1.0


@dataclass(frozen=True)
class SplitterChoice:
    """Depths of LeafRank that were compared, and how they did.

    Attributes
    ----------
    depths : tuple of int
    heldout_auc : tuple of float
        Of the pruned tree of each depth; VUS beyond two classes.
    heldout_std_error : tuple of float
    n_leaves : tuple of int
        Strata of the pruned tree of each depth.
    chosen : int
        The depth that `fit` has taken.
    """

    depths: tuple[int, ...]
    heldout_auc: tuple[float, ...]
    heldout_std_error: tuple[float, ...]
    n_leaves: tuple[int, ...]
    chosen: int


def choose_depth(
    depths: tuple[int, ...], chosen_by_depth: list[Chosen], slack: float
) -> SplitterChoice:
    """Take the smallest depth whose tree ranks held-out rows as well as the best.

    As well: within `slack` standard errors, by what is in the focus, which without one is the AUC.
    """
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


def prefers_own_labels(soft: Chosen | None, own: Chosen | None = None) -> bool:
    """Whether a tree grown to the labels themselves is to be preferred to one of soft labels.

    It is if it ranks held-out rows clearly better; and where a pruned tree of the labels makes no
    error in training, there is no noise that soft labels could take away.
    """
    if soft is None or own is None:
        return False
    slack = OWN_LABELS_SLACK
    if own.path.train_auc[own.path.chosen] >= 1.0 - 1e-12:
        slack = -1.0
    return own.top >= soft.top + slack * own.top_std_error
