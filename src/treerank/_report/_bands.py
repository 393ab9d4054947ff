"""Bands of the ranking that do not split ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank.metrics._input import BinarySample
from treerank.metrics._proportion import rows_per_weight, weighted_share_limits
from treerank.metrics._ties import cumulated_weights

N_BANDS = 10


def whole_bands(
    positive: NDArray[np.bool_], score: Floats, weight: Floats, level: float
) -> list[dict[str, Any]]:
    """Ten bands of about equal size, best first. Rows of equal score stay in one band.

    So a band ends at a score that can be used as a cut-off, and no row is counted in parts. A model
    with few distinct scores has fewer bands.
    """
    sample = BinarySample(positive, score, weight)
    negatives, positives, scores = cumulated_weights(sample)
    rows = negatives + positives
    wanted = np.arange(1, N_BANDS) / N_BANDS * rows[-1]
    ends = np.unique(np.append(_nearest(rows, wanted), len(rows) - 1))
    ends = ends[ends > 0]
    starts = np.append(0, ends[:-1])
    n, events = rows[ends] - rows[starts], positives[ends] - positives[starts]
    lower, upper = weighted_share_limits(events, n, rows_per_weight(weight), level)
    rate = float(positives[-1] / rows[-1])
    return [
        {
            "band": k + 1,
            "score_min": float(scores[ends[k] - 1]),
            "rows": float(n[k]),
            "events": float(events[k]),
            "event_rate": float(events[k] / n[k]),
            "lower": float(lower[k]),
            "upper": float(upper[k]),
            "lift": float(events[k] / n[k] / rate),
            "cumulative_rows": float(rows[ends[k]] / rows[-1]),
            "cumulative_events": float(positives[ends[k]] / positives[-1]),
            "ks": float(
                positives[ends[k]] / positives[-1] - negatives[ends[k]] / negatives[-1]
            ),
        }
        for k in range(len(ends))
    ]  # fmt: skip


def _nearest(rising: Floats, wanted: Floats) -> NDArray[np.intp]:
    """Indices of the values that are nearest to those wanted."""
    after = np.clip(np.searchsorted(rising, wanted), 1, len(rising) - 1)
    is_before = wanted - rising[after - 1] < rising[after] - wanted
    return np.asarray(after - is_before)
