"""Calibrator: calibrated probabilities that keep the order of the score."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.isotonic import isotonic_regression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from treerank._input.parameters import check_choice
from treerank._input.types import Floats, Label
from treerank._input.warn import warn
from treerank.metrics._calibration import check_probabilities, fit_logistic
from treerank.metrics._input import BinarySample, check_binary, check_scores

METHODS = ("beta", "sigmoid", "isotonic")
SCALES = ("probability", "posterior", "score")
# Below the rate of the rarer class divided by this, and symmetrically near 1, log-odds continue
# along their tangent, as probabilities of 0 and 1 have none.
ROWS_AT_EDGE = 50.0
SLOPE = 1e-3  # of the log-odds outside the steps of isotonic regression
CROSS_FOLDS = 5
MOST_LOG_ODDS = 16.0  # a probability of one in ten million
LEAST_SLOPE = 1e-6  # keeps a flat line strictly increasing


class Calibrator(BaseEstimator):
    """Turn a score into calibrated probabilities, without changing the order of any pair.

    Every method is strictly increasing, so ranking, ties and AUC do not change. Fit it to rows that
    the model was not trained on; :class:`Scorecard` does so.

    - ``"beta"`` [1]_: an intercept and separate slopes for low and for high log-odds; three
      parameters, suitable for most models.
    - ``"sigmoid"``: Platt scaling [2]_, one slope and an intercept; for few rows.
    - ``"isotonic"`` [3]_: any increasing curve, by centred isotonic regression: linear between the
      centres of the steps, where the usual one is flat, with a small slope beyond the last ones.
      For thousands of rows.

    Parameters
    ----------
    method : {"beta", "sigmoid", "isotonic"}, default="beta"
    scale : {"probability", "posterior", "score"}, default="probability"
        What is calibrated: probabilities; scores of a tree or forest of this library, which are a
        probability minus one half and may slightly leave its range; or any other score.
    population_rate : float or None, default=None
        Event rate of the population that the probabilities are for, if it differs from that of the
        given rows, as in a sample in which events are overrepresented. The log-odds are shifted by
        the difference (prior shift), which leaves the distributions within the classes unchanged.

    Attributes
    ----------
    rate_ : float
        Event rate of the given rows.
    edge_ : float
        Probability below which, and above 1 minus which, log-odds continue along their tangent.
    shift_ : float
        Shift of the log-odds; 0 without `population_rate`.
    knots_ : array of shape (2, n)
        The curve: log-odds (or scores) and their calibrated log-odds; only for ``"isotonic"``.
    coefficients_ : array of shape (3,)
        Slope of low log-odds, slope of high log-odds, intercept; not for ``"isotonic"``.
    line_ : array of shape (2,)
        Slope and intercept that first turn a score into log-odds; 1 and 0 unless the scale is
        ``"score"``. Not for ``"isotonic"``.

    References
    ----------
    .. [1] Kull, Silva Filho and Flach (2017), "Beta calibration: a well-founded and easily
       implemented improvement on logistic calibration for binary classifiers", AISTATS.
    .. [2] Platt (1999), "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods".
    .. [3] Oron and Flournoy (2017), "Centered isotonic regression: point and interval estimation
       for dose-response studies", Statistics in Biopharmaceutical Research 9.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import calibration_slope
    >>> from treerank.scoring import Calibrator
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=40_000)
    >>> y = rng.random(40_000) < 1 / (1 + np.exp(-logits))
    >>> p = 1 / (1 + np.exp(-2 * logits))  # too sure
    >>> calibrated = Calibrator().fit(p[:20_000], y[:20_000]).predict(p[20_000:])
    >>> print(round(calibration_slope(y[20_000:], p[20_000:]).slope, 1))
    0.5
    >>> print(round(calibration_slope(y[20_000:], calibrated).slope, 1))
    1.0
    """

    def __init__(
        self,
        method: str = "beta",
        *,
        scale: str = "probability",
        population_rate: float | None = None,
    ) -> None:
        self.method = method
        self.scale = scale
        self.population_rate = population_rate

    rate_: float
    edge_: float
    shift_: float
    knots_: Floats
    coefficients_: Floats
    line_: Floats

    def fit(
        self,
        p: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        pos_label: Label | None = None,
    ) -> Self:
        """Fit the calibration curve.

        Parameters
        ----------
        p : array-like of shape (n,)
            Probabilities or scores of rows that the model was not trained on.
        y : array-like of shape (n,)
            Labels of two classes; the higher one is the event.
        sample_weight : array-like of shape (n,), optional
        pos_label : label, optional
            The event, if it is not the higher class.

        Returns
        -------
        self
        """
        wanted = self.check_parameters()
        sample = check_binary(y, self._values(p), sample_weight, pos_label, name="p")
        rate = float(np.average(sample.positive, weights=sample.weight))
        edge = min(rate, 1 - rate) / ROWS_AT_EDGE
        x = self._log_odds(sample.score, edge)
        if self.method == "isotonic":
            self.knots_ = _isotonic(x, sample)
        else:
            line, straight = np.array([1.0, 0.0]), _sigmoid(x, sample)
            if self.scale == "score":
                line, straight = straight[1:], np.array([1.0, 1.0, 0.0])
            bent = _beta(line[0] * x + line[1], sample, straight) if self.method == "beta" else None
            self.line_, self.coefficients_ = line, straight if bent is None else bent
        self.rate_, self.edge_ = rate, edge
        self.shift_ = 0.0 if wanted is None else float(logit(wanted) - logit(rate))
        return self

    def check_parameters(self) -> float | None:
        """Raise an error for invalid parameters; return the event rate to shift to."""
        check_choice("method", self.method, METHODS)
        check_choice("scale", self.scale, SCALES)
        return check_population_rate(self.population_rate)

    def decision_function(self, p: ArrayLike) -> Floats:
        """Return the calibrated log-odds of the event."""
        check_is_fitted(self)
        x = self._log_odds(self._values(p), self.edge_)
        if self.method == "isotonic":
            return _bounded(_along(self.knots_, x) + self.shift_)
        x = self.line_[0] * x + self.line_[1]
        low, high, intercept = self.coefficients_
        if low == high:  # a straight line, without the rounding of two logarithms
            return _bounded(low * x + (intercept + self.shift_))
        return _bounded(_bent(x) @ [low, high] + (intercept + self.shift_))

    def predict(self, p: ArrayLike) -> Floats:
        """Return the calibrated probability of the event."""
        return np.asarray(expit(self.decision_function(p)))

    def _values(self, p: ArrayLike) -> Floats:
        if self.scale == "probability":
            return check_probabilities(p)
        values = check_scores(p, name="p").astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError("Got an infinite score in p; expected finite ones.")
        return values

    def _log_odds(self, values: NDArray[Any], edge: float) -> Floats:
        """Return the log-odds of the input; other scores are used as log-odds directly."""
        if self.scale == "score":
            return np.asarray(values, dtype=np.float64)
        return _open_logit(values + 0.5 if self.scale == "posterior" else values, edge)


def _open_logit(p: Floats, edge: float) -> Floats:
    """Return log-odds, continued by their tangent beyond the edges: rising for any number."""
    inside = np.clip(p, edge, 1 - edge)
    return np.asarray(logit(inside) + (p - inside) / (edge * (1 - edge)))


def cross_calibrate(
    calibrator: Calibrator, p: Floats, positive: NDArray[np.bool_], weight: Floats
) -> Floats:
    """Return probabilities of rows by curves fitted without them, as new rows would get."""
    counts = int(positive.sum()), int((~positive).sum())
    n_folds = min(CROSS_FOLDS, *counts)
    if n_folds < 2:
        return calibrator.predict(p)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    found = np.empty(len(p))
    for train, test in folds.split(p[:, np.newaxis], positive):
        curve = clone(calibrator).fit(p[train], positive[train], weight[train])
        found[test] = curve.predict(p[test])
    return found


def check_population_rate(rate: Any) -> float | None:
    """Check the event rate of a population; None if none is given."""
    if rate is None:
        return None
    if not isinstance(rate, int | float | np.number) or not 0 < rate < 1:
        raise ValueError(
            f"Got population_rate={rate!r}; expected a share above 0 and below 1: without events, "
            "or with nothing else, there are no odds to move to."
        )
    return float(rate)


def _bounded(log_odds: Floats) -> Floats:
    """Let log-odds rise only logarithmically beyond any that a sample could show.

    Otherwise the largest would all be rounded to a probability of 1.
    """
    inside = np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    beyond = log_odds - inside
    return np.asarray(inside + np.sign(beyond) * np.log1p(np.abs(beyond)))


def _bent(x: Floats) -> Floats:
    """Return two columns that rise with x, one below 0 and one above, as in beta calibration.

    For log-odds x of p they are log(p) and log(1 / (1 - p)).
    """
    return np.column_stack([-np.logaddexp(0.0, -x), np.logaddexp(0.0, x)])


def _sigmoid(x: Floats, sample: BinarySample) -> Floats:
    """Return one slope, used for low and for high values, and the intercept."""
    weight = sample.weight / sample.weight.mean()
    centre, spread = float(np.median(x)), max(float(np.std(x)), 1e-12)
    design = np.column_stack([np.ones(x.size), (x - centre) / spread])
    line, _ = fit_logistic(design, _smoothed(sample), weight, np.zeros(x.size))
    if line[1] <= 0:
        warn(
            "The score does not rank these rows better than chance; the calibrated probabilities "
            "are all but equal."
        )
    slope = max(line[1], LEAST_SLOPE) / spread
    return np.array([slope, slope, line[0] - slope * centre])


def _beta(x: Floats, sample: BinarySample, straight: Floats) -> Floats:
    """Return slopes of low and high log-odds and the intercept; `straight` if one does not rise."""
    weight = sample.weight / sample.weight.mean()
    design = np.column_stack([_bent(x), np.ones(x.size)])
    found, _ = fit_logistic(design, _smoothed(sample), weight, np.zeros(x.size))
    return found if min(found[:2]) > LEAST_SLOPE * max(found[:2]) else straight


def _smoothed(sample: BinarySample) -> Floats:
    """Return Platt's targets, a row short of certainty: slopes stay finite for separate classes."""
    n = sample.weight.sum() ** 2 / (sample.weight @ sample.weight)
    rate = np.average(sample.positive, weights=sample.weight)
    events, others = n * rate, n * (1 - rate)
    high, low = (events + 1) / (events + 2), 1 / (others + 2)
    return np.asarray(np.where(sample.positive, high, low))


