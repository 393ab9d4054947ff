"""Bin: values become small codes, thresholds and levels are kept.

Code 0 is missing; code i + 1 means thresholds[i - 1] < x <= thresholds[i] for a
number, or the i-th known level of a category.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._columns import Column, is_missing
from treerank._doubtful_columns import Category, warn_of_doubtful
from treerank._validate import Table
from treerank._weights import Weights

Codes = NDArray[Any]  # uint8 or uint16

# Rows that decide the thresholds: as many as pin down 255 quantiles well.
SAMPLE_ROWS = 200_000
UINT8_BINS = 255
UINT16_BINS = 65_535
MAX_LEVELS = _core.MAX_CATEGORY_CODES - 1


@dataclass(frozen=True)
class Binning:
    """How each feature is coded.

    `thresholds[j]` is empty for a category, `levels[j]` is None for a number. Levels are
    listed by code; the last entry of a feature with too many is a tuple that shares one
    code. A category that identifies rows has none: to the model all its values are missing.
    """

    thresholds: list[NDArray[np.float64]]
    levels: list[list[Any] | None]
    code_type: np.dtype[Any]
    has_missing: NDArray[np.bool_]  # seen in the training rows

    @property
    def is_categorical(self) -> NDArray[np.uint8]:
        """One flag a feature."""
        return np.array([levels is not None for levels in self.levels], dtype=np.uint8)

    @property
    def n_codes(self) -> NDArray[np.int32]:
        """Number of codes of each feature, missing included."""
        return np.array(
            [
                1 + (len(levels) if levels is not None else len(cuts) + 1)
                for cuts, levels in zip(self.thresholds, self.levels, strict=True)
            ],
            dtype=np.int32,
        )

    def equals(self, other: Binning) -> bool:
        """Whether both give every row the same codes."""
        same_levels = self.levels == other.levels and self.code_type == other.code_type
        return same_levels and all(map(np.array_equal, self.thresholds, other.thresholds))

    def transform(self, table: Table, n_jobs: int = 1) -> Codes:
        """Codes of the table, features x rows."""
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


@dataclass(frozen=True)
class Coded:
    """The training rows as codes (features x rows), and how they were coded."""

    codes: Codes
    binning: Binning
    sample: Sample


@dataclass(frozen=True)
class Sample:
    """The rows that decide thresholds: all, or those whose numbers have the smallest hashes.

    A row is in it or not by its number alone, however the rows are cut into blocks.
    """

    table: Table
    rows: NDArray[np.uint32]  # of the table
    units: NDArray[np.int64] | None  # of all rows of the table

    def values(self, j: int) -> NDArray[np.float64]:
        """Numbers of one feature."""
        table = self.table
        column = table.matrix[:, j] if table.matrix is not None else table.columns[j].values
        return np.asarray(column, dtype=np.float64)[self.rows]

    @property
    def masses(self) -> NDArray[np.int64] | None:
        """Units of the rows; None when every row counts once."""
        return None if self.units is None else self.units[self.rows]


@dataclass(frozen=True)
class Seen:
    """What all rows say of the columns: missing values, and the mass of each level.

    `masses[j]` is None for a number.
    """

    n_known: list[int]  # rows that have a level
    has_missing: NDArray[np.bool_]
    masses: list[Counter[Any] | None]


def code_table(table: Table, weights: Weights, max_bins: int, n_jobs: int) -> Coded:
    """Bin a table that is in memory."""
    units = weights.as_units
    bound = _core.sample_bound(table.n_rows, SAMPLE_ROWS)
    sample = Sample(table, _core.sampled_rows(0, table.n_rows, bound), units)
    binning = fit_binning(sample, look_over(table, units), max_bins, n_jobs)
    return Coded(binning.transform(table, n_jobs), binning, sample)


def look_over(table: Table, units: NDArray[np.int64] | None) -> Seen:
    """See which levels and missing values the rows have."""
    n = table.n_features
    n_known = [0] * n
    has_missing = np.zeros(n, dtype=bool)
    masses: list[Counter[Any] | None] = [None] * n
    if table.matrix is not None:
        if table.n_rows and np.isnan(table.matrix.min()):  # one quick pass; by column if it must be
            has_missing = np.isnan(table.matrix.min(axis=0))
        return Seen(n_known, has_missing, masses)
    for j, column in enumerate(table.columns):
        if column.is_categorical:
            counts = Counter(column.values)
            n_known[j] = sum(m for v, m in counts.items() if not is_missing(v))
            has_missing[j] = n_known[j] < table.n_rows
            of_level = counts if units is None else _level_masses(column, counts, units)
            masses[j] = Counter({v: m for v, m in of_level.items() if not is_missing(v)})
        else:
            has_missing[j] = bool(np.isnan(column.values).any())
    return Seen(n_known, has_missing, masses)


def fit_binning(sample: Sample, seen: Seen, max_bins: int, n_jobs: int) -> Binning:
    """Choose thresholds by the sample, and levels by what all rows have."""
    table, n = sample.table, sample.table.n_features
    rows, units = sample.rows, sample.units
    levels: list[list[Any] | None] = [None] * n
    if table.matrix is not None:
        thresholds = _core.find_thresholds(table.matrix, rows, units, max_bins, n_jobs)
    else:
        thresholds = [np.empty(0)] * n
        categories = []
        for j, column in enumerate(table.columns):
            masses = seen.masses[j]
            if masses is None:
                values = _as_matrix(column)
                [thresholds[j]] = _core.find_thresholds(values, rows, units, max_bins, n_jobs)
            else:
                category = Category(column.name, column.is_guess, masses.keys(), seen.n_known[j])
                levels[j] = [] if category.identifies_rows else _choose_levels(masses)
                categories.append(category)
        warn_of_doubtful(categories)
    code_type = np.dtype(np.uint8 if max_bins <= UINT8_BINS else np.uint16)
    return Binning(thresholds, levels, code_type, seen.has_missing)


def _as_matrix(column: Column) -> NDArray[np.float64]:
    return np.asarray(column.values)[:, np.newaxis]


def _level_order(level: Any) -> tuple[str, Any]:
    return type(level).__name__, level


def _level_masses(column: Column, counts: Counter[Any], units: NDArray[np.int64]) -> Counter[Any]:
    """Mass of each value, missing ones included."""
    number = {value: i for i, value in enumerate(counts)}
    place = np.fromiter(map(number.__getitem__, column.values), np.intp, len(column.values))
    mass = np.zeros(len(number), dtype=np.int64)
    np.add.at(mass, place, units)
    return Counter(dict(zip(number, mass.tolist(), strict=True)))


def _choose_levels(masses: Counter[Any]) -> list[Any]:
    """Levels in sorted order; when there are too many, the rarest share the last code."""
    found = sorted(masses, key=_level_order)
    if len(found) <= MAX_LEVELS:
        return found
    by_mass = np.argsort([-masses[level] for level in found], kind="stable")
    kept = np.sort(by_mass[: MAX_LEVELS - 1])
    shared = tuple(found[i] for i in np.sort(by_mass[MAX_LEVELS - 1 :]))
    return [found[i] for i in kept] + [shared]


def encode_levels(column: Column, levels: list[Any] | None) -> NDArray[np.int32]:
    """Codes of a categorical column; unknown levels are missing."""
    assert levels is not None
    code_of: dict[Any, int] = {}
    for code, level in enumerate(levels, start=1):
        for member in level if isinstance(level, tuple) else (level,):
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
