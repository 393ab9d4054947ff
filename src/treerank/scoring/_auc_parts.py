"""The AUC of selected events against selected non-events, and differences of such AUCs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treerank.metrics._delong import difference_limits, mean_placement, placements
from treerank.metrics._input import BinarySample
from treerank.metrics._structural import Spread, interval_within_unit, spread_of_mean
from treerank.scoring._rows import LabelledScores

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PartAuc:
    """An AUC with its limits, and the spread that comparisons need."""

    auc: float
    lower: float
    upper: float
    spread: Spread


def part_auc(rows: LabelledScores, events: Mask, others: Mask, level: float) -> PartAuc | None:
    """Return the AUC of the events in one mask against the non-events in another; None without."""
    chosen = (events & (rows.code == 1)) | (others & (rows.code == 0))
    part = rows.take(np.flatnonzero(chosen & (rows.weight > 0)))
    if len(np.unique(part.code)) < 2:
        return None
    sample = BinarySample(part.code == 1, part.score, part.weight)
    placement = placements(sample)
    auc = mean_placement(sample, placement)
    spread = spread_of_mean(placement - auc, sample.code, sample.weight)
    lower, upper, error = interval_within_unit(auc, spread, level)
    if spread.is_unusable:
        freedom = max(spread.smaller_class - 1, 1.0)
        spread = Spread(error, freedom, spread.smaller_class)
    return PartAuc(auc, lower, upper, spread)


def auc_difference(a: PartAuc, b: PartAuc, level: float) -> tuple[float, float, float, float]:
    """Return the difference of two AUCs on disjoint rows: value, limits and p-value."""
    parts = np.array([a.spread.error, b.spread.error]) ** 2
    freedom = np.array([a.spread.freedom, b.spread.freedom])
    total = float(parts.sum())
    spread = Spread(
        error=float(np.sqrt(total)),
        freedom=total**2 / float(np.sum(parts**2 / freedom)) if total > 0 else np.inf,
        smaller_class=min(a.spread.smaller_class, b.spread.smaller_class),
    )
    difference = a.auc - b.auc
    lower, upper, _, p_value = difference_limits(difference, spread, level)
    return difference, lower, upper, p_value
