"""Growth of a tree to soft labels, which mix a row's own label with predictions of other trees.

The splits of a small tree follow the noise of single labels. Randomized trees that were not grown
on a row estimate its class probabilities with much less variance than its label. A tree that is
grown to a mixture of both ranks better for a given number of strata (Breiman and Shang, "Born again
trees", 1996).

The held-out rows of a tree must not influence the soft labels that it is grown to. So other trees
are grown without each pair of folds a and b. They give the rows of fold a their soft labels in the
tree that holds out fold b, and the rows of fold b their soft labels in the tree that holds out fold
a. The tree of all rows, which has no held-out rows, uses the mean of all soft labels of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from treerank._growth.local import LocalRows
from treerank._growth.trees import SoftLabels, TreeRankOptions, grow_samples
from treerank._input.validation import TrainingData
from treerank._input.weights import Weights
from treerank._select.folds import Folds
from treerank._select.pruning import random_quality
from treerank._select.quality import held_out_qualities
from treerank._trees.ranking_tree import CellTree, RankTree, upper_shares

# Labels are softened up to this many rows, divided by the number of classes minus 1. With more
# rows, soft labels are not needed.
SOFT_ROWS = 20_000
# Two folds are left out at a time, and at least one must remain.
LEAST_FOLDS = 3
# Weight of the other trees in a soft label; the row's own label has the rest.
OTHERS_WEIGHT = 0.8
# Weight of the labels in the score of a cell; the soft labels have the rest. Soft labels alone are
# too close to their mean to be good estimates of the event rate.
SCORED_BY_LABELS = 0.25
# Number of other trees for each pair of folds, and their parameters.
N_TREES = 10
MAX_DEPTH = 10
LEAFRANK_DEPTH = 2
LEAST_WEIGHT = 5.0
SHRINKAGE = 20.0
# Units of a row of weight 1, which its soft label divides among the classes. Relative weights have
# more, and large weights fewer: units of all rows are added up in counters of 32 bits.
UNITS = 1024.0
MOST_UNITS = 2.0**31


def most_soft_rows(n_classes: int) -> int:
    """Return the number of rows up to which labels are softened."""
    return SOFT_ROWS // (n_classes - 1)


@dataclass(frozen=True)
class SoftRows(LocalRows):
    """Rows on which trees are grown to soft labels and evaluated with the labels themselves.

    `soft` has labels for the tree of all rows and for the tree without each fold. `evidence` is the
    number of standard errors (of a random ranking) by which the trees that soften the labels rank
    rows they were not grown on better than chance.
    """

    soft: SoftLabels | None = None
    evidence: float = 0.0

    def grow(self, options: TreeRankOptions, folds: Folds | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""
        assert self.soft is not None
        assert folds is not None
        tree, *fold_trees = grow_samples(
            self.coded, self.data, self.monotonic, options, self.soft, self.n_jobs, self.verbose
        )
        weights = self.data.weights
        return [
            self._count(tree, weights),
            *(self._count(t, weights.where(folds.fold != f)) for f, t in enumerate(fold_trees)),
        ]

    def _count(self, tree: RankTree, weights: Weights) -> RankTree:
        """Count the labels in the cells, and set cell shares from labels and soft labels."""
        units = tree.leaf_weights(self.coded.codes, self.data.labels, weights, self.n_jobs)
        counts = tree.cell_counts(units / self.data.weights.scale)
        hard = upper_shares(counts)
        soft = _centred(upper_shares(tree.counts), hard[0])
        shares = (1.0 - SCORED_BY_LABELS) * soft + SCORED_BY_LABELS * hard
        return replace(tree, counts=counts, shares=shares)


def _centred(shares: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform shares so that the share of the root, their mean over the rows, equals `wanted`.

    The map is linear, so that means of shares remain means, and maps [0, 1] into [0, 1].
    """
    mean = shares[0]
    slope = np.minimum(wanted / mean, (1.0 - wanted) / (1.0 - mean))
    return np.asarray(wanted + slope * (shares - mean))


