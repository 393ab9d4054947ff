"""Chooses the shrinkage of a forest on out-of-bag rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from treerank._input.weighted_sum import weighted_sum
from treerank._select.feature_weights import choose_feature_weights, weigh_features
from treerank._select.quality import held_out_qualities
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import cut_weights, upper_shares

if TYPE_CHECKING:
    from treerank._growth.forest import ForestPlan, Trees
    from treerank._growth.forest_rows import ForestRows, Unseen

# Used if out-of-bag rows cannot choose the shrinkage.
USUAL_SHRINKAGE = 10.0
# Bounds of the scale: out-of-bag scores are means over fewer trees, so a factor outside these
# bounds would follow their noise.
SCALES = (1.0, 10.0)
# Number of rows that choose the shrinkage: enough to distinguish AUCs.
CHOOSING_ROWS = 10_000


@dataclass(frozen=True)
class ShrinkageChoice:
    """The choice made on out-of-bag rows."""

    shrinkage: float
    scale: float  # factor of the steps
    trees: Trees  # with feature weights applied, if requested
    out_of_bag: Unseen | None  # unbiased scores of all rows


def choose_shrinkage(
    trees: Trees, rows: ForestRows, plan: ForestPlan, all_rows: bool, weighs_features: bool
) -> ShrinkageChoice:
    """Choose the shrinkage with the highest out-of-bag AUC or VUS, and the scale of the steps.

    If the plan has a focus, the local or partial AUC is used. With `weighs_features`, the same rows
    also determine the weights of the features. With `all_rows`, unbiased out-of-bag scores of all
    rows are returned as well.

    A score would be optimistic if its own row had influenced the choice. Therefore each half of the
    rows is scored with the shrinkage and the weights chosen by the other half.
    """
    numbers = choosing_rows(plan)
    some = rows.unseen(trees, plan.sampling, numbers, plan.shrinkages)
    weighs_features = weighs_features and isinstance(trees, ForestArrays)
    chooser = _Chooser(trees, rows, plan, weighs_features, numbers, some)
    everyone = np.ones(len(numbers), dtype=bool)
    chosen = chooser.best(everyone)
    weighed, scores = chooser.weigh(chosen, everyone)
    scale = 1.0
    if len(plan.shrinkages) > 1:
        column = plan.shrinkages.index(chosen)
        scale = (
            _scale(some, column, rows.sizes) if scores is None else _scale(scores, 0, rows.sizes)
        )
    if not all_rows:
        return ShrinkageChoice(chosen, scale, weighed, None)
    seen = chooser.score_all_rows(chosen, weighed)
    base = weighted_sum(upper_shares(rows.sizes[np.newaxis])[0], cut_weights(rows.sizes))
    means = scale * _by_half(seen.means, halves(plan, np.arange(plan.n_rows))) + base - 0.5
    out_of_bag = replace(seen, means=means[:, np.newaxis])
    return ShrinkageChoice(chosen, scale, weighed, out_of_bag)


def choosing_rows(plan: ForestPlan) -> NDArray[np.int64]:
    """Return the numbers of the rows that choose, evenly spread over all rows."""
    return np.arange(0, plan.n_rows, max(1, plan.n_rows // CHOOSING_ROWS))


def qualities_of(
    some: Unseen, part: NDArray[np.bool_], rows: ForestRows, plan: ForestPlan
) -> NDArray[np.float64] | None:
    """Return how well each column ranks part of the rows; None if they lack a class."""
    used = part & np.isfinite(some.means[:, 0])
    labels, n_classes = some.labels[used], len(rows.sizes)
    if len(np.unique(labels)) < n_classes:
        return None
    weight = None if some.units is None else some.units[used]
    return held_out_qualities(labels, some.means[used], n_classes, weight, plan.focus, rows.n_jobs)


@dataclass(frozen=True)
class _Chooser:
    """Trees, and the out-of-bag scores of the rows that choose, a column for each shrinkage."""

    trees: Trees
    rows: ForestRows
    plan: ForestPlan
    weighs_features: bool
    numbers: NDArray[np.int64]  # of the rows that choose
    some: Unseen

    def best(self, part: NDArray[np.bool_]) -> float:
        """Return the shrinkage with the best ranking of part of the rows."""
        shrinkages = self.plan.shrinkages
        if len(shrinkages) == 1:
            return shrinkages[0]
        worth = qualities_of(self.some, part, self.rows, self.plan)
        return USUAL_SHRINKAGE if worth is None else shrinkages[int(np.argmax(worth))]

    def weigh(self, shrinkage: float, part: NDArray[np.bool_]) -> tuple[Trees, Unseen | None]:
        """Apply the feature weights chosen by part of the rows; return the trees and all scores."""
        if not self.weighs_features:
            return self.trees, None
        assert isinstance(self.trees, ForestArrays)
        parts = self.rows.unseen_by_feature(self.trees, self.plan.sampling, self.numbers, shrinkage)
        weights = choose_feature_weights(parts, part)
        means = weighted_sum(parts.means, weights, axis=1)[:, np.newaxis]
        return weigh_features(self.trees, weights), replace(parts, means=means)

    def score_all_rows(self, chosen: float, weighed: Trees) -> Unseen:
        """Score all rows as the second half chooses, as the first half does, and as all rows do."""
        second = halves(self.plan, self.numbers)
        shrinkages = [self.best(second), self.best(~second), chosen]
        everyone = np.arange(self.plan.n_rows)
        if not self.weighs_features:
            return self.rows.unseen(self.trees, self.plan.sampling, everyone, shrinkages)
        forests = [
            self.weigh(shrinkages[0], second)[0], self.weigh(shrinkages[1], ~second)[0], weighed
        ]  # fmt: skip
        each = [
            self.rows.unseen(forest, self.plan.sampling, everyone, [shrinkage])
            for forest, shrinkage in zip(forests, shrinkages, strict=True)
        ]
        return replace(each[-1], means=np.hstack([one.means for one in each]))


def _scale(some: Unseen, column: int, sizes: NDArray[np.float64]) -> float:
    """Return the factor of the scores that fits the labels best, by least squares.

    Strong shrinkage may give the best order of the rows but leaves their shares too close together;
    a factor changes the shares and keeps the order.
    """
    worth = np.append(0.0, np.cumsum(cut_weights(sizes)))  # value of each class in the score
    means = some.means[:, column]
    used = np.isfinite(means)
    weight = np.ones(used.sum()) if some.units is None else some.units[used].astype(np.float64)
    target = worth[some.labels[used]] - weighted_sum(worth, sizes / sizes.sum())
    spread = float(weighted_sum(means[used] ** 2, weight))
    if spread == 0:
        return 1.0
    return float(np.clip(weighted_sum(means[used] * target, weight) / spread, *SCALES))


def halves(plan: ForestPlan, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each row is in the second of two random halves."""
    rng = np.random.default_rng([plan.sampling.seed, plan.n_rows])
    return np.asarray(rng.random(plan.n_rows) < 0.5)[rows]


def _by_half(scores: NDArray[np.float64], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Take column 0 for one half of the rows and column 1 for the other, on the scale of column 2.

    A score is replaced by the score in column 2 that has the same rank as the score has in its own
    column, so that the halves are comparable.
    """
    seen = np.isfinite(scores[:, 0])
    if not seen.any():
        return np.full(len(scores), np.nan)
    scale = np.sort(scores[seen, 2])
    ranks = rankdata(scores[seen, :2], axis=0) - 1.0
    own = np.where(second[seen], ranks[:, 1], ranks[:, 0])
    result = np.full(len(scores), np.nan)
    result[seen] = np.interp(own, np.arange(len(scale)), scale)
    return result
