"""The consensus of a forest's rankings, for rows that come one by one.

A tree ranks a row against its own training rows: the value of a row in a tree is its
mid-rank there, between 0 and 1. The mean and the median of these are the consensus for
Spearman's distance and for the footrule. For Kendall's, a set of training rows is ordered
by a Kemeny median once, and a new row goes to the place among them that costs least. Should
that cost more than the mean rank on the training rows, the mean rank takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from treerank._input.validation import TrainingData
from treerank._trees.packed_forest import ForestArrays, Sampling, take_rows
from treerank._trees.splitter_forest import SplitterForest
from treerank.consensus import kendall
from treerank.metrics._discordance import discordance, insertion_places

# Training rows that a Kemeny median is computed for.
REFERENCE_ROWS = 256
# Training rows on which it has to cost no more than the mean rank.
CHECKED_ROWS = 20_000
ROWS_AT_ONCE = 4096

Floats = NDArray[np.float64]
Rows = NDArray[Any]  # columns x rows: codes, or the matrix that splitters in Python see


@dataclass(frozen=True)
class RankAggregation:
    """How ranks in the trees become one score, and what shares of the classes it stands for."""

    kind: str
    reference: NDArray[np.float32]  # trees x reference rows, lowest first; empty but for kendall
    places: Floats  # of the reference rows: mid-ranks less 1
    knots: Floats  # scores minus the cut, and the shares of the higher classes there:
    shares: Floats  # above the first, above the second, ... (cuts x knots)
    cut: float
    training_scores: Floats  # out of bag where there is such a thing

    @classmethod
    def fit(
        cls,
        kind: str,
        trees: ForestArrays | SplitterForest,
        codes: Rows,
        data: TrainingData,
        sampling: Sampling,
        n_jobs: int,
    ) -> RankAggregation:
        """Order the reference rows, and find what shares go with a score.

        With two classes, 0 is where the share of positives passes a half; with more, the
        middle rank.
        """
        reference, places = np.empty((trees.n_trees, 0), dtype=np.float32), np.empty(0)
        if kind == "kendall":
            reference, places = _reference(trees, codes, n_jobs)
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
        """Score of each row; positive where positives are the more frequent."""
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
        """Shares of the classes above the first, the second, ... that go with a score."""
        return np.column_stack([np.interp(scores, self.knots, share) for share in self.shares])


def _shares_by_score(
    scores: Floats, data: TrainingData, used: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Isotonic regressions of being above each class but the last, on common knots."""
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
    """Which rows each tree has not drawn: trees x rows."""
    return np.array([sampling.counts(tree, n_rows) == 0 for tree in range(n_trees)])


def _aggregate(
    kind: str,
    values: NDArray[np.float32],
    reference: NDArray[np.float32],
    places: Floats,
    use: NDArray[np.bool_] | None,
) -> Floats:
    """One score per row from its values in the trees, those of `use` only; NaN without any."""
    if use is None:
        use = np.ones(values.shape, dtype=bool)
    n_used = use.sum(axis=0)
    masked = np.where(use, values.astype(np.float64), 0.0)
    with np.errstate(invalid="ignore"):
        mean = masked.sum(axis=0) / n_used
    if kind == "mean_rank":
        return np.asarray(mean)
    scores = np.full(values.shape[1], np.nan)
    some = n_used > 0
    if kind == "median_rank":
        scores[some] = np.nanmedian(np.where(use, values, np.nan)[:, some], axis=0)
        return scores
    preferred = np.zeros((values.shape[1], reference.shape[1]))
    alike = np.zeros(preferred.shape, dtype=np.int32)
    for value, against, used in zip(values, reference, use, strict=True):
        tied = (value[:, np.newaxis] == against) & used[:, np.newaxis]
        preferred += ((value[:, np.newaxis] > against) & used[:, np.newaxis]) + 0.5 * tied
        alike += tied
    preferred[some] /= n_used[some, np.newaxis]
    # Between two reference rows the mean rank decides; a reference row is where it was put.
    place = insertion_places(preferred) - 0.5 + 0.9 * (mean - 0.5)
    same = alike.max(axis=1) == len(values)
    place[same] = places[alike[same].argmax(axis=1)]
    scores[some] = (place[some] + 1) / (reference.shape[1] + 1)
    return scores


def _reference(
    trees: ForestArrays | SplitterForest, codes: Rows, n_jobs: int
) -> tuple[NDArray[np.float32], Floats]:
    """Ranks in the trees of some training rows, by their Kemeny median, and their places."""
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
    """Whether the Kemeny order costs no more than the mean rank on the training rows.

    New rows are put among the reference rows one by one, which might cost more in total.
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
    """Score at which the share of positives passes one half; ranks lie between 0 and 1."""
    above = np.flatnonzero(shares > 0.5)
    if len(above) == 0:
        return 1.0
    first = int(above[0])
    if first == 0:
        return 0.0
    low, high = shares[first - 1], shares[first]
    share = (0.5 - low) / (high - low)
    return float(knots[first - 1] + share * (knots[first] - knots[first - 1]))
