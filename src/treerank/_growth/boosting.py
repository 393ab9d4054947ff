"""Boost: rounds one after another, rows held out that say when to stop, and bags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from treerank._binning.binning import Binning, Codes
from treerank._device.device import Device
from treerank._growth.boosting_rounds import grow_rounds
from treerank._growth.losses import start_score
from treerank._growth.progress import Report
from treerank._input.focus import Focus
from treerank._input.stages import stage
from treerank._input.weights import Weights
from treerank._select.quality import ranking_quality
from treerank._trees.level_sets import forest_with_sets
from treerank._trees.packed_forest import ForestArrays, Sampling

FloatArray = NDArray[np.float64]

# Sums of weights stay below this, so that gradients keep 20 bits and more beside them.
MOST_UNITS = 2.0**40


class TreeShape(NamedTuple):
    """Size of the trees."""

    max_depth: int
    leafrank_depth: int


@dataclass(frozen=True)
class ChoicePlan:
    """How rows held out choose the trees."""

    shapes: tuple[TreeShape, ...]  # smallest first
    usual: int  # the place of the one to start from
    by_loss: bool  # else by AUC or VUS
    n_held: int  # folds of five that are held out, one after the other
    learning_rate: float


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
    monotonic: NDArray[np.int8]  # one of -1, 0, 1 a feature
    by_stratum: bool
    patience: int  # rounds without a better AUC; 0: no early stopping
    choice: ChoicePlan | None  # rows held out choose the trees, which all rows then grow
    seed: int
    n_jobs: int
    focus: Focus | None = None  # of the loss, and of where to stop
    device: Device | None = None  # where trees are grown; None: on the processor


class BoostingRows(NamedTuple):
    """Rows to learn from, or to be judged on."""

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

    def drawn(self, counts: NDArray[np.uint8]) -> BoostingRows:
        """Rows that were drawn, each as often as it was."""
        rows = np.flatnonzero(counts)
        taken = self.take(rows)
        times = counts[rows].astype(np.int64)
        return taken._replace(units=times if taken.units is None else taken.units * times)

    def take(self, rows: NDArray[np.intp]) -> BoostingRows:
        """Some of the rows."""
        units = None if self.units is None else self.units[rows]
        codes = np.ascontiguousarray(self.codes[:, rows])
        return self._replace(codes=codes, rank=self.rank[rows], units=units)


class Boosted(NamedTuple):
    """What the rounds made."""

    trees: ForestArrays | None  # None: nothing to be learned
    start: float
    scores: FloatArray  # of the rows learned from
    validation_scores: FloatArray  # AUC or VUS after each round


def boosting_units(weights: Weights) -> tuple[NDArray[np.int64] | None, float]:
    """Whole weights whose sum leaves room for gradients, and what makes a weight of 1."""
    units, scale = weights.as_units, weights.scale
    if units is None or units.sum() <= MOST_UNITS:
        return units, scale
    coarser = 2.0 ** np.ceil(np.log2(units.sum() / MOST_UNITS))
    return np.maximum(np.rint(units / coarser), 1.0).astype(np.int64), scale / coarser


def hold_out(
    rows: BoostingRows, plan: BoostingPlan, share: float
) -> tuple[BoostingRows, BoostingRows | None]:
    """Rows to learn from, and rows that say when to stop."""
    if not plan.patience:
        return rows, None
    counts = np.bincount(rows.rank)
    n_held = max(round(share * len(rows.rank)), len(counts))
    if counts.min() < 2 or len(rows.rank) - n_held < len(counts):
        raise ValueError(
            f"Got early_stopping=True and {counts.min()} rows of the rarest class; expected "
            "at least 2, to learn from and to hold out."
        )
    learn, held = train_test_split(
        np.arange(len(rows.rank)), test_size=n_held, stratify=rows.rank, random_state=plan.seed
    )
    return rows.take(np.sort(learn)), rows.take(np.sort(held))


def boost(
    rows: BoostingRows,
    validation: BoostingRows | None,
    binning: Binning,
    plan: BoostingPlan,
    report: Report | None,
    before: Boosted | None = None,
) -> Boosted:
    """Grow the trees, one after the other; those after `before`, if they are some already."""
    start = start_score(plan.loss, rows.rank, rows.weight, rows.n_classes)
    trees: list[ForestArrays] = []
    scores = np.full(len(rows.rank), start)
    if before is not None and before.trees is not None:
        start, trees = before.start, [before.trees]
        scores = start + before.trees.total(rows.codes, plan.n_jobs)
    held_out = None if validation is None else _HeldOut(validation, start, trees, plan)
    first = sum(tree.n_trees for tree in trees)
    rounds = grow_rounds(rows, binning, plan, scores, first)
    for number, tree in enumerate(rounds, first):
        if tree is None:
            continue
        trees.append(tree)
        if held_out is not None:
            with stage("validation scores"):
                held_out.add(tree)
            if held_out.is_patience_over:
                break
        if report is not None:
            report((number + 1) / plan.n_rounds)
    rounds.close()  # from now on the scores are those of all trees
    qualities = [] if held_out is None else held_out.qualities
    n_kept = len(trees)
    if qualities:
        n_kept += int(np.argmax(qualities)) + 1 - len(qualities)
    for tree in trees[n_kept:]:
        scores -= tree.total(rows.codes, plan.n_jobs)
    joined = join_trees(trees[:n_kept])
    kept = None if joined is None else forest_with_sets(joined, binning)
    return Boosted(kept, start, scores, np.array(qualities))


class _HeldOut:
    """Scores of rows held out, and how well they rank after each tree."""

    def __init__(
        self, rows: BoostingRows, start: float, trees: list[ForestArrays], plan: BoostingPlan
    ) -> None:
        self.rows, self.plan = rows, plan
        self.scores = np.full(len(rows.rank), start)
        for tree in trees:
            self.scores += tree.total(rows.codes, plan.n_jobs)
        self.qualities: list[float] = []

    def add(self, tree: ForestArrays) -> None:
        """Move the scores by a tree, and judge them."""
        rows = self.rows
        self.scores += tree.total(rows.codes, self.plan.n_jobs)
        classes = np.arange(rows.n_classes)
        self.qualities.append(
            ranking_quality(rows.rank, self.scores, classes, rows.weight, self.plan.focus)
        )

    @property
    def is_patience_over(self) -> bool:
        """Whether too many trees in a row have brought nothing better."""
        since = len(self.qualities) - 1 - int(np.argmax(self.qualities))
        return since >= self.plan.patience


def boost_bags(
    rows: BoostingRows, binning: Binning, plan: BoostingPlan, n_bags: int, report: Report | None
) -> Boosted:
    """Boost on bootstrap samples of the rows; the score is the mean of theirs."""
    bags = []
    for number in range(n_bags):
        drawn = Sampling(replace=True, n_draws=len(rows.rank), seed=plan.seed)
        some = rows.drawn(drawn.counts(number, len(rows.rank)))
        within = None if report is None else _part_of(report, number, n_bags)
        bags.append(boost(some, None, binning, replace(plan, seed=plan.seed + number), within))
    trees = [
        replace(bag.trees, step=(bag.trees.step / n_bags).astype(np.float32))
        for bag in bags
        if bag.trees is not None
    ]
    joined = join_trees(trees)
    start = float(np.mean([bag.start for bag in bags]))
    scores = np.full(len(rows.rank), start)
    if joined is not None:
        scores += joined.total(rows.codes, plan.n_jobs)
    return Boosted(joined, start, scores, np.empty(0))


def _part_of(report: Report, number: int, n_parts: int) -> Report:
    return lambda share: report((number + share) / n_parts)


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
