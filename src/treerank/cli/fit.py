"""`treerank fit`: fit a model to a table, show how well it ranks, and save it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import treerank
from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier, FittedRanker
from treerank.cli._cluster import cluster_client, on_cluster
from treerank.cli._command import command
from treerank.cli._errors import one_line_errors
from treerank.cli._evaluation import write_report_of_fit
from treerank.cli._fit_options import FitOptions
from treerank.cli._grading import check_can_grade, print_grades
from treerank.cli._out_of_core import (
    OutOfCoreTraining,
    fit_out_of_core,
    held_out_quality,
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
from treerank.cli._training import Training, keep_back, labels_in_order, read_training

if TYPE_CHECKING:
    from treerank.scoring import Validation
    from treerank.scoring._held_out import HeldOut


@command
def fit(options: FitOptions) -> None:
    """Fit a model to a table, show how well it ranks, and save it."""
    with one_line_errors():
        options.check()
        # Names of columns and classes are printed literally, whatever they contain.
        console = Console(highlight=False, markup=False, emoji=False)
        if options.out_of_core:
            _save(console, _fit_out_of_core(console, options), options.save)
        else:
            _fit_table(console, options)


def _fit_out_of_core(console: Console, options: FitOptions) -> Any:
    """Fit to several files, on this machine or on a cluster."""
    data = open_out_of_core(options.train, options.columns())
    estimator = options.estimator(data)
    if options.dask is None:
        _fit_files(console, estimator, data, options)
        return estimator
    with cluster_client(options.dask, options.threads) as client:
        remote = on_cluster(estimator, client, options.checkpoint)
        _fit_files(console, remote, data, options)
    return remote.to_local().set_params(verbose=0)


def _fit_files(console: Console, model: Any, data: OutOfCoreTraining, options: FitOptions) -> None:
    """Fit to several files. The folds that prune a tree are also used to evaluate it."""
    print_kinds(console, data.kinds)
    model.set_params(label_order=data.label_order(options.order))
    start = time.perf_counter()
    fit_out_of_core(model, data, options.cache_dir)
    took = time.perf_counter() - start
    ranked = " < ".join(map(str, label_order_of(model)))
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


def _fit_table(console: Console, options: FitOptions) -> None:
    """Fit to one table, and evaluate the model on held-out rows."""
    source, seed = options.format.source(options.train[0]), options.seed
    data, kept_back = keep_back(read_training(source, options.columns()), options.test_share, seed)
    options.grading.check_classes(len(np.unique(data.labels)))
    estimator = _fit_in_memory(console, options, data, source)
    if kept_back is None:
        held_out = print_quality(console, estimator, data, options.n_folds, seed)
    else:
        held_out = None
        print_kept_back(console, estimator, kept_back, data)
    validation = _validate(console, options, estimator, data) if options.bootstrap else None
    if options.grading.wanted:
        estimator = _grade(console, options, estimator, data, kept_back, held_out)
    _save(console, estimator, options.save)
    if options.report is not None:
        write_report_of_fit(estimator, data, kept_back, held_out, options.report, seed, validation)
        console.print(f"Report in {options.report}.")


def _fit_in_memory(console: Console, options: FitOptions, data: Training, source: Source) -> Any:
    print_columns(console, data)
    estimator = options.estimator(data)
    order = options.order
    label_order = (
        data.label_order
        if order is None
        else labels_in_order(order, np.unique(data.labels).tolist())
    )
    if label_order is not None:
        estimator.set_params(label_order=label_order)
    start = time.perf_counter()
    try:
        estimator.fit(data.features, data.labels, sample_weight=data.weights)
    except ValueError as error:
        raise source.bad(str(error)) from None
    took = time.perf_counter() - start
    classes = label_order_of(estimator)
    ranked = " < ".join(map(str, classes))
    counts = ", ".join(f"{np.sum(data.labels == label):,} of {label}" for label in classes)
    console.print(f"\n{data.n_rows:,} rows: {counts}; ranked {ranked}.")
    console.print(f"Fitted in {took:.1f} s.\n")
    print_strata(console, estimator)
    return estimator


def _validate(
    console: Console, options: FitOptions, model: FittedClassifier, data: Training
) -> Validation:
    """Print the optimism of the training figures, and the instability of predictions."""
    from treerank.scoring import validate  # noqa: PLC0415 (slow)

    unfitted = options.estimator(data).set_params(label_order=label_order_of(model).tolist())
    found = validate(
        unfitted, data.features, data.labels, sample_weight=data.weights,
        n_boot=options.bootstrap, n_jobs=options.threads, random_state=options.seed,
    )  # fmt: skip
    console.print(f"\n{found}")
    return found


def _grade(
    console: Console,
    options: FitOptions,
    model: FittedRanker,
    data: Training,
    kept_back: Training | None,
    held_out: HeldOut | None,
) -> Any:
    """Add grades and points to the model, from rows held back or from held-out scores."""
    card = options.grading.scorecard(model)
    if kept_back is not None:
        said = f"the {kept_back.n_rows:,} rows held back"
        scores = model.score_samples(kept_back.features)
        card.fit_scores(model, scores, kept_back.labels, kept_back.weights, said)
    else:
        check_can_grade(options.grading, held_out)
        assert held_out is not None
        card.fit_scores(model, held_out.score, data.labels, data.weights, held_out.said)
    print_grades(console, card)
    return card


def _save(console: Console, model: FittedClassifier, path: Path | None) -> None:
    if path is not None:
        treerank.save(model, path)
        console.print(f"Saved to {path}.")
