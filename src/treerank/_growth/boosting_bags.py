"""Bagged boosting: the mean of models that are each trained on four of five folds."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from treerank._binning.binning import Binning
from treerank._growth.boosting import BoostingPlan
from treerank._growth.boosting_fit import Boosted, RowsToBoost, boost
from treerank._growth.progress import Report
from treerank._input.stages import stage
from treerank._trees.packed_forest import join_forests

# Number of folds. Each bag leaves out the next one; after the last fold, new folds are drawn.
BAG_FOLDS = 5
BAG_SEED = 0x62616773  # so that these folds differ from those that choose the trees


def boost_bags(
    rows: RowsToBoost, binning: Binning, plan: BoostingPlan, report: Report | None
) -> Boosted:
    """Boost on the rows without one fold, for one fold after another, and average the models.

    If categories have a coding for each bag, the bags use theirs.
    """
    n_bags = plan.n_bags
    bags = _grow_bags(rows, binning, plan, report)
    trees = [
        replace(bag.trees, step=(bag.trees.step / n_bags).astype(np.float32))
        for bag in bags
        if bag.trees is not None
    ]
    joined = join_forests(trees) if trees else None
    start = float(np.mean([bag.start for bag in bags]))
    first = rows.with_coding(binning, 0)
    scored = first.scored(start, [] if joined is None else [joined], plan.n_jobs)
    return Boosted(joined, start, scored, np.empty(0), tuple(bag.n_trees for bag in bags))


def _grow_bags(
    rows: RowsToBoost, binning: Binning, plan: BoostingPlan, report: Report | None
) -> list[Boosted]:
    """Return the models of all bags."""
    n_threads, own = plan.side_by_side(rows.n_rows, plan.n_bags)
    progress = _Progress(report, plan.n_bags)

    def boost_bag(number: int) -> Boosted:
        draw, fold = divmod(number, BAG_FOLDS)
        some = rows.without_fold(BAG_FOLDS, fold, BAG_SEED + plan.seed + draw, own.n_jobs)
        seeded = replace(own, seed=plan.seed + number)
        bag = some.with_coding(binning, number)
        with progress.stopped_by_errors():
            return boost(bag, None, binning, seeded, progress.of_bag(number))

    if n_threads == 1:
        return [boost_bag(number) for number in range(plan.n_bags)]
    with (
        stage("grow"),
        ThreadPoolExecutor(n_threads) as threads,
        progress.stopped_by_errors(),
    ):
        return list(threads.map(boost_bag, range(plan.n_bags)))


class _Progress:
    """Progress of bags that are grown side by side; an error in one of them stops all."""

    def __init__(self, report: Report | None, n_bags: int) -> None:
        self.report, self.done = report, [0.0] * n_bags
        self.error: BaseException | None = None

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Stop all bags if the block fails or is interrupted."""
        try:
            yield
        except BaseException as error:
            self.error = self.error or error
            raise

    def of_bag(self, number: int) -> Report:
        """Return the function to which a bag reports its progress, and which may stop it."""

        def report(share: float) -> None:
            if self.error is not None:
                raise self.error
            self.done[number] = share
            if self.report is not None:
                self.report(sum(self.done) / len(self.done))

        return report
