"""SQL dialects, and expressions for columns and tests on them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from treerank._input.parameters import invalid_parameter
from treerank.export._walks import Walks, level_kind, members_of


@dataclass(frozen=True)
class Dialect:
    """Keywords and properties of one database.

    Parameters
    ----------
    double, single, integer, bigint : str
        Names of types.
    cast : str
        Template for casting a column to a type.
    number : str
        Template for a double that is parsed exactly; ``{}`` stands for its digits.
    nan : str
        The double NaN; empty if NULL is used instead.
    true, false : str
    boolean : str
    text : str
        Template for a text column that is compared byte by byte; ``{}`` stands for the column.
    ordered_sum : bool
        Whether the order of summation can be specified.
    max_nesting : int
        Number of CASE expressions that may be nested, with a safety margin.
    longest_name : int or None
        Number of significant bytes in a name.
    any_case : bool
        Whether names are case-insensitive.
    least, greatest : str
        Functions for the smallest, or largest, of several numbers.
    """

    double: str
    single: str
    integer: str
    bigint: str
    cast: str
    number: str
    nan: str
    boolean: str
    true: str
    false: str
    text: str
    ordered_sum: bool
    max_nesting: int
    longest_name: int | None = None
    any_case: bool = False
    least: str = "LEAST"
    greatest: str = "GREATEST"

    @staticmethod
    def name(name: str) -> str:
        """Quote an identifier."""
        if "\0" in name or not name or any("\ud800" <= c <= "\udfff" for c in name):
            raise ValueError(
                f"Got the name {name!r}; expected text without a zero character or lone surrogate."
            )
        return '"' + name.replace('"', '""') + '"'

    def folded(self, name: str) -> str:
        """Return a normal form, equal for names that the database treats as the same."""
        name = "".join(c.lower() if c.isascii() else c for c in name) if self.any_case else name
        return name.encode(errors="replace")[: self.longest_name].decode(errors="ignore")

    def table(self, name: str) -> str:
        """Quote the name of a table, which may include a schema."""
        return ".".join(self.name(part) for part in name.split("."))

    @staticmethod
    def quote(text: str) -> str:
        """Quote a string."""
        if "\0" in text:
            raise ValueError(f"Got the level {text!r}; expected text without a zero character.")
        return "'" + text.replace("'", "''") + "'"

    def digits(self, value: float) -> str:
        """Write a double."""
        return self.number.format(repr(float(value)))

    def level(self, level: Any, kind: str) -> str:
        """Write a level of a category."""
        if kind == "text":
            return self.quote(level)
        if kind == "boolean":
            return self.true if level else self.false
        return self.digits(level)


DIALECTS = {
    "postgresql": Dialect(
        double="float8", single="float4", integer="integer", bigint="bigint",
        cast="{}::{}", number="{}::float8",
        nan="'NaN'::float8", boolean="boolean", true="TRUE", false="FALSE", text="{}::text",
        ordered_sum=True, max_nesting=1000, longest_name=63,
    ),
    "duckdb": Dialect(
        double="DOUBLE", single="FLOAT", integer="INTEGER", bigint="BIGINT",
        cast="{}::{}", number="'{}'::DOUBLE",
        nan="'NaN'::DOUBLE", boolean="BOOLEAN", true="TRUE", false="FALSE", text="{}::VARCHAR",
        ordered_sum=True, max_nesting=500, any_case=True,
    ),
    "sqlite": Dialect(
        double="REAL", single="REAL", integer="INTEGER", bigint="INTEGER",
        cast="CAST({} AS {})", number="{}", nan="",
        boolean="INTEGER", true="1", false="0", text="CAST({} AS TEXT) COLLATE BINARY",
        ordered_sum=False, max_nesting=12, any_case=True, least="MIN", greatest="MAX",
    ),
}  # fmt: skip


class Aliases:
    """Names for the tables of the query itself, different from all tables and columns it reads."""

    def __init__(self, words: Dialect, table: str, columns: Iterable[str]) -> None:
        self.words = words
        self.taken = {words.folded(name) for name in (*table.split("."), *columns)}

    def __call__(self, name: str) -> str:
        """Return the name, extended until it is not taken."""
        while self.words.folded(name) in self.taken:
            name += "_"
        return name


def check_names(walks: Walks, words: Dialect) -> None:
    """Raise if the database cannot distinguish the names of two columns."""
    seen: dict[str, str] = {}
    for name in (walks.names[j] for j in walks.used_features.tolist()):
        other = seen.setdefault(words.folded(name), name)
        if other is not name:
            raise ValueError(
                f"Got a model of columns {other!r} and {name!r}, which are the same name in this "
                "dialect: expected names that differ in more than case or their far ends. Rename "
                "one of them and fit again."
            )


def check_returned(
    columns: Any, classes: Any, words: Dialect, more: Iterable[str] = ()
) -> list[str]:
    """Return the columns to return; raise if one has the name of a column that the model adds."""
    # A single name is a sequence, too: of its letters.
    is_list = isinstance(columns, Iterable) and not isinstance(columns, str)
    names = list(columns) if is_list else []
    if not is_list or not all(isinstance(name, str) for name in names):
        raise invalid_parameter("columns", columns, "None or a list of names, such as ['id']")
    added = {words.folded(name) for name in ("stratum", "score", *_probabilities(classes), *more)}
    for column in names:
        if words.folded(column) in added:
            raise ValueError(
                f"Got {column!r} among columns, which is also the name of a column that the model "
                "adds; expected other names. Leave it out, or score a view that renames it."
            )
    return names


def probability_names(classes: Any, words: Dialect) -> list[str]:
    """Names of the probability columns: for the last of two classes, or for each of several."""
    names = _probabilities(classes)
    return names if len(names) == 1 else [words.name(name) for name in names]


def _probabilities(classes: Any) -> list[str]:
    if len(classes) == 2:
        return ["probability"]
    return [f"probability_{label}" for label in classes.tolist()]


class Columns:
    """Expressions for the columns of the table as used by the model, and for tests on them."""

    def __init__(self, walks: Walks, words: Dialect, source: str) -> None:
        self.walks, self.words, self.source = walks, words, source

    def plain(self, feature: int) -> str:
        """Return the column, cast to the type in which the model compares it."""
        words, binning = self.words, self.walks.binning
        name = f"{self.source}.{words.name(self.walks.names[feature])}"
        levels = binning.levels[feature]
        kind = "number" if levels is None else level_kind(levels, self.walks.names[feature])
        if kind == "text":
            return words.text.format(name)
        return words.cast.format(name, words.boolean if kind == "boolean" else words.double)

    def number(self, feature: int) -> str:
        """Return a numeric column with NULL for NaN."""
        column = self.plain(feature)
        return f"NULLIF({column}, {self.words.nan})" if self.words.nan else column

    def at_most(self, feature: int, threshold: float, missing_left: bool) -> tuple[str, bool]:
        """Condition for going left by a number, and whether it is negated.

        NULL counts as false, so if missing values go left, the condition is for going right. NaN
        is the largest number in a database.
        """
        column = self.plain(feature)
        known = f"{column} < {self.words.nan}" if self.words.nan else f"{column} IS NOT NULL"
        if math.isinf(threshold):  # separates missing from known values
            return known, missing_left
        digits = self.words.digits(threshold)
        if not missing_left:
            return f"{column} <= {digits}", False
        above = f"{column} > {digits}"
        return (f"{above} AND {known}" if self.words.nan else above), True

    def in_set(self, feature: int, left: Any) -> tuple[str, bool]:
        """Condition for going left by a category, and whether it is negated.

        Missing and unknown levels have code 0. If code 0 goes left, the condition lists the levels
        that go right, and any other value goes left.
        """
        levels = self.walks.binning.levels[feature]
        assert levels is not None
        turned = bool(left[0])
        kind = level_kind(levels, self.walks.names[feature])
        listed = [
            self.words.level(member, kind)
            for code, level in enumerate(levels, start=1)
            if bool(left[code]) != turned
            for member in members_of(level)
        ]
        if not listed:
            return "1 = 0", turned
        return f"{self.plain(feature)} IN ({', '.join(listed)})", turned

    def code(self, feature: int) -> str:
        """Expression for the code of a category; 0 for missing and unknown levels."""
        levels = self.walks.binning.levels[feature]
        assert levels is not None
        kind = level_kind(levels, self.walks.names[feature])
        cases = [
            f"WHEN {self.plain(feature)} IN "
            f"({', '.join(self.words.level(m, kind) for m in members_of(level))}) THEN {code}"
            for code, level in enumerate(levels, start=1)
        ]
        return f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"
