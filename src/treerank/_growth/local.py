"""Training rows in this process: dealt out to folds, grown on, and held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Coded
from treerank._binning.encoding import Encoding, Matrix, fit_encoding
from treerank._growth.splitter_trees import grow_cell_trees
from treerank._growth.trees import TreeRankOptions, grow_trees
from treerank._input.validation import TrainingData
from treerank._select.folds import Folds, assign_folds
from treerank._select.pruning import HeldOut, count_held_out
from treerank._trees.ranking_tree import CellTree


class TrainingRows(Protocol):
    """What a tree asks of its training rows, wherever they are."""

    @property
    def names(self) -> list[str]:
        """Names of the features."""

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""

    @property
    def binning(self) -> Binning:
        """How features are coded."""

    @property
    def monotonic(self) -> NDArray[np.int8]:
        """Constraints on the features."""

    def folds(self, cv: Any, seed: int) -> Any:
        """Deal the rows out to folds; None when a class is too small for any."""

    def grow(self, options: TreeRankOptions, folds: Any) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""

    def held_out(self, trees: Sequence[CellTree], folds: Any) -> list[HeldOut]:
        """Count the rows of each fold in the cells of the tree that has not seen them."""


@dataclass(frozen=True)
class LocalRows:
    """Codes and labels as arrays."""

    data: TrainingData
    coded: Coded
    monotonic: NDArray[np.int8]
    splitter: Any  # None: LeafRank, grown by the core
    n_jobs: int
    verbose: int

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.data.table.names

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""
        return self.data.classes

    @property
    def binning(self) -> Binning:
        """How features are coded."""
        return self.coded.binning

    def folds(self, cv: Any, seed: int) -> Folds | None:
        """Deal the rows out to folds."""
        return assign_folds(cv, self.coded.codes, self.data, seed, self.n_jobs)

    def grow(self, options: TreeRankOptions, folds: Folds | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""
        if options.leafrank is not None:
            return grow_trees(
                self.coded, self.data, self.monotonic, options, folds, self.n_jobs, self.verbose
            )
        encoding, matrix = self._encoded
        return grow_cell_trees(
            matrix, self.coded.codes, self.data, encoding, splitter=self.splitter,
            options=options, folds=folds, n_jobs=self.n_jobs, verbose=self.verbose,
        )  # fmt: skip

    def held_out(self, trees: Sequence[CellTree], folds: Folds) -> list[HeldOut]:
        """Pass the rows of each fold through the tree that has not seen them."""
        rows = self.coded.codes if self.splitter is None else self._encoded[1]
        return count_held_out(trees, folds, rows, self.data, self.n_jobs)

    @cached_property
    def _encoded(self) -> tuple[Encoding, Matrix]:
        return fit_encoding(self.data.table, self.binning, self.data.weights)
