"""Smoothed class shares of leaves, and their ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treerank._trees.axis_tree import AxisTree

# The m-estimate adds this many cases of the class of interest to each leaf.
ADDED_CASES = 10.0
# Lower bound of the prior of the class of interest, so that the m-estimate stays finite.
LEAST_PRIOR = 1e-300
# Estimates closer than this are considered equal up to rounding.
SAME_PROBABILITY = 1e-12


def smooth_shares(
    tree: AxisTree, smoothing: str | None, interest: int
) -> NDArray[np.float64] | None:
    """Return the class shares of the leaves; a leaf without cases has the prior shares."""
    if tree.counts is None:
        return None
    n_classes = tree.counts.shape[1]
    reached = tree.reached_leaves()
    weight = tree.counts[reached].sum()
    if not (tree.counts.min() >= 0 and 0 < weight < np.inf):
        raise ValueError(
            "Got a tree without cases in its leaves, or with negative counts; expected some "
            "weight, and finite class counts."
        )
    prior = tree.counts[reached].sum(axis=0) / weight
    size = tree.counts.sum(axis=1, keepdims=True)
    if smoothing == "laplace":
        return np.asarray((tree.counts + 1) / (size + n_classes))
    if smoothing == "m":
        m = ADDED_CASES / max(prior[interest], LEAST_PRIOR)
        return np.asarray((tree.counts + m * prior) / (size + m))
    return np.asarray(np.where(size > 0, tree.counts / np.maximum(size, 1e-300), prior))


def dense_rank(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank values: 0 for the smallest, 1 for the next, …; equal up to rounding means equal rank."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values))
    rank[order] = np.cumsum(np.diff(values[order], prepend=values[order[0]]) > SAME_PROBABILITY)
    return rank
