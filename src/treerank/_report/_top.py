"""The top of the list: what is found among the first rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._base import RankingModel
from treerank._input.focus import Focus, check_focus
from treerank._input.types import FittedClassifier
from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank.metrics import cap_curve, local_auc_interval, partial_auc_interval, top_measures

# Shares of the rows that are customary.
RATES = (0.01, 0.05, 0.1)
# With fewer rows in the top, its measures would be meaningless.
LEAST_ROWS = 5
# Width of the picture relative to the longest list.
BEYOND = 1.25


def top_of_list(model: FittedClassifier, sample: ScoredRows, level: float) -> dict[str, Any] | None:
    """Measures of the first rows, and the curve of the events among them; None: too few rows.

    A model that was fitted with a focus is also evaluated on that range.
    """
    given = getattr(model, "focus", None) if isinstance(model, RankingModel) else None
    focus = check_focus(given, 2)
    wanted = {*RATES, *([focus.high] if focus is not None and focus.counts == "rows" else [])}
    n_rows = len(sample.score)
    rates = [rate for rate in sorted(wanted) if rate * n_rows >= LEAST_ROWS]
    if not rates:
        return None
    rows = [_row(sample, rate, level, focus) for rate in rates]
    return {"rows": rows, "picture": _picture(sample, rows), "focus": _range(sample, focus, level)}


def _row(sample: ScoredRows, rate: float, level: float, focus: Focus | None) -> dict[str, Any]:
    given: dict[str, Any] = {"sample_weight": sample.weight, "level": level}
    found = top_measures(sample.code, sample.score, rate=rate, **given)
    local = local_auc_interval(sample.code, sample.score, rate=rate, **given)
    partial = partial_auc_interval(sample.code, sample.score, max_fpr=rate, **given)
    return {
        "rate": rate,
        "rows": rate * float(sample.weight.sum()),
        "is_focus": focus is not None and focus.counts == "rows" and focus.high == rate,
        "precision": found.precision,
        "recall": found.recall,
        "lift": found.lift,
        "local_auc": local,
        "partial_auc": partial,
    }


def _range(sample: ScoredRows, focus: Focus | None, level: float) -> dict[str, Any] | None:
    """Partial AUC over the false positive rates that the model was fitted for."""
    if focus is None or focus.counts == "rows":
        return None
    found = partial_auc_interval(
        sample.code, sample.score, min_fpr=focus.low, max_fpr=focus.high,
        sample_weight=sample.weight, level=level,
    )  # fmt: skip
    return {"low": focus.low, "high": focus.high, "partial_auc": found}


def _picture(sample: ScoredRows, rows: list[dict[str, Any]]) -> Picture:
    """Draw the left part of the gains curve, with limits of the recall."""
    end = min(1.0, BEYOND * rows[-1]["rate"])
    taken, found = cap_curve(sample.code, sample.score, sample_weight=sample.weight)
    inside = taken < end
    taken, found = (
        np.append(taken[inside], end),
        np.append(found[inside], np.interp(end, taken, found)),
    )
    share = float(np.average(sample.code, weights=sample.weight))
    height = max(found[-1], *(row["recall"].upper for row in rows))
    picture = Picture(
        "The first rows: share of events found against share of rows taken from the top",
        "share of rows", "share of events", (0.0, end), (0.0, min(1.0, 1.05 * height)),
    )  # fmt: skip
    low = min(end, picture.y_range[1] * share)  # where the best possible curve leaves the picture
    picture.line([0, low], [0, low / share], "perfect")
    picture.line([0, end], [0, end], "chance")
    rates = [row["rate"] for row in rows]
    picture.whiskers(rates, [r["recall"].lower for r in rows], [r["recall"].upper for r in rows])
    picture.line(taken, found, "curve")
    picture.dots(rates, [row["recall"].value for row in rows], "dot")
    return picture
