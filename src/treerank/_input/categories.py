"""Represents a categorical column by its distinct levels and the index of each row's level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import is_missing


class SharedLevels(tuple[Any, ...]):
    """Levels that share one code. A plain tuple, in contrast, is one level of a tuple column."""

    __slots__ = ()


def flat_levels(levels: list[Any]) -> list[Any]:
    """Return all levels, including those that share a code."""
    return [
        member
        for level in levels
        for member in (level if isinstance(level, SharedLevels) else (level,))
    ]


def format_level(level: Any) -> str:
    """Format a level; for many that share a code, the first two and how many there are."""
    if not isinstance(level, SharedLevels):
        return str(level)
    if len(level) <= 3:
        return ", ".join(map(str, level))
    return f"{level[0]}, {level[1]}, … ({len(level):,} levels)"


@dataclass(frozen=True)
class Factor:
    """Levels of the rows, without a Python object per row.

    A level may have no rows, and may occur twice in `levels`.
    """

    levels: list[Any]  # without missing values
    places: NDArray[np.int32]  # index of each row's level in `levels`; -1 for missing

    def __len__(self) -> int:
        return len(self.places)

    @property
    def n_known(self) -> int:
        """Number of rows that have a level."""
        return int(np.count_nonzero(self.places >= 0))

    @property
    def has_missing(self) -> bool:
        """Whether some row has no level."""
        return self.n_known < len(self)

    def weights(self, units: NDArray[np.int64] | None) -> Counter[Any]:
        """Return the weight in units of each level that has rows."""
        known = self.places >= 0
        weight = np.zeros(len(self.levels), dtype=np.int64)
        if units is None:
            weight += np.bincount(self.places[known], minlength=len(self.levels))
        else:
            np.add.at(weight, self.places[known], units[known])
        counts: Counter[Any] = Counter()
        for level, count in zip(self.levels, weight.tolist(), strict=True):
            if count:
                counts[level] += count
        return counts

    def encode(self, code_of: dict[Any, int]) -> NDArray[np.int32]:
        """Return the code of each row, 0 for missing values and levels without a code."""
        codes = np.array([*(code_of.get(level, 0) for level in self.levels), 0], dtype=np.int32)
        return np.asarray(codes[self.places])


_ARROW = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)


def factorise(series: nw.Series[Any]) -> Factor:
    """Find the levels of a column."""
    dtype = series.dtype
    if find_spec("pyarrow") is not None and (
        dtype in _ARROW or dtype.is_integer() or dtype.is_float()
    ):
        return _of_arrow(series.to_arrow())
    return _of_objects(series.to_list())


def _of_arrow(array: Any) -> Factor:
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    levels = array.dictionary.to_pylist()
    places = array.indices.cast(pa.int32()).fill_null(-1)  # the index type may be unsigned
    return _without_missing(levels, places.to_numpy(zero_copy_only=False))


def _of_objects(values: list[Any]) -> Factor:
    number: dict[Any, int] = {}
    places = np.fromiter((number.setdefault(v, len(number)) for v in values), np.int32, len(values))
    return _without_missing(list(number), places)


def _without_missing(levels: list[Any], places: NDArray[np.int32]) -> Factor:
    known = np.fromiter((not is_missing(level) for level in levels), bool, len(levels))
    if known.all():
        return Factor(levels, places)
    renumbered = np.append(np.where(known, np.cumsum(known) - 1, -1), -1).astype(np.int32)
    return Factor([v for v, k in zip(levels, known, strict=True) if k], renumbered[places])
