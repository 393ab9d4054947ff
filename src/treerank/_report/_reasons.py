"""Reason codes: why single rows are where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.parameters import invalid_parameter, is_whole
from treerank._reading.explanation import Explanation, Move, explain
from treerank._report._sample import ScoredRows
from treerank._trees.ranking_tree import RankTree

MAX_ROWS = 100


def choose_rows(rows: Any, sample: ScoredRows) -> NDArray[np.intp]:
    """Rows to explain, best first: those named, or so many spread evenly over the ranking."""
    expected = f"a number from 0 to {MAX_ROWS}, or positions of rows with weight"
    order = np.argsort(-sample.score, kind="stable")
    if is_whole(rows):
        if not 0 <= rows <= MAX_ROWS:
            raise invalid_parameter("rows", rows, expected)
        at = np.linspace(0, len(order) - 1, min(int(rows), len(order)))
        return np.asarray(order[np.rint(at).astype(np.intp)])
    try:
        wanted = np.asarray(list(rows))
    except TypeError:
        raise invalid_parameter("rows", rows, expected) from None
    whole = wanted.dtype.kind in "iu" or len(wanted) == 0
    if wanted.ndim != 1 or not whole or len(wanted) > MAX_ROWS:
        raise invalid_parameter("rows", rows, expected)
    if not np.isin(wanted, sample.given).all():
        raise invalid_parameter("rows", rows, expected)
    found = np.searchsorted(sample.given, wanted.astype(np.intp))
    return np.asarray(found[np.argsort(-sample.score[found], kind="stable")])


def reasons(model: Any, sample: ScoredRows, rows: NDArray[np.intp]) -> list[dict[str, Any]] | None:
    """Explain the rows; None for a model whose cells are not split by tests."""
    if not isinstance(getattr(model, "tree_", None), RankTree) or len(rows) == 0:
        return None
    explained = explain(model, sample.table.take(rows).native)
    return [
        _format(explanation, model.classes_[sample.code[row]], int(sample.given[row]))
        for row, explanation in zip(rows.tolist(), explained, strict=True)
    ]


def _format(explanation: Explanation, label: Any, row: int) -> dict[str, Any]:
    return {
        "row": row,
        "label": str(label),
        "score": explanation.score,
        "stratum": explanation.stratum + 1,
        "n_strata": explanation.n_strata,
        "reasons": list(explanation.reasons),
        "up": [_format_move(move) for move in explanation.up],
        "down": [_format_move(move) for move in explanation.down],
    }


def _format_move(move: Move) -> str:
    return f"{move.condition}: stratum {move.stratum + 1}"
