"""Calibration of predicted probabilities: a table, intercept and slope."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from ._input import BoolArray, FloatArray, IntArray, check_binary, check_level, check_scores
from ._proportion import normal_quantile, rows_per_weight, wilson_interval


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """Calibration of probabilities p: `logit P(y = 1) = intercept + slope * logit p`.

    `in_the_large` is the intercept at slope 1: above 0 the probabilities are too low on the whole.
    A slope below 1 says that they are too extreme (overfitting), above 1 too timid. The limits are
    pairs (lower, upper).
    """

    in_the_large: float
    in_the_large_limits: tuple[float, float]
    intercept: float
    slope: float
    slope_limits: tuple[float, float]
    level: float


def calibration_slope(
    y: Any,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    clip: float = 1e-6,
    pos_label: Any = None,
) -> CalibrationFit:
    """Calibration intercept and slope of predicted probabilities, with intervals.

    Cox's recalibration model: a logistic regression of the outcome on the logit of the predicted
    probability. Perfect calibration has slope 1 and intercept 0.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes; the higher one is positive.
    p : array-like of shape (n,)
        Predicted probabilities of the positive class.
    sample_weight : array-like of shape (n,), optional
        Sampling weights, as in `auc_interval`; standard errors are robust (sandwich).
    level : float, default=0.95
        Confidence level.
    clip : float, default=1e-6
        Probabilities are moved to at least this and at most 1 less this, as 0 and 1 have no logit.
    pos_label : label, optional
        The positive class, where it is not the higher one.

    Returns
    -------
    CalibrationFit
        Where the probabilities separate the classes, the slope is infinite; where they are all
        equal, there is none (NaN).

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
    large, large_error = _fit_logistic(np.ones((rows.x.size, 1)), rows, offset=rows.x)
    slope, error, intercept = _slope(rows)
    return CalibrationFit(
        in_the_large=float(large[0]),
        in_the_large_limits=_limits(large[0], z * large_error[0]),
        intercept=intercept,
        slope=slope,
        slope_limits=_limits(slope, z * error),
        level=level,
    )


def calibration_table(
    y: Any,
    p: ArrayLike,
    *,
    n_groups: int = 10,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Any = None,
) -> dict[str, FloatArray]:
    """Predicted against observed shares, in groups of neighbouring probabilities.

    Rows of equal probability stay together: a model of few strata has one group a stratum.
    Otherwise the groups have about equal weight.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes; the higher one is positive.
    p : array-like of shape (n,)
        Predicted probabilities of the positive class.
    n_groups : int, default=10
        Number of groups at most.
    sample_weight : array-like of shape (n,), optional
        Sampling weights, as in `auc_interval`.
    level : float, default=0.95
        Confidence level of Wilson's intervals.
    pos_label : label, optional
        The positive class, where it is not the higher one.

    Returns
    -------
    dict of str to ndarray
        Columns for a data frame, lowest probability first: `predicted` (the mean), `observed`,
        `lower`, `upper`, `rows`.

    Examples
    --------
    >>> from treerank.metrics import calibration_table
    >>> table = calibration_table([0, 0, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.8, 0.8])
    >>> table["predicted"], table["observed"]
    (array([0.2, 0.8]), array([0.25, 1.  ]))
    """
    if n_groups < 1:
        raise ValueError(f"Got n_groups={n_groups}; expected an integer >= 1.")
    level = check_level(level)
    sample = check_binary(y, check_probabilities(p), sample_weight, pos_label, name="p")
    group = _groups(sample.score, sample.weight, n_groups)
    rows = np.bincount(group, weights=sample.weight)
    predicted = np.bincount(group, weights=sample.weight * sample.score) / rows
    events = np.bincount(group, weights=sample.weight * sample.positive)
    share = rows_per_weight(sample.weight)
    lower, upper = wilson_interval(np.minimum(events, rows) * share, rows * share, level)
    columns = (predicted, events / rows, lower, upper, rows)
    return dict(zip(("predicted", "observed", "lower", "upper", "rows"), columns, strict=True))


def _groups(p: FloatArray, weight: FloatArray, n_groups: int) -> IntArray:
    values, place = np.unique(p, return_inverse=True)
    if len(values) <= n_groups:
        return place
    weight_sum = np.cumsum(np.bincount(place, weights=weight))
    # A value goes with all its rows to where the middle of them lies.
    middle = weight_sum - np.diff(weight_sum, prepend=0.0) / 2
    group = np.minimum((middle / weight_sum[-1] * n_groups).astype(np.intp), n_groups - 1)
    return np.unique(group[place], return_inverse=True)[1]


def check_probabilities(p: ArrayLike, name: str = "p") -> FloatArray:
    """Check predicted probabilities: numbers from 0 to 1."""
    values = check_scores(p, name=name).astype(np.float64, copy=False)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"Got {name}={values[row]} in row {row}; expected probabilities.")
    return values


class _Rows(NamedTuple):
    """Rows of equal logit and class as one: their weight, and the sum of their squared weights."""

    x: FloatArray
    positive: BoolArray
    weight: FloatArray
    squares: FloatArray


def _collapse(x: FloatArray, positive: BoolArray, weight: FloatArray) -> _Rows:
    """Put rows of equal logit and class together: a tree has as many as strata, times two."""
    values, place = np.unique(x, return_inverse=True)
    cell = 2 * place + positive
    sums, squares = (np.bincount(cell, weight**k).astype(np.float64) for k in (1, 2))
    used = np.flatnonzero(squares)
    return _Rows(values[used // 2], used % 2 == 1, sums[used], squares[used])


def _slope(rows: _Rows) -> tuple[float, float, float]:
    """Return slope, its standard error and the intercept."""
    x = rows.x
    inside, outside = x[rows.positive], x[~rows.positive]
    if x.min() == x.max():
        return np.nan, np.nan, np.nan
    if inside.min() >= outside.max():
        return np.inf, np.nan, np.nan
    if inside.max() <= outside.min():
        return -np.inf, np.nan, np.nan
    centre = np.average(x, weights=rows.weight)
    design = np.column_stack([np.ones(x.size), x - centre])
    found, error = _fit_logistic(design, rows, offset=np.zeros(x.size))
    return float(found[1]), float(error[1]), float(found[0] - found[1] * centre)


def _fit_logistic(
    design: FloatArray, rows: _Rows, offset: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Maximise the weighted likelihood by Newton's method with halved steps.

    Returns the coefficients and their robust standard errors.
    """
    positive, weight = rows.positive, rows.weight
    beta = np.zeros(design.shape[1])
    value = _log_loss(design @ beta + offset, positive, weight)
    for _ in range(100):
        p = expit(design @ beta + offset)
        gradient = design.T @ (weight * (positive - p))
        information = (design * (weight * p * (1 - p))[:, None]).T @ design
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        while (new := _log_loss(design @ (beta + step) + offset, positive, weight)) > value:
            step = step / 2
            if np.all(np.abs(step) < 1e-12):
                break
        beta, value = beta + step, new
        if np.all(np.abs(step) < 1e-10):
            break
    p = expit(design @ beta + offset)
    bread = np.linalg.pinv((design * (weight * p * (1 - p))[:, None]).T @ design)
    score = design * (positive - p)[:, None]
    return beta, np.sqrt(np.diag(bread @ ((score * rows.squares[:, None]).T @ score) @ bread))


def _log_loss(eta: FloatArray, positive: BoolArray, weight: FloatArray) -> float:
    return float(weight @ (np.logaddexp(0.0, eta) - positive * eta))


def _limits(value: float, half: float) -> tuple[float, float]:
    return float(value - half), float(value + half)