def soften(rows: LocalRows, folds: Folds, options: TreeRankOptions) -> SoftRows:
    """Compute soft labels of the rows."""
    data, n_cuts = rows.data, len(rows.classes) - 1
    units, scale = _row_units(data)
    shares = _upper_shares_by_others(rows, folds, options)
    own = data.labels[:, np.newaxis] > np.arange(n_cuts)
    upper = (1.0 - OTHERS_WEIGHT) * own + OTHERS_WEIGHT * shares
    above = np.rint(upper.clip(0.0, 1.0) * units[:, np.newaxis])
    bounds = np.zeros((len(shares), len(units), n_cuts + 2))
    bounds[..., 0], bounds[..., 1:-1] = units, above
    soft = (-np.diff(bounds, axis=2)).astype(np.uint32)
    for fold in range(folds.n_folds):
        soft[fold, folds.fold == fold] = 0
    soft = np.roll(soft, 1, axis=0)  # the tree of all rows comes first
    return SoftRows(
        data, rows.coded, rows.monotonic, rows.splitter, rows.n_jobs, rows.verbose,
        soft=SoftLabels(soft, scale), evidence=_evidence(data, folds, shares[-1]),
    )  # fmt: skip


def _evidence(data: TrainingData, folds: Folds, shares: NDArray[np.float64]) -> float:
    """Return by how many standard errors other trees rank the rows better than chance.

    The rows of a fold have the same other trees, which their labels do not influence, so that the
    mean AUC (or VUS) over the folds is that of a random ranking where there is only noise.
    """
    units, n_classes = data.weights.as_units, len(data.classes)
    quality: list[float] = []
    class_weights: list[NDArray[np.float64]] = []
    for f in range(folds.n_folds):
        of_fold = np.flatnonzero(folds.fold == f)
        labels, weight = data.labels[of_fold], None if units is None else units[of_fold]
        class_weights.append(
            np.bincount(labels, weights=weight, minlength=n_classes) / data.weights.scale
        )
        if (class_weights[-1] == 0).any():
            return 0.0
        score = shares[of_fold].sum(axis=1, keepdims=True)
        quality += list(held_out_qualities(labels, score, n_classes, weight, None, 1))
    chance, noise = random_quality(class_weights)
    return float((np.mean(quality) - chance) / noise)


def _row_units(data: TrainingData) -> tuple[NDArray[np.float64], float]:
    """Return the weights of the rows in units, as integers, and the units of a weight of 1."""
    given = data.weights.of_rows(data.table.n_rows)
    total = given.sum() / data.weights.scale
    scale = 2.0 ** np.floor(np.log2(MOST_UNITS / total))
    if data.weights.scale == 1.0:
        scale = min(scale, UNITS)
    return np.maximum(np.rint(given / data.weights.scale * scale), 1.0), float(scale)


def _upper_shares_by_others(
    rows: LocalRows, folds: Folds, options: TreeRankOptions
) -> NDArray[np.float64]:
    """Probability of each row to be above each class but the last, by trees grown without it.

    The result has an entry for each fold that these trees must not use (0 for the rows of the fold
    itself), and a last entry for the tree of all rows.
    """
    assert options.leafrank is not None
    n_folds, fold, codes = folds.n_folds, folds.fold, rows.coded.codes
    pairs = list(combinations(range(n_folds), 2))
    other = replace(
        options, max_depth=MAX_DEPTH, min_weight_leaf=LEAST_WEIGHT, min_auc_gain=0.0,
        leafrank=replace(
            options.leafrank, max_depth=LEAFRANK_DEPTH, max_features=isqrt(len(rows.names)),
            pruning=False,
        ),
    )  # fmt: skip
    samples = [rows.data.weights.where((fold != a) & (fold != b)) for a, b in pairs]
    trees = grow_samples(
        rows.coded, rows.data, rows.monotonic, other, samples * N_TREES, rows.n_jobs, 0
    )
    held_out = [np.flatnonzero((fold == a) | (fold == b)) for a, b in pairs]
    held_out_codes = [np.ascontiguousarray(codes[:, some]) for some in held_out]
    shares = np.zeros((n_folds + 1, len(fold), len(rows.classes) - 1))
    for t, tree in enumerate(trees):
        (a, b), some = pairs[t % len(pairs)], held_out[t % len(pairs)]
        values = tree.shrunken_shares(SHRINKAGE) / N_TREES
        cells = tree.apply(held_out_codes[t % len(pairs)], rows.n_jobs)
        shares[a + b - fold[some], some] += values[cells]  # rows of fold a for b, and of b for a
    shares[-1] = shares[:-1].sum(axis=0) / (n_folds - 1)
    return shares
