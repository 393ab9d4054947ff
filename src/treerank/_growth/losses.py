"""Losses of boosting: first and second derivatives by the score of each row.

A row's own weight is left out: the core multiplies by it, in whole numbers, so that a row of
weight w is w rows to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from treerank._growth.pairwise_logistic import pairwise_logistic_newton

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Loss = Callable[
    [FloatArray, IntArray, FloatArray, int, Executor | None], tuple[FloatArray, FloatArray]
]

# Rows whose derivatives are computed at once: what is between stays in the cache.
ROWS_AT_ONCE = 16384

# Scores apart by more than this give pairs of no weight beside the others.
LARGEST_EXPONENT = 300.0
# So small a sum over pairs means that all are in order.
LEAST_SUM = 1e-200


def logistic(
    scores: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
    threads: Executor | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Minus the log-likelihood of two classes, the score being the log-odds."""
    first, second = np.empty_like(scores), np.empty_like(scores)

    def derive(start: int) -> None:
        rows = slice(start, start + ROWS_AT_ONCE)
        share = expit(scores[rows])
        np.subtract(share, rank[rows], out=first[rows])
        np.multiply(share, 1 - share, out=second[rows])

    blocks = range(0, len(scores), ROWS_AT_ONCE)
    if threads is None or len(blocks) == 1:
        for start in blocks:
            derive(start)
    else:
        list(threads.map(derive, blocks))  # NumPy lets go of Python's lock
    return first, second


def pairwise(
    scores: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
    threads: Executor | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Mean of ``log(1 + exp(s_j - s_i))`` over the pairs of rank i above rank j.

    Times half the weight of all rows, so that derivatives are as large as those of `logistic`.
    """
    first, second = pairwise_logistic_newton(scores, rank, weight, n_classes)
    factor = weight.sum() / (2 * _weight_of_pairs(rank, weight, n_classes))
    return factor * first, factor * second


def rankboost(
    scores: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
    threads: Executor | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Log of the sum of ``exp(s_j - s_i)`` over pairs, RankBoost's loss, scaled as `pairwise`.

    The weight of a pair is a product of one factor a row, so that sums over the classes below
    and above do for all pairs.
    """
    centre = (scores.max() + scores.min()) / 2
    up = np.exp(np.clip(scores - centre, -LARGEST_EXPONENT, LARGEST_EXPONENT))
    of_class = [np.bincount(rank, weight * weight_sum, n_classes) for weight_sum in (up, 1 / up)]
    below = (np.cumsum(of_class[0]) - of_class[0])[rank] / up  # pairs this row should win
    above = (of_class[1].sum() - np.cumsum(of_class[1]))[rank] * up  # and those it should lose
    factor = weight.sum() / (2 * max(np.sum(weight * below), LEAST_SUM))
    return factor * (above - below), factor * (above + below)


LOSSES: dict[str, Loss] = {"logistic": logistic, "pairwise": pairwise, "rankboost": rankboost}


def start_score(loss: str, rank: IntArray, weight: FloatArray) -> float:
    """Return the best constant: the log-odds; no pairwise loss depends on a constant."""
    return float(logit(np.average(rank, weights=weight))) if loss == "logistic" else 0.0


def _weight_of_pairs(rank: IntArray, weight: FloatArray, n_classes: int) -> float:
    of_class = np.bincount(rank, weight, n_classes)
    return float(of_class.sum() ** 2 - (of_class**2).sum()) / 2
