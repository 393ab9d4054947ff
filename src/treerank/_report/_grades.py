"""The table of grades, which is read first in a report."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from treerank._input.label_order import label_order_of
from treerank._report._cells import alternatives
from treerank._report._order import class_values, format_break, mean_limits, rank_breaks
from treerank._report._sample import ScoredRows
from treerank.metrics._proportion import rows_per_weight
from treerank.scoring._model_scores import strata_scores
from treerank.scoring._scorecard import Scorecard

N_GRADES = 7
SHORT_RULE = 120  # characters
FEW_STRATA = 12  # a table of at most this many strata is short enough to read


def grades(
    model: Any, card: Scorecard | None, sample: ScoredRows, level: float
) -> dict[str, Any] | None:
    """Grades on the evaluation rows: those of the scorecard, or else the best for these rows.

    None if there would be only one grade.
    """
    labels = label_order_of(model)[sample.code]
    is_given = card is not None and card.grades_ is not None
    if card is None or card.grades_ is None:
        card = Scorecard(model, grades=N_GRADES, calibration=None, cv="prefit")
        with warnings.catch_warnings():  # about a single grade
            warnings.simplefilter("ignore", UserWarning)
            card.fit_scores(model, sample.score, labels, sample.weight)
    assert card.grades_ is not None
    if len(card.grades_.names_) < 2:
        return None
    table = card.grades_.columns(sample.score, labels, sample.weight, level=level)
    is_tree = strata_scores(model) is not None
    return {
        "rows": _rows(card, table, is_tree, level, rows_per_weight(sample.weight)),
        "is_given": is_given,
        "same_rows": is_given and np.array_equal(_counts(card, table), card.grades_.counts_),
        "said": card.held_out_,
        "has_points": card.points is not None,
        "has_rules": is_tree,
        "many_strata": is_tree and len(model.partition_) > FEW_STRATA,
    }


def _rows(
    card: Scorecard, table: dict[str, Any], is_tree: bool, level: float, per_weight: float
) -> list[dict[str, Any]]:
    """Rows of the table, best grade first."""
    assert card.grades_ is not None
    at_fit = card.columns()
    counts, values = _counts(card, table), class_values(card.label_order_)
    breaks = _breaks(card, table, level, per_weight)
    rules = card.rules() if is_tree else None
    rows = []
    for k, name in enumerate(table["grade"]):
        weight = float(counts[k].sum())
        row: dict[str, Any] = {
            "name": name,
            "rows": weight,
            "share": float(table["share_of_rows"][k]),
            "shares": [float(n) / weight if weight > 0 else None for n in counts[k]],
            "break": breaks[k],
            "mean": mean_limits(counts[k], values, level, per_weight),
            "ways": None if rules is None else alternatives(rules[k]),
            "is_short": rules is not None and len(rules[k]) <= SHORT_RULE,
        }
        if len(card.label_order_) == 2:
            row |= {"lower": float(table["lower"][k]), "upper": float(table["upper"][k])}
            row["rate_at_fit"] = float(at_fit["event_rate"][k])
        if card.points is not None:
            row["points"] = (int(at_fit["points_from"][k]), int(at_fit["points_to"][k]))
        rows.append(row)
    return rows


def _breaks(
    card: Scorecard, table: dict[str, Any], level: float, per_weight: float
) -> list[str | None]:
    """Describe significant violations of the order of grades. The highest scores come first."""
    assert card.grades_ is not None
    highest_first = slice(None, None, -1) if card.grades_.reverse else slice(None)
    names = [f"grade {name}" for name in table["grade"]][highest_first]
    found = rank_breaks(
        _counts(card, table)[highest_first], class_values(card.label_order_), level, per_weight
    )
    two_classes = len(card.label_order_) == 2
    said = [None if b is None else format_break(b, names, two_classes) for b in found]
    return said[highest_first]


def _counts(card: Scorecard, table: dict[str, Any]) -> Any:
    return np.column_stack([table[f"n_{label}"] for label in card.label_order_])
