"""Boosting on rows of a cluster, in rounds that are bitwise equal to those in memory.

Scores are futures, one array per shard. The scores after a tree only depend on the scores before
it and on the tree, so what a lost worker has computed is recomputed by walking trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._growth import boosting_shards as tasks
from treerank._growth.boosting import MOST_UNITS, BoostingPlan, BoostingRows
from treerank._growth.boosting_rounds import (
    boosted_tree,
    drawn_features,
    gradient_bits,
    subsampling,
    tree_options,
)
from treerank._growth.boosting_shards import CutsNow, Draw, Extent, GrowthRequest
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import CutConstants, Cuts
from treerank._growth.shards import AllRows, Shard
from treerank._input.focus import Focus
from treerank._input.types import Floats
from treerank._input.weights import join_weights
from treerank._select.quality import quality_of_scores
from treerank._trees.packed_forest import ForestArrays
from treerank.dask._boosting_checkpoint import BoostingCheckpoint, KeptRounds
from treerank.dask._cluster import Cluster, DaskShards
from treerank.dask._collections import CodedShards
from treerank.dask._folds import place_in_order

# Size of the histograms that a growing tree keeps, and requests at once.
HISTOGRAM_BYTES = 128 * 2**20
# After this many trees, scores are recomputed from the rows and the trees, so that the scheduler
# can forget the tasks that led to the old scores.
FRESH_TREES = 256


@dataclass(frozen=True)
class DaskBoostingRows:
    """Rows as shards on the workers. Weights are integers small enough to sum gradients exactly."""

    cluster: Cluster
    shards: list[Any]  # futures of Shard
    scale: float  # units per weight of 1
    design_effect: float
    n_columns: int
    n_classes: int
    checkpoint: BoostingCheckpoint

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        return self.cluster.result([self.cluster.submit(_n_rows, s) for s in self.shards])

    @property
    def first_rows(self) -> list[int]:
        """Index of the first row of each shard."""
        return [0, *np.cumsum(self._sizes)[:-1].tolist()]

    @cached_property
    def class_units(self) -> NDArray[np.int64]:
        """Weight of each class, in units."""
        [units] = DaskShards(self.cluster, self.shards).class_weights([AllRows()], self.n_classes)
        return np.asarray(units, dtype=np.int64)

    @cached_property
    def _labels(self) -> list[tuple[NDArray[np.uint8], NDArray[np.int64] | None]]:
        found = [self.cluster.submit(_labels_and_units, shard) for shard in self.shards]
        return self.cluster.result(found)

    @property
    def rank(self) -> NDArray[np.intp]:
        """Class of each row, in this process."""
        return np.concatenate([labels for labels, _ in self._labels]).astype(np.intp)

    @property
    def units(self) -> NDArray[np.int64] | None:
        """Weight of each row in units, in this process; None: 1 each."""
        units = [units for _, units in self._labels if units is not None]
        return np.concatenate(units) if units else None

    @property
    def weight(self) -> Floats:
        """Weight of each row, in this process."""
        units = self.units
        return np.ones(self.n_rows) if units is None else units / self.scale

    def with_coding(self, binning: Binning, number: int) -> DaskBoostingRows:
        """Return the rows as they are: on a cluster, they have one coding."""
        return self

    def take(self, rows: NDArray[np.intp]) -> DaskBoostingRows:
        """Return the rows with the given numbers, which must be ascending."""
        ends = np.cumsum(self._sizes)
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        mine = [part - first for part, first in zip(parts, self.first_rows, strict=True)]
        return self._of(Shard.take, [(part,) for part in mine])

    def without_fold(self, n_folds: int, fold: int, seed: int, n_jobs: int) -> DaskBoostingRows:
        """Return all rows except those of a fold."""
        return self._in_fold_order(seed)._fold(n_folds, fold, held_out=False)

    def folds(
        self, n_folds: int, n_held: int, seed: int, n_jobs: int
    ) -> list[tuple[DaskBoostingRows, DaskBoostingRows]]:
        """Return the training rows and the held-out rows of the first folds."""
        ordered = self._in_fold_order(seed)
        return [
            (ordered._fold(n_folds, f, held_out=False), ordered._fold(n_folds, f, held_out=True))
            for f in range(n_held)
        ]

    def sample(self, n_parts: int, seed: int, n_jobs: int) -> DaskBoostingRows:
        """Return one of `n_parts` parts of the rows."""
        return self._in_fold_order(seed)._fold(n_parts, 0, held_out=True)

    def _in_fold_order(self, seed: int) -> DaskBoostingRows:
        placed, _ = place_in_order(self.cluster, self.shards, seed, self.n_classes)
        return replace(self, shards=placed)

    def _fold(self, n_folds: int, fold: int, held_out: bool) -> DaskBoostingRows:
        return self._of(tasks.take_fold, [(n_folds, fold, held_out)] * len(self.shards))

    def _of(self, function: Callable[..., Any], args: list[tuple[Any, ...]]) -> DaskBoostingRows:
        submit = self.cluster.submit
        shards = [
            submit(function, shard, *more) for shard, more in zip(self.shards, args, strict=True)
        ]
        return replace(self, shards=shards)

    def in_memory(self) -> BoostingRows:
        """Copy the rows to this process."""
        parts: list[Shard] = self.cluster.result(self.shards)
        return BoostingRows(
            np.ascontiguousarray(np.concatenate([part.codes for part in parts], axis=1)),
            np.concatenate([part.labels for part in parts]).astype(np.intp),
            join_weights([part.weights for part in parts]).as_units,
            self.scale,
            self.design_effect,
            self.n_classes,
        )

    def scored(self, start: float, trees: list[ForestArrays], n_jobs: int) -> DaskScoredRows:
        """Return the rows with the scores of the given trees."""
        return DaskScoredRows(self, start, trees)

    def rounds(
        self,
        binning: Binning,
        plan: BoostingPlan,
        start: float,
        trees: list[ForestArrays],
        at_once: int = 1,
    ) -> DaskRounds:
        """Return rounds that continue from the given trees; trees always come one by one."""
        return DaskRounds(self, binning, plan, DaskScoredRows(self, start, trees))


class DaskScoredRows:
    """Rows with the sums of the trees so far."""

    def __init__(self, rows: DaskBoostingRows, start: float, trees: list[ForestArrays]) -> None:
        self.rows, self.start = rows, start
        self._trees = list(trees)
        self.scores = self._afresh()

    def _afresh(self) -> list[Any]:
        cluster, shards = self.rows.cluster, self.rows.shards
        trees = cluster.give(list(self._trees), len(shards))
        return [cluster.submit(tasks.score, shard, self.start, trees) for shard in shards]

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call a function for each shard with its scores; return futures."""
        submit = self.rows.cluster.submit
        return [
            submit(function, shard, scores, *args)
            for shard, scores in zip(self.rows.shards, self.scores, strict=True)
        ]

    def add(self, tree: ForestArrays) -> None:
        """Add a tree to the scores."""
        self._trees.append(tree)
        if len(self._trees) % FRESH_TREES == 0:
            self.scores = self._afresh()
        else:
            self.scores = self.each(tasks.move, tree, False)

    def take_back(self, tree: ForestArrays) -> None:
        """Subtract a tree from the scores, up to rounding errors."""
        self.scores = self.each(tasks.move, tree, True)

    def log_loss(self, sums: ExactSums) -> int:
        """Sum of the log-loss of two classes."""
        [total] = self.rows.cluster.sum(self.each(tasks.log_loss, sums))
        return int(total[0])

    def quality(self, focus: Focus | None) -> float:
        """Quality of the ranking by the scores, which are copied to this process."""
        scores, rows = self._scores(), self.rows
        return quality_of_scores(scores, rows.rank, rows.units, rows.n_classes, focus)

    def arrays(self) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Scores, classes and weights of all rows, in this process."""
        return self._scores(), self.rows.rank, self.rows.weight

    def _scores(self) -> Floats:
        return np.concatenate(self.rows.cluster.result(self.scores))


class DaskRounds:
    """Boosting rounds on rows of a cluster, with the logistic loss."""

    def __init__(
        self, rows: DaskBoostingRows, binning: Binning, plan: BoostingPlan, scored: DaskScoredRows
    ) -> None:
        self.rows, self.binning, self.plan, self.scored = rows, binning, plan, scored
        self.cuts = Cuts(rows.class_units) if rows.n_classes > 2 else None

    def __iter__(self) -> Iterator[ForestArrays | None]:
        """Yield the tree of each round; None if it has no split."""
        kept = self.rows.checkpoint.begin()
        n_kept = len(kept.trees)
        for number in range(self.plan.n_rounds):
            tree = kept.trees[number] if number < n_kept else self._next(kept, number)
            if tree is None:
                break
            if len(tree.slots) == 1:  # another draw of rows and features may have a split
                yield None
                continue
            self.scored.add(tree)
            yield tree

    def close(self) -> None:
        """Do nothing: the scores always include all trees."""

    def _next(self, kept: KeptRounds, number: int) -> ForestArrays | None:
        """Grow the tree of a round, and add it to the checkpoint."""
        constants = None
        if self.cuts is not None:
            if kept.constants is not None:
                self.cuts.constants = kept.constants.copy()
            self._follow_cuts()
            constants = self.cuts.constants
        tree = self._grow(number)
        if tree is not None:
            self.rows.checkpoint.add(kept, tree, constants)
        return tree

    def _follow_cuts(self) -> None:
        if self.cuts is None:
            return
        sums = self.cuts.sums

        def ask(cuts: CutConstants) -> NDArray[np.int64]:
            [total] = self.rows.cluster.sum(self.scored.each(tasks.sums_of_cuts, cuts, sums))
            return np.asarray(total)

        self.cuts.follow(ask)

    def _draws(self, number: int) -> list[Draw | None]:
        rows, plan = self.rows, self.plan
        if plan.subsample == 1:
            return [None] * len(rows.shards)
        n_rows = rows.n_rows
        sampling = subsampling(n_rows, plan)
        return [Draw(sampling, number, n_rows, first) for first in rows.first_rows]

    def _derive(self, number: int) -> tuple[list[Any], Extent]:
        """Return the derivatives, as futures, and the extent that determines their rounding."""
        cluster, cuts = self.rows.cluster, self.cuts
        now = None if cuts is None else CutsNow(cuts.constants.copy(), cuts.importance)
        derived = [
            cluster.submit(tasks.derive, shard, scores, now, draw)
            for shard, scores, draw in zip(
                self.rows.shards, self.scored.scores, self._draws(number), strict=True
            )
        ]
        found = cluster.result([cluster.submit(itemgetter(1), future) for future in derived])
        return [cluster.submit(itemgetter(0), future) for future in derived], Extent.joined(found)

    def _grow(self, number: int) -> ForestArrays | None:
        """Grow a tree from sums over the shards; None if all gradients or hessians are 0."""
        rows, plan, columns = self.rows, self.plan, self.binning.columns
        derived, extent = self._derive(number)
        if extent.first == 0 or extent.second == 0:
            return None
        weight = int(rows.class_units.sum())
        units = [_core.gradient_unit(part, gradient_bits(weight)) for part in extent[:2]]
        chosen = drawn_features(rows.n_columns, plan, number)
        growth = _core.SummedBoosting(
            columns.n_codes, columns.as_sets, plan.monotonic, chosen,
            tree_options(plan, rows.scale, rows.design_effect, weight),
            units[0] / rows.scale, units[1] / rows.scale, max(extent.units, 1), HISTOGRAM_BYTES,
        )  # fmt: skip
        submit = rows.cluster.submit
        states = [submit(tasks.begin, part, *units) for part in derived]
        while (request := growth.request()) is not None:
            states, sums, squares = self._ask(states, request, chosen)
            growth.answer(sums, squares if len(squares) else None)
        return boosted_tree(growth.tree())

    def _ask(self, states: list[Any], request: Any, chosen: NDArray[np.int32]) -> Any:
        """Send a request to all shards. Return their new states, and the sums of their answers."""
        steps, sets, n_slots, wanted, shift = request
        cluster, shards = self.rows.cluster, self.rows.shards
        asked = cluster.give(
            GrowthRequest(
                None if steps is None else (steps, sets, n_slots), wanted, shift,
                self.binning.columns.n_codes, chosen,
            ),
            len(shards),
        )  # fmt: skip
        answers = [
            cluster.submit(tasks.answer, shard, state, asked)
            for shard, state in zip(shards, states, strict=True)
        ]
        sums = cluster.sum([cluster.submit(itemgetter(1), future) for future in answers])
        return [cluster.submit(itemgetter(0), future) for future in answers], *sums


def boosting_rows(
    cluster: Cluster, coded: CodedShards, checkpoint: BoostingCheckpoint
) -> DaskBoostingRows:
    """Return the rows with weights in units whose sum is small enough for exact gradient sums."""
    n_classes = len(coded.classes)
    [units] = DaskShards(cluster, coded.shards).class_weights([AllRows()], n_classes)
    coarser = 2.0 ** max(0.0, np.ceil(np.log2(units.sum() / MOST_UNITS)))
    shards = coded.shards
    if coarser > 1:
        shards = [cluster.submit(tasks.with_units, shard, coarser) for shard in shards]
    return DaskBoostingRows(
        cluster, shards, coded.scale / coarser, coded.design_effect, coded.binning.n_columns,
        n_classes, checkpoint,
    )  # fmt: skip


def _n_rows(shard: Shard) -> int:
    return shard.n_rows


def _labels_and_units(shard: Shard) -> tuple[NDArray[np.uint8], NDArray[np.int64] | None]:
    return shard.labels, shard.weights.as_units
