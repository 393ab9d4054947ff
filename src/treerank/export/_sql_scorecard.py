"""Grades and points in SQL: step functions of the score, exactly equal to those in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank.export._sql_words import Dialect
from treerank.scoring._scorecard import Scorecard


def card_names(card: Scorecard | None) -> list[str]:
    """Columns that a scorecard adds."""
    if card is None:
        return []
    names = {"grade": card.grades_ is not None, "points": card.points is not None}
    return [name for name, is_there in names.items() if is_there]


def card_of_scores(card: Scorecard, scores: NDArray[np.float64], words: Dialect) -> list[list[str]]:
    """Grade and points of the given scores, as SQL literals."""
    columns = []
    if card.grades_ is not None:
        columns.append([words.quote(name) for name in card.grades_.predict(scores)])
    if card.points is not None:
        columns.append([str(int(points)) for points in card.points_of(scores)])
    return [list(row) for row in zip(*columns, strict=True)] or [[] for _ in scores]


def card_columns(card: Scorecard | None, score: str, words: Dialect) -> list[str]:
    """Grade and points of the score of a row, as columns to select."""
    columns = []
    if card is not None and card.grades_ is not None:
        names = card.grades_.names_ if card.grades_.reverse else card.grades_.names_[::-1]
        said = _steps(score, card.grades_.cuts_, [words.quote(name) for name in names], words)
        columns.append(f"{said} AS grade")
    if card is not None and card.points is not None:
        values = [str(int(points)) for points in card.point_values_]
        columns.append(f"{_steps(score, card.point_cuts_, values, words)} AS points")
    return columns


def _steps(score: str, cuts: Any, values: list[str], words: Dialect) -> str:
    """Expression for a step function: the value of the highest cut that the score reaches."""
    if len(cuts) == 0:
        return values[0]
    cases = [
        f"WHEN {score} >= {words.digits(cut)} THEN {value}"
        for cut, value in zip(np.asarray(cuts)[::-1], values[:0:-1], strict=True)
    ]
    return f"CASE {' '.join(cases)} ELSE {values[0]} END"
