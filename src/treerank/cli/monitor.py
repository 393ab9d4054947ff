"""`treerank monitor`: monitor a model in use, period by period."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from treerank._io.atomic import atomic_write
from treerank.cli._command import command
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._models import load_model
from treerank.cli._monitored import By, WatchedColumns, WatchedRows, find_files, read_watched
from treerank.cli._options import ModelFile, Threads, check_one_stdin
from treerank.cli._outputs import check_outputs
from treerank.cli._table_options import LabelColumns, TableFormat

if TYPE_CHECKING:
    from treerank.scoring import Monitoring

# Exit status 2 is for bad input.
ALARM_STATUS = 3


class FailOn(StrEnum):
    """Results that cause exit status 3."""

    alarm = "alarm"
    watch = "watch"
    never = "never"


@dataclass(frozen=True, kw_only=True)
class MonitorOptions:
    """Options of the command."""

    model: ModelFile
    baseline: Annotated[
        str, typer.Argument(help="Rows with labels that the model was not fitted to.")
    ]
    new: Annotated[list[str], typer.Argument(help="Later rows: files or a pattern.")]
    target: Annotated[
        str, typer.Option(help="Column with the labels; values may be missing in NEW.")
    ]
    date: Annotated[
        str | None, typer.Option(help="Column with dates; without it, each file is a period.")
    ] = None
    by: Annotated[
        By, typer.Option(help="Length of a period; 'value' if the column names the period.")
    ] = By.month
    columns: LabelColumns
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="HTML page to write; a .json file is written beside it."),
    ] = Path("monitor.html")
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None
    alpha: Annotated[
        float, typer.Option(help="Probability of any false alarm, however often you look.")
    ] = 0.05
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    fail_on: Annotated[FailOn, typer.Option(help="What causes exit status 3.")] = FailOn.alarm
    threads: Threads = 2
    format: TableFormat


@command
def monitor(options: MonitorOptions) -> None:
    """Monitor a model in use for drift, decline and calibration; exit status 3 is an alarm."""
    with one_line_errors():
        out = options.out
        files = find_files(options.new)
        beside = _check_outputs(out, [str(options.model), options.baseline, *files])
        found = _monitor(options, files)
        found.to_html(out, options.title)
        with atomic_write(beside) as temporary:
            text = json.dumps(found.to_dict(), allow_nan=False, indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        print(found)
        print(f"Page in {out}, figures in {beside}.", file=sys.stderr)
    worst = {"steady": 0, "watch": 1, "alarm": 2}[found.status]
    if worst >= {FailOn.alarm: 2, FailOn.watch: 1, FailOn.never: 3}[options.fail_on]:
        raise typer.Exit(ALARM_STATUS)


def _monitor(options: MonitorOptions, files: list[str]) -> Monitoring:
    """Read the tables and compare the new rows with the baseline."""
    from treerank.scoring import monitor as watch  # noqa: PLC0415 - only this command

    loaded, _ = load_model(options.model, options.threads)
    judged = options.columns
    columns = WatchedColumns(
        options.target, judged.positive, judged.weight, options.date, options.by, judged.drop or ()
    )
    paths = [options.baseline, *files]
    check_one_stdin(paths)
    sources = [options.format.source(path) for path in paths]
    before = read_watched(loaded, sources[0], columns, is_baseline=True)
    after = _join([read_watched(loaded, source, columns) for source in sources[1:]], files)
    assert before.labels is not None
    return watch(
        loaded,
        (before.features, before.labels, before.weights),
        (after.features, after.labels, after.weights),
        after.periods,
        level=options.level,
        alpha=options.alpha,
        target=options.target,
    )


def _check_outputs(out: Path, inputs: list[str]) -> Path:
    """Return the JSON file beside the page; raise if either would overwrite an input."""
    beside = out.with_suffix(".json")
    if beside == out:
        raise BadInput(
            f"Got --out {out}; expected another ending, such as .html: the figures are written to "
            "a .json file beside the page."
        )
    figures = "--out (the figures go beside it, with the ending .json)"
    check_outputs({"--out": out, figures: beside}, inputs, page="--out")
    return beside


def _join(parts: list[WatchedRows], files: list[str]) -> WatchedRows:
    """Concatenate the new rows. Without dates, each file is a period."""
    sizes = [
        part.features.num_rows if isinstance(part.features, pa.Table) else len(part.features)
        for part in parts
    ]
    features: list[Any] = [part.features for part in parts]
    labels = [
        np.full(n, None, dtype=object) if part.labels is None else part.labels
        for part, n in zip(parts, sizes, strict=True)
    ]
    weights = [part.weights for part in parts if part.weights is not None]
    names = [Path(path).name.split(".")[0] for path in files]
    if len(set(names)) < len(names):
        names = files
    periods = [
        np.repeat(name, n) if part.periods is None else part.periods
        for part, name, n in zip(parts, names, sizes, strict=True)
    ]
    is_table = isinstance(features[0], pa.Table)
    return WatchedRows(
        features=pa.concat_tables(features) if is_table else np.concatenate(features),
        labels=np.concatenate(labels),
        weights=np.concatenate(weights) if weights else None,
        periods=np.concatenate(periods),
    )
