"""Decision stumps "feature > threshold" for boosting: all candidates of a round at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Gains this close to the best are ties: the first candidate wins, so that the order of
# summation does not choose the stump.
TIE = 1e-12


class StumpTable:
    """Every stump on a table of rows, ready to be weighed.

    Candidate c is ``X[:, feature[c]] > threshold[c]``; candidates are ordered by feature,
    then by threshold. Thresholds lie midway between neighbouring distinct values: all of
    them, or on a feature with more than `max_bins` values those at the quantiles. A one-hot
    sparse matrix (bins by rows) turns the sums of a round over all features into one product
    of O(rows x features).
    """

    n_rows: int
    feature: IntArray
    threshold: FloatArray

    def __init__(self, X: FloatArray, weight: FloatArray, max_bins: int) -> None:
        n_rows, n_features = X.shape
        self.n_rows = n_rows
        self._X = X
        thresholds = [_thresholds(X[:, j], weight, max_bins) for j in range(n_features)]
        n_bins = np.array([len(of_feature) + 1 for of_feature in thresholds])
        start = np.concatenate([[0], np.cumsum(n_bins)])
        self.feature = np.repeat(np.arange(n_features), n_bins - 1)
        self.threshold = np.concatenate(thresholds)
        # The last bin of a feature is no candidate: nothing lies above it.
        self._is_candidate = np.ones(start[-1], dtype=bool)
        self._is_candidate[start[1:] - 1] = False

        bins = np.empty((n_rows, n_features), dtype=np.int32)
        for j, of_feature in enumerate(thresholds):
            bins[:, j] = start[j] + np.searchsorted(of_feature, X[:, j], side="left")
        row_starts = np.arange(0, bins.size + 1, n_features)
        by_row = sparse.csr_array(
            (np.ones(bins.size), bins.ravel(), row_starts), shape=(n_rows, start[-1])
        )
        self._rows_of_bin = by_row.T.tocsr()

    def sums_above(self, amounts: FloatArray) -> FloatArray:
        """Return, for each candidate and each column of `amounts`, the sum over rows above."""
        per_bin = self._rows_of_bin @ amounts
        below = np.cumsum(per_bin, axis=0)[self._is_candidate]
        total = amounts.sum(axis=0)
        # Each feature's bins add up to the total: take off the features before.
        below -= self.feature[:, None] * total
        return np.clip(total - below, 0.0, total)

    def is_above(self, candidate: int) -> NDArray[np.bool_]:
        """Return which rows satisfy the candidate."""
        above: NDArray[np.bool_] = self._X[:, self.feature[candidate]] > self.threshold[candidate]
        return above


@dataclass(frozen=True)
class StumpSum:
    """The score ``sum_t step[t] * (x[feature[t]] > threshold[t])``."""

    feature: IntArray
    threshold: FloatArray
    step: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Score rows: on each feature the sum is a step function, read by binary search."""
        scores = np.zeros(len(X))
        for j in np.unique(self.feature):
            on_feature = np.flatnonzero(self.feature == j)
            order = on_feature[np.argsort(self.threshold[on_feature], kind="stable")]
            heights = np.concatenate([[0.0], np.cumsum(self.step[order])])
            scores += heights[np.searchsorted(self.threshold[order], X[:, j], side="left")]
        return scores


def boost_stumps(
    table: StumpTable,
    amounts: Callable[[FloatArray], FloatArray],
    weigh: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    *,
    n_estimators: int,
    learning_rate: float,
) -> StumpSum:
    """Add stumps one at a time, each the best candidate of its round.

    Parameters
    ----------
    table : StumpTable
        The candidates.
    amounts : callable
        From the current scores to what the method sums over rows, (n_rows, n_columns).
    weigh : callable
        From those sums above each candidate, and over all rows, to (gain, step).
    n_estimators : int
        Number of rounds; fewer if no candidate gains any more.
    learning_rate : float
        Factor on every step.

    Returns
    -------
    StumpSum
    """
    scores = np.zeros(table.n_rows)
    chosen: list[int] = []
    steps: list[float] = []
    for _ in range(n_estimators):
        of_row = amounts(scores)
        gain, step = weigh(table.sums_above(of_row), of_row.sum(axis=0))
        if len(gain) == 0 or not gain.max() > TIE:
            break
        best = int(np.argmax(gain >= gain.max() * (1 - TIE)))
        chosen.append(best)
        steps.append(learning_rate * float(step[best]))
        scores[table.is_above(best)] += steps[-1]
    picked = np.array(chosen, dtype=np.intp)
    return StumpSum(table.feature[picked], table.threshold[picked], np.array(steps))


def _thresholds(values: FloatArray, weight: FloatArray, max_bins: int) -> FloatArray:
    """Return where a feature may be cut: between all distinct values, or at quantiles."""
    distinct, place = np.unique(values, return_inverse=True)
    middle = distinct[:-1] / 2 + distinct[1:] / 2
    # Neighbouring floats have no number between them: keep "value > threshold" true above.
    middle = np.where(middle < distinct[1:], middle, distinct[:-1])
    if len(distinct) <= max_bins:
        return middle
    mass = np.bincount(place, weight)
    level = (np.cumsum(mass) - mass / 2) / mass.sum()
    return middle[np.diff(np.floor(level * max_bins)) > 0]
