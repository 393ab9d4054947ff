"""Groups of rows with equal scores, the basis of all ranking metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats, Indices

from ._input import BinarySample


def tie_groups(score: NDArray[Any]) -> tuple[Indices, Indices]:
    """Sort by score and number the groups of equal scores, lowest score first.

    Returns
    -------
    order : the rows in increasing order of their score.
    group : the group of each row *in that order*, counted from 0.
    """
    order = np.argsort(score)
    ranked = score[order]
    group = np.zeros(ranked.size, dtype=np.intp)
    np.cumsum(ranked[1:] != ranked[:-1], out=group[1:])
    return order, group


def group_weights(group: Indices, code: Indices, weight: Floats, n_classes: int) -> Floats:
    """Return the weight of each class (row) in each group (column)."""
    n_groups = int(group[-1]) + 1
    weights = np.bincount(
        code * n_groups + group, weights=weight, minlength=n_classes * n_groups
    ).astype(np.float64, copy=False)
    return weights.reshape(n_classes, n_groups)


def class_weights(
    score: NDArray[Any], code: Indices, weight: Floats, n_classes: int
) -> tuple[NDArray[Any], Floats]:
    """Return the distinct scores, lowest first, and the weight of each class (row) at each."""
    order, group = tie_groups(score)
    first = np.ones(group.size, dtype=bool)
    first[1:] = group[1:] != group[:-1]
    return score[order[first]], group_weights(group, code[order], weight[order], n_classes)


def auc_of_checked(score: NDArray[Any], code: Indices, weight: Floats) -> float:
    """Return the AUC of rows of two classes that have been checked, which would take far longer."""
    _, (negative, positive) = class_weights(score, code, weight, 2)
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / positive.sum() / negative.sum())


def cumulated_weights(sample: BinarySample) -> tuple[Floats, Floats, NDArray[Any]]:
    """Return the negative and the positive weight above each cut and the thresholds, best first.

    Weights start at 0; entry i > 0 counts the rows with a score of at least `thresholds[i - 1]`.
    """
    thresholds, weights = class_weights(sample.score, sample.code, sample.weight, 2)
    above = np.zeros((2, thresholds.size + 1))
    np.cumsum(weights[:, ::-1], axis=1, out=above[:, 1:])
    return above[0], above[1], thresholds[::-1]


def roc_knots(sample: BinarySample) -> tuple[Floats, Floats, NDArray[Any]]:
    """Return the knots of the ROC curve from (0, 0) to (1, 1) and the thresholds, best first.

    At knot i > 0, rows with a score of at least `thresholds[i - 1]` are predicted positive. Between
    knots the curve is straight, which counts tied pairs as one half.
    """
    negative, positive, thresholds = cumulated_weights(sample)
    return negative / negative[-1], positive / positive[-1], thresholds
