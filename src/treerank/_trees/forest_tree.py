"""A view of one tree of a fitted forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import TableLike


class ForestTree:
    """One tree of a fitted forest: a view without data of its own.

    Parameters
    ----------
    forest : RankingForest
    number : int
        Index of the tree.
    """

    def __init__(self, forest: Any, number: int) -> None:
        self.forest = forest
        self.number = number

    def __repr__(self) -> str:
        return f"ForestTree({self.number}, {self.forest._trees.size(self.number)})"

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the index of the leaf in which each row ends."""
        codes, n_jobs = self.forest._codes(X)
        return np.asarray(self.forest._trees.tree(self.number).apply(codes, n_jobs)[0])

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the value of each row in this tree: its share of positives, or its rank."""
        codes, n_jobs = self.forest._codes(X)
        values = self.forest._trees.tree(self.number).each(codes, n_jobs)[0]
        return np.asarray(values, dtype=np.float64)
