"""`treerank evaluate`: how well a model ranks new rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

import treerank
from treerank.cli._command import command
from treerank.cli._errors import one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._options import Group, LabelledRows, Level, ModelFile, OnlyJson, Target
from treerank.cli._table_options import LabelColumns, TableFormat


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of the command."""

    model: ModelFile
    data: LabelledRows
    target: Target
    columns: LabelColumns
    group: Group = None
    rate: Annotated[float, typer.Option(help="Share of rows for the local AUC.")] = 0.1
    level: Level = 0.95
    as_json: OnlyJson = False
    format: TableFormat


@command
def evaluate(options: EvaluateOptions) -> None:
    """Show how well a model ranks new rows: AUC with its interval, calibration, gains."""
    with one_line_errors():
        from treerank import scoring  # noqa: PLC0415 - only this command

        loaded = treerank.load(options.model)
        source = options.format.source(options.data)
        columns = options.columns.with_target(options.target)
        rows = read_rows(loaded, source, columns, options.group)
        judged = rows.features, rows.labels
        shared: dict[str, Any] = {"sample_weight": rows.weights, "level": options.level}
        found = scoring.evaluate(loaded, *judged, rate=options.rate, **shared)
        parts = None
        if rows.groups is not None:
            parts = scoring.evaluate_groups(loaded, *judged, rows.groups, **shared)
        if options.as_json:
            said = found.to_dict() | ({} if parts is None else {"groups": parts.to_dict()})
            print(json.dumps(said, allow_nan=False, indent=2))
        else:
            print(found if parts is None else f"{found}\n\n{parts}")
