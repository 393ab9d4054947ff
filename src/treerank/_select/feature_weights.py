"""Weights of the features of a forest, estimated from out-of-bag rows.

A forest also tests uninformative features: each is drawn for some of the tests, and its steps are
noise that the trees have in common. Out-of-bag scores are sums over the features, so a ridge
regression of the labels on these parts tells how reliable each feature is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treerank._trees.ranking_tree import NEXT_MASK, NO_CUT, SLOT, as_records

if TYPE_CHECKING:
    from treerank._growth.forest_rows import Unseen
    from treerank._trees.packed_forest import ForestArrays

# Penalties to choose from: each is the inverse of an assumed variance of the weights.
PENALTIES = np.array([8.0, 16.0, 32.0, 64.0, 128.0, np.inf])
# Weights are rounded to multiples of 1 / PARTS, so that they do not depend on the order of sums.
PARTS = 64.0


def choose_feature_weights(some: Unseen, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the weights of the features; `some` has the part of each feature in the scores.

    They are fitted to the rows in `used` by least squares of the labels on the parts, with a
    penalty on deviations from 1 that is chosen by generalized cross-validation. Weights are not
    negative.
    """
    used = used & np.isfinite(some.means).all(axis=1)
    parts, labels = some.means[used], some.labels[used].astype(np.float64)
    n_rows, n_features = parts.shape
    if len(np.unique(labels)) < 2:
        return np.ones(n_features)
    share = np.ones(n_rows) if some.units is None else some.units[used].astype(np.float64)
    share *= n_rows / share.sum()
    target = labels - share @ labels / n_rows
    parts = parts - share @ parts / n_rows
    total = parts.sum(axis=1)
    spread, slope = share @ total**2, share @ (total * target)
    if spread <= 0 or slope <= 0:
        return np.ones(n_features)
    parts *= slope / spread
    rest = target - parts.sum(axis=1)
    # Along the principal axes of the parts, the coefficients are independent of each other.
    size, axes = np.linalg.eigh((parts * share[:, np.newaxis]).T @ parts)
    size, along = np.maximum(size, 0.0), axes.T @ (parts.T @ (share * rest))
    penalty = PENALTIES[:, np.newaxis] * (share @ target**2) / n_rows
    change = along / (size + penalty)
    squares = share @ rest**2 - 2.0 * change @ along + change**2 @ size
    freedom = 1.0 + (size / (size + penalty)).sum(axis=1)
    best = np.argmin(squares / (1.0 - np.minimum(freedom / n_rows, 0.9)) ** 2)
    weights = np.maximum(1.0 + axes @ change[best], 0.0)
    return np.asarray(np.rint(weights * PARTS) / PARTS)


def weigh_features(trees: ForestArrays, weights: NDArray[np.float64]) -> ForestArrays:
    """Multiply every step by the weight of the feature tested before it."""
    slots = as_records(trees.slots, SLOT)
    tests = np.flatnonzero(slots["cut"] != NO_CUT)
    first = np.repeat(trees.starts[:-1], np.diff(trees.starts))
    child = first[tests] + (slots["next"][tests] & NEXT_MASK)
    factor = np.ones(len(slots), dtype=np.float32)
    factor[child] = factor[child + 1] = weights[slots["feature"][tests]]
    return replace(trees, step=trees.step * factor)
