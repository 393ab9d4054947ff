"""Score tables block by block: files of any size need a fixed amount of memory."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from treerank._input.label_order import by_rank, label_order_of
from treerank._input.types import FittedClassifier, FittedRanker
from treerank._io.atomic import atomic_write
from treerank._io.parquet_files import SUFFIXES
from treerank.cli._conversion import Copied
from treerank.cli._dates import date_part
from treerank.cli._errors import BadInput
from treerank.cli._models import unwrap
from treerank.cli._numbers import infinite_number
from treerank.cli._sources import Source
from treerank.cli._training import _list, did_you_mean
from treerank.cli._unusable import Unusable

Columns = Callable[[Any, Any], dict[str, Any]]
TEXT_ENDINGS = (".csv", ".tsv", ".txt")
PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def score_file(
    model: FittedRanker,
    source: Source,
    out: str,
    ids: Sequence[str],
    probability: bool,
    more_columns: Columns | None = None,
) -> int:
    """Score every row of a table; return the number of rows.

    A scorecard adds grades and points; `more_columns` computes further columns from the model and
    rows.
    """
    model, card = unwrap(model)
    types = column_types(model, source, source.header(), ids)
    features = list(types)
    copies = [Copied(name, source.own_type) for name in ids]
    types |= {copy.key: copy for copy in copies}
    unusable = Unusable(source, levels_of(model, features))
    done = 0
    with _writer(out) as write:
        for batch in source.blocks(types):
            if batch.num_rows == 0:
                continue
            check_finite(source, batch, features, done)
            found = _scored(model, card, batch, features, probability, more_columns)
            _check_names(source, ids, found)
            found = {copy.column: batch.column(copy.key) for copy in copies} | found
            write(pa.RecordBatch.from_arrays(list(found.values()), names=list(found)))
            unusable.count(batch)
            done += batch.num_rows
        if done == 0:
            raise source.bad("there are column names but no rows.")
    unusable.note()
    return done


def column_types(
    model: Any, source: Source, names: list[str], ids: Sequence[str], leave_out: str = "--id"
) -> dict[str, Any]:
    """Type as which each needed column is read; None to keep its own type."""
    model, _ = unwrap(model)
    for name in ids:
        if name not in names:
            raise source.bad(f"there is no column {name!r} (--id); the columns are {_list(names)}.")
    wanted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not wanted:  # fitted without names: columns are found by position
        wanted = [name for name in names if name not in ids]
        if len(wanted) != model.n_features_in_:
            raise source.bad(
                f"there are {len(wanted)} columns, and the model, which knows no names, was fitted "
                f"to {model.n_features_in_}; leave others out by {leave_out}."
            )
    parts = {name: date_part(name, names) for name in wanted if name not in names}
    missing = [name for name, part in parts.items() if part is None]
    if missing:
        raise source.bad(
            f"there is no column {' nor '.join(map(repr, missing[:8]))}"
            + (f" nor {len(missing) - 8} others" if len(missing) > 8 else "")
            + f", which the model was fitted to; the columns are {_list(names)}."
            + did_you_mean(missing, [name for name in names if name not in wanted])
        )
    known = {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
    types: dict[str, Any] = {
        name: known.get(_kind(levels, name), source.own_type)
        for name, levels in levels_of(model, wanted).items()
    }
    return types | parts


def levels_of(model: FittedClassifier, names: list[str]) -> dict[str, Any]:
    """Levels of each column of a model: None for a number, False if the model does not use it."""
    from treerank._geometric import GeometricRanker  # noqa: PLC0415 (slow; not for the help)

    if isinstance(model, GeometricRanker):
        source = model._source
        if hasattr(model, "feature_names_in_"):
            tested = dict(zip(source.names, source.tree.levels, strict=True))
            return {name: tested.get(name, False) for name in names}
        levels: Any = source.tree.levels
    else:
        binning = getattr(model, "_binning", None)
        levels = [None] * len(names) if binning is None else binning.levels
    return dict(zip(names, levels, strict=True))


def _kind(levels: Any, name: str) -> str:

    if levels is False:
        return "not asked for"
    if levels is None:
        return "number"
    from treerank.export._walks import level_kind  # noqa: PLC0415 (slow; not for the help)

    return level_kind(levels, name)


def check_finite(source: Source, batch: Any, features: list[str], done: int) -> None:
    """Raise if a number is infinite, which no model accepts; the error names its line."""
    for name in features:
        column = batch.column(name)
        if pa.types.is_floating(column.type):
            problem = infinite_number(name, column, lambda row: source.place(done + row))
            if problem is not None:
                raise source.bad(problem + ".")


def _scored(
    model: Any,
    card: Any,
    batch: Any,
    features: list[str],
    probability: bool,
    more_columns: Columns | None,
) -> dict[str, Any]:
    """Return the columns that are computed from one block."""
    from treerank._base import TreeRanker  # noqa: PLC0415 (slow; not for the help)

    columns: dict[str, Any] = {}
    rows = rows_for(model, pa.Table.from_batches([batch]), features)
    if isinstance(model, TreeRanker):
        strata = model.apply(rows)
        scores = model.partition_.scores[strata]
        columns["score"] = pa.array(scores)
        columns["stratum"] = pa.array(strata)
    else:
        with warnings.catch_warnings():  # the names of the columns have already been checked
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            scores = model.score_samples(rows)
        columns["score"] = pa.array(np.ascontiguousarray(scores))
    if card is not None and card.grades_ is not None:
        columns["grade"] = pa.array(card.grades_.predict(scores), pa.string())
    if card is not None and card.points is not None:
        columns["points"] = pa.array(card.points_of(scores))
    if probability:
        if card is not None and card.calibrator_ is not None:
            shares = by_rank(card.probabilities_of(scores), card)
        else:
            shares = by_rank(model.predict_proba(rows), model)
        for k, label in enumerate(label_order_of(model)):
            columns[f"probability_{label}"] = pa.array(np.ascontiguousarray(shares[:, k]))
    if more_columns is not None:
        columns |= more_columns(model, rows)
    return columns


def _check_names(source: Source, ids: Sequence[str], added: Iterable[str]) -> None:
    """Raise if a column to copy has the name of one that is added."""
    for name in added:
        if name in ids:
            raise source.bad(
                f"column {name!r} (--id) has the name of a column that is added; rename it, or "
                "leave it out."
            )


def rows_for(model: FittedClassifier, table: Any, features: list[str]) -> Any:
    """Return the rows as input of the model."""
    # The other models, those of `treerank.baselines`, only accept numbers.
    from treerank import BoostedTreeRank, GeometricRanker, RankingForest  # noqa: PLC0415
    from treerank._base import TreeRanker  # noqa: PLC0415 (slow; not for the help)

    model, _ = unwrap(model)
    take_frames = (TreeRanker, RankingForest, BoostedTreeRank, GeometricRanker)
    if hasattr(model, "feature_names_in_") and isinstance(model, take_frames):
        return table.select(features)
    numbers = [table[name].to_numpy() for name in features]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in numbers])


def output_format(out: str) -> tuple[str, str | None]:
    """Ending of a file to write, empty if there is none (CSV), and its compression.

    Raise for other endings: other programs would take the file for what it is not.
    """
    path = Path(out)
    packing = PACKINGS.get(path.suffix.lower())
    ending = (path.with_suffix("") if packing else path).suffix.lower()
    if ending not in ("", *TEXT_ENDINGS, *(() if packing else SUFFIXES)):
        raise BadInput(
            f"Got --out {out}; expected a name that ends in {', '.join(TEXT_ENDINGS)} (also "
            f"followed by {', '.join(PACKINGS)}), {' or '.join(SUFFIXES)}."
        )
    return ending, packing


@contextmanager
def _writer(out: str) -> Iterator[Any]:
    """Yield a function that writes a block. The file appears complete or not at all."""
    if out == "-":
        if sys.stdout is None:
            raise BadInput("The standard output is closed; name a file: --out FILE.")
        options = _write_options(",")
        stdout = sys.stdout.buffer
        with _Sheet(
            lambda schema: pa_csv.CSVWriter(stdout, schema, write_options=options)
        ) as sheet:
            yield sheet.write
        return
    ending, packing = output_format(out)
    with atomic_write(out) as temporary:
        if ending in SUFFIXES:
            with _Sheet(lambda schema: pq.ParquetWriter(temporary, schema)) as sheet:
                yield sheet.write
            return
        options = _write_options("\t" if ending == ".tsv" else ",")
        with (
            pa.output_stream(str(temporary), compression=packing) as sink,
            _Sheet(lambda schema: pa_csv.CSVWriter(sink, schema, write_options=options)) as sheet,
        ):
            yield sheet.write


def _write_options(delimiter: str) -> Any:
    return pa_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")


class _Sheet:
    """A writer that is created with the first block, which has the columns."""

    def __init__(self, make: Any) -> None:
        self._make = make
        self._writer: Any = None

    def __enter__(self) -> _Sheet:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: Any) -> None:
        if self._writer is None:
            self._writer = self._make(batch.schema)
        self._writer.write_batch(batch)
