"""Gains by bands of the ranking, and how well the probabilities hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._report._pictures import Picture
from treerank._report._sample import Floats, Sample
from treerank.metrics import (
    brier_score_loss,
    calibration_slope,
    cap_curve,
    gains_table,
    wilson_interval,
)
from treerank.metrics._proportion import rows_per_weight

N_BANDS = 10
MAX_GROUPS = 12  # groups of equal probability that are drawn as they are


def gains(sample: Sample, level: float) -> dict[str, Any]:
    """Gains table in ten bands, and the curve of events found over rows taken."""
    table = gains_table(
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


def calibration(sample: Sample, level: float) -> dict[str, Any] | None:
    """Predicted against observed shares; None for a model without probabilities."""
    if sample.probability is None:
        return None
    predicted = np.clip(sample.probability[:, 1], 0.0, 1.0)
    fit = calibration_slope(sample.code, predicted, sample_weight=sample.weight, level=level)
    group = _groups(predicted, sample.weight)
    mass = np.bincount(group, weights=sample.weight)
    mean = np.bincount(group, weights=sample.weight * predicted) / mass
    events = np.bincount(group, weights=sample.weight * sample.code)
    share = rows_per_weight(sample.weight)
    lower, upper = wilson_interval(np.minimum(events, mass) * share, mass * share, level)
    top = min(1.0, 1.08 * float(max(mean.max(), upper.max())))
    picture = Picture(
        "Calibration: observed share of events against the predicted probability",
        "predicted probability",
        "observed share",
        x_range=(0.0, top),
        y_range=(0.0, top),
    )
    picture.line([0, top], [0, top], "chance")
    picture.whiskers(mean, lower, upper, "whisker")
    picture.dots(mean, events / mass, "dot")
    brier = brier_score_loss(sample.code, predicted, sample_weight=sample.weight)
    return {
        "picture": picture,
        "rows": [
            {"predicted": p, "observed": o, "lower": a, "upper": b, "rows": m}
            for p, o, a, b, m in zip(
                mean.tolist(), (events / mass).tolist(), lower.tolist(), upper.tolist(),
                mass.tolist(), strict=True,
            )
        ],
        "brier": float(brier),
        "in_the_large": fit.in_the_large,
        "in_the_large_limits": fit.in_the_large_limits,
        "slope": fit.slope if np.isfinite(fit.slope) else None,
        "slope_limits": fit.slope_limits if np.isfinite(fit.slope) else None,
    }  # fmt: skip


def _groups(predicted: Floats, weight: Floats) -> Any:
    """Rows of equal probability, or ten groups of about equal weight where these are many."""
    values, group = np.unique(predicted, return_inverse=True)
    if len(values) <= MAX_GROUPS:
        return group
    mass = np.cumsum(np.bincount(group, weights=weight))
    # Equal probabilities stay together: a group of values goes where its middle lies.
    middle = mass - np.diff(mass, prepend=0.0) / 2
    tenth = np.minimum((middle / mass[-1] * N_BANDS).astype(np.intp), N_BANDS - 1)
    return np.unique(tenth[group], return_inverse=True)[1]
