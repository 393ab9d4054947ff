"""Structural AUC maximisation: the subtree with the largest AUC minus a penalty on its leaves.

The penalty is not linear in the leaves, so the nested subtrees of cost-complexity do not
do: the best subtree for every number of leaves is found by a dynamic programme.
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

# For tests of LeafRank and for the cubes of a grid: about the 95 % quantile, on 200 to 5,000 rows,
# of the least constant that prunes a tree of pure noise to its root. The numbers of the second
# penalty are 8 times smaller (sqrt(1 / 2) for sqrt(32)), and so it needs 8 times as much.
USUAL_CONSTANTS = {"tests": 0.05, "cubes": 0.4}
# Bounds that the training rows contradict by more standard errors than this are a mistake.
BOUNDS_LIMIT = 3.0


@dataclass(frozen=True)
class PenaltyPath:
    """The best subtree for every number of leaves, and what its size costs.

    Numbers of leaves whose penalty alone outweighs all that the tree gains are left out.

    Attributes
    ----------
    n_leaves : array of shape (n_subtrees,)
        1, 2, …
    train_auc : array of shape (n_subtrees,)
        Largest AUC, on the training rows, of any subtree with that number of leaves.
    penalty : array of shape (n_subtrees,)
        With the user's constant.
    chosen : int
        The subtree that `fit` kept: the largest ``train_auc - penalty``, on ties the
        smallest tree.
    """

    n_leaves: NDArray[np.int64]
    train_auc: NDArray[np.float64]
    penalty: NDArray[np.float64]
    chosen: int


@dataclass(frozen=True)
class StructuralPenalty:
    """The penalties of Clémençon, Depecker & Vayatis 2011, Proposition 6.

    With K leaves, n rows, q features and a share of positives known to lie in [low, high],
    the penalty is ``constant * sqrt(log(N) + K, scaled) / (low * (1 - high))``, where N
    bounds the number of ways in which such trees can rank the rows:

    - ``16 ((n + 1) q)^(2 K cuts)`` for LeafRank splits, the largest of which has
      `cuts` tests, and ``sqrt(32 (log N + K) / n)``;
    - ``4 K^(2^(resolution q))`` for unions of dyadic cubes, each of which belongs to one
      of K leaves, and ``sqrt((log N + K) / (2 n))``.

    Parameters
    ----------
    constant : float
        The theorem has 1, which is far too much for any usual number of rows; USUAL_CONSTANTS
        are about the least that prune labels of pure noise to the root.
    bounds : tuple of two floats, optional
        By default both are the share of positives in the training rows.
    n_features : int
    resolution : int, optional
        Cubes of side ``2^-resolution``; if given, the second penalty is taken.
    """

    constant: float
    bounds: tuple[float, float] | None
    n_features: int
    resolution: int | None = None

    def of(self, n_leaves: NDArray[np.int64], tree: CellTree) -> NDArray[np.float64]:
        """Penalty for each number of leaves, for subtrees of the given tree."""
        n_rows = float(tree.counts[0].sum())
        share = float(tree.counts[0, -1]) / n_rows
        low, high = self.bounds if self.bounds is not None else (share, share)
        if self.resolution is not None:
            # A power that is still a float; such a penalty outweighs any gain.
            cubes = 2.0 ** min(self.resolution * self.n_features, 1000)
            complexity = np.log(4.0) + cubes * np.log(n_leaves) + n_leaves
            root = np.sqrt(complexity / (2.0 * n_rows))
        else:
            ways = 2.0 * _most_cuts(tree) * n_leaves * np.log((n_rows + 1.0) * self.n_features)
            root = np.sqrt(32.0 * (np.log(16.0) + ways + n_leaves) / n_rows)
        return np.asarray(self.constant * root / (low * (1.0 - high)))


def prune_by_penalty(tree: CellTree, penalty: StructuralPenalty) -> tuple[CellTree, PenaltyPath]:
    """Return the subtree of largest ``AUC - penalty`` among all subtrees."""
    n_leaves = np.arange(1, len(tree.leaves) + 1)
    costs = penalty.of(n_leaves, tree)
    # No subtree gains more than the whole tree: what costs more cannot win.
    within = int(np.searchsorted(costs - costs[0], tree.cells["auc_gain"].sum(), side="right"))
    costs = np.ascontiguousarray(costs[: max(within, 1)])
    cells = tree.cells
    gains, keep_split = _core.penalised_subtree(
        np.ascontiguousarray(cells["left"]),
        np.ascontiguousarray(cells["right"]),
        np.ascontiguousarray(cells["auc_gain"]),
        costs,
    )
    path = PenaltyPath(
        n_leaves=n_leaves[: len(gains)],
        train_auc=0.5 + gains,
        penalty=costs,
        chosen=int(keep_split.sum()),
    )
    return tree.subtree(keep_split.astype(bool)), path


def check_penalty_bounds(bounds: Any) -> tuple[float, float] | None:
    """Bounds of the share of positives: 0 < low <= high < 1."""
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
    """Refuse bounds that the share of positives in the training rows all but rules out."""
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
    """Count the tests of the largest LeafRank tree: a binary tree of m tests has 2 m + 1 nodes."""
    nodes = (tree.cells["last_test"] - tree.cells["first_test"])[tree.is_split]
    return int(nodes.max(initial=3) - 1) // 2
