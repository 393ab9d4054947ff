"""`treerank compare`: the models of this library on the same folds of one table."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

import treerank
from treerank.cli._command import command
from treerank.cli._conversion import ambiguous_order
from treerank.cli._dates import find_order, parse_text
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._options import AnyTable, Dates, Drop, Target, Threads, Types, Weight
from treerank.cli._sources import Source
from treerank.cli._table_options import TableFormat
from treerank.cli._training import ColumnOptions, check_columns, read_training


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of the command."""

    data: AnyTable
    target: Target
    positive: Annotated[str | None, typer.Option(help="Label to rank first.")] = None
    weight: Weight = None
    drop: Drop = None
    type: Types = None
    group: Annotated[
        str | None,
        typer.Option(help="Column whose equal values stay in one fold, such as customers."),
    ] = None
    time: Annotated[
        str | None, typer.Option(help="Column with dates: train on the past, test on what follows.")
    ] = None
    date: Dates = None
    cv: Annotated[int, typer.Option(help="Folds.")] = 10
    seed: Annotated[int, typer.Option(help="Random seed of folds and models.")] = 0
    threads: Threads = 1
    format: TableFormat

    def of_folds(self) -> dict[str, list[str]]:
        """Columns that define the folds, by option."""
        given = {"--group": self.group, "--time": self.time}
        return {option: [name] for option, name in given.items() if name is not None}

    def columns(self) -> ColumnOptions:
        """Return the columns; those that define the folds are not features."""
        apart = [name for names in self.of_folds().values() for name in names]
        return ColumnOptions(
            self.target, self.positive, self.weight, apart, self.drop or (), self.type or (),
            self.date or (), leave_out="--drop",
        )  # fmt: skip


@command
def compare(options: CompareOptions) -> None:
    """Compare a tree, a smaller tree, a forest and boosting on the same folds."""
    with one_line_errors():
        source = options.format.source(options.data)
        check_columns(source, source.header(), options.of_folds())
        for option, names in options.of_folds().items():
            if options.target in names:
                raise source.bad(f"column {options.target!r} cannot be both --target and {option}.")
        rows = read_training(source, options.columns())
        shared: dict[str, Any] = {
            "categorical_features": rows.categories or None,
            "random_state": options.seed,
            "n_jobs": options.threads,
        }
        models = {
            "tree": treerank.TreeRank(**shared),
            "small tree": treerank.TreeRank(one_standard_error=True, **shared),
            "forest": treerank.RankingForest(**shared),
            "boosting": treerank.BoostedTreeRank(**shared),
        }
        try:
            found = treerank.compare(
                models, rows.features, rows.labels, cv=options.cv, sample_weight=rows.weights,
                label_order=rows.label_order, random_state=options.seed,
                groups=_groups(source, options.group), time=_times(source, options),
            )  # fmt: skip
        except ValueError as error:
            raise source.bad(str(error)) from None
        print(found)


def _groups(source: Source, name: str | None) -> Any:
    """Group of each row. Text stays text: numbers would merge ids of many digits."""
    return None if name is None else _column(source, name).to_numpy()


def _times(source: Source, options: CompareOptions) -> Any:
    """Time of each row: numbers and dates as such, other text as it is."""
    name = options.time
    if name is None:
        return None
    column = _column(source, name)
    if not pa.types.is_string(column.type):
        return column.to_numpy()
    with contextlib.suppress(pa.ArrowInvalid):
        return pc.utf8_trim_whitespace(column).cast(pa.float64()).to_numpy()
    order = find_order(column, options.format.date_order)
    if order == "ambiguous":
        raise source.bad(ambiguous_order(name, column))
    return column.to_numpy() if order is None else parse_text(column, order)


def _column(source: Source, name: str) -> Any:
    """Values of a column that is not a feature."""
    if source.path == "-":
        raise BadInput("Got --group or --time with the standard input; expected a file.")
    column = source.read([name])[name]
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise source.bad(f"column {name!r} has no value in {source.place(row)}; correct it.")
    return column