def _isotonic(x: Floats, sample: BinarySample) -> Floats:
    """Return the centres of the steps of isotonic regression and the log-odds of their rates."""
    order = np.argsort(x, kind="stable")
    values, place = np.unique(x[order], return_inverse=True)
    weight = np.bincount(place, weights=sample.weight[order])
    events = np.bincount(place, weights=(sample.weight * sample.positive)[order])
    rate = isotonic_regression(events / weight, sample_weight=weight)
    step = np.concatenate([[0], np.cumsum(np.diff(rate) > 1e-12)])
    in_step = np.bincount(step, weights=weight)
    centre = np.bincount(step, weights=weight * values) / in_step
    share = np.bincount(step, weights=events) / in_step
    # A step with only events, or without events, is no more certain than half a row more allows.
    rows = in_step * sample.weight.sum() / (sample.weight @ sample.weight)
    inner = share[(share > 0) & (share < 1)]
    lowest, highest = (inner.min(), inner.max()) if inner.size else (0.5, 0.5)
    least, most = 0.5 / (rows + 1), 1 - 0.5 / (rows + 1)
    share = np.where(share <= 0, np.minimum(least, lowest / 2), share)
    share = np.where(share >= 1, np.maximum(most, (1 + highest) / 2), share)
    return np.vstack([centre, logit(share)])


def _along(knots: Floats, x: Floats) -> Floats:
    """Interpolate linearly between the knots, with a small slope beyond them."""
    centre, z = knots
    beyond = np.minimum(x - centre[0], 0.0) + np.maximum(x - centre[-1], 0.0)
    return np.asarray(np.interp(x, centre, z) + SLOPE * beyond)
