"""What boosting is told, and the rows in this process that it learns from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._device.codes import MadeThere, on_host, take_rows
from treerank._device.device import Device
from treerank._growth.boosting_rounds import grow_rounds
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import class_units, log_losses
from treerank._input.focus import Focus
from treerank._input.weights import Weights
from treerank._select.quality import quality_of_scores
from treerank._trees.packed_forest import ForestArrays

FloatArray = NDArray[np.float64]

# Sums of weights stay below this, so that gradients keep 20 bits and more beside them.
MOST_UNITS = 2.0**40
ORDER_SEED = 0x6F72646572  # of the order of rows, which is not to be that of folds


class TreeShape(NamedTuple):
    """Size of the trees."""

    max_depth: int
    leafrank_depth: int
    max_leaf_nodes: int = 0  # the best cells are split first, up to this many strata; 0: all


@dataclass(frozen=True)
class ChoicePlan:
    """How rows held out choose the trees."""

    shapes: tuple[TreeShape, ...]  # smallest first
    usual: int  # the place of the one to start from
    by_loss: bool  # the log-loss judges trees of the logistic loss; else AUC, VUS or the focus
    n_held: int  # folds of five that are held out, one after the other
    learning_rate: float  # of these trials, as are the next two
    l2: float
    subsample: float
    losses: tuple[str, ...]  # with a focus, which judges them; the first on ties


@dataclass(frozen=True)
class BoostingPlan:
    """The checked parameters of a fit."""

    loss: str
    n_rounds: int
    learning_rate: float
    max_depth: int
    leafrank_depth: int
    min_samples_leaf: float
    l2: float
    subsample: float
    n_chosen: int  # features drawn for a tree; -1: all
    monotonic: NDArray[np.int8]  # one of -1, 0, 1 per feature
    by_stratum: bool
    patience: int  # rounds without a better AUC; 0: no early stopping
    choice: ChoicePlan | None  # rows held out choose the trees, which all rows then grow
    seed: int
    n_jobs: int
    focus: Focus | None = None  # of the loss, and of where to stop
    max_leaf_nodes: int = 0  # strata of a tree, the best cells split first; 0: depth by depth
    device: Device | None = None  # where trees are grown; None: on the processor
    n_bags: int = 1  # models whose mean is taken, each on the rows of four folds of five
    orders_rows: bool = False  # first of all, so that what is drawn does not depend on theirs


class BoostingRows(NamedTuple):
    """Training or test rows."""

    made: Codes | MadeThere  # codes here, or on the device that has made them
    rank: NDArray[np.intp]
    units: NDArray[np.int64] | None
    scale: float  # units to a weight of 1
    design_effect: float  # rows of weight 1 that say as much as one that counts once
    n_classes: int

    @property
    def codes(self) -> Codes:
        """Codes in this process."""
        return on_host(self.made)

    @property
    def weight(self) -> FloatArray:
        """Weights as numbers."""
        if self.units is None:
            return np.ones(len(self.rank))
        return np.asarray(self.units / self.scale)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rank)

    @property
    def class_units(self) -> NDArray[np.int64]:
        """Units of each class."""
        return class_units(self.rank, self.units, self.n_classes)

    def take(self, rows: NDArray[np.intp]) -> BoostingRows:
        """Some of the rows."""
        units = None if self.units is None else self.units[rows]
        codes = take_rows(self.made, rows)
        return self._replace(made=codes, rank=self.rank[rows], units=units)

    def without_fold(self, n_folds: int, fold: int, seed: int, n_jobs: int) -> BoostingRows:
        """All rows but those of a fold."""
        return self.take(np.flatnonzero(self._assign_folds(n_folds, seed, n_jobs) != fold))

    def folds(self, n_folds: int, n_held: int, seed: int, n_jobs: int) -> list[Any]:
        """Rows to learn from and rows held out, for each of the first `n_held` folds."""
        fold = self._assign_folds(n_folds, seed, n_jobs)
        return [
            (self.take(np.flatnonzero(fold != f)), self.take(np.flatnonzero(fold == f)))
            for f in range(n_held)
        ]

    def sample(self, n_parts: int, seed: int, n_jobs: int) -> BoostingRows:
        """The first of `n_parts` parts of the rows."""
        return self.take(np.flatnonzero(self._assign_folds(n_parts, seed, n_jobs) == 0))

    def in_order(self, n_jobs: int) -> BoostingRows:
        """Return the rows in an order that they alone decide, whichever they came in."""
        hashes = _core.row_hashes(self.codes, self.rank.astype(np.uint8), ORDER_SEED, n_jobs)
        keys = (hashes,) if self.units is None else (self.units, hashes)
        return self.take(np.lexsort(keys))

    def _assign_folds(self, n_folds: int, seed: int, n_jobs: int) -> NDArray[np.int32]:
        labels = self.rank.astype(np.uint8)
        hashes = _core.row_hashes(self.codes, labels, seed, n_jobs)
        return _core.assign_folds(hashes, labels, self.units, self.n_classes, n_folds, seed, n_jobs)

    def in_memory(self) -> BoostingRows:
        """Return the rows in this process."""
        return self

    def scored(self, start: float, trees: list[ForestArrays], n_jobs: int) -> ScoredRows:
        """Rows with the scores of some trees."""
        return ScoredRows(self, start, trees, n_jobs)

    def rounds(
        self, binning: Binning, plan: BoostingPlan, start: float, trees: list[ForestArrays]
    ) -> LocalRounds:
        """Rounds that go on from some trees."""
        return LocalRounds(self, binning, plan, start, trees)


class ScoredRows:
    """Rows, and what the trees so far add up to."""

    def __init__(
        self, rows: BoostingRows, start: float, trees: list[ForestArrays], n_jobs: int
    ) -> None:
        self.rows, self.n_jobs = rows, n_jobs
        self.scores = np.full(rows.n_rows, start)
        for tree in trees:
            self.add(tree)

    def add(self, tree: ForestArrays) -> None:
        """Move the scores by a tree."""
        self.scores += tree.total(self.rows.codes, self.n_jobs)

    def take_back(self, tree: ForestArrays) -> None:
        """Undo the move of a tree, but for roundings."""
        self.scores -= tree.total(self.rows.codes, self.n_jobs)

    def log_loss(self, sums: ExactSums) -> int:
        """Sum of the log-loss of two classes."""
        return int(sums.of(log_losses(self.scores, self.rows.rank), self.rows.units))

    def quality(self, focus: Focus | None) -> float:
        """How well the scores rank."""
        rows = self.rows
        return quality_of_scores(self.scores, rows.rank, rows.units, rows.n_classes, focus)

    def arrays(self) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
        """Scores, classes and weights of all rows."""
        return self.scores, self.rows.rank, self.rows.weight


class LocalRounds:
    """Rounds on rows in this process."""

    def __init__(
        self,
        rows: BoostingRows,
        binning: Binning,
        plan: BoostingPlan,
        start: float,
        trees: list[ForestArrays],
    ) -> None:
        self.scored = ScoredRows(rows, start, trees, plan.n_jobs)
        first = sum(tree.n_trees for tree in trees)
        self._trees = grow_rounds(rows, binning, plan, self.scored.scores, first)

    def __iter__(self) -> Iterator[ForestArrays | None]:
        """Give the tree of each round; None where there is no split."""
        return self._trees

    def close(self) -> None:
        """End the rounds; from now on the scores are those of all trees."""
        self._trees.close()


def boosting_units(weights: Weights) -> tuple[NDArray[np.int64] | None, float]:
    """Whole weights whose sum leaves room for gradients, and what makes a weight of 1."""
    units, scale = weights.as_units, weights.scale
    if units is None or units.sum() <= MOST_UNITS:
        return units, scale
    coarser = 2.0 ** np.ceil(np.log2(units.sum() / MOST_UNITS))
    return np.maximum(np.rint(units / coarser), 1.0).astype(np.int64), scale / coarser


def join_trees(trees: list[ForestArrays]) -> ForestArrays | None:
    """Put the trees end to end, their category sets numbered through."""
    if not trees:
        return None
    sizes = [len(tree.slots) for tree in trees]
    set_of: Any = np.empty(0, dtype=np.int32)
    if any(len(tree.category_sets) for tree in trees):
        first_set = np.cumsum([0] + [len(tree.category_sets) for tree in trees[:-1]])
        parts = [
            np.where(tree.set_of >= 0, tree.set_of + shift, -1)
            if len(tree.set_of)
            else np.full(size, -1)
            for tree, size, shift in zip(trees, sizes, first_set, strict=True)
        ]
        set_of = np.concatenate(parts).astype(np.int32)
    return ForestArrays(
        starts=np.cumsum(
            np.concatenate([[0], *(np.diff(tree.starts) for tree in trees)]), dtype=np.int64
        ),
        slots=np.concatenate([tree.slots for tree in trees]),
        step=np.concatenate([tree.step for tree in trees]),
        weight=None,
        set_of=set_of,
        category_sets=np.concatenate([tree.category_sets for tree in trees]),
        importance=np.concatenate([tree.importance for tree in trees]),
        at_end=np.concatenate([tree.at_end for tree in trees]),
        left_share=np.concatenate([tree.left_share for tree in trees]),
    )
