"""A table to learn from: the target, the weights, and features whose types are guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treerank.cli._errors import BadInput
from treerank.cli._sources import Source

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
# A column with a smaller share of text than this is a number with mistakes in it.
MIXED_SHARE = 0.1


@dataclass(frozen=True)
class Training:
    """What `fit` is given, and what was made of the columns."""

    features: Any  # pyarrow table: doubles, text, booleans
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    categories: list[str]
    kinds: dict[str, str]  # column to what it was taken as

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.features.num_rows)

    def take(self, rows: NDArray[np.intp]) -> Training:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, features=self.features.take(rows), labels=self.labels[rows], weights=weights
        )


@dataclass(frozen=True)
class ColumnOptions:
    """What the user has said about the columns."""

    target: str
    positive: str | None = None
    weight: str | None = None
    ids: Sequence[str] = ()
    drop: Sequence[str] = ()
    types: Sequence[str] = ()  # column=category or column=number

    def type_of(self) -> dict[str, str]:
        """Types by column."""
        wanted = {}
        for given in self.types:
            name, equals, kind = given.rpartition("=")
            if not equals or kind not in ("category", "number"):
                raise BadInput(f"Got --type {given}; expected COLUMN=category or COLUMN=number.")
            wanted[name] = kind
        return wanted


def read_training(source: Source, column_options: ColumnOptions) -> Training:
    """Read the table and take its columns apart."""
    names = source.header()
    wanted = column_options.type_of()
    weight = [column_options.weight] if column_options.weight else []
    check_columns(source, names, {
        "--target": [column_options.target], "--weight": weight, "--id": column_options.ids,
        "--drop": column_options.drop, "--type": wanted,
    })  # fmt: skip
    if column_options.weight == column_options.target:
        raise source.bad(f"column {column_options.target!r} cannot be both --target and --weight.")
    apart = {
        column_options.target,
        column_options.weight,
        *column_options.ids,
        *column_options.drop,
    }
    features = [name for name in names if name not in apart]
    if not features:
        raise source.bad("no column is left to learn from.")
    table = source.read([*features, column_options.target, *weight])
    kinds, columns = {}, []
    for name in features:
        kinds[name], column = _feature(source, name, table[name], wanted.get(name))
        columns.append(column)
    return Training(
        features=pa.table(columns, names=features),
        labels=_labels(source, table[column_options.target], column_options),
        weights=as_weights(source, table[column_options.weight], column_options.weight)
        if column_options.weight
        else None,
        categories=[name for name, kind in kinds.items() if kind == "category"],
        kinds=kinds,
    )


def keep_back(data: Training, share: float | None, seed: int) -> tuple[Training, Training | None]:
    """Part the rows into those to learn from and those kept back, each class in proportion."""
    if share is None:
        return data, None
    if not 0 < share < 1:
        raise BadInput(f"Got --test-share {share:g}; expected a share between 0 and 1, as 0.3.")
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


def check_columns(source: Source, names: list[str], options: dict[str, Iterable[str]]) -> None:
    """Raise for the first column that an option names and the table does not have."""
    for option, given in options.items():
        for name in given:
            if name not in names:
                raise source.bad(
                    f"there is no column {name!r} ({option}); the columns are {_list(names)}."
                )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown + (f", … ({len(names)} in all)" if len(names) > 8 else "")


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _feature(source: Source, name: str, column: Any, wanted: str | None) -> tuple[str, Any]:
    """What a column is taken as, and its values."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if pa.types.is_null(kind):
        return "number", column.cast(pa.float64())
    if _is_number(kind):
        if wanted == "category":
            return "category", column.cast(pa.string())
        return "number", column.cast(pa.float64())
    if pa.types.is_boolean(kind):
        if wanted == "number":
            return "number", column.cast(pa.float64())
        return "category", column
    if not is_text:
        raise source.bad(
            f"column {name!r} has type {kind}; expected numbers, text or booleans. Turn it into a "
            f"number (for a date: days since a fixed day), or leave it out: --drop {name!r}."
        )
    if wanted == "category" or (wanted is None and not _looks_numeric(source, name, column)):
        return "category", column.cast(pa.string())
    return "number", _as_numbers(source, name, column)


