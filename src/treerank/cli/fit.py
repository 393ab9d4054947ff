"""`treerank fit`: fit a model to a table, say how well it ranks, and keep it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import treerank
from treerank.cli._cluster import cluster_client, on_cluster
from treerank.cli._errors import BadInput, check_out, one_line_errors
from treerank.cli._evaluation import Rows, write_report
from treerank.cli._options import (
    DateOrder,
    Dates,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Threads,
)
from treerank.cli._out_of_core import (
    OutOfCoreTraining,
    fit_out_of_core,
    held_out_quality,
    is_out_of_core,
    open_out_of_core,
)
from treerank.cli._printing import (
    print_columns,
    print_kinds,
    print_out_of_bag,
    print_quality,
    print_strata,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions, Training, read_training


class ModelKind(StrEnum):
    """What to fit."""

    tree = "tree"
    forest = "forest"
    boosting = "boosting"


def fit(
    train: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV or Parquet, .gz too; - for stdin. Several Parquet files, a folder or a "
            "pattern of them may be larger than the memory."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Where to save the model.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write a report of the training rows (HTML).")
    ] = None,
    model: Annotated[ModelKind, typer.Option(help="One tree to read, or many.")] = ModelKind.tree,
    positive: Annotated[
        str | None, typer.Option(help="Label to rank first; by default the largest.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Labels from the worst to the best, separated by commas.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    id: Annotated[list[str] | None, typer.Option(help="Column that names a row.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="COLUMN=category, =number or =date; repeatable.")
    ] = None,
    date: Dates = None,
    trees: Annotated[int, typer.Option(help="Number of trees of a forest or of boosting.")] = 200,
    max_depth: Annotated[int, typer.Option(help="Largest depth of a tree.")] = 10,
    small: Annotated[
        bool, typer.Option(help="Fewer strata: the smallest tree within one standard error.")
    ] = False,
    cv: Annotated[int, typer.Option(help="Folds that judge a tree; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    threads: Threads = 1,
    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps the coded rows of several files for other fits."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Train on a Dask cluster: its address, or 'local' for workers on this machine."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="With --dask: file from which a fit that was broken off goes on."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Fit a model to a table, say how well it ranks, and save it."""
    with one_line_errors():
        for path in (save, report):
            check_out(path)
        column_options = ColumnOptions(
            target, positive, weight, id or (), drop or (), type or (), date or ()
        )
        # Names of columns and classes are printed as they are, whatever is in them.
        console = Console(highlight=False, markup=False, emoji=False)
        make = _Maker(model, trees, max_depth, small, seed, threads)
        if is_out_of_core(train) or dask is not None:
            _check_out_of_core(make, report, cache_dir, dask)
            large = open_out_of_core(train, column_options)
            estimator = _fit_out_of_core(console, make, large, order, cache_dir, dask, checkpoint)
            return _save(console, estimator, save)
        if checkpoint is not None:
            raise BadInput(
                "Got --checkpoint without --dask; a fit on one machine has no checkpoint."
            )
        source = Source(train[0], delimiter, encoding, missing or (), decimal, date_order)
        data = read_training(source, column_options)
        estimator = _fit_in_memory(console, make, data, order, source)
        print_quality(console, estimator, data, cv, seed)
        _save(console, estimator, save)
        if report is not None:
            rows = Rows(data.features, data.labels, data.weights)
            write_report(estimator, rows, report, seed, source, {})
            console.print(f"Report in {report}.")
    return None


@dataclass(frozen=True)
class _Maker:
    """The model that the options ask for."""

    kind: ModelKind
    trees: int
    max_depth: int
    small: bool
    seed: int
    threads: int

    def __call__(self, data: Training | OutOfCoreTraining) -> Any:
        """Return an unfitted estimator for the columns of the data."""
        shared: dict[str, Any] = {
            "categorical_features": data.categories or None,
            "random_state": self.seed,
            "n_jobs": self.threads,
        }
        if self.kind is ModelKind.forest:
            return treerank.RankingForest(n_estimators=self.trees, oob_score=True, **shared)
        if self.kind is ModelKind.boosting:
            return treerank.BoostedTreeRank(n_estimators=self.trees, **shared)
        return treerank.TreeRank(max_depth=self.max_depth, one_standard_error=self.small, **shared)


