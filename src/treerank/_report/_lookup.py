"""Rows that can be looked up in the page: their score, rank, stratum and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._forest import RankingForest
from treerank._input.label_order import label_order_of
from treerank._input.types import FittedRanker
from treerank._report._reasons import moved, spread_over_ranking
from treerank._report._sample import ScoredRows

MAX_ROWS = 300  # in the page, besides the explained rows
MOST_REASONS = 3  # in each direction


def check_ids(ids: Any, n_given: int) -> NDArray[Any] | None:
    """Return the ids of the rows as text, one for each row as passed."""
    if ids is None:
        return None
    values = np.asarray(ids, dtype=object)
    if values.ndim != 1 or len(values) != n_given:
        shape = len(values) if values.ndim == 1 else f"shape {values.shape}"
        raise ValueError(f"Got {shape} ids for {n_given} rows; expected one for each row.")
    return np.array([str(value) for value in values], dtype=object)


def lookup(
    model: Any,
    sample: ScoredRows,
    ids: NDArray[Any] | None,
    chosen: NDArray[np.intp],
    explained: list[dict[str, Any]] | None,
) -> dict[str, Any] | None:
    """Rows for the script, including those explained in the page; None if no rows are shown.

    Attributions of forests take too long for all these rows, so only the explained rows have
    reasons then.
    """
    if len(chosen) == 0:
        return None
    kept = np.union1d(chosen, spread_over_ranking(sample, MAX_ROWS))
    reasons = _reasons(model, sample, kept, chosen, explained)
    above = np.sort(sample.score)
    rank = len(above) - np.searchsorted(above, sample.score[kept], side="right") + 1
    classes = label_order_of(model)
    strata = model.apply(sample.rows) if isinstance(model, TreeRanker) else None
    rows = []
    for k, row in enumerate(kept.tolist()):
        found: dict[str, Any] = {
            "row": int(sample.given[row]),
            "label": str(classes[sample.code[row]]),
            "score": float(sample.score[row]),
            "rank": int(rank[k]),
        }
        if ids is not None:
            found["id"] = ids[sample.given[row]]
        if strata is not None:
            found["stratum"] = int(strata[row])
        if row in reasons:
            found["up"], found["down"] = reasons[row]
        rows.append(found)
    return {
        "rows": rows,
        "total": len(sample.code),
        "has_ids": ids is not None,
        "n_strata": None if strata is None else len(model.partition_),
        "n_reasons": len(reasons),
    }


def _reasons(
    model: FittedRanker, sample: ScoredRows, kept: NDArray[np.intp], chosen: NDArray[np.intp],
    explained: list[dict[str, Any]] | None,
) -> dict[int, tuple[list[str], list[str]]]:  # fmt: skip
    """Reasons that moved each row up and down; empty for a model without reasons."""
    if explained is None:
        return {}
    if isinstance(model, RankingForest):
        return {
            int(row): (found["moved_up"][:MOST_REASONS], found["moved_down"][:MOST_REASONS])
            for row, found in zip(chosen, explained, strict=True)
        }
    up, down = moved(model, sample, kept, MOST_REASONS)
    return {int(row): (up[k], down[k]) for k, row in enumerate(kept)}
