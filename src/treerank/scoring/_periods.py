"""Figures of one period: rows, events, AUC, calibration, and their comparison to the baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank.metrics import auc_interval, calibration_slope
from treerank.metrics._delong import placements
from treerank.metrics._input import BinarySample
from treerank.metrics._proportion import rows_per_weight, weighted_share_limits
from treerank.scoring._plain import known
from treerank.scoring._recalibration import fit_recalibration, on_grid, recalibrated

if TYPE_CHECKING:
    from treerank.scoring._drift import ScoredTable

MIN_EVENTS = 10  # minimum number of rows of either class for a slope


@dataclass(frozen=True)
class PeriodFigures:
    """Figures of one period; None if there are too few labels.

    Attributes
    ----------
    name : str
    rows, labelled, events : float
        Weight of all rows, of those with a label, and of the events among them.
    rate, rate_limits : float, tuple
        Event rate with Wilson's limits.
    expected_rate : float or None
        Mean predicted probability of the rows with labels.
    auc, auc_limits : float, tuple
    shift, shift_error : float
        How far the log-odds of an event are above those of the baseline, and the standard error
        while nothing has changed.
    slope, slope_limits : float, tuple
        Calibration slope.
    note : str
        What is missing, in words.
    effective : tuple of two floats
        Effective numbers of non-events and events.
    """

    name: str
    rows: float
    labelled: float
    events: float | None
    rate: float | None
    rate_limits: tuple[float, float] | None
    expected_rate: float | None
    auc: float | None
    auc_limits: tuple[float, float]
    shift: float | None
    shift_error: float | None
    slope: float | None
    slope_limits: tuple[float, float] | None
    note: str
    effective: tuple[float, float]


@dataclass(frozen=True)
class Baseline:
    """The reference for later periods.

    Attributes
    ----------
    figures : PeriodFigures
    auc, auc_error : float
    components : tuple of two floats
        Variance of the placements of non-events and of events: while nothing has changed, the AUC
        of a period with m and n of them has the variance
        ``components[0] / m + components[1] / n``.
    recalibration : tuple of two floats
        Intercept and slope on the logit scale that fit the probabilities to the baseline.
    rate : float
        Event rate, for models without probabilities.
    shift_error : float
    """

    figures: PeriodFigures
    auc: float
    auc_error: float
    components: tuple[float, float]
    recalibration: tuple[float, float]
    rate: float
    shift_error: float

    def auc_variance(self, figures: PeriodFigures) -> float:
        """Return the variance of a period's AUC while nothing has changed."""
        if figures.auc is None:
            return np.nan
        return sum(c / n for c, n in zip(self.components, figures.effective, strict=True))


def measure_baseline(rows: ScoredTable, level: float) -> Baseline:
    """Measure the rows that later periods are compared with."""
    sample = BinarySample(rows.code == 1, rows.score, rows.weight)
    placement = placements(sample)
    spreads = [_variance(placement[rows.code == k], rows.weight[rows.code == k]) for k in (0, 1)]
    effective = _effective(rows.code, rows.weight)
    # A perfect or tiny baseline shows no spread: allow for at least half a pair out of order.
    least = 0.25 / min(effective)
    components = (max(spreads[0], least), max(spreads[1], least))
    rate = float(np.average(rows.code, weights=rows.weight))
    recalibration = fit_recalibration(rows)
    p = recalibrated(rows.probability, recalibration, rate, len(rows.code))
    error = _shift(rows.code, p, rows.weight)[1]
    auc = auc_interval(rows.code, rows.score, sample_weight=rows.weight, level=level)
    found = Baseline(
        figures=_empty("baseline", rows),
        auc=auc.auc,
        auc_error=float(np.sqrt(components[0] / effective[0] + components[1] / effective[1])),
        components=components,
        recalibration=recalibration,
        rate=rate,
        shift_error=error,
    )
    figures = measure_period("baseline", rows, found, level)
    return replace(found, figures=figures)


def measure_period(name: str, rows: ScoredTable, baseline: Baseline, level: float) -> PeriodFigures:
    """Measure one period against the baseline."""
    labelled = rows.take(np.flatnonzero(rows.code >= 0))
    empty = _empty(name, rows)
    if len(labelled.code) == 0:
        return empty
    weight, code = labelled.weight, labelled.code
    events, total = float(weight[code == 1].sum()), float(weight.sum())
    lower, upper = weighted_share_limits(events, total, rows_per_weight(weight), level)
    p = recalibrated(labelled.probability, baseline.recalibration, baseline.rate, len(code))
    shift, error = _shift(code, p, weight)
    mean = None
    if labelled.probability is not None:
        mean = float(np.average(labelled.probability, weights=weight))
    known_now: dict[str, Any] = {
        "labelled": total,
        "events": events,
        "rate": events / total,
        "rate_limits": (float(lower), float(upper)),
        "expected_rate": mean,
        "shift": shift,
        "shift_error": error,
        "note": "",
    }
    if len(np.unique(code)) < 2:
        missing = "events" if events == 0 else "non-events"
        known_now["note"] = f"no {missing}, so that there is no AUC"
        return replace(empty, **known_now)
    auc = auc_interval(code, labelled.score, sample_weight=weight, level=level)
    known_now |= {
        "auc": auc.auc,
        "auc_limits": (auc.lower, auc.upper),
        "effective": _effective(code, weight),
    }
    return replace(empty, **known_now, **_slope(labelled, level))


def _empty(name: str, rows: ScoredTable) -> PeriodFigures:
    return PeriodFigures(
        name=name, rows=float(rows.weight.sum()), labelled=0.0, events=None, rate=None,
        rate_limits=None, expected_rate=None, auc=None, auc_limits=(0.0, 1.0), shift=None,
        shift_error=None, slope=None, slope_limits=None, note="no labels yet", effective=(0.0, 0.0),
    )  # fmt: skip


def _slope(rows: ScoredTable, level: float) -> dict[str, Any]:
    """Return the calibration slope, if both classes have enough rows."""
    if rows.probability is None or np.bincount(rows.code, minlength=2).min() < MIN_EVENTS:
        return {}
    p = on_grid(rows.probability)
    fit = calibration_slope(rows.code, p, sample_weight=rows.weight, level=level)
    slope = known(fit.slope)
    return {} if slope is None else {"slope": slope, "slope_limits": fit.slope_limits}


def _shift(code: NDArray[np.intp], p: Floats, weight: Floats) -> tuple[float, float]:
    """Return one Newton step of the log-odds, and its standard error if p is correct."""
    information = float(weight @ (p * (1 - p)))
    error = float(np.sqrt(weight**2 @ (p * (1 - p)))) / information
    return float(weight @ (code - p)) / information, error


def _variance(values: Floats, weight: Floats) -> float:
    mean = np.average(values, weights=weight)
    return float(np.average((values - mean) ** 2, weights=weight))


def _effective(code: NDArray[np.intp], weight: Floats) -> tuple[float, float]:
    """Return Kish's effective numbers of rows of the two classes."""
    sums, squares = (np.bincount(code, weight**k, minlength=2) for k in (1, 2))
    found = sums**2 / np.maximum(squares, np.finfo(float).tiny)
    return float(found[0]), float(found[1])
