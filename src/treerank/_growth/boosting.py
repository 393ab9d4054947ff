"""The boosting plan, and the rows in this process that boosting is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._binning.category_statistics import with_coding
from treerank._device.codes import MadeThere, on_host, take_rows
from treerank._device.device import Device
from treerank._growth.boosting_rounds import grow_rounds
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import class_units, log_losses
from treerank._growth.trees import order_of_content
from treerank._input.focus import Focus
from treerank._input.types import Floats
from treerank._input.weights import Weights
from treerank._select.quality import quality_of_scores
from treerank._trees.packed_forest import ForestArrays

# Maximum sum of weights, which leaves at least 20 bits for gradients in their products.
MOST_UNITS = 2.0**40
FEW_ROWS = 50_000  # below this many rows, models are grown side by side
ORDER_SEED = 0x6F72646572  # so that the order of the rows differs from that of the folds


class TreeShape(NamedTuple):
    """Size of the trees."""

    max_depth: int
    leafrank_depth: int
    max_leaf_nodes: int = 0  # max strata (best-first growth); 0: level by level


@dataclass(frozen=True)
class ChoicePlan:
    """How held-out rows choose the trees."""

    shapes: tuple[TreeShape, ...]  # smallest first
    usual: int  # index of the shape to start from
    tries_smaller_first: bool  # rather than larger shapes
    by_loss: bool  # evaluate trees of the logistic loss by log-loss; else by AUC, VUS or focus
    n_held: int  # how many of five folds are held out, one after another
    learning_rate: float  # this and the next two: of the trials
    l2: float
    subsample: float
    losses: tuple[str, ...]  # compared by the focus if there are several; on ties, the first


@dataclass(frozen=True)
class BoostingPlan:
    """The validated parameters of a fit."""

    loss: str
    n_rounds: int
    learning_rate: float
    max_depth: int
    leafrank_depth: int
    min_samples_leaf: float
    l2: float
    subsample: float
    n_chosen: int  # features drawn for each tree; -1: all
    monotonic: NDArray[np.int8]  # -1, 0 or 1 per column
    by_stratum: bool
    patience: int  # rounds without a better AUC before stopping; 0: no early stopping
    choice: ChoicePlan | None  # how held-out rows choose the trees before the final fit
    seed: int
    n_jobs: int
    focus: Focus | None = None  # of the loss and of early stopping
    max_leaf_nodes: int = 0  # max strata (best-first growth); 0: level by level
    device: Device | None = None  # where trees are grown; None: on the CPU
    n_bags: int = 1  # averaged models, each trained on four of five folds
    orders_rows: bool = False  # sort rows by content, so that draws do not depend on their order

    def side_by_side(self, n_rows: int, n_models: int) -> tuple[int, BoostingPlan]:
        """Return how many of several models are grown at a time, and the plan for each of them.

        The trees of few rows do not keep several threads busy, so each thread grows a model of its
        own, with its own copy of the rows.
        """
        is_small = n_rows < FEW_ROWS and self.device is None
        n_threads = min(self.n_jobs, n_models) if is_small else 1
        return n_threads, replace(self, n_jobs=self.n_jobs // n_threads)


class BoostingRows(NamedTuple):
    """Training or test rows."""

    made: Codes | MadeThere  # codes in host memory, or on the device that computed them
    rank: NDArray[np.intp]
    units: NDArray[np.int64] | None
    scale: float  # units per weight of 1
    design_effect: float  # see `Weights`
    n_classes: int

    @property
    def codes(self) -> Codes:
        """The codes in host memory."""
        return on_host(self.made)

    @property
    def weight(self) -> Floats:
        """Weights as floats."""
        if self.units is None:
            return np.ones(len(self.rank))
        return np.asarray(self.units / self.scale)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rank)

    @property
    def class_units(self) -> NDArray[np.int64]:
        """Total weight of each class, in units."""
        return class_units(self.rank, self.units, self.n_classes)

    def with_coding(self, binning: Binning, number: int) -> BoostingRows:
        """Return the rows with one of the codings of categories, if there are several."""
        if len(self.made) == binning.n_columns:
            return self
        return self._replace(made=with_coding(self.codes, binning, number))

    def take(self, rows: NDArray[np.intp]) -> BoostingRows:
        """Return some of the rows."""
        units = None if self.units is None else self.units[rows]
        codes = take_rows(self.made, rows)
        return self._replace(made=codes, rank=self.rank[rows], units=units)

    def without_fold(self, n_folds: int, fold: int, seed: int, n_jobs: int) -> BoostingRows:
        """Return all rows except those of a fold."""
        return self.take(np.flatnonzero(self._assign_folds(n_folds, seed, n_jobs) != fold))

    def folds(
        self, n_folds: int, n_held: int, seed: int, n_jobs: int
    ) -> list[tuple[BoostingRows, BoostingRows]]:
        """Return (training rows, held-out rows) for each of the first `n_held` folds."""
        fold = self._assign_folds(n_folds, seed, n_jobs)
        return [
            (self.take(np.flatnonzero(fold != f)), self.take(np.flatnonzero(fold == f)))
            for f in range(n_held)
        ]

    def sample(self, n_parts: int, seed: int, n_jobs: int) -> BoostingRows:
        """Return the first of `n_parts` parts of the rows."""
        return self.take(np.flatnonzero(self._assign_folds(n_parts, seed, n_jobs) == 0))

    def in_order(self, n_jobs: int) -> BoostingRows:
        """Return the rows in an order that depends only on their content."""
        labels = self.rank.astype(np.uint8)
        return self.take(order_of_content(self.codes, labels, self.units, ORDER_SEED, n_jobs))

    def _assign_folds(self, n_folds: int, seed: int, n_jobs: int) -> NDArray[np.int32]:
        labels = self.rank.astype(np.uint8)
        hashes = _core.row_hashes(self.codes, labels, seed, n_jobs)
        return _core.assign_folds(hashes, labels, self.units, self.n_classes, n_folds, seed, n_jobs)

    def in_memory(self) -> BoostingRows:
        """Return the rows in this process."""
        return self

    def scored(self, start: float, trees: list[ForestArrays], n_jobs: int) -> ScoredRows:
        """Return the rows with their scores after some trees."""
        return ScoredRows(self, start, trees, n_jobs)

    def rounds(
        self,
        binning: Binning,
        plan: BoostingPlan,
        start: float,
        trees: list[ForestArrays],
        at_once: int = 1,
    ) -> LocalRounds:
        """Return the rounds that follow some trees."""
        return LocalRounds(self, binning, plan, start, trees, at_once)


class ScoredRows:
    """Rows with their scores: the sums over the trees so far."""

    def __init__(
        self, rows: BoostingRows, start: float, trees: list[ForestArrays], n_jobs: int
    ) -> None:
        self.rows, self.n_jobs = rows, n_jobs
        self.scores = np.full(rows.n_rows, start)
        for tree in trees:
            self.add(tree)

    def add(self, tree: ForestArrays) -> None:
        """Add a tree to the scores."""
        self.scores += tree.total(self.rows.codes, self.n_jobs)

    def take_back(self, tree: ForestArrays) -> None:
        """Subtract a tree from the scores, which undoes `add` up to rounding."""
        self.scores -= tree.total(self.rows.codes, self.n_jobs)

    def log_loss(self, sums: ExactSums) -> int:
        """Return the sum of the two-class log-loss."""
        return int(sums.of(log_losses(self.scores, self.rows.rank), self.rows.units))

    def quality(self, focus: Focus | None) -> float:
        """Return the quality of the ranking by the scores."""
        rows = self.rows
        return quality_of_scores(self.scores, rows.rank, rows.units, rows.n_classes, focus)

    def arrays(self) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Return the scores, classes and weights of all rows."""
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
        at_once: int,
    ) -> None:
        self.scored = ScoredRows(rows, start, trees, plan.n_jobs)
        first = sum(tree.n_trees for tree in trees)
        self._trees = grow_rounds(rows, binning, plan, self.scored.scores, first, at_once)

    def __iter__(self) -> Iterator[ForestArrays | None]:
        """Yield the trees of the next rounds, or None if they have no split."""
        return self._trees

    def close(self) -> None:
        """End the rounds; afterwards, the scores include all trees."""
        self._trees.close()


def boosting_units(weights: Weights) -> tuple[NDArray[np.int64] | None, float]:
    """Return integer weights whose sum leaves room for gradients, and the units per weight of 1."""
    units, scale = weights.as_units, weights.scale
    if units is None or units.sum() <= MOST_UNITS:
        return units, scale
    coarser = 2.0 ** np.ceil(np.log2(units.sum() / MOST_UNITS))
    return np.maximum(np.rint(units / coarser), 1.0).astype(np.int64), scale / coarser
