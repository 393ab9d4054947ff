"""How much two rankings disagree, and where a new point goes among ranked ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

Floats = NDArray[np.float64]
# Up to this many points all pairs are compared at once.
FEW_POINTS = 64


def discordance(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Kendall distance of two rankings in pairs of points, in n log n steps where n is large.

    A pair in opposite order counts 1, a pair tied in one of the two only counts 1/2.
    """
    n = len(one)
    if n <= FEW_POINTS:
        signs = np.sign(np.subtract.outer(one, one)) - np.sign(np.subtract.outer(other, other))
        return float(np.abs(signs).sum()) / 4
    pairs = n * (n - 1) / 2
    levels = min(len(np.unique(one)), len(np.unique(other)))
    _, tied = np.unique(np.stack([one, other]), axis=1, return_counts=True)
    apart = pairs - float((tied * (tied - 1.0)).sum()) / 2
    if levels < 2:
        return apart / 2
    tau = float(kendalltau(one, other, variant="c", method="asymptotic").statistic)
    balance = round(tau * n * n * (levels - 1) / levels / 2)  # concordant less discordant pairs
    return (apart - balance) / 2


def insertion_places(preferred: Floats) -> NDArray[np.intp]:
    """Where new points go into a ranking of reference points, by least Kendall cost.

    Parameters
    ----------
    preferred : array of shape (n_points, n_reference)
        Share of the rankings that put the point above each reference point (a tie counts
        half), the reference points being listed from the lowest to the highest.

    Returns
    -------
    array of shape (n_points,)
        Number of reference points that the point is put above.
    """
    # Above reference j costs the share that puts it below, and the other way round: start
    # below all of them and add what each step up costs.
    steps = np.cumsum(1.0 - 2.0 * preferred, axis=1)
    costs = np.column_stack([np.zeros(len(preferred)), steps])
    return np.asarray(np.argmin(costs.round(9), axis=1))
