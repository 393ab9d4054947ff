"""Metrics for the top of a ranking with intervals, and the comparison of two scores there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.parameters import is_whole
from treerank._input.types import Floats, Indices, Label

from ._delong import AucInterval, difference_limits
from ._input import BinarySample, check_binary, check_level, check_rate
from ._parameter_docs import insert_shared_docs
from ._partial import check_region, partial_placements
from ._proportion import normal_quantile, rows_per_weight, wilson_for_share
from ._structural import interval_within_unit, spread_of_mean
from ._ties import cumulated_weights, tie_groups
from ._top import local_auc_of

MEASURES = ("local_auc", "partial_auc", "precision", "recall", "lift")


@dataclass(frozen=True, slots=True)
class TopInterval:
    """A measure of the top of a ranking with its confidence interval."""

    value: float
    lower: float
    upper: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class TopMeasures:
    """Precision, recall and lift of the top of a ranking.

    `rate` is the share of the rows in the top, `base_rate` the share of positives among all rows.
    """

    precision: TopInterval
    recall: TopInterval
    lift: TopInterval
    rate: float
    base_rate: float
    level: float


@dataclass(frozen=True, slots=True)
class TopComparison:
    """Comparison of two scores on the same rows by one measure: `difference = value1 - value2`."""

    measure: str
    value1: float
    value2: float
    difference: float
    lower: float
    upper: float
    p_value: float
    standard_error: float
    level: float


@insert_shared_docs
def local_auc_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    rate: float = 0.1,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> AucInterval:
    """Local AUC with a confidence interval, in O(n log n).

    The measure is that of `local_auc_score`. The variance is that of the two means of placements,
    as for the AUC, plus one term, because the end of the top is itself estimated from these rows.
    The effect of moving the end depends on the share of positives next to it.

    Parameters
    ----------
    {y}
    {s}
    {rate}
    {sampling_weights}
    {level}
    {pos_label}

    Returns
    -------
    AucInterval
        `auc` (the local one), `lower`, `upper`, `standard_error`, `level`.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import local_auc_interval
    >>> y = np.repeat([0, 1], 200)
    >>> s = np.random.default_rng(0).normal(size=400) + y
    >>> found = local_auc_interval(y, s, rate=0.2)
    >>> round(found.auc, 3), round(found.lower, 3), round(found.upper, 3)
    (0.303, 0.268, 0.341)
    """
    level, rate = check_level(level), check_rate(rate)
    sample = check_binary(y, s, sample_weight, pos_label)
    auc, deviation = _local_placements(sample, rate)
    spread = spread_of_mean(deviation, sample.code, sample.weight)
    return AucInterval(auc, *interval_within_unit(auc, spread, level), level)


@insert_shared_docs
def top_measures(
    y: ArrayLike,
    s: ArrayLike,
    *,
    rate: float = 0.1,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> TopMeasures:
    """Precision, recall and lift of the top of a ranking, with confidence intervals.

    Precision is the share of positives in the top, recall the share of all positives that are in
    the top, and lift the precision divided by the share of positives among all rows. If a tie
    crosses the end of the top, its rows share the remaining places in proportion. The intervals are
    Wilson's, for the effective number of rows that gives the sampling variance, which includes the
    variance of the end of the top.

    Parameters
    ----------
    {y}
    {s}
    {rate}
    k : int, optional
        Number of rows in the top; used instead of `rate` if given.
    {sampling_weights}
    {level}
    {pos_label}

    Returns
    -------
    TopMeasures
        `precision`, `recall`, `lift`, each with `value`, `lower`, `upper` and `standard_error`;
        `rate`, `base_rate`, `level`.

    Examples
    --------
    >>> from treerank.metrics import top_measures
    >>> found = top_measures([0, 0, 0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 5, 6, 7, 8], k=4)
    >>> found.precision.value, round(found.recall.value, 3), round(found.lift.value, 3)
    (0.5, 0.667, 1.333)
    """
    level = check_level(level)
    sample = check_binary(y, s, sample_weight, pos_label)
    rate = check_rate(rate) if k is None else _rate_of(k, sample)
    top = _top_of(sample, rate)
    inside = sample.weight * top.inside
    in_top = inside.sum() * rows_per_weight(inside[inside > 0])
    of_class = sample.weight[sample.positive]
    found = {}
    for name, size in (
        ("precision", in_top),
        ("recall", of_class.sum() * rows_per_weight(of_class)),
    ):
        value, deviation = _share_deviations(sample, rate, name, top)
        error = spread_of_mean(deviation, _one_sample(sample), sample.weight).error
        found[name] = _share_interval(value, error, size, level)
    recall = found["recall"]
    lift = TopInterval(
        *(float(v) / rate for v in (recall.value, recall.lower, recall.upper,
                                    recall.standard_error))
    )  # fmt: skip
    return TopMeasures(found["precision"], recall, lift, rate, top.base_rate, level)


@insert_shared_docs
def compare_top(
    y: ArrayLike,
    s1: ArrayLike,
    s2: ArrayLike,
    *,
    measure: str = "local_auc",
    rate: float = 0.1,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> TopComparison:
    """Compare two scores on the same rows at the top: difference, interval and p-value.

    This is a paired test, like `compare_auc` for the whole ranking: the variance is that of the
    difference between a row's contributions to the two measures, so what the scores have in common
    cancels. Interval and test agree: 0 lies outside the interval exactly when
    `p_value < 1 - level`.

    Parameters
    ----------
    {y}
    s1, s2 : array-like of shape (n,)
        The two scores; higher is better.
    measure : {"local_auc", "partial_auc", "precision", "recall", "lift"}, default="local_auc"
        The measure to compare.
    rate : float in (0, 1], default=0.1
        Share of rows that counts as the top; for "partial_auc", the largest false positive rate.
    {sampling_weights}
    {level}
    {pos_label}

    Returns
    -------
    TopComparison
        `measure`, `value1`, `value2`, `difference`, `lower`, `upper`, `p_value`,
        `standard_error`, `level`.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import compare_top
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.2
    >>> s1, s2 = rng.normal(size=(2, 2000)) + np.array([[2.0], [1.0]]) * y
    >>> found = compare_top(y, s1, s2, measure="lift", rate=0.05)
    >>> round(found.difference, 2), found.p_value < 0.001
    (1.77, True)
    """
    level, rate = check_level(level), check_rate(rate)
    if measure not in MEASURES:
        raise ValueError(f"Got measure={measure!r}; expected one of {', '.join(MEASURES)}.")
    samples = [
        check_binary(y, s, sample_weight, pos_label, name=name)
        for name, s in (("s1", s1), ("s2", s2))
    ]
    (value1, one), (value2, other) = (_deviations(sample, measure, rate) for sample in samples)
    first = samples[0]
    by_class = measure in ("local_auc", "partial_auc")
    code = first.code if by_class else _one_sample(first)
    spread = spread_of_mean(one - other, code, first.weight)
    if not by_class:  # the bounds need the size of the smaller class, not of the whole sample
        smaller = spread_of_mean(one, first.code, first.weight).smaller_class
        spread = replace(spread, smaller_class=smaller)
    limits = difference_limits(value1 - value2, spread, level)
    scale = 1 / rate if measure == "lift" else 1.0
    lower, upper, error = (scale * limit for limit in limits[:3])
    value1, value2 = scale * value1, scale * value2
    return TopComparison(
        measure, value1, value2, value1 - value2, lower, upper, limits[3], error, level
    )


class _Top(NamedTuple):
    """The top of a ranking: its end on the ROC curve, and each row's position relative to it."""

    fpr: float
    tpr: float
    base_rate: float
    share_at_end: float  # share of positives among the rows next to the end
    inside: Floats  # share of each row that is in the top
    ahead_negative: Floats  # rates at which the row's tie group begins ...
    ahead_positive: Floats
    until_negative: Floats  # ... and ends
    until_positive: Floats


