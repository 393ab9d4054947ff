"""`treerank grade`: add grades, points and calibrated probabilities to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import treerank
from treerank.cli._errors import check_out, one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._grading import (
    BaseOdds,
    BaseScore,
    Calibration,
    GradeNames,
    GradeOptions,
    Pdo,
    PopulationRate,
    Reverse,
    WithPoints,
    print_grades,
)
from treerank.cli._options import (
    DateOrder,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
)
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


def grade(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="New rows with their labels.")],
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    save: Annotated[
        Path, typer.Option("--save", "-o", help="Where to save the model with its grades.")
    ],
    grades: Annotated[int, typer.Option(help="Maximum number of grades.")] = 7,
    grade_names: GradeNames = None,
    points: WithPoints = False,
    pdo: Pdo = 20.0,
    base_score: BaseScore = 600.0,
    base_odds: BaseOdds = 50.0,
    calibration: Calibration = None,
    population_rate: PopulationRate = None,
    reverse: Reverse = False,
    positive: Annotated[str | None, typer.Option(help="Label that was ranked first.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out, if the model has no column names."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Add grades, points and calibrated probabilities to a model, using new rows."""
    with one_line_errors():
        from treerank.scoring._scorecard import unwrap  # noqa: PLC0415 (slow)

        check_out(save)
        options = GradeOptions(
            grades, grade_names, points, pdo, base_score, base_odds, calibration,
            population_rate, reverse,
        )  # fmt: skip
        ranker, _ = unwrap(treerank.load(model))
        source = Source(data, delimiter, encoding, missing or (), decimal, date_order)
        columns = ColumnOptions(target, positive, weight, (), drop or ())
        rows = read_rows(ranker, source, columns, drop or ())
        card = options.scorecard(ranker).fit(rows.features, rows.labels, rows.weights)
        console = Console(highlight=False, markup=False, emoji=False)
        print_grades(console, card)
        treerank.save(card, save)
        console.print(f"Saved to {save}.")
