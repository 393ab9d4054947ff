"""Rows grouped by equal scores: what every measure of a ranking starts from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._input import BinarySample, FloatArray, IntArray


def tie_groups(score: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Sort by score and number the groups of equal scores, lowest score first.

    Returns
    -------
    order : the rows in increasing order of their score.
    group : the group of each row *in that order*, counted from 0.
    """
    order = np.argsort(score)
    ranked = score[order]
    rises = np.empty(ranked.size, dtype=np.intp)
    rises[0] = 0
    np.not_equal(ranked[1:], ranked[:-1], out=rises[1:], casting="unsafe")
    return order, np.cumsum(rises)


def class_masses(
    score: NDArray[Any], code: IntArray, weight: FloatArray, n_classes: int
) -> tuple[NDArray[Any], FloatArray]:
    """Return the distinct scores, lowest first, and the weight of each class at each of them."""
    order, group = tie_groups(score)
    n_values = int(group[-1]) + 1
    cell = group * n_classes + code[order]
    masses = np.bincount(cell, weights=weight[order], minlength=n_values * n_classes)
    starts = np.searchsorted(group, np.arange(n_values))
    return score[order][starts], masses.astype(np.float64, copy=False).reshape(n_values, n_classes)


def cumulated_masses(sample: BinarySample) -> tuple[FloatArray, FloatArray, NDArray[Any]]:
    """Return the negative and the positive weight above each cut, best first, from (0, 0) on.

    Entry i > 0 counts the rows with a score of at least `thresholds[i - 1]`.
    """
    code = sample.positive.astype(np.intp)
    thresholds, masses = class_masses(sample.score, code, sample.weight, 2)
    above = np.zeros((masses.shape[0] + 1, 2))
    np.cumsum(masses[::-1], axis=0, out=above[1:])
    return above[:, 0], above[:, 1], thresholds[::-1]


def roc_knots(sample: BinarySample) -> tuple[FloatArray, FloatArray, NDArray[Any]]:
    """Return the knots of the ROC curve from (0, 0) to (1, 1) and the score of each.

    Knot i > 0 calls positive the rows with a score of at least `thresholds[i - 1]`; between knots
    the curve is straight, which counts tied pairs one half.
    """
    negative, positive, thresholds = cumulated_masses(sample)
    return negative / negative[-1], positive / positive[-1], thresholds
