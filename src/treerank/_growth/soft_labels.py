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

from treerank._binning.binning import Coded
from treerank._growth.local import LocalRows
from treerank._growth.trees import TreeRankOptions, grow_samples
from treerank._input.validation import Table, TrainingData
from treerank._input.weights import Weights
from treerank._select.folds import Folds
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
# Units of a row of weight 1; its soft label divides them among the classes, as integers.
UNITS = 1024


def most_soft_rows(n_classes: int) -> int:
    """Return the number of rows up to which labels are softened: rows are copied for each class."""
    return SOFT_ROWS // (n_classes - 1)


@dataclass(frozen=True)
class SoftRows(LocalRows):
    """Rows on which trees are grown to soft labels and evaluated with the labels themselves.

    `copies` has every row once for each class. `samples` has the weights of the copies according to
    the soft labels, for the tree of all rows and for the tree without each fold.
    """

    copies: tuple[Coded, TrainingData] | None = None
    samples: tuple[Weights, ...] = ()

    def grow(self, options: TreeRankOptions, folds: Folds | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""
        assert self.copies is not None
        assert folds is not None
        tree, *fold_trees = grow_samples(
            *self.copies, self.monotonic, options, self.samples, self.n_jobs, self.verbose
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
    data, n_rows, n_classes = rows.data, rows.data.table.n_rows, len(rows.classes)
    scale = UNITS if data.weights.scale == 1.0 else 1  # relative weights already have many units
    given = data.weights.as_units
    units = np.full(n_rows, scale) if given is None else given * scale
    samples = []
    for fold, shares in enumerate(_upper_shares_by_others(rows, folds, options)):
        own = data.labels[:, np.newaxis] > np.arange(n_classes - 1)
        upper = (1.0 - OTHERS_WEIGHT) * own + OTHERS_WEIGHT * shares
        above = np.rint(upper.clip(0.0, 1.0) * units[:, np.newaxis]).astype(np.int64)
        bounds = np.column_stack([units, above, np.zeros(n_rows, np.int64)])
        of_class = -np.diff(bounds, axis=1).T
        samples.append(np.where(folds.fold != fold, of_class, 0).ravel())
    samples = [samples[-1], *samples[:-1]]
    weights = replace(
        data.weights, repeats=None, units=samples[0], scale=data.weights.scale * scale
    )
    n_copies = n_rows * n_classes
    copies = TrainingData(
        Table(n_copies, data.table.names, None, []), data.classes,
        np.repeat(np.arange(n_classes, dtype=np.uint8), n_rows), weights, n_copies, slice(None),
    )  # fmt: skip
    return SoftRows(
        data, rows.coded, rows.monotonic, rows.splitter, rows.n_jobs, rows.verbose,
        copies=(rows.coded.take(np.tile(np.arange(n_rows), n_classes)), copies),
        samples=tuple(replace(weights, units=sample) for sample in samples),
    )  # fmt: skip


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
    members = [np.flatnonzero(fold == f) for f in range(n_folds)]
    member_codes = [np.ascontiguousarray(codes[:, some]) for some in members]
    shares = np.zeros((n_folds + 1, len(fold), len(rows.classes) - 1))
    for (a, b), tree in zip(pairs * N_TREES, trees, strict=True):
        values = tree.shrunken_shares(SHRINKAGE) / N_TREES
        for judge, own in [(a, b), (b, a)]:
            shares[judge, members[own]] += values[tree.apply(member_codes[own], rows.n_jobs)]
    shares[-1] = shares[:-1].sum(axis=0) / (n_folds - 1)
    return shares
