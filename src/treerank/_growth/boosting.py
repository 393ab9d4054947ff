"""Rounds of boosting: gradients, a tree grown on them by the core, and scores moved by it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import class_units, log_losses, make_loss
from treerank._input.focus import Focus
from treerank._input.stages import stage
from treerank._input.weights import Weights
from treerank._select.quality import ranking_quality
from treerank._trees.packed_forest import ForestArrays, Sampling

FloatArray = NDArray[np.float64]

# Sums of weights stay below this, so that gradients keep 20 bits and more beside them.
MOST_UNITS = 2.0**40
GRADIENT_BITS = 30
CATEGORICAL = np.uint32(1 << 31)  # of a slot: its test is one of levels


class TreeShape(NamedTuple):
    """Size of the trees."""

    max_depth: int
    leafrank_depth: int


@dataclass(frozen=True)
class ChoicePlan:
    """How rows held out choose the trees."""

    shapes: tuple[TreeShape, ...]  # smallest first
    usual: int  # the place of the one to start from
    by_loss: bool  # the log-loss judges trees of the logistic loss; else AUC, VUS or the focus
    n_held: int  # folds of five that are held out, one after the other
    learning_rate: float
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


class BoostingRows(NamedTuple):
    """Training or test rows."""

    codes: Codes
    rank: NDArray[np.intp]
    units: NDArray[np.int64] | None
    scale: float  # units to a weight of 1
    design_effect: float  # rows of weight 1 that say as much as one that counts once
    n_classes: int

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
        codes = np.ascontiguousarray(self.codes[:, rows])
        return self._replace(codes=codes, rank=self.rank[rows], units=units)

    def bag(self, sampling: Sampling, number: int) -> BoostingRows:
        """Rows that were drawn for a bag, each as often as it was."""
        counts = sampling.counts(number, self.n_rows)
        rows = np.flatnonzero(counts)
        taken = self.take(rows)
        times = counts[rows].astype(np.int64)
        return taken._replace(units=times if taken.units is None else taken.units * times)

    def folds(self, n_folds: int, n_held: int, seed: int, n_jobs: int) -> list[Any]:
        """Rows to learn from and rows held out, for the first so many folds."""
        fold = self._deal(n_folds, seed, n_jobs)
        return [
            (self.take(np.flatnonzero(fold != f)), self.take(np.flatnonzero(fold == f)))
            for f in range(n_held)
        ]

    def sample(self, n_parts: int, seed: int, n_jobs: int) -> BoostingRows:
        """One of so many parts of the rows."""
        return self.take(np.flatnonzero(self._deal(n_parts, seed, n_jobs) == 0))

    def _deal(self, n_folds: int, seed: int, n_jobs: int) -> NDArray[np.int32]:
        labels = self.rank.astype(np.uint8)
        return _core.assign_folds(
            self.codes, labels, self.units, self.n_classes, n_folds, seed, n_jobs
        )

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
        classes = np.arange(rows.n_classes)
        return ranking_quality(rows.rank, self.scores, classes, rows.weight, focus)

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


def boosting_units(weights: Weights) -> tuple[NDArray[np.int64] | None, float]:
    """Whole weights whose sum leaves room for gradients, and what makes a weight of 1."""
    units, scale = weights.as_units, weights.scale
    if units is None or units.sum() <= MOST_UNITS:
        return units, scale
    coarser = 2.0 ** np.ceil(np.log2(units.sum() / MOST_UNITS))
    return np.maximum(np.rint(units / coarser), 1.0).astype(np.int64), scale / coarser


def grow_rounds(
    rows: BoostingRows, binning: Binning, plan: BoostingPlan, scores: FloatArray, first: int = 0
) -> Iterator[ForestArrays | None]:
    """Give the tree of each round, and move the scores by it; None where there is no split.

    Ends before its time where nothing is left to be learned.
    """
    with stage("grow"):
        rounds = _core.BoostingRounds(
            rows.codes, rows.units, binning.n_codes, binning.grown_as_sets, plan.monotonic,
            plan.n_jobs,
        )  # fmt: skip
    with _threads(plan.n_jobs) as threads:
        loss = make_loss(
            plan.loss, rows.rank, rows.weight, rows.units, rows.n_classes, threads, plan.n_jobs,
            plan.focus,
        )  # fmt: skip
        for number in range(first, plan.n_rounds):
            with stage("gradients"):
                derivatives = loss(scores)
            with stage("grow"):
                tree = _grow_tree(rounds, rows, derivatives, plan, number, scores)
            if tree is None:
                break
            if len(tree.slots) == 1:  # of these rows and features; others may have one
                yield None
                continue
            if plan.subsample < 1:
                with stage("update scores"):
                    scores += tree.total(rows.codes, plan.n_jobs)
            yield tree


def _threads(n_jobs: int) -> AbstractContextManager[Executor | None]:
    """Threads for the gradients of all rounds; None for one."""
    return ThreadPoolExecutor(n_jobs) if n_jobs > 1 else nullcontext()


def _grow_tree(
    rounds: _core.BoostingRounds,
    rows: BoostingRows,
    derivatives: tuple[FloatArray, FloatArray],
    plan: BoostingPlan,
    number: int,
    scores: FloatArray,
) -> ForestArrays | None:
    """Grow a tree; if on all rows, move their scores. None: nothing is left to be learned."""
    n_rows, n_features = len(rows.rank), len(rows.codes)
    weight = n_rows if rows.units is None else int(rows.units.sum())
    drawn = _drawn_rows(n_rows, plan, number)
    grown: Any = rounds.grow(
        *derivatives, gradient_bits(weight), rows.scale, drawn,
        drawn_features(n_features, plan, number),
        tree_options(plan, rows.scale, rows.design_effect, weight),
        scores if drawn is None else None,
    )  # fmt: skip
    return None if grown is None else boosted_tree(grown)


def gradient_bits(weight: int) -> int:
    """Binary digits of a gradient: with those of the weight of all rows it leaves room in a sum."""
    return min(GRADIENT_BITS, 61 - int(np.ceil(np.log2(weight + 1))))


def tree_options(
    plan: BoostingPlan, scale: float, design_effect: float, weight: int
) -> dict[str, Any]:
    """Options of a tree for the core; `weight` is that of all rows, in units."""
    return {
        "max_depth": plan.max_depth,
        "leafrank_depth": plan.leafrank_depth,
        "min_weight_leaf": min(max(1, round(plan.min_samples_leaf * scale)), weight + 1),
        "independent_weight": scale * design_effect,
        "l2": plan.l2,
        "learning_rate": plan.learning_rate,
        "by_stratum": plan.by_stratum,
    }


def boosted_tree(grown: tuple[Any, ...]) -> ForestArrays:
    """Tree that the core has grown."""
    slots, value, target, sets, importance, left_share = grown
    is_set = (slots.view(np.uint32)[:, 0] & CATEGORICAL) > 0
    return ForestArrays(
        starts=np.array([0, len(slots)], dtype=np.int64),
        slots=slots,
        step=value,
        weight=None,
        set_of=np.where(is_set, target, -1).astype(np.int32) if len(sets) else target[:0],
        category_sets=sets,
        importance=importance[np.newaxis],
        at_end=np.ones(1, dtype=np.uint8),
        left_share=left_share,
    )


def _drawn_rows(n_rows: int, plan: BoostingPlan, number: int) -> NDArray[np.uint32] | None:
    """Draw the rows of a tree, without replacement, by seed and round alone; None: all."""
    if plan.subsample == 1:
        return None
    counts = subsampling(n_rows, plan).counts(number, n_rows)
    return np.flatnonzero(counts).astype(np.uint32)


def subsampling(n_rows: int, plan: BoostingPlan) -> Sampling:
    """How the rows of trees are drawn."""
    return Sampling(replace=False, n_draws=max(1, round(plan.subsample * n_rows)), seed=plan.seed)


def drawn_features(n_features: int, plan: BoostingPlan, number: int) -> NDArray[np.int32]:
    """Draw the features of a tree, a function of seed and round alone."""
    if plan.n_chosen < 0:
        return np.arange(n_features, dtype=np.int32)
    generator = np.random.Generator(np.random.Philox(key=[plan.seed, number]))
    chosen = generator.choice(n_features, plan.n_chosen, replace=False)
    return np.sort(chosen).astype(np.int32)


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
