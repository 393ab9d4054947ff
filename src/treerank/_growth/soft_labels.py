"""Grow: a tree to soft labels, part the row's own label and part what other trees say of the row.

Splits of a small tree follow the noise of single labels. Trees that draw their features, and have
not seen a row, say together how likely it is positive, and far more steadily than its label does;
a tree that is grown to both ranks better at a given number of strata (Breiman and Shang, "Born
again trees", 1996).

Held-out rows that judge a tree must have no say in the labels it is grown to. So a row of fold a
has one soft label by trees that are grown without fold a, for the tree of all rows, and for each
other fold b one by trees that are grown without a and b, for the tree that fold b judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
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

# With more rows than that the labels will do.
SOFT_ROWS = 20_000
# Two folds are left out at a time, and one must be left.
LEAST_FOLDS = 3
# What the other trees say counts for so much of a soft label, the row's own label for the rest.
OTHERS_WEIGHT = 0.8
# Other trees for each pair of folds, and what they are.
N_TREES = 20
MAX_DEPTH = 10
LEAFRANK_DEPTH = 2
LEAST_WEIGHT = 5.0
SHRINKAGE = 20.0
# Units of a row that counts once, of which a soft label is a whole number.
UNITS = 1024


@dataclass(frozen=True)
class SoftRows(LocalRows):
    """Rows that are held out with their labels, and grown on with soft ones.

    `halves` has every row twice, negative and positive; `samples` weighs the two by the row's soft
    label, for the tree of all rows and for that without each fold.
    """

    halves: tuple[Coded, TrainingData] | None = None
    samples: tuple[Weights, ...] = ()

    def grow(self, options: TreeRankOptions, folds: Folds | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""
        assert self.halves is not None
        tree, *fold_trees = grow_samples(
            *self.halves, self.monotonic, options, self.samples, self.n_jobs, self.verbose
        )
        return [self._count(tree), *fold_trees]

    def _count(self, tree: RankTree) -> RankTree:
        """Count the labels in the cells, whose scores are by the soft ones."""
        weights = self.data.weights
        units = tree.leaf_weights(self.coded.codes, self.data.labels, weights, self.n_jobs)
        counts = tree.cell_counts(units / weights.scale)
        return replace(tree, counts=counts, shares=upper_shares(tree.counts))


def soften(rows: LocalRows, folds: Folds, options: TreeRankOptions) -> SoftRows:
    """Give rows of two classes soft labels."""
    data, n_rows = rows.data, rows.data.table.n_rows
    twice = np.tile(np.arange(n_rows), 2)
    scale = UNITS if data.weights.scale == 1.0 else 1  # relative weights have units enough
    given = data.weights.as_units
    units = np.full(n_rows, scale) if given is None else given * scale
    samples = []
    for fold, share in enumerate(_shares(rows, folds, options)):
        soft = (1.0 - OTHERS_WEIGHT) * data.labels + OTHERS_WEIGHT * share
        positive = np.rint(soft.clip(0.0, 1.0) * units).astype(np.int64)
        both = np.concatenate([units - positive, positive])
        samples.append(np.where(folds.fold[twice] != fold, both, 0))
    samples = [samples[-1], *samples[:-1]]
    weights = replace(
        data.weights, repeats=None, units=samples[0], scale=data.weights.scale * scale
    )
    halves = TrainingData(
        Table(2 * n_rows, data.table.names, None, []), data.classes,
        np.repeat(np.array([0, 1], np.uint8), n_rows), weights, 2 * n_rows, slice(None),
    )  # fmt: skip
    return SoftRows(
        data, rows.coded, rows.monotonic, rows.splitter, rows.n_jobs, rows.verbose,
        halves=(rows.coded.take(twice), halves),
        samples=tuple(replace(weights, units=sample) for sample in samples),
    )  # fmt: skip


def _shares(rows: LocalRows, folds: Folds, options: TreeRankOptions) -> NDArray[np.float64]:
    """Share of positives of each row by other trees, for each fold that they must not know.

    The last is for the tree of all rows. Shares of the rows of that fold itself are 0.
    """
    assert options.leafrank is not None
    n_folds, fold, codes = folds.n_folds, folds.fold, rows.coded.codes
    pairs = list(combinations_with_replacement(range(n_folds), 2))
    n_features = isqrt(len(rows.names))
    other = replace(
        options, max_depth=MAX_DEPTH, min_weight_leaf=LEAST_WEIGHT, min_auc_gain=0.0,
        leafrank=replace(
            options.leafrank, max_depth=LEAFRANK_DEPTH, max_features=n_features, pruning=False
        ),
    )  # fmt: skip
    samples = [rows.data.weights.where((fold != a) & (fold != b)) for a, b in pairs]
    trees = grow_samples(
        rows.coded, rows.data, rows.monotonic, other, samples * N_TREES, rows.n_jobs, 0
    )
    members = [np.flatnonzero(fold == f) for f in range(n_folds)]
    member_codes = [np.ascontiguousarray(codes[:, some]) for some in members]
    shares = np.zeros((n_folds + 1, len(fold)))
    for (a, b), tree in zip(pairs * N_TREES, trees, strict=True):
        value = tree.shrunken_shares(SHRINKAGE)[:, 0] / N_TREES
        for judge, own in [(n_folds, a)] if a == b else [(a, b), (b, a)]:
            shares[judge, members[own]] += value[tree.apply(member_codes[own], rows.n_jobs)]
    return shares
