"""Types of the columns of a training table: numbers, categories, dates, or omitted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treerank.cli._conversion import ambiguous_order, decimal_comma, no_date
from treerank.cli._dates import (
    PARTS,
    are_months,
    find_order,
    is_date_type,
    likeliest_order,
    look_like_dates,
    nearly_dates,
    parse_text,
    take_part,
    to_days,
)
from treerank.cli._errors import BadInput
from treerank.cli._numbers import (
    NumberStyle,
    decorated_number,
    find_style,
    has_decimal_comma,
    infinite_number,
)
from treerank.cli._places import Place

# A column with a smaller share of text than this is a number with errors in it.
MIXED_SHARE = 0.1
# So many different texts among many numbers may all mean that a number is missing.
MOST_PLACEHOLDERS = 5
# With so few rows, nothing shows whether a column identifies rows.
FEW_ROWS = 20
# Last words in the names of columns that number the rows.
ID_NAME = re.compile(r"(^|[^a-z])(id|key|uuid|guid|index|rownum|rownumber)$|^unnamed: 0$")


@dataclass(frozen=True)
class ColumnRules:
    """What the user has specified about the columns."""

    types: dict[str, str]  # column to number, category or date
    parts: dict[str, list[str]]  # column to the parts to compute from its dates
    place: Place  # says where a row is
    decimal: str = "."
    date_order: str | None = None


@dataclass
class Features:
    """Converted feature columns, and how they were converted."""

    place: Place  # says where a row is
    columns: dict[str, Any] = field(default_factory=dict)  # doubles, text, booleans
    kinds: dict[str, str] = field(default_factory=dict)  # column to number or category
    said: dict[str, str] = field(default_factory=dict)  # column to a description of its type
    left_out: list[str] = field(default_factory=list)  # descriptions of columns that identify rows
    problems: list[str] = field(default_factory=list)

    def add(self, name: str, kind: str, column: Any, said: str = "") -> None:
        """Add a column; raise if it has infinite numbers."""
        problem = infinite_number(name, column, self.place) if kind == "number" else None
        if problem is not None:
            raise BadInput(problem)
        self.columns[name], self.kinds[name], self.said[name] = column, kind, said or kind


def take_columns(table: Any, names: list[str], rules: ColumnRules) -> Features:
    """Convert the columns. Problems are collected, not raised."""
    found = Features(rules.place)
    for name in names:
        try:
            _take(found, name, table[name], rules)
        except BadInput as problem:
            found.problems.append(str(problem))
    return found


def _take(found: Features, name: str, column: Any, rules: ColumnRules) -> None:
    wanted = rules.types.get(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if wanted == "date" or name in rules.parts or (wanted is None and is_date_type(kind)):
        _take_dates(found, name, column, rules)
    elif pa.types.is_null(kind):
        found.add(name, "number", column.cast(pa.float64()))
    elif is_number(kind):
        _take_numbers(found, name, column, wanted)
    elif pa.types.is_boolean(kind):
        as_number = wanted == "number"
        found.add(
            name,
            "number" if as_number else "category",
            column.cast(pa.float64()) if as_number else column,
        )
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _take_text(found, name, column.cast(pa.string()), wanted, rules)
    elif wanted == "category" and is_date_type(kind):
        found.add(name, "category", column.cast(pa.string()))
    else:
        raise BadInput(
            f"column {name!r} has type {kind}; expected numbers, text, booleans or dates. Turn it "
            f"into a number, or leave it out: --drop {name!r}"
        )


def is_number(kind: Any) -> bool:
    """Whether a type is numeric."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _take_numbers(found: Features, name: str, column: Any, wanted: str | None) -> None:
    if wanted == "category":
        found.add(name, "category", column.cast(pa.string()))
        return
    # Whole numbers beyond 2**53 are rounded, as in a table of text.
    values = column.cast(pa.float64(), safe=not pa.types.is_integer(column.type))
    if wanted is None and _numbers_rows(name, column, values):
        found.left_out.append(f"{name!r} (another whole number in each row)")
        return
    found.add(name, "number", values)


def _numbers_rows(name: str, column: Any, numbers: Any) -> bool:
    """Whether a column numbers the rows: distinct integers, consecutive or named like an id.

    Integers with so many digits that doubles cannot tell them all apart need no such name.
    """
    n = len(column)
    if n <= FEW_ROWS or column.null_count:
        return False
    values = numbers.to_numpy()
    if not (np.isfinite(values).all() and (values == np.round(values)).all()):
        return False
    ordered = np.sort(values)
    if np.abs(ordered[[0, -1]]).max() >= 2**53 and _is_written_in_digits(column):
        return len(pc.unique(column)) == n
    if (np.diff(ordered) == 0).any():
        return False
    spelled = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return bool(ordered[-1] - ordered[0] == n - 1 or ID_NAME.search(spelled))


def _is_written_in_digits(column: Any) -> bool:
    """Whether all values are integers, by their type or as text without point or exponent."""
    if pa.types.is_string(column.type):
        return bool(pc.all(pc.match_substring_regex(column, r"^\s*[+-]?\d+\s*$")).as_py())
    return not pa.types.is_floating(column.type)


