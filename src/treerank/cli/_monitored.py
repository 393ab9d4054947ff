"""Read tables of a model in use: rows whose labels may not be known yet, and their periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier
from treerank.cli._conversion import ambiguous_order
from treerank.cli._dates import find_order, is_date_type, parse_text
from treerank.cli._errors import BadInput
from treerank.cli._evaluation import read_finite
from treerank.cli._model_labels import in_the_models_words, spelling
from treerank.cli._scoring import column_types, rows_for
from treerank.cli._sources import Source
from treerank.cli._training import as_weights, check_columns

DATE = r"^\d{4}-\d{2}(-\d{2}([T ].*)?)?$"


class By(StrEnum):
    """Length of a period."""

    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"
    value = "value"


FORMATS = {By.day: "%Y-%m-%d", By.week: "%G-W%V", By.month: "%Y-%m", By.year: "%Y"}


@dataclass(frozen=True)
class WatchedColumns:
    """Columns besides the features of the model, and how to read them."""

    target: str
    positive: str | None = None
    weight: str | None = None
    date: str | None = None
    by: By = By.month
    drop: Sequence[str] = ()


@dataclass(frozen=True)
class WatchedRows:
    """Rows for `treerank.scoring.monitor`."""

    features: Any
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    periods: NDArray[Any] | None


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the given files, and those that match a pattern."""
    found: list[str] = []
    for pattern in patterns:
        path = Path(pattern)
        if "*" not in pattern or path.exists():
            found.append(pattern)
            continue
        names = sorted(str(name) for name in path.parent.glob(path.name))
        if not names:
            raise BadInput(f"{pattern}: no file matches this pattern.")
        found += names
    return found


def read_watched(
    model: FittedClassifier, source: Source, columns: WatchedColumns, *, is_baseline: bool = False
) -> WatchedRows:
    """Read one table. New rows need no column of labels."""
    names = source.header()
    wanted = {"--target": columns.target, "--weight": columns.weight, "--date": columns.date}
    if is_baseline:
        wanted.pop("--date")
    elif columns.target not in names:
        wanted.pop("--target")
    extra = {option: name for option, name in wanted.items() if name is not None}
    check_columns(source, names, {option: [name] for option, name in extra.items()})
    for option, name in extra.items():
        if option != "--date" and name in getattr(model, "feature_names_in_", ()):
            raise source.bad(f"column {name!r} is one that the model ranks by, not {option}.")
    left = names
    if not hasattr(model, "feature_names_in_"):  # columns are found by position
        apart = {columns.target, columns.weight, columns.date, *columns.drop}
        left = [name for name in names if name not in apart]
    types = column_types(model, source, left, (), "--drop")
    features = list(types)
    for name in extra.values():
        types.setdefault(name, source.own_type)
    table = read_finite(source, types, features)
    target = extra.get("--target")
    return WatchedRows(
        features=rows_for(model, table, features),
        labels=None if target is None else _labels(model, source, table[target], columns),
        weights=None
        if columns.weight is None
        else as_weights(source, table[columns.weight], columns.weight),
        periods=None
        if columns.date is None or is_baseline
        else read_periods(source, table[columns.date], columns.date, columns.by),
    )


def _labels(
    model: FittedClassifier, source: Source, column: Any, columns: WatchedColumns
) -> NDArray[Any]:
    """Return labels as classes of the model; None if not known yet."""
    classes = label_order_of(model)
    coded = pa.chunked_array(column).combine_chunks().dictionary_encode()
    known = {spelling(str(label)): label for label in classes.tolist()}
    found = np.empty(len(coded.dictionary) + 1, dtype=object)  # last entry: not known
    values = [str(value).strip() for value in coded.dictionary.to_pylist()]
    for k, said in enumerate(in_the_models_words(model, values, columns.positive)):
        if spelling(said) not in known:
            row = pc.index(coded.indices, k).as_py()
            raise source.bad(
                f"column {columns.target!r} has the label {said!r} in {source.place(row)}; "
                f"expected one of {', '.join(map(str, classes))}, or nothing where it is not "
                "known yet."
            )
        found[k] = known[spelling(said)]
    places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(found[places])


def read_periods(source: Source, column: Any, name: str, by: By) -> NDArray[Any]:
    """Period of each row, such as 2026-03."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise source.bad(
            f"column {name!r} (--date) has no value in {source.place(row)}; correct it."
        )
    if by is By.value:
        return np.asarray(column.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=str)
    dates = _dates(source, column, name)
    if by is By.quarter:
        quarter = pc.quarter(dates).cast(pa.string())
        said = pc.binary_join_element_wise(pc.year(dates).cast(pa.string()), quarter, "-Q")
    else:
        said = pc.strftime(dates, format=FORMATS[by])
    return np.asarray(said.to_numpy(zero_copy_only=False), dtype=str)


def _dates(source: Source, column: Any, name: str) -> Any:
    """Dates of a column; text may be like 2026-03-31, 2026-03, 2026-03-31 12:00 or 31.03.2026."""
    if is_date_type(column.type):
        return column.cast(pa.timestamp("us"), safe=False)
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    fits = pc.match_substring_regex(text, DATE)
    expected = "dates such as 2026-03-31 or 2026-03 (or --by value, to take them as they are)"
    if not pc.all(fits).as_py():
        order = find_order(text, source.date_order)
        if order == "ambiguous":
            raise source.bad(ambiguous_order(name, text))
        if order is not None:
            days = np.floor(parse_text(text, order)).astype("datetime64[D]")
            return pa.array(days).cast(pa.timestamp("us"))
        row = pc.index(fits, False).as_py()
        raise source.bad(
            f"column {name!r} (--date) has {text[row].as_py()!r} in {source.place(row)}; expected "
            f"{expected}."
        )
    months = pc.utf8_length(text)
    days = pc.if_else(pc.equal(months, 7), pc.binary_join_element_wise(text, "01", "-"), text)
    try:
        return pc.utf8_slice_codeunits(days, 0, 10).cast(pa.date32()).cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        raise source.bad(f"column {name!r} (--date): {error}; expected {expected}.") from None
