"""Boosting on rows wherever they are, with early stopping."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from treerank._binning.binning import Binning
from treerank._growth.boosting import BoostingPlan, BoostingRows
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import start_score
from treerank._growth.progress import Report
from treerank._input.focus import Focus
from treerank._input.stages import stage
from treerank._input.types import Floats
from treerank._trees.level_sets import forest_with_sets
from treerank._trees.packed_forest import ForestArrays, join_forests

# Trees that are grown without returning from the core: few enough to be interrupted soon.
AT_ONCE = 32


class Scored(Protocol):
    """Rows with their scores: the sums over the trees so far."""

    def add(self, tree: ForestArrays) -> None:
        """Add a tree to the scores."""

    def take_back(self, tree: ForestArrays) -> None:
        """Subtract a tree from the scores, which undoes `add` up to rounding."""

    def log_loss(self, sums: ExactSums) -> int:
        """Return the sum of the two-class log-loss."""

    def quality(self, focus: Focus | None) -> float:
        """Return the quality of the ranking by the scores."""

    def arrays(self) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Return the scores, classes and weights of all rows, in this process."""


class Rounds(Protocol):
    """Iterator over trees, which are added to the scores."""

    @property
    def scored(self) -> Scored:
        """The training rows."""

    def __iter__(self) -> Any:
        """Yield the trees of the next rounds, or None if they have no split."""

    def close(self) -> None:
        """End the rounds; afterwards, the scores include all trees."""


class RowsToBoost(Protocol):
    """Training or held-out rows, in this process or elsewhere."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def rank(self) -> NDArray[np.intp]:
        """Class of each row, in this process."""

    @property
    def class_units(self) -> NDArray[np.int64]:
        """Total weight of each class, in units."""

    def with_coding(self, binning: Binning, number: int) -> Self:
        """Return the rows with one of the codings of categories, if there are several."""

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows, given by ascending indices."""

    def without_fold(self, n_folds: int, fold: int, seed: int, n_jobs: int) -> Self:
        """Return all rows except those of a fold."""

    def folds(self, n_folds: int, n_held: int, seed: int, n_jobs: int) -> list[tuple[Self, Self]]:
        """Return (training rows, held-out rows) for each of the first `n_held` folds."""

    def sample(self, n_parts: int, seed: int, n_jobs: int) -> Self:
        """Return the first of `n_parts` parts of the rows."""

    def in_memory(self) -> BoostingRows:
        """Return the rows in this process."""

    def scored(self, start: float, trees: list[ForestArrays], n_jobs: int) -> Scored:
        """Return the rows with their scores after some trees."""

    def rounds(
        self,
        binning: Binning,
        plan: BoostingPlan,
        start: float,
        trees: list[ForestArrays],
        at_once: int = 1,
    ) -> Rounds:
        """Return the rounds that follow some trees; up to `at_once` trees may come together."""


class Boosted(NamedTuple):
    """The result of boosting, with trees of columns or of features."""

    trees: ForestArrays | None  # None: nothing could be learned
    start: float
    scored: Scored | None  # the training rows
    validation_scores: Floats  # AUC or VUS after each round
    bag_sizes: tuple[int, ...] = ()  # trees of each bag, one bag after the other; (): one bag

    @property
    def n_trees(self) -> int:
        """Total number of trees of all bags."""
        return 0 if self.trees is None else self.trees.n_trees

    def of_features(self, binning: Binning) -> Boosted:
        """Return the result with trees of features, as they score other rows."""
        trees = None if self.trees is None else forest_with_sets(self.trees, binning)
        return self._replace(trees=trees)

    def importances(self, n_features: int) -> Floats:
        """Return the share of each feature in the Newton gains."""
        gains = np.zeros(n_features) if self.trees is None else self.trees.importance.sum(axis=0)
        return gains / gains.sum() if gains.any() else gains