def _take_text(
    found: Features, name: str, column: Any, wanted: str | None, rules: ColumnRules
) -> None:
    from treerank._input.doubtful_columns import Category  # noqa: PLC0415 (slow to import)

    known = column.drop_null()
    if wanted is None and are_months(known):
        _take_dates(found, name, column, rules)
        return
    style = None if wanted == "category" else find_style(column, rules.decimal)
    if style is not None:
        values = style.to_numbers(column)
        if wanted is None and style.is_plain and len(known) and _numbers_rows(name, column, values):
            found.left_out.append(f"{name!r} (another whole number in each row)")
        else:
            found.add(name, "number", values, style.description)
        return
    if wanted is None:
        order = find_order(column, rules.date_order)
        if order is not None or (len(known) and nearly_dates(known, MIXED_SHARE)):
            _take_dates(found, name, column, rules)
            return
        if look_like_dates(known, MIXED_SHARE) and len(pc.unique(known)) > FEW_ROWS:
            raise BadInput(
                f"column {name!r} has what looks like dates, such as {_unread_date(known)!r}; "
                "expected dates such as 2024-01-31, 31.01.2024 or 31 Jan 2024. Write them like "
                f"that, or make the column a category: --type {name}=category"
            )
    if wanted != "category":
        _check_nearly(name, column, known, wanted, rules)
        _check_undecorated(name, known, rules.decimal)
        category = Category(name, True, set(known.to_pylist()), len(known))
        if category.identifies_rows:
            found.left_out.append(
                f"{name!r} ({len(category.levels):,} different texts in {len(known):,} rows)"
            )
            return
    found.add(name, "category", column)


def _unread_date(known: Any) -> str:
    """Return the first value that is no date in the order that most values have."""
    is_unread = np.isnan(parse_text(known, likeliest_order(known)))
    return str(known[int(np.argmax(is_unread))].as_py())


def _take_dates(found: Features, name: str, column: Any, rules: ColumnRules) -> None:
    if is_date_type(column.type):
        days = to_days(column)
    else:
        column = column.cast(pa.string())
        order = find_order(column, rules.date_order)
        if order == "ambiguous":
            raise BadInput(ambiguous_order(name, column).rstrip("."))
        if order is None and rules.date_order and find_order(column, None):
            raise BadInput(
                f"column {name!r} has dates in the order {find_order(column, None)}, such as "
                f"{column.drop_null()[0].as_py()!r}, and not {rules.date_order} (--date-order); "
                f"leave out the option, or make the column a category (--type {name}=category)"
            )
        days = parse_text(column, order or rules.date_order or likeliest_order(column))
        broken = np.isnan(days) & ~np.asarray(column.is_null())
        if broken.any():
            raise BadInput(
                f"{no_date(name, column, int(np.argmax(broken)), rules.place)}, or make the "
                f"column a category: --type {name}=category"
            )
    for part in rules.parts.get(name, ["days"]):
        values = pa.chunked_array([pa.array(take_part(days, part), from_pandas=True)])
        found.add(f"{name}.{part}", "number", values, f"number: {PARTS[part]}")


def _check_nearly(
    name: str, column: Any, known: Any, wanted: str | None, rules: ColumnRules
) -> None:
    """Raise if text is numeric except in some rows, or except for its decimal mark."""
    decimal = rules.decimal
    if decimal == "." and len(known) and has_decimal_comma(column):
        raise BadInput(decimal_comma(name, column))
    if decimal == "," and len(known) and find_style(known, ".") is not None:
        raise BadInput(
            f"column {name!r} has numbers with a decimal point, such as {known[0].as_py()!r}, and "
            "not with a comma (--decimal); write the numbers of all columns alike"
        )
    for style in (NumberStyle(decimal), NumberStyle(decimal, is_plain=False)):
        fits = style.matches(column)
        n_text = len(known) - (pc.sum(fits).as_py() or 0)
        if n_text == 0:
            raise BadInput(
                f"column {name!r} has numbers in several units; write all in one, or make it a "
                f"category (--type {name}=category)"
            )
        texts = pc.unique(known.filter(pc.invert(style.matches(known)))).to_pylist()
        if (
            n_text < MIXED_SHARE * len(known)
            or (wanted == "number" and not style.is_plain)
            or _are_placeholders(known, texts)
        ):
            row = pc.index(fits, False).as_py()
            shown = texts if len(texts) <= MOST_PLACEHOLDERS else texts[:1]
            raise BadInput(
                f"column {name!r} has text in {n_text:,} of {len(column):,} rows (first: "
                f"{rules.place(row)}, {column[row].as_py()!r}); correct it, treat it as missing ("
                f"{' '.join(f'--missing {text!r}' for text in shown)}), or "
                f"make the column a category (--type {name}=category)"
            )


def _check_undecorated(name: str, known: Any, decimal: str) -> None:
    """Raise if a column with many levels has nothing but numbers and what is around them."""
    found = decorated_number(known, decimal) if len(pc.unique(known)) > FEW_ROWS else None
    if found is not None:
        raise BadInput(
            f"column {name!r} has numbers that are written {found[0]!r}; write {found[1]}, leave "
            f"the column out (--drop {name!r}), or make it a category (--type {name}=category)"
        )


def _are_placeholders(known: Any, texts: list[str]) -> bool:
    """Whether few texts, such as a dash and a point, stand among many different numbers."""
    return len(texts) <= MOST_PLACEHOLDERS and len(pc.unique(known)) - len(texts) > FEW_ROWS
