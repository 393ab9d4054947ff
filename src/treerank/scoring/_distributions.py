"""The distribution of a column's values over bins, in the baseline and in each period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import is_missing, missing_mask
from treerank._input.frames import open_frame
from treerank._input.types import Floats, TableLike
from treerank.metrics._scorecard import quantile_edges, stability_of_counts

N_BINS = 10
# Levels with a smaller share of the baseline get one common bin: they are too rare to show a shift.
RARE = 0.005
PERIOD, WEIGHT, VALUE, COUNT = "period", "weight", "value", "count"


@dataclass(frozen=True)
class Spread:
    """Weight of a column's values by bin.

    Attributes
    ----------
    expected : array of shape (n_bins,)
        In the baseline. The last bin holds the missing values.
    actual : array of shape (n_periods, n_bins)
        In each period.
    new_levels : list of (dict of str to float)
        Levels that are not in the baseline, with their weight, for each period.
    """

    expected: Floats
    actual: Floats
    new_levels: list[dict[str, float]]

    def missing(self) -> tuple[float, Floats]:
        """Return the share of missing values in the baseline, and in each period."""
        totals = np.maximum(self.actual.sum(axis=1), np.finfo(float).tiny)
        return float(self.expected[-1] / self.expected.sum()), self.actual[:, -1] / totals

    def indices(self, half_rows: tuple[float, float]) -> Floats:
        """Return the population stability index of each period."""
        found = [stability_of_counts(self.expected, row, half_rows) for row in self.actual]
        return np.array(found)


def spread_of_numbers(
    before: Floats, after: Floats, weights: tuple[Floats, Floats], period: Any, n_periods: int
) -> Spread:
    """Bin numbers at the deciles of the baseline."""
    known = ~np.isnan(before)
    edges = quantile_edges(before, weights[0], N_BINS) if known.any() else np.empty(0)
    size = len(edges) + 2
    codes = [
        np.where(np.isnan(values), size - 1, np.searchsorted(edges, values))
        for values in (before, after)
    ]
    expected = np.bincount(codes[0], weights[0], size).astype(np.float64)
    actual = np.bincount(period * size + codes[1], weights[1], n_periods * size)
    by_period = actual.astype(np.float64).reshape(n_periods, size)
    return Spread(expected, by_period, [{} for _ in range(n_periods)])


def spread_of_levels(
    before: dict[tuple[int, str | None], float],
    after: dict[tuple[int, str | None], float],
    n_periods: int,
) -> Spread:
    """Give each level of the baseline a bin; rare levels and new levels share one."""
    total = sum(before.values())
    levels = sorted(
        level for (_, level), n in before.items() if level is not None and n > RARE * total
    )
    known = {level for _, level in before if level is not None}
    place: dict[str | None, int] = {level: k for k, level in enumerate(levels)}
    rare, missing = len(levels), len(levels) + 1
    expected = np.zeros(missing + 1)
    actual = np.zeros((n_periods, missing + 1))
    new: list[dict[str, float]] = [{} for _ in range(n_periods)]
    for (_, level), weight in before.items():
        expected[missing if level is None else place.get(level, rare)] += weight
    for (period, level), weight in after.items():
        actual[period, missing if level is None else place.get(level, rare)] += weight
        if level is not None and level not in known:
            new[period][level] = weight
    return Spread(expected, actual, new)


def count_levels(
    column: Any, weight: Floats, period: NDArray[np.intp]
) -> dict[tuple[int, str | None], float]:
    """Return the weight of each level in each period, counted by the column's own library."""
    if isinstance(column, np.ndarray):
        return _count_in_array(column, weight, period)
    frame = column.alias(VALUE).to_frame()
    backend = frame.implementation
    frame = frame.with_columns(
        nw.new_series(PERIOD, period, nw.Int64, backend=backend),
        nw.new_series(WEIGHT, weight, nw.Float64, backend=backend),
        nw.col(VALUE).cast(nw.String),
    )
    counts = frame.group_by([PERIOD, VALUE]).agg(nw.col(WEIGHT).sum().alias(COUNT))
    columns = (counts[name].to_list() for name in (PERIOD, VALUE, COUNT))
    return {
        (int(p), None if is_missing(v) else str(v)): float(n)
        for p, v, n in zip(*columns, strict=True)
    }


def _count_in_array(
    column: NDArray[Any], weight: Floats, period: NDArray[np.intp]
) -> dict[tuple[int, str | None], float]:
    missing = missing_mask(column)
    levels, code = np.unique(np.where(missing, "", column).astype(str), return_inverse=True)
    code = np.where(missing, len(levels), code)
    size = len(levels) + 1
    counts = np.bincount(period * size + code, weight)
    return {
        (int(k // size), None if k % size == len(levels) else str(levels[k % size])): counts[k]
        for k in np.flatnonzero(counts)
    }


@dataclass(frozen=True)
class Columns:
    """Columns of a table: numbers with NaN for missing values, or values to be taken as levels."""

    names: list[str]
    frame: Any
    array: Any

    @classmethod
    def of(cls, X: TableLike, names: list[str] | None) -> Columns:
        """Open a table; `names` are the model's names for the columns of an array."""
        frame = open_frame(X)
        if frame is not None:
            return cls([str(name) for name in frame.columns], frame, None)
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"Got X of shape {array.shape}; expected rows and columns (2-D).")
        return cls(names or [f"x{j}" for j in range(array.shape[1])], None, array)

    def column(self, name: str, position: int) -> tuple[Floats | None, Any]:
        """Return the column as numbers, or None if it is not numeric, and its values."""
        if self.frame is None:
            values = self.array[:, position]
            return (values.astype(float), values) if values.dtype.kind in "biuf" else (None, values)
        # A model does not know names that are not text, and goes by position.
        by_name = name in self.frame.columns
        series = self.frame[name] if by_name else self.frame[:, position]
        if series.dtype.is_numeric():
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64), series
        return None, series
