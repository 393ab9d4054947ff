"""`treerank fit`: fit a model to a table, say how well it ranks, and keep it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

import treerank
from treerank.cli._cluster import cluster_client, on_cluster
from treerank.cli._errors import BadInput, check_out, one_line_errors
from treerank.cli._evaluation import write_report_of_fit
from treerank.cli._grading import (
    BaseOdds,
    BaseScore,
    Calibration,
    GradeNames,
    GradeOptions,
    MaxGrades,
    Pdo,
    PopulationRate,
    Reverse,
    WithPoints,
    check_can_grade,
    print_grades,
)
from treerank.cli._options import (
    DateOrder,
    Dates,
    Decimal,
    Delimiter,
    Encoding,
    Focus,
    Missing,
    Threads,
    parse_focus,
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
    print_kept_back,
    print_kinds,
    print_out_of_bag,
    print_quality,
    print_strata,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions, Training, keep_back, read_training

if TYPE_CHECKING:
    from treerank.scoring import Validation


if TYPE_CHECKING:
    from treerank.scoring._held_out import HeldOut


class ModelKind(StrEnum):
    """What to fit."""

    tree = "tree"
    forest = "forest"
    boosting = "boosting"


def fit(
    train: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV or Parquet, .gz too; - for stdin. Several Parquet files, a folder or "
            "a pattern may be larger than memory."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Where to save the model.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write a report on held-out rows (HTML).")
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(help="Share of the rows to hold back for testing, such as 0.3."),
    ] = None,
    model: Annotated[
        ModelKind, typer.Option(help="One readable tree, or many trees.")
    ] = ModelKind.tree,
    positive: Annotated[
        str | None, typer.Option(help="Label to rank first; by default the largest.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Labels from the worst to the best, separated by commas.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    id: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that identifies a row: left out of the model; finds rows in the report."
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="COLUMN=category, =number or =date; repeatable.")
    ] = None,
    date: Dates = None,
    trees: Annotated[
        int | None,
        typer.Option(
            help="Number of trees; by default 200 for a forest, and as many as needed for boosting."
        ),
    ] = None,
    focus: Focus = None,
    max_depth: Annotated[int, typer.Option(help="Maximum depth of a tree.")] = 10,
    small: Annotated[
        bool, typer.Option(help="Fewer strata: the smallest tree within one standard error.")
    ] = False,
    cv: Annotated[int, typer.Option(help="Number of folds for the held-out AUC; 0 for none.")] = 5,
    bootstrap: Annotated[
        int, typer.Option(help="Measure optimism and instability with this many bootstrap samples.")
    ] = 0,
    grades: MaxGrades = None,
    grade_names: GradeNames = None,
    points: WithPoints = False,
    pdo: Pdo = 20.0,
    base_score: BaseScore = 600.0,
    base_odds: BaseOdds = 50.0,
    calibration: Calibration = None,
    population_rate: PopulationRate = None,
    reverse: Reverse = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    threads: Threads = 1,
    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder in which binned rows of several files are kept for later fits."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Train on a Dask cluster: its address, or 'local' for workers on this machine."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="With --dask: file from which an interrupted fit continues."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Fit a model to a table, show how well it ranks, and save it."""
    with one_line_errors():
        for path in (save, report):
            check_out(path)
        column_options = ColumnOptions(
            target, positive, weight, id or (), drop or (), type or (), date or ()
        )
        # Names of columns and classes are printed as they are, whatever is in them.
        console = Console(highlight=False, markup=False, emoji=False)
        make = _Maker(model, trees, parse_focus(focus), max_depth, small, seed, threads)
        graded = GradeOptions(
            grades, grade_names, points, pdo, base_score, base_odds, calibration,
            population_rate, reverse,
        )  # fmt: skip
        if is_out_of_core(train) or dask is not None:
            _check_out_of_core(report, test_share, cache_dir, dask)
            if bootstrap:
                raise BadInput(
                    "Got --bootstrap with several files or --dask; expected it with one table."
                )
            if graded.wanted:
                raise BadInput(
                    "Got --grades, --points or --calibration with several files or --dask; "
                    "expected them with one table: fit first, then `treerank grade` on new rows."
                )
            large = open_out_of_core(train, column_options)
            estimator = _fit_out_of_core(console, make, large, order, cache_dir, dask, checkpoint)
            return _save(console, estimator, save)
        if checkpoint is not None:
            raise BadInput(
                "Got --checkpoint without --dask; a fit on one machine has no checkpoint."
            )
        if cv < 2 and test_share is None and model is not ModelKind.forest:
            check_can_grade(graded, None)
        if report is not None and cv < 2 and test_share is None and model is not ModelKind.forest:
            raise BadInput(
                f"Got --report with --cv {cv}; a report needs held-out rows: expected "
                "--cv 2 or more, or rows held back by --test-share."
            )
        source = Source(train[0], delimiter, encoding, missing or (), decimal, date_order)
        data, kept_back = keep_back(read_training(source, column_options), test_share, seed)
        estimator = _fit_in_memory(console, make, data, order, source)
        if kept_back is None:
            held_out = print_quality(console, estimator, data, cv, seed)
        else:
            held_out = None
            print_kept_back(console, estimator, kept_back, data)
        validation = _validate(console, make, estimator, data, bootstrap) if bootstrap else None
        if graded.wanted:
            estimator = _grade(console, graded, estimator, data, kept_back, held_out)
        _save(console, estimator, save)
        if report is not None:
            write_report_of_fit(estimator, data, kept_back, held_out, report, seed, validation)
            console.print(f"Report in {report}.")
    return None