def _check_out_of_core(
    make: _Maker, report: Path | None, cache_dir: Path | None, dask: str | None
) -> None:
    """Refuse what several files or a cluster cannot do."""
    if cache_dir is not None and dask is not None:
        raise BadInput("Got --cache-dir with --dask; on a cluster the workers keep the codes.")
    if make.kind is ModelKind.boosting:
        raise BadInput(
            "Got --model boosting with several files or --dask; expected tree or forest: "
            "boosting needs one table that fits into the memory."
        )
    if report is not None:
        raise BadInput(
            "Got --report with several files; expected it with one table that fits into "
            "the memory: save the model, then `treerank report` on some of the rows."
        )


def _fit_out_of_core(
    console: Console,
    make: _Maker,
    data: OutOfCoreTraining,
    order: str | None,
    cache_dir: Path | None,
    dask: str | None,
    checkpoint: Path | None,
) -> Any:
    """Fit to several files, on this machine or on a cluster."""
    estimator = make(data)
    if dask is None:
        if checkpoint is not None:
            raise BadInput(
                "Got --checkpoint without --dask; a fit on one machine has no checkpoint."
            )
        _fit_files(console, estimator, data, order, cache_dir)
        return estimator
    with cluster_client(dask, make.threads) as client:
        remote = on_cluster(estimator, client, checkpoint)
        _fit_files(console, remote, data, order, cache_dir)
    return remote.to_local().set_params(verbose=0)


def _fit_files(
    console: Console, model: Any, data: OutOfCoreTraining, order: str | None, cache_dir: Path | None
) -> None:
    """Fit to several files; the folds that prune a tree also judge it."""
    print_kinds(console, data.kinds)
    model.set_params(label_order=data.label_order(order))
    start = time.perf_counter()
    fit_out_of_core(model, data, cache_dir)
    took = time.perf_counter() - start
    ranked = " < ".join(map(str, model.classes_))
    n_files, n_rows = len(data.files.paths), data.files.n_rows
    console.print(f"\n{n_rows:,} rows of {n_files} files; ranked {ranked}.")
    console.print(f"Fitted in {took:.1f} s.\n")
    print_strata(console, model)
    measure = print_out_of_bag(console, model)
    found = held_out_quality(model)
    if found is not None:
        console.print(
            f"\n{measure} on held-out rows: {found[0]:.3f} ± {found[1]:.3f} (standard error of "
            "the folds that chose the tree)."
        )


def _fit_in_memory(
    console: Console, make: _Maker, data: Training, order: str | None, source: Source
) -> Any:
    """Fit to one table."""
    print_columns(console, data)
    estimator = make(data)
    label_order = data.label_order if order is None else _labels_in(order, data)
    if label_order is not None:
        estimator.set_params(label_order=label_order)
    start = time.perf_counter()
    try:
        estimator.fit(data.features, data.labels, sample_weight=data.weights)
    except ValueError as error:
        raise source.bad(str(error)) from None
    took = time.perf_counter() - start
    ranked = " < ".join(map(str, estimator.classes_))
    counts = ", ".join(
        f"{np.sum(data.labels == label):,} of {label}" for label in estimator.classes_
    )
    console.print(f"\n{data.n_rows:,} rows: {counts}; ranked {ranked}.")
    console.print(f"Fitted in {took:.1f} s.\n")
    print_strata(console, estimator)
    return estimator


def _labels_in(order: str, data: Training) -> list[Any]:
    """Labels of --order as the column has them: numbers where it has numbers."""
    named = [label.strip() for label in order.split(",")]
    known = {str(label): label for label in np.unique(data.labels).tolist()}
    unknown = [label for label in named if label not in known]
    if unknown:
        raise BadInput(
            f"--order names {unknown[0]!r}, which the target does not have; it has "
            f"{', '.join(known)}."
        )
    return [known[label] for label in named]


def _save(console: Console, model: Any, path: Path | None) -> None:
    if path is not None:
        treerank.save(model, path)
        console.print(f"Saved to {path}.")
