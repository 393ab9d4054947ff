"""The order of periods in time, which the tests of a monitored model follow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import missing_mask
from treerank._input.labels import levels_in_order

_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
]  # fmt: skip
_NUMBER_OF = {
    **{name: k for k, name in enumerate(_MONTHS, start=1)},
    **{name[:3]: k for k, name in enumerate(_MONTHS, start=1)},
    **{f"q{k}": k for k in range(1, 5)},
    "sept": 9,
}
_YEAR, _SPACE = r"(?:19|20|21)\d\d", r"[ \-/.,_]"
_NAMES = "|".join(sorted(_NUMBER_OF, key=len, reverse=True))
# A month or quarter that may have a year before it or after it: Jan, Q3 2025, 2025-Mar, 11/2025.
_PARTS_OF_YEARS = [
    re.compile(
        rf"(?:(?P<before>{_YEAR}){_SPACE}*)?(?P<part>{_NAMES})\.?(?:{_SPACE}*(?P<after>{_YEAR}))?"
    ),
    re.compile(
        rf"(?:(?P<before>{_YEAR}){_SPACE})?(?P<part>0?[1-9]|1[0-2])(?:{_SPACE}(?P<after>{_YEAR}))?"
    ),
]
_MONTH_NAME = rf"(?!q)(?:{_NAMES})\.?"
# The year may not be the first number: Jan 24, 31.01.2024, 3 Jan 2024, Jan 3, 2024.
_YEAR_LATER = re.compile(
    rf"{_MONTH_NAME}{_SPACE}*'?\d\d?|\d\d?/\d\d?/\d\d|{_MONTH_NAME}{_SPACE}*\d\d?{_SPACE}+{_YEAR}"
    rf"|\d\d?{_SPACE}+(?:\d\d?|{_MONTH_NAME}){_SPACE}+{_YEAR}"
)
_DIGITS = re.compile(r"(\d+)")


def read_periods(periods: Any, n_rows: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the periods in order, and the index of each row's period."""
    levels = levels_in_order(periods)
    values = np.asarray(periods)
    if values.shape != (n_rows,) or n_rows == 0:
        raise ValueError(
            f"Got periods of shape {values.shape} for {n_rows} new rows; expected one per row."
        )
    missing = missing_mask(values)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"Got no period in row {row}; expected one for each new row.")
    try:
        found, number = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError(
            "Got periods of several types, which have no order; expected dates, numbers or text "
            "throughout."
        ) from None
    names = _names(found)
    if levels is not None:
        place = {level: k for k, level in enumerate(levels)}
        order = sorted(range(len(found)), key=lambda k: place[found[k]])
    elif found.dtype.kind in "OU" and all(isinstance(value, str) for value in found.tolist()):
        order = _text_order(names)
    else:
        order = list(range(len(found)))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return [names[k] for k in order], rank[number]


def _text_order(names: list[str]) -> list[int]:
    """Return the order of names in time: by year, month or quarter, else by numbers in the text."""
    if len(names) > 1 and all(_YEAR_LATER.fullmatch(name.strip().lower()) for name in names):
        raise ValueError(
            f"Got periods as text such as {names[0]!r}, whose order is not known; expected dates, "
            "text such as 2025-04 or Apr 2025, or an ordered categorical."
        )
    keys = _calendar_keys(names) or _number_keys(names) or [_natural_key(name) for name in names]
    return sorted(range(len(names)), key=lambda k: (keys[k], names[k]))


def _calendar_keys(names: list[str]) -> list[Any] | None:
    """Return year and month or quarter of each name; None if they are not all of one kind."""
    for pattern in _PARTS_OF_YEARS:
        found = [pattern.fullmatch(name.strip().lower()) for name in names]
        parts = [match.groupdict() for match in found if match is not None]
        kinds = {
            (m["before"] is None, m["after"] is None, m["part"].startswith("q")) for m in parts
        }
        if len(parts) == len(names) and len(kinds) == 1:
            return [(int(m["before"] or m["after"] or 0), _number(m["part"])) for m in parts]
    return None


def _number(part: str) -> int:
    return int(part) if part.isdecimal() else _NUMBER_OF[part]


def _number_keys(names: list[str]) -> list[float] | None:
    try:
        return [float(name) for name in names]
    except ValueError:
        return None


def _natural_key(name: str) -> list[Any]:
    """Return text and numbers in turn, so that week 2 comes before week 10."""
    pieces = _DIGITS.split(name)
    return [int(piece) if k % 2 else piece for k, piece in enumerate(pieces)]


def _names(periods: NDArray[Any]) -> list[str]:
    """Write dates as ISO 8601, days without a time; other values as they are."""
    if periods.dtype.kind != "M":
        return [str(name) for name in periods.tolist()]
    days = periods.astype("M8[D]")
    has_time = np.datetime_data(periods.dtype)[0] not in ("Y", "M", "W", "D")
    return [str(date) for date in (days if has_time and (days == periods).all() else periods)]
