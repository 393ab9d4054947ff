"""The consensus of the rankings of a forest, for rows that are scored one by one.

A tree ranks a row against its own training rows: the value of a row in a tree is its mid-rank among
them, between 0 and 1. The mean and the median of these values are the consensus for Spearman's
distance and for the footrule. For Kendall's distance, some training rows are ordered once by a
Kemeny median, and a new row is inserted where that costs least. If the result has a higher cost
than the mean rank on the training rows, the mean rank is used instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from treerank._input.types import Floats
from treerank._input.validation import TrainingData
from treerank._trees.packed_forest import ForestArrays, Sampling, take_rows
from treerank._trees.splitter_forest import SplitterForest
from treerank.consensus import kendall
from treerank.metrics._discordance import discordance, insertion_places

# Number of training rows that are ordered by a Kemeny median.
REFERENCE_ROWS = 256
# Number of training rows on which its cost is compared with that of the mean rank.
CHECKED_ROWS = 20_000
ROWS_AT_ONCE = 4096

Rows = NDArray[Any]  # columns x rows: codes, or the matrix that Python splitters take


@dataclass(frozen=True)
class RankAggregation:
    """Combines the ranks in the trees into one score, and maps scores to class shares."""

    kind: str
    reference: NDArray[np.float32]  # trees x reference rows, lowest first; only for kendall
    places: Floats  # positions of the reference rows: mid-ranks minus 1
    knots: Floats  # scores minus the cut, at which `shares` are known
    shares: Floats  # above each class but the last (cuts x knots)
    cut: float
    training_scores: Floats  # out of bag if trees leave rows out

    @classmethod
    def fit(
        cls,
        kind: str,
        trees: ForestArrays | SplitterForest,
        codes: Rows,
        data: TrainingData,
        sampling: Sampling,
        n_jobs: int,
        monotone: bool = False,
    ) -> RankAggregation:
        """Order the reference rows, and estimate the class shares at each score.

        With two classes, a score of 0 is where the share of positives crosses 1/2; with more, it
        is the middle rank. If `monotone`, a row that all trees rank at least as high as another one
        has at least its score.
        """
        reference, places = np.empty((trees.n_trees, 0), dtype=np.float32), np.empty(0)
        if kind == "kendall":
            reference, places = _reference(trees, codes, n_jobs)
            if monotone:
                # Inserted rows keep the order in which all trees agree; the Kemeny order is
                # found by local search and need not. So reference rows are inserted, too.
                use = np.ones(reference.shape, dtype=bool)
                places = _insert(reference, reference, use, _mean_of_used(reference, use))[0]
            if not _beats_mean_rank(trees, codes, reference, places, n_jobs):
                kind, reference, places = "mean_rank", reference[:, :0], places[:0]
        n_rows = data.table.n_rows
        out_of_bag = sampling.leaves_rows_out(n_rows)
        scores = np.empty(n_rows)
        unseen = _unseen(sampling, trees.n_trees, n_rows) if out_of_bag else None
        for at in _blocks(n_rows):
            values = trees.each(take_rows(codes, at), n_jobs)
            scores[at] = _aggregate(
                kind, values, reference, places, None if unseen is None else unseen[:, at]
            )
        used = np.isfinite(scores)
        knots, shares = _shares_by_score(scores[used], data, used)
        cut = _crossing(knots, shares[0]) if len(shares) == 1 else 0.5
        return cls(kind, reference, places, knots - cut, shares, cut, scores - cut)

    def scores(self, trees: ForestArrays | SplitterForest, codes: Rows, n_jobs: int) -> Floats:
        """Return the score of each row; it is positive if positives are more frequent there."""
        scores = np.empty(codes.shape[1])
        for at in _blocks(codes.shape[1]):
            block = take_rows(codes, at)
            if self.kind == "mean_rank":
                scores[at] = trees.mean(block, n_jobs)
            else:
                values = trees.each(block, n_jobs)
                scores[at] = _aggregate(self.kind, values, self.reference, self.places, None)
        return scores - self.cut

    def upper_shares(self, scores: Floats) -> Floats:
        """Return the shares above each class but the last at the given scores."""
        return np.column_stack([np.interp(scores, self.knots, share) for share in self.shares])


def _shares_by_score(
    scores: Floats, data: TrainingData, used: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Fit isotonic regressions of being above each class but the last, with common knots."""
    units = data.weights.as_units
    weight = None if units is None else units[used].astype(np.float64)
    fits = [
        IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
            scores, (data.labels[used] > k).astype(np.float64), sample_weight=weight
        )
        for k in range(len(data.classes) - 1)
    ]
    if len(fits) == 1:
        return fits[0].X_thresholds_, fits[0].y_thresholds_[np.newaxis]
    knots = np.unique(np.concatenate([fit.X_thresholds_ for fit in fits]))
    return knots, np.array([fit.predict(knots) for fit in fits])


