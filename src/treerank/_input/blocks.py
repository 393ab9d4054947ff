"""Column statistics of blocks of training rows, and how those of several blocks are combined.

A block consists of consecutive rows, such as a row group of a file or a partition of a Dask
collection. The statistics of all rows determine classes, units of weight, thresholds and levels;
then each block is encoded on its own. The result does not depend on how the rows are divided into
blocks, and is the same as that of `fit`.

Rows of a block are counted from its own first row. When two blocks are combined, the right one
follows the left one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from treerank import _core
from treerank._input.categories import Factor, factorise
from treerank._input.column_stats import BinningSample, ColumnStats
from treerank._input.columns import (
    Column,
    Kinds,
    as_numbers,
    object_kinds,
    raise_infinite,
    raise_unsupported_type,
)
from treerank._input.types import TableLike
from treerank._input.validation import Table


@dataclass(frozen=True)
class ColumnBlockStats:
    """Statistics of one column over some rows, and its numbers in the sampled rows.

    `kinds` tells whether the values are numbers or levels; a column with neither is empty.
    `sample` is None if the rows have no numbers.
    """

    kinds: Kinds
    is_empty_number: bool  # numeric type, but all values are missing
    is_guess: bool
    has_missing: bool
    n_known: int  # number of rows that have a level
    weights: Counter[Any]  # weight of each level
    n_infinite: int
    first_infinite: int
    sample: NDArray[np.float64] | None


@dataclass(frozen=True)
class TableStats:
    """Statistics of all columns over one or several blocks of rows.

    `matrix` holds the sampled rows if the block is a numeric array without categories.
    """

    n_rows: int
    n_sampled: int
    columns: list[ColumnBlockStats]
    matrix: NDArray[Any] | None
    has_missing: NDArray[np.bool_]  # for each column of such an array
    units: NDArray[np.int64] | None  # weights of the sampled rows

    def finalize(
        self, names: list[str], wanted: set[int] | None
    ) -> tuple[BinningSample, ColumnStats]:
        """Return what determines thresholds and levels; raise if a column cannot be used.

        `wanted` has the indices of the columns that the user declared categorical.
        """
        rows = np.arange(self.n_sampled, dtype=np.uint32)
        if self.matrix is not None:
            table = Table(self.n_sampled, names, self.matrix, [])
            seen = ColumnStats([0] * len(names), self.has_missing, [None] * len(names))
            return BinningSample(table, rows, self.units), seen
        columns: list[Column] = []
        weights: list[Counter[Any] | None] = []
        for j, (name, column) in enumerate(zip(names, self.columns, strict=True)):
            named = wanted is not None and j in wanted
            if named or _is_levels(column, name):
                columns.append(Column(name, [], column.is_guess and not named))
                weights.append(column.weights)
                continue
            if column.n_infinite:
                raise_infinite(name, column.n_infinite, self.n_rows, column.first_infinite)
            values = column.sample
            columns.append(
                Column(name, np.full(self.n_sampled, np.nan) if values is None else values)
            )
            weights.append(None)
        has_missing = np.array([column.has_missing for column in self.columns], dtype=bool)
        table = Table(self.n_sampled, names, None, columns)
        n_known = [column.n_known for column in self.columns]
        return BinningSample(table, rows, self.units), ColumnStats(n_known, has_missing, weights)


def _is_levels(column: ColumnBlockStats, name: str) -> bool:
    """Whether a column that the user has not declared categorical holds levels."""
    column.kinds.check_one_kind(name)
    if column.kinds.counts:
        return "number" not in column.kinds.counts
    return not column.is_empty_number


def join(blocks: Sequence[TableStats]) -> TableStats:
    """Combine the statistics of consecutive blocks."""
    first = blocks[0]
    matrix = units = None
    if first.matrix is not None:
        matrix = np.concatenate([b.matrix for b in blocks if b.matrix is not None])
    if first.units is not None:
        units = np.concatenate([b.units for b in blocks if b.units is not None])
    parts = zip(*(b.columns for b in blocks), strict=True)
    return TableStats(
        n_rows=sum(b.n_rows for b in blocks),
        n_sampled=sum(b.n_sampled for b in blocks),
        columns=[_join_columns(part, [b.n_sampled for b in blocks]) for part in parts],
        matrix=matrix,
        has_missing=np.logical_or.reduce([b.has_missing for b in blocks]),
        units=units,
    )


def _join_columns(parts: Sequence[ColumnBlockStats], n_sampled: list[int]) -> ColumnBlockStats:
    kinds, weights = parts[0].kinds, Counter(parts[0].weights)
    first_infinite = parts[0].first_infinite
    for part in parts[1:]:
        if first_infinite < 0 <= part.first_infinite:
            first_infinite = kinds.n_rows + part.first_infinite
        kinds += part.kinds
        weights.update(part.weights)
    sample = None
    if any(part.sample is not None for part in parts):
        sample = np.concatenate(
            [
                np.full(n, np.nan) if part.sample is None else part.sample
                for part, n in zip(parts, n_sampled, strict=True)
            ]
        )
    return ColumnBlockStats(
        kinds=kinds,
        is_empty_number=any(part.is_empty_number for part in parts),
        is_guess=any(part.is_guess for part in parts),
        has_missing=any(part.has_missing for part in parts),
        n_known=sum(part.n_known for part in parts),
        weights=weights,
        n_infinite=sum(part.n_infinite for part in parts),
        first_infinite=first_infinite,
        sample=sample,
    )


def table_seen(
    X: Any,
    first_row: int,
    bound: Any,
    units: NDArray[np.int64] | None,
    names: list[str],
    wanted: set[int] | None,
) -> TableStats:
    """Collect the statistics of a block of rows, all of which have positive weight.

    Parameters
    ----------
    X : data frame or array
    first_row : int
        Index of the first row among all rows of positive weight.
    bound : int
        Rows whose hashes do not exceed it are sampled:
        ``_core.sample_bound(number of all rows, SAMPLE_ROWS)``.
    units : array of shape (rows,), or None
        Units of weight.
    names : list of str
    wanted : set of int or None
        Indices of the columns that the user declared categorical; None to decide by dtype.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    n_rows = len(frame)
    rows = _core.sampled_rows(first_row, n_rows, bound)
    sampled_units = None if units is None else units[rows]
    nothing = np.zeros(len(names), dtype=bool)
    if isinstance(frame, nw.DataFrame):
        columns = [
            _column_seen(series, name, wanted is not None and j in wanted, rows, units)
            for j, (name, series) in enumerate(zip(names, frame.iter_columns(), strict=True))
        ]
        return TableStats(n_rows, len(rows), columns, None, nothing, sampled_units)
    matrix = _check_matrix(X)
    if not wanted:
        has_missing = np.isnan(matrix.min(axis=0)) if n_rows else nothing
        return TableStats(n_rows, len(rows), [], matrix[rows], has_missing, sampled_units)
    columns = [
        _array_column_seen(matrix[:, j], j in wanted, rows, units) for j in range(len(names))
    ]
    return TableStats(n_rows, len(rows), columns, None, nothing, sampled_units)


