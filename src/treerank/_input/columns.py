"""Reads a column of a data frame as numbers or levels; errors name the column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from treerank._input.categories import Factor

DATES = (date, time, timedelta)  # a datetime is a date
SUPPORTED = "numbers, text, booleans or categories"
DATE_REMEDY = "Turn it into a number (for a date: days since a fixed day) or drop it."
Levels = list[Any]
Numbers = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True)
class Column:
    """One column of a data frame, or of an array with categorical columns."""

    name: str
    values: Numbers | Levels  # numbers (with any stride), or one level per row
    is_guess: bool = False  # text that the user has not declared categorical
    factor: Factor | None = None  # used instead of `values` for the levels of a block

    @property
    def is_categorical(self) -> bool:
        """Whether the column holds levels rather than numbers."""
        return isinstance(self.values, list)

    def take(self, rows: NDArray[np.intp]) -> Column:
        """Return the values at these positions."""
        if isinstance(self.values, list):
            return replace(self, values=[self.values[i] for i in rows.tolist()])
        return replace(self, values=self.values[rows])


def frame_column(
    series: nw.Series[Any], name: str, j: int, wanted: set[int] | None, fitted: bool
) -> Column:
    """Read one column of a data frame.

    `wanted` has the indices of the categorical columns, None to decide by dtype; `fitted` tells
    whether they are those of a fitted model.
    """
    dtype = series.dtype
    if dtype == nw.Object:
        return object_column(series.to_list(), name, j, wanted, fitted)
    named = wanted is not None and j in wanted
    if dtype.is_numeric():
        if named:
            return Column(name, series.to_list())
        return _number_column(name, as_numbers(series, name))
    is_text = dtype in (nw.Categorical, nw.Enum, nw.String, nw.Boolean)
    if is_text and (named or not fitted):
        return Column(name, series.to_list(), is_guess=dtype == nw.String and not named)
    if len(series) > series.null_count():
        if is_text:
            _raise_no_numbers(name, str(dtype))
        raise_unsupported_type(name, series)
    # Nothing but missing values, of any dtype: polars has a null dtype.
    if named or not fitted:
        return Column(name, series.to_list())
    return Column(name, np.full(len(series), np.nan))


def object_column(
    values: list[Any], name: str, j: int, wanted: set[int] | None, fitted: bool
) -> Column:
    """Read one column of Python objects; `wanted` and `fitted` as for `frame_column`."""
    named = wanted is not None and j in wanted
    is_empty = all(map(is_missing, values))
    is_text = not fitted if is_empty else _objects_are_levels(values, name, named)
    if named or (is_text and not fitted):
        return Column(name, values, is_guess=not named)
    if is_text:
        _raise_no_numbers(name, "text")
    return _number_column(name, _numbers_of_objects(values, name))


def _raise_no_numbers(name: str, kind: str) -> None:
    raise ValueError(
        f"Column {name!r} has {kind} values; expected numbers, as in the data the model was "
        "fitted to."
    )


def _number_column(name: str, values: Numbers) -> Column:
    is_infinite = np.isinf(values)
    if is_infinite.any():
        raise_infinite(name, int(is_infinite.sum()), len(values), int(np.argmax(is_infinite)))
    return Column(name, values)


def raise_infinite(name: str, n_infinite: int, n_rows: int, first: int) -> None:
    """Raise the error for infinite values."""
    raise ValueError(
        f"Column {name!r} contains infinity in {n_infinite:,} of {n_rows:,} rows (first: row "
        f"{first}); replace it by a number, or by NaN for missing."
    )


def check_no_lone_surrogates(name: str, levels: Iterable[Any]) -> None:
    """Raise if text cannot be encoded as UTF-8, and so cannot be written to a file."""
    for level in levels:
        if isinstance(level, str) and not level.isascii():
            try:
                level.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"Column {name!r} has the level {level!r}, which is not valid Unicode (a lone "
                    "surrogate); read the file with the encoding it was written in, or replace "
                    "such characters."
                ) from None


def check_hashable(name: str, values: list[Any]) -> None:
    """Raise if values such as lists cannot be levels because they are unhashable."""
    for row, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"Column {name!r} has values of type {type(value).__name__} (first: row {row}, "
                f"{value!r}); expected text, numbers, booleans or tuples of these as categories."
            ) from None


def raise_unsupported_type(name: str, series: nw.Series[Any]) -> None:
    """Raise the error for dates and other unsupported dtypes."""
    kind = _type_name(series)
    remedy = "Call .sparse.to_dense() on it." if kind.startswith("Sparse") else DATE_REMEDY
    raise ValueError(f"Column {name!r} has type {kind}; expected {SUPPORTED}. {remedy}")


def _type_name(series: nw.Series[Any]) -> str:
    """Name of the dtype; the native one if narwhals does not know it."""
    native = series.to_native()
    return str(series.dtype if series.dtype != nw.Unknown else getattr(native, "dtype", "unknown"))


def as_numbers(series: nw.Series[Any], name: str) -> Numbers:
    """Return a column as numbers, with NaN for missing; floats are not copied if possible."""
    if series.dtype in (nw.Float64, nw.Float32):
        numbers = series.to_numpy()
        if numbers.dtype in (np.float64, np.float32):
            return numbers
    if series.dtype in (nw.Int128, nw.UInt128):  # which NumPy does not have
        return series.cast(nw.Float64).to_numpy()
    if series.dtype.is_integer():  # pyarrow's cast refuses integers that a double would round
        return np.asarray(series.to_numpy(), dtype=np.float64)
    if series.dtype != nw.Object:
        return series.cast(nw.Float64).to_numpy()
    return _numbers_of_objects(series.to_list(), name)


def _numbers_of_objects(values: list[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    except OverflowError:
        raise ValueError(
            f"Column {name!r} has integers beyond the largest double; expected numbers up to "
            "1.7e308. Take logarithms, or make the column a category."
        ) from None


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT or pandas.NA, which cannot be compared."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)  # noqa: PLR0124 (true only for NaN and NaT)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the values of an array that `is_missing` is true for."""
    if values.dtype == object:
        return np.fromiter(map(is_missing, values.ravel()), bool, values.size).reshape(values.shape)
    return np.asarray(values != values)  # noqa: PLR0124 (true only for NaN and NaT)


