"""Count what a model cannot use while rows are scored: unknown levels and empty columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treerank.cli._errors import note
from treerank.cli._sources import Source

MOST_COLUMNS, MOST_LEVELS = 5, 3
# In fewer rows, a column may be empty by chance.
FEW_ROWS = 20


class Unusable:
    """Counts what a model cannot use in a table, for notes at the end.

    Parameters
    ----------
    source : Source
    levels : dict
        Levels of each column of the model; None for a number, False if the model does not use it.
    """

    def __init__(self, source: Source, levels: dict[str, Any]) -> None:
        used = {name: known for name, known in levels.items() if known is not False}
        self._parts = _UnseenLevels(source, used), _Emptiness(source, list(used))

    def count(self, block: Any) -> None:
        """Count in a block of rows."""
        for part in self._parts:
            part.count(block)

    def note(self) -> None:
        """Print what was found, in a line for each kind."""
        for part in self._parts:
            part.note()


class _UnseenLevels:
    """Counts rows whose level is unknown to the model; such levels are scored as missing."""

    def __init__(self, source: Source, levels: dict[str, Any]) -> None:
        from treerank._input.categories import SharedLevels  # noqa: PLC0415 (slow to import)

        self._label = source.label
        self._known: dict[str, Any] = {}
        for name, of_column in levels.items():
            if of_column:  # no number
                members: list[Any] = []
                for level in of_column:
                    members += level if isinstance(level, SharedLevels) else [level]
                self._known[name] = pa.array(members)
        self._counts: dict[str, Counter[Any]] = {name: Counter() for name in self._known}

    def count(self, block: Any) -> None:
        """Count the unknown levels of a block."""
        for name, known in self._known.items():
            column = block.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if column.type != known.type:
                column = column.cast(known.type)
            is_unseen = pc.and_(pc.is_valid(column), pc.invert(pc.is_in(column, known)))
            if pc.any(is_unseen).as_py():
                for pair in column.filter(is_unseen).value_counts().to_pylist():
                    self._counts[name][pair["values"]] += pair["counts"]

    def note(self) -> None:
        """Print them as a note in one line, if there are any."""
        found = [(name, counts) for name, counts in self._counts.items() if counts]
        if not found:
            return
        said = []
        for name, counts in found[:MOST_COLUMNS]:
            levels = [repr(level) for level, _ in counts.most_common(MOST_LEVELS)]
            more = ", …" if len(counts) > MOST_LEVELS else ""
            said.append(f"{name!r} in {counts.total():,} rows ({', '.join(levels)}{more})")
        more = f" and {len(found) - MOST_COLUMNS} other columns" if found[MOST_COLUMNS:] else ""
        note(
            f"{self._label}: levels that the model has not seen, scored as missing: "
            f"{', '.join(said)}{more}."
        )


class _Emptiness:
    """Counts rows without any value, and finds columns without any value."""

    def __init__(self, source: Source, features: list[str]) -> None:
        self._source, self._features = source, features
        self._empty = set(features)  # columns without any value so far
        self._n_rows = self._n_empty = 0
        self._first: int | None = None

    def count(self, block: Any) -> None:
        """Count the empty rows of a block, and find out which columns have values."""
        is_empty = np.ones(block.num_rows, dtype=bool)
        for name in self._features:
            column = block.column(name)
            if column.null_count < block.num_rows:
                self._empty.discard(name)
            is_empty &= np.asarray(column.is_null(nan_is_null=True))
        if self._first is None and is_empty.any():
            self._first = self._n_rows + int(np.argmax(is_empty))
        self._n_rows += block.num_rows
        self._n_empty += int(is_empty.sum())

    def note(self) -> None:
        """Print them as a note in one line each, if there are any."""
        if self._features and self._n_empty == self._n_rows:
            note(f"{self._source.label}: no row has a value in any column of the model.")
            return
        if self._first is not None:
            note(
                f"{self._source.label}: {self._n_empty:,} of {self._n_rows:,} rows have no value "
                f"in any column of the model (first: {self._source.place(self._first)})."
            )
        found = [name for name in self._features if name in self._empty]
        if found and self._n_rows >= FEW_ROWS:
            more = f" and {len(found) - MOST_COLUMNS} others" if found[MOST_COLUMNS:] else ""
            said = ", ".join(map(repr, found[:MOST_COLUMNS]))
            note(f"{self._source.label}: columns of the model without any value: {said}{more}.")
