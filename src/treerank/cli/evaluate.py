"""`treerank evaluate`: how well a model ranks new rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import treerank
from treerank.cli._errors import one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._options import (
    DateOrder,
    Decimal,
    Delimiter,
    Encoding,
    Group,
    Missing,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="New rows with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out, if the model has no column names."),
    ] = None,
    group: Group = None,
    rate: Annotated[float, typer.Option(help="Share of rows for the local AUC.")] = 0.1,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Show how well a model ranks new rows: AUC with its interval, calibration, gains."""
    with one_line_errors():
        from treerank import scoring  # noqa: PLC0415 - only this command

        loaded = treerank.load(model)
        source = Source(data, delimiter, encoding, missing or (), decimal, date_order)
        column_options = ColumnOptions(target, positive, weight, (), drop or ())
        rows = read_rows(loaded, source, column_options, drop or (), group)
        judged = rows.features, rows.labels
        shared: dict[str, Any] = {"sample_weight": rows.weights, "level": level}
        found = scoring.evaluate(loaded, *judged, rate=rate, **shared)
        parts = None
        if rows.groups is not None:
            parts = scoring.evaluate_groups(loaded, *judged, rows.groups, **shared)
        if as_json:
            said = found.to_dict() | ({} if parts is None else {"groups": parts.to_dict()})
            print(json.dumps(said, allow_nan=False, indent=2))
        else:
            print(found if parts is None else f"{found}\n\n{parts}")