@dataclass(frozen=True)
class Kinds:
    """How many values of a column are numbers, text (or booleans), or neither.

    Kinds of consecutive blocks can be added, with the later block on the right.
    """

    n_rows: int
    counts: dict[str, int]
    first: dict[str, tuple[int, Any]]  # row and value of the first occurrence

    def __add__(self, other: Kinds) -> Kinds:
        later = {kind: (self.n_rows + row, v) for kind, (row, v) in other.first.items()}
        kinds = self.counts.keys() | other.counts.keys()
        counts = {kind: self.counts.get(kind, 0) + other.counts.get(kind, 0) for kind in kinds}
        return Kinds(self.n_rows + other.n_rows, counts, later | self.first)

    def check_one_kind(self, name: str) -> None:
        """Raise if the column has unsupported objects, or both text and numbers."""
        for unfit, what in [("other", "neither numbers nor text"), ("text", "text")]:
            if unfit in self.counts and (unfit == "other" or "number" in self.counts):
                row, value = self.first[unfit]
                is_date = isinstance(value, DATES)
                found = f"values of type {type(value).__name__}" if is_date else what
                remedy = f"expected {SUPPORTED}. {DATE_REMEDY}"
                raise ValueError(
                    f"Column {name!r} has {found} in {self.counts[unfit]:,} of {self.n_rows:,} "
                    f"rows (first: row {row}, {value!r}); "
                    f"{remedy if is_date else 'clean it or make it a category.'}"
                )


def object_kinds(values: list[Any]) -> Kinds:
    """Count the kinds of Python objects."""
    kinds = [_kind(v) for v in values]
    counts = Counter(kinds)
    counts.pop("missing", None)
    places = {kind: kinds.index(kind) for kind in counts}
    return Kinds(len(values), dict(counts), {kind: (i, values[i]) for kind, i in places.items()})


def _objects_are_levels(values: list[Any], name: str, named: bool) -> bool:
    """Whether a column of Python objects holds text or booleans rather than numbers.

    Raises for a mixture, unless the user declared the column categorical.
    """
    kinds = object_kinds(values)
    if not named:
        kinds.check_one_kind(name)
    elif "other" in kinds.counts:
        check_hashable(name, values)
    return "number" not in kinds.counts


def _kind(value: Any) -> str:
    if isinstance(value, str | bool | np.bool_):
        return "text"
    if isinstance(value, Real | Decimal):
        return "missing" if is_missing(value) else "number"
    return "missing" if is_missing(value) else "other"
