"""The optimal way to merge ranges of a score into grades, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats

TOLERANCE = 1e-9  # for shares of the rows


@dataclass(frozen=True)
class GradeLimits:
    """Constraints on the grades.

    Attributes
    ----------
    max_grades : int
    min_share, max_share : float
        Smallest and largest share of the rows in one grade.
    z : float
        Number of standard errors by which the mean class of a grade must exceed that of the grade
        below; at 0, any excess is enough.
    rows_per_weight : float
        Effective number of rows per unit of weight.
    """

    max_grades: int
    min_share: float
    max_share: float
    z: float
    rows_per_weight: float


def best_cuts(counts: Floats, limits: GradeLimits) -> list[int] | None:
    """Return where to cut ranges, lowest first, so that the grades keep most of the AUC.

    Parameters
    ----------
    counts : array of shape (n_ranges, n_classes)
        Weight of each class in each range of the score.
    limits : GradeLimits

    Returns
    -------
    list of int or None
        Indices of the ranges that begin a grade, except the first; None if the limits cannot be
        met. With several classes, the AUC is the mean over pairs of classes.

    Notes
    -----
    The AUC of the grades is a sum over grades, in which the term of a grade depends only on the
    rows below it and in it, and the test compares two neighbours. So the best grades up to a
    border, the last of which begins at a given range, can be combined with any grades above that
    differ from the last one: a table over (begin, end) of the last grade, filled grade by grade,
    contains the optimum.
    """
    ranges = _Segments(counts, limits)
    n = len(counts)
    worth = np.full((n + 1, n + 1), -np.inf)  # best value of grades up to j, the last from i to j
    worth[0] = np.where(ranges.fits[0], ranges.gain[0], -np.inf)
    best, ending, steps = worth[0, n], (0, 0), []
    for n_grades in range(2, min(limits.max_grades, n) + 1):
        worth, came_from = ranges.add_grade(worth)
        steps.append(came_from)
        last = int(np.argmax(worth[:, n]))
        # Another grade must add more than rounding errors.
        if worth[last, n] > best + 1e-12:
            best, ending = worth[last, n], (n_grades, last)
        if not np.isfinite(worth).any():
            break
    return None if not np.isfinite(best) else _follow(steps, n, *ending)


def _follow(steps: list[NDArray[np.intp]], n: int, n_grades: int, last: int) -> list[int]:
    """Return the borders of the best grades, traced back from the last one."""
    cuts, end = [], n
    for came_from in reversed(steps[: max(n_grades - 1, 0)]):
        cuts.append(last)
        last, end = int(came_from[last, end]), last
    return cuts[::-1]


class _Segments:
    """Every run of neighbouring ranges as a possible grade: from range i up to before j."""

    def __init__(self, counts: Floats, limits: GradeLimits) -> None:
        self.limits = limits
        below = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
        inside = below[np.newaxis] - below[:, np.newaxis]
        forward = np.triu(np.ones(inside.shape[:2], dtype=bool), k=1)
        inside *= forward[..., np.newaxis]
        self.gain = _pairs_won(below, inside)
        weight = inside.sum(axis=2)
        share = weight / below[-1].sum()
        self.fits = (
            forward
            & (weight > 0)
            & (share >= limits.min_share - TOLERANCE)
            & (share <= limits.max_share + TOLERANCE)
        )
        self.rows = weight * limits.rows_per_weight
        code = np.arange(counts.shape[1])
        known = np.where(weight > 0, weight, 1.0)
        self.mean, self.square = inside @ code / known, inside @ code**2 / known

    def add_grade(self, worth: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Add one more grade on top of the best ones so far."""
        n = len(worth) - 1
        more = np.full_like(worth, -np.inf)
        came_from = np.zeros(worth.shape, dtype=np.intp)
        for j in range(1, n):
            if not np.isfinite(worth[:j, j]).any():
                continue
            joined = np.where(self._differ(j), worth[:j, j, np.newaxis], -np.inf)
            came_from[j, j + 1 :] = np.argmax(joined, axis=0)
            value = joined.max(axis=0) + self.gain[j, j + 1 :]
            more[j, j + 1 :] = np.where(self.fits[j, j + 1 :], value, -np.inf)
        return more, came_from

    def _differ(self, j: int) -> NDArray[np.bool_]:
        """Whether the grade from i to j is clearly below the one from j to l, for all i and l.

        Pearson's test of two proportions or, for several classes, of two mean classes: the variance
        is that of both grades together.
        """
        n1, n2 = self.rows[:j, j, np.newaxis], self.rows[np.newaxis, j, j + 1 :]
        m1, m2 = self.mean[:j, j, np.newaxis], self.mean[np.newaxis, j, j + 1 :]
        total = np.maximum(n1 + n2, 1e-300)
        square = (n1 * self.square[:j, j, np.newaxis] + n2 * self.square[j, j + 1 :]) / total
        mean = (n1 * m1 + n2 * m2) / total
        variance = np.maximum(square - mean * mean, 0.0)
        known = (n1 > 0) & (n2 > 0)
        error = np.sqrt(variance * (1 / np.where(n1 > 0, n1, 1) + 1 / np.where(n2 > 0, n2, 1)))
        return np.asarray(known & (m2 - m1 > 1e-12) & (m2 - m1 >= self.limits.z * error))


def _pairs_won(below: Floats, inside: Floats) -> Floats:
    """Return what a grade adds to the mean AUC of all pairs of classes.

    It adds half of its own pairs, and all pairs of its rows with rows of lower classes below it.
    """
    totals = below[-1]
    n_classes = len(totals)
    pair = np.triu(np.ones((n_classes, n_classes)), k=1) / np.outer(totals, totals)
    pair /= n_classes * (n_classes - 1) / 2
    won: Any = np.einsum("ijb,ia,ab->ij", inside, below, pair, optimize=True)
    tied: Any = np.einsum("ija,ijb,ab->ij", inside, inside, pair, optimize=True)
    return np.asarray(won + tied / 2)