def _blocks(n_rows: int) -> list[slice]:
    return [slice(i, min(i + ROWS_AT_ONCE, n_rows)) for i in range(0, n_rows, ROWS_AT_ONCE)]


def _unseen(sampling: Sampling, n_trees: int, n_rows: int) -> NDArray[np.bool_]:
    """Return whether each tree has not drawn each row: trees x rows."""
    return np.array([sampling.counts(tree, n_rows) == 0 for tree in range(n_trees)])


def _aggregate(
    kind: str,
    values: NDArray[np.float32],
    reference: NDArray[np.float32],
    places: Floats,
    use: NDArray[np.bool_] | None,
) -> Floats:
    """Return one score per row from its values in the trees of `use`; NaN if there are none."""
    if use is None:
        use = np.ones(values.shape, dtype=bool)
    mean = _mean_of_used(values, use)
    if kind == "mean_rank":
        return mean
    scores = np.full(values.shape[1], np.nan)
    some = use.any(axis=0)
    if kind == "median_rank":
        scores[some] = np.nanmedian(np.where(use, values, np.nan)[:, some], axis=0)
        return scores
    place, alike = _insert(values, reference, use, mean)
    same = alike.max(axis=1) == len(values)
    place[same] = places[alike[same].argmax(axis=1)]  # a reference row has its own position
    scores[some] = (place[some] + 1) / (reference.shape[1] + 1)
    return scores


def _mean_of_used(values: NDArray[np.float32], use: NDArray[np.bool_]) -> Floats:
    masked = np.where(use, values.astype(np.float64), 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(masked.sum(axis=0) / use.sum(axis=0))


def _insert(
    values: NDArray[np.float32],
    reference: NDArray[np.float32],
    use: NDArray[np.bool_],
    mean: Floats,
) -> tuple[Floats, NDArray[np.int32]]:
    """Insert rows among the reference rows at the least Kendall cost in the trees of `use`.

    The mean rank orders rows between two reference rows. Also returns in how many trees each row
    ties with each reference row.
    """
    preferred = np.zeros((values.shape[1], reference.shape[1]))
    alike = np.zeros(preferred.shape, dtype=np.int32)
    for value, against, used in zip(values, reference, use, strict=True):
        tied = (value[:, np.newaxis] == against) & used[:, np.newaxis]
        preferred += ((value[:, np.newaxis] > against) & used[:, np.newaxis]) + 0.5 * tied
        alike += tied
    preferred /= np.maximum(use.sum(axis=0), 1)[:, np.newaxis]
    return insertion_places(preferred) - 0.5 + 0.9 * (mean - 0.5), alike


def _reference(
    trees: ForestArrays | SplitterForest, codes: Rows, n_jobs: int
) -> tuple[NDArray[np.float32], Floats]:
    """Return the ranks of some training rows in the trees, in Kemeny order, and their positions."""
    n_rows = codes.shape[1]
    mean = trees.mean(codes, n_jobs)
    order = np.argsort(mean, kind="stable")
    chosen = order[np.linspace(0, n_rows - 1, min(n_rows, REFERENCE_ROWS)).round().astype(np.intp)]
    values = trees.each(take_rows(codes, chosen), n_jobs)
    ranks = kendall(values)
    order = np.argsort(ranks, kind="stable")
    return values[:, order], ranks[order] - 1.0


def _beats_mean_rank(
    trees: ForestArrays | SplitterForest,
    codes: Rows,
    reference: NDArray[np.float32],
    places: Floats,
    n_jobs: int,
) -> bool:
    """Whether the cost of the Kemeny order on the training rows is at most that of the mean rank.

    Rows are inserted among the reference rows one by one, which may have a higher total cost.
    """
    n_rows = codes.shape[1]
    checked = np.unique(np.linspace(0, n_rows - 1, min(n_rows, CHECKED_ROWS)).round()).astype(int)
    scores = {"kendall": np.empty(len(checked)), "mean_rank": np.empty(len(checked))}
    ranks = np.empty((trees.n_trees, len(checked)), dtype=np.float32)
    for at in _blocks(len(checked)):
        ranks[:, at] = trees.each(take_rows(codes, checked[at]), n_jobs)
        for kind, score in scores.items():
            score[at] = _aggregate(kind, ranks[:, at], reference, places, None)
    cost = {kind: sum(discordance(score, rank) for rank in ranks) for kind, score in scores.items()}
    return cost["kendall"] <= cost["mean_rank"]


def _crossing(knots: Floats, shares: Floats) -> float:
    """Return the score at which the share of positives crosses 1/2; ranks are between 0 and 1."""
    above = np.flatnonzero(shares > 0.5)
    if len(above) == 0:
        return 1.0
    first = int(above[0])
    if first == 0:
        return 0.0
    low, high = shares[first - 1], shares[first]
    share = (0.5 - low) / (high - low)
    return float(knots[first - 1] + share * (knots[first] - knots[first - 1]))