def _looks_numeric(source: Source, name: str, column: Any) -> bool:
    """Whether text reads as numbers; an error where it nearly does."""
    known = len(column) - column.null_count
    if known == 0:
        return True
    fits = pc.match_substring_regex(column, NUMBER)
    n_text = known - (pc.sum(fits).as_py() or 0)
    if 0 < n_text < MIXED_SHARE * known:
        raise _mixed(source, name, column, fits, n_text)
    return bool(n_text == 0)


def _mixed(source: Source, name: str, column: Any, fits: Any, n_text: int) -> BadInput:
    row = pc.index(fits, False).as_py()
    value = column[row].as_py()
    return source.bad(
        f"column {name!r} has text in {n_text:,} of {len(column):,} rows (first: line {row + 2:,}, "
        f"{value!r}); mend it, count it as missing (--missing {value!r}), or make the column a "
        f"category (--type {name}=category)."
    )


def _as_numbers(source: Source, name: str, column: Any) -> Any:
    fits = pc.match_substring_regex(column, NUMBER)
    n_text = len(column) - column.null_count - (pc.sum(fits).as_py() or 0)
    if n_text:
        raise _mixed(source, name, column, fits, n_text)
    return pc.utf8_trim_whitespace(column).cast(pa.float64())


def _labels(source: Source, column: Any, column_options: ColumnOptions) -> NDArray[Any]:
    """Labels of the rows: numbers where they read as such; booleans with --positive."""
    name = column_options.target
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    check_has_labels(source, column, name)
    if len(pc.unique(column)) < 2:
        raise source.bad(
            f"column {name!r} has the same label {column[0].as_py()!r} in every row; expected two "
            "classes or more to rank."
        )
    if column_options.positive is not None:
        is_positive = np.asarray(pc.equal(column.cast(pa.string()), column_options.positive))
        if not is_positive.any():
            known = [str(v) for v in pc.unique(column).to_pylist()[:8]]
            raise source.bad(
                f"column {name!r} has no label {column_options.positive!r} (--positive); it has "
                f"{', '.join(map(repr, known))}."
            )
        return is_positive
    if pa.types.is_string(column.type) and pc.all(pc.match_substring_regex(column, NUMBER)).as_py():
        column = pc.utf8_trim_whitespace(column).cast(pa.float64())
    labels = column.to_numpy()
    if labels.dtype.kind == "f":
        broken = labels != np.round(labels)
        if broken.any():
            row = int(np.argmax(broken))
            raise source.bad(
                f"column {name!r} has numbers with fractions (first: line {row + 2:,}, "
                f"{labels[row]:g}); expected classes. Cut it into grades, or name another --target."
            )
        labels = labels.astype(np.int64)
    return np.asarray(labels)


def check_has_labels(source: Source, column: Any, name: str) -> None:
    """Name the first row without a label."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise source.bad(
            f"column {name!r} has no label in {column.null_count:,} of {len(column):,} rows "
            f"(first: line {row + 2:,}); drop those rows."
        )


def as_weights(source: Source, column: Any, name: str) -> NDArray[np.float64]:
    """Weights of the rows, none of them negative."""
    if not _is_number(column.type):
        text = column.cast(pa.string())
        row = pc.index(pc.match_substring_regex(text, NUMBER), False).as_py()
        if row >= 0:
            raise source.bad(
                f"column {name!r} (--weight) has {text[row].as_py()!r} in line {row + 2:,}; "
                "expected numbers of at least 0."
            )
        column = pc.utf8_trim_whitespace(text)
    weights = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    bad = ~(weights >= 0) | np.isinf(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise source.bad(
            f"column {name!r} has no weight of at least 0 in line {row + 2:,}; mend it."
        )
    return weights
