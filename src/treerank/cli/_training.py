"""Read a training table: the target, the weights, and features whose types are inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treerank.cli._columns import ColumnRules, is_number, take_columns
from treerank.cli._dates import PARTS, is_date_type
from treerank.cli._doubts import note_doubts
from treerank.cli._errors import BadInput, note
from treerank.cli._numbers import (
    NumberStyle,
    find_style,
    has_decimal_comma,
    infinite_number,
)
from treerank.cli._sources import Source


@dataclass(frozen=True)
class Training:
    """Arguments of `fit`, and the types of the columns."""

    features: Any  # pyarrow table: doubles, text, booleans
    labels: NDArray[Any]
    target: str  # name of the labels
    weights: NDArray[np.float64] | None
    categories: list[str]
    kinds: dict[str, str]  # column to a description of its type
    label_order: list[Any] | None = None  # by --positive, or of an ordered categorical
    ids: NDArray[Any] | None = None  # texts that identify the rows (--id)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.features.num_rows)

    def take(self, rows: NDArray[np.intp]) -> Training:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        ids = None if self.ids is None else self.ids[rows]
        features = self.features.take(rows)
        return replace(self, features=features, labels=self.labels[rows], weights=weights, ids=ids)


@dataclass(frozen=True)
class ColumnOptions:
    """Options about the columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    ids: Sequence[str] = ()
    drop: Sequence[str] = ()
    types: Sequence[str] = ()  # COLUMN=category, =number or =date
    dates: Sequence[str] = ()  # COLUMN=parts to compute from its dates
    leave_out: str = "--id"  # the command's option for columns that identify rows

    def type_of(self) -> dict[str, str]:
        """Types by column."""
        wanted = {}
        for given in self.types:
            name, equals, kind = given.rpartition("=")
            if not equals or kind not in ("category", "number", "date"):
                raise BadInput(
                    f"Got --type {given}; expected COLUMN=category, COLUMN=number or COLUMN=date."
                )
            wanted[name] = kind
        return wanted

    def parts_of(self) -> dict[str, list[str]]:
        """Parts of dates by column."""
        wanted = {}
        for given in self.dates:
            name, equals, listed = given.rpartition("=")
            parts = [part.strip() for part in listed.split(",")]
            if not equals or not set(parts) <= set(PARTS):
                raise BadInput(
                    f"Got --date {given}; expected COLUMN= and some of {', '.join(PARTS)}, "
                    "separated by commas."
                )
            wanted[name] = parts
        return wanted


def read_training(source: Source, column_options: ColumnOptions) -> Training:
    """Read the table, and convert its features, labels and weights."""
    names = source.header()
    types, parts = column_options.type_of(), column_options.parts_of()
    target, weight, ids = column_options.target, column_options.weight, column_options.ids
    named: dict[str, Iterable[str]] = {
        "--weight": [weight] if weight else [], "--id": ids, "--drop": column_options.drop,
        "--type": types, "--date": parts,
    }  # fmt: skip
    check_columns(source, names, {"--target": [target], **named})
    twice = [option for option, given in named.items() if target in given]
    if twice:
        raise source.bad(f"column {target!r} cannot be both --target and {twice[0]}.")
    apart = {target, weight, *ids, *column_options.drop}
    index = source.index_columns()
    index = {name: said for name, said in index.items() if name not in {*apart, *types}}
    names = [name for name in names if name not in apart | index.keys()]
    if not names:
        raise source.bad("no column is left to learn from.")
    table = source.read([*names, *dict.fromkeys(name for name in (target, weight, *ids) if name)])
    rules = ColumnRules(types, parts, source.place, source.decimal, source.date_order)
    features = take_columns(table, names, rules)
    problems = features.problems
    labels = order = weights = None
    try:
        labels, order = _labels(source, table[target], column_options)
        if weight:
            weights = as_weights(source, table[weight], weight)
    except BadInput as problem:
        problems.append(str(problem).removeprefix(f"{source.label}: ").rstrip("."))
    if problems:
        raise source.bad("; ".join(problems) + ".")
    _say_left_out(source, [*index.values(), *features.left_out], column_options.leave_out)
    if not features.columns:
        raise source.bad("no column is left to learn from.")
    assert labels is not None
    note_doubts(source, table, features.columns, labels)
    return Training(
        features=pa.table(features.columns),
        labels=labels,
        target=target,
        weights=weights,
        categories=[name for name, kind in features.kinds.items() if kind == "category"],
        kinds=features.said,
        label_order=order,
        ids=_row_ids(table, ids),
    )


