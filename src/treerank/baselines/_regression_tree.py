"""A fitted regression tree as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank._input.types import Floats, Ints


@dataclass(frozen=True)
class RegressionTree:
    """Rows go left if ``x[feature] <= threshold``, in single precision as they were fitted.

    A leaf is its own child on both sides.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats
    depth: int

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Take the arrays of a fitted `DecisionTreeRegressor`."""
        tree = fitted.tree_
        own = np.arange(tree.node_count)
        is_leaf = tree.children_left < 0
        return cls(
            feature=np.where(is_leaf, 0, tree.feature).astype(np.int64),
            threshold=np.where(is_leaf, 0.0, tree.threshold),
            left=np.where(is_leaf, own, tree.children_left),
            right=np.where(is_leaf, own, tree.children_right),
            value=tree.value[:, 0, 0].copy(),
            depth=int(tree.max_depth),
        )

    def predict(self, X: Floats) -> Floats:
        """Return the value of each row's leaf."""
        with np.errstate(over="ignore"):  # beyond single precision is beyond every threshold
            single = X.astype(np.float32)
        rows = np.arange(len(X))
        at = np.zeros(len(X), dtype=np.int64)
        for _ in range(self.depth):
            goes_left = single[rows, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return self.value[at]
