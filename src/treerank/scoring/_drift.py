"""Drift of the score and of each column: stability, missing values and new levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._report._stability import MOVED, STABLE
from treerank.metrics._scorecard import shift_p_value
from treerank.scoring._distributions import (
    Columns,
    Spread,
    count_levels,
    spread_of_levels,
    spread_of_numbers,
)
from treerank.scoring._sequential import spent_level

MISSING_MOVED = 0.05  # change in the share of missing values that is reported
MAX_LEVELS = 5  # maximum number of new levels that are named


@dataclass(frozen=True)
class ScoredTable:
    """A table with a model's scores; class -1 if the label is unknown."""

    X: TableLike
    code: NDArray[np.intp]
    weight: Floats
    score: Floats
    probability: Floats | None
    rows: NDArray[np.intp] | None = None  # positions in X; None for all

    def take(self, rows: NDArray[Any]) -> ScoredTable:
        """Return some of the rows; the table itself is not copied."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        if len(rows) == len(self.code):
            return self
        probability = None if self.probability is None else self.probability[rows]
        kept = rows if self.rows is None else self.rows[rows]
        return ScoredTable(
            self.X, self.code[rows], self.weight[rows], self.score[rows], probability, kept
        )


@dataclass(frozen=True)
class ColumnDrift:
    """How a column has moved from the baseline, by period.

    Attributes
    ----------
    name : str
    index : list of float
        Population stability index.
    spent_p_value : list of float
        p-value of no change, corrected for the number of looks and of columns: while nothing has
        changed, it is at most `alpha` in some period with a probability of at most `alpha`.
    has_moved : list of bool
        Whether the index is at least 0.1 and the change is significant.
    missing_before : float
    missing : list of float
        Shares of missing values in the baseline and in each period.
    new_levels : list of dict
        Levels that are not in the baseline, with the weight of their rows.
    moved_from : float
    """

    name: str
    index: list[float]
    spent_p_value: list[float]
    has_moved: list[bool]
    missing_before: float
    missing: list[float]
    new_levels: list[dict[str, float]]
    moved_from: float = MOVED

    def watches(self, names: list[str]) -> list[str]:
        """Return what should be looked at, in words."""
        said = []
        if any(self.has_moved):
            k = int(np.argmax(self.has_moved))
            said.append(f"column {self.name!r} has moved (PSI {self.index[k]:.2f} in {names[k]})")
        gaps = np.abs(np.array(self.missing) - self.missing_before)
        if (gaps > MISSING_MOVED).any():
            k = int(np.argmax(gaps > MISSING_MOVED))
            said.append(
                f"column {self.name!r} is missing in {self.missing[k]:.1%} of {names[k]}, "
                f"{self.missing_before:.1%} at the baseline"
            )
        levels = list(dict.fromkeys(level for found in self.new_levels for level in found))
        if levels:
            shown = ", ".join(map(repr, levels[:MAX_LEVELS]))
            more = f" and {len(levels) - MAX_LEVELS} more" if len(levels) > MAX_LEVELS else ""
            said.append(f"column {self.name!r} has new levels: {shown}{more}")
        return said


def score_drift(
    before: ScoredTable, after: ScoredTable, period: NDArray[np.intp], n_periods: int, alpha: float
) -> ColumnDrift:
    """Return the drift of the score."""
    weights = before.weight, after.weight
    spread = spread_of_numbers(before.score, after.score, weights, period, n_periods)
    return _drift("score", spread, weights, period, alpha, 1)


def column_drifts(
    model: FittedClassifier,
    before: ScoredTable,
    after: ScoredTable,
    period: NDArray[np.intp],
    n_periods: int,
    alpha: float,
) -> list[ColumnDrift]:
    """Return the drift of the model's columns, those that moved most first."""
    wanted = [str(name) for name in getattr(model, "feature_names_in_", ())] or None
    tables = Columns.of(before.X, wanted), Columns.of(after.X, wanted)
    names = wanted or tables[0].names
    weights = before.weight, after.weight
    found = []
    for j, name in enumerate(names):
        columns = [
            _known_rows(table.column(name, j), part.rows)
            for table, part in zip(tables, (before, after), strict=True)
        ]
        if columns[0][0] is not None and columns[1][0] is not None:
            numbers = columns[0][0], columns[1][0]
            spread = spread_of_numbers(*numbers, weights, period, n_periods)
        else:
            none = np.zeros(len(before.code), dtype=np.intp)
            counts = count_levels(columns[0][1], weights[0], none)
            spread = spread_of_levels(
                counts, count_levels(columns[1][1], weights[1], period), n_periods
            )
        found.append(_drift(name, spread, weights, period, alpha, len(names)))
    return sorted(found, key=lambda column: -max(column.index))


def _known_rows(column: tuple[Floats | None, Any], rows: NDArray[np.intp] | None) -> Any:
    if rows is None:
        return column
    numbers, values = column
    values = values[rows] if isinstance(values, np.ndarray) else values[rows.tolist()]
    return None if numbers is None else numbers[rows], values


def _drift(
    name: str,
    spread: Spread,
    weights: tuple[Floats, Floats],
    period: NDArray[np.intp],
    alpha: float,
    n_columns: int,
) -> ColumnDrift:
    """Return the index of each period, and whether chance can explain it."""
    half_rows = float(weights[0].mean() / 2), float(weights[1].mean() / 2)
    index = spread.indices(half_rows)
    sums, squares = (np.bincount(period, weights[1] ** k) for k in (1, 2))
    size = float(weights[0].sum() ** 2 / (weights[0] @ weights[0]))
    p_values = np.array(
        [
            shift_p_value(spread.expected, actual, (size, float(n)))
            for actual, n in zip(spread.actual, sums**2 / squares, strict=True)
        ]
    )
    spent = p_values * alpha / spent_level(len(index), alpha) * n_columns
    missing_before, missing = spread.missing()
    return ColumnDrift(
        name=name,
        index=index.tolist(),
        spent_p_value=np.minimum(spent, 1.0).tolist(),
        has_moved=((index >= STABLE) & (spent <= alpha)).tolist(),
        missing_before=missing_before,
        missing=missing.tolist(),
        new_levels=spread.new_levels,
    )
