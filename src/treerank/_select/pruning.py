"""Pruning: chooses among the nested subtrees, and the amount of shrinkage, on held-out rows.

The tree of each fold is evaluated only on its held-out rows. The quality of a subtree follows from
the held-out class counts of its cells, so the rows have to be passed through a tree only once for
all its subtrees and all amounts of shrinkage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta, factorial

from treerank import _core
from treerank._input.focus import WHOLE, Focus
from treerank._input.validation import TrainingData
from treerank._input.weighted_sum import weighted_sum
from treerank._select.folds import Folds
from treerank._trees.ranking_tree import CellTree, find_sequences

# Amounts of shrinkage that shrinkage="cv" tries, in rows.
SHRINKAGES = np.concatenate([[0.0], np.geomspace(1.0, 1000.0, 10)])
# Held-out AUCs that differ by less than this, in standard errors of the best, are considered equal:
# then the smaller tree is chosen, and the shrinkage with the smaller Brier score.
SMALLER_TREE_SLACK = 0.1
# The same for soft labels of two classes: trees grown to them gain a little with every further
# split. The VUS of more classes has so large a standard error that this would cost too much.
SOFT_TREE_SLACK = 0.4
SHRINKAGE_SLACK = 0.5
# With a focus, local or partial AUCs within this many standard errors of the best are considered
# equal; the choice among them is left to the AUC, which is based on more rows.
FOCUS_SLACK = 1.0
# By default, a tree is kept only if its held-out AUC is this many standard errors (of a random
# ranking) above 1/2: the best of many subtrees of noise is a little above 1/2 by chance.
NOISE_LIMIT = 3.0


def smaller_tree_slack(is_soft: bool, n_classes: int) -> float:
    """Return the standard errors of the best by which a smaller tree may be worse."""
    return SOFT_TREE_SLACK if is_soft and n_classes == 2 else SMALLER_TREE_SLACK


@dataclass(frozen=True)
class PruningPath:
    """The nested subtrees, from the whole tree to the root, and their quality.

    Attributes
    ----------
    lambdas : array of shape (n_subtrees,)
        Subtree k maximizes ``AUC - lambda * leaves`` for lambda in
        ``[lambdas[k], lambdas[k + 1])``.
    n_leaves : array of shape (n_subtrees,)
    train_auc : array of shape (n_subtrees,)
        Training AUC with the leaves in the order of the tree; VUS for more than two classes.
    heldout_auc : array of shape (n_subtrees,)
        Held-out AUC with the best shrinkage for the subtree, averaged over the folds; VUS for
        more than two classes.
    heldout_std_error : array of shape (n_subtrees,)
        Standard error of that mean.
    shrinkage : array of shape (n_subtrees,)
        The best shrinkage for each subtree; NaN if scores are not shrunk.
    chosen : int
        Index of the subtree that `fit` kept.
    """

    lambdas: NDArray[np.float64]
    n_leaves: NDArray[np.int64]
    train_auc: NDArray[np.float64]
    heldout_auc: NDArray[np.float64]
    heldout_std_error: NDArray[np.float64]
    shrinkage: NDArray[np.float64]
    chosen: int


@dataclass(frozen=True)
class HeldOut:
    """The tree of a fold, and the held-out class counts of all its cells."""

    tree: CellTree
    counts: NDArray[np.float64]


def count_held_out(
    trees: Sequence[CellTree],
    folds: Folds,
    encoded: NDArray[Any],
    data: TrainingData,
    n_jobs: int,
) -> list[HeldOut]:
    """Pass the rows of each fold (columns of `encoded`) through the tree grown without them."""
    found = type(trees[0]).held_out_weights(
        trees, encoded, data.labels, data.weights, folds.fold, n_jobs
    )
    return [
        HeldOut(tree, tree.cell_counts(units / data.weights.scale))
        for tree, units in zip(trees, found, strict=True)
    ]


class Chosen(NamedTuple):
    """The subtree and shrinkage chosen by held-out rows, and how they rank these rows."""

    path: PruningPath
    shrinkage: float  # NaN: keep the order of the tree
    top: float  # mean AUC over the folds; local or partial AUC if there is a focus
    top_std_error: float


def choose_subtree(
    tree: CellTree,
    held_out: list[HeldOut],
    shrinkages: NDArray[np.float64],
    prune: bool,
    slack: float,
    noise_limit: float = NOISE_LIMIT,
    n_jobs: int = 1,
    focus: Focus | None = None,
) -> Chosen:
    """Choose a subtree and an amount of shrinkage.

    The smallest subtree whose held-out AUC is within `slack` standard errors of the best is chosen.
    Lambda is evaluated at the geometric means of neighbouring values, as in CART. The AUC decides
    first; if it hardly differs, the size of the tree and the Brier score of the shares of positives
    decide. With a focus, only candidates whose local or partial AUC is within one standard error of
    the best are considered.
    """
    find_sequences([tree, *(part.tree for part in held_out)], n_jobs)
    lambdas, collapsed_at = tree.sequence
    n_subtrees = len(lambdas) if prune else 1
    tried = np.append(np.sqrt(lambdas[:-1] * lambdas[1:]), np.inf)[:n_subtrees]
    auc, squares = held_out_worth(held_out, tried, shrinkages, n_jobs)
    brier = squares.mean(axis=0)
    mean, errors = _over_folds(auc)
    top, top_errors = mean, errors
    allowed = np.ones(mean.shape, dtype=bool)
    if focus is not None:
        top, top_errors = _over_folds(held_out_worth(held_out, tried, shrinkages, n_jobs, focus)[0])
        allowed = top >= top.max() - FOCUS_SLACK * top_errors.flat[np.argmax(top)]
    judged = np.where(allowed, mean, -1.0)
    error = errors.flat[np.argmax(judged)]

    best_of_subtree = judged.max(axis=1)
    chosen = int(np.flatnonzero(best_of_subtree >= judged.max() - slack * error)[-1])
    near = judged >= best_of_subtree[:, np.newaxis] - SHRINKAGE_SLACK * error
    shrinkage = np.argmin(np.where(near, brier, np.inf), axis=1)
    at = np.arange(n_subtrees), shrinkage
    chance, noise = random_quality([part.counts[0] for part in held_out])
    if prune and mean[at][chosen] <= chance + noise_limit * noise:
        chosen = n_subtrees - 1
    in_training = _worth_along_paths([HeldOut(tree, tree.counts)], np.array([np.nan]), n_jobs)
    collapsed = np.cumsum(np.bincount(collapsed_at[tree.is_split], minlength=len(lambdas)))
    path = PruningPath(
        lambdas=lambdas[:n_subtrees],
        n_leaves=(len(tree.leaves) - collapsed)[:n_subtrees],
        train_auc=in_training[0][0][0, :n_subtrees],
        heldout_auc=mean[at],
        heldout_std_error=errors[at],
        shrinkage=shrinkages[shrinkage],
        chosen=chosen,
    )
    return Chosen(
        path, float(path.shrinkage[chosen]), float(top[at][chosen]), float(top_errors[at][chosen])
    )


def _over_folds(worth: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over the folds and its standard error."""
    return worth.mean(axis=0), worth.std(axis=0, ddof=1) / np.sqrt(len(worth))


