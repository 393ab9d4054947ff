"""Reasons for the scores of single rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.label_order import label_order_of
from treerank._input.parameters import invalid_parameter, is_whole
from treerank._input.types import FittedRanker
from treerank._reading.explanation import Explanation, Move, explain
from treerank._reading.reasons import Reason, reasons_both_ways
from treerank._reading.tree_sums import tree_sum
from treerank._report._sample import ScoredRows
from treerank._trees.ranking_tree import RankTree

MAX_ROWS = 100
MOST_REASONS = 4  # in each direction


def choose_rows(rows: Any, sample: ScoredRows) -> NDArray[np.intp]:
    """Rows to explain, best first: the given ones, or a number spread evenly over the ranking."""
    expected = f"a number from 0 to {MAX_ROWS}, or positions of rows with weight"
    if is_whole(rows):
        if not 0 <= rows <= MAX_ROWS:
            raise invalid_parameter("rows", rows, expected)
        return spread_over_ranking(sample, int(rows))
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


def spread_over_ranking(sample: ScoredRows, n_rows: int) -> NDArray[np.intp]:
    """Rows spread from the top of the ranking to its bottom; all if there are fewer."""
    order = np.argsort(-sample.score, kind="stable")
    at = np.linspace(0, len(order) - 1, min(n_rows, len(order)))
    return np.asarray(order[np.rint(at).astype(np.intp)])


def reasons(
    model: FittedRanker, sample: ScoredRows, rows: NDArray[np.intp]
) -> list[dict[str, Any]] | None:
    """Explain the rows; None for a model whose score is not a sum of trees of tests."""
    try:
        tree_sum(model)
    except ValueError:
        return None
    if len(rows) == 0:
        return []
    up, down = moved(model, sample, rows, MOST_REASONS)
    classes = label_order_of(model)
    explained: list[Explanation | None] = [None] * len(rows)
    if isinstance(getattr(model, "tree_", None), RankTree):
        explained = list(explain(model, sample.table.take(rows).native))
    return [
        {
            "row": int(sample.given[row]),
            "label": str(classes[sample.code[row]]),
            "score": float(sample.score[row]),
            "moved_up": up[k],
            "moved_down": down[k],
            **_format_place(explained[k]),
        }
        for k, row in enumerate(rows.tolist())
    ]


def moved(
    model: FittedRanker, sample: ScoredRows, rows: NDArray[np.intp], n: int
) -> tuple[list[list[str]], list[list[str]]]:
    """Reasons that moved each row up, and down, compared with all rows of the sample."""
    found = reasons_both_ways(model, sample.table.take(rows).native, n, sample.rows)
    up, down = ([[_format_reason(r) for r in row] for row in found[way]] for way in ("up", "down"))
    return up, down


def _format_reason(reason: Reason) -> str:
    return f"{reason.attribution:+.3g}: {reason.text}"


def _format_place(explanation: Explanation | None) -> dict[str, Any]:
    """Stratum in a tree, the conditions that lead to it, and what would move the row."""
    if explanation is None:
        return {"stratum": None, "up": [], "down": []}
    return {
        "stratum": explanation.stratum,
        "last_stratum": explanation.n_strata - 1,
        "reasons": list(explanation.reasons),
        "up": [_format_move(move) for move in explanation.up],
        "down": [_format_move(move) for move in explanation.down],
    }


def _format_move(move: Move) -> str:
    return f"{move.condition}: stratum {move.stratum}"
