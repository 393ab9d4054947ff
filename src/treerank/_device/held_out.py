"""Weights of held-out rows in the cells of their folds' trees, summed on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import addresses, download, upload
from treerank._device.table import DeviceTable

FOLD_TREES = np.dtype(
    [(name, "<u8") for name in
     ("slots", "targets", "sets", "first_slot", "first_set", "first_cell")]
)  # fmt: skip
THREADS = 256


class FoldTree(NamedTuple):
    """The tree that was grown without the rows of a fold, in the core's format for walks."""

    slots: NDArray[np.uint8]
    target: NDArray[np.int32]
    category_sets: NDArray[np.uint8]
    n_cells: int


def weigh_held_out(
    table: DeviceTable,
    trees: Sequence[FoldTree],
    folds: NDArray[np.int32],
    repeats: NDArray[np.uint8] | None,
    n_classes: int,
) -> list[NDArray[np.int64]]:
    """Weight of each class in the cells of each fold's tree, in units (cells x classes)."""
    device = table.device
    firsts = [
        np.cumsum([0, *sizes], dtype=np.int64)
        for sizes in (
            [len(tree.slots) for tree in trees], [len(tree.category_sets) for tree in trees],
            [tree.n_cells for tree in trees],
        )
    ]  # fmt: skip
    arrays = [
        np.concatenate([tree.slots for tree in trees]),
        np.concatenate([tree.target for tree in trees]),
        np.concatenate([tree.category_sets for tree in trees]),
        *firsts,
    ]
    placed = [upload(device, values) for values in arrays]
    described = np.zeros(1, dtype=FOLD_TREES)
    for name, address in zip(FOLD_TREES.names or (), addresses(placed), strict=True):
        described[name] = address
    n_cells = firsts[2]
    weights = upload(device, np.zeros(int(n_cells[-1]) * n_classes, dtype=np.int64))
    of_rows = [
        upload(device, folds), table.labels,
        None if repeats is None else upload(device, repeats), table.units,
    ]  # fmt: skip
    for block in table.blocks():
        blocks = min(-(-(block.last - block.first) // THREADS), 64 * device.n_processors)
        table.kernels.launch(
            "weigh_held_out", blocks, THREADS, np.uint64(block.codes), np.int64(table.stride),
            block.described, *of_rows, described, n_classes, weights,
        )  # fmt: skip
    summed: Any = download(device, weights, np.int64, int(n_cells[-1]) * n_classes)
    return np.split(summed.reshape(-1, n_classes), n_cells[1:-1])
