"""`treerank compare`: our models on one table, on the same folds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import treerank
from treerank.cli._errors import one_line_errors
from treerank.cli._options import (
    DateOrder,
    Dates,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Threads,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions, read_training


def compare(
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    positive: Annotated[str | None, typer.Option(help="Label to rank first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="COLUMN=category, =number or =date; repeatable.")
    ] = None,
    date: Dates = None,
    cv: Annotated[int, typer.Option(help="Folds.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    threads: Threads = 1,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Compare a tree, a smaller tree, a forest and boosting on the same folds."""
    with one_line_errors():
        source = Source(data, delimiter, encoding, missing or (), decimal, date_order)
        rows = read_training(
            source,
            ColumnOptions(target, positive, weight, (), drop or (), type or (), date or ()),
        )
        shared: dict[str, Any] = {
            "categorical_features": rows.categories or None,
            "random_state": seed,
            "n_jobs": threads,
        }
        models = {
            "tree": treerank.TreeRank(**shared),
            "small tree": treerank.TreeRank(one_standard_error=True, **shared),
            "forest": treerank.RankingForest(**shared),
            "boosting": treerank.BoostedTreeRank(**shared),
        }
        try:
            found = treerank.compare(
                models, rows.features, rows.labels,
                cv=cv, sample_weight=rows.weights, label_order=rows.label_order, random_state=seed,
            )  # fmt: skip
        except ValueError as error:
            raise source.bad(str(error)) from None
        print(found)
