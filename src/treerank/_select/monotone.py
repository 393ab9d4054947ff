"""Monotone constraints: checked after growth, and maintained when scores are shrunk.

If the better side of every split is an upper set in the constrained feature, the whole tree is
monotone: two rows that differ only in that feature are separated by the first split that sends them
to different sides, and there the right one goes to the better side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from treerank._binning.binning import Binning
from treerank._trees.boxes import Box
from treerank._trees.cell_boxes import side_boxes
from treerank._trees.ranking_tree import RankTree


def check_monotone_splits(tree: RankTree, binning: Binning, monotonic: NDArray[np.int8]) -> None:
    """Verify that each split sends rows with a larger value to a side that is at least as good."""
    for cell in np.flatnonzero(tree.is_split):
        better, worse = (side_boxes(tree, binning, int(cell), side) for side in (0, 1))
        for feature in np.flatnonzero(monotonic):
            for a in better:
                for b in worse:
                    low, high = (a, b) if monotonic[feature] > 0 else (b, a)
                    if _can_rise(low, high, int(feature), binning):
                        raise RuntimeError(
                            f"The split of cell {cell} breaks the monotone constraint on feature "
                            f"{feature}. This is an error in treerank; please report it."
                        )


def monotone_values(
    tree: RankTree,
    binning: Binning,
    monotonic: NDArray[np.int8],
    cells: NDArray[np.intp],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return values of the cells (cells x any) that satisfy the constraints.

    If all cells are boxes, the new value of a cell is the mean of the largest value that must not
    exceed its own and the smallest that must not be below it. Both are monotone in the partial
    order of the cells, and so is their mean; values that satisfy the constraints are unchanged. The
    bounding boxes of unions overlap far too much for that. Values are then made to decrease along
    the order of the tree, which satisfies the constraints by construction.
    """
    first: NDArray[np.int32] = tree.cells["first_test"]
    last: NDArray[np.int32] = tree.cells["last_test"]
    if ((last - first)[tree.is_split] > 3).any():  # more than one test and its two leaves
        return falling(values, tree.counts[cells].sum(axis=1))
    boxes = [_bounding_box(tree, binning, int(cell)) for cell in cells]
    above = np.eye(len(cells), dtype=bool)  # above[a, b]: b must be at least a
    for feature in np.flatnonzero(monotonic):
        for i, a in enumerate(boxes):
            for j, b in enumerate(boxes):
                if not above[i, j] and _can_rise(a, b, int(feature), binning):
                    if monotonic[feature] > 0:
                        above[i, j] = True
                    else:
                        above[j, i] = True
    above = _closure(above)
    columns = values.T[:, np.newaxis, :]
    largest_below = np.max(np.where(above.T, columns, -np.inf), axis=2)
    smallest_above = np.min(np.where(above, columns, np.inf), axis=2)
    return np.asarray((largest_below + smallest_above).T / 2)


def falling(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values (cells x any) that do not increase along the cells.

    Weighted means are unchanged.
    """
    columns = [isotonic_regression(v, sample_weight=weight, increasing=False) for v in values.T]
    return np.column_stack(columns)


def _can_rise(a: Box, b: Box, feature: int, binning: Binning) -> bool:
    """Whether a larger value of `feature` alone can move a row from box a to box b."""
    if any(f != feature and f in b and codes & b[f] == 0 for f, codes in a.items()):
        return False
    everything = (1 << int(binning.n_codes[feature])) - 1
    low = a.get(feature, everything) & everything & ~1  # missing values are not ordered
    high = b.get(feature, everything) & everything & ~1
    return low != 0 and high.bit_length() > (low & -low).bit_length()


def _bounding_box(tree: RankTree, binning: Binning, cell: int) -> Box:
    """Return the smallest box that contains a cell, feature by feature."""
    box: Box = {}
    while (parent := int(tree.cells["parent"][cell])) >= 0:
        side = 0 if tree.cells["left"][parent] == cell else 1
        around: Box = {}
        boxes = side_boxes(tree, binning, parent, side)
        for feature in set.intersection(*(set(b) for b in boxes)):
            around[feature] = 0
            for b in boxes:
                around[feature] |= b[feature]
        for feature, codes in around.items():
            box[feature] = box.get(feature, -1) & codes
        cell = parent
    return box


def _closure(related: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the transitive closure, by repeated squaring."""
    while True:
        further = (related.astype(np.float32) @ related.astype(np.float32)) > 0
        if (further == related).all():
            return related
        related = further
