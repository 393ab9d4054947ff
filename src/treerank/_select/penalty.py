"""Structural AUC maximization: the subtree with the largest AUC minus a penalty on its leaves.

The penalty is not linear in the number of leaves, so the nested subtrees of cost-complexity pruning
are not sufficient: the best subtree for every number of leaves is found by dynamic programming.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._input.parameters import invalid_parameter
from treerank._trees.ranking_tree import CellTree

# For tests of LeafRank and for cubes of a grid: about the 95% quantile, with 200 to 5,000 rows, of
# the smallest constant that prunes a tree of pure noise to its root. The factor in the second
# penalty is 8 times smaller (sqrt(1 / 2) instead of sqrt(32)), so its constant is 8 times larger.
USUAL_CONSTANTS = {"tests": 0.05, "cubes": 0.4}
# Bounds are rejected if the training rows contradict them by more standard errors than this.
BOUNDS_LIMIT = 3.0


@dataclass(frozen=True)
class PenaltyPath:
    """The best subtree for every number of leaves, and its penalty.

    Numbers of leaves whose penalty alone exceeds the gain of the whole tree are omitted.

    Attributes
    ----------
    n_leaves : array of shape (n_subtrees,)
        1, 2, …
    train_auc : array of shape (n_subtrees,)
        Largest training AUC of any subtree with that number of leaves.
    penalty : array of shape (n_subtrees,)
        Penalty with the user's constant.
    chosen : int
        Index of the subtree that `fit` kept: the one with the largest ``train_auc - penalty``;
        on ties, the smallest.
    """

    n_leaves: NDArray[np.int64]
    train_auc: NDArray[np.float64]
    penalty: NDArray[np.float64]
    chosen: int


@dataclass(frozen=True)
class StructuralPenalty:
    """The penalties of Clémençon, Depecker & Vayatis 2011, Proposition 6.

    With K leaves, n rows, q features and a share of positives known to lie in [low, high], the
    penalty is ``constant * root / (low * (1 - high))``, where the root depends on a bound N on the
    number of ways in which such trees can rank the rows:

    - for LeafRank splits, the largest of which has `cuts` tests, N is
      ``16 ((n + 1) q)^(2 K cuts)`` and the root ``sqrt(32 (log N + K) / n)``;
    - for unions of dyadic cubes, each of which belongs to one of K leaves, N is
      ``4 K^(2^(resolution q))`` and the root ``sqrt((log N + K) / (2 n))``.

    Parameters
    ----------
    constant : float
        1 in the theorem, which is far too large for any usual number of rows; USUAL_CONSTANTS
        are about the smallest that prune trees of pure noise to the root.
    bounds : tuple of two floats, optional
        By default, both are the share of positives in the training rows.
    n_features : int
    resolution : int, optional
        Cubes have sides of ``2^-resolution``. If given, the second penalty is used.
    """

    constant: float
    bounds: tuple[float, float] | None
    n_features: int
    resolution: int | None = None

    def of(self, n_leaves: NDArray[np.int64], tree: CellTree) -> NDArray[np.float64]:
        """Return the penalty for each number of leaves of subtrees of the given tree."""
        n_rows = float(tree.counts[0].sum())
        share = float(tree.counts[0, -1]) / n_rows
        low, high = self.bounds if self.bounds is not None else (share, share)
        if self.resolution is not None:
            # Capped so that the power stays finite; such a penalty outweighs any gain anyway.
            cubes = 2.0 ** min(self.resolution * self.n_features, 1000)
            complexity = np.log(4.0) + cubes * np.log(n_leaves) + n_leaves
            root = np.sqrt(complexity / (2.0 * n_rows))
        else:
            ways = 2.0 * _most_cuts(tree) * n_leaves * np.log((n_rows + 1.0) * self.n_features)
            root = np.sqrt(32.0 * (np.log(16.0) + ways + n_leaves) / n_rows)
        return np.asarray(self.constant * root / (low * (1.0 - high)))


def prune_by_penalty(tree: CellTree, penalty: StructuralPenalty) -> tuple[CellTree, PenaltyPath]:
    """Return the subtree with the largest ``AUC - penalty`` among all subtrees."""
    n_leaves = np.arange(1, len(tree.leaves) + 1)
    costs = penalty.of(n_leaves, tree)
    # No subtree gains more than the whole tree, so larger penalties need not be considered.
    within = int(np.searchsorted(costs - costs[0], tree.cells["auc_gain"].sum(), side="right"))
    costs = np.ascontiguousarray(costs[: max(within, 1)])
    gains, keep_split = _core.penalised_subtree(*tree.children_and_gains, costs)
    path = PenaltyPath(
        n_leaves=n_leaves[: len(gains)],
        train_auc=0.5 + gains,
        penalty=costs,
        chosen=int(keep_split.sum()),
    )
    return tree.subtree(keep_split.astype(bool)), path


def check_penalty_bounds(bounds: Any) -> tuple[float, float] | None:
    """Check the bounds of the share of positives: 0 < low <= high < 1."""
    if bounds is None:
        return None
    try:
        low, high = bounds
    except (TypeError, ValueError):
        low = high = None
    is_number = all(isinstance(b, numbers.Real) and not isinstance(b, bool) for b in (low, high))
    if not is_number or not 0 < low <= high < 1:
        raise invalid_parameter(
            "penalty_bounds", bounds, "None or two shares of positives, 0 < low <= high < 1"
        )
    return float(low), float(high)


def check_share_within(bounds: tuple[float, float] | None, tree: CellTree) -> None:
    """Raise if the share of positives in the training rows contradicts the bounds."""
    if bounds is None:
        return
    n_rows = float(tree.counts[0].sum())
    share = float(tree.counts[0, -1]) / n_rows
    error = np.sqrt(share * (1.0 - share) / n_rows)
    low, high = bounds
    if not low - BOUNDS_LIMIT * error <= share <= high + BOUNDS_LIMIT * error:
        raise ValueError(
            f"Got penalty_bounds={bounds!r}, but the share of positives in the training rows is "
            f"{share:.3g}; expected bounds between which it may lie."
        )


def _most_cuts(tree: CellTree) -> int:
    """Return the tests of the largest LeafRank tree; a binary tree of m tests has 2 m + 1 nodes."""
    first: NDArray[np.int32] = tree.cells["first_test"]
    last: NDArray[np.int32] = tree.cells["last_test"]
    nodes = (last - first)[tree.is_split]
    return int(nodes.max(initial=3) - 1) // 2
