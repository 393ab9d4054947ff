"""Binning: encodes values as small integer codes, using thresholds and levels.

Code 0 stands for missing values. Code i + 1 stands for thresholds[i - 1] < x <= thresholds[i] if
the feature is numeric, and for levels[i] if it is categorical.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._device.codes import DeviceCodes, MadeThere, on_host, take_rows
from treerank._input import column_stats
from treerank._input.categories import SharedLevels
from treerank._input.column_stats import BinningSample, ColumnStats, collect_stats
from treerank._input.columns import Column, check_no_lone_surrogates, is_missing
from treerank._input.device_arrays import missing_columns
from treerank._input.doubtful_columns import Category, warn_of_doubtful
from treerank._input.validation import DeviceRowsTable, Table
from treerank._input.weights import Weights

Codes = NDArray[Any]  # uint8 or uint16

UINT8_BINS = 255
UINT16_BINS = 65_535
MAX_LEVELS = _core.MAX_CATEGORY_CODES - 1


class OrderedCategory(NamedTuple):
    """How trees see a category whose levels are ordered by the labels.

    They split it like a number, by the place of its levels in the order. They may also put single
    levels into sets, in a second column with other codes.
    """

    place: NDArray[np.uint8]  # of each code; 0: missing
    single: NDArray[np.uint8] | None  # code in the second column of each code; None: no column


class Columns(NamedTuple):
    """The columns that trees are grown on: those of the features, and second columns."""

    feature: NDArray[np.int32]  # of each column
    n_codes: NDArray[np.int32]  # including the one for missing values
    as_sets: NDArray[np.uint8]  # whether it is split by arbitrary sets of codes

    def signs(self, of_features: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the monotone constraints of the columns; categories have none."""
        return np.ascontiguousarray(of_features[self.feature])


@dataclass(frozen=True)
class Binning:
    """How each feature is encoded.

    `thresholds[j]` is empty for a category, and `levels[j]` is None for a numeric feature. Levels
    are listed by code; if a feature has too many, the last entry is a `SharedLevels` with all
    levels that share one code. A category that identifies rows has no levels: all its values are
    treated as missing.
    """

    thresholds: list[NDArray[np.float64]]
    levels: list[list[Any] | None]
    code_type: np.dtype[Any]
    has_missing: NDArray[np.bool_]  # in the training rows
    ordered: Mapping[int, OrderedCategory] = field(default_factory=dict)  # by feature, ascending

    @property
    def is_categorical(self) -> NDArray[np.uint8]:
        """Whether each feature is categorical."""
        return np.array([levels is not None for levels in self.levels], dtype=np.uint8)

    @property
    def with_sets(self) -> list[int]:
        """The features that have a second column."""
        return [j for j, order in self.ordered.items() if order.single is not None]

    @property
    def n_columns(self) -> int:
        """Number of columns that trees are grown on."""
        return len(self.levels) + len(self.with_sets)

    @property
    def columns(self) -> Columns:
        """The columns that trees are grown on."""
        n_codes, as_sets = self.n_codes, self.is_categorical
        for j, order in self.ordered.items():
            n_codes[j], as_sets[j] = 1 + int(order.place.max()), 0
        second = [1 + int(single.max()) for single in self._singles]
        return Columns(
            np.array([*range(len(self.levels)), *self.with_sets], dtype=np.int32),
            np.array([*n_codes, *second], dtype=np.int32),
            np.array([*as_sets, *(1 for _ in second)], dtype=np.uint8),
        )

    @property
    def _singles(self) -> list[NDArray[np.uint8]]:
        return [order.single for order in self.ordered.values() if order.single is not None]

    def column_codes(self, codes: Codes) -> Codes:
        """Return the codes in the columns that trees are grown on, of rows not trained on."""
        if not self.ordered:
            return codes
        seen = [codes[j] for j in range(len(self.levels))]
        for j, order in self.ordered.items():
            seen[j] = order.place[codes[j]]
        seen += [one[codes[j]] for j, one in zip(self.with_sets, self._singles, strict=True)]
        return np.array(seen, dtype=codes.dtype)

    @property
    def n_codes(self) -> NDArray[np.int32]:
        """Number of codes of each feature, including the one for missing values."""
        return np.array(
            [
                1 + (len(levels) if levels is not None else len(cuts) + 1)
                for cuts, levels in zip(self.thresholds, self.levels, strict=True)
            ],
            dtype=np.int32,
        )

    def equals(self, other: Binning) -> bool:
        """Whether both encode every row alike."""
        same_levels = self.levels == other.levels and self.code_type == other.code_type
        same_places = self.ordered.keys() == other.ordered.keys() and all(
            np.array_equal(order.place, other.ordered[j].place) for j, order in self.ordered.items()
        )
        same_cuts = all(map(np.array_equal, self.thresholds, other.thresholds))
        return same_levels and same_places and same_cuts

    def transform(self, table: Table, n_jobs: int = 1) -> Codes:
        """Return the codes of the table, features x rows."""
        if isinstance(table, BinnedTable) and table.binning is self:
            return table.codes
        if isinstance(table, DeviceRowsTable):
            return table.numbers.encode_to_host(self.thresholds, self.code_type)
        codes = np.empty((table.n_features, table.n_rows), dtype=self.code_type)
        if table.matrix is not None:
            _core.encode(table.matrix, self.thresholds, codes, n_jobs)
            return codes
        for j, column in enumerate(table.columns):
            known = self.levels[j]
            if known is None:
                _core.encode(_as_matrix(column), [self.thresholds[j]], codes[j : j + 1], n_jobs)
            else:
                codes[j] = encode_levels(column, known)
        return codes

    def make_codes(self, table: Table, n_jobs: int = 1) -> Codes | MadeThere:
        """Encode the table where it is: numbers on a device are encoded on the device."""
        if isinstance(table, DeviceRowsTable):
            return table.numbers.make_codes(self.thresholds, self.code_type)
        return self.transform(table, n_jobs)

    def encode_there(self, table: DeviceRowsTable) -> DeviceCodes:
        """Encode numbers on a device; the codes stay there."""
        return table.numbers.encode(self.thresholds, self.code_type)


