"""Ordered classes split in two: rows at or above each class against those below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._report._bands import whole_bands
from treerank._report._calibration import calibration_of
from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank.metrics import auc_interval, cap_curve

MAX_DRAWN = 6  # lines and calibration pictures


def cuts_between_classes(sample: ScoredRows, classes: NDArray[Any], level: float) -> dict[str, Any]:
    """Gains and calibration for every cut between adjacent classes, the highest first."""
    picture = Picture(
        "Gains by cut: share of the rows at or above each class found, against share of rows taken",
        "share of rows", "share found", width=320, height=270,
    )  # fmt: skip
    picture.line([0, 1], [0, 1], "chance")
    rows = []
    for k in range(len(classes) - 1, 0, -1):
        is_top = k == len(classes) - 1  # no class is above it
        label = str(classes[k]) if is_top else f"{classes[k]} and above"
        rows.append(_cut(sample, k, label, level))
        if len(rows) <= MAX_DRAWN:
            code = (sample.code >= k).astype(np.intp)
            taken, found = cap_curve(code, sample.score, sample_weight=sample.weight)
            picture.line(taken, found, f"class class-{(len(rows) - 1) % 6}")
    return {
        "rows": rows,
        "picture": picture,
        "has_calibration": sample.probability is not None,
        "n_drawn": MAX_DRAWN,
    }


def _cut(sample: ScoredRows, k: int, label: str, level: float) -> dict[str, Any]:
    code = (sample.code >= k).astype(np.intp)
    interval = auc_interval(code, sample.score, sample_weight=sample.weight, level=level)
    top = whole_bands(code == 1, sample.score, sample.weight, level)[0]
    found = None
    if sample.probability is not None:
        above = sample.probability[:, k:].sum(axis=1)
        found = calibration_of(code, above, sample.weight, level, (320, 270))
    return {
        "label": label,
        "rows": float(sample.weight[code == 1].sum()),
        "share": float(np.average(code, weights=sample.weight)),
        "auc": interval.auc,
        "limits": (interval.lower, interval.upper),
        "top": top,
        "calibration": found,
    }
