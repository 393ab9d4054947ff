"""A ranking tree whose cells are split by Python objects: classifiers or grids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._binning.encoding import Encoding, Matrix
from treerank._input.classifiers import innermost
from treerank._input.validation import Table
from treerank._trees.ranking_tree import CellTree, Records
from treerank.splitters import ClassifierSplit


@dataclass(frozen=True)
class CellSplit:
    """How one cell is split.

    Parameters
    ----------
    splitter : fitted splitter
    columns : array or None
        Columns that the splitter uses; None for all.
    turned : bool
        Whether the side that it calls better has the smaller share of positives in the cell.
    """

    splitter: Any
    columns: NDArray[np.intp] | None
    turned: bool = False

    def left(self, rows: Matrix) -> NDArray[np.bool_]:
        """Return whether each of the rows (columns x rows) goes to the better side."""
        seen = rows if self.columns is None else rows[self.columns]
        better = np.asarray(self.splitter.better_side(np.ascontiguousarray(seen.T)))
        if better.dtype != bool and not np.isin(better, (0, 1)).all():
            raise ValueError(
                f"Got values of type {better.dtype} from {self.splitter!r}.better_side; expected "
                "True or False for each row."
            )
        better = better.astype(bool)
        if better.shape != rows.shape[1:]:
            raise ValueError(
                f"Got an array of shape {better.shape} from {self.splitter!r}.better_side; "
                f"expected one answer for each of {rows.shape[1]} rows."
            )
        return np.asarray(better != self.turned)


@dataclass(frozen=True)
class SplitterTree(CellTree):
    """A ranking tree whose inner cells are split by classifiers or grids.

    Parameters
    ----------
    cells : array of CELL records
        In preorder, so that leaf cells appear from left (best) to right (worst).
    counts : array of shape (n_cells, n_classes)
        Sum of sample weights of each class in each cell.
    splits : list of CellSplit
        One for each inner cell, in the order of the cells.
    encoding : Encoding
        How a table is converted to a numeric matrix.
    """

    splits: list[CellSplit]
    encoding: Encoding

    def encode(self, table: Table, binning: Binning, n_jobs: int = 1) -> Matrix:
        """Return the matrix of the rows."""
        return self.encoding.transform(table, binning)

    def apply(self, rows: Matrix, n_jobs: int = 1) -> NDArray[np.int32]:
        """Return the leaf cell of each row."""
        cell_of = np.zeros(rows.shape[1], dtype=np.int32)
        for cell, split in zip(np.flatnonzero(self.is_split), self.splits, strict=True):
            inside = np.flatnonzero(cell_of == cell)
            if len(inside):
                left = split.left(rows[:, inside])
                children = self.cells["left"][cell], self.cells["right"][cell]
                cell_of[inside] = np.where(left, *children)
        return cell_of

    def rules(self, cells: NDArray[np.intp]) -> list[str]:
        """Describe the splitter sides that lead to each cell."""
        return [self._rule(int(cell)) for cell in cells]

    def _rule(self, cell: int) -> str:
        number = np.cumsum(self.is_split) - 1
        said = []
        while (parent := int(self.cells["parent"][cell])) >= 0:
            side = "better" if self.cells["left"][parent] == cell else "worse"
            name = format_splitter(self.splits[number[parent]].splitter)
            said.append(f"{side} side of the {name}")
            cell = parent
        return ", then ".join(reversed(said)) or "all rows"

    def _keep_splits(
        self, cells: Records, split: NDArray[np.bool_], old_numbers: NDArray[np.intp]
    ) -> dict[str, Any]:
        number = np.cumsum(self.is_split) - 1
        return {"splits": [self.splits[number[cell]] for cell in old_numbers]}


def format_splitter(splitter: Any) -> str:
    """Return the class name of the splitter, or of its classifier."""
    inside = innermost(splitter.estimator) if isinstance(splitter, ClassifierSplit) else splitter
    return type(inside).__name__
