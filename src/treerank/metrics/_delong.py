"""The AUC with an interval, and two AUCs on the same rows compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from ._input import BinarySample, FloatArray, check_binary, check_level
from ._proportion import normal_quantile, wilson_for_share
from ._ties import tie_groups

# Equal placements come out equal to the last bit or two; a standard error below this is zero.
_NO_SPREAD = 1e-14


@dataclass(frozen=True, slots=True)
class AucInterval:
    """An AUC with its confidence interval."""

    auc: float
    lower: float
    upper: float
    standard_error: float
    level: float


def auc_interval(
    y: Any,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Any = None,
) -> AucInterval:
    """AUC with DeLong's confidence interval, in O(n log n).

    The variance is that of the two means of placements, a row's placement being the share of the
    other class it is ranked correctly against [1]_. The interval is built on the logit scale,
    which keeps it within (0, 1) and lets it lean towards 1/2 where the AUC is high.

    Where DeLong's variance is of no use (a perfect, reversed or constant score, or a class with
    fewer than two effective rows) its upper bound `auc (1 - auc) / m`, m the effective size of the
    smaller class [2]_, takes its place in Wilson's interval: the sample holds m disjoint pairs, and
    says about the AUC no less than m tosses do about a coin. The width is never zero.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes; the higher one is positive.
    s : array-like of shape (n,)
        Scores, higher is better.
    sample_weight : array-like of shape (n,), optional
        *Sampling* weights: how many cases of the population a row stands for. A row is one
        observation whatever its weight, so multiplying all weights by a constant changes nothing,
        and uneven weights widen the interval. For rows that were observed several times
        (frequency weights) the AUC is the same, but repeat the rows to get their interval.
    level : float, default=0.95
        Confidence level.
    pos_label : label, optional
        The positive class, where it is not the higher one.

    Returns
    -------
    AucInterval
        `auc`, `lower`, `upper`, `standard_error`, `level`. Where the bound is used, the standard
        error is half the interval's width over the normal quantile.

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
    (0.889, 0.261, 0.995)
    """
    level = check_level(level)
    sample = check_binary(y, s, sample_weight, pos_label)
    placement = placements(sample)
    auc = _mean_placement(sample, placement)
    smaller = _smaller_class_size(sample)
    error = float(np.sqrt(_covariance(sample, placement - auc, placement - auc)))
    z = normal_quantile(level)
    if smaller < 2 or error < _NO_SPREAD:
        lower, upper = wilson_for_share(auc, smaller, level)
        return AucInterval(auc, lower, upper, (upper - lower) / (2 * z), level)
    half = z * error / (auc * (1 - auc))
    lower, upper = expit(logit(auc) - half), expit(logit(auc) + half)
    return AucInterval(auc, float(lower), float(upper), error, level)


def placements(sample: BinarySample) -> FloatArray:
    """Share of the other class that each row is ranked correctly against, ties counted 1/2."""
    order, group = tie_groups(sample.score)
    positive, weight = sample.positive[order], sample.weight[order]
    at_positive = np.bincount(group, weights=np.where(positive, weight, 0.0))
    at_negative = np.bincount(group, weights=np.where(positive, 0.0, weight))
    below_positive, below_negative = np.cumsum(at_positive), np.cumsum(at_negative)
    beats = (below_negative - at_negative / 2) / below_negative[-1]
    beaten = (below_positive[-1] - below_positive + at_positive / 2) / below_positive[-1]
    placement = np.empty(order.size)
    placement[order] = np.where(positive, beats[group], beaten[group])
    return placement


def _mean_placement(sample: BinarySample, placement: FloatArray) -> float:
    auc = np.average(placement[sample.positive], weights=sample.weight[sample.positive])
    return float(np.clip(auc, 0.0, 1.0))


def _smaller_class_size(sample: BinarySample) -> float:
    """Kish's effective number of rows of the class that has fewer."""
    sides = (sample.weight[sample.positive], sample.weight[~sample.positive])
    return float(min(w.sum() ** 2 / (w @ w) for w in sides))


def _covariance(sample: BinarySample, first: FloatArray, second: FloatArray) -> float:
    """DeLong's covariance of two AUCs from the deviations of the placements from their means.

    The two classes are independent, so their parts add up. A class with weights w adds
    `sum w^2 d1 d2 / ((sum w)^2 - sum w^2)`, which for equal weights is S/n with S over n - 1.
    """
    total = 0.0
    for side in (sample.positive, ~sample.positive):
        weight = sample.weight[side]
        weight = weight / weight.sum()
        squared = weight * weight
        spread = 1.0 - squared.sum()
        if spread > 0:
            total += float(np.sum(squared * first[side] * second[side])) / spread
    return max(total, 0.0) if first is second else total
