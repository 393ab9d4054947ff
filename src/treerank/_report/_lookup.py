"""Rows that can be looked up in the page: their score, place, stratum and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._forest import RankingForest
from treerank._input.types import FittedRanker
from treerank._report._reasons import moved, spread_over_ranking
from treerank._report._sample import ScoredRows

MAX_ROWS = 300  # kept in the page, besides those explained
MOST_REASONS = 3  # up, and down


def check_ids(ids: Any, n_given: int) -> NDArray[Any] | None:
    """Texts to look rows up by, one for each row as it was given."""
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
    """Rows for the script, those explained in the page among them; None if none are to be shown.

    The attributions of forests take too long to have them for all rows: theirs are those of the
    rows explained.
    """
    if len(chosen) == 0:
        return None
    kept = np.union1d(chosen, spread_over_ranking(sample, MAX_ROWS))
    reasons = _reasons(model, sample, kept, chosen, explained)
    above = np.sort(sample.score)
    rank = len(above) - np.searchsorted(above, sample.score[kept], side="right") + 1
    strata = model.apply(sample.rows) if isinstance(model, TreeRanker) else None
    rows = []
    for k, row in enumerate(kept.tolist()):
        found: dict[str, Any] = {
            "row": int(sample.given[row]),
            "label": str(model.classes_[sample.code[row]]),
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
    """What moved each row up and down; empty for a model without reasons."""
    if explained is None:
        return {}
    if isinstance(model, RankingForest):
        return {
            int(row): (found["moved_up"][:MOST_REASONS], found["moved_down"][:MOST_REASONS])
            for row, found in zip(chosen, explained, strict=True)
        }
    up, down = moved(model, sample, kept, MOST_REASONS)
    return {int(row): (up[k], down[k]) for k, row in enumerate(kept)}
