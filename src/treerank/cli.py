"""The command line: fit, score, read and export models without writing Python."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import treerank
from treerank._atomic import written_whole
from treerank._command_line._cluster import cluster_client, on_cluster
from treerank._command_line._errors import BadInput, check_out, one_line_errors
from treerank._command_line._judging import Rows, read_rows
from treerank._command_line._large import (
    LargeTraining,
    fit_large,
    held_out_quality,
    is_large,
    open_large,
)
from treerank._command_line._scoring import score_file
from treerank._command_line._sources import Source
from treerank._command_line._training import Training, Wishes, read_training

app = typer.Typer(
    name="treerank",
    help="Ranking trees: order cases so that the positive ones come first.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Delimiter = Annotated[str | None, typer.Option(help="What parts the columns; 'tab' for a tab.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the text.")]
Missing = Annotated[
    list[str] | None, typer.Option(help="A text that stands for a missing value; repeatable.")
]
Threads = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]


class ModelKind(StrEnum):
    """What to fit."""

    tree = "tree"
    forest = "forest"
    boosting = "boosting"


class Target(StrEnum):
    """What to export to."""

    sql = "sql"
    onnx = "onnx"
    text = "text"


class SqlDialect(StrEnum):
    """Databases."""

    postgresql = "postgresql"
    duckdb = "duckdb"
    sqlite = "sqlite"


@app.command()
def fit(
    train: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV or Parquet, .gz too; - for stdin. Several Parquet files, a folder or a "
            "pattern of them may be larger than the memory."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    save: Annotated[Path | None, typer.Option(help="Where to keep the model.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write a report of the training rows (HTML).")
    ] = None,
    model: Annotated[ModelKind, typer.Option(help="One tree to read, or many.")] = ModelKind.tree,
    positive: Annotated[
        str | None, typer.Option(help="Label to rank first; by default the largest.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Labels from the worst to the best, parted by commas.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    id: Annotated[list[str] | None, typer.Option(help="Column that names a row.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="COLUMN=category or COLUMN=number; repeatable.")
    ] = None,
    trees: Annotated[int, typer.Option(help="Number of trees of a forest or of boosting.")] = 200,
    max_depth: Annotated[int, typer.Option(help="Largest depth of a tree.")] = 10,
    small: Annotated[
        bool, typer.Option(help="Fewer strata: the smallest tree within one standard error.")
    ] = False,
    cv: Annotated[int, typer.Option(help="Folds that judge a tree; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    threads: Threads = 1,
    codes: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps the coded rows of several files for other fits."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Train on a Dask cluster: its address, or 'local' for workers on this machine."
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="With --dask: file from which a fit that was broken off goes on."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Fit a model to a table, say how well it ranks, and keep it."""
    with one_line_errors():
        for path in (save, report):
            check_out(path)
        wishes = Wishes(target, positive, weight, id or (), drop or (), type or ())
        # Names of columns and classes are printed as they are, whatever is in them.
        console = Console(highlight=False, markup=False, emoji=False)
        if log is not None and dask is None:
            raise BadInput("Got --log without --dask; a fit on one machine has no log.")
        if codes is not None and dask is not None:
            raise BadInput("Got --codes with --dask; on a cluster the workers keep the codes.")
        if is_large(train) or dask is not None:
            if model is ModelKind.boosting:
                raise BadInput(
                    "Got --model boosting with several files or --dask; expected tree or forest: "
                    "boosting needs one table that fits into the memory."
                )
            large = open_large(train, wishes)
            estimator = _estimator(model, large, trees, max_depth, small, seed, threads)
            if report is not None:
                raise BadInput(
                    "Got --report with several files; expected it with one table that fits into "
                    "the memory: save the model, then `treerank report` on some of the rows."
                )
            if dask is None:
                _fit_large(console, estimator, large, order, codes)
            else:
                with cluster_client(dask, threads) as client:
                    remote = on_cluster(estimator, client, log)
                    _fit_large(console, remote, large, order, codes)
                estimator = remote.to_local().set_params(verbose=0)
            _save(console, estimator, save)
            return
        source = Source(train[0], delimiter, encoding, missing or ())
        data = read_training(source, wishes)
        _print_columns(console, data)
        estimator = _estimator(model, data, trees, max_depth, small, seed, threads)
        if order is not None:
            estimator.set_params(label_order=_labels_in(order, data))
        start = time.perf_counter()
        try:
            estimator.fit(data.features, data.labels, sample_weight=data.weights)
        except ValueError as error:
            raise source.bad(str(error)) from None
        took = time.perf_counter() - start
        _print_fit(console, estimator, data, took)
        _print_quality(console, estimator, data, cv, seed)
        _save(console, estimator, save)
        if report is not None:
            rows = Rows(data.features, data.labels, data.weights)
            _write_report(estimator, rows, report, seed, source, {})
            console.print(f"Report in {report}.")


