"""Sections on groups of rows, on segments that are ranked badly, and on the model in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier
from treerank._report._judged import Judged, PageOptions
from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank._report._table import RowTable

if TYPE_CHECKING:
    from treerank.scoring._rows import LabelledScores

MAX_CURVES = 6


def sections_of_parts(
    model: FittedClassifier, judged: Judged, wanted: PageOptions
) -> dict[str, Any]:
    """Sections on parts of the rows."""
    if wanted.groups is None and not wanted.segments and wanted.champion is None:
        return {"groups": None, "segments": None, "challenge": None}
    if len(model.classes_) != 2:
        raise ValueError(
            f"Got groups, segments or a champion for a model of {len(model.classes_)} classes; "
            "expected two."
        )
    if wanted.champion is not None and judged.held_out is not None:
        raise ValueError(
            "Got a champion and no new rows; expected rows that neither model was fitted to."
        )
    sample, level = judged.sample, wanted.level
    return {
        "groups": group_section(wanted.groups, judged.described, sample, judged.n_given, level),
        "segments": segment_section(sample, wanted.segments, level, wanted.seed),
        "challenge": challenge_section(wanted.champion, model, sample, level),
    }


def group_section(
    groups: ArrayLike | None, described: ScoredRows, sample: ScoredRows, n_given: int, level: float
) -> dict[str, Any] | None:
    """Figures, cross-group AUCs and curves of groups; None if no groups are given.

    `groups` has a group for each row of the table as passed, or is the name of a column.
    """
    if groups is None:
        return None
    from treerank.scoring.groups import compare_parts, read_groups  # noqa: PLC0415 - uses reports

    names, number = read_groups(_values(groups, described, n_given), n_given)
    found = compare_parts(_labelled(sample), names, number[sample.given], None, level)
    picture = Picture("ROC curves of the groups", "false positive rate", "true positive rate")
    picture.line([0, 1], [0, 1], "chance")
    drawn = list(found.curves.items())[:MAX_CURVES]
    for k, (_, curve) in enumerate(drawn):
        picture.line(*curve, f"class class-{k % 6}")
    return {
        "name": groups if isinstance(groups, str) else "",
        "found": found,
        "picture": picture if drawn else None,
        "drawn": [name for name, _ in drawn],
    }


def _values(groups: ArrayLike | None, described: ScoredRows, n_given: int) -> Any:
    """Group of each row as passed; values of a column become text."""
    if not isinstance(groups, str):
        return groups
    names = described.table.names
    if groups not in names:
        raise ValueError(
            f"Got groups={groups!r}; expected a group for each row, or one of the columns {names}."
        )
    column = described.table.column(names.index(groups))
    if column.dtype != object:
        column = np.array([None if np.isnan(v) else f"{v:g}" for v in column.tolist()], object)
    values: NDArray[Any] = np.full(n_given, None, dtype=object)
    values[described.given] = column
    return values


def segment_section(
    sample: ScoredRows, wanted: bool, level: float, seed: int
) -> dict[str, Any] | None:
    """Weak segments, `found` being None if there are too few rows; None if not requested."""
    if not wanted:
        return None
    from treerank.scoring.segments import (  # noqa: PLC0415 - uses reports
        SearchOptions,
        has_enough_rows,
        search_segments,
    )

    rows = _labelled(sample)
    if not has_enough_rows(rows):
        return {"found": None}
    options = SearchOptions(level=level, seed=seed)
    return {"found": search_segments(rows, sample.table.native, options)}


def challenge_section(
    champion: Any, model: FittedClassifier, sample: ScoredRows, level: float
) -> dict[str, Any] | None:
    """Swap sets and net benefit against the model in use; None if there is none."""
    if champion is None:
        return None
    table = sample.table
    if isinstance(champion, tuple):
        champion, X = champion
        table = RowTable(X).take(sample.given)
    from treerank.scoring.challenger import challenge  # noqa: PLC0415 - uses reports

    labels = label_order_of(model)[sample.code]
    found = challenge(
        champion, model, table.native, labels, X_challenger=sample.table.native,
        sample_weight=sample.weight, level=level,
    )  # fmt: skip
    picture = None
    if found.net_benefit:
        ends = [v for b in found.net_benefit for v in (b.champion, b.challenger, 0.0)]
        picture = Picture(
            "Net benefit of both models over threshold probabilities", "threshold probability",
            "net benefit", x_range=(0.0, max(b.threshold for b in found.net_benefit)),
            y_range=(min(ends), 1.1 * max(ends)),
        )  # fmt: skip
        at = [b.threshold for b in found.net_benefit]
        picture.line([0, max(at)], [0, 0], "chance")
        picture.line(at, [b.champion for b in found.net_benefit], "training")
        picture.line(at, [b.challenger for b in found.net_benefit], "curve")
    return {"found": found, "picture": picture}


def _labelled(sample: ScoredRows) -> LabelledScores:
    from treerank.scoring._rows import LabelledScores  # noqa: PLC0415 - uses reports

    probability = None if sample.probability is None else sample.probability[:, -1]
    return LabelledScores(sample.code, sample.weight, sample.score, probability)
