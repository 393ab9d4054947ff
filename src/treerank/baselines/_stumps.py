"""Decision stumps "feature > threshold" for boosting: all candidates of a round at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treerank._input.types import Floats, Indices

# Gains this close to the best are ties, won by the first candidate, so that the order of
# summation does not choose the stump.
TIE = 1e-12


class _Block(NamedTuple):
    """Features with similar numbers of bins, in adjacent cells."""

    first: int
    shape: tuple[int, int]  # features, bins
    is_candidate: NDArray[np.bool_]  # whether a bin is followed by a cut
    places: Indices  # indices of the candidates at these cuts


class StumpTable:
    """All stumps on a table of rows, prepared for evaluation.

    Candidate c is ``X[:, feature[c]] > threshold[c]``; candidates are ordered by feature,
    then by threshold. Thresholds lie midway between neighbouring distinct values: between all of
    them or, for a feature with more than `max_bins` values, at the quantiles. A one-hot sparse
    matrix (features and bins by rows) turns the sums of a round over all features into one
    product of O(rows x features). Running sums are then computed in blocks of features with
    similar numbers of bins, so that a column of two values is not treated as one of a thousand.
    """

    n_rows: int
    feature: Indices
    threshold: Floats

    def __init__(self, X: Floats, weight: Floats, max_bins: int) -> None:
        n_rows, n_features = X.shape
        self.n_rows = n_rows
        self._X = X
        thresholds = [_thresholds(X[:, j], weight, max_bins) for j in range(n_features)]
        n_candidates = np.array([len(of_feature) for of_feature in thresholds])
        self.feature = np.repeat(np.arange(n_features), n_candidates)
        self.threshold = np.concatenate(thresholds)
        first_candidate = np.cumsum(n_candidates) - n_candidates

        self._blocks: list[_Block] = []
        n_cells = 0
        first_cell = np.empty(n_features, dtype=np.intp)
        scale = np.frexp(n_candidates.astype(np.float64))[1]  # groups widths within a factor of 2
        for members in (np.flatnonzero(scale == size) for size in np.unique(scale)):
            n_bins = int(n_candidates[members].max()) + 1
            first_cell[members] = n_cells + n_bins * np.arange(len(members))
            is_candidate = np.arange(n_bins - 1) < n_candidates[members, np.newaxis]
            places = (first_candidate[members, np.newaxis] + np.arange(n_bins - 1))[is_candidate]
            self._blocks.append(_Block(n_cells, (len(members), n_bins), is_candidate, places))
            n_cells += len(members) * n_bins

        cells = np.empty((n_rows, n_features), dtype=np.intp)
        for j, of_feature in enumerate(thresholds):
            cells[:, j] = first_cell[j] + np.searchsorted(of_feature, X[:, j], side="left")
        row_starts = np.arange(0, cells.size + 1, n_features)
        by_row = sparse.csr_array(
            (np.ones(cells.size), cells.ravel(), row_starts), shape=(n_rows, n_cells)
        )
        self._rows_of_cell = by_row.T.tocsr()

    def sums(self, amounts: Floats) -> tuple[Floats, Floats]:
        """Return the sums of each column of `amounts` over rows above and below each candidate.

        Both are running sums, not differences from a total, so the sum of a side without weight
        is exactly 0.
        """
        per_cell = self._rows_of_cell @ amounts
        above, below = np.empty((2, len(self.feature), amounts.shape[1]))
        for first, shape, is_candidate, places in self._blocks:
            per_bin = per_cell[first : first + shape[0] * shape[1]].reshape(*shape, -1)
            # The candidate after bin b separates it from bin b + 1.
            below[places] = np.cumsum(per_bin, axis=1)[:, :-1][is_candidate]
            above[places] = np.cumsum(per_bin[:, ::-1], axis=1)[:, -2::-1][is_candidate]
        return above, below

    def is_above(self, candidate: int) -> NDArray[np.bool_]:
        """Return which rows satisfy the candidate."""
        above: NDArray[np.bool_] = self._X[:, self.feature[candidate]] > self.threshold[candidate]
        return above


@dataclass(frozen=True)
class StumpSum:
    """The score ``sum_t step[t] * (x[feature[t]] > threshold[t])``."""

    feature: Indices
    threshold: Floats
    step: Floats

    def __call__(self, X: Floats) -> Floats:
        """Score rows: the sum is a step function of each feature, read by binary search."""
        scores = np.zeros(len(X))
        for j in np.unique(self.feature):
            on_feature = np.flatnonzero(self.feature == j)
            order = on_feature[np.argsort(self.threshold[on_feature], kind="stable")]
            heights = np.concatenate([[0.0], np.cumsum(self.step[order])])
            scores += heights[np.searchsorted(self.threshold[order], X[:, j], side="left")]
        return scores


def boost_stumps(
    table: StumpTable,
    amounts: Callable[[Floats], Floats],
    weigh: Callable[[Floats, Floats], tuple[Floats, Floats]],
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
        Maps the current scores to what the method sums over rows, (n_rows, n_columns).
    weigh : callable
        Maps these sums above and below each candidate to (gain, step).
    n_estimators : int
        Number of rounds; fewer if no candidate gains anything.
    learning_rate : float
        Factor applied to every step.

    Returns
    -------
    StumpSum
    """
    scores = np.zeros(table.n_rows)
    chosen: list[int] = []
    steps: list[float] = []
    for _ in range(n_estimators):
        gain, step = weigh(*table.sums(amounts(scores)))
        if len(gain) == 0 or not gain.max() > TIE:
            break
        best = int(np.argmax(gain >= gain.max() * (1 - TIE)))
        chosen.append(best)
        steps.append(learning_rate * float(step[best]))
        scores[table.is_above(best)] += steps[-1]
    picked = np.array(chosen, dtype=np.intp)
    return StumpSum(table.feature[picked], table.threshold[picked], np.array(steps))


def _thresholds(values: Floats, weight: Floats, max_bins: int) -> Floats:
    """Return where a feature may be cut: between all distinct values, or at quantiles."""
    distinct, place = np.unique(values, return_inverse=True)
    middle: Floats = distinct[:-1] / 2 + distinct[1:] / 2
    # No number lies between neighbouring floats: keep "value > threshold" true above.
    middle = np.where(middle < distinct[1:], middle, distinct[:-1])
    if len(distinct) <= max_bins:
        return middle
    weight_sum = np.bincount(place, weight)
    level = (np.cumsum(weight_sum) - weight_sum / 2) / weight_sum.sum()
    at_quantile: Floats = middle[np.diff(np.floor(level * max_bins)) > 0]
    return at_quantile
