"""Gains by bands of the ranking, and how well the probabilities hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank.metrics import (
    brier_score_loss,
    calibration_slope,
    calibration_test,
    cap_curve,
)
from treerank.metrics._calibration import calibration_columns
from treerank.metrics._scorecard import gains_columns

N_BANDS = 10
MAX_GROUPS = 12  # of calibration: a stratum each, up to so many


def gains(sample: ScoredRows, level: float) -> dict[str, Any]:
    """Gains table in ten bands, and the curve of events found over rows taken."""
    table = gains_columns(
        sample.code, sample.score, n_bands=N_BANDS, sample_weight=sample.weight, level=level
    )
    rows = [{name: float(column[i]) for name, column in table.items()} for i in range(N_BANDS)]
    taken, found = cap_curve(sample.code, sample.score, sample_weight=sample.weight)
    rate = float(np.average(sample.code, weights=sample.weight))
    picture = Picture(
        "Gains: share of events found against share of rows taken from the top",
        "share of rows",
        "share of events",
    )
    picture.line([0, rate, 1], [0, 1, 1], "perfect")
    picture.line([0, 1], [0, 1], "chance")
    picture.line(taken, found, "curve")
    return {"rows": rows, "picture": picture}


def calibration(sample: ScoredRows, level: float) -> dict[str, Any] | None:
    """Predicted against observed shares; None for a model without probabilities."""
    if sample.probability is None:
        return None
    predicted = np.clip(sample.probability[:, 1], 0.0, 1.0)
    fit = calibration_slope(sample.code, predicted, sample_weight=sample.weight, level=level)
    table = calibration_columns(
        sample.code, predicted, n_groups=MAX_GROUPS, sample_weight=sample.weight, level=level
    )
    top = min(1.0, 1.08 * float(max(table["predicted"].max(), table["upper"].max())))
    picture = Picture(
        "Calibration: observed share of events against the predicted probability",
        "predicted probability",
        "observed share",
        x_range=(0.0, top),
        y_range=(0.0, top),
    )
    picture.line([0, top], [0, top], "chance")
    picture.whiskers(table["predicted"], table["lower"], table["upper"], "whisker")
    picture.dots(table["predicted"], table["observed"], "dot")
    brier = brier_score_loss(sample.code, predicted, sample_weight=sample.weight)
    return {
        "picture": picture,
        "rows": [
            {name: float(column[i]) for name, column in table.items()}
            for i in range(len(table["rows"]))
        ],
        "brier": float(brier),
        "test": _test(sample, predicted),
        "intercept": fit.intercept if np.isfinite(fit.intercept) else None,
        "intercept_limits": fit.intercept_limits,
        "in_the_large": fit.in_the_large,
        "in_the_large_limits": fit.in_the_large_limits,
        "slope": fit.slope if np.isfinite(fit.slope) else None,
        "slope_limits": fit.slope_limits if np.isfinite(fit.slope) else None,
    }


def _test(sample: ScoredRows, predicted: NDArray[np.float64]) -> float | None:
    """Return the p-value of calibration; None where some probabilities are certain."""
    if ((predicted <= 0) | (predicted >= 1)).any():
        return None
    return calibration_test(sample.code, predicted, sample_weight=sample.weight).p_value
