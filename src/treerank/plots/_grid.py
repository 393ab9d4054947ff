"""A grid of rows that vary in two columns, with the others held at a typical value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import is_missing
from treerank._input.types import Floats, TableLike

Rows = NDArray[np.intp]

CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object)


@dataclass(frozen=True)
class Axis:
    """One axis of the grid: intervals of a number, or the levels of a category.

    For a category, `levels` are the levels as text, and `rows` holds a table row for each.
    """

    name: str
    edges: Floats
    points: Floats  # positions of the rows of the table; NaN if missing
    levels: list[str] | None = None
    rows: Rows | None = None

    @property
    def centres(self) -> Floats:
        """Middle of each interval."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)


@dataclass(frozen=True)
class Table:
    """A data frame or an array; the other one is None."""

    names: list[str]
    frame: nw.DataFrame[Any] | None
    matrix: NDArray[Any] | None

    def column(self, j: int) -> Any:
        """Return one column unchanged."""
        return self.matrix[:, j] if self.frame is None else self.frame[self.names[j]]  # type: ignore[index]

    def numbers(self, j: int) -> Floats:
        """Return one number per row, NaN if missing."""
        column = self.column(j)
        if isinstance(column, nw.Series):
            column = column.cast(nw.Float64).to_numpy()
        return np.asarray(column, dtype=np.float64)

    def levels(self, j: int) -> list[Any]:
        """Return one level per row, None if missing."""
        column = self.column(j)
        values = column.to_list() if isinstance(column, nw.Series) else column.tolist()
        return [None if is_missing(value) else value for value in values]

    def holds_categories(self, j: int) -> bool:
        """Whether the column has a text, boolean or categorical type."""
        return self.frame is not None and self.column(j).dtype in CATEGORIES


def open_table(X: TableLike, names: Sequence[str] | None) -> Table:
    """Wrap a data frame, or an array whose columns have the given names."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        table, shape = Table(list(frame.columns), frame, None), frame.shape
    else:
        matrix = np.asarray(X)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(
                "Got X that is no table; expected a data frame, or an array of numbers of shape "
                "(n_samples, n_features)."
            )
        shape = matrix.shape
        found = [f"x{j}" for j in range(shape[1])] if names is None else [str(n) for n in names]
        table = Table(found, None, matrix)
    if 0 in shape:
        raise ValueError(f"Got X of shape {shape}; expected some rows and columns.")
    return table


def numeric_axis(table: Table, j: int, resolution: int, cuts: Floats) -> Axis:
    """Return intervals of equal length over the values, with a margin, also split at the cuts."""
    points = table.numbers(j)
    known = points[np.isfinite(points)]
    if len(known) == 0:
        raise ValueError(f"Got column {table.names[j]!r} without a known value; expected some.")
    margin = 0.04 * (known.max() - known.min()) or 0.5
    low, high = known.min() - margin, known.max() + margin
    inside = cuts[(cuts > low) & (cuts < high)]
    edges: Any = np.union1d(np.linspace(low, high, resolution + 1), inside)
    return Axis(table.names[j], edges, points)


def level_axis(table: Table, j: int) -> Axis:
    """Return the levels side by side, in sorted order."""
    values = table.levels(j)
    found = sorted({value for value in values if value is not None}, key=_level_order)
    if not found:
        raise ValueError(f"Got column {table.names[j]!r} without a known level; expected some.")
    code = {level: k for k, level in enumerate(found)}
    points = np.array([code.get(value, np.nan) for value in values])
    rows = np.array([values.index(level) for level in found])
    edges = np.arange(len(found) + 1, dtype=np.float64) - 0.5
    return Axis(table.names[j], edges, points, [str(level) for level in found], rows)


def cross(table: Table, axes: dict[int, Axis], is_categorical: Sequence[bool]) -> Any:
    """Return a row for every pair of centres of two axes, with the first axis varying fastest."""
    (first, x), (second, y) = axes.items()
    n_x, n_y = len(x.edges) - 1, len(y.edges) - 1
    number = {first: np.tile(np.arange(n_x), n_y), second: np.repeat(np.arange(n_y), n_x)}
    columns = []
    for j, categorical in enumerate(is_categorical):
        if j not in axes:
            rows = np.full(n_x * n_y, typical_row(table, j, categorical))
            columns.append(_take(table, j, rows))
        elif axes[j].rows is not None:
            columns.append(_take(table, j, axes[j].rows[number[j]]))  # type: ignore[index]
        else:
            columns.append(_as_column(table, j, axes[j].centres[number[j]]))
    if table.frame is None:
        return np.column_stack(columns)
    # Start from rows of the table, so that every column keeps its type.
    return table.frame[[0] * (n_x * n_y)].with_columns(*columns).to_native()


def typical_row(table: Table, j: int, categorical: bool) -> int:
    """Return a row with the (lower) median of a number, or with the most frequent level."""
    if categorical:
        values = table.levels(j)
        counts = Counter(value for value in values if value is not None)
        if not counts:
            return 0
        return values.index(min(counts, key=lambda level: (-counts[level], _level_order(level))))
    numbers = table.numbers(j)
    n_known = int(np.sum(~np.isnan(numbers)))
    return int(np.argsort(numbers, kind="stable")[max(n_known - 1, 0) // 2])  # NaN come last


def _take(table: Table, j: int, rows: Rows) -> Any:
    column = table.column(j)
    return column[rows.tolist()] if isinstance(column, nw.Series) else column[rows]


def _as_column(table: Table, j: int, values: Floats) -> Any:
    if table.frame is None:
        return values
    backend = table.frame.implementation
    return nw.new_series(table.names[j], values, nw.Float64, backend=backend)


def _level_order(level: Any) -> tuple[str, Any]:
    return type(level).__name__, level