@dataclass(frozen=True)
class BinnedTable(Table):
    """A validated table with its codes. Models accept it instead of X and do not bin it again."""

    binning: Binning
    codes: Codes

    def take(self, rows: NDArray[np.intp]) -> BinnedTable:
        """Return the rows at these positions, with their codes."""
        some = super().take(rows)
        codes = np.ascontiguousarray(self.codes[:, rows])
        return BinnedTable(some.n_rows, some.names, some.matrix, some.columns, self.binning, codes)


def bin_table(table: Table, binning: Binning, n_jobs: int = 1) -> BinnedTable:
    """Bin a validated table once, for several uses."""
    codes = binning.transform(table, n_jobs)
    return BinnedTable(table.n_rows, table.names, table.matrix, table.columns, binning, codes)


@dataclass(frozen=True)
class Coded:
    """The training rows as codes (features x rows), and how they were encoded."""

    made: Codes | MadeThere  # in host memory, or on the device that computed them
    binning: Binning
    sample: BinningSample

    @property
    def codes(self) -> Codes:
        """The codes in host memory."""
        return on_host(self.made)

    def row_hashes(self, labels: NDArray[np.uint8], seed: int, n_jobs: int) -> NDArray[np.uint64]:
        """Return a hash of the content of each row."""
        if isinstance(self.made, MadeThere) and self.made.can_work(9 * len(labels)):
            return self.made.row_hashes(labels, seed)
        return _core.row_hashes(self.codes, labels, seed, n_jobs)

    def take(self, rows: NDArray[np.intp]) -> Coded:
        """Return some of the rows."""
        return replace(self, made=take_rows(self.made, rows))


