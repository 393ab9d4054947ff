"""Convert columns to the types that a model needs: formatted numbers, parts of dates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treerank.cli._dates import (
    DatePart,
    find_order,
    is_date_type,
    likeliest_order,
    parse_text,
    take_part,
    to_days,
)
from treerank.cli._numbers import NumberStyle, find_style, has_decimal_comma
from treerank.cli._places import Place


class Table(Protocol):
    """What messages need to know of a table: its name, and where its rows are."""

    def bad(self, text: str) -> Exception:
        """Return an error that names the table."""

    def place(self, row: int) -> str:
        """Say where a row, counted from 0, is."""


@dataclass(frozen=True)
class Copied:
    """A column that is written as it was read, whether or not the model uses it."""

    column: str
    type: Any  # text, or None for the column's own type

    @property
    def key(self) -> str:
        """Name in a block, in which the model may have a column of the same name."""
        return f"\0{self.column}"


@dataclass
class Conversion:
    """The columns to read from a table, and how to convert them to the wanted ones."""

    wanted: dict[str, Any]  # column to type, or to the part of a date
    table: Table
    read: dict[str, Any] = field(default_factory=dict)  # column to the type it is read as
    styles: dict[str, NumberStyle] = field(default_factory=dict)  # of columns of formatted numbers
    orders: dict[str, str] = field(default_factory=dict)  # of columns of dates as text
    casts: dict[str, Any] = field(default_factory=dict)  # of columns that are copied and used
    nulls: Any = None  # texts that mean a missing value, but where they are copied

    def __call__(self, block: Any, done: int) -> Any:
        """Convert a block; `done` is the number of rows before it."""
        columns = []
        for name, wanted in self.wanted.items():
            if isinstance(wanted, Copied):
                columns.append(block.column(wanted.column))
            elif isinstance(wanted, DatePart):
                days = self._days(self._known(block, wanted.column), wanted.column, done)
                columns.append(pa.array(take_part(days, wanted.part), from_pandas=True))
            elif name in self.styles:
                columns.append(self._numbers(self._known(block, name), name, done))
            else:
                columns.append(self._cast(self._known(block, name), name, done))
        return pa.RecordBatch.from_arrays(columns, names=list(self.wanted))

    def _known(self, block: Any, name: str) -> Any:
        """Return a column, with nulls for texts that mean a missing value."""
        column = block.column(name)
        if self.nulls is None or not pa.types.is_string(column.type):
            return column
        return pc.if_else(pc.is_in(column, self.nulls), pa.scalar(None, pa.string()), column)

    def _cast(self, column: Any, name: str, done: int) -> Any:
        if name not in self.casts:
            return column
        return cast_block(column, self.casts[name], name, done, self.table)

    def _place(self, done: int) -> Place:
        return lambda row: self.table.place(done + row)

    def _days(self, column: Any, name: str, done: int) -> NDArray[np.float64]:
        if is_date_type(column.type):
            return to_days(column)
        days = parse_text(column, self.orders[name])
        broken = np.isnan(days) & ~np.asarray(column.is_null())
        if broken.any():
            raise self.table.bad(
                no_date(name, column, int(np.argmax(broken)), self._place(done)) + "."
            )
        return days

    def _numbers(self, column: Any, name: str, done: int) -> Any:
        style = self.styles[name]
        row = pc.index(style.matches(column), False).as_py()
        if row >= 0:
            expected = "numbers as in the first rows"
            raise self.table.bad(_unlike(name, column, row, expected, self._place(done)) + ".")
        return style.to_numbers(column)


def plan_conversion(
    wanted: dict[str, Any], sample: Any, decimal: str, date_order: str | None, table: Table
) -> Conversion:
    """Decide from the rows of `sample` how to read the columns; it is None if unreadable."""
    plan = Conversion(wanted, table)
    copied = {kind.column: kind.type for kind in wanted.values() if isinstance(kind, Copied)}
    for name, kind in wanted.items():
        if isinstance(kind, Copied):
            plan.read.setdefault(kind.column, kind.type)
            continue
        if isinstance(kind, DatePart):
            column = None if sample is None else sample[kind.column]
            is_date = column is not None and is_date_type(column.type)
            plan.read[kind.column] = None if is_date else pa.string()
            if column is not None and not is_date:
                plan.orders[kind.column] = _order(column, kind.column, date_order, table)
            continue
        plan.read[name] = copied.get(name, kind)
        if kind == pa.float64() and sample is not None and pa.types.is_string(sample[name].type):
            style = find_style(sample[name], decimal)
            if style is None and decimal == "." and has_decimal_comma(sample[name]):
                raise table.bad(decimal_comma(name, sample[name]) + ".")
            if style is not None and not style.is_plain:
                plan.styles[name] = style
                plan.read[name] = pa.string()
        if name in copied and name not in plan.styles and kind not in (None, copied[name]):
            if kind == pa.float64() and copied[name] == pa.string():
                plan.styles[name] = NumberStyle(decimal)
            else:
                plan.casts[name] = kind
    return plan


def cast_block(column: Any, wanted: Any, name: str, done: int, table: Table) -> Any:
    """Return a column of a block in the type that the model needs; `done` rows are before it."""
    try:
        # Whole numbers beyond 2**53 are rounded, as in a table of text.
        return column.cast(wanted, safe=not pa.types.is_integer(column.type))
    except pa.ArrowNotImplementedError:
        raise table.bad(
            f"column {name!r} has type {column.type}; expected {format_type(wanted)}, as in the "
            "data the model was fitted to."
        ) from None
    except pa.ArrowInvalid as error:
        raise table.bad(
            f"column {name!r} has other values than {format_type(wanted)} in rows {done + 1:,} to "
            f"{done + len(column):,} ({error}); expected them as in the data the model was fitted "
            "to."
        ) from None


def format_type(wanted: Any) -> str:
    """Return the type of a column in words."""
    if wanted == pa.bool_():
        return "true or false"
    return "text" if wanted == pa.string() else "numbers"


def reads_as(value: str, wanted: Any, decimal: str) -> bool:
    """Whether a text can be converted to true or false, or else to a number."""
    if wanted == pa.bool_():
        return value.lower() in ("true", "false", "0", "1")
    try:
        float(value.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _order(column: Any, name: str, date_order: str | None, table: Table) -> str:
    column = column.cast(pa.string())
    order = find_order(column, date_order)
    if order is None:
        order = date_order or likeliest_order(column)
        broken = np.isnan(parse_text(column, order)) & ~np.asarray(column.is_null())
        if broken.any():
            raise table.bad(no_date(name, column, int(np.argmax(broken)), table.place) + ".")
    if order == "ambiguous":
        raise table.bad(ambiguous_order(name, column))
    return order


def no_date(name: str, column: Any, row: int, place: Place) -> str:
    """Return the message that the value in a row is no date."""
    return _unlike(name, column, row, "dates, such as 2024-01-31", place)


def _unlike(name: str, column: Any, row: int, expected: str, place: Place) -> str:
    value = column[row].as_py()
    return (
        f"column {name!r} has {value!r} in {place(row)}; expected {expected}. "
        f"Correct it, or treat it as missing: --missing {value!r}"
    )


def decimal_comma(name: str, column: Any) -> str:
    """Return the message that numbers have a decimal comma; a caller may add others to it."""
    known = column.drop_null().to_pylist()
    value = next((v for v in known if "," in v), known[0])
    return f"column {name!r} has numbers with a decimal comma, such as {value!r}: use --decimal ,"


def ambiguous_order(name: str, column: Any) -> str:
    """Return the message that the order of day and month is ambiguous."""
    return (
        f"column {name!r} has dates such as {column.drop_null()[0].as_py()!r}, in which day and "
        "month cannot be told apart; give their order: --date-order dmy or --date-order mdy."
    )
