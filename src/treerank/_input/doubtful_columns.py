"""Finds doubtful columns: categories that identify rows, and text that looks like numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from treerank._input.warn import warn

# A column with at most this many levels is a category, whatever the number of rows.
FEW_LEVELS = 20
# With more levels per row than this, over 80% of the rows have a level of their own. By the
# Good-Turing estimate, the same proportion of new rows will have an unseen level.
MOST_LEVELS_PER_ROW = 0.9
# Maximum number of columns that a warning names.
MOST_NAMED = 10


@dataclass(frozen=True)
class Category:
    """The properties of a categorical column that tell whether it is doubtful."""

    name: str
    is_guess: bool  # text that the user has not declared categorical
    levels: Collection[Any]
    n_known: int  # number of rows that have a level

    @property
    def identifies_rows(self) -> bool:
        """Whether the levels identify rows rather than groups of rows."""
        n_levels = len(self.levels)
        return n_levels > FEW_LEVELS and n_levels > MOST_LEVELS_PER_ROW * self.n_known

    @property
    def reads_as_numbers(self) -> bool:
        """Whether the column is text, but at least 90% of its levels are numbers."""
        if not self.is_guess or len(self.levels) <= FEW_LEVELS:
            return False
        return len(self.other_than_numbers) <= 0.1 * len(self.levels)

    @property
    def other_than_numbers(self) -> list[Any]:
        """Levels that are not numbers, sorted."""
        return sorted((level for level in self.levels if not _reads_as_number(level)), key=str)


def warn_of_doubtful(categories: list[Category]) -> None:
    """Warn once about all columns that identify rows, and once about all that look like numbers."""
    left_out = [c for c in categories if c.identifies_rows]
    if left_out:
        said = [f"{c.name!r} ({len(c.levels):,} levels in {c.n_known:,} rows)" for c in left_out]
        numbers = [repr(c.name) for c in left_out if c.reads_as_numbers]
        convert = f" Numbers are text in {_list(numbers)}: convert them." if numbers else ""
        warn(
            f"Columns that identify rows are left out of the model: {_list(said)}. A level that "
            "occurs once says nothing about new rows. Drop such columns, or replace them by what "
            f"rows have in common, a group or a number.{convert}",
        )
    numbers = [
        _format_numbers(c) for c in categories if c.reads_as_numbers and not c.identifies_rows
    ]
    if numbers:
        warn(
            f"Text that reads as numbers is taken as a category: {_list(numbers)}. Convert it to "
            "numbers, or name the column in categorical_features.",
        )


def _format_numbers(category: Category) -> str:
    odd = category.other_than_numbers
    but = f", all but {', '.join(map(repr, odd[:3]))}" if odd else ""
    return f"{category.name!r} ({len(category.levels):,} levels{but})"


def _list(said: list[str]) -> str:
    if len(said) > MOST_NAMED:
        said = [*said[:MOST_NAMED], f"{len(said) - MOST_NAMED} more"]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _reads_as_number(level: Any) -> bool:
    try:
        float(str(level).replace(",", ""))
    except ValueError:
        return False
    return True
