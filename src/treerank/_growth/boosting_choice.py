"""Choose the size of boosting's trees and their number, by rows held out.

The folds go forward together, a tree of each at a time, so that their losses can be added up: the
sum has a clear least value where the curve of a single fold wavers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._growth.boosting import BoostingPlan, BoostingRows, TreeShape
from treerank._growth.boosting_rounds import grow_rounds
from treerank._growth.losses import start_score
from treerank._growth.progress import Report
from treerank._input.stages import stage
from treerank._select.quality import ranking_quality

N_FOLDS = 5
FOLD_SEED = 0x726F756E6473  # so that these folds are not those of category statistics
# Rounds without anything better: the loss falls and rises smoothly, the AUC wavers.
PATIENCE_BY_LOSS, PATIENCE_BY_QUALITY = 25, 50
# Rows that choose the size of trees at most; all of them choose the number.
RACE_ROWS = 50_000


@dataclass(frozen=True)
class BoostingChoice:
    """Which trees boosting has chosen, and why.

    Attributes
    ----------
    max_depth, leafrank_depth : int
        Size of the trees.
    held_out_loss : dict
        By size ``(max_depth, leafrank_depth)``: the least loss on rows held out. For two classes
        and the logistic loss this is the log-loss, else 1 minus the AUC (VUS, or what `focus`
        asks for). Empty where nothing was held out.
    n_trees : dict
        By size: after how many trees; at the learning rate of the fit.
    """

    max_depth: int
    leafrank_depth: int
    held_out_loss: dict[tuple[int, int], float]
    n_trees: dict[tuple[int, int], int]


class _Tried(NamedTuple):
    """A size of trees: the least loss on rows held out, and after how many trees."""

    loss: float
    n_rounds: int


class _Part(NamedTuple):
    """Rows to learn from, and rows held out."""

    learned: BoostingRows
    held_out: BoostingRows


class _Run:
    """Boosting on the rows of a part, and the scores of those held out."""

    def __init__(self, part: _Part, binning: Binning, plan: BoostingPlan) -> None:
        learned = part.learned
        start = start_score(plan.loss, learned.rank, learned.weight, learned.n_classes)
        self.held_out, self.n_jobs, self.focus = part.held_out, plan.n_jobs, plan.focus
        self.rounds = grow_rounds(learned, binning, plan, np.full(len(learned.rank), start))
        self.scores = np.full(len(part.held_out.rank), start)

    def advance(self) -> None:
        """Grow a tree, and move the scores by it."""
        tree = next(self.rounds, None)
        if tree is not None:
            with stage("validation scores"):
                self.scores += tree.total(self.held_out.codes, self.n_jobs)


def choose_trees(
    rows: BoostingRows, binning: Binning, plan: BoostingPlan, report: Report | None
) -> tuple[BoostingPlan, BoostingChoice]:
    """Return the plan with the trees that rows held out ask for."""
    choice = plan.choice
    assert choice is not None
    trial = replace(plan, learning_rate=choice.learning_rate)
    is_whole = len(rows.rank) <= RACE_ROWS
    some = rows if is_whole or len(choice.shapes) == 1 else _sample(rows, plan)
    tried = _climb(_parts(some, plan), binning, trial, report)
    best = min(tried, key=lambda shape: tried[shape].loss)
    if len(some.rank) < len(rows.rank):
        tried[best] = _try(_parts(rows, plan), binning, _of_shape(trial, best), report)
    steps = choice.learning_rate / plan.learning_rate
    # A single fold leaves a fifth of the rows out, which ask for trees of their own; the sum over
    # all folds was found to need no more.
    more = 1.0 if choice.n_held > 1 else N_FOLDS / (N_FOLDS - 1)
    n_trees = {s: max(1, round(found.n_rounds * steps * more)) for s, found in tried.items()}
    final = replace(_of_shape(plan, best), n_rounds=n_trees[best], choice=None)
    return final, BoostingChoice(
        best.max_depth, best.leafrank_depth,
        {(s.max_depth, s.leafrank_depth): found.loss for s, found in tried.items()},
        {(s.max_depth, s.leafrank_depth): n for s, n in n_trees.items()},
    )  # fmt: skip


def _climb(
    parts: list[_Part], binning: Binning, plan: BoostingPlan, report: Report | None
) -> dict[TreeShape, _Tried]:
    """Go from the usual size to larger trees while the loss falls; if it does not, to smaller."""
    assert plan.choice is not None
    shapes, usual = plan.choice.shapes, plan.choice.usual
    tried = {shapes[usual]: _try(parts, binning, _of_shape(plan, shapes[usual]), report)}
    for step in (1, -1):
        at = usual
        while 0 <= at + step < len(shapes):
            new = shapes[at + step]
            tried[new] = _try(parts, binning, _of_shape(plan, new), report)
            if tried[new].loss >= tried[shapes[at]].loss:
                break
            at += step
        if at != usual:
            break
    return tried


def _try(parts: list[_Part], binning: Binning, plan: BoostingPlan, report: Report | None) -> _Tried:
    """Boost on all parts, a tree of each at a time, until the rows held out have had enough."""
    assert plan.choice is not None
    by_loss = plan.choice.by_loss
    judge, patience = (_log_loss, PATIENCE_BY_LOSS) if by_loss else (_lack, PATIENCE_BY_QUALITY)
    runs = [_Run(part, binning, plan) for part in parts]
    least, n_rounds = np.inf, 1
    for number in range(1, plan.n_rounds + 1):
        if report is not None:
            report(number / plan.n_rounds)
        for run in runs:
            run.advance()
        with stage("validation scores"):
            loss = judge(runs)
        if loss < least:
            least, n_rounds = loss, number
        elif number - n_rounds >= patience:
            break
    return _Tried(float(least), n_rounds)


def _log_loss(runs: list[_Run]) -> float:
    """Minus the mean log-likelihood of two classes, the scores being log-odds."""
    total, weight = 0.0, 0.0
    for run in runs:
        rows = run.held_out
        losses = np.logaddexp(0, np.where(rows.rank == 1, -run.scores, run.scores))
        total += float(rows.weight @ losses)
        weight += float(rows.weight.sum())
    return total / weight


def _lack(runs: list[_Run]) -> float:
    """1 minus the AUC (VUS; local or partial with a focus), in the mean of the parts."""
    classes = np.arange(runs[0].held_out.n_classes)
    qualities = [
        ranking_quality(run.held_out.rank, run.scores, classes, run.held_out.weight, run.focus)
        for run in runs
    ]
    return 1.0 - float(np.mean(qualities))


def _parts(rows: BoostingRows, plan: BoostingPlan) -> list[_Part]:
    """Rows to learn from and to hold out."""
    assert plan.choice is not None
    fold = _deal(rows, N_FOLDS, plan.n_jobs)
    return [
        _Part(rows.take(np.flatnonzero(fold != f)), rows.take(np.flatnonzero(fold == f)))
        for f in range(plan.choice.n_held)
    ]


def _sample(rows: BoostingRows, plan: BoostingPlan) -> BoostingRows:
    """About as many rows as choose the size of trees."""
    n_parts = -(-len(rows.rank) // RACE_ROWS)
    return rows.take(np.flatnonzero(_deal(rows, n_parts, plan.n_jobs) == 0))


def _deal(rows: BoostingRows, n_folds: int, n_jobs: int) -> NDArray[np.int32]:
    labels = rows.rank.astype(np.uint8)
    return _core.assign_folds(
        rows.codes, labels, rows.units, rows.n_classes, n_folds, FOLD_SEED, n_jobs
    )


def _of_shape(plan: BoostingPlan, shape: TreeShape) -> BoostingPlan:
    return replace(plan, max_depth=shape.max_depth, leafrank_depth=shape.leafrank_depth)
