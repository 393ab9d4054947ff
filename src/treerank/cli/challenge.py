"""`treerank challenge`: what would change if one model took the place of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._options import (
    DateOrder,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


def challenge(
    champion: Annotated[Path, typer.Argument(help="File of the current model.")],
    challenger: Annotated[Path, typer.Argument(help="File of the model that may replace it.")],
    data: Annotated[str, typer.Argument(help="New rows with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    share: Annotated[float, typer.Option(help="Share of the rows to flag.")] = 0.1,
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out, if a model has no column names.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Compare two models on new rows: paired AUCs, swap sets, net benefit."""
    with one_line_errors():
        from treerank.scoring import challenge as compare_models  # noqa: PLC0415 - only here

        if data == "-":
            raise BadInput("Got - for the rows; expected a file: it is read once for each model.")
        options = ColumnOptions(target, positive, weight, (), drop or ())
        models = [treerank.load(path) for path in (champion, challenger)]
        rows = [
            read_rows(
                model,
                Source(data, delimiter, encoding, missing or (), decimal, date_order),
                options,
                drop or (),
            )
            for model in models
        ]
        found = compare_models(
            models[0],
            models[1],
            rows[0].features,
            rows[0].labels,
            X_challenger=rows[1].features,
            share=share,
            sample_weight=rows[0].weights,
            level=level,
        )
        print(json.dumps(found.to_dict(), allow_nan=False, indent=2) if as_json else found)
