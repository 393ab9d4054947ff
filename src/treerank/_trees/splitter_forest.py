"""The trees of a forest whose cells are split by objects in Python: classifiers, grids.

The same questions can be asked of it as of :class:`~treerank._trees.packed_forest.ForestArrays`,
with the matrix of :mod:`treerank._binning.encoding` in place of codes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from treerank._binning.encoding import Matrix
from treerank._trees.packed_forest import Sampling
from treerank._trees.splitter_tree import SplitterTree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SplitterForest:
    """Ranking trees split in Python; `values`, one per cell and tree, are there once folded."""

    trees: list[SplitterTree]
    by_rank: bool
    cut_weights: Floats  # of the ways to cut the classes in two
    values: list[Floats] | None = None
    shrinkage: float = 0.0
    scale: float = 1.0

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def nbytes(self) -> int:
        """Bytes of the trees, splitters included, as they are pickled."""
        return len(pickle.dumps(self.trees))

    def size(self, tree: int) -> str:
        """Say how large a tree is."""
        return f"{self.trees[tree].n_cells} cells"

    def bake_shrinkage(
        self, shrinkage: float, scale: float = 1.0, n_jobs: int = 1
    ) -> SplitterForest:
        """One number per cell, for this amount of shrinkage, steps being multiplied by `scale`."""
        folded = replace(self, shrinkage=shrinkage, scale=scale)
        values = [
            mid_ranks(tree) if self.by_rank else folded._shares(tree) @ self.cut_weights
            for tree in self.trees
        ]
        return replace(folded, values=values)

    def _shares(self, tree: SplitterTree) -> Floats:
        """Shares above each class but the last, in each cell."""
        shares = tree.shrunken_shares(self.shrinkage)
        return np.asarray(shares[0] + self.scale * (shares - shares[0]))

    def apply(self, rows: Matrix, n_jobs: int) -> NDArray[np.int32]:
        """Find the cell in which each row ends, in each tree: trees x rows."""
        return np.array(self._ask(lambda tree, _: tree.apply(rows), n_jobs))

    def each(self, rows: Matrix, n_jobs: int) -> NDArray[np.float32]:
        """Value of each row in each tree: trees x rows."""
        found = self._ask(lambda tree, value: value[tree.apply(rows)].astype(np.float32), n_jobs)
        return np.array(found)

    def mean(self, rows: Matrix, n_jobs: int) -> Floats:
        """Mean value of each row over the trees."""
        # Added up one tree after another: the sum of a row must not depend on the other rows.
        total = np.zeros(rows.shape[1])
        for values in self._ask(lambda tree, value: value[tree.apply(rows)], n_jobs):
            total += values
        return total / self.n_trees

    def upper_shares(self, rows: Matrix, n_jobs: int) -> Floats:
        """Mean share of the classes above the first, the second, ...: rows x (classes - 1)."""
        total = np.zeros((rows.shape[1], len(self.cut_weights)))
        for tree, cells in zip(self.trees, self.apply(rows, n_jobs), strict=True):
            total += self._shares(tree)[cells]
        return total / self.n_trees

    def _ask(self, question: Callable[[SplitterTree, Floats], Any], n_jobs: int) -> list[Any]:
        assert self.values is not None
        with Parallel(n_jobs, require="sharedmem") as run:
            pairs = zip(self.trees, self.values, strict=True)
            return list(run(delayed(question)(tree, value) for tree, value in pairs))

    def out_of_bag(
        self,
        rows: Matrix,
        sampling: Sampling,
        chosen: NDArray[np.uint32],
        shrinkages: list[float],
        n_jobs: int,
    ) -> tuple[Floats, NDArray[np.int32]]:
        """Mean over the trees that did not draw a row: rows x shrinkages; their number.

        Relative to the shares at the roots, which differ by what was drawn.
        """
        n_rows = rows.shape[1]

        def unseen(number: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
            places = np.flatnonzero(sampling.counts(number, n_rows)[chosen] == 0)
            return places, self.trees[number].apply(rows[:, chosen[places]])

        sums = np.zeros((len(chosen), len(shrinkages)))
        n_trees = np.zeros(len(chosen), dtype=np.int32)
        with Parallel(n_jobs, require="sharedmem") as run:
            found = run(delayed(unseen)(number) for number in range(self.n_trees))
        for tree, (places, cells) in zip(self.trees, found, strict=True):
            values = np.column_stack(
                [path_values(tree, shrinkage, self.cut_weights) for shrinkage in shrinkages]
            )
            sums[places] += (values - values[0])[cells]
            n_trees[places] += 1
        with np.errstate(invalid="ignore"):  # rows that every tree has drawn: NaN
            return sums / n_trees[:, np.newaxis], n_trees

    def tree(self, number: int) -> SplitterForest:
        """One tree alone, as a view."""
        values = None if self.values is None else [self.values[number]]
        return replace(self, trees=[self.trees[number]], values=values)

    def joined(self, more: SplitterForest) -> SplitterForest:
        """Put more trees of the same forest behind these."""
        return replace(self, trees=[*self.trees, *more.trees], values=None)


def path_values(tree: SplitterTree, shrinkage: float, weights: Floats) -> Floats:
    """Score of each cell: shares of the classes along the path, shrunk towards the parent's."""
    return np.asarray(tree.shrunken_shares(shrinkage) @ weights)


def mid_ranks(tree: SplitterTree) -> Floats:
    """Share of the tree's rows below each leaf cell, half of its own counted."""
    weight = tree.counts.sum(axis=1)
    ranks = np.zeros(tree.n_cells)
    leaves = tree.leaves
    ranks[leaves] = 1.0 - (np.cumsum(weight[leaves]) - weight[leaves] / 2) / weight[0]
    return ranks
