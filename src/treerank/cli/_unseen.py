"""Count levels that are unknown to a model while rows are scored, for one note at the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from treerank.cli._errors import note

MOST_COLUMNS, MOST_LEVELS = 5, 3


class UnseenLevels:
    """Counts rows whose level is unknown to the model; such levels are scored as missing."""

    def __init__(self, levels: dict[str, Any]) -> None:
        from treerank._input.categories import SharedLevels  # noqa: PLC0415 (slow to import)

        self._known: dict[str, Any] = {}
        for name, of_column in levels.items():
            if of_column:  # neither a number nor a column that the model does not use
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

    def note(self, label: str) -> None:
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
            f"{label}: levels that the model has not seen, scored as missing: "
            f"{', '.join(said)}{more}."
        )
