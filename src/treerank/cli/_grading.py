"""Grades, points and probabilities on the command line: options, fit and output."""

from __future__ import annotations

import math
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

# Methods of `treerank.scoring.Calibrator`, which is slow to import.
CALIBRATIONS = ("beta", "sigmoid", "isotonic")


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

    @property
    def names(self) -> list[str] | None:
        """Names of the grades, best first."""
        if self.grade_names is None:
            return None
        return [name.strip() for name in self.grade_names.split(",")]

    def check(self) -> None:
        """Raise for values that no scorecard accepts, before anything is read or fitted."""
        if self.grades is not None and self.grades < 2:
            raise BadInput(f"Got --grades {self.grades}; expected 2 or more.")
        self._check_names()
        for option, value in (("--pdo", self.pdo), ("--base-odds", self.base_odds)):
            if not (math.isfinite(value) and value > 0):
                raise BadInput(f"Got {option} {value:g}; expected a number above 0.")
        if not math.isfinite(self.base_score):
            raise BadInput(f"Got --base-score {self.base_score:g}; expected a finite number.")
        if self.calibration not in (None, "auto", *CALIBRATIONS):
            raise BadInput(
                f"Got --calibration {self.calibration}; expected {', '.join(CALIBRATIONS[:-1])} "
                f"or {CALIBRATIONS[-1]}."
            )
        rate = self.population_rate
        if rate is not None and not 0 < rate < 1:
            raise BadInput(
                f"Got --population-rate {rate:g}; expected a share above 0 and below 1, such as "
                "0.02."
            )

    def _check_names(self) -> None:
        names = self.names
        if names is None:
            return
        if len(names) < 2 or len(set(names)) < len(names) or "" in names:
            raise BadInput(
                f"Got --grade-names {self.grade_names}; expected two or more names that all "
                "differ, such as A,B,C."
            )
        if self.grades is not None and len(names) < self.grades:
            raise BadInput(
                f"Got {len(names)} names in --grade-names for up to {self.grades} grades; expected "
                "a name for each: add names, or lower --grades."
            )

    def check_classes(self, n_classes: int) -> None:
        """Raise if points or a calibration are requested for more than two classes."""
        calibrated = self.calibration not in (None, "auto")
        if n_classes > 2 and (self.points or calibrated):
            raise BadInput(
                f"Got {'--points' if self.points else '--calibration'} for {n_classes} classes; "
                "expected two, since others have no odds of one event: leave it out, or rank one "
                "class (--positive)."
            )

    def scorecard(self, model: FittedClassifier) -> Scorecard:
        """Return an unfitted scorecard of a fitted model."""
        from treerank.scoring import Grades, Points, Scorecard  # noqa: PLC0415 (slow)

        names = self.names
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
    last = card.label_order_[-1]
    table = Table("grade", "score", "rows", f"share of {last}", box=None, pad_edge=False)
    if "points_from" in columns:
        table.add_column("points")
    shares = columns["event_rate" if len(card.label_order_) == 2 else f"share_{last}"]
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