def code_table(table: Table, weights: Weights, max_bins: int, n_jobs: int) -> Coded:
    """Bin a table in memory."""
    units = weights.as_units
    bound = _core.sample_bound(table.n_rows, column_stats.SAMPLE_ROWS)
    rows = _core.sampled_rows(0, table.n_rows, bound, n_jobs)
    if isinstance(table, DeviceRowsTable):
        sample = _sample_there(table, rows, units)
        nothing: list[Counter[Any] | None] = [None] * table.n_features
        seen = ColumnStats([0] * table.n_features, missing_columns(table.numbers), nothing)
    else:
        sample, seen = BinningSample(table, rows, units), collect_stats(table, units, n_jobs)
    binning = fit_binning(sample, seen, max_bins, n_jobs)
    return Coded(binning.make_codes(table, n_jobs), binning, sample)


def _sample_there(
    table: DeviceRowsTable, rows: NDArray[np.uint32], units: NDArray[np.int64] | None
) -> BinningSample:
    """Copy the sampled rows of a table on a device to the host."""
    some = Table(len(rows), table.names, table.numbers.rows(rows), [])
    every = np.arange(len(rows), dtype=np.uint32)
    return BinningSample(some, every, None if units is None else units[rows])


def fit_binning(sample: BinningSample, seen: ColumnStats, max_bins: int, n_jobs: int) -> Binning:
    """Choose thresholds from the sample, and levels from the statistics of all rows."""
    table, n = sample.table, sample.table.n_features
    rows, units = sample.rows, sample.units
    levels: list[list[Any] | None] = [None] * n
    if table.matrix is not None:
        thresholds = _core.find_thresholds(table.matrix, rows, units, max_bins, n_jobs)
    else:
        thresholds = [np.empty(0)] * n
        categories = []
        for j, column in enumerate(table.columns):
            weights = seen.weights[j]
            if weights is None:
                values = _as_matrix(column)
                [thresholds[j]] = _core.find_thresholds(values, rows, units, max_bins, n_jobs)
            else:
                check_no_lone_surrogates(column.name, weights)
                category = Category(column.name, column.is_guess, weights.keys(), seen.n_known[j])
                levels[j] = [] if category.identifies_rows else _choose_levels(weights)
                categories.append(category)
        warn_of_doubtful(categories)
    code_type = np.dtype(np.uint8 if max_bins <= UINT8_BINS else np.uint16)
    return Binning(thresholds, levels, code_type, seen.has_missing)


def _as_matrix(column: Column) -> NDArray[Any]:
    return np.asarray(column.values)[:, np.newaxis]


def _level_order(level: Any) -> tuple[str, Any]:
    """Sort key for levels of mixed types, including tuples."""
    within = tuple(map(_level_order, level)) if isinstance(level, tuple) else level
    return type(level).__name__, within


def _choose_levels(weights: Counter[Any]) -> list[Any]:
    """Return the levels sorted; if there are too many, the rarest share the last code."""
    found = sorted(weights, key=_level_order)
    if len(found) <= MAX_LEVELS:
        return found
    by_weight = np.argsort([-weights[level] for level in found], kind="stable")
    kept = np.sort(by_weight[: MAX_LEVELS - 1])
    shared = SharedLevels(found[i] for i in np.sort(by_weight[MAX_LEVELS - 1 :]))
    return [found[i] for i in kept] + [shared]


def encode_levels(column: Column, levels: list[Any] | None) -> NDArray[np.int32]:
    """Encode a categorical column; unknown levels are treated as missing."""
    assert levels is not None
    code_of: dict[Any, int] = {}
    for code, level in enumerate(levels, start=1):
        for member in level if isinstance(level, SharedLevels) else (level,):
            code_of[member] = code
    if column.factor is not None:
        return column.factor.encode(code_of)
    values = column.values
    first = next((v for v in values if not is_missing(v)), None)
    known_text = {isinstance(v, str) for v in code_of}
    if first is not None and known_text and isinstance(first, str) not in known_text:
        expected = "text" if True in known_text else "numbers or booleans as"
        raise ValueError(
            f"Column {column.name!r} has values such as {first!r}; expected {expected} categories, "
            "as in the data the model was fitted to."
        )
    return np.fromiter(map(code_of.get, values, repeat(0)), dtype=np.int32, count=len(values))
