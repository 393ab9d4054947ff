"""Training rows of a forest on a cluster, whose trees are grown in batches, in lockstep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._growth.forest import ForestPlan, Trees, core_options, wrap_forest
from treerank._growth.forest_codings import (
    Score,
    TreeBlock,
    codes_to_grow_on,
    score_out_of_bag,
    tree_blocks,
)
from treerank._growth.forest_rows import Unseen
from treerank._growth.level_wise import TreeSpec, grow_level_trees
from treerank._growth.progress import progress_bar
from treerank._growth.shards import AllRows, Drawn, Shard
from treerank._trees.packed_forest import ForestArrays, Sampling
from treerank.dask._checkpoint import GrowthCheckpoint
from treerank.dask._cluster import Cluster, DaskShards
from treerank.dask._collections import CodedShards
from treerank.dask._rows import setting_of

# Trees that grow in lockstep: a round serves all of them.
BATCH = 16


@dataclass(frozen=True)
class DaskForestRows:
    """Rows as shards on the workers."""

    cluster: Cluster
    coded: CodedShards
    monotonic: NDArray[np.int8]  # of each column
    checkpoint: GrowthCheckpoint

    @property
    def scale(self) -> float:
        """Units per weight of 1."""
        return self.coded.scale

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""
        return self.coded.classes

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Weight of each class, in units."""
        [weights] = self._shards.class_weights([AllRows()], len(self.coded.classes))
        return np.asarray(weights, dtype=np.float64)

    @property
    def n_jobs(self) -> int:
        """Threads of this process, which does little work while the workers wait."""
        return 1

    def grow_each(self, plans: list[ForestPlan]) -> list[Trees]:
        """Grow the trees of each plan, one plan after another."""
        return [self.grow(plan, None) for plan in plans]

    def grow(self, plan: ForestPlan, before: Trees | None) -> ForestArrays:
        """Grow the missing trees of the plan, one batch after another."""
        assert before is None or isinstance(before, ForestArrays)
        n_trees, n_columns = len(plan.kind_of), self.coded.binning.n_columns
        n_classes = len(self.coded.classes)
        done = 0 if before is None else before.n_trees
        options = core_options(plan, done, self.scale, self.coded.design_effect)
        specs = [
            TreeSpec(Drawn(plan.sampling, t, plan.n_rows), options["kinds"][plan.kind_of[t]], t)
            for t in range(done, n_trees)
        ]
        setting = setting_of(self.coded, self.monotonic, self.cluster.n_workers, "learned")
        forest = before
        with progress_bar("growing", plan.verbose) as progress:
            for coding, first, last in self._batches(done, n_trees):
                shards, some = self._with_coding(coding), specs[first - done : last - done]
                grown = self.checkpoint.grow(partial(grow_level_trees, shards, some, setting))
                arrays = _core.pack_forest(grown, n_classes, options, n_columns)
                packed = wrap_forest(arrays, plan, n_columns, self.sizes)
                forest = packed if forest is None else forest.joined(packed)
                if progress is not None:
                    progress(last / n_trees)
        assert forest is not None
        return forest

    def _batches(self, first: int, last: int) -> list[TreeBlock]:
        """Divide trees into batches that have one coding."""
        return [
            TreeBlock(block.coding, start, min(start + BATCH, block.last))
            for block in tree_blocks(first, last, self.coded.n_codings)
            for start in range(block.first, block.last, BATCH)
        ]

    def _with_coding(self, number: int) -> DaskShards:
        """Return the shards with one of the codings of categories."""
        shards, binning = self.coded.shards, self.coded.binning
        if self.coded.n_codings > 1:
            shards = [self.cluster.submit(_coded, shard, binning, number) for shard in shards]
        return DaskShards(self.cluster, shards)

    def unseen(
        self, trees: Trees, sampling: Sampling, rows: NDArray[np.int64], shrinkages: list[float]
    ) -> Unseen:
        """Out-of-bag means of the rows with the given numbers, which must be ascending."""
        score = ForestArrays.out_of_bag
        return self._score(score, len(shrinkages), trees, sampling, rows, shrinkages)

    def unseen_by_feature(
        self, trees: ForestArrays, sampling: Sampling, rows: NDArray[np.int64], shrinkage: float
    ) -> Unseen:
        """Out-of-bag means for one shrinkage, split by feature (rows x features)."""
        score, n_columns = ForestArrays.out_of_bag_by_feature, self.coded.binning.n_columns
        return self._score(score, n_columns, trees, sampling, rows, shrinkage)

    def _score(
        self,
        score: Score,
        n_means: int,
        trees: Trees,
        sampling: Sampling,
        rows: NDArray[np.int64],
        shrinkage: Any,
    ) -> Unseen:
        """Score the given rows on the shards that have them, with `n_means` means of each row."""
        shared = self.cluster.give(trees, len(self.coded.shards))
        last_rows = [*self.coded.first_rows[1:], self.coded.n_rows]
        futures = []
        for shard, first, last in zip(
            self.coded.shards, self.coded.first_rows, last_rows, strict=True
        ):
            mine = rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)] - first
            futures.append(
                self.cluster.submit(
                    _unseen, shard, score, n_means, shared, self.coded.binning, sampling,
                    mine.astype(np.uint32), shrinkage, self.coded.n_rows,
                )
            )  # fmt: skip
        found = self.cluster.result(futures)
        units = [some.units for some in found if some.units is not None]
        return Unseen(
            np.concatenate([some.means for some in found]),
            np.concatenate([some.labels for some in found]),
            np.concatenate(units) if units else None,
        )

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, which are those of all rows with weight."""
        return scores

    def rank_aggregation(self, kind: str, trees: Trees, sampling: Sampling) -> NoReturn:
        """Raise: a consensus of ranks needs all rows."""
        raise rank_aggregation_error(kind)

    @property
    def _shards(self) -> DaskShards:
        return DaskShards(self.cluster, self.coded.shards)


def _coded(shard: Shard, binning: Binning, number: int) -> Shard:
    return replace(
        shard, codes=np.ascontiguousarray(codes_to_grow_on(shard.codes, binning, number))
    )


def _unseen(
    shard: Shard,
    score: Score,
    n_means: int,
    trees: ForestArrays,
    binning: Binning,
    sampling: Sampling,
    rows: NDArray[np.uint32],
    shrinkage: Any,
    n_rows: int,
) -> Unseen:
    means = np.empty((0, n_means))
    if len(rows):
        block = (n_rows, shard.first_row)
        means = score_out_of_bag(
            score, trees, shard.codes, binning, sampling, rows, shrinkage, 1, block
        )
    return Unseen.of_rows(means, shard.labels, shard.weights, rows)


def rank_aggregation_error(aggregation: Any) -> ValueError:
    """Return the error for an aggregation that needs all rows in one process."""
    return ValueError(
        f"Got aggregation={aggregation!r}; expected 'posterior': a consensus of ranks puts all "
        "training rows in order, and on a cluster no process has them all. Use RankingForest."
    )
