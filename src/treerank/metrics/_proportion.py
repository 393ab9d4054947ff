"""Confidence intervals for proportions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from treerank._input.types import Floats

from ._input import check_level
from ._parameter_docs import insert_shared_docs


def normal_quantile(level: float) -> float:
    """Return the z with P(-z < N(0, 1) < z) = level."""
    return float(ndtri(0.5 + check_level(level) / 2))


@insert_shared_docs
def wilson_interval(successes: ArrayLike, total: ArrayLike, level: float = 0.95) -> tuple[Any, Any]:
    """Wilson's interval for a proportion, such as an event rate or a false positive rate.

    Wilson's interval inverts the score test, so it stays within [0, 1], never has zero width, and
    keeps its level down to a handful of rows, where the textbook interval fails.

    Parameters
    ----------
    successes : array-like of float, between 0 and `total`
        Number of events; may be fractional (weighted rows with an effective size).
    total : array-like of float, >= 0
        Number of rows. If it is 0, nothing is known and the interval is [0, 1].
    {level}

    Returns
    -------
    lower, upper : float or ndarray
        The limits, with the broadcast shape of the inputs.

    References
    ----------
    Wilson (1927), "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22.

    Examples
    --------
    >>> from treerank.metrics import wilson_interval
    >>> lower, upper = wilson_interval(0, 10)
    >>> print(lower, round(upper, 3))
    0.0 0.278
    """
    z = normal_quantile(level)
    k = np.asarray(successes, dtype=np.float64)
    n = np.asarray(total, dtype=np.float64)
    if not (np.all(np.isfinite(n)) and np.all(n >= 0)):
        raise ValueError(f"Got total={total!r}; expected numbers >= 0.")
    if not np.all((k >= 0) & (k <= n)):
        raise ValueError(f"Got successes={successes!r}; expected numbers from 0 to total.")
    lower, upper = _wilson(k / np.maximum(n, np.finfo(float).tiny), n, z)
    return lower[()], upper[()]


def _wilson(share: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    centre = share * n + z * z / 2
    half = z * np.sqrt(share * (1 - share) * n + z * z / 4)
    # At a share of 0 or 1, centre and half are equal up to rounding: return exactly 0 or 1.
    lower = np.where(share <= 0, 0.0, np.maximum(centre - half, 0.0) / (n + z * z))
    upper = np.where(share >= 1, 1.0, np.minimum((centre + half) / (n + z * z), 1.0))
    return np.where(n > 0, lower, 0.0), np.where(n > 0, upper, 1.0)


def wilson_for_share(share: float, n: float, level: float) -> tuple[float, float]:
    """Return Wilson's interval for a share observed in `n` effective rows."""
    lower, upper = _wilson(np.asarray(share), np.asarray(n), normal_quantile(level))
    return float(lower), float(upper)


def weighted_share_limits(
    part: ArrayLike, total: ArrayLike, per_weight: float, level: float
) -> tuple[Any, Any]:
    """Return Wilson's interval for a share of weight, with so many rows per unit of weight.

    Rounding of weighted sums may put a part above its total.
    """
    whole = np.asarray(total, dtype=np.float64) * per_weight
    return wilson_interval(np.minimum(np.asarray(part) * per_weight, whole), whole, level)


def newcombe_limits(
    share: float, limits: tuple[float, float], base: float, base_limits: tuple[float, float]
) -> tuple[float, float]:
    """Return limits of the difference of two independent shares from the limits of each.

    With Wilson's limits, it is method 10 of Newcombe (1998), Statistics in Medicine 17.
    """
    (low, high), (base_low, base_high) = limits, base_limits
    difference = share - base
    lower = difference - np.hypot(share - low, base_high - base)
    upper = difference + np.hypot(high - share, base - base_low)
    return float(lower), float(upper)


def rows_per_weight(weight: Floats) -> float:
    """Return Kish's effective number of rows per unit of sampling weight."""
    return float(weight.sum() / (weight @ weight))