def _top_of(sample: BinarySample, rate: float) -> _Top:
    negative, positive, _ = cumulated_weights(sample)
    called = negative + positive
    total, end = called[-1], rate * called[-1]
    # The effect of moving the end depends on the rows next to it, in a window that shrinks as the
    # number of rows grows.
    reach = min(total * sample.weight.size ** (-1 / 3) / 2, end, total - end)
    hits = np.interp([end - reach, end, end + reach], called, positive)
    share_at_end = (hits[2] - hits[0]) / (2 * reach) if reach > 0 else hits[1] / end
    order, group = tie_groups(sample.score)
    place = np.empty(order.size, dtype=np.intp)
    place[order] = group[-1] - group  # counted from the best
    inside = np.clip((end - called[place]) / (called[place + 1] - called[place]), 0.0, 1.0)
    n, p = negative[-1], positive[-1]
    return _Top(
        float(np.interp(end, called, negative) / n), float(hits[1] / p), float(p / total),
        float(share_at_end), inside, negative[place] / n, positive[place] / p,
        negative[place + 1] / n, positive[place + 1] / p,
    )  # fmt: skip


def _local_placements(sample: BinarySample, rate: float) -> tuple[float, Floats]:
    """Return the local AUC, and each row's deviation from the mean of its class."""
    top = _top_of(sample, rate)
    inside = top.inside
    as_positive = inside * (
        1 - top.ahead_negative - inside * (top.until_negative - top.ahead_negative) / 2
    )
    across = top.ahead_positive + inside * (top.until_positive - top.ahead_positive)
    as_negative = inside * (top.ahead_positive + across) / 2 + (1 - inside) * top.tpr
    placement = np.where(sample.positive, as_positive, as_negative)
    # The end of the top moves such that the top keeps its share of the rows.
    odds = np.where(sample.positive, 1.0, (1 - top.base_rate) / top.base_rate)
    placement -= (1 - top.fpr) * top.share_at_end * odds * inside
    for here in (sample.positive, ~sample.positive):
        placement[here] -= np.average(placement[here], weights=sample.weight[here])
    return local_auc_of(sample, rate), placement


