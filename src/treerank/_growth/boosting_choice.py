"""Choose the size of boosting's trees and their number, by rows held out.

The folds go forward together, a tree of each at a time, so that their losses can be added up: the
sum has a clear least value where the curve of a single fold fluctuates.

With a focus the loss is chosen as well. The plain fit's trees are found first, by the log-loss, and
kept unless pairs of the top do better there, with trees of the same size, or of the usual one if
that is larger: what is measured at the top is too noisy to choose the size, and most rows may
ask for smaller trees than the top.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._growth.boosting import BoostingPlan, TreeShape
from treerank._growth.boosting_fit import RowsToBoost
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import start_score
from treerank._growth.progress import Report
from treerank._input.stages import stage

N_FOLDS = 5
FOLD_SEED = 0x726F756E6473  # so that these folds are not those of category statistics
# Rounds without anything better: the loss falls and rises smoothly, the AUC is noisy.
PATIENCE_BY_LOSS, PATIENCE_BY_QUALITY = 25, 50
# Few rows are in the top, so that what is measured there is noisy: it is measured after every
# FOCUS_STEP trees, and the mean of FOCUS_WINDOW measurements is compared.
FOCUS_STEP, FOCUS_WINDOW = 4, 5
# By how many standard errors pairs of the top have to be ahead of the plain loss.
LEAST_AHEAD = 0.25
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
    held_out_top_loss : dict
        With a focus and ``loss="auto"``, by loss: 1 minus the local (partial) AUC on rows held out,
        with the number of trees that suits the loss. Where pairs of the top were taken, `n_trees`
        has their number for their size.
    max_leaf_nodes : int or None
        Strata of a tree whose best cells are split first; None: they are split depth by depth.
    """

    max_depth: int
    leafrank_depth: int
    held_out_loss: dict[tuple[int, int], float]
    n_trees: dict[tuple[int, int], int]
    held_out_top_loss: dict[str, float] = field(default_factory=dict)
    max_leaf_nodes: int | None = None


class _Tried(NamedTuple):
    """A size of trees: the least loss on rows held out, and after how many trees."""

    loss: float
    n_rounds: int
    ranking_losses: NDArray[np.float64]  # of quality, after these trees, in each part; for a focus


# Rows to learn from, and rows held out.
Part = tuple[RowsToBoost, RowsToBoost]
LARGEST_LOSS = 64.0  # that a row can add


class _Run:
    """Boosting on the rows of a part, and the scores of those held out."""

    def __init__(self, part: Part, binning: Binning, plan: BoostingPlan) -> None:
        learned, held_out = part
        start = start_score(plan.loss, learned.class_units)
        self.focus = plan.focus
        self.rounds = iter(learned.rounds(binning, plan, start, []))
        self.held_out = held_out.scored(start, [], plan.n_jobs)
        self.units = int(held_out.class_units.sum())

    def advance(self) -> None:
        """Grow a tree, and move the scores by it."""
        tree = next(self.rounds, None)
        if tree is not None:
            with stage("validation scores"):
                self.held_out.add(tree)


def choose_trees(
    rows: RowsToBoost, binning: Binning, plan: BoostingPlan, report: Report | None
) -> tuple[BoostingPlan, BoostingChoice]:
    """Return the plan with the trees that rows held out ask for."""
    choice = plan.choice
    assert choice is not None
    some = _rows_of_race(rows, plan)
    parts = _parts(some, plan)
    trial = replace(
        plan, loss=choice.losses[0], learning_rate=choice.learning_rate, l2=choice.l2,
        subsample=choice.subsample,
    )  # fmt: skip
    tried = _climb(parts, binning, trial, report)
    best = min(tried, key=lambda shape: tried[shape].loss)
    larger = max(best, choice.shapes[choice.usual], key=choice.shapes.index)
    first, *others = choice.losses
    trials = {first: _of_shape(trial, best)}
    raced = {first: tried[best]}
    for loss in others:
        trials[loss] = _of_shape(replace(trial, loss=loss), larger)
        raced[loss] = _try(parts, binning, trials[loss], report)
    ranking_losses = {loss: found.ranking_losses for loss, found in raced.items()}
    taken = _best_loss(ranking_losses)
    found, best = raced[taken], best if taken == first else larger
    if some.n_rows < rows.n_rows:
        found = _try(_parts(rows, plan), binning, trials[taken], report)
    tried[best] = found if taken == first else tried[best]._replace(n_rounds=found.n_rounds)
    steps = choice.learning_rate / plan.learning_rate
    # A single fold leaves a fifth of the rows out, which ask for trees of their own; the sum over
    # all folds was found to need no more.
    more = 1.0 if choice.n_held > 1 else N_FOLDS / (N_FOLDS - 1)
    n_trees = {s: max(1, round(of_size.n_rounds * steps * more)) for s, of_size in tried.items()}
    final = replace(_of_shape(plan, best), loss=taken, n_rounds=n_trees[best], choice=None)
    return final, BoostingChoice(
        best.max_depth, best.leafrank_depth,
        {(s.max_depth, s.leafrank_depth): of_size.loss for s, of_size in tried.items()},
        {(s.max_depth, s.leafrank_depth): n for s, n in n_trees.items()},
        {loss: float(np.mean(mean)) for loss, mean in ranking_losses.items()} if others else {},
        best.max_leaf_nodes or None,
    )  # fmt: skip