def held_out_worth(
    held_out: list[HeldOut],
    tried: NDArray[np.float64],
    shrinkages: NDArray[np.float64],
    n_jobs: int,
    focus: Focus | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the held-out AUC and Brier score for each (fold, lambda, shrinkage).

    A NaN shrinkage stands for the order of the tree, whose Brier score does not matter. With more
    than two classes, they are the VUS and the ranked probability score, which is the sum of the
    Brier scores over all cuts of the classes into two groups.
    """
    auc, brier = [], []
    worth = _worth_along_paths(held_out, shrinkages, n_jobs, focus)
    for part, (of_steps, squares) in zip(held_out, worth, strict=True):
        step = np.searchsorted(part.tree.sequence[0], tried, side="right") - 1
        auc.append(of_steps[:, step].T)
        brier.append(squares[:, step].T)
    return np.array(auc), np.array(brier)


def _worth_along_paths(
    held_out: list[HeldOut],
    shrinkages: NDArray[np.float64],
    n_jobs: int,
    focus: Focus | None = None,
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return AUC and Brier score of all nested subtrees of each tree, shrinkages x subtrees."""
    own_order = np.isnan(shrinkages)
    values, shares = [], []
    for part in held_out:
        tree = part.tree
        share = tree.shrunken_shares(np.where(own_order, 0.0, shrinkages))
        value = weighted_sum(share, tree.cut_weights, axis=2)
        value[own_order] = tree_order(tree)
        values.append(value)
        shares.append(share)
    trees = [part.tree for part in held_out]
    worth = _core.held_out_paths(
        [np.ascontiguousarray(tree.cells["left"]) for tree in trees],
        [np.ascontiguousarray(tree.cells["right"]) for tree in trees],
        [tree.sequence[1] for tree in trees],
        [np.ascontiguousarray(part.counts) for part in held_out],
        values, shares, n_jobs, WHOLE if focus is None else focus.for_core,
    )  # fmt: skip
    n_ways = len(shrinkages)
    return [(auc.reshape(n_ways, -1), brier.reshape(n_ways, -1)) for auc, brier in worth]


def tree_order(tree: CellTree) -> NDArray[np.float64]:
    """Return values that rank the cells in the order of the tree: preorder, best first."""
    return -np.arange(tree.n_cells, dtype=np.float64)


def random_quality(folds: list[NDArray[np.float64]]) -> tuple[float, float]:
    """Return the mean held-out AUC or VUS of a random ranking, and its standard error.

    `folds` has the number of held-out rows of each class by fold.

    A row of class k (of K) at quantile u of the ranking is in order with one row of each other
    class with probability ``u^(k-1) (1-u)^(K-k) / ((k-1)! (K-k)!)``. The variance of this placement
    over u gives the variance of the VUS. For two classes, the exact variance of the Mann-Whitney
    statistic is used.
    """
    n_classes = len(folds[0])
    chance = 1.0 / factorial(n_classes)
    k = np.arange(n_classes)
    rest = n_classes - 1 - k
    mean_square = beta(2 * k + 1, 2 * rest + 1) / (factorial(k) * factorial(rest)) ** 2
    variance = 0.0
    for rows in folds:
        variance += float(np.sum((mean_square - chance**2) / rows))
        if n_classes == 2:
            variance += 1.0 / (12.0 * float(np.prod(rows)))
    return float(chance), float(np.sqrt(variance)) / len(folds)
