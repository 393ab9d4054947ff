"""The trees of a forest whose cells are split by Python objects: classifiers or grids.

It has the interface of :class:`~treerank._trees.packed_forest.ForestArrays`, but takes the matrix
of :mod:`treerank._binning.encoding` instead of codes.
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
from treerank._input.types import Floats
from treerank._input.weighted_sum import weighted_sum
from treerank._trees.packed_forest import Sampling
from treerank._trees.splitter_tree import SplitterTree


@dataclass(frozen=True)
class SplitterForest:
    """Ranking trees split in Python; `bake_shrinkage` sets `values`, one per cell of each tree."""

    trees: list[SplitterTree]
    by_rank: bool
    cut_weights: Floats  # see `CellTree.cut_weights`
    values: list[Floats] | None = None
    shrinkage: float = 0.0
    scale: float = 1.0

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def nbytes(self) -> int:
        """Size of the pickled trees in bytes, including splitters."""
        return len(pickle.dumps(self.trees))

    def size(self, tree: int) -> str:
        """Describe the size of a tree."""
        return f"{self.trees[tree].n_cells} cells"

    def bake_shrinkage(
        self, shrinkage: float, scale: float = 1.0, n_jobs: int = 1
    ) -> SplitterForest:
        """Compute one value per cell for the given shrinkage; steps are multiplied by `scale`."""
        folded = replace(self, shrinkage=shrinkage, scale=scale)
        return replace(folded, values=[folded._values(tree) for tree in self.trees])

    def _values(self, tree: SplitterTree) -> Floats:
        """Return the value of each cell in the score."""
        if self.by_rank:
            return mid_ranks(tree)
        return weighted_sum(self._shares(tree), self.cut_weights, axis=1)

    def _shares(self, tree: SplitterTree) -> Floats:
        """Return the shares above each class but the last, in each cell."""
        shares = tree.shrunken_shares(self.shrinkage)
        return np.asarray(shares[0] + self.scale * (shares - shares[0]))

    def apply(self, rows: Matrix, n_jobs: int) -> NDArray[np.int32]:
        """Return the cell in which each row ends in each tree: trees x rows."""
        return np.array(self._ask(lambda tree, _: tree.apply(rows), n_jobs))

    def each(self, rows: Matrix, n_jobs: int) -> NDArray[np.float32]:
        """Return the value of each row in each tree: trees x rows."""
        found = self._ask(lambda tree, value: value[tree.apply(rows)].astype(np.float32), n_jobs)
        return np.array(found)

    def mean(self, rows: Matrix, n_jobs: int) -> Floats:
        """Return the mean value of each row over the trees."""
        # Summed tree by tree, so that the sum of a row does not depend on the other rows.
        total = np.zeros(rows.shape[1])
        for values in self._ask(lambda tree, value: value[tree.apply(rows)], n_jobs):
            total += values
        return total / self.n_trees

    def upper_shares(self, rows: Matrix, n_jobs: int) -> Floats:
        """Return the mean share above each class but the last: rows x (classes - 1)."""
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
        """Return sums over the trees that did not draw a row, rows x shrinkages, and their number.

        Values are relative to the share at the root of each tree, which depends on its sample.
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
        return sums, n_trees

    def tree(self, number: int) -> SplitterForest:
        """Return a view of a single tree."""
        values = None if self.values is None else [self.values[number]]
        return replace(self, trees=[self.trees[number]], values=values)

    def joined(self, more: SplitterForest) -> SplitterForest:
        """Append more trees of the same forest."""
        return replace(self, trees=[*self.trees, *more.trees], values=None)


def path_values(tree: SplitterTree, shrinkage: float, weights: Floats) -> Floats:
    """Return the score of each cell, from class shares that are shrunk along the path."""
    return weighted_sum(tree.shrunken_shares(shrinkage), weights, axis=1)


def mid_ranks(tree: SplitterTree) -> Floats:
    """Return the share of the weight ranked below each leaf cell, plus half of its own."""
    weight = tree.counts.sum(axis=1)
    ranks = np.zeros(tree.n_cells)
    leaves = tree.leaves
    ranks[leaves] = 1.0 - (np.cumsum(weight[leaves]) - weight[leaves] / 2) / weight[0]
    return ranks
