"""The ranking tree as fixed-width arrays, and computations on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._device.held_out import FoldTree
from treerank._input.validation import Table
from treerank._input.weights import Weights

# Same layout as the structs of the core (src/core/data/types.hpp).
CELL = np.dtype(
    [
        ("parent", "<i4"), ("left", "<i4"), ("right", "<i4"), ("depth", "<i4"),
        ("first_test", "<i4"), ("last_test", "<i4"), ("worse_class", "<i4"),
        ("better_class", "<i4"), ("auc_gain", "<f8"),
    ]
)  # fmt: skip
TEST = np.dtype(
    [
        ("feature", "<i4"), ("cut", "<i4"), ("categorical", "u1"), ("missing_left", "u1"),
        ("unused", "<u2"), ("left", "<i4"), ("right", "<i4"), ("side", "<i4"),
        ("negative", "<f8"), ("positive", "<f8"),
    ]
)  # fmt: skip
SLOT = np.dtype([("next", "<u4"), ("feature", "<u2"), ("cut", "<u2")])
# Bits of `next` in a slot (src/core/tree/flat_tree.hpp), and the cut of a slot that ends a walk.
MISSING_RIGHT = np.uint32(1 << 30)
CATEGORICAL = np.uint32(1 << 31)
NEXT_MASK = np.uint32((1 << 30) - 1)
NO_CUT = 0xFFFF

Records = NDArray[Any]


def as_records(values: NDArray[np.uint8], dtype: np.dtype[Any]) -> Records:
    """View rows of bytes, as the core returns them, as records."""
    return np.ascontiguousarray(values).view(dtype).reshape(len(values))


def as_bytes(records: NDArray[Any]) -> NDArray[np.uint8]:
    """View records, or rows of numbers, as the rows of bytes that the core takes."""
    size = records.itemsize * (records.shape[1] if records.ndim == 2 else 1)
    return np.ascontiguousarray(records).view(np.uint8).reshape(len(records), size)


@dataclass(frozen=True)
class CellTree(ABC):
    """Cells and their class counts, however they are split.

    Parameters
    ----------
    cells : array of CELL records
        In preorder, so that leaf cells appear from left (best) to right (worst).
    counts : array of shape (n_cells, n_classes)
        Sum of sample weights of each class in each cell.
    shares : array of shape (n_cells, n_classes - 1), optional
        Share of the weight above each class but the last, by which cells are scored. If None, it
        is computed from the counts.
    """

    cells: Records
    counts: NDArray[np.float64]
    shares: NDArray[np.float64] | None = field(default=None, kw_only=True)

    @property
    def n_cells(self) -> int:
        """Number of cells, including inner ones."""
        return len(self.cells)

    @property
    def n_classes(self) -> int:
        """Number of ordered classes."""
        return int(self.counts.shape[1])

    @cached_property
    def cut_weights(self) -> NDArray[np.float64]:
        """Weight in the score of each cut of the ordered classes into two groups; they sum to 1.

        The score is a mean of the shares u above each class but the last. For one cut, the
        beta - alpha of a cell is its weight times ``(u - U) / (U (1 - U))``, where U is the share
        in the whole sample. Dividing by ``U (1 - U)`` thus puts all cuts on the scale of the AUC.
        """
        return cut_weights(self.counts[0])

    @cached_property
    def is_split(self) -> NDArray[np.bool_]:
        """Whether each cell has children."""
        return np.asarray(self.cells["left"] >= 0)

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """Indices of the leaf cells, best first in the order of the tree."""
        return np.flatnonzero(~self.is_split)

    @cached_property
    def sequence(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Cost-complexity lambdas, and the step at which each cell is collapsed.

        With up to three classes, the gains of the splits are additive; with four or more, the gain
        of a split depends on how the other cells are split.
        """
        left, right, gain = self.children_and_gains
        if not self._has_additive_gains:
            return _core.vus_complexity(left, right, np.ascontiguousarray(self.counts))
        return _core.cost_complexity(left, right, gain)

    @property
    def children_and_gains(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Left and right children of the cells, and the gains of their splits."""
        cells = self.cells
        return (
            np.ascontiguousarray(cells["left"]),
            np.ascontiguousarray(cells["right"]),
            np.ascontiguousarray(cells["auc_gain"]),
        )

    @property
    def _has_additive_gains(self) -> bool:
        return self.n_classes <= 3 and not (self.cells["auc_gain"] < 0).any()

    @abstractmethod
    def encode(self, table: Table, binning: Binning, n_jobs: int = 1) -> NDArray[Any]:
        """Return the rows in the form that `apply` takes, features x rows."""

    @abstractmethod
    def apply(self, rows: NDArray[Any], n_jobs: int = 1) -> NDArray[np.int32]:
        """Return the leaf cell of each row."""

    def leaf_weights(
        self, rows: NDArray[Any], labels: NDArray[np.uint8], weights: Weights, n_jobs: int = 1
    ) -> NDArray[np.int64]:
        """Return the units of each class in each leaf cell; rows of weight 0 are skipped."""
        units = weights.as_units
        chosen = np.arange(rows.shape[1]) if units is None else np.flatnonzero(units)
        cells = self.apply(np.ascontiguousarray(rows[:, chosen]), n_jobs)
        result = np.zeros((self.n_cells, self.n_classes), dtype=np.int64)
        np.add.at(result, (cells, labels[chosen]), 1 if units is None else units[chosen])
        return result

    @classmethod
    def held_out_weights(
        cls,
        trees: Sequence[CellTree],
        rows: NDArray[Any],
        labels: NDArray[np.uint8],
        weights: Weights,
        folds: NDArray[np.int32],
        n_jobs: int,
    ) -> list[NDArray[np.int64]]:
        """Return the `leaf_weights` of each tree for the rows of its fold."""
        return [
            tree.leaf_weights(rows, labels, weights.where(folds == fold), n_jobs)
            for fold, tree in enumerate(trees)
        ]

    @property
    def _levels(self) -> list[NDArray[np.intp]]:
        """Cells at depth 0, 1, ..."""
        depth = self.cells["depth"]
        ends = np.cumsum(np.bincount(depth))
        return np.split(np.argsort(depth, kind="stable"), ends[:-1])

    def subtree(self, keep_split: NDArray[np.bool_]) -> Self:
        """Keep only the marked splits; cells below an unmarked split are removed."""
        keep_split = keep_split & self.is_split
        reachable = np.zeros(self.n_cells, dtype=bool)
        reachable[0] = True
        for level in self._levels:
            kept = level[keep_split[level] & reachable[level]]
            reachable[self.cells["left"][kept]] = True
            reachable[self.cells["right"][kept]] = True
        keep_split = keep_split & reachable
        number = np.cumsum(reachable) - 1
        cells = self.cells[reachable].copy()
        split = keep_split[reachable]
        for name in ("left", "right", "first_test", "last_test", "worse_class", "better_class"):
            cells[name][~split] = -1
        cells["auc_gain"][~split] = 0.0
        for name in ("left", "right"):
            child: NDArray[np.int32] = cells[name]
            child[split] = number[child[split]]
        parent: NDArray[np.int32] = cells["parent"]
        parent[1:] = number[parent[1:]]
        fields = self._keep_splits(cells, split, np.flatnonzero(keep_split))
        if self.shares is not None:
            fields["shares"] = self.shares[reachable]
        return replace(self, cells=cells, counts=self.counts[reachable], **fields)

    @abstractmethod
    def _keep_splits(
        self, cells: Records, split: NDArray[np.bool_], old_numbers: NDArray[np.intp]
    ) -> dict[str, Any]:
        """Return the fields that describe the splits of a subtree."""

    def cell_counts(self, leaf_counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the counts of all cells from those of the leaf cells."""
        left, right, _ = self.children_and_gains
        counts = np.ascontiguousarray(leaf_counts, dtype=np.float64)
        return _core.sum_children(left, right, counts).reshape(counts.shape)

    def shrunken_shares(self, shrinkage: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shrunken shares above each class but the last in each cell.

        Along the path from the root, the change at a child of a parent of weight n is multiplied by
        ``1 / (1 + shrinkage / n)`` (hierarchical shrinkage, Agarwal et al., 2022). The shape is
        (n_cells, n_classes - 1), or (n_shrinkages, n_cells, n_classes - 1) for several shrinkages;
        for two classes, the values are the shares of positives.
        """
        share = upper_shares(self.counts) if self.shares is None else self.shares
        values = _core.shrink_along_paths(
            np.ascontiguousarray(self.cells["parent"]), self.counts.sum(axis=1),
            np.ascontiguousarray(share), np.ravel(np.asarray(shrinkage, dtype=np.float64)),
        )  # fmt: skip
        return values.reshape(np.shape(shrinkage) + share.shape)


@dataclass(frozen=True)
class RankTree(CellTree):
    """A master ranking tree whose inner cells are split by LeafRank trees.

    Parameters
    ----------
    cells : array of CELL records
        In preorder, so that leaf cells appear from left (best) to right (worst).
    counts : array of shape (n_cells, n_classes)
        Sum of sample weights of each class in each cell.
    tests : array of TEST records
        Nodes of the LeafRank trees; those of a cell are contiguous.
    category_sets : array of shape (n_sets, 4), uint64
        Codes that go left in a categorical test, one bit per code.
    """

    tests: Records
    category_sets: NDArray[np.uint64]

    @cached_property
    def flat(self) -> tuple[Records, NDArray[np.int32]]:
        """Slots for scoring, and what each leads to: the cell at its end, or its category set."""
        return self._compiled[:2]

    @cached_property
    def _compiled(self) -> tuple[Records, NDArray[np.int32], NDArray[np.int32]]:
        slots, target, test = _core.compile_tree(
            as_bytes(self.cells), as_bytes(self.tests), as_bytes(self.category_sets),
            self.is_split.astype(np.uint8),
        )  # fmt: skip
        return slots, target, test

    @property
    def left_shares(self) -> NDArray[np.float64]:
        """Share of the training weight that the test of each slot sends left; 0 at an end slot.

        With more than two classes, only the two classes that the split separates are counted.
        """
        test = self._compiled[2]
        negative: NDArray[np.float64] = self.tests["negative"]
        positive: NDArray[np.float64] = self.tests["positive"]
        weight = negative + positive
        asks = test >= 0
        shares = np.zeros(len(test))
        left = self.tests["left"][test[asks]]
        shares[asks] = weight[left] / weight[test[asks]]
        return shares

    def encode(self, table: Table, binning: Binning, n_jobs: int = 1) -> Codes:
        """Return the codes of the rows."""
        return binning.transform(table, n_jobs)

    def apply(self, rows: Codes, n_jobs: int = 1) -> NDArray[np.int32]:
        """Return the leaf cell of each row."""
        slots, target = self.flat
        return _core.apply(slots, target, as_bytes(self.category_sets), rows, n_jobs)

    @property
    def for_device(self) -> FoldTree:
        """The tree in the form that a device takes."""
        slots, target = self.flat
        return FoldTree(slots, target, as_bytes(self.category_sets), self.n_cells)

    def leaf_weights(
        self, rows: Codes, labels: NDArray[np.uint8], weights: Weights, n_jobs: int = 1
    ) -> NDArray[np.int64]:
        """Return the units of each class in each leaf cell; rows of weight 0 are skipped."""
        slots, target = self.flat
        result = _core.leaf_weights(
            slots, target, as_bytes(self.category_sets), rows, labels, weights.repeats,
            weights.units, self.n_cells, self.n_classes, n_jobs,
        )  # fmt: skip
        return result.reshape(self.n_cells, self.n_classes)

    @classmethod
    def held_out_weights(
        cls,
        trees: Sequence[CellTree],
        rows: Codes,
        labels: NDArray[np.uint8],
        weights: Weights,
        folds: NDArray[np.int32],
        n_jobs: int,
    ) -> list[NDArray[np.int64]]:
        """Return the `leaf_weights` of each tree for the rows of its fold."""
        own = [tree for tree in trees if isinstance(tree, RankTree)]
        found = _core.held_out_weights(
            [tree.flat[0] for tree in own], [tree.flat[1] for tree in own],
            [as_bytes(tree.category_sets) for tree in own], rows, labels, weights.repeats,
            weights.units, folds, [tree.n_cells for tree in own], own[0].n_classes, n_jobs,
        )  # fmt: skip
        return [one.reshape(tree.n_cells, -1) for one, tree in zip(found, own, strict=True)]

    def _keep_splits(
        self, cells: Records, split: NDArray[np.bool_], old_numbers: NDArray[np.intp]
    ) -> dict[str, Any]:
        """Drop the tests of removed cells, and renumber the others."""
        first: NDArray[np.int32] = cells["first_test"]
        last: NDArray[np.int32] = cells["last_test"]
        sizes = (last - first)[split]
        starts = np.cumsum(sizes, dtype=np.int32) - sizes
        shift = np.repeat(starts - first[split], sizes)
        tests = self.tests[np.arange(len(shift)) - shift]
        inner = tests["left"] >= 0
        for name in ("left", "right"):
            tests[name][inner] += shift[inner]
        first[split], last[split] = starts, starts + sizes
        categorical = tests["categorical"] == 1
        used, position = np.unique(tests["cut"][categorical], return_inverse=True)
        tests["cut"][categorical] = position
        return {"tests": tests, "category_sets": self.category_sets[used]}


def find_sequences(trees: Sequence[CellTree], n_jobs: int) -> None:
    """Compute the `sequence` of several trees in advance, one thread per tree."""
    waiting = [tree for tree in trees if "sequence" not in vars(tree) and tree._has_additive_gains]
    given = [tree.children_and_gains for tree in waiting]
    found = _core.cost_complexities(
        [left for left, _, _ in given], [right for _, right, _ in given],
        [gain for _, _, gain in given], n_jobs,
    )  # fmt: skip
    for tree, sequence in zip(waiting, found, strict=True):
        vars(tree)["sequence"] = sequence  # where `cached_property` stores it


def cut_weights(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `CellTree.cut_weights` for classes of the given sizes."""
    share = upper_shares(counts[np.newaxis])[0]
    weight = 1.0 / (share * (1.0 - share))
    return np.asarray(weight / weight.sum())


def upper_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share above each class but the last, in each cell."""
    above = np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1]
    return np.asarray(above / counts.sum(axis=1, keepdims=True))


def tree_from_core(arrays: tuple[Any, ...], scale: float) -> RankTree:
    """Wrap a tree of the core, and convert units back to weights."""
    cells, weight, tests, sets, _ = arrays
    tests = as_records(tests, TEST).copy()
    tests["negative"] /= scale
    tests["positive"] /= scale
    cells = as_records(cells, CELL)
    return RankTree(cells, weight.reshape(len(cells), -1) / scale, tests, sets.view(np.uint64))
