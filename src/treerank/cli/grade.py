"""`treerank grade`: add grades, points and calibrated probabilities to a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import treerank
from treerank.cli._command import command
from treerank.cli._errors import one_line_errors
from treerank.cli._evaluation import read_rows
from treerank.cli._grading import GradeOptions, print_grades
from treerank.cli._models import unwrap
from treerank.cli._options import LabelledRows, ModelFile, Target
from treerank.cli._outputs import check_outputs
from treerank.cli._table_options import LabelColumns, TableFormat


@dataclass(frozen=True, kw_only=True)
class AlwaysGrades(GradeOptions):
    """Grade options with a default number of grades, which this command always makes."""

    grades: Annotated[int, typer.Option(help="Maximum number of grades.")] = 7


@dataclass(frozen=True, kw_only=True)
class GradeCommand:
    """Options of the command."""

    model: ModelFile
    data: LabelledRows
    target: Target
    save: Annotated[
        Path, typer.Option("--save", "-o", help="Where to save the model with its grades.")
    ]
    grading: AlwaysGrades
    columns: LabelColumns
    format: TableFormat


@command
def grade(options: GradeCommand) -> None:
    """Add grades, points and calibrated probabilities to a model, using new rows."""
    with one_line_errors():
        # The model may be graded in place: it is the same model afterwards, with its grades.
        check_outputs({"--save": options.save}, [options.data])
        options.grading.check()
        ranker, _ = unwrap(treerank.load(options.model))
        source = options.format.source(options.data)
        rows = read_rows(ranker, source, options.columns.with_target(options.target))
        card = options.grading.scorecard(ranker).fit(rows.features, rows.labels, rows.weights)
        console = Console(highlight=False, markup=False, emoji=False)
        print_grades(console, card)
        treerank.save(card, options.save)
        console.print(f"Saved to {options.save}.")
