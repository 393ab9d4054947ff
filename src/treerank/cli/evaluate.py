"""`treerank evaluate`: how well a model ranks new rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank.cli._errors import one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._options import Delimiter, Encoding, Missing
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Rows to judge it on, with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out, if the model knows no names.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Share of rows that the local AUC looks at.")] = 0.1,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Print how well a model ranks new rows: AUC with its interval, calibration, gains."""
    with one_line_errors():
        from treerank.scoring import evaluate as measure  # noqa: PLC0415 - only this command

        loaded = treerank.load(model)
        source = Source(data, delimiter, encoding, missing or ())
        column_options = ColumnOptions(target, positive, weight, (), drop or ())
        rows = read_rows(loaded, source, column_options, drop or ())
        found = measure(
            loaded, rows.features, rows.labels, sample_weight=rows.weights, rate=rate, level=level
        )
        print(json.dumps(found.to_dict(), allow_nan=False, indent=2) if as_json else found)