def _share_deviations(
    sample: BinarySample, rate: float, measure: str, top: _Top
) -> tuple[float, Floats]:
    """Return precision or recall at a rate, and the influence of each row on it."""
    hit = top.inside * (sample.positive - top.share_at_end)
    recall = top.tpr
    if measure == "precision":
        value = min(recall * top.base_rate / rate, 1.0)
        deviation = hit / rate
    else:
        value = recall
        deviation = (hit - recall * sample.positive) / top.base_rate
    return value, deviation - np.average(deviation, weights=sample.weight)


def _deviations(sample: BinarySample, measure: str, rate: float) -> tuple[float, Floats]:
    if measure == "local_auc":
        return _local_placements(sample, rate)
    if measure == "partial_auc":
        return partial_placements(sample, check_region(0.0, rate))
    return _share_deviations(sample, rate, measure, _top_of(sample, rate))


def _share_interval(value: float, error: float, size: float, level: float) -> TopInterval:
    """Return Wilson's interval for the number of rows implied by `error`, or `size` without one."""
    if error > 0 and 0 < value < 1:
        size = value * (1 - value) / error**2
    lower, upper = wilson_for_share(value, size, level)
    if not (error > 0 and 0 < value < 1):
        error = (upper - lower) / (2 * normal_quantile(level))
    return TopInterval(float(value), lower, upper, float(error))


def _one_sample(sample: BinarySample) -> Indices:
    """Return one class for all rows, for measures of a single sample."""
    return np.zeros(sample.weight.size, dtype=np.intp)


def _rate_of(k: Any, sample: BinarySample) -> float:
    n_rows = sample.weight.size
    if not is_whole(k) or not 1 <= k <= n_rows:
        raise ValueError(f"Got k={k!r}; expected an integer from 1 to {n_rows}, the rows.")
    return int(k) / n_rows
