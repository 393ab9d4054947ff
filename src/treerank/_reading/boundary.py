"""Boundary points: what would have to change in a row for a tree to predict another class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.categories import SharedLevels
from treerank._trees.axis_tree import AxisTree, Side


@dataclass(frozen=True)
class BoundaryPoints:
    """The nearest points at which a tree predicts another class, one for each row.

    Attributes
    ----------
    points : array of shape (n_samples, n_features)
        Points just across the decision boundary. An array of objects if there are categorical
        features.
    changed : array of bool, shape (n_samples, n_features)
        Which features differ from those of the row.
    changes : array of shape (n_samples, n_features)
        Point minus row: by how much each number has to change. NaN for categorical features, and
        for missing values that would have to be known.
    distance : array of shape (n_samples,)
        Distance to the boundary in the units of the metric.
    decision : array of shape (n_samples,)
        The class that the tree predicts at the point.
    feature_names : list of str
    """

    points: NDArray[Any]
    changed: NDArray[np.bool_]
    changes: NDArray[np.float64]
    distance: NDArray[np.float64]
    decision: NDArray[Any]
    feature_names: list[str]

    def __len__(self) -> int:
        return len(self.points)

    def in_words(self) -> list[str]:
        """Describe, for each row, which features would have to change, and how."""
        return [self._format(row) for row in range(len(self))]

    def _format(self, row: int) -> str:
        said = []
        for feature in np.flatnonzero(self.changed[row]):
            value, change = self.points[row, feature], self.changes[row, feature]
            value = f"{value:.6g}" if isinstance(value, float) else str(value)
            by = "" if np.isnan(change) else f" ({change:+.3g})"
            said.append(f"{self.feature_names[feature]} to {value}{by}")
        return f"{self.decision[row]}: " + (", ".join(said) or "on the boundary already")


def project(
    tree: AxisTree, seen: NDArray[np.float64], nearest: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the nearest values inside the boxes of the given nodes, and which values are new."""
    points = seen.copy()
    changed = np.zeros(seen.shape, dtype=bool)
    for node in np.unique(nearest):
        rows = np.flatnonzero(nearest == node)
        for feature, side in tree.box(int(node)).items():
            values = seen[rows, feature]
            moved = _move_inside(values, side, tree.single_precision)
            new = ~((moved == values) | (np.isnan(moved) & np.isnan(values)))
            points[rows[new], feature] = moved[new]
            changed[rows[new], feature] = True
    return points, changed


def _move_inside(values: NDArray[np.float64], side: Side, single: bool) -> NDArray[np.float64]:
    """Nearest allowed values. A missing value stays missing if the box allows it."""
    known = ~np.isnan(values)
    must_be_known = ~known & (not side.missing)
    moved = values.copy()
    if side.codes is not None:
        outside = known & ~np.isin(values, list(side.codes))
        moved[outside | must_be_known] = min(side.codes, default=np.nan)
        return moved
    low, high = _just_above(side.low, single), _at_most(side.high, single)
    moved[known & (values <= side.low)] = low
    moved[known & (values > side.high)] = high
    moved[must_be_known] = high if np.isfinite(high) else low
    return moved


def _just_above(value: float, single: bool) -> float:
    """Smallest number above `value` in the precision that the tree uses."""
    if not single:
        return float(np.nextafter(value, np.inf))
    seen = np.float32(value)
    return float(seen if float(seen) > value else np.nextafter(seen, np.float32(np.inf)))


def _at_most(value: float, single: bool) -> float:
    """Largest number not above `value` in the precision that the tree uses."""
    if not single:
        return value
    seen = np.float32(value)
    return float(seen if float(seen) <= value else np.nextafter(seen, np.float32(-np.inf)))


def with_levels(points: NDArray[np.float64], tree: AxisTree) -> NDArray[Any]:
    """Replace codes of categories by levels. Points without categories are returned unchanged."""
    if all(levels is None for levels in tree.levels):
        return points
    shown = points.astype(object)
    for feature, levels in enumerate(tree.levels):
        if levels is not None:
            # np.array() of a list would turn levels that are tuples into columns.
            names = np.fromiter([None, *map(_one_level, levels)], object, 1 + len(levels))
            shown[:, feature] = names[np.nan_to_num(points[:, feature]).astype(np.intp)]
    return shown


def _one_level(level: Any) -> Any:
    """Return the level, or the first of several that share a code."""
    if not isinstance(level, SharedLevels):
        return level
    return level[0] if level else "another level"
