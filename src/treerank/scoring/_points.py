"""Points: log-odds as integers on a familiar scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from treerank._input.parameters import check_number, invalid_parameter
from treerank._input.types import Floats
from treerank.metrics._calibration import check_probabilities

Whole = NDArray[np.int64]
LARGEST = 10_000_000  # a scale with more points is a mistake


@dataclass(frozen=True, kw_only=True)
class Points:
    """Scale of points: a base score at base odds, and the points that double the odds.

    `points = base_score + pdo * log2(odds / base_odds)`, rounded to integers. By default points
    rise with the score, and the odds are those of the event. With `reverse`, as in credit risk,
    where the event is a default, points fall as the score rises, and the odds are good to bad.

    Parameters
    ----------
    pdo : float, default=20
        Points that double the odds.
    base_score : float, default=600
        Points at the base odds.
    base_odds : float, default=50
        Odds at the base score: 50 is 50 to 1.
    reverse : bool, default=False
        Whether points fall as the score rises.

    Examples
    --------
    >>> from treerank.scoring import Points
    >>> scale = Points(pdo=20, base_score=600, base_odds=50, reverse=True)
    >>> scale.transform([0.01, 1 / 51, 0.2])
    array([620, 600, 527])
    >>> print(scale.odds(620))
    100.0
    """

    pdo: float = 20.0
    base_score: float = 600.0
    base_odds: float = 50.0
    reverse: bool = False

    def __post_init__(self) -> None:
        for name in ("pdo", "base_score", "base_odds"):
            least = -np.inf if name == "base_score" else 0.0
            value = check_number(name, getattr(self, name), least)
            if value == 0 and least == 0:
                raise invalid_parameter(name, getattr(self, name), "a number above 0")
            object.__setattr__(self, name, value)  # as a double
        if not isinstance(self.reverse, bool | np.bool_):
            raise invalid_parameter("reverse", self.reverse, "True or False")
        object.__setattr__(self, "reverse", bool(self.reverse))

    def transform(self, p: ArrayLike) -> Whole:
        """Return the points of probabilities of the event, as integers."""
        values = check_probabilities(p)
        if ((values <= 0) | (values >= 1)).any():
            row = int(np.argmax((values <= 0) | (values >= 1)))
            raise ValueError(
                f"Got p={values[row]:g} in row {row}; expected probabilities above 0 and below 1, "
                "which have finite odds."
            )
        return np.rint(self.exact(logit(values))).astype(np.int64)

    def exact(self, log_odds: Any) -> Floats:
        """Return the points of log-odds of the event before rounding."""
        sign = -1.0 if self.reverse else 1.0
        doublings = (sign * np.asarray(log_odds) - np.log(self.base_odds)) / np.log(2.0)
        return np.asarray(self.base_score + self.pdo * doublings)

    def odds(self, points: ArrayLike) -> Any:
        """Return the odds at the given points: of the event or, with `reverse`, of good to bad."""
        doublings = (np.asarray(points, dtype=np.float64) - self.base_score) / self.pdo
        return self.base_odds * 2.0**doublings

    def probability(self, points: ArrayLike) -> Any:
        """Return the probability of the event at the given points."""
        sign = -1.0 if self.reverse else 1.0
        return expit(sign * np.log(self.odds(points)))


def distinct_points(exact: Floats) -> Whole:
    """Return the nearest integers in the same order that differ; equal numbers stay equal.

    This is isotonic regression of the sorted values minus their ranks, rounded, plus the ranks.
    """
    from sklearn.isotonic import isotonic_regression  # noqa: PLC0415

    values, place = np.unique(exact, return_inverse=True)
    line = np.arange(len(values))
    level = np.rint(isotonic_regression(values - line)).astype(np.int64)
    return np.asarray((level + line)[place])


def check_scale(exact: Floats) -> None:
    """Raise an error if points are unreasonably large."""
    if np.abs(exact).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"Got a scale that leads to {np.abs(exact).max():,.0f} points; expected at most "
            f"{LARGEST:,}. Lower pdo or base_score."
        )
