"""`treerank report`: a report of a model on new rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import treerank
from treerank.cli._errors import BadInput, check_out, one_line_errors
from treerank.cli._evaluation import read_rows, write_report
from treerank.cli._json import print_json, quality_of
from treerank.cli._options import DateOrder, Decimal, Delimiter, Encoding, Group, Json, Missing
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


def report(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="New rows with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    train: Annotated[
        str | None, typer.Option(help="Training rows to compare with; labels as in DATA.")
    ] = None,
    new: Annotated[
        str | None, typer.Option(help="Later rows, to look for drift; labels are not needed.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out, if the model has no column names."),
    ] = None,
    group: Group = None,
    id: Annotated[
        str | None, typer.Option(help="Column with row ids, for looking up rows in the report.")
    ] = None,
    segments: Annotated[
        bool, typer.Option(help="Search for segments in which the model ranks badly.")
    ] = False,
    champion: Annotated[
        Path | None, typer.Option(help="Model file of the current model, to compare with.")
    ] = None,
    appendix: Annotated[
        Path | None,
        typer.Option(
            help="Markdown file for the items of TRIPOD+AI and model risk; also added to the "
            "report."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the report.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
    json: Json = False,
) -> None:
    """Write a report of a model on new rows, as one HTML file that works offline."""
    with one_line_errors():
        for path in (out, appendix):
            check_out(path)
        if [data, train, new].count("-") > 1:
            raise BadInput("Got - twice; the standard input can be read once only.")
        loaded = treerank.load(model)
        column_options = ColumnOptions(target, positive, weight, (), drop or ())
        judged, training, later = (
            None
            if path is None
            else Source(path, delimiter, encoding, missing or (), decimal, date_order)
            for path in (data, train, new)
        )
        assert judged is not None
        rows = read_rows(loaded, judged, column_options, drop or (), group, id)
        more: dict[str, Any] = {"title": title, "segments": segments, "appendix": appendix or False}
        if champion is not None:
            if data == "-":
                raise BadInput("Got --champion with the standard input; expected a file.")
            rival = treerank.load(champion)
            again = Source(data, delimiter, encoding, missing or (), decimal, date_order)
            more["champion"] = (
                rival, read_rows(rival, again, column_options, drop or ()).features,
            )  # fmt: skip
        if training is not None:
            more["train"] = read_rows(loaded, training, column_options, drop or ())[:3]
        if later is not None:
            left = set(later.header())
            apart = [name for name in (target, weight, *(drop or ())) if name in left]
            more["X_new"] = read_rows(loaded, later, None, apart).features
        write_report(loaded, rows, out, seed, judged, more)
        if json:
            print_json({"report": str(out)} | quality_of(loaded, rows))
        print(f"Report in {out}.", file=sys.stderr)
