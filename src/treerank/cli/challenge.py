"""`treerank challenge`: what would change if one model replaced another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank.cli._command import command
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._options import (
    LabelledRows,
    Level,
    OnlyJson,
    RankedFirst,
    Target,
    Weight,
)
from treerank.cli._table_options import TableFormat
from treerank.cli._training import ColumnOptions


@dataclass(frozen=True, kw_only=True)
class ChallengeOptions:
    """Options of the command."""

    champion: Annotated[Path, typer.Argument(help="File of the current model.")]
    challenger: Annotated[Path, typer.Argument(help="File of the model that may replace it.")]
    data: LabelledRows
    target: Target
    share: Annotated[float, typer.Option(help="Share of the rows to flag.")] = 0.1
    positive: RankedFirst = None
    weight: Weight = None
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out, if a model has no column names.")
    ] = None
    level: Level = 0.95
    as_json: OnlyJson = False
    format: TableFormat


@command
def challenge(options: ChallengeOptions) -> None:
    """Compare two models on new rows: paired AUCs, swap sets, net benefit."""
    with one_line_errors():
        from treerank.scoring import challenge as compare_models  # noqa: PLC0415 - only here

        if options.data == "-":
            raise BadInput("Got - for the rows; expected a file: it is read once for each model.")
        columns = ColumnOptions(
            options.target, options.positive, options.weight, (), options.drop or ()
        )
        models = [treerank.load(path) for path in (options.champion, options.challenger)]
        rows = [read_rows(model, options.format.source(options.data), columns) for model in models]
        found = compare_models(
            models[0],
            models[1],
            rows[0].features,
            rows[0].labels,
            X_challenger=rows[1].features,
            share=options.share,
            sample_weight=rows[0].weights,
            level=options.level,
        )
        as_json = options.as_json
        print(json.dumps(found.to_dict(), allow_nan=False, indent=2) if as_json else found)
