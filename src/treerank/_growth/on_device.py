"""Growth of a batch of trees on a device, level by level.

The device grows the LeafRank trees of all cells of a level and returns their tests. The winner of
the tournament and the end of growth are decided on the host, by the same code that grows trees from
sums over shards. The trees are the same as those of the core, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._device.cells import CELL_ROWS, DeviceCells
from treerank._device.table import DeviceTable
from treerank._device.trials import NODE, TRIAL, Limits, Sizes, TrialGrower, Trials
from treerank._growth.level_wise import GATHERED_NODE, ROOT
from treerank._trees.ranking_tree import TEST, as_records

NO_BUDGET = 0  # histogram memory of the core, which computes no histograms here


@dataclass(frozen=True)
class DeviceTree:
    """One tree: repeat counts of the rows (None: all 1), options for the core, and index."""

    repeats: NDArray[np.uint8] | None
    options: dict[str, Any]
    number: int


def can_grow(options: dict[str, Any]) -> bool:
    """Whether the device supports these options; otherwise the core grows the same trees."""
    leafrank = options["leafrank"]
    return (
        leafrank["max_leaf_nodes"] < 0 and not leafrank["pruning"]
        and options["missing"] == "learned"
    )  # fmt: skip


def grow_on_device(
    table: DeviceTable,
    trees: Sequence[DeviceTree],
    n_classes: int,
    n_jobs: int,
    sizes: Sizes | None = None,
) -> list[_core.LevelGrowth]:
    """Grow a batch of trees completely."""
    batch = _Batch(table, list(trees), n_classes, n_jobs, sizes)
    while not batch.done:
        batch.grow_level()
    return batch.growths


class _Batch:
    """Trees that grow together."""

    def __init__(
        self,
        table: DeviceTable,
        trees: list[DeviceTree],
        n_classes: int,
        n_jobs: int,
        sizes: Sizes | None,
    ) -> None:
        self.table, self.n_classes, self.n_jobs, self.sizes = table, n_classes, n_jobs, sizes
        self.trees = trees
        self.cells = DeviceCells(table, [tree.repeats for tree in trees])
        features = table.features
        self.growths = [
            _core.LevelGrowth(
                features.n_codes, features.categorical, features.monotonic, tree.options,
                total.astype(np.float64), tree.number, None, float("inf"), NO_BUDGET, False,
            )
            for tree, total in zip(trees, self.cells.class_weights(n_classes), strict=True)
        ]  # fmt: skip
        # For each tree, the row ranges of the cells of the current depth, in order.
        self.row_ranges = [np.zeros(1, dtype=CELL_ROWS) for _ in trees]
        for t, row_range in enumerate(self.row_ranges):
            row_range["first"], row_range["last"] = self.cells.firsts[t], self.cells.lasts[t]
        self.grower: TrialGrower | None = None
        self.depth = 0

    @property
    def done(self) -> bool:
        return all(growth.done for growth in self.growths)

    def grow_level(self) -> None:
        """Split the cells of one depth in all trees."""
        open_trees = [t for t, growth in enumerate(self.growths) if not growth.done]
        for t in open_trees:
            self.growths[t].start_level()
        roots = {t: as_records(self.growths[t].gathered_roots(), ROOT) for t in open_trees}
        growing = [t for t in open_trees if len(roots[t])]
        weights: dict[int, Any] = {}
        if growing:
            if self.depth > 0:
                self._partition_parents(growing)
            jobs = [self._trial_jobs(t, roots[t]) for t in growing]
            self._grow_trials(growing, np.concatenate(jobs))
            if self.n_classes > 2:
                weights = self._trial_weights(growing)
        for t in open_trees:
            if self.n_classes > 2 or t not in growing:  # otherwise graft_splits has finished it
                self.growths[t].finish_level(weights.get(t, self._no_weights(t)))
        self.depth += 1

    def _no_weights(self, t: int) -> NDArray[np.int64] | None:
        """Return the weights for trials that are single nodes; None for two classes."""
        if self.n_classes == 2:
            return None
        return np.zeros(self.growths[t].n_trials * self.n_classes, dtype=np.int64)

    def _partition_parents(self, growing: list[int]) -> None:
        """Partition the rows of the cells that were split last."""
        jobs, all_tests, all_sets = [], [], []
        first_test = first_set = 0
        for t in growing:
            places, starts, tests, sets = self.growths[t].last_splits()
            job = self.row_ranges[t][places]
            job["first_test"], job["first_set"] = starts[:-1] + first_test, first_set
            jobs.append(job)
            all_tests.append(_local_tests(tests, starts))
            all_sets.append(sets)
            first_test, first_set = first_test + len(tests), first_set + len(sets)
        partitioned = self.cells.partition(
            np.concatenate(jobs), np.concatenate(all_tests), np.concatenate(all_sets)
        )
        for t, some in zip(growing, _cut(partitioned, jobs), strict=True):
            children = np.repeat(some, 2)
            buffer: NDArray[np.int32] = children["buffer"]
            children["buffer"] = 1 - buffer
            first: NDArray[np.uint32] = some["first"]
            n_left: NDArray[np.uint32] = some["n_left"]
            children["last"][0::2] = children["first"][1::2] = first + n_left
            self.row_ranges[t] = children

    def _rows_of(self, t: int, cells: NDArray[np.int32]) -> NDArray[Any]:
        """Return the row ranges of cells of the current depth, given by their index in the tree."""
        return self.row_ranges[t][np.searchsorted(self.growths[t].open_cells(), cells)]

    def _trial_jobs(self, t: int, roots: NDArray[Any]) -> NDArray[Any]:
        jobs = self._rows_of(t, roots["cell"])
        jobs["worse"], jobs["better"] = roots["worse_class"], roots["better_class"]
        return jobs

    def _grow_trials(self, growing: list[int], jobs: NDArray[Any]) -> None:
        """Grow the trials of a level on the device, and graft the results onto the trees."""
        n_rows = jobs["last"].astype(np.int64) - jobs["first"]
        if n_rows.sum() >= 2**32:
            raise MemoryError(f"Got {n_rows.sum():,} rows of trials together; expected below 2^32.")
        jobs["to_first"] = np.cumsum(n_rows) - n_rows
        grower = self._grower_for(int(n_rows.sum()))
        placed = self.cells.place(jobs, grower.rows[0])
        records, sets = grower.grow(self._trials(growing, placed))
        _core.graft_splits([self.growths[t] for t in growing], records, sets, self.n_jobs)

    def _grower_for(self, n_rows: int) -> TrialGrower:
        if self.grower is None or self.grower.n_rows < n_rows:
            self.grower = None  # frees its memory first
            self.grower = TrialGrower(self.table, self._limits(), n_rows, self.sizes)
        return self.grower

    def _limits(self) -> Limits:
        """Return the options that all trees share; in a forest, only random cuts differ."""
        leafrank = self.trees[0].options["leafrank"]
        return Limits(
            _core.CRITERIA.index(leafrank["criterion"]), leafrank["max_depth"],
            leafrank["max_features"], leafrank["min_weight_leaf"], leafrank["min_weight_split"],
            leafrank["independent_weight"],
        )  # fmt: skip

    def _trials(self, growing: list[int], jobs: NDArray[Any]) -> Trials:
        all_nodes = [as_records(self.growths[t].gathered_nodes(), GATHERED_NODE) for t in growing]
        nodes = np.concatenate(all_nodes)
        n = len(nodes)
        sizes = [len(some) for some in all_nodes]
        trials, roots = np.zeros(n, dtype=TRIAL), np.zeros(n, dtype=NODE)
        tree = np.repeat(np.arange(len(growing)), sizes)
        trials["tree"] = tree
        trials["cell_negative"] = nodes["cell_negative"]
        trials["cell_positive"] = nodes["cell_positive"]
        cuts = [self.trees[t].options["leafrank"]["random_cuts"] for t in growing]
        trials["random_cuts"] = np.repeat(cuts, sizes)
        features, trials["first_feature"], trials["n_features"] = self._features(growing, all_nodes)
        first: NDArray[np.uint32] = jobs["to_first"]
        n_left: NDArray[np.uint32] = jobs["n_left"]
        roots["first"], roots["last"] = first, first + n_left
        roots["trial"] = np.arange(n)
        roots["record"] = np.concatenate([np.arange(size) for size in sizes])
        for name in ("depth", "key", "negative", "positive", "lower", "upper"):
            roots[name] = nodes[name]
        weights = np.zeros(len(growing))
        negative: NDArray[np.float64] = nodes["negative"]
        positive: NDArray[np.float64] = nodes["positive"]
        np.add.at(weights, tree, negative + positive)
        return Trials(trials, features, roots, weights, len(growing))

    def _features(
        self, growing: list[int], nodes: list[NDArray[Any]]
    ) -> tuple[NDArray[np.uint16], Any, Any]:
        """Return the features that each trial may use: one list for all, or one list each."""
        if self.trees[0].options["max_features"] < 0:
            n = self.table.n_features
            return np.arange(n, dtype=np.uint16), 0, n
        lists = [
            self.growths[t].trial_features(int(number))
            for t, some in zip(growing, nodes, strict=True)
            for number in some["trial"]
        ]
        sizes = np.array([len(some) for some in lists])
        return np.concatenate(lists).astype(np.uint16), np.cumsum(sizes) - sizes, sizes

    def _trial_weights(self, growing: list[int]) -> dict[int, Any]:
        """Return the units of all classes in the leaves of the trials."""
        weights = {}
        for t in growing:
            cells, starts, tests, sets = self.growths[t].grown_trials()
            some = self._rows_of(t, cells)
            some["first_test"], some["first_set"] = starts[:-1], 0
            local = _local_tests(tests, starts)
            weights[t] = self.cells.trial_weights(some, local, sets, self.n_classes)
        return weights


def _cut(values: NDArray[Any], like: list[NDArray[Any]]) -> list[NDArray[Any]]:
    return np.split(values, np.cumsum([len(some) for some in like])[:-1])


def _local_tests(tests: NDArray[np.uint8], starts: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return the tests of several LeafRank trees, with those of each tree numbered from 0."""
    shift = np.repeat(starts[:-1], np.diff(starts))
    local = tests.copy()
    links = as_records(local, TEST)
    for name in ("left", "right"):
        child: NDArray[np.int32] = links[name]
        links[name] = np.where(child >= 0, child - shift, child)
    return local
