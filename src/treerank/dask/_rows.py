"""Training rows on a cluster, with the same methods as rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Coded
from treerank._binning.code_values import code_values
from treerank._growth import shards as tasks
from treerank._growth.level_wise import Setting, TreeSpec, grow_level_trees
from treerank._growth.local import LocalRows, TrainingRows, sample_bounds
from treerank._growth.progress import progress_bar
from treerank._growth.shards import AllRows, RowSelection, Shard, WithoutFold
from treerank._growth.trees import TreeRankOptions
from treerank._input.validation import Table, TrainingData
from treerank._input.weights import join_weights
from treerank._select.pruning import HeldOut
from treerank._trees.level_sets import tree_with_sets
from treerank._trees.ranking_tree import CellTree, RankTree, tree_from_core
from treerank.dask._checkpoint import GrowthCheckpoint
from treerank.dask._cluster import Cluster, DaskShards
from treerank.dask._collections import CodedShards
from treerank.dask._folds import assign_folds_on_cluster

# Largest cells or nodes whose rows are gathered on one worker, in bytes of codes. They may also not
# exceed a share of a worker's part of the rows, so that all workers have something to do.
GATHERED_BYTES = 64 * 2**20
MOVED_BYTES = 256 * 2**20  # sent to a worker at once
GATHERED_SHARE = 0.25


def setting_of(
    coded: CodedShards, monotonic: NDArray[np.int8], n_workers: int, missing: str
) -> Setting:
    """Return the setting that all trees on these rows share."""
    binning, columns = coded.binning, coded.binning.columns
    row_bytes = binning.n_columns * binning.code_type.itemsize
    gathered = min(GATHERED_BYTES / row_bytes, GATHERED_SHARE * coded.n_rows / n_workers)
    values = None
    if missing == "cell_mean":
        nothing = np.empty((len(coded.names), 0), dtype=binning.code_type)
        values = code_values(Coded(nothing, binning, coded.sample))
    return Setting(
        columns.n_codes, columns.as_sets, monotonic, len(coded.classes), coded.n_rows,
        values, gathered, MOVED_BYTES * n_workers / row_bytes,
    )  # fmt: skip


@dataclass
class DaskRows:
    """Rows as shards on the workers."""

    cluster: Cluster
    coded: CodedShards
    monotonic: NDArray[np.int8]
    checkpoint: GrowthCheckpoint
    verbose: int
    _in_folds: list[Any] = field(default_factory=list)  # shards whose rows are assigned to folds

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.coded.names

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""
        return self.coded.classes

    @property
    def binning(self) -> Binning:
        """How features are encoded."""
        return self.coded.binning

    def folds(self, cv: Any, seed: int) -> int | None:
        """Assign the rows to folds; return the number of folds, None if a class is too small."""
        self._in_folds, n_folds = assign_folds_on_cluster(
            self.cluster, self.coded.shards, cv, seed, self.classes
        )
        return n_folds if n_folds >= 2 else None

    def sample(self, limit: int, seed: int) -> TrainingRows:
        """Return a sample of about `limit` rows in this process; self if many rows are equal."""
        sizes = self._shards.class_rows(len(self.classes))
        if sizes.sum() <= limit:
            return self._gather(seed, None)
        some = self._gather(seed, sample_bounds(sizes, limit))
        return some if some.represents(sizes, limit, seed) else self

    def in_memory(self, limit: int) -> LocalRows | None:
        """Return all rows, in this process; None if there are more than `limit`."""
        sizes = self._shards.class_rows(len(self.classes))
        return self._gather(0, None) if sizes.sum() <= limit else None

    def _gather(self, seed: int, bounds: NDArray[np.uint64] | None) -> LocalRows:
        """Copy rows to this process: those within the hash bounds of their classes, or all."""
        taken = [
            self.cluster.submit(tasks.take_sample, shard, seed, bounds)
            for shard in self.coded.shards
        ]
        parts: list[Shard] = self.cluster.result(taken)
        labels = np.concatenate([part.labels for part in parts])
        table = Table(len(labels), self.names, None, [])
        weights = join_weights([part.weights for part in parts])
        data = TrainingData(table, self.classes, labels, weights, len(labels), slice(None))
        codes = np.ascontiguousarray(np.concatenate([part.codes for part in parts], axis=1))
        coded = Coded(codes, self.binning, self.coded.sample)
        return LocalRows(data, coded, self.monotonic, None, 1, self.verbose)

    def grow(self, options: TreeRankOptions, folds: int | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold, in lockstep."""
        scale = self.coded.scale
        samples: list[RowSelection] = [AllRows()]
        if folds is not None:
            samples += [WithoutFold(f, folds) for f in range(folds)]
        core_options = options.for_core(scale, self.coded.design_effect)
        specs = [TreeSpec(sample, core_options, t) for t, sample in enumerate(samples)]
        setting = setting_of(self.coded, self.monotonic, self.cluster.n_workers, options.missing)
        with progress_bar("growing", self.verbose) as progress:
            grow = partial(grow_level_trees, self._shards, specs, setting, progress=progress)
            grown = self.checkpoint.grow(grow)
        trees = [tree_from_core(arrays, scale) for arrays in grown]
        return [tree_with_sets(tree, self.binning) for tree in trees]

    def held_out(self, trees: Sequence[CellTree], folds: int | None) -> list[HeldOut]:
        """Count the rows of each fold in the cells of the tree that was grown without them."""
        assert folds is not None
        samples = [WithoutFold(f, folds, held_out=True) for f in range(folds)]
        n_classes = len(self.classes)
        walked = [tree for tree in trees if isinstance(tree, RankTree)]
        weights = self._shards.added(tasks.leaf_weights, walked, samples)
        result = []
        for tree, weight in zip(walked, weights, strict=True):
            leaf_counts = weight.reshape(tree.n_cells, n_classes) / self.coded.scale
            result.append(HeldOut(tree, tree.cell_counts(leaf_counts)))
        return result

    @property
    def _shards(self) -> DaskShards:
        return DaskShards(self.cluster, self._in_folds or self.coded.shards)
