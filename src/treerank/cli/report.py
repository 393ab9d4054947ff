"""`treerank report`: a report of a model on new rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import treerank
from treerank._input.types import FittedClassifier
from treerank.cli._command import command
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._evaluation import read_features, read_rows, write_report
from treerank.cli._json import print_json
from treerank.cli._options import Group, Json, LabelledRows, ModelFile, Target, check_one_stdin
from treerank.cli._outputs import check_outputs
from treerank.cli._quality import quality_of
from treerank.cli._table_options import LabelColumns, TableFormat


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of the command."""

    model: ModelFile
    data: LabelledRows
    target: Target
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    )
    train: Annotated[
        str | None, typer.Option(help="Training rows to compare with; labels as in DATA.")
    ] = None
    new: Annotated[
        str | None, typer.Option(help="Later rows, to look for drift; labels are not needed.")
    ] = None
    columns: LabelColumns
    group: Group = None
    id: Annotated[
        str | None, typer.Option(help="Column with row ids, for looking up rows in the report.")
    ] = None
    segments: Annotated[
        bool, typer.Option(help="Search for segments in which the model ranks badly.")
    ] = False
    champion: Annotated[
        Path | None, typer.Option(help="Model file of the current model, to compare with.")
    ] = None
    appendix: Annotated[
        Path | None,
        typer.Option(
            help="Markdown file for the items of TRIPOD+AI and model risk; also added to the "
            "report."
        ),
    ] = None
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None
    seed: Annotated[int, typer.Option(help="Random seed of the report.")] = 0
    format: TableFormat
    json: Json = False


@command
def report(options: ReportOptions) -> None:
    """Write a report of a model on new rows, as one HTML file that works offline."""
    with one_line_errors():
        check_outputs(
            {"--out": options.out, "--appendix": options.appendix},
            [options.model, options.data, options.train, options.new, options.champion],
            page="--out",
        )
        check_one_stdin([options.data, options.train, options.new])
        loaded = treerank.load(options.model)
        source = options.format.source(options.data)
        columns = options.columns.with_target(options.target)
        rows = read_rows(loaded, source, columns, options.group, options.id)
        write_report(
            loaded, rows, options.out, options.seed, source, _other_inputs(options, loaded)
        )
        if options.json:
            print_json({"report": str(options.out)} | quality_of(loaded, rows))
        print(f"Report in {options.out}.", file=sys.stderr)


def _other_inputs(options: ReportOptions, model: FittedClassifier) -> dict[str, Any]:
    """Read the other tables and models for the report."""
    columns = options.columns.with_target(options.target)
    more: dict[str, Any] = {
        "title": options.title,
        "target": options.target,
        "segments": options.segments,
        "appendix": options.appendix or False,
    }
    if options.champion is not None:
        if options.data == "-":
            raise BadInput("Got --champion with the standard input; expected a file.")
        champion = treerank.load(options.champion)
        again = options.format.source(options.data)
        more["champion"] = champion, read_rows(champion, again, columns).features
    if options.train is not None:
        more["train"] = read_rows(model, options.format.source(options.train), columns)[:3]
    if options.new is not None:
        later = options.format.source(options.new)
        names = set(later.header())
        apart = [name for name in (columns.target, columns.weight, *columns.drop) if name in names]
        more["X_new"] = read_features(model, later, apart)
    return more
