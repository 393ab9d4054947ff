"""Recalibration of probabilities by an intercept and a slope of their log-odds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from treerank._input.types import Floats
from treerank.metrics import calibration_slope

if TYPE_CHECKING:
    from treerank.scoring._drift import ScoredTable
    from treerank.scoring._rows import LabelledScores

CLIP = 1e-6  # probabilities of 0 and 1 have no logit


def on_grid(probability: Floats) -> Floats:
    """Round log-odds to three decimals, so that rows with equal ones are fitted as one."""
    x = logit(np.clip(probability, CLIP, 1 - CLIP))
    return np.asarray(expit(np.round(x, 3)))


def fit_recalibration(rows: LabelledScores | ScoredTable) -> tuple[float, float]:
    """Return intercept and slope that fit the probabilities to the labels; slope 1 if undefined."""
    if rows.probability is None:
        return 0.0, 1.0
    p = on_grid(rows.probability)
    fit = calibration_slope(rows.code, p, sample_weight=rows.weight)
    if not np.isfinite(fit.slope) or not np.isfinite(fit.intercept):
        return fit.in_the_large, 1.0
    return fit.intercept, fit.slope


def recalibrated(
    probability: Floats | None, recalibration: tuple[float, float], rate: float, n_rows: int
) -> Floats:
    """Return recalibrated probabilities; the plain event rate for models without any."""
    if probability is None:
        return np.full(n_rows, rate)
    x = logit(np.clip(probability, CLIP, 1 - CLIP))
    return np.asarray(np.clip(expit(recalibration[0] + recalibration[1] * x), CLIP, 1 - CLIP))
