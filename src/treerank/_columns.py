"""Columns: one column of a data frame becomes numbers or levels, or an error that names it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Levels = list[Any]

# A category of more levels is worth a second look.
MANY_LEVELS = 20


@dataclass(frozen=True)
class Column:
    """One column of a data frame, or one column of an array that holds categories."""

    name: str
    values: NDArray[np.float64] | Levels  # numbers, or one level a row
    is_guess: bool = False  # text that nobody has called a category

    @property
    def is_categorical(self) -> bool:
        """Whether the column holds levels rather than numbers."""
        return isinstance(self.values, list)


def frame_column(
    series: nw.Series[Any], name: str, j: int, wanted: set[int] | None, fitted: bool
) -> Column:
    """Read one column of a data frame.

    `wanted` are the numbers of the columns that are categories, None to tell by type;
    `fitted` says that they are those of a fitted model.
    """
    dtype = series.dtype
    named = wanted is not None and j in wanted
    is_empty = len(series) == series.null_count()  # of any type: polars has one of its own
    is_text = dtype in (nw.Categorical, nw.Enum, nw.String, nw.Boolean)
    is_text |= not fitted and is_empty and not dtype.is_numeric()
    if dtype == nw.Object and not is_empty:
        is_text = _objects_are_levels(series.to_list(), name, named)
    elif not is_text and not dtype.is_numeric() and not is_empty:
        raise ValueError(
            f"Column {name!r} has type {_type_name(series)}; expected numbers, text, booleans or "
            "categories. "
            "Turn it into a number (for a date: days since a fixed day) or drop it."
        )
    if named or (is_text and not fitted):
        is_guess = dtype in (nw.String, nw.Object) and not named
        return Column(name, series.to_list(), is_guess)
    if is_empty:
        return Column(name, np.full(len(series), np.nan))
    if is_text:
        raise ValueError(
            f"Column {name!r} has {dtype} values; expected numbers, as in the data the model was "
            "fitted to."
        )
    values = _as_numbers(series, name)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ValueError(
            f"Column {name!r} contains infinity in {np.isinf(values).sum():,} of {len(values):,} "
            f"rows (first: row {row}); replace it by a number, or by NaN for missing."
        )
    return Column(name, np.ascontiguousarray(values, dtype=np.float64))


def _type_name(series: nw.Series[Any]) -> str:
    """Name of the type; the library's own where narwhals does not know it."""
    native = series.to_native()
    return str(series.dtype if series.dtype != nw.Unknown else getattr(native, "dtype", "unknown"))


def _as_numbers(series: nw.Series[Any], name: str) -> NDArray[np.float64]:
    if series.dtype != nw.Object:
        return series.cast(nw.Float64).to_numpy()
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in series.to_list()])
    except OverflowError:
        raise ValueError(
            f"Column {name!r} has integers beyond the largest double; expected numbers up to "
            "1.7e308. Take logarithms, or make the column a category."
        ) from None


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, NaT or pandas' NA, which does not compare."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)  # noqa: PLR0124 (true of NaN and NaT alone)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _objects_are_levels(values: list[Any], name: str, named: bool) -> bool:
    """Whether a column of Python objects is text or booleans rather than numbers.

    A mixture is refused unless the user has named the column a category.
    """
    kind = np.array([_kind(v) for v in values])
    for unfit, what in [("other", "neither numbers nor text"), ("text", "text")]:
        rows = np.flatnonzero(kind == unfit)
        if len(rows) and (unfit == "other" or (kind == "number").any()) and not named:
            raise ValueError(
                f"Column {name!r} has {what} in {len(rows):,} of {len(values):,} rows (first: row "
                f"{rows[0]}, {values[rows[0]]!r}); clean it or make it a category."
            )
    return bool((kind != "number").all())


def _kind(value: Any) -> str:
    if isinstance(value, str | bool | np.bool_):
        return "text"
    if isinstance(value, Real | Decimal):
        return "missing" if is_missing(value) else "number"
    return "missing" if is_missing(value) else "other"


def warn_of_doubtful_category(column: Column, levels: Levels, n_rows: int) -> None:
    """Warn of text that looks like numbers, and of a level per row."""
    n_levels = len(levels)
    if n_levels <= MANY_LEVELS:
        return
    odd = [level for level in levels if not _reads_as_number(level)] if column.is_guess else levels
    if len(odd) <= 0.1 * n_levels:
        but = f", all but {', '.join(map(repr, odd[:3]))}" if odd else ""
        warnings.warn(
            f"Column {column.name!r} is text, yet its {n_levels:,} levels read as numbers{but}. It "
            "is taken as a category; turn it into numbers, or name it in categorical_features.",
            UserWarning,
            stacklevel=2,
        )
    elif n_levels == n_rows:
        warnings.warn(
            f"Column {column.name!r} has a level of its own in each of {n_rows:,} rows: it looks "
            "like an identifier. Drop it, or turn it into numbers.",
            UserWarning,
            stacklevel=2,
        )


def _reads_as_number(level: Any) -> bool:
    try:
        float(str(level).replace(",", ""))
    except ValueError:
        return False
    return True
