"""The distance between two ROC curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treerank._input.types import Floats

# The knots of a curve: false and true positive rates.
Curve = tuple[Floats, Floats]

# Cumulative shares may miss 0 and 1 by rounding.
_ROUNDING = 1e-9


def roc_distance(a: Sequence[Any], b: Sequence[Any], norm: str = "sup") -> float:
    """Distance between two ROC curves, as functions of the false positive rate.

    Both are piecewise linear, so the largest gap and the area between them are computed exactly
    from the knots. At a vertical segment, the limits from both sides count.

    Parameters
    ----------
    a, b : (fpr, tpr) or (fpr, tpr, thresholds)
        The curves, from (0, 0) to (1, 1), as `sklearn.metrics.roc_curve` returns them.
    norm : {"sup", "l1"}, default="sup"
        Largest gap, or area between the curves.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from treerank.metrics import roc_distance
    >>> chance = ([0, 1], [0, 1])
    >>> perfect = ([0, 0, 1], [0, 1, 1])
    >>> roc_distance(chance, perfect), roc_distance(chance, perfect, norm="l1")
    (1.0, 0.5)
    """
    if norm not in ("sup", "l1"):
        raise ValueError(f"Got norm={norm!r}; expected 'sup' or 'l1'.")
    first, second = _check_curve(a, "a"), _check_curve(b, "b")
    grid = np.union1d(first[0], second[0])
    left, right = grid[:-1], grid[1:]
    gap_left = right_limit(first, left) - right_limit(second, left)
    gap_right = left_limit(first, right) - left_limit(second, right)
    if norm == "sup":
        return float(max(np.abs(gap_left).max(), np.abs(gap_right).max()))
    return float(np.sum((right - left) * _mean_absolute(gap_left, gap_right)))


def _check_curve(curve: Sequence[Any], name: str) -> Curve:
    if len(curve) not in (2, 3):
        raise ValueError(f"Got {len(curve)} arrays in {name}; expected a pair (fpr, tpr).")
    fpr, tpr = (np.asarray(values, dtype=np.float64) for values in curve[:2])
    if fpr.ndim != 1 or fpr.shape != tpr.shape or fpr.size < 2:
        raise ValueError(
            f"Got {name} of shapes {fpr.shape} and {tpr.shape}; expected fpr and tpr of one "
            "length, at least 2."
        )
    for values, which in ((fpr, "fpr"), (tpr, "tpr")):
        if not np.all(np.diff(values) >= -_ROUNDING):
            raise ValueError(f"Got {which} of {name} that decreases or is NaN; sort the knots.")
        if abs(values[0]) > _ROUNDING or abs(values[-1] - 1) > _ROUNDING:
            raise ValueError(
                f"Got {which} of {name} from {values[0]} to {values[-1]}; expected 0 to 1."
            )
    fpr, tpr = np.maximum.accumulate(fpr), np.maximum.accumulate(tpr)
    fpr[0] = tpr[0] = 0.0
    fpr, tpr = np.minimum(fpr, 1.0), np.minimum(tpr, 1.0)
    fpr[-1] = tpr[-1] = 1.0
    return fpr, tpr


def right_limit(curve: Curve, at: Floats) -> Floats:
    """Value of the curve just right of each abscissa."""
    # Among equal abscissae np.interp takes the last ordinate: the top of a vertical segment.
    return np.interp(at, *curve)


def left_limit(curve: Curve, at: Floats) -> Floats:
    """Value of the curve just left of each abscissa."""
    fpr, tpr = curve
    return np.interp(-at, -fpr[::-1], tpr[::-1])


def _mean_absolute(left: Floats, right: Floats) -> Floats:
    """Mean of |g| on an interval where g is linear with the given end values."""
    size = np.abs(left) + np.abs(right)
    crossing = (left * right < 0) & (size > 0)
    mean = size / 2
    mean[crossing] = (left[crossing] ** 2 + right[crossing] ** 2) / (2 * size[crossing])
    return mean