def _row_ids(table: Any, columns: Sequence[str]) -> NDArray[Any] | None:
    """Text that identifies each row. Values of several columns are joined by commas."""
    if not columns:
        return None
    values = [table[name].to_pylist() for name in columns]
    named = (
        ", ".join("" if v is None else str(v) for v in row) for row in zip(*values, strict=True)
    )
    return np.fromiter(named, dtype=object, count=table.num_rows)


def keep_back(data: Training, share: float | None, seed: int) -> tuple[Training, Training | None]:
    """Divide the rows into training rows and rows held back, stratified by class."""
    if share is None:
        return data, None
    if not 0 < share < 1:
        raise BadInput(
            f"Got --test-share {share:g}; expected a share between 0 and 1, such as 0.3."
        )
    rng = np.random.default_rng(seed)
    kept = []
    for label in np.unique(data.labels):
        rows = np.flatnonzero(data.labels == label)
        wanted = round(share * len(rows))
        if not 0 < wanted < len(rows):
            raise BadInput(
                f"Got --test-share {share:g} and {len(rows):,} rows of {label}; expected a share "
                "that leaves some of them on both sides."
            )
        kept.append(rng.permutation(rows)[:wanted])
    is_kept = np.zeros(data.n_rows, dtype=bool)
    is_kept[np.concatenate(kept)] = True
    return data.take(np.flatnonzero(~is_kept)), data.take(np.flatnonzero(is_kept))


def _say_left_out(source: Source, left_out: list[str], option: str) -> None:
    if left_out:
        shown = ", ".join(left_out[:8]) + (" and others" if len(left_out) > 8 else "")
        why = "it identifies" if len(left_out) == 1 else "they identify"
        note(
            f"{source.label}: left out because {why} rows: {shown}. To use a number "
            "anyway, give --type COLUMN=number; replace text by what rows have in common, such "
            f"as a group. Give {option} COLUMN to silence this note."
        )


def check_columns(source: Source, names: list[str], options: Mapping[str, Iterable[str]]) -> None:
    """Raise if the table lacks columns that options name."""
    unknown = {
        f"{name!r} ({option})": name
        for option, given in options.items()
        for name in given
        if name not in names
    }
    if unknown:
        hint = did_you_mean(unknown.values(), names)
        raise source.bad(
            f"there is no column {' nor '.join(unknown)}; the columns are {_list(names)}.{hint}"
        )


def did_you_mean(unknown: Iterable[str], names: list[str]) -> str:
    """Return a question that names the columns spelled almost like the unknown ones, if any."""
    meant = dict.fromkeys(found for name in unknown for found in _like(name, names))
    return f" Did you mean {' and '.join(map(repr, meant))}?" if meant else ""


def _like(name: str, names: list[str]) -> list[str]:
    """Return the column with the most similar name, if there is any."""
    by_small = {known.strip().casefold(): known for known in names}
    matches = get_close_matches(name.strip().casefold(), by_small, n=1)
    return [by_small[found] for found in matches]


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown + (f", … ({len(names)} in all)" if len(names) > 8 else "")


def _labels(
    source: Source, column: Any, column_options: ColumnOptions
) -> tuple[NDArray[Any], list[Any] | None]:
    """Labels of the rows, as numbers if possible, and their order if it is declared."""
    name, positive = column_options.target, column_options.positive
    declared = None
    if pa.types.is_dictionary(column.type):
        declared = _declared_order(column)
        column = column.cast(column.type.value_type)
    if is_date_type(column.type) or pa.types.is_binary(column.type):
        raise source.bad(
            f"column {name!r} has type {column.type}; expected text, numbers or booleans as labels."
        )
    check_has_labels(source, column, name)
    _check_spelling(source, column, name)
    if len(pc.unique(column)) < 2:
        raise source.bad(
            f"column {name!r} has the same label {column[0].as_py()!r} in every row; expected two "
            "classes or more to rank."
        )
    if positive is None:
        labels = _as_numbers(source, column, name)
        if declared is None:
            return labels, None
        places = [pc.index(column, value).as_py() for value in declared]
        return labels, labels[[place for place in places if place >= 0]].tolist()
    known = [str(value) for value in pc.unique(column).to_pylist()]
    if positive not in known:
        raise source.bad(
            f"column {name!r} has no label {positive!r} (--positive); it has "
            f"{', '.join(map(repr, known[:8]))}."
        )
    if len(known) > 2:  # one label against all others
        is_positive = np.asarray(pc.equal(column.cast(pa.string()), positive))
        order = [f"not {positive}", positive]
        return np.array(order, dtype=object)[is_positive.astype(np.int64)], order
    labels = _as_numbers(source, column, name)
    first = labels[pc.index(column.cast(pa.string()), positive).as_py()]
    return labels, sorted(np.unique(labels).tolist(), key=lambda label: bool(label == first))


