"""Distances between rows: the scale of each feature, and the largest distance allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.parameters import check_choice, invalid_parameter
from treerank._trees.axis_tree import AxisTree

# Largest distance in one feature. The sum of the squares of several of them does not overflow.
LARGEST_DISTANCE = 1e150


def feature_scale(
    metric: Any, seen: NDArray[np.float64], tree: AxisTree, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Scale that each feature is divided by; 1 if it is constant, as in scikit-learn's scalers."""
    if not isinstance(metric, str):
        try:
            scale = np.asarray(metric, dtype=np.float64)
        except (TypeError, ValueError):
            scale = np.empty(0)
        if scale.shape != (tree.n_features,) or not (np.isfinite(scale) & (scale > 0)).all():
            raise invalid_parameter(
                "metric", metric, f"'minmax', 'standard', or {tree.n_features} positive numbers"
            )
        return scale
    check_choice("metric", metric, ["minmax", "standard"])
    weight = np.ones(len(seen)) if weight is None else weight
    if metric == "minmax":
        counted = seen[weight > 0]
        scale = np.fmax.reduce(counted, axis=0) - np.fmin.reduce(counted, axis=0)
    else:
        scale = _deviation(seen, weight)
    categorical = np.array([levels is not None for levels in tree.levels])
    usable = (scale > 1e-290) & (scale < 1e290)  # False for NaN: a column without values
    return np.where(usable & ~categorical, scale, 1.0)


def check_distances(
    seen: NDArray[np.float64], scale: NDArray[np.float64], names: list[str]
) -> None:
    """Raise if rows are so far apart that squared distances overflow."""
    with np.errstate(over="ignore"):
        apart = (np.fmax.reduce(seen, axis=0) - np.fmin.reduce(seen, axis=0)) / scale
    far = apart > LARGEST_DISTANCE  # False for NaN: a column without values
    if far.any():
        feature = int(np.argmax(far))
        raise ValueError(
            f"Got values of {names[feature]!r} from {np.nanmin(seen[:, feature]):g} to "
            f"{np.nanmax(seen[:, feature]):g}, too far apart for distances; expected less than "
            f"{LARGEST_DISTANCE:g} units of the metric. Scale the column, or take logarithms."
        )


def _deviation(seen: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of the known values of each column."""
    known = ~np.isnan(seen)
    weight_sum = np.maximum(weight @ known, np.finfo(np.float64).tiny)
    mean = weight @ np.where(known, seen, 0.0) / weight_sum
    spread = np.where(known, seen - mean, 0.0)
    with np.errstate(over="ignore"):  # the caller discards infinite deviations
        return np.asarray(np.sqrt(weight @ spread**2 / weight_sum))