@dataclass(frozen=True)
class _Maker:
    """The model that the options ask for."""

    kind: ModelKind
    trees: int | None
    focus: float | tuple[float, ...] | None
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
            "focus": self.focus,
        }
        if self.kind is not ModelKind.tree and self.trees is not None:
            shared["n_estimators"] = self.trees
        if self.kind is ModelKind.forest:
            return treerank.RankingForest(oob_score=True, **shared)
        if self.kind is ModelKind.boosting:
            return treerank.BoostedTreeRank(**shared)
        return treerank.TreeRank(max_depth=self.max_depth, one_standard_error=self.small, **shared)


def _check_out_of_core(
    report: Path | None,
    test_share: float | None,
    cache_dir: Path | None,
    dask: str | None,
) -> None:
    """Refuse what several files or a cluster cannot do."""
    if test_share is not None:
        raise BadInput(
            "Got --test-share with several files or --dask; expected it with one table: leave a "
            "file out of the fit, and use it with `treerank evaluate`."
        )
    if cache_dir is not None and dask is not None:
        raise BadInput("Got --cache-dir with --dask; on a cluster the workers keep the codes.")
    if report is not None:
        raise BadInput(
            "Got --report with several files; expected it with one table that fits into memory: "
            "save the model, then `treerank report` on some of the rows."
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


def _validate(
    console: Console, make: _Maker, model: Any, data: Training, n_boot: int
) -> Validation:
    """Say how optimistic the figures of the training rows are, and how far predictions move."""
    from treerank.scoring import validate  # noqa: PLC0415 (slow)

    unfitted = make(data).set_params(label_order=np.asarray(model.classes_).tolist())
    found = validate(
        unfitted, data.features, data.labels, sample_weight=data.weights, n_boot=n_boot,
        n_jobs=make.threads, random_state=make.seed,
    )  # fmt: skip
    console.print(f"\n{found}")
    return found


def _grade(
    console: Console,
    options: GradeOptions,
    model: Any,
    data: Training,
    kept_back: Training | None,
    held_out: HeldOut | None,
) -> Any:
    """Give the model grades and points, by rows held back or by held-out scores of all."""
    card = options.scorecard(model)
    if kept_back is not None:
        said = f"the {kept_back.n_rows:,} rows held back"
        scores = model.score_samples(kept_back.features)
        card.fit_scores(model, scores, kept_back.labels, kept_back.weights, said)
    else:
        check_can_grade(options, held_out)
        assert held_out is not None
        card.fit_scores(model, held_out.score, data.labels, data.weights, held_out.said)
    print_grades(console, card)
    return card


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
