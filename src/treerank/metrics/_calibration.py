"""Calibration of predicted probabilities: a table, intercept and slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from treerank._input.frames import frame_of
from treerank._input.types import Floats, Indices, Label

from ._input import BoolArray, check_binary, check_level, check_scores
from ._parameter_docs import insert_shared_docs
from ._proportion import normal_quantile, rows_per_weight, weighted_share_limits

CLIP = 1e-6  # probabilities are clipped to [CLIP, 1 - CLIP] before taking logits
CALIBRATION_COLUMNS = ("predicted", "observed", "lower", "upper", "rows")


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """Calibration of probabilities p: `logit P(y = 1) = intercept + slope * logit p`.

    `in_the_large` is the intercept at slope 1: above 0, the probabilities are too low overall. A
    slope below 1 means that they are too extreme (overfitting), above 1 that they are too cautious.
    The limits are pairs (lower, upper).
    """

    in_the_large: float
    in_the_large_limits: tuple[float, float]
    intercept: float
    intercept_limits: tuple[float, float]
    slope: float
    slope_limits: tuple[float, float]
    level: float


@insert_shared_docs
def calibration_slope(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    clip: float = CLIP,
    pos_label: Label | None = None,
) -> CalibrationFit:
    """Calibration intercept and slope of predicted probabilities, with intervals.

    This is Cox's recalibration model: a logistic regression of the outcome on the logit of the
    predicted probability. Perfect calibration has slope 1 and intercept 0.

    Parameters
    ----------
    {y}
    {p}
    sample_weight : array-like of shape (n,), optional
        Sampling weights, as in `auc_interval`; standard errors are robust (sandwich).
    {level}
    clip : float, default=1e-6
        Probabilities are clipped to [clip, 1 - clip], as 0 and 1 have no logit.
    {pos_label}

    Returns
    -------
    CalibrationFit
        If the probabilities separate the classes, the slope is infinite and the intercept NaN; if
        they are all equal, both are NaN.

    References
    ----------
    Cox (1958), "Two further applications of a model for binary regression", Biometrika 45.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import calibration_slope
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-logits))
    >>> overconfident = 1 / (1 + np.exp(-2 * logits))
    >>> round(calibration_slope(y, overconfident).slope, 1)
    0.5
    """
    level = check_level(level)
    if not 0 < clip < 0.5:
        raise ValueError(f"Got clip={clip!r}; expected a number between 0 and 0.5.")
    sample = check_binary(y, check_probabilities(p), sample_weight, pos_label, name="p")
    x = logit(np.clip(sample.score, clip, 1 - clip))
    rows = _collapse(x, sample.positive, sample.weight / sample.weight.mean())
    z = normal_quantile(level)
    large, large_spread = fit_logistic(
        np.ones((rows.x.size, 1)), rows.positive, rows.weight, rows.x, rows.squares
    )
    line, error = _line(rows)
    return CalibrationFit(
        in_the_large=float(large[0]),
        in_the_large_limits=_limits(large[0], z * np.sqrt(large_spread[0, 0])),
        intercept=float(line[0]),
        intercept_limits=_limits(line[0], z * error[0]),
        slope=float(line[1]),
        slope_limits=_limits(line[1], z * error[1]),
        level=level,
    )


@insert_shared_docs
def calibration_table(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_groups: int = 10,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> Any:
    """Predicted against observed event rates, in groups of neighbouring probabilities.

    Rows of equal probability stay together, so a model with few strata has one group per stratum.
    Otherwise the groups have about equal weight.

    Parameters
    ----------
    {y}
    {p}
    n_groups : int, default=10
        Maximum number of groups.
    {sampling_weights}
    level : float, default=0.95
        Confidence level of Wilson's intervals.
    {pos_label}

    Returns
    -------
    data frame
        One row per group, lowest probability first, with `predicted` (the mean probability),
        `observed` (the event rate), `lower`, `upper` and `rows` (the weight). Created with the
        first of pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> from treerank.metrics import calibration_table
    >>> table = calibration_table([0, 0, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.8, 0.8])
    >>> table["predicted"].to_list(), table["observed"].to_list()
    ([0.2, 0.8], [0.25, 1.0])
    """
    return frame_of(
        calibration_columns(
            y, p, n_groups=n_groups, sample_weight=sample_weight, level=level, pos_label=pos_label
        )
    )


def calibration_columns(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_groups: int,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> dict[str, Floats]:
    """Return the columns of `calibration_table`, without the need for a data frame library."""
    if n_groups < 1:
        raise ValueError(f"Got n_groups={n_groups}; expected an integer >= 1.")
    level = check_level(level)
    sample = check_binary(y, check_probabilities(p), sample_weight, pos_label, name="p")
    group = _groups(sample.score, sample.weight, n_groups)
    rows = np.bincount(group, weights=sample.weight)
    predicted = np.bincount(group, weights=sample.weight * sample.score) / rows
    events = np.bincount(group, weights=sample.weight * sample.positive)
    lower, upper = weighted_share_limits(events, rows, rows_per_weight(sample.weight), level)
    columns = (predicted, events / rows, lower, upper, rows)
    return dict(zip(CALIBRATION_COLUMNS, columns, strict=True))


def _groups(p: Floats, weight: Floats, n_groups: int) -> Indices:
    values, place = np.unique(p, return_inverse=True)
    if len(values) <= n_groups:
        return place
    weight_sum = np.cumsum(np.bincount(place, weights=weight))
    # All rows of a value go into the group in which the middle of their weight lies.
    middle = weight_sum - np.diff(weight_sum, prepend=0.0) / 2
    group = np.minimum((middle / weight_sum[-1] * n_groups).astype(np.intp), n_groups - 1)
    return np.unique(group[place], return_inverse=True)[1]


def check_probabilities(p: ArrayLike) -> Floats:
    """Check predicted probabilities: numbers from 0 to 1."""
    values = check_scores(p, name="p").astype(np.float64, copy=False)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"Got p={values[row]} in row {row}; expected probabilities.")
    return values


class _Rows(NamedTuple):
    """Rows aggregated by logit and class, with the sums of their weights and squared weights."""

    x: Floats
    positive: BoolArray
    weight: Floats
    squares: Floats


def _collapse(x: Floats, positive: BoolArray, weight: Floats) -> _Rows:
    """Aggregate rows of equal logit and class: for a tree, at most two rows per stratum."""
    values, place = np.unique(x, return_inverse=True)
    cell = 2 * place + positive
    sums, squares = (np.bincount(cell, weight**k).astype(np.float64) for k in (1, 2))
    used = np.flatnonzero(squares)
    return _Rows(values[used // 2], used % 2 == 1, sums[used], squares[used])


def _line(rows: _Rows) -> tuple[Floats, Floats]:
    """Return intercept and slope, and their standard errors."""
    x = rows.x
    inside, outside = x[rows.positive], x[~rows.positive]
    unknown = np.full(2, np.nan)
    if x.min() == x.max():
        return unknown, unknown
    if inside.min() >= outside.max():
        return np.array([np.nan, np.inf]), unknown
    if inside.max() <= outside.min():
        return np.array([np.nan, -np.inf]), unknown
    centre = np.average(x, weights=rows.weight)
    design = np.column_stack([np.ones(x.size), x - centre])
    found, spread = fit_logistic(design, rows.positive, rows.weight, np.zeros(x.size), rows.squares)
    uncentred = np.array([[1.0, -centre], [0.0, 1.0]])
    return uncentred @ found, np.sqrt(np.diag(uncentred @ spread @ uncentred.T))


def slope_alone(positive: BoolArray, p: Floats, weight: Floats | None) -> float:
    """Return only the slope of `calibration_slope`, for input that has been checked."""
    x = logit(np.clip(p, CLIP, 1 - CLIP))
    line, _ = _line(_collapse(x, positive, np.ones(len(x)) if weight is None else weight))
    return float(line[1])


def fit_logistic(
    design: Floats,
    target: Floats | BoolArray,
    weight: Floats,
    offset: Floats,
    squares: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Maximise the weighted likelihood by Newton's method with step halving.

    Targets are shares from 0 to 1; `squares` are the squared weights or, for aggregated rows, the
    sums of the squared weights. Returns the coefficients and their robust covariance.
    """
    beta = np.zeros(design.shape[1])
    value = _log_loss(design @ beta + offset, target, weight)
    for _ in range(100):
        p = expit(design @ beta + offset)
        gradient = design.T @ (weight * (target - p))
        information = (design * (weight * p * (1 - p))[:, None]).T @ design
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        while (new := _log_loss(design @ (beta + step) + offset, target, weight)) > value:
            step = step / 2
            if np.all(np.abs(step) < 1e-12):
                break
        beta, value = beta + step, new
        if np.all(np.abs(step) < 1e-10):
            break
    p = expit(design @ beta + offset)
    bread = np.linalg.pinv((design * (weight * p * (1 - p))[:, None]).T @ design)
    score = design * (target - p)[:, None]
    squares = weight**2 if squares is None else squares
    return beta, bread @ ((score * squares[:, None]).T @ score) @ bread


def _log_loss(eta: Floats, target: Floats | BoolArray, weight: Floats) -> float:
    return float(weight @ (np.logaddexp(0.0, eta) - target * eta))


def _limits(value: float, half: float) -> tuple[float, float]:
    return float(value - half), float(value + half)
