"""Losses of boosting: first and second derivatives by the score of each row.

A row's own weight is left out: the core multiplies by it, in whole numbers, so that a row of
weight w is w rows to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from treerank._growth.pairwise_logistic import pairwise_logistic_newton
from treerank._input.focus import Focus

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Loss = Callable[
    [FloatArray, IntArray, FloatArray, int, Executor | None], tuple[FloatArray, FloatArray]
]

# Rows whose derivatives are computed at once: what is between stays in the cache.
ROWS_AT_ONCE, MOST_ROWS_AT_ONCE = 16_384, 65_536

# Scores apart by more than this give pairs of no weight beside the others.
LARGEST_EXPONENT = 300.0
# So small a sum over pairs means that all are in order.
LEAST_SUM = 1e-200
# The soft top: how far beyond the focus it ends, how many log-odds its edge is wide, and what a row
# far below weighs at least, so that both classes always weigh something.
TOP_REACH, TOP_WIDTH, LEAST_MEMBER = 4.0, 1.0, 1e-6
# Newton's method for the constants of cuts.
NEWTON_STEPS, NEWTON_TOLERANCE, LARGEST_STEP, LEAST_CURVATURE = 20, 1e-4, 2.0, 1e-9


def logistic(
    scores: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
    threads: Executor | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Minus the log-likelihood of two classes, the score being the log-odds."""
    return Logistic(rank, threads)(scores)


class Logistic:
    """The same round after round, in the same two arrays: fresh ones cost more than the loss."""

    def __init__(self, rank: IntArray, threads: Executor | None, n_threads: int = 1) -> None:
        self.rank = rank.astype(np.float64)
        self.first, self.second = np.empty(len(rank)), np.empty(len(rank))
        self.threads = threads
        share = -(-len(rank) // n_threads)
        self.rows_at_once = min(max(share, ROWS_AT_ONCE), MOST_ROWS_AT_ONCE)

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives by the scores, until the next call."""
        blocks = range(0, len(scores), self.rows_at_once)
        if self.threads is None or len(blocks) == 1:
            for start in blocks:
                self._derive(scores, start)
        else:
            # NumPy lets go of Python's lock.
            list(self.threads.map(self._derive, repeat(scores), blocks))
        return self.first, self.second

    def _derive(self, scores: FloatArray, start: int) -> None:
        rows = slice(start, start + self.rows_at_once)
        first, second = self.first[rows], self.second[rows]
        expit(scores[rows], out=first)
        np.subtract(1, first, out=second)
        np.multiply(first, second, out=second)
        np.subtract(first, self.rank[rows], out=first)


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


def top_pairs(
    scores: FloatArray, rank: IntArray, weight: FloatArray, focus: Focus
) -> tuple[FloatArray, FloatArray]:
    """`pairwise` over the rows of the top: a pair weighs what its two rows weigh there.

    The weights follow the scores from round to round, and are taken as constants within one.
    """
    member = soft_top(scores, rank, weight, focus)
    first, second = pairwise_logistic_newton(scores, rank, weight * member, 2)
    pairs = _weight_of_pairs(rank, weight * member, 2)
    factor = weight.sum() / (2 * pairs) * member
    return factor * first, factor * second


def soft_top(scores: FloatArray, rank: IntArray, weight: FloatArray, focus: Focus) -> FloatArray:
    """How much of each row is in the top: a half at its end, almost nothing far below.

    The top reaches four times as far as the focus, so that rows can come up to it. For a range of
    false positive rates all positives count, and the end is a place among the negatives.
    """
    counted = np.ones(len(rank), dtype=bool) if focus.counts == "rows" else rank == 0
    order = np.argsort(-scores[counted], kind="stable")
    above = np.cumsum(weight[counted][order])
    last = np.searchsorted(above, min(TOP_REACH * focus.high, 1.0) * above[-1])
    end = scores[counted][order[min(int(last), len(order) - 1)]]
    member = np.maximum(expit((scores - end) / TOP_WIDTH), LEAST_MEMBER)
    return member if focus.counts == "rows" else np.where(rank == 0, member, 1.0)


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


class CumulativeLogistic:
    """Logistic losses of all ways to cut ordered classes in two, the score being common to them.

    The log-odds of "above class k" are the score and a constant of the cut, as in the model of
    proportional odds. A cut with a share U of the weight above it counts ``1 / (U (1 - U))``,
    so that each speaks of its AUC. The constants follow the scores: a Newton step or two per round.
    """

    def __init__(self, rank: IntArray, weight: FloatArray, n_classes: int) -> None:
        self.weight = weight / weight.sum()
        self.above = [(rank > k).astype(np.float64) for k in range(n_classes - 1)]
        shares = np.array([self.weight @ above for above in self.above])
        self.constants = logit(shares)
        self.importance = 1 / (shares * (1 - shares))
        self.importance /= self.importance.sum()

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives by the scores."""
        first, second = np.zeros_like(scores), np.zeros_like(scores)
        for k, (above, importance) in enumerate(zip(self.above, self.importance, strict=True)):
            share = self._shares(scores, k)
            first += importance * (share - above)
            second += importance * share * (1 - share)
        return first, second

    def _shares(self, scores: FloatArray, k: int) -> FloatArray:
        """Shares above class k, their mean being that of the rows."""
        for _ in range(NEWTON_STEPS):
            share: FloatArray = expit(scores + self.constants[k])
            excess = self.weight @ (share - self.above[k])
            step = excess / max(self.weight @ (share * (1 - share)), LEAST_CURVATURE)
            if abs(step) < NEWTON_TOLERANCE:
                break
            self.constants[k] -= np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        return share


LOSSES: dict[str, Loss] = {"logistic": logistic, "pairwise": pairwise, "rankboost": rankboost}


def make_loss(
    name: str,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
    threads: Executor | None,
    n_threads: int = 1,
    focus: Focus | None = None,
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Derivatives of a loss as a function of the scores; pairs are those of the focus."""
    if name == "pairwise" and focus is not None:
        return lambda scores: top_pairs(scores, rank, weight, focus)
    if name == "logistic":
        if n_classes > 2:
            return CumulativeLogistic(rank, weight, n_classes)
        return Logistic(rank, threads, n_threads)
    return lambda scores: LOSSES[name](scores, rank, weight, n_classes, threads)


def start_score(loss: str, rank: IntArray, weight: FloatArray, n_classes: int) -> float:
    """Return the best constant: the log-odds of two classes; other losses do not depend on it."""
    if loss != "logistic" or n_classes > 2:
        return 0.0
    return float(logit(np.average(rank, weights=weight)))


def _weight_of_pairs(rank: IntArray, weight: FloatArray, n_classes: int) -> float:
    of_class = np.bincount(rank, weight, n_classes)
    return float(of_class.sum() ** 2 - (of_class**2).sum()) / 2
