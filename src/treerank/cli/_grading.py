"""Grades, points and probabilities on the command line: options, fit and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from treerank._input.types import FittedClassifier
from treerank.cli._errors import BadInput

if TYPE_CHECKING:
    from treerank.scoring import Scorecard


@dataclass(frozen=True, kw_only=True)
class GradeOptions:
    """Options for grades, points and probabilities."""

    grades: Annotated[int | None, typer.Option(help="Merge the ranking into this many grades.")] = (
        None
    )
    grade_names: Annotated[
        str | None, typer.Option(help="Names of the grades, best first, separated by commas.")
    ] = None
    points: Annotated[bool, typer.Option(help="Add whole-number points on a scale of odds.")] = (
        False
    )
    pdo: Annotated[float, typer.Option(help="Points that double the odds.")] = 20.0
    base_score: Annotated[float, typer.Option(help="Points at the base odds.")] = 600.0
    base_odds: Annotated[float, typer.Option(help="Odds at the base score.")] = 50.0
    calibration: Annotated[
        str | None, typer.Option(help="Calibrate probabilities: beta, sigmoid or isotonic.")
    ] = None
    population_rate: Annotated[
        float | None,
        typer.Option(help="Event rate of the population, if it differs from that of the table."),
    ] = None
    reverse: Annotated[
        bool,
        typer.Option(
            help="The event is bad: the lowest scores get the best grade and most points."
        ),
    ] = False

    @property
    def wanted(self) -> bool:
        """Whether grades, points or probabilities are requested."""
        return bool(
            self.grades
            or self.grade_names
            or self.points
            or self.calibration
            or self.population_rate
        )

    def scorecard(self, model: FittedClassifier) -> Scorecard:
        """Return an unfitted scorecard of a fitted model."""
        from treerank.scoring import Grades, Points, Scorecard  # noqa: PLC0415 (slow)

        names = None
        if self.grade_names is not None:
            names = [name.strip() for name in self.grade_names.split(",")]
        number = self.grades if self.grades is not None else len(names or ())
        scale = Points(
            pdo=self.pdo,
            base_score=self.base_score,
            base_odds=self.base_odds,
            reverse=self.reverse,
        )
        return Scorecard(
            model,
            grades=Grades(number, names=names, reverse=self.reverse) if number else None,
            points=scale if self.points else None,
            calibration=self.calibration or "auto",
            population_rate=self.population_rate,
            cv="prefit",
        )


def check_can_grade(options: GradeOptions, held_out: Any) -> None:
    """Raise if grades are requested without held-out rows."""
    if options.wanted and held_out is None:
        raise BadInput(
            "Got --grades, --points or --calibration without held-out rows; expected --cv 2 or "
            "more, or rows held back by --test-share."
        )


def print_grades(console: Console, card: Scorecard) -> None:
    """Print the grades, best first."""
    if card.grades_ is None:
        return
    columns = card.columns()
    last = card.classes_[-1]
    table = Table("grade", "score", "rows", f"share of {last}", box=None, pad_edge=False)
    if "points_from" in columns:
        table.add_column("points")
    shares = columns["event_rate" if len(card.classes_) == 2 else f"share_{last}"]
    for k, name in enumerate(columns["grade"]):
        said = f"{shares[k]:.1%}"
        if "lower" in columns:
            said += f" ({columns['lower'][k]:.1%} to {columns['upper'][k]:.1%})"
        cells = [name, _range(columns["from_score"][k], columns["below_score"][k])]
        cells += [f"{columns['rows'][k]:,g}", said]
        if "points_from" in columns:
            cells.append(f"{columns['points_from'][k]} to {columns['points_to'][k]}")
        table.add_row(*cells)
    console.print(f"\nGrades, best first; rates of {card.held_out_}.")
    console.print(table)


def _range(low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "any"
    if np.isinf(low):
        return f"below {high:.3f}"
    return f"from {low:.3f}" if np.isinf(high) else f"{low:.3f} to {high:.3f}"