def block_table(X: TableLike, names: list[str], is_categorical: NDArray[np.uint8]) -> Table:
    """Return a block as a table ready for encoding; the kind of each column is known."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    columns = []
    if isinstance(frame, nw.DataFrame):
        every = zip(names, is_categorical, frame.iter_columns(), strict=True)
        for name, levels, series in every:
            if levels:
                columns.append(Column(name, [], factor=factorise(series)))
            else:
                columns.append(Column(name, _numbers(series, name)))
        return Table(len(frame), names, None, columns)
    matrix = _check_matrix(X)
    if not is_categorical.any():
        return Table(len(matrix), names, matrix, [])
    for j, (name, levels) in enumerate(zip(names, is_categorical, strict=True)):
        values = matrix[:, j]
        columns.append(Column(name, values.tolist() if levels else values))
    return Table(len(matrix), names, None, columns)


def _check_matrix(X: TableLike) -> NDArray[Any]:
    return np.asarray(
        check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan",
            ensure_min_samples=0, input_name="X",
        )
    )  # fmt: skip


def _numbers(series: nw.Series[Any], name: str) -> NDArray[np.float64]:
    if len(series) == series.null_count():
        return np.full(len(series), np.nan)
    return np.ascontiguousarray(as_numbers(series, name), dtype=np.float64)


def _column_seen(
    series: nw.Series[Any],
    name: str,
    named: bool,
    rows: NDArray[np.uint32],
    units: NDArray[np.int64] | None,
) -> ColumnBlockStats:
    dtype, n_rows = series.dtype, len(series)
    is_empty = n_rows == series.null_count()
    if is_empty:
        kinds = Kinds(n_rows, {}, {})
    elif dtype == nw.Object:
        kinds = object_kinds(series.to_list())
    elif dtype in (nw.Categorical, nw.Enum, nw.String, nw.Boolean):
        kinds = _one_kind("text", series)
    elif dtype.is_numeric():
        kinds = _one_kind("number", series)
    else:
        raise_unsupported_type(name, series)
    is_number = "text" not in kinds.counts and "other" not in kinds.counts
    if named or not is_number:
        factor = factorise(series)
        weights, has_missing = factor.weights(units), factor.has_missing
        n_known, values = factor.n_known, None
    else:
        n_known, values = 0, None if is_empty else _numbers(series, name)
        weights, has_missing = Counter(), n_rows > 0 if values is None else _any_nan(values)
    is_infinite = np.isinf(np.empty(0) if values is None else values)
    n_infinite = int(is_infinite.sum())
    return ColumnBlockStats(
        kinds=kinds,
        is_empty_number=is_empty and dtype.is_numeric(),
        is_guess=dtype in (nw.String, nw.Object),
        has_missing=has_missing,
        n_known=n_known,
        weights=weights,
        n_infinite=n_infinite,
        first_infinite=int(np.argmax(is_infinite)) if n_infinite else -1,
        sample=None if values is None else values[rows],
    )


def _any_nan(values: NDArray[np.float64]) -> bool:
    return bool(np.isnan(values).any())


def _one_kind(kind: str, series: nw.Series[Any]) -> Kinds:
    """Kinds of a column whose dtype determines them."""
    n_missing, n_rows = series.null_count(), len(series)
    row = int(np.argmin(series.is_null().to_numpy())) if n_missing else 0
    return Kinds(n_rows, {kind: n_rows - n_missing}, {kind: (row, series[row])})


def _array_column_seen(
    values: NDArray[Any],
    named: bool,
    rows: NDArray[np.uint32],
    units: NDArray[np.int64] | None,
) -> ColumnBlockStats:
    """Statistics of a column of an array in which some columns are categorical."""
    has_missing = _any_nan(values)
    weights: Counter[Any] = Counter()
    if named:
        distinct, places = np.unique(values, return_inverse=True)
        places[np.isnan(values)] = -1
        weights = Factor(distinct.tolist(), places.astype(np.int32)).weights(units)
    kinds = Kinds(len(values), {"number": len(values)}, {"number": (0, 0.0)})
    sample = None if named else values[rows].astype(np.float64)
    n_known = int(np.count_nonzero(~np.isnan(values))) if named else 0
    return ColumnBlockStats(kinds, True, False, has_missing, n_known, weights, 0, -1, sample)
