"""Stability of scores and features between two samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import FittedClassifier, Floats
from treerank._report._sample import ScoredRows
from treerank._report._table import RowTable, table_names
from treerank.metrics import population_stability_index
from treerank.metrics._scorecard import stability_p_value
from treerank.plots._scores import ranking_scores

STABLE, MOVED = 0.1, 0.25
NOISE = 0.05  # level of the test, over all columns, beyond which chance does not explain an index


def stability(
    names: list[str],
    expected: tuple[RowTable, Floats, Floats | None],
    actual: tuple[RowTable, Floats, Floats | None],
) -> list[dict[str, Any]]:
    """Population stability index of the score, then of each feature, the largest first.

    With few rows every column has a large index; one that chance explains is no change. Each
    sample is given by its table, its scores and its weights.
    """
    pairs = [("score", expected[1], actual[1])]
    pairs += [(name, expected[0].column(j), actual[0].column(j)) for j, name in enumerate(names)]
    rows: list[dict[str, Any]] = []
    for number, (name, before, after) in enumerate(pairs):
        n_columns = len(names) if number else 1
        index, is_noise = _index(before, after, (expected[2], actual[2]), NOISE / n_columns)
        word = "no value to compare"
        if index is not None:
            word = "stable" if index < STABLE else "some change" if index < MOVED else "moved"
            if is_noise and index >= STABLE:
                word = "within noise"
        rows.append({"name": name, "index": index, "said": word, "is_score": number == 0})
    return rows[:1] + sorted(rows[1:], key=lambda row: -(row["index"] or 0.0))


def stability_parts(
    model: FittedClassifier, sample: ScoredRows, training: ScoredRows | None, X_new: Any
) -> list[dict[str, Any]]:
    """Stability from the training to the evaluation rows, and from these to new rows."""
    names = table_names(sample.table, model)
    judged = (sample.table, sample.score, sample.weight)
    parts = []
    if training is not None:
        before = (training.table, training.score, training.weight)
        note = ""
        if hasattr(model, "estimators_"):
            note = "A forest knows its training rows: their scores are more extreme than new ones."
        parts.append(
            {
                "said": "From the training rows to the evaluation rows",
                "rows": stability(names, before, judged),
                "note": note,
            }
        )
    if X_new is not None:
        table = RowTable(X_new)
        after = (table, ranking_scores(model, table.native), None)
        parts.append(
            {
                "said": "From the evaluation rows to the new rows",
                "rows": stability(names, judged, after),
                "note": "",
            }
        )
    return parts


def _index(
    before: NDArray[Any],
    after: NDArray[Any],
    weights: tuple[Floats | None, Floats | None],
    level: float,
) -> tuple[float | None, bool]:
    """Return the index, none without any value, and whether chance explains it."""
    # A column without any value may be numeric or text.
    if before.dtype != after.dtype or before.dtype == object:
        before, after = _as_text(before), _as_text(after)
    elif np.isnan(before).all():
        return None, True
    expected, actual = weights
    index = population_stability_index(
        before, after, expected_weight=expected, actual_weight=actual
    )
    p_value = stability_p_value(before, after, expected_weight=expected, actual_weight=actual)
    return index, p_value > level


def _as_text(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype != object:
        return np.where(np.isnan(column), "(missing)", column.astype(str))
    return np.array(["(missing)" if value is None else value for value in column], dtype=str)
