"""Dates and times as numbers: days since a fixed day, or parts of the calendar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Numbers that can be computed from a date. The column of the number is named DATE.PART.
PARTS = {
    "days": "days since 1970-01-01",
    "year": "year",
    "month": "month, 1 to 12",
    "weekday": "weekday, 1 for Monday to 7",
}
_TIME = (
    r"(?:[T :]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?"
    r"\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?\s*$"
)
_ORDERS = {
    "ymd": r"^\s*(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + _TIME,
    "dmy": r"^\s*(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4})" + _TIME,
    "mdy": r"^\s*(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4})" + _TIME,
}
DATE_ORDERS = tuple(_ORDERS)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_NAME = (
    r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONTH = rf"(?P<month>{_MONTH_NAME})\.?"
# The name of a month leaves no doubt either: 3 Jan 2024, 03JAN2024, Jan 3, 2024 and 2024-Jan-03.
_NAMED = (
    rf"^\s*(?P<day>\d{{1,2}})[-/. ]?\s*{_MONTH}[-/., ]?\s*(?P<year>\d{{4}})" + _TIME,
    rf"^\s*{_MONTH}[-/. ]?\s*(?P<day>\d{{1,2}})[-/., ]\s*(?P<year>\d{{4}})" + _TIME,
    rf"^\s*(?P<year>\d{{4}})[-/. ]\s*{_MONTH}[-/. ]\s*(?P<day>\d{{1,2}})" + _TIME,
)
_YEAR = r"(?P<year>(?:19|20)\d{2})"
# Numbers of eight digits, which are dates where a date is asked for.
_DIGITS = rf"^\s*{_YEAR}(?P<month>\d{{2}})(?P<day>\d{{2}})" + _TIME
_MONTH_NUMBER = r"(?P<month>0?[1-9]|1[0-2])"
# Without a day: 2024-01, 01/2024, Jan 2024 and 2024-Jan. They stand for the first day of the month,
# in columns that have nothing else.
_WITHOUT_A_DAY = (
    rf"^\s*{_YEAR}[-/.]{_MONTH_NUMBER}\s*$",
    rf"^\s*{_MONTH_NUMBER}[-/.]{_YEAR}\s*$",
    rf"^\s*{_MONTH}[-/., ]?\s*{_YEAR}\s*$",
    rf"^\s*{_YEAR}[-/. ]?\s*{_MONTH}\s*$",
)
# What looks like a date to people: with two digits for the year, or a month in another language.
_DAY_OR_MONTH = (
    r"(0?[1-9]|[12]\d|3[01])[-/. ](0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/. ](1[3-9]|2\d|3[01])"
)
_LIKE_A_DATE = (
    rf"^\s*(({_DAY_OR_MONTH})[-/. ]((19|20)?\d{{2}})|(19|20)\d{{2}}[-/. ]({_DAY_OR_MONTH})"
    r"|(\p{L}{2,10}\.?,?\s+)?\d{1,2}[-/. ]\s*\p{L}{3,10}\.?[-/., ]\s*((19|20)?\d{2})"
    r"|\p{L}{3,10}\.?\s+\d{1,2},?\s+(19|20)\d{2}"
    rf"|\d{{1,2}}[-/. ]?{_MONTH_NAME}(\d{{2}})?|{_MONTH_NAME}[-/. ]?'?\d{{2}})([T :].*)?$"
)


@dataclass(frozen=True)
class DatePart:
    """A number that is computed from a column of dates."""

    column: str
    part: str


def date_part(name: str, names: list[str]) -> DatePart | None:
    """Parse the name of a number that was computed from dates; None for other names."""
    column, point, part = name.rpartition(".")
    return DatePart(column, part) if point and part in PARTS and column in names else None


def is_date_type(kind: Any) -> bool:
    """Whether a type of a Parquet file is a date, with or without a time."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def parse_text(column: Any, order: str) -> NDArray[np.float64]:
    """Days since 1970-01-01 for dates in the given order; NaN for anything else.

    Dates whose year comes first, and those with the name of a month, may stand among them.
    """
    days = _parse_any(
        column, tuple(dict.fromkeys((_ORDERS[order], _ORDERS["ymd"], *_NAMED, _DIGITS)))
    )
    return _parse_any(column, _WITHOUT_A_DAY) if np.isnan(days).all() else days


def _parse_any(column: Any, patterns: tuple[str, ...]) -> NDArray[np.float64]:
    """Days since 1970-01-01 for dates of any of the patterns; NaN for anything else."""
    days = np.full(len(column), np.nan)
    n_values = len(column) - column.null_count
    for pattern in patterns:
        if np.isfinite(days).sum() == n_values:
            break
        days = np.where(np.isnan(days), _parse(column, pattern), days)
    return days