def trees_before(model: Any, classes: NDArray[Any], binning: Binning) -> Boosted | None:
    """Return the trees of the last fit to continue from, with a warm start."""
    if not model.warm_start or not hasattr(model, "_trees"):
        return None
    # Trees of columns are kept by fits with warm_start=True only, and not in files.
    trees = getattr(model, "_before_sets", None) if binning.ordered else model._trees
    if binning.ordered and trees is None:
        return None
    if not (binning.equals(model._binning) and np.array_equal(classes, model.label_order_)):
        raise ValueError(
            "Got other data, categories or bins with warm_start=True; expected those of the first "
            "fit."
        )
    if model.n_bags_ > 1:
        raise ValueError(
            f"Got warm_start=True after a fit of {model.n_bags_} bags; expected a fit with "
            "n_bags=1 to continue from."
        )
    if model.n_estimators < model.n_estimators_:
        raise ValueError(
            f"Got n_estimators={model.n_estimators} with warm_start=True; expected at least the "
            f"{model.n_estimators_} trees that there are."
        )
    return Boosted(trees, model._start, None, np.empty(0))


def hold_out(
    rows: RowsToBoost, plan: BoostingPlan, share: float
) -> tuple[RowsToBoost, RowsToBoost | None]:
    """Return training rows, and rows held out for early stopping."""
    if not plan.patience:
        return rows, None
    rank = rows.rank
    counts = np.bincount(rank)
    n_held = max(round(share * len(rank)), len(counts))
    if counts.min() < 2 or len(rank) - n_held < len(counts):
        raise ValueError(
            f"Got early_stopping=True and {counts.min()} rows of the rarest class; expected "
            "at least 2, to learn from and to hold out."
        )
    learn, held = train_test_split(
        np.arange(len(rank)), test_size=n_held, stratify=rank, random_state=plan.seed
    )
    return rows.take(np.sort(learn)), rows.take(np.sort(held))


def boost(
    rows: RowsToBoost,
    validation: RowsToBoost | None,
    binning: Binning,
    plan: BoostingPlan,
    report: Report | None,
    before: Boosted | None = None,
) -> Boosted:
    """Grow the trees one after another; if `before` is given, continue from its trees."""
    start = start_score(plan.loss, rows.class_units)
    trees: list[ForestArrays] = []
    if before is not None and before.trees is not None:
        start, trees = before.start, [before.trees]
    # Early stopping looks at each tree.
    rounds = rows.rounds(binning, plan, start, trees, 1 if validation is not None else AT_ONCE)
    held_out = None
    if validation is not None:
        held_out = _HeldOut(validation.scored(start, trees, plan.n_jobs), plan)
    for grown in rounds:
        if grown is None:
            continue
        trees.append(grown)
        if held_out is not None:
            with stage("validation scores"):
                held_out.add(grown)
            if held_out.is_patience_over:
                break
        if report is not None:
            report(sum(some.n_trees for some in trees) / plan.n_rounds)
    rounds.close()
    qualities = [] if held_out is None else held_out.qualities
    n_kept = len(trees)
    if qualities:
        n_kept += int(np.argmax(qualities)) + 1 - len(qualities)
    for tree in trees[n_kept:]:
        rounds.scored.take_back(tree)
    joined = join_forests(trees[:n_kept]) if n_kept > 0 else None
    return Boosted(joined, start, rounds.scored, np.array(qualities))


class _HeldOut:
    """Held-out rows, and the quality of their ranking after each tree."""

    def __init__(self, scored: Scored, plan: BoostingPlan) -> None:
        self.scored, self.plan = scored, plan
        self.qualities: list[float] = []

    def add(self, tree: ForestArrays) -> None:
        """Add a tree to the scores, and evaluate them."""
        self.scored.add(tree)
        self.qualities.append(self.scored.quality(self.plan.focus))

    @property
    def is_patience_over(self) -> bool:
        """Whether too many trees in a row have brought no improvement."""
        since = len(self.qualities) - 1 - int(np.argmax(self.qualities))
        return since >= self.plan.patience
