"""Numbers as text: with a decimal comma, thousands separators, a currency or a percent sign."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treerank.cli._places import Place

SIGNS = "[$€£¥₹₩₽]"
CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|RUB|BRL|MXN|ZAR|KRW|SGD|HKD|kr"
)
# So many different numbers with three digits after the point are no chance.
MANY_POINTS = 10
# Thousands separators, besides the comma or the point that is not the decimal mark.
SPACES = "'\u00a0\u202f"
# A number with something around it: 12 kg, ="12", '12, 1 234.
_DECORATED = (
    r"^\s*(?:=\"|')?(?P<number>[+\x{2212}-]?(?:[1-9]\d{0,2}(?:[ ,\x{2009}]\d{3})+|\d+)(?:[.,]\d+)?)"
    r"\"?\s*(?P<unit>[\p{L}²³°/%]{0,10})\.?\s*$"
)


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written."""

    decimal: str = "."
    is_plain: bool = True  # only digits, a sign, a decimal mark and an exponent
    unit: str = ""  # a currency, % or nothing
    has_thousands: bool = False

    @property
    def description(self) -> str:
        """Description of the column."""
        said = "number" if not self.unit else f"number, in {self.unit}"
        return said + (", thousands separated" if self.has_thousands else "")

    def matches(self, column: Any) -> Any:
        """Which values are numbers of this style; null for null."""
        return pc.match_substring_regex(column, self._pattern)

    def to_numbers(self, column: Any) -> Any:
        """Convert a column, all values of which must match, to doubles."""
        column = pc.utf8_trim_whitespace(column)
        if self.is_plain:
            if self.decimal != ".":
                column = pc.replace_substring(column, self.decimal, ".")
            return column.cast(pa.float64())
        is_negative = pc.starts_with(column, "(")
        kept = pc.replace_substring_regex(column, rf"[^0-9{re.escape(self.decimal)}+-]", "")
        values = pc.replace_substring(kept, self.decimal, ".").cast(pa.float64())
        return pc.if_else(is_negative, pc.negate(values), values)

    @property
    def _pattern(self) -> str:
        return _plain(self.decimal) if self.is_plain else _formatted(self.decimal)


def _plain(decimal: str) -> str:
    d = re.escape(decimal)
    return rf"^\s*[+-]?(\d+{d}?\d*|{d}\d+)([eE][+-]?\d+)?\s*$"


def _formatted(decimal: str) -> str:
    """Pattern of a number with optional thousands, units, or parentheses for minus."""
    d = re.escape(decimal)
    other = "," if decimal == "." else "."
    groups = "|".join(rf"[1-9]\d{{0,2}}({re.escape(g)}\d{{3}})+" for g in (other, *SPACES))
    number = rf"({groups}|\d+)({d}\d*)?|{d}\d+"
    unit = rf"({SIGNS}|{CODES})"
    amount = rf"({unit}\s*)?%s({number})(\s*({unit}|%%))?"
    signed, unsigned = amount % "[+-]?", amount % ""
    return rf"^\s*([+-]?\s*{signed}|\(\s*{unsigned}\s*\))\s*$"


def find_style(column: Any, decimal: str) -> NumberStyle | None:
    """Style in which all values of a text column are numbers; None if there is none."""
    plain = NumberStyle(decimal)
    if _all(plain.matches(column)):
        return plain
    formatted = NumberStyle(decimal, is_plain=False)
    if not _all(formatted.matches(column)):
        return None
    units = pc.unique(
        pc.replace_substring_regex(column, r"[0-9.,()+\s\x{00a0}\x{202f}'-]", "").drop_null()
    ).to_pylist()
    if len(units) > 1:  # with and without %, or several currencies
        return None
    grouped = rf"\d[{re.escape(',' if decimal == '.' else '.')}{SPACES}]\d{{3}}"
    has_thousands = pc.any(pc.match_substring_regex(column, grouped)).as_py() or False
    return NumberStyle(decimal, False, units[0] if units else "", has_thousands)


def has_decimal_comma(column: Any) -> bool:
    """Whether the values are numbers if the comma is the decimal mark."""
    return find_style(column, ",") is not None


def decorated_number(known: Any, decimal: str) -> tuple[str, str] | None:
    """Return the first value and its number if all values are numbers but for what is around them.

    That is one unit that is not a currency (12 kg), the marks by which a spreadsheet keeps text
    ('12 or ="12"), or spaces between thousands, which phone numbers have, too, but always alike.
    """
    found = pc.extract_regex(known, _DECORATED).combine_chunks()
    if found.null_count or not len(found):
        return None
    number = pc.replace_substring_regex(pc.struct_field(found, "number"), r"[ \x{2009}]", "")
    number = pc.replace_substring(number, "\u2212", "-")
    if len(pc.unique(pc.struct_field(found, "unit"))) > 1 or find_style(number, decimal) is None:
        return None
    has_spaces = pc.any(pc.match_substring_regex(known, r"\d[ \x{2009}]\d")).as_py()
    if has_spaces and len(pc.unique(pc.utf8_length(number))) == 1:
        return None
    return known[0].as_py(), number[0].as_py()


def points_of_thousands(column: Any, delimiter: str) -> str | None:
    """Return a number whose point may separate thousands, as do all points of the column.

    Numbers with three decimals look alike; but they have a point if they are below one thousand,
    too, and semicolons are written where the decimal mark is a comma.
    """
    fits = pc.match_substring_regex(column, r"^\s*[+-]?(\d{1,3}|[1-9]\d{0,2}\.\d{3})\s*$")
    if not _all(fits):
        return None
    known = column.drop_null()
    pointed = known.filter(pc.match_substring(known, "."))
    if len(pc.unique(pointed)) < MANY_POINTS or (len(pointed) == len(known) and delimiter != ";"):
        return None
    return str(pointed[0].as_py())


def infinite_number(name: str, column: Any, place: Place) -> str | None:
    """Return the message that a column has an infinite number, if it has."""
    is_infinite = np.isinf(column.to_numpy(zero_copy_only=False))
    if not is_infinite.any():
        return None
    return (
        f"column {name!r} has an infinite number in {place(int(np.argmax(is_infinite)))}; replace "
        "it by a number, or leave it empty for missing"
    )


def _all(matches: Any) -> bool:
    return bool(pc.all(matches).as_py() in (True, None))
