"""Losses of boosting: first and second derivatives with respect to the score of each row.

They do not include the weight of the row itself: the core multiplies by it, in integers, so that a
row of weight w is equivalent to w rows, bit for bit.
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
from treerank._input.types import Floats, Indices

UnitArray = NDArray[np.int64]
Loss = Callable[[Floats, Indices, Floats, int], tuple[Floats, Floats]]

# Pairs of scores that are further apart than this have negligible weight compared to others.
LARGEST_EXPONENT = 300.0
# If the sum over pairs is below this, all pairs are in order.
LEAST_SUM = 1e-200
# The soft top: its extent as a multiple of the focus, the width of its edge in log-odds, and the
# minimum weight of a row, so that both classes always have some weight.
TOP_REACH, TOP_WIDTH, LEAST_MEMBER = 4.0, 1.0, 1e-6
# Parameters of Newton's method for the constants of cuts.
NEWTON_STEPS, NEWTON_TOLERANCE, LARGEST_STEP, LEAST_CURVATURE = 20, 1e-4, 2.0, 1e-9


def pairwise(
    scores: Floats,
    rank: Indices,
    weight: Floats,
    n_classes: int,
) -> tuple[Floats, Floats]:
    """Derivatives of the mean of ``log(1 + exp(s_j - s_i))`` over pairs with rank i above rank j.

    The mean is multiplied by half the total weight, so that the derivatives are of the same
    magnitude as those of the logistic loss.
    """
    first, second = pairwise_logistic_newton(scores, rank, weight, n_classes)
    factor = weight.sum() / (2 * _weight_of_pairs(rank, weight, n_classes))
    return factor * first, factor * second


def top_pairs(scores: Floats, rank: Indices, weight: Floats, focus: Focus) -> tuple[Floats, Floats]:
    """`pairwise` for the top: the weight of each row is multiplied by its membership in the top.

    The memberships depend on the scores, but are treated as constants within a round.
    """
    member = soft_top(scores, rank, weight, focus)
    first, second = pairwise_logistic_newton(scores, rank, weight * member, 2)
    pairs = _weight_of_pairs(rank, weight * member, 2)
    factor = weight.sum() / (2 * pairs) * member
    return factor * first, factor * second


def soft_top(scores: Floats, rank: Indices, weight: Floats, focus: Focus) -> Floats:
    """Return the membership of each row in the top: 1/2 at its end, almost 0 far below.

    The top extends to four times the focus, so that rows below the focus can rise into it. For a
    range of false positive rates, all positives are members, and the end is a quantile of the
    negatives.
    """
    counted = np.ones(len(rank), dtype=bool) if focus.counts == "rows" else rank == 0
    order = np.argsort(-scores[counted], kind="stable")
    above = np.cumsum(weight[counted][order])
    last = np.searchsorted(above, min(TOP_REACH * focus.high, 1.0) * above[-1])
    end = scores[counted][order[min(int(last), len(order) - 1)]]
    member = np.maximum(expit((scores - end) / TOP_WIDTH), LEAST_MEMBER)
    return member if focus.counts == "rows" else np.where(rank == 0, member, 1.0)


def rankboost(
    scores: Floats,
    rank: Indices,
    weight: Floats,
    n_classes: int,
) -> tuple[Floats, Floats]:
    """Derivatives of RankBoost's loss, the log of the sum of ``exp(s_j - s_i)`` over pairs.

    They are scaled like those of `pairwise`. The weight of a pair is a product of one factor per
    row, so sums over the classes below and above are sufficient for all pairs.
    """
    centre = (scores.max() + scores.min()) / 2
    up = np.exp(np.clip(scores - centre, -LARGEST_EXPONENT, LARGEST_EXPONENT))
    of_class = [np.bincount(rank, weight * weight_sum, n_classes) for weight_sum in (up, 1 / up)]
    below = (np.cumsum(of_class[0]) - of_class[0])[rank] / up  # pairs that this row should win
    above = (of_class[1].sum() - np.cumsum(of_class[1]))[rank] * up  # pairs that it should lose
    factor = weight.sum() / (2 * max(np.sum(weight * below), LEAST_SUM))
    return factor * (above - below), factor * (above + below)


class CumulativeLogistic:
    """Weighted sum of the logistic losses of all cuts of ordered classes into two groups.

    The log-odds of "above class k" are the score plus a constant of the cut, as in the proportional
    odds model. A cut with a share U of the weight above it has weight ``1 / (U (1 - U))``, which
    puts all cuts on the scale of the AUC. The constants are updated in each round, which takes one
    or two Newton steps.
    """

    def __init__(self, rank: Indices, units: UnitArray | None, n_classes: int) -> None:
        self.rank, self.units = rank, units
        self.cuts = Cuts(class_units(rank, units, n_classes))

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the first and second derivatives with respect to the scores."""
        cuts = self.cuts
        cuts.follow(lambda some: cut_sums(scores, self.rank, self.units, some, cuts.sums))
        return cut_derivatives(scores, self.rank, cuts.constants, cuts.importance)


