"""Losses of boosting: first and second derivatives by the score of each row.

A row's own weight is left out: the core multiplies by it, in whole numbers, so that a row of
weight w is w rows to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from treerank._growth.exact_sums import ExactSums
from treerank._growth.pairwise_logistic import pairwise_logistic_newton
from treerank._input.focus import Focus

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
UnitArray = NDArray[np.int64]
Loss = Callable[[FloatArray, IntArray, FloatArray, int], tuple[FloatArray, FloatArray]]

# Scores apart by more than this give pairs of no weight beside the others.
LARGEST_EXPONENT = 300.0
# So small a sum over pairs means that all are in order.
LEAST_SUM = 1e-200
# The soft top: how far beyond the focus it ends, how many log-odds its edge is wide, and what a row
# far below weighs at least, so that both classes always weigh something.
TOP_REACH, TOP_WIDTH, LEAST_MEMBER = 4.0, 1.0, 1e-6
# Newton's method for the constants of cuts.
NEWTON_STEPS, NEWTON_TOLERANCE, LARGEST_STEP, LEAST_CURVATURE = 20, 1e-4, 2.0, 1e-9


def pairwise(
    scores: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    n_classes: int,
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

    The top reaches four times as far as the focus, so that rows below it can rise into it. For a
    range of false positive rates all positives count, and the end is a place among the negatives.
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

    def __init__(self, rank: IntArray, units: UnitArray | None, n_classes: int) -> None:
        self.rank, self.units = rank, units
        self.cuts = Cuts(class_units(rank, units, n_classes))

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives by the scores."""
        cuts = self.cuts
        cuts.follow(lambda some: cut_sums(scores, self.rank, self.units, some, cuts.sums))
        return cut_derivatives(scores, self.rank, cuts.constants, cuts.importance)


# Numbers of cuts, and the constants that are added to scores.
CutConstants = list[tuple[int, float]]


class Cuts:
    """The cuts between classes: what each counts, and its constant."""

    def __init__(self, units_of_class: UnitArray) -> None:
        self.total = int(units_of_class.sum())
        shares = (self.total - np.cumsum(units_of_class)[:-1]) / self.total
        self.constants = logit(shares)
        self.importance = 1 / (shares * (1 - shares))
        self.importance /= self.importance.sum()
        self.sums = ExactSums(self.total)

    def follow(self, ask: Callable[[CutConstants], UnitArray]) -> None:
        """Move the constants until the mean of each cut's shares is that of the rows.

        `ask` gives what `cut_sums` gives for some cuts, over all rows.
        """
        moving = list(range(len(self.constants)))
        for _ in range(NEWTON_STEPS):
            sums = ask([(k, float(self.constants[k])) for k in moving])
            steps = {k: self._step(*pair) for k, pair in zip(moving, sums, strict=True)}
            moving = [k for k in moving if abs(steps[k]) >= NEWTON_TOLERANCE]
            for k in moving:
                self.constants[k] -= np.clip(steps[k], -LARGEST_STEP, LARGEST_STEP)
            if not moving:
                break

    def _step(self, excess: np.int64, curvature: np.int64) -> float:
        least = LEAST_CURVATURE * self.total
        return self.sums.number(excess) / max(self.sums.number(curvature), least)


def cut_sums(
    scores: FloatArray, rank: IntArray, units: UnitArray | None, cuts: CutConstants, sums: ExactSums
) -> UnitArray:
    """Sum over rows, for each cut, its shares beyond those of the rows, and its curvature."""
    found = np.empty((len(cuts), 2), dtype=np.int64)
    for i, (k, constant) in enumerate(cuts):
        share = expit(scores + constant)
        found[i] = sums.of(share - (rank > k), units), sums.of(share * (1 - share), units)
    return found


def cut_derivatives(
    scores: FloatArray, rank: IntArray, constants: FloatArray, importance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives of the losses of all cuts, by the scores."""
    first, second = np.zeros_like(scores), np.zeros_like(scores)
    for k, (constant, counts) in enumerate(zip(constants, importance, strict=True)):
        share = expit(scores + constant)
        first += counts * (share - (rank > k))
        second += counts * share * (1 - share)
    return first, second


PAIR_LOSSES: dict[str, Loss] = {"pairwise": pairwise, "rankboost": rankboost}
LOSS_NAMES = ("logistic", *PAIR_LOSSES)


def make_loss(
    name: str,
    rank: IntArray,
    weight: FloatArray,
    units: UnitArray | None,
    n_classes: int,
    focus: Focus | None = None,
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Derivatives of a loss as a function of the scores; pairs are those of the focus.

    Those of the logistic loss of two classes are taken by the core. `units` are the weights in
    whole numbers.
    """
    if name == "pairwise" and focus is not None:
        return lambda scores: top_pairs(scores, rank, weight, focus)
    if name == "logistic":
        return CumulativeLogistic(rank, units, n_classes)
    return lambda scores: PAIR_LOSSES[name](scores, rank, weight, n_classes)


def class_units(rank: NDArray[Any], units: UnitArray | None, n_classes: int) -> UnitArray:
    """Units of each class; their sum is far below 2^53."""
    return np.bincount(rank, units, n_classes).astype(np.int64)


def start_score(loss: str, units_of_class: UnitArray) -> float:
    """Return the best constant: the log-odds of two classes; other losses do not depend on it."""
    if loss != "logistic" or len(units_of_class) > 2:
        return 0.0
    return float(logit(units_of_class[1] / units_of_class.sum()))


def log_losses(scores: FloatArray, rank: NDArray[Any]) -> FloatArray:
    """Minus the log-likelihood of two classes in each row, the scores being log-odds."""
    return np.asarray(np.logaddexp(0, np.where(rank == 1, -scores, scores)))


def _weight_of_pairs(rank: IntArray, weight: FloatArray, n_classes: int) -> float:
    of_class = np.bincount(rank, weight, n_classes)
    return float(of_class.sum() ** 2 - (of_class**2).sum()) / 2
