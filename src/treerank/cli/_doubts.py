"""What may be wrong with a training table although it can be read: said in notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treerank.cli._errors import note
from treerank.cli._numbers import points_of_thousands
from treerank.cli._sources import Source

# With fewer rows, or fewer rows of a class, a column may tell the classes apart by chance.
FEW_ROWS, FEW_OF_A_CLASS = 50, 5
# Rows of each level that rule out chance.
ROWS_OF_A_LEVEL = 20
# A number such as 9999 may stand for a missing value if so many rows have it.
ROWS_OF_A_NUMBER = 3
MOST_COLUMNS = 5


def note_doubts(
    source: Source, table: Any, features: Mapping[str, Any], labels: NDArray[Any]
) -> None:
    """Print notes on columns that give the labels away, and numbers that may mean other ones."""
    classes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    if len(labels) >= FEW_ROWS and counts.min() >= FEW_OF_A_CLASS:
        telling = [repr(name) for name, column in features.items() if _tells(column, classes)]
        if telling:
            note(
                f"{source.label}: tells the classes apart in every row: {_list(telling)}. Leave "
                "such a column out if it is known only after the label: --drop COLUMN."
            )
    marked = {name: _marker(column) for name, column in features.items()}
    found = [f"{name!r} ({said})" for name, said in marked.items() if said is not None]
    if found:
        note(
            f"{source.label}: far from all other numbers, as where a value is missing: "
            f"{_list(found)}. If it is, leave it empty, or give --missing NUMBER, here and for new "
            "rows."
        )
    if source.decimal == ".":
        _note_thousands(source, table, features)


def _note_thousands(source: Source, table: Any, features: Iterable[str]) -> None:
    found = []
    for name in features:
        column = table[name] if name in table.column_names else None
        if column is not None and pa.types.is_string(column.type):
            example = points_of_thousands(column, source.delimiter or ",")
            if example is not None:
                found.append(f"{name!r} ({example})")
    if found:
        note(
            f"{source.label}: the point is taken as the decimal mark in {_list(found)}. If it "
            "separates thousands, give --decimal , here and for new rows."
        )


def _list(said: list[str]) -> str:
    return ", ".join(said[:MOST_COLUMNS]) + (" and others" if said[MOST_COLUMNS:] else "")


def _tells(column: Any, classes: NDArray[np.intp]) -> bool:
    """Whether a column alone tells the class of every row."""
    if pa.types.is_floating(column.type) and _has_own_ranges(column, classes):
        return True
    codes = pc.dictionary_encode(column, null_encoding="encode")
    codes = (codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes).indices
    levels = np.asarray(codes).astype(np.int64)
    n_levels = int(levels.max()) + 1
    if n_levels < 2 or n_levels * ROWS_OF_A_LEVEL > len(levels):
        return False
    return len(np.unique(levels * (classes.max() + 1) + classes)) == n_levels


def _has_own_ranges(column: Any, classes: NDArray[np.intp]) -> bool:
    """Whether each class has a range of numbers of its own, and missing ones are in one class."""
    values = column.to_numpy()
    is_missing = np.isnan(values)
    if len(np.unique(classes[is_missing])) > 1:
        return False
    ranges = []
    for k in range(classes.max() + 1):
        own = values[(classes == k) & ~is_missing]
        if len(own):
            ranges.append((own.min(), own.max()))
    ranges.sort()
    apart = all(left[1] < right[0] for left, right in pairwise(ranges))
    return apart and len(ranges) + is_missing.any() > 1


def _marker(column: Any) -> str | None:
    """Describe a number such as 9999 or -99 that is far from all others; None if there is none."""
    if not pa.types.is_floating(column.type):
        return None
    values = column.to_numpy()
    values = values[np.isfinite(values)]
    for value in (values.max(), values.min()) if len(values) else ():
        others = np.abs(values[values != value])
        digits = f"{abs(value):.0f}"
        if set(digits) != {"9"} or value != round(value) or len(others) == 0:
            continue
        is_far = others.max() < 0.6 * value if value > 0 else values[values != value].min() >= 0
        n_rows = len(values) - len(others)
        if is_far and n_rows >= ROWS_OF_A_NUMBER and (value < 0 or value > 9):
            return f"{value:.0f} in {n_rows:,} rows"
    return None