# Indices of cuts, and the constants that are added to scores.
CutConstants = list[tuple[int, float]]


class Cuts:
    """The cuts between classes, with their weights and constants."""

    def __init__(self, units_of_class: UnitArray) -> None:
        self.total = int(units_of_class.sum())
        shares = (self.total - np.cumsum(units_of_class)[:-1]) / self.total
        self.constants = logit(shares)
        self.importance = 1 / (shares * (1 - shares))
        self.importance /= self.importance.sum()
        self.sums = ExactSums(self.total)

    def follow(self, ask: Callable[[CutConstants], UnitArray]) -> None:
        """Update the constants until mean predicted and observed shares above each cut are equal.

        `ask` returns `cut_sums` of some cuts over all rows.
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
    scores: Floats, rank: Indices, units: UnitArray | None, cuts: CutConstants, sums: ExactSums
) -> UnitArray:
    """Return for each cut the sums over rows of (predicted - observed) and of the curvature."""
    found = np.empty((len(cuts), 2), dtype=np.int64)
    for i, (k, constant) in enumerate(cuts):
        share = expit(scores + constant)
        found[i] = sums.of(share - (rank > k), units), sums.of(share * (1 - share), units)
    return found


def cut_derivatives(
    scores: Floats, rank: Indices, constants: Floats, importance: Floats
) -> tuple[Floats, Floats]:
    """Return the derivatives of the summed losses of all cuts with respect to the scores."""
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
    rank: Indices,
    weight: Floats,
    units: UnitArray | None,
    n_classes: int,
    focus: Focus | None = None,
) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Return a function from scores to the derivatives of a loss.

    With a focus, the pairwise loss uses pairs of the top. The core computes the derivatives of the
    two-class logistic loss itself. `units` are the weights as integers.
    """
    if name == "pairwise" and focus is not None:
        return lambda scores: top_pairs(scores, rank, weight, focus)
    if name == "logistic":
        return CumulativeLogistic(rank, units, n_classes)
    return lambda scores: PAIR_LOSSES[name](scores, rank, weight, n_classes)


def class_units(rank: NDArray[Any], units: UnitArray | None, n_classes: int) -> UnitArray:
    """Return the units of each class; their sum is far below 2^53."""
    return np.bincount(rank, units, n_classes).astype(np.int64)


def start_score(loss: str, units_of_class: UnitArray) -> float:
    """Return the best constant score: the log-odds of two classes, or 0 if it has no effect."""
    if loss != "logistic" or len(units_of_class) > 2:
        return 0.0
    return float(logit(units_of_class[1] / units_of_class.sum()))


def log_losses(scores: Floats, rank: NDArray[Any]) -> Floats:
    """Return the two-class log-loss of each row; the scores are log-odds."""
    return np.asarray(np.logaddexp(0, np.where(rank == 1, -scores, scores)))


def _weight_of_pairs(rank: Indices, weight: Floats, n_classes: int) -> float:
    of_class = np.bincount(rank, weight, n_classes)
    return float(of_class.sum() ** 2 - (of_class**2).sum()) / 2
