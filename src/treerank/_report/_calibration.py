"""Gains by bands of the ranking, and calibration of the probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank._report._bands import whole_bands
from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank.metrics import (
    brier_score_loss,
    calibration_slope,
    calibration_test,
    cap_curve,
)
from treerank.metrics._calibration import calibration_columns
from treerank.scoring._plain import known

MAX_GROUPS = 12  # calibration groups: one per stratum, up to this number


def gains(sample: ScoredRows, level: float) -> dict[str, Any]:
    """Gains table in ten bands, and the curve of the share of events over the share of rows."""
    rows = whole_bands(sample.code == 1, sample.score, sample.weight, level)
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
    """Compare predicted and observed shares; None for a model without probabilities."""
    if sample.probability is None:
        return None
    return calibration_of(sample.code, sample.probability[:, 1], sample.weight, level)


def calibration_of(
    code: NDArray[np.intp],
    probability: Floats,
    weight: Floats,
    level: float,
    size: tuple[int, int] = (400, 340),
) -> dict[str, Any]:
    """Compare predicted and observed shares of the rows of code 1."""
    predicted = np.clip(probability, 0.0, 1.0)
    fit = calibration_slope(code, predicted, sample_weight=weight, level=level)
    table = calibration_columns(
        code, predicted, n_groups=MAX_GROUPS, sample_weight=weight, level=level
    )
    top = min(1.0, 1.08 * float(max(table["predicted"].max(), table["upper"].max())))
    picture = Picture(
        "Calibration: observed share of events against the predicted probability",
        "predicted probability",
        "observed share",
        x_range=(0.0, top),
        y_range=(0.0, top),
        width=size[0],
        height=size[1],
    )
    picture.line([0, top], [0, top], "chance")
    picture.whiskers(table["predicted"], table["lower"], table["upper"])
    picture.dots(table["predicted"], table["observed"], "dot")
    brier = brier_score_loss(code, predicted, sample_weight=weight)
    return {
        "picture": picture,
        "rows": [
            {name: float(column[i]) for name, column in table.items()}
            for i in range(len(table["rows"]))
        ],
        "brier": float(brier),
        "test": _test(code, predicted, weight),
        "predicted": float(np.average(predicted, weights=weight)),
        "observed": float(np.average(code, weights=weight)),
        "intercept": known(fit.intercept),
        "intercept_limits": fit.intercept_limits,
        "in_the_large": fit.in_the_large,
        "in_the_large_limits": fit.in_the_large_limits,
        "slope": known(fit.slope),
        "slope_limits": fit.slope_limits if np.isfinite(fit.slope) else None,
    }


def _test(code: NDArray[np.intp], predicted: Floats, weight: Floats) -> float | None:
    """Return the p-value of the calibration test; None if any probability is 0 or 1."""
    if ((predicted <= 0) | (predicted >= 1)).any():
        return None
    return calibration_test(code, predicted, sample_weight=weight).p_value
