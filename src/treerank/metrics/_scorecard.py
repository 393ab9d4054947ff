"""Metrics for credit scorecards and campaigns: KS, Gini, CAP, gains and lift, stability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc
from sklearn.metrics import auc as area

from treerank._input.frames import frame_of
from treerank._input.parameters import check_integer
from treerank._input.types import Floats, Label

from ._input import check_binary, check_weights, read_column
from ._parameter_docs import insert_shared_docs
from ._proportion import rows_per_weight, wilson_interval
from ._ties import cumulated_weights, roc_knots


@insert_shared_docs
def ks_score(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Kolmogorov-Smirnov distance: the largest `tpr - fpr` over all cut-offs.

    It is one-sided: 0 for a score that ranks all negatives first. It equals Youden's index at the
    best cut-off.

    Parameters
    ----------
    {y}
    {s}
    {weights}
    {pos_label}

    Returns
    -------
    float

    Examples
    --------
    >>> from treerank.metrics import ks_score
    >>> ks_score([0, 0, 1, 1], [1, 3, 2, 4])
    0.5
    """
    fpr, tpr, _ = roc_knots(check_binary(y, s, sample_weight, pos_label))
    return float(np.max(tpr - fpr))


@insert_shared_docs
def gini_score(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Gini coefficient, or accuracy ratio: `2 AUC - 1`, from -1 to 1.

    Parameters
    ----------
    {y}
    {s}
    {weights}
    {pos_label}

    Returns
    -------
    float

    Examples
    --------
    >>> from treerank.metrics import gini_score
    >>> gini_score([0, 0, 1, 1], [1, 3, 2, 4])
    0.5
    """
    fpr, tpr, _ = roc_knots(check_binary(y, s, sample_weight, pos_label))
    return float(2 * area(fpr, tpr) - 1)


@insert_shared_docs
def cap_curve(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> tuple[Floats, Floats]:
    """Cumulative accuracy profile (gains curve): positives found by rows taken from the top.

    Parameters
    ----------
    {y}
    {s}
    {weights}
    {pos_label}

    Returns
    -------
    rows, positives : ndarray
        Shares of all rows and of all positives at the knots, from 0 to 1, best score first.

    Examples
    --------
    >>> from treerank.metrics import cap_curve
    >>> rows, positives = cap_curve([0, 0, 1, 1], [1, 3, 2, 4])
    >>> rows
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> positives
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    negative, positive, _ = cumulated_weights(check_binary(y, s, sample_weight, pos_label))
    called = negative + positive
    return called / called[-1], positive / positive[-1]


@insert_shared_docs
def gains_table(
    y: ArrayLike,
    s: ArrayLike,
    *,
    n_bands: int = 10,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> Any:
    """Gains and lift by bands of the ranking (deciles by default), best band first.

    All bands hold the same share of the rows: if equal scores lie across a border, their rows and
    positives are divided between the bands in proportion, as if ties were broken at random.

    Parameters
    ----------
    {y}
    {s}
    n_bands : int, default=10
        Number of bands.
    sample_weight : array-like of shape (n,), optional
        Weights. Integer weights are equivalent to repeated rows, except in the intervals, which
        treat them as sampling weights (see `auc_interval`).
    level : float, default=0.95
        Confidence level of Wilson's intervals for the event rates.
    {pos_label}

    Returns
    -------
    data frame
        One row per band, with `band` (1 is best), `score_min`, `score_max`, `rows`, `events`,
        `event_rate`, `lower`, `upper`, `lift` (event rate over that of all rows),
        `cumulative_rows` and `cumulative_events` (shares: the CAP curve), `cumulative_lift` and
        `ks` (cumulative share of events minus that of non-events). Created with the first of
        pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> from treerank.metrics import gains_table
    >>> table = gains_table([0, 0, 0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8], n_bands=2)
    >>> table["event_rate"].to_list(), table["lift"].to_list()
    ([0.75, 0.0], [2.0, 0.0])
    """
    return frame_of(
        gains_columns(
            y, s, n_bands=n_bands, sample_weight=sample_weight, level=level, pos_label=pos_label
        )
    )


def gains_columns(
    y: ArrayLike,
    s: ArrayLike,
    *,
    n_bands: int,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the columns of `gains_table`, without the need for a data frame library."""
    check_integer("n_bands", n_bands, 1)
    sample = check_binary(y, s, sample_weight, pos_label)
    negative, positive, scores = cumulated_weights(sample)
    called = negative + positive
    ends = called[-1] * np.arange(1, n_bands + 1) / n_bands
    found = np.interp(ends, called, positive)
    events, rows = np.diff(found, prepend=0.0), np.diff(ends, prepend=0.0)
    events = np.clip(events, 0.0, rows)
    per_weight = rows_per_weight(sample.weight)
    lower, upper = wilson_interval(events * per_weight, rows * per_weight, level)
    rate = positive[-1] / called[-1]
    first, last = _band_scores(called, ends)
    return {
        "band": np.arange(1, n_bands + 1),
        "score_min": scores[last],
        "score_max": scores[first],
        "rows": rows,
        "events": events,
        "event_rate": events / rows,
        "lower": lower,
        "upper": upper,
        "lift": events / rows / rate,
        "cumulative_rows": ends / ends[-1],
        "cumulative_events": found / positive[-1],
        "cumulative_lift": found / ends / rate,
        "ks": found / positive[-1] - (ends - found) / negative[-1],
    }


def population_stability_index(
    expected: ArrayLike,
    actual: ArrayLike,
    *,
    n_bins: int = 10,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> float:
    """Population stability index (PSI): how far a distribution has shifted between two samples.

    The index is `sum (a - e) ln(a / e)` over bins with expected shares e and actual shares a.
    Numbers are binned at the quantiles of the expected sample; each text or category level is a
    bin, and so are missing values. A value below 0.1 is usually read as stable, above 0.25 as
    shifted. A bin that is empty in one sample counts as half a row there.

    Parameters
    ----------
    expected : array-like of shape (n,)
        Scores, or a feature, in the sample that the model was developed on.
    actual : array-like of shape (m,)
        The same variable in the new sample.
    n_bins : int, default=10
        Number of quantile bins; fewer if values repeat.
    expected_weight, actual_weight : array-like, optional
        Weights of the rows; integer weights are equivalent to repeated rows, except for bins that
        are empty in one sample.

    Returns
    -------
    float
        0 for equal shares; no upper limit.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import population_stability_index
    >>> population_stability_index(np.arange(100), np.arange(100))
    0.0
    >>> round(population_stability_index(["a", "b", "b", "b"], ["a", "a", "b", "b"]), 4)
    0.2747
    """
    weight, half_rows = _weights_by_bin(expected, actual, n_bins, expected_weight, actual_weight)
    return stability_of_counts(weight[0], weight[1], half_rows)


def stability_p_value(
    expected: ArrayLike,
    actual: ArrayLike,
    *,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> float:
    """Return the p-value of the chi-squared test that both samples have the same distribution.

    The parameters are those of :func:`population_stability_index`.
    """
    given = [(expected, expected_weight), (actual, actual_weight)]
    weights = [check_weights(weight, len(np.asarray(column))) for column, weight in given]
    counts, _ = _weights_by_bin(expected, actual, 10, *weights)
    first, second = (float(w.sum() ** 2 / (w @ w)) for w in weights)
    return shift_p_value(counts[0], counts[1], (first, second))


def _weights_by_bin(
    expected: ArrayLike,
    actual: ArrayLike,
    n_bins: int,
    expected_weight: ArrayLike | None,
    actual_weight: ArrayLike | None,
) -> tuple[Floats, tuple[float, float]]:
    """Return the weights of both samples in each bin, and half a row of each."""
    check_integer("n_bins", n_bins, 2)
    columns = _read(expected, "expected"), _read(actual, "actual")
    kinds = ["numbers" if column.dtype.kind == "f" else "text" for column in columns]
    if kinds[0] != kinds[1]:
        raise ValueError(f"Got expected of {kinds[0]} and actual of {kinds[1]}; expected one kind.")
    weights = (
        check_weights(expected_weight, columns[0].size),
        check_weights(actual_weight, columns[1].size),
    )
    if kinds[0] == "numbers":
        edges = quantile_edges(columns[0], weights[0], n_bins)
        codes = [np.where(np.isnan(c), edges.size + 1, np.searchsorted(edges, c)) for c in columns]
    else:
        levels = sorted({*columns[0], *columns[1]}, key=repr)  # None is the missing level
        code_of = {level: code for code, level in enumerate(levels)}
        codes = [np.array([code_of[level] for level in column]) for column in columns]
    size = 1 + int(max(code.max() for code in codes))
    found = [np.bincount(c, w, size) for c, w in zip(codes, weights, strict=True)]
    half_rows = float(weights[0].mean() / 2), float(weights[1].mean() / 2)
    return np.stack(found).astype(np.float64), half_rows


def stability_of_counts(expected: Floats, actual: Floats, half_rows: tuple[float, float]) -> float:
    """Return the population stability index from the weights of two samples in the same bins.

    A bin that is empty in one sample counts as half a row there.
    """
    used = (expected > 0) | (actual > 0)
    e = np.where(expected > 0, expected, half_rows[0])[used] / expected.sum()
    a = np.where(actual > 0, actual, half_rows[1])[used] / actual.sum()
    return float(np.sum((a - e) * np.log(a / e)))


def shift_p_value(expected: Floats, actual: Floats, effective: tuple[float, float]) -> float:
    """Return the p-value of the chi-squared test that two samples have the same distribution.

    `expected` and `actual` are their weights by bin, `effective` their effective numbers of rows.
    """
    n, m = effective
    e, a = expected / expected.sum() * n, actual / actual.sum() * m
    pooled = (e + a) / (n + m)
    used = pooled > 0
    if used.sum() < 2:
        return 1.0
    e, a, pooled = e[used], a[used], pooled[used]
    statistic = np.sum((e - n * pooled) ** 2 / (n * pooled) + (a - m * pooled) ** 2 / (m * pooled))
    return float(chdtrc(len(pooled) - 1, statistic))


def _band_scores(called: Floats, ends: Floats) -> tuple[Any, Any]:
    """Return the indices of the highest and the lowest score with rows in each band."""
    starts = np.append(0.0, ends[:-1])
    first = np.searchsorted(called[1:], starts, side="right")
    last = np.searchsorted(called[1:], ends, side="left")
    limit = called.size - 2
    return np.minimum(first, limit), np.minimum(last, limit)


def _read(values: ArrayLike, name: str) -> NDArray[Any]:
    column = read_column(values, name)
    is_bool = all(isinstance(value, bool) for value in column.tolist())
    return column.astype(np.float64) if is_bool else column


def quantile_edges(values: Floats, weight: Floats, n_bins: int) -> Floats:
    """Return the upper edges of all bins but the last: bin i holds edge[i-1] < x <= edge[i]."""
    known = ~np.isnan(values)
    order = np.argsort(values[known])
    ranked, weight_sum = values[known][order], np.cumsum(weight[known][order])
    if not ranked.size or weight_sum[-1] <= 0:
        raise ValueError("Got expected without a value of positive weight; expected some.")
    targets = weight_sum[-1] * np.arange(1, n_bins) / n_bins
    # Slightly below the target, so that rounding of the sums does not move an edge by one row.
    places = np.searchsorted(weight_sum, targets * (1 - 1e-12))
    return np.unique(ranked[places])