def _best_loss(ranking_losses: dict[str, NDArray[np.float64]]) -> str:
    """Return the first loss, unless another does better at the top, and by more than luck.

    Of all numbers of trees the best is compared, which flatters: it has to be ahead by a part of
    the standard error of the difference, by the parts held out.
    """
    first, *others = ranking_losses
    best = first
    for loss in others:
        ahead = ranking_losses[best] - ranking_losses[loss]
        error = np.std(ahead, ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else 0.0
        if np.mean(ahead) > LEAST_AHEAD * error:
            best = loss
    return best


def _climb(
    parts: list[Part], binning: Binning, plan: BoostingPlan, report: Report | None
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


def _try(parts: list[Part], binning: Binning, plan: BoostingPlan, report: Report | None) -> _Tried:
    """Boost on all parts, a tree of each at a time, until the rows held out have had enough."""
    assert plan.choice is not None
    by_loss = plan.choice.by_loss and plan.loss == "logistic"
    judge, patience = (
        (_log_loss, PATIENCE_BY_LOSS) if by_loss else (_ranking_loss, PATIENCE_BY_QUALITY)
    )
    is_noisy = plan.focus is not None and not by_loss
    step, window = (FOCUS_STEP, FOCUS_WINDOW) if is_noisy else (1, 1)
    runs = [_Run(part, binning, plan) for part in parts]
    measured: list[NDArray[np.float64]] = []
    least, best, ranking_losses = np.inf, 1, np.empty(0)
    for number in range(1, plan.n_rounds + 1):
        if report is not None:
            report(number / plan.n_rounds)
        for run in runs:
            run.advance()
        if number % step:
            continue
        with stage("validation scores"):
            measured.append(judge(runs))
        mean = np.mean(measured[-window:], axis=0)
        loss = float(np.mean(mean)) if len(measured) >= window else np.inf
        if loss < least:
            least, best = loss, number
            ranking_losses = _ranking_loss(runs) if by_loss and plan.focus is not None else mean
        elif number - best >= patience:
            break
    return _Tried(least, best - step * (window // 2), ranking_losses)


def _log_loss(runs: list[_Run]) -> NDArray[np.float64]:
    """Minus the mean log-likelihood of two classes, the scores being log-odds."""
    units = sum(run.units for run in runs)
    sums = ExactSums(units, LARGEST_LOSS)
    total = sum(run.held_out.log_loss(sums) for run in runs)
    return np.array([sums.number(np.int64(total)) / units])


def _ranking_loss(runs: list[_Run]) -> NDArray[np.float64]:
    """1 minus the AUC (VUS; local or partial with a focus) of each part."""
    return 1.0 - np.array([run.held_out.quality(run.focus) for run in runs])


def _parts(rows: RowsToBoost, plan: BoostingPlan) -> list[Part]:
    """Rows to learn from and to hold out."""
    assert plan.choice is not None
    return list(rows.folds(N_FOLDS, plan.choice.n_held, FOLD_SEED, plan.n_jobs))


def _rows_of_race(rows: RowsToBoost, plan: BoostingPlan) -> RowsToBoost:
    """About as many rows as choose the size of trees, in this process; all if none is chosen."""
    assert plan.choice is not None
    if rows.n_rows <= RACE_ROWS:
        return rows.in_memory()
    if len(plan.choice.shapes) == 1:
        return rows
    return rows.sample(-(-rows.n_rows // RACE_ROWS), FOLD_SEED, plan.n_jobs).in_memory()


def _of_shape(plan: BoostingPlan, shape: TreeShape) -> BoostingPlan:
    return replace(plan, **shape._asdict())
