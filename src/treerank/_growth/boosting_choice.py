"""Chooses the size and the number of the trees of boosting on held-out rows.

All folds advance together, one tree each at a time, so that their losses can be summed: the sum has
a clear minimum even if the curves of single folds fluctuate.

With a focus, the loss is chosen as well. First, the trees for the logistic loss are chosen by the
log-loss. They are kept unless the pairwise loss of the top ranks the top better, with trees of the
same size, or of the default size if that is larger. The quality at the top is too noisy to choose
the size, and the best trees for all rows may be smaller than the best ones for the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

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
FOLD_SEED = 0x726F756E6473  # so that these folds differ from those of category statistics
# Rounds without improvement before stopping: the loss falls and rises smoothly, the AUC is noisy.
PATIENCE_BY_LOSS, PATIENCE_BY_QUALITY = 25, 50
# The quality at the top is noisy, because few rows are there. It is measured after every FOCUS_STEP
# trees, and means of FOCUS_WINDOW measurements are compared.
FOCUS_STEP, FOCUS_WINDOW = 4, 5
# The pairwise loss of the top must be better than the plain loss by this many standard errors.
LEAST_AHEAD = 0.25
# Maximum number of rows that choose the size of the trees; all rows choose their number.
RACE_ROWS = 50_000


@dataclass(frozen=True)
class BoostingChoice:
    """The trees that boosting has chosen, and why.

    Attributes
    ----------
    max_depth, leafrank_depth : int
        Size of the trees.
    held_out_loss : dict
        Maps each size ``(max_depth, leafrank_depth)`` to its smallest loss on held-out rows. For
        two classes and the logistic loss, this is the log-loss; otherwise 1 minus the AUC (or the
        VUS, or the measure of `focus`). Empty if no rows were held out.
    n_trees : dict
        Maps each size to the number of trees with that loss, at the learning rate of the fit.
    held_out_top_loss : dict
        With a focus and ``loss="auto"``, maps each loss to 1 minus its local (partial) AUC on
        held-out rows, with the best number of trees for the loss. If the pairwise loss was chosen,
        `n_trees` has its number of trees for its size.
    max_leaf_nodes : int or None
        Maximum number of strata of trees grown best-first; None if they are grown level by level.
    """

    max_depth: int
    leafrank_depth: int
    held_out_loss: dict[tuple[int, int], float]
    n_trees: dict[tuple[int, int], int]
    held_out_top_loss: dict[str, float] = field(default_factory=dict)
    max_leaf_nodes: int | None = None


class _Tried(NamedTuple):
    """The smallest held-out loss for a size of trees, and the number of trees that gives it."""

    loss: float
    n_rounds: int
    ranking_losses: NDArray[np.float64]  # of each part, with these trees; compared for a focus


# Training rows and held-out rows.
Part = tuple[RowsToBoost, RowsToBoost]
Measure = Callable[["_Run"], int | float]
Combine = Callable[[tuple[Any, ...]], NDArray[np.float64]]
# Trees of each part that a thread grows before it waits for the others; those beyond the last that
# is needed are grown in vain.
AHEAD = 8
LARGEST_LOSS = 64.0  # maximum log-loss of a row; larger ones count as this


class _Run:
    """Boosting on the training rows of a part, with the scores of its held-out rows."""

    def __init__(self, part: Part, binning: Binning, plan: BoostingPlan) -> None:
        learned, held_out = part
        start = start_score(plan.loss, learned.class_units)
        self.focus = plan.focus
        self.rounds = iter(learned.rounds(binning, plan, start, []))
        self.held_out = held_out.scored(start, [], plan.n_jobs)
        self.units = int(held_out.class_units.sum())

    def advance(self, numbers: range, step: int, measure: Measure) -> list[Any]:
        """Grow a tree for each number, and after every `step` trees measure the held-out rows."""
        return [self._next(measure if number % step == 0 else None) for number in numbers]

    def _next(self, measure: Measure | None) -> Any:
        tree = next(self.rounds, None)
        with stage("validation scores"):
            if tree is not None:
                self.held_out.add(tree)
            return None if measure is None else measure(self)


def choose_trees(
    rows: RowsToBoost, binning: Binning, plan: BoostingPlan, report: Report | None
) -> tuple[BoostingPlan, BoostingChoice]:
    """Return the plan with the trees chosen by held-out rows."""
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
    # If a single fold is held out, the number of trees is scaled up for the fifth of the rows that
    # was missing. With several folds, this was found to be unnecessary.
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
    """Return the first loss, unless another is better at the top by more than chance.

    Each loss is compared at its best number of trees, which is optimistic. So another loss has to
    be better by a fraction of the standard error of the difference, estimated over the parts.
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
    """Try larger trees than the default as long as the loss falls; otherwise, smaller ones.

    Or the other way round, if the plan says so.
    """
    assert plan.choice is not None
    shapes, usual = plan.choice.shapes, plan.choice.usual
    tried = {shapes[usual]: _try(parts, binning, _of_shape(plan, shapes[usual]), report)}
    for step in (-1, 1) if plan.choice.tries_smaller_first else (1, -1):
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
    """Boost on all parts, one tree each at a time, until the held-out loss stops improving."""
    assert plan.choice is not None
    by_loss = plan.choice.by_loss and plan.loss == "logistic"
    patience = PATIENCE_BY_LOSS if by_loss else PATIENCE_BY_QUALITY
    is_noisy = plan.focus is not None and not by_loss
    step, window = (FOCUS_STEP, FOCUS_WINDOW) if is_noisy else (1, 1)
    # With a focus, the state of all parts at the best number of trees is needed.
    n_threads, own = (1, plan) if plan.focus else plan.side_by_side(_n_rows(parts[0]), len(parts))
    runs = [_Run(part, binning, own) for part in parts]
    measure, mean_of = _log_loss_of(runs) if by_loss else (_quality_of, _lost_quality)
    measured: list[NDArray[np.float64]] = []
    least, best, ranking_losses = np.inf, 1, np.empty(0)
    for number, found in _rounds(runs, plan.n_rounds, step, measure, n_threads):
        if report is not None:
            report(number / plan.n_rounds)
        if number % step:
            continue
        measured.append(mean_of(found))
        mean = np.mean(measured[-window:], axis=0)
        loss = float(np.mean(mean)) if len(measured) >= window else np.inf
        if loss < least:
            least, best = loss, number
            ranking_losses = _ranking_loss(runs) if by_loss and plan.focus is not None else mean
        elif number - best >= patience:
            break
    return _Tried(least, best - step * (window // 2), ranking_losses)


def _rounds(
    runs: list[_Run], n_rounds: int, step: int, measure: Measure, n_threads: int
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the number of trees and what was measured on each part, round by round.

    Threads grow a few trees of each part before they wait for each other.
    """
    ahead = AHEAD if n_threads > 1 else 1
    with ThreadPoolExecutor(n_threads) as threads:
        each = threads.map if n_threads > 1 else map
        for first in range(1, n_rounds + 1, ahead):
            numbers = range(first, min(first + ahead, n_rounds + 1))
            arguments = repeat(numbers), repeat(step), repeat(measure)
            found = list(each(_Run.advance, runs, *arguments))
            yield from zip(numbers, zip(*found, strict=True), strict=True)


def _log_loss_of(runs: list[_Run]) -> tuple[Measure, Combine]:
    """Return a function for the log-loss of two classes of a part, and one for their mean.

    The scores are log-odds; sums are exact.
    """
    units = sum(run.units for run in runs)
    sums = ExactSums(units, LARGEST_LOSS)
    return (
        lambda run: run.held_out.log_loss(sums),
        lambda totals: np.array([sums.number(np.int64(sum(totals))) / units]),
    )


def _quality_of(run: _Run) -> float:
    """Return the AUC (VUS; local or partial AUC with a focus) of a part."""
    return run.held_out.quality(run.focus)


def _lost_quality(qualities: tuple[float, ...]) -> NDArray[np.float64]:
    """Return 1 minus the quality of each part."""
    return 1.0 - np.array(qualities)


def _ranking_loss(runs: list[_Run]) -> NDArray[np.float64]:
    return _lost_quality(tuple(_quality_of(run) for run in runs))


def _n_rows(part: Part) -> int:
    learned, held_out = part
    return learned.n_rows + held_out.n_rows


def _parts(rows: RowsToBoost, plan: BoostingPlan) -> list[Part]:
    """Return training and held-out rows."""
    assert plan.choice is not None
    return list(rows.folds(N_FOLDS, plan.choice.n_held, FOLD_SEED, plan.n_jobs))


def _rows_of_race(rows: RowsToBoost, plan: BoostingPlan) -> RowsToBoost:
    """Return a sample of about RACE_ROWS rows in this process; all rows if no size is chosen."""
    assert plan.choice is not None
    if rows.n_rows <= RACE_ROWS:
        return rows.in_memory()
    if len(plan.choice.shapes) == 1:
        return rows
    return rows.sample(-(-rows.n_rows // RACE_ROWS), FOLD_SEED, plan.n_jobs).in_memory()


def _of_shape(plan: BoostingPlan, shape: TreeShape) -> BoostingPlan:
    return replace(plan, **shape._asdict())
