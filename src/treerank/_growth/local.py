"""Training rows in this process: folds, growth of trees, and held-out counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Coded
from treerank._binning.encoding import Encoding, Matrix, fit_encoding
from treerank._device.device import Device
from treerank._growth.device_rows import DeviceRows
from treerank._growth.splitter_trees import grow_cell_trees
from treerank._growth.trees import TreeRankOptions, grow_trees
from treerank._input.validation import Table, TrainingData
from treerank._select.folds import Folds, assign_folds
from treerank._select.pruning import HeldOut, count_held_out
from treerank._trees.ranking_tree import CellTree


class TrainingRows(Protocol):
    """Interface of the training rows of a tree, wherever they are."""

    @property
    def names(self) -> list[str]:
        """Names of the features."""

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""

    @property
    def binning(self) -> Binning:
        """How features are encoded."""

    @property
    def monotonic(self) -> NDArray[np.int8]:
        """Monotone constraints of the features."""

    def folds(self, cv: Any, seed: int) -> Any:
        """Assign the rows to folds; return None if a class is too small."""

    def sample(self, limit: int, seed: int) -> TrainingRows:
        """Return a sample of about `limit` rows in memory; self if few of them are different."""

    def in_memory(self, limit: int) -> LocalRows | None:
        """Return all rows in this process if there are at most `limit`, else None."""

    def grow(self, options: TreeRankOptions, folds: Any) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""

    def held_out(self, trees: Sequence[CellTree], folds: Any) -> list[HeldOut]:
        """Count the held-out rows of each fold in the cells of its tree."""


# The effective number of different rows in a sample, as a share of its intended size, must be this
# large.
LEAST_DIFFERENT = 0.5


@dataclass(frozen=True)
class LocalRows:
    """Codes and labels as arrays."""

    data: TrainingData
    coded: Coded
    monotonic: NDArray[np.int8]
    splitter: Any  # None: LeafRank, grown by the core
    n_jobs: int
    verbose: int
    device: Device | None = None  # None: the CPU
    _known_hashes: dict[int, NDArray[np.uint64]] = field(default_factory=dict, init=False)

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
        """How features are encoded."""
        return self.coded.binning

    def sample(self, limit: int, seed: int) -> TrainingRows:
        """Return a sample of about `limit` rows; self if there are no more, or many equal ones."""
        if self.data.table.n_rows <= limit:
            return self
        sizes = self.data.class_rows
        bounds = sample_bounds(sizes, limit)
        rows = _core.rows_up_to(self._hashes(seed), self.data.labels, bounds, self.n_jobs)
        some = self.take(rows)
        return some if some.represents(sizes, limit, seed) else self

    def represents(self, sizes: NDArray[np.integer[Any]], limit: int, seed: int) -> bool:
        """Whether these rows, sampled from classes of the given sizes, are different enough.

        Equal rows are sampled together: if there are many of them, a sample tells no more than a
        smaller one of different rows would, and may even lack a class.
        """
        hashes, wanted = self._hashes(seed), limit / len(sizes)
        for k in np.flatnonzero(sizes > wanted):
            repeats = np.unique(hashes[self.data.labels == k], return_counts=True)[1]
            n_different = repeats.sum() ** 2 / max((repeats**2).sum(), 1)  # effective, by Kish
            if n_different < LEAST_DIFFERENT * wanted:
                return False
        return True

    def in_memory(self, limit: int) -> LocalRows | None:
        """Return all rows if there are at most `limit`, else None."""
        return self if self.data.table.n_rows <= limit else None

    def _hashes(self, seed: int) -> NDArray[np.uint64]:
        """Return a hash of the content of each row."""
        if seed not in self._known_hashes:
            self._known_hashes[seed] = self.coded.row_hashes(self.data.labels, seed, self.n_jobs)
        return self._known_hashes[seed]

    def take(self, rows: NDArray[np.intp]) -> LocalRows:
        """Return some of the rows."""
        data, coded = self.data, self.coded
        table = Table(len(rows), data.table.names, None, [])
        return replace(
            self,
            data=TrainingData(
                table, data.classes, data.labels[rows], data.weights.take(rows), len(rows),
                slice(None),
            ),
            coded=coded.take(rows),
        )  # fmt: skip

    def folds(self, cv: Any, seed: int) -> Folds | None:
        """Assign the rows to folds."""
        return assign_folds(cv, self._hashes, self.data, seed, self.n_jobs)

    def grow(self, options: TreeRankOptions, folds: Folds | None) -> Sequence[CellTree]:
        """Grow a tree on all rows, then one without each fold."""
        if options.leafrank is not None:
            return grow_trees(
                self.coded, self.data, self.monotonic, options, folds, self.n_jobs, self.verbose,
                self._on_device,
            )  # fmt: skip
        encoding, matrix = self._encoded
        return grow_cell_trees(
            matrix, self.coded.codes, self.data, encoding, splitter=self.splitter,
            options=options, folds=folds, n_jobs=self.n_jobs, verbose=self.verbose,
        )  # fmt: skip

    def held_out(self, trees: Sequence[CellTree], folds: Folds) -> list[HeldOut]:
        """Count the held-out rows of each fold in the cells of its tree."""
        if self.splitter is None and self._on_device is not None and self._on_device.is_placed:
            return self._on_device.held_out(trees, folds)
        rows = self.coded.codes if self.splitter is None else self._encoded[1]
        return count_held_out(trees, folds, rows, self.data, self.n_jobs)

    @cached_property
    def _on_device(self) -> DeviceRows | None:
        if self.device is None:
            return None
        made, units = self.coded.made, self.data.weights.units
        return DeviceRows(self.device, made, self.data, self.binning, self.monotonic, units)

    @cached_property
    def _encoded(self) -> tuple[Encoding, Matrix]:
        return fit_encoding(self.data.table, self.binning, self.data.weights)


def sample_bounds(sizes: NDArray[np.integer[Any]], limit: int) -> NDArray[np.uint64]:
    """Return the largest hash of each class that is sampled, for equally many rows of each class.

    If a class has too few rows for that, all of them are sampled. Whether a row is sampled depends
    only on its content, not on the order or the location of the rows.
    """
    share = np.minimum(1.0, limit / len(sizes) / np.maximum(sizes, 1))
    bounds = np.floor(share * 2.0**53).astype(np.uint64) << np.uint64(11)
    return np.where(share >= 1.0, np.uint64(2**64 - 1), bounds)
