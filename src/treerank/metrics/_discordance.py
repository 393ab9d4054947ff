"""The Kendall distance of two rankings, and the insertion of new points into a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from treerank._input.types import Floats

# Up to this many points, all pairs are compared directly.
FEW_POINTS = 64


def discordance(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the Kendall distance of two rankings in pairs of points, in O(n log n) for large n.

    A pair in opposite order counts 1, a pair tied in only one of the two counts 1/2.
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
    balance = round(tau * n * n * (levels - 1) / levels / 2)  # concordant minus discordant pairs
    return (apart - balance) / 2


def insertion_places(preferred: Floats) -> NDArray[np.intp]:
    """Return where new points go in a ranking of reference points, at the least Kendall cost.

    Parameters
    ----------
    preferred : array of shape (n_points, n_reference)
        Share of the rankings that put the point above each reference point (a tie counts
        half). Reference points are listed from the lowest to the highest.

    Returns
    -------
    array of shape (n_points,)
        Number of reference points that the point is placed above.
    """
    # Placing a point above reference j costs the share of rankings that put it below, and vice
    # versa. Start below all reference points and add the cost of each step up.
    steps = np.cumsum(1.0 - 2.0 * preferred, axis=1)
    costs = np.column_stack([np.zeros(len(preferred)), steps])
    return np.asarray(np.argmin(costs.round(9), axis=1))