def _save(console: Console, model: Any, path: Path | None) -> None:
    if path is not None:
        treerank.save(model, path)
        console.print(f"Saved to {path}.")


def _fit_large(
    console: Console, model: Any, data: LargeTraining, order: str | None, codes: Path | None
) -> None:
    """Fit to several files; the folds that prune a tree also judge it."""
    table = Table("column", "taken as", box=None, pad_edge=False)
    for name, kind in data.kinds.items():
        table.add_row(name, kind)
    console.print(table)
    model.set_params(label_order=data.label_order(order))
    start = time.perf_counter()
    fit_large(model, data, codes)
    took = time.perf_counter() - start
    ranked = " < ".join(map(str, model.classes_))
    n_files, n_rows = len(data.files.paths), data.files.n_rows
    console.print(f"\n{n_rows:,} rows of {n_files} files; ranked {ranked}.")
    console.print(f"Fitted in {took:.1f} s.\n")
    _print_strata(console, model)
    measure = _print_out_of_bag(console, model)
    found = held_out_quality(model)
    if found is not None:
        console.print(
            f"\n{measure} on held-out rows: {found[0]:.3f} ± {found[1]:.3f} (standard error of "
            "the folds that chose the tree)."
        )


def _estimator(
    kind: ModelKind,
    data: Training | LargeTraining,
    trees: int,
    max_depth: int,
    small: bool,
    seed: int,
    threads: int,
) -> Any:
    shared: dict[str, Any] = {
        "categorical_features": data.categories or None,
        "random_state": seed,
        "n_jobs": threads,
    }
    if kind is ModelKind.forest:
        return treerank.RankingForest(n_estimators=trees, oob_score=True, **shared)
    if kind is ModelKind.boosting:
        return treerank.BoostedTreeRank(n_estimators=trees, **shared)
    return treerank.TreeRank(max_depth=max_depth, one_standard_error=small, **shared)


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


