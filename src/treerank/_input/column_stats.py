"""Statistics of the columns over all rows, and the sample of rows for the thresholds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._input.columns import Column, is_missing
from treerank._input.validation import Table

# Rows from which thresholds are computed: enough to estimate 255 quantiles well.
SAMPLE_ROWS = 200_000


@dataclass(frozen=True)
class BinningSample:
    """The rows for the thresholds: all, or those whose indices have the smallest hashes.

    Whether a row is sampled depends only on its index, not on how rows are divided into blocks.
    """

    table: Table
    rows: NDArray[np.uint32]  # indices into the table
    units: NDArray[np.int64] | None  # weights of all rows of the table

    def values(self, j: int) -> NDArray[np.float64]:
        """Return the values of one numeric feature in the sample."""
        table = self.table
        column = table.matrix[:, j] if table.matrix is not None else table.columns[j].values
        return np.asarray(column, dtype=np.float64)[self.rows]

    @property
    def weights(self) -> NDArray[np.int64] | None:
        """Weights of the sampled rows in units; None if every row has weight 1."""
        return None if self.units is None else self.units[self.rows]


@dataclass(frozen=True)
class ColumnStats:
    """Statistics of the columns over all rows: missing values, and the weight of each level.

    `weights[j]` is None if feature j is numeric.
    """

    n_known: list[int]  # number of rows that have a level
    has_missing: NDArray[np.bool_]
    weights: list[Counter[Any] | None]


def collect_stats(table: Table, units: NDArray[np.int64] | None, n_jobs: int) -> ColumnStats:
    """Collect the levels and missing values of all columns."""
    n = table.n_features
    n_known = [0] * n
    has_missing = np.zeros(n, dtype=bool)
    weights: list[Counter[Any] | None] = [None] * n
    if table.matrix is not None:
        has_missing = _core.scan_numbers(table.matrix, n_jobs)[0].view(bool)
        return ColumnStats(n_known, has_missing, weights)
    for j, column in enumerate(table.columns):
        if column.is_categorical:
            counts = Counter(column.values)
            n_known[j] = sum(m for v, m in counts.items() if not is_missing(v))
            has_missing[j] = n_known[j] < table.n_rows
            of_level = counts if units is None else _level_weights(column, counts, units)
            weights[j] = Counter({v: m for v, m in of_level.items() if not is_missing(v)})
        else:
            has_missing[j] = bool(np.isnan(column.values).any())
    return ColumnStats(n_known, has_missing, weights)


def _level_weights(column: Column, counts: Counter[Any], units: NDArray[np.int64]) -> Counter[Any]:
    """Return the weight of each value, including missing values."""
    number = {value: i for i, value in enumerate(counts)}
    place = np.fromiter(map(number.__getitem__, column.values), np.intp, len(column.values))
    weight = np.zeros(len(number), dtype=np.int64)
    np.add.at(weight, place, units)
    return Counter(dict(zip(number, weight.tolist(), strict=True)))