def _declared_order(column: Any) -> Any:
    """Return the levels of an ordered categorical of a Parquet file; None if it has no order."""
    if not column.type.ordered:
        return None
    return column.unify_dictionaries().chunk(0).dictionary


def labels_in_order(order: str, labels: Sequence[Any]) -> list[Any]:
    """Return the labels of the target, which may be numbers, in the order of --order."""
    named = [label.strip() for label in order.split(",")]
    known = {str(label): label for label in labels}
    unknown = [label for label in named if label not in known]
    if unknown:
        raise BadInput(
            f"--order names {unknown[0]!r}, which the target does not have; it has "
            f"{', '.join(known)}."
        )
    absent = [label for label in known if label not in named]
    if absent or len(named) > len(known):
        problem = f"misses the label {absent[0]!r}" if absent else "names a label twice"
        raise BadInput(
            f"--order {problem}; expected every label of the target once, worst first: "
            f"{', '.join(known)}."
        )
    return [known[label] for label in named]


def _check_spelling(source: Source, column: Any, name: str) -> None:
    """Raise if labels differ in nothing but spaces or capitals; they would be different classes."""
    if not pa.types.is_string(column.type) or find_style(column, source.decimal) is not None:
        return
    seen: dict[str, str] = {}
    for label in pc.unique(column).to_pylist():
        twin = seen.setdefault(label.strip().casefold(), label)
        if twin != label:
            raise source.bad(
                f"column {name!r} has the labels {twin!r} and {label!r}, which differ only in "
                "spaces or capitals; write them alike."
            )


def _as_numbers(source: Source, column: Any, name: str) -> NDArray[Any]:
    """Return labels as integers if all of them can be read as numbers."""
    if pa.types.is_string(column.type):
        style = find_style(column, source.decimal)
        if style is not None and style.is_plain:
            column = style.to_numbers(column)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    labels = column.to_numpy()
    if labels.dtype.kind == "f":
        problem = infinite_number(name, column, source.place)
        if problem is not None:
            raise source.bad(f"{problem.partition(';')[0]}; expected classes. Correct it.")
        broken = labels != np.round(labels)
        if broken.any():
            row = int(np.argmax(broken))
            raise source.bad(
                f"column {name!r} has numbers with fractions (first: {source.place(row)}, "
                f"{labels[row]:g}); expected classes. Divide it into grades, or give another "
                "--target."
            )
        labels = labels.astype(np.int64)
    return np.asarray(labels)


def check_has_labels(source: Source, column: Any, name: str) -> None:
    """Raise if a label is missing; the error names the first such row."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise source.bad(
            f"column {name!r} has no label in {column.null_count:,} of {len(column):,} rows "
            f"(first: {source.place(row)}); remove those rows."
        )


def as_weights(source: Source, column: Any, name: str) -> NDArray[np.float64]:
    """Return the weights of the rows; raise unless they are finite and not negative."""
    given = column
    if not is_number(column.type):
        given = column.cast(pa.string())
        style = NumberStyle(source.decimal)
        row = pc.index(style.matches(given), False).as_py()
        if row >= 0:
            raise _bad_weight(source, given, row, name)
        column = style.to_numbers(given)
    weights = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    bad = ~(weights >= 0) | np.isinf(weights)
    if bad.any():
        raise _bad_weight(source, given, int(np.argmax(bad)), name)
    if not weights.any():
        raise source.bad(
            f"column {name!r} (--weight) has zeros only; expected some weight above 0. Give "
            "another column, or leave out the option."
        )
    return weights


def _bad_weight(source: Source, column: Any, row: int, name: str) -> BadInput:
    value = column[row].as_py()
    comma = source.decimal == "." and "," in str(value) and has_decimal_comma(column)
    return source.bad(
        f"column {name!r} (--weight) has {'no value' if value is None else repr(value)} in "
        f"{source.place(row)}; expected finite numbers of at least 0. "
        f"{'Use --decimal ,' if comma else 'Correct it'}."
    )