def _parse(column: Any, pattern: str) -> NDArray[np.float64]:
    """Days since 1970-01-01 for dates of one pattern; NaN for anything else."""
    found = pc.extract_regex(column, pattern)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    year, hour, minute, second = (
        _numbers(found, part) for part in ("year", "hour", "minute", "second")
    )
    month = _named_months(found) if _MONTH in pattern else _numbers(found, "month")
    is_date = ~np.isnan(year)
    day = np.where(is_date, 1, np.nan) if pattern in _WITHOUT_A_DAY else _numbers(found, "day")
    months = np.where(is_date, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + np.where(is_date, day - 1, 0).astype("timedelta64[D]")
    # February 30 would become a day in March.
    is_valid = is_date & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    seconds = _or_zero(hour) * 3600 + _or_zero(minute) * 60 + _or_zero(second) - _offset(found)
    return np.where(is_valid, days.astype(np.int64) + seconds / 86400, np.nan)


def find_order(column: Any, order: str | None) -> str | None:
    """Order of day, month and year in which all values are dates; None if there is none.

    "ambiguous" if no value shows which number is the day and which is the month. A year that comes
    first, or the name of a month, leaves no doubt, whichever order is given.
    """
    if _all_dates(column, "ymd"):
        return "ymd"
    fits = [o for o in ("dmy", "mdy") if order in (None, o) and _all_dates(column, o)]
    if len(fits) == 2 and pc.any(pc.match_substring_regex(column, r"^\s*\d+\.")).as_py():
        return "dmy"  # dates with dots are German, with the day first
    return "ambiguous" if len(fits) > 1 else next(iter(fits), None)


def are_months(known: Any) -> bool:
    """Whether all values of a text column without nulls are months such as 08.2024, no numbers."""
    is_month = pc.match_substring_regex(known, r"^\s*(0[1-9]|1[0-2])\.(19|20)\d{2}\s*$")
    return len(known) > 0 and bool(pc.all(is_month).as_py())


def likeliest_order(column: Any) -> str:
    """Order in which most values are dates; the year first if none is."""
    return max(_ORDERS, key=lambda order: int(np.isfinite(parse_text(column, order)).sum()))


def nearly_dates(known: Any, share: float) -> bool:
    """Whether all values of a text column without nulls are dates but for less than `share`."""
    start = known.slice(0, 100)  # most columns have no dates, which a few values show
    if np.isnan(parse_text(start, likeliest_order(start))).mean() > 0.5:
        return False
    return bool(np.isnan(parse_text(known, likeliest_order(known))).mean() < share)


def look_like_dates(known: Any, share: float) -> bool:
    """Whether all values of a text column without nulls look like dates but for less than `share`.

    They need not be dates that can be read.
    """
    start = known.slice(0, 100)  # most columns have no dates, which a few values show
    for values in (start, known):
        if pc.sum(pc.match_substring_regex(values, _LIKE_A_DATE)).as_py() <= (
            (1 - share) * len(values)
        ):
            return False
    return True


def _all_dates(column: Any, order: str) -> bool:
    # Most columns have no dates, which a few values show.
    if np.isnan(parse_text(column.slice(0, 100), order)).all():
        return False
    return bool(np.isnan(parse_text(column, order)).sum() == column.null_count)


def to_days(column: Any) -> NDArray[np.float64]:
    """Days since 1970-01-01 for a column of a date type."""
    if pa.types.is_date(column.type):
        days = column.cast(pa.date32()).cast(pa.int32())
        return np.asarray(days.cast(pa.float64()).to_numpy(zero_copy_only=False))
    unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit] * 86400
    count = column.cast(pa.int64())
    whole = np.asarray(count.fill_null(0).to_numpy(zero_copy_only=False))
    missing = np.asarray(count.is_null().to_numpy(zero_copy_only=False))
    return np.where(missing, np.nan, whole // unit + (whole % unit) / unit)


def take_part(days: NDArray[np.float64], part: str) -> NDArray[np.float64]:
    """Compute a part of each date, which is given in days since 1970-01-01."""
    if part == "days":
        return days
    missing = np.isnan(days)
    date = np.floor(np.where(missing, 0, days)).astype(np.int64)
    if part == "weekday":
        found = (date + 3) % 7 + 1  # 1970-01-01 was a Thursday
    else:
        months = date.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        found = months // 12 + 1970 if part == "year" else months % 12 + 1
    return np.where(missing, np.nan, found)


def _numbers(found: Any, part: str) -> NDArray[np.float64]:
    """Numbers of a part of a date; NaN where there is none."""
    if found.type.get_field_index(part) < 0:
        return np.full(len(found), np.nan)
    text = pc.struct_field(found, part)
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return np.asarray(text.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _named_months(found: Any) -> NDArray[np.float64]:
    names = pc.utf8_slice_codeunits(pc.utf8_lower(pc.struct_field(found, "month")), 0, 3)
    number = pc.index_in(names, pa.array(_MONTHS)).cast(pa.float64())
    return np.asarray(number.to_numpy(zero_copy_only=False)) + 1


def _offset(found: Any) -> NDArray[np.float64]:
    """Offset of the time zone from UTC, in seconds."""
    if found.type.get_field_index("zone") < 0:
        return np.zeros(len(found))
    zone = pc.replace_substring(pc.fill_null(pc.struct_field(found, "zone"), ""), ":", "")
    zone = pc.if_else(pc.or_(pc.equal(zone, ""), pc.equal(zone, "Z")), "+0000", zone)
    sign = np.where(np.asarray(pc.starts_with(zone, "-")), -1.0, 1.0)
    hours, minutes = (
        np.asarray(pc.utf8_slice_codeunits(zone, i, i + 2).cast(pa.float64())) for i in (1, 3)
    )
    return np.asarray(sign * (hours * 3600 + minutes * 60))


def _or_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nan_to_num(values, nan=0.0)