def _write_report(
    model: Any, rows: Rows, out: Path, seed: int, source: Source, more: dict[str, Any]
) -> None:
    try:
        treerank.report(
            model, rows.features, rows.labels,
            sample_weight=rows.weights, out=out, random_state=seed, **more,
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise BadInput(f"{out}: {error}") from None
    except ValueError as error:
        raise source.bad(str(error)) from None


def _print_columns(console: Console, data: Training) -> None:
    """Say what each column was taken as."""
    table = Table("column", "taken as", "values", box=None, pad_edge=False)
    for name, kind in data.kinds.items():
        column = data.features[name]
        n_missing = column.null_count
        said = f"{len(column.unique()) - bool(n_missing):,} different"
        table.add_row(name, kind, said + (f", {n_missing:,} missing" if n_missing else ""))
    console.print(table)


def _print_fit(console: Console, model: Any, data: Training, took: float) -> None:
    order = " < ".join(map(str, model.classes_))
    counts = ", ".join(f"{np.sum(data.labels == label):,} of {label}" for label in model.classes_)
    console.print(f"\n{data.n_rows:,} rows: {counts}; ranked {order}.")
    console.print(f"Fitted in {took:.1f} s.\n")
    _print_strata(console, model)


def _print_strata(console: Console, model: Any) -> None:
    if not hasattr(model, "partition_"):
        return
    table = Table("stratum", "score", "rows", f"share of {model.classes_[-1]}", "rule", box=None,
                  pad_edge=False)  # fmt: skip
    partition = model.partition_
    for k, (share, rule) in enumerate(
        zip(partition.posterior()[:, -1], partition.rules(), strict=True)
    ):
        rows = f"{partition.counts[k].sum():,g}"
        table.add_row(str(k), f"{partition.scores[k]:.3f}", rows, f"{share:.1%}", rule)
    console.print(table)


def _print_out_of_bag(console: Console, model: Any) -> str:
    """Say how well a forest ranks rows that a tree has not seen; return the measure's name."""
    measure = "AUC" if len(model.classes_) == 2 else "VUS"
    interval: Any = getattr(model, f"oob_{measure.lower()}_interval_", None)
    if interval is not None:
        worth = getattr(interval, measure.lower())
        console.print(
            f"\n{measure} on rows a tree has not seen: {worth:.3f} "
            f"({interval.level:.0%} interval {interval.lower:.3f} to {interval.upper:.3f})."
        )
    return measure


def _print_quality(console: Console, model: Any, data: Training, cv: int, seed: int) -> None:
    """Say how well the model ranks rows that it has not seen."""
    measure = _print_out_of_bag(console, model)
    if hasattr(model, f"oob_{measure.lower()}_interval_"):
        return
    smallest = min(int(np.sum(data.labels == label)) for label in model.classes_)
    folds = min(cv, smallest)
    if folds < 2:
        own = model.score(data.features, data.labels, data.weights)
        console.print(f"\n{measure} on the rows it was fitted to: {own:.3f}.")
        return
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    scores = np.array(
        [_held_out(model, data, *part) for part in split.split(data.labels, data.labels)]
    )
    error = scores.std(ddof=1) / np.sqrt(folds)
    console.print(
        f"\n{measure} on held-out rows: {scores.mean():.3f} ± {error:.3f} (standard error, {folds} "
        "folds)."
    )


def _held_out(model: Any, data: Training, train: Any, test: Any) -> float:
    """AUC, or VUS, on some rows of the model fitted to the others."""
    weights = data.weights
    fitted = clone(model).fit(
        data.features.take(train),
        data.labels[train],
        sample_weight=None if weights is None else weights[train],
    )
    held_out = None if weights is None else weights[test]
    return float(fitted.score(data.features.take(test), data.labels[test], held_out))


@app.command()
def score(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")],
    out: Annotated[str, typer.Option(help="CSV, TSV or Parquet; - for stdout.")] = "-",
    id: Annotated[list[str] | None, typer.Option(help="Column to copy; repeatable.")] = None,
    probability: Annotated[bool, typer.Option(help="Write the class probabilities too.")] = False,
    threads: Threads = 2,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Score the rows of a table, block by block: it may be larger than the memory."""
    with one_line_errors():
        check_out(out, stdout=True)
        loaded = treerank.load(model)
        if hasattr(loaded, "n_jobs"):
            loaded.set_params(n_jobs=threads)
        if probability and not hasattr(loaded, "predict_proba"):
            raise BadInput(f"{model}: a {loaded.__class__.__name__} gives no probabilities.")
        source = Source(data, delimiter, encoding, missing or ())
        n_rows = score_file(loaded, source, out, id or (), probability)
        if out != "-":
            print(f"Scored {n_rows:,} rows to {out}.", file=sys.stderr)


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows to judge it on, with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    train: Annotated[
        str | None, typer.Option(help="The training rows, to compare with; labels as in DATA.")
    ] = None,
    new: Annotated[
        str | None, typer.Option(help="Later rows, to see what has moved; they need no labels.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out, if the model knows no names.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of what the report draws.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Write a report of a model on new rows: one HTML file that needs no network."""
    with one_line_errors():
        check_out(out)
        if [data, train, new].count("-") > 1:
            raise BadInput("Got - twice; the standard input can be read once only.")
        loaded = treerank.load(model)
        wishes = Wishes(target, positive, weight, (), drop or ())
        judged, training, later = (
            None if path is None else Source(path, delimiter, encoding, missing or ())
            for path in (data, train, new)
        )
        assert judged is not None
        rows = read_rows(loaded, judged, wishes, drop or ())
        more: dict[str, Any] = {"title": title}
        if training is not None:
            more["train"] = tuple(read_rows(loaded, training, wishes, drop or ()))
        if later is not None:
            left = set(later.header())
            apart = [name for name in (target, weight, *(drop or ())) if name in left]
            more["X_new"] = read_rows(loaded, later, None, apart).features
        _write_report(loaded, rows, out, seed, judged, more)
        print(f"Report in {out}.", file=sys.stderr)


@app.command()
def compare(
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    positive: Annotated[str | None, typer.Option(help="Label to rank first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="COLUMN=category or COLUMN=number; repeatable.")
    ] = None,
    cv: Annotated[int, typer.Option(help="Folds.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    threads: Threads = 1,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Compare a tree, a smaller tree, a forest and boosting on a table, on the same folds."""
    with one_line_errors():
        source = Source(data, delimiter, encoding, missing or ())
        rows = read_training(source, Wishes(target, positive, weight, (), drop or (), type or ()))
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
                cv=cv, sample_weight=rows.weights, random_state=seed,
            )  # fmt: skip
        except ValueError as error:
            raise source.bad(str(error)) from None
        print(found)


@app.command()
def rules(model: Annotated[Path, typer.Argument(help="A model file of a tree.")]) -> None:
    """Print the strata of a tree and their rules in words."""
    with one_line_errors():
        print(_said(treerank.load(model), model))


def _said(loaded: Any, path: Path) -> str:
    from treerank.export import to_text  # noqa: PLC0415

    try:
        return to_text(loaded)
    except TypeError as error:
        raise BadInput(f"{path}: {error}") from None


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    to: Annotated[Target, typer.Option(help="What to write.")] = Target.sql,
    out: Annotated[str, typer.Option(help="File to write; - for stdout.")] = "-",
    table: Annotated[str, typer.Option(help="Table of the database.")] = "data",
    dialect: Annotated[SqlDialect, typer.Option(help="Database.")] = SqlDialect.postgresql,
    column: Annotated[
        list[str] | None, typer.Option(help="Column to return beside the score; repeatable.")
    ] = None,
) -> None:
    """Write a model as SQL, as an ONNX graph or as text."""
    from treerank.export import to_onnx, to_sql  # noqa: PLC0415

    with one_line_errors():
        check_out(out, stdout=True)
        loaded = treerank.load(model)
        try:
            if to is Target.onnx:
                if out == "-" and sys.stdout.isatty():
                    raise BadInput("Got --to onnx without --out; an ONNX graph is no text.")
                written = to_onnx(loaded).SerializeToString()
            elif to is Target.text:
                written = (_said(loaded, model) + "\n").encode()
            else:
                query = to_sql(loaded, table, dialect.value, columns=column)
                written = (query + ";\n").encode()
        except (ValueError, TypeError) as error:
            remedy = " On the command line: --column NAME." if "columns=" in str(error) else ""
            raise BadInput(f"{model}: {error}{remedy}") from None
        if out == "-":
            sys.stdout.buffer.write(written)
            return
        with written_whole(out) as temporary:
            temporary.write_bytes(written)


@app.command()
def demo(
    folder: Annotated[str, typer.Argument(help="Where pictures and scores go.")] = "demo",
) -> None:
    """Train on a real table, print AUC, strata and rules, and draw."""
    from treerank._demo import main as run_demo  # noqa: PLC0415

    with one_line_errors():
        run_demo(folder)


def main() -> None:
    """Run the command line."""
    app()
