"""The AUC with a confidence interval, and the comparison of two AUCs on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from treerank._input.types import Floats, Label

from ._input import BinarySample, check_binary, check_level
from ._parameter_docs import insert_shared_docs
from ._proportion import normal_quantile, wilson_for_share
from ._structural import Spread, interval_within_unit, spread_of_mean
from ._ties import tie_groups


@dataclass(frozen=True, slots=True)
class AucInterval:
    """An AUC with its confidence interval."""

    auc: float
    lower: float
    upper: float
    standard_error: float
    level: float


@dataclass(frozen=True, slots=True)
class AucComparison:
    """Two AUCs on the same rows: `difference = auc1 - auc2`, its interval and p-value."""

    auc1: float
    auc2: float
    difference: float
    lower: float
    upper: float
    p_value: float
    standard_error: float
    level: float


@insert_shared_docs
def auc_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> AucInterval:
    """AUC with DeLong's confidence interval, in O(n log n).

    The variance is that of the two means of placements, where a row's placement is the share of the
    other class that it is ranked correctly against [1]_. The interval is built on the logit scale,
    which keeps it within (0, 1), with Satterthwaite's degrees of freedom, which matter if one class
    has few rows.

    If DeLong's variance cannot be used (a perfect, reversed or constant score, or a class with
    fewer than two effective rows), Wilson's interval is used with the upper bound
    `auc (1 - auc) / m` on the variance, where m is the effective size of the smaller class [2]_:
    the sample contains m disjoint pairs, which say no less about the AUC than m tosses say about a
    coin. The width is never zero.

    Parameters
    ----------
    {y}
    {s}
    sample_weight : array-like of shape (n,), optional
        *Sampling* weights: how many cases of the population a row stands for. A row is one
        observation whatever its weight, so multiplying all weights by a constant changes nothing,
        and uneven weights widen the interval. For frequency weights (rows that were observed
        several times) the AUC is the same, but the rows must be repeated to get their interval.
    {level}
    {pos_label}

    Returns
    -------
    AucInterval
        `auc`, `lower`, `upper`, `standard_error`, `level`. If the bound is used, the standard error
        is half the width of the interval divided by the normal quantile.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson (1988), "Comparing the areas under two or more
       correlated receiver operating characteristic curves", Biometrics 44.
    .. [2] Birnbaum and Klose (1957), "Bounds for the variance of the Mann-Whitney statistic",
       Annals of Mathematical Statistics 28.

    Examples
    --------
    >>> from treerank.metrics import auc_interval
    >>> found = auc_interval([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> round(found.auc, 3), round(found.lower, 3), round(found.upper, 3)
    (0.889, 0.088, 0.998)
    """
    level = check_level(level)
    sample = check_binary(y, s, sample_weight, pos_label)
    placement = placements(sample)
    auc = mean_placement(sample, placement)
    spread = spread_of_mean(placement - auc, sample.code, sample.weight)
    lower, upper, error = interval_within_unit(auc, spread, level)
    return AucInterval(auc, lower, upper, error, level)


@insert_shared_docs
def compare_auc(
    y: ArrayLike,
    s1: ArrayLike,
    s2: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> AucComparison:
    """Compare the AUCs of two scores on the same rows: difference, interval and p-value.

    This is DeLong's paired comparison: the variance is that of the differences between a row's two
    placements, so what the scores have in common cancels. Interval and test agree: 0 lies outside
    the interval exactly when `p_value < 1 - level`.

    If these differences have no spread, as for two scores that rank all rows alike, the interval
    does not claim certainty: it allows for up to `q = z^2 / (m + z^2)` of all pairs to differ
    (Wilson's limit after none of m disjoint pairs did).

    Parameters
    ----------
    {y}
    s1, s2 : array-like of shape (n,)
        The two scores; higher is better.
    {sampling_weights}
    {level}
    {pos_label}

    Returns
    -------
    AucComparison
        `auc1`, `auc2`, `difference`, `lower`, `upper`, `p_value`, `standard_error`, `level`.

    Examples
    --------
    >>> from treerank.metrics import compare_auc
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [5, 2, 7, 1, 4, 6, 3, 8])
    >>> round(found.difference, 3), round(found.p_value, 3)
    (0.25, 0.372)
    """
    level = check_level(level)
    first = check_binary(y, s1, sample_weight, pos_label, name="s1")
    second = check_binary(y, s2, sample_weight, pos_label, name="s2")
    placement1, placement2 = placements(first), placements(second)
    auc1, auc2 = mean_placement(first, placement1), mean_placement(second, placement2)
    difference = auc1 - auc2
    deviation = placement1 - placement2 - difference
    spread = spread_of_mean(deviation, first.code, first.weight)
    lower, upper, error, p_value = difference_limits(difference, spread, level)
    return AucComparison(auc1, auc2, difference, lower, upper, p_value, error, level)


def placements(sample: BinarySample) -> Floats:
    """Return the share of the other class that each row is ranked correctly against; ties: 1/2."""
    as_positive, as_negative = both_placements(sample)
    return np.where(sample.positive, as_positive, as_negative)


def both_placements(sample: BinarySample) -> tuple[Floats, Floats]:
    """Return the placement that each row has, or would have, as a positive and as a negative."""
    order, group = tie_groups(sample.score)
    positive, weight = sample.positive[order], sample.weight[order]
    at_positive = np.bincount(group, weights=np.where(positive, weight, 0.0))
    at_negative = np.bincount(group, weights=np.where(positive, 0.0, weight))
    below_positive, below_negative = np.cumsum(at_positive), np.cumsum(at_negative)
    beats = (below_negative - at_negative / 2) / below_negative[-1]
    beaten = (below_positive[-1] - below_positive + at_positive / 2) / below_positive[-1]
    found = np.empty((2, order.size))
    found[:, order] = beats[group], beaten[group]
    return found[0], found[1]


def mean_placement(sample: BinarySample, placement: Floats) -> float:
    """Return the AUC: the mean placement of the positives."""
    auc = np.average(placement[sample.positive], weights=sample.weight[sample.positive])
    return float(np.clip(auc, 0.0, 1.0))


def difference_limits(
    difference: float, spread: Spread, level: float
) -> tuple[float, float, float, float]:
    """Return lower limit, upper limit, standard error and p-value of a difference of AUCs."""
    m, z = spread.smaller_class, normal_quantile(level)
    if not spread.is_unusable:
        half = spread.half_width(level)
        lower, upper, error = difference - half, difference + half, spread.error
        p_value = 2 * stdtr(spread.freedom, -abs(difference) / error)
    elif m < 2:
        # A single row has no spread: use the bound for the mean of m values in [-1, 1].
        lower, upper = (2 * w - 1 for w in wilson_for_share((1 + difference) / 2, m, level))
        error = (upper - lower) / (2 * z)
        p_value = 2 * ndtr(-abs(difference) * np.sqrt(m))
    else:
        # No spread: a share q of all pairs may still take any value in [-1, 1].
        q = z * z / (m + z * z)
        lower, upper = difference - q * (1 + difference), difference + q * (1 - difference)
        error = q / z
        p_value = 2 * ndtr(-np.sqrt(m * abs(difference)))
    return max(lower, -1.0), min(upper, 1.0), error, float(min(p_value, 1.0))
