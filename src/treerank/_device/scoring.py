"""Score rows with the packed trees of a forest on a device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.codes import DeviceCodes
from treerank._device.device import Device, Kernels, Memory, check_room, download, upload
from treerank._device.source import Program
from treerank._device.table import row_stride

THREADS = 128
BLOCK_BYTES = 2**26  # codes per block
AT_ONCE = 4  # blocks at once: one is copied while another is scored
TREE_BYTES = 2**33  # of trees on the device at once
# Each launch walks as many trees as stay in the cache together.
NEAR_BYTES = 24 * 2**20
SLOT_BYTES = 12  # including its step
Place = Memory | np.uint64  # a block of memory, or an address within one


@dataclass(frozen=True)
class PackedTrees:
    """Concatenated trees, as in `ForestArrays`, with shrinkage applied."""

    starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    step: NDArray[np.float32]
    set_of: NDArray[np.int32]
    category_sets: NDArray[np.uint8]
    at_end: NDArray[np.uint8]

    def some(self, first: int, last: int) -> PackedTrees:
        """Return trees [first, last) only."""
        at = slice(int(self.starts[first]), int(self.starts[last]))
        return PackedTrees(
            self.starts[first : last + 1] - self.starts[first], self.slots[at], self.step[at],
            self.set_of[at] if len(self.set_of) else self.set_of, self.category_sets,
            self.at_end[first:last],
        )  # fmt: skip


def score_there(device: Device, trees: PackedTrees, codes: DeviceCodes) -> NDArray[np.float64]:
    """Sum of the values of each row over the trees, for codes on the device."""
    n_features, n = codes.shape
    kernels = device.kernels(Program(codes.dtype.itemsize))
    stride = row_stride(n_features, codes.dtype.itemsize)
    check_room(
        device, n * (stride * codes.dtype.itemsize + 8), f"{n:,} rows to score",
        "Score fewer rows at a time, or set device='cpu'.",
    )  # fmt: skip
    by_row = device.empty(n * stride * codes.dtype.itemsize)
    kernels.launch(
        "transpose", -(-n // THREADS), THREADS, codes.memory, np.int64(n), np.int64(0),
        np.int64(n_features), np.int64(stride), np.int64(n), by_row,
    )  # fmt: skip
    sums = device.empty(8 * n)
    device.fill(sums, 0, 8 * n)
    for first, last in _groups(trees.starts, TREE_BYTES):
        PlacedTrees(device, trees.some(first, last)).walk(kernels, by_row, stride, n, sums)
    return download(device, sums, np.float64, n)


def score_on_device(device: Device, trees: PackedTrees, codes: NDArray[Any]) -> NDArray[np.float64]:
    """Sum of the values of each row over the trees, added in the order of the trees."""
    n_features, n_rows = codes.shape
    step = max(1, min(n_rows, BLOCK_BYTES // (n_features * codes.itemsize)))
    at_once = min(AT_ONCE, -(-n_rows // step))
    sums = np.zeros(n_rows)
    stride = row_stride(n_features, codes.itemsize)
    rows_bytes = at_once * step * ((n_features + stride) * codes.itemsize + 8)
    blocks = [slice(first, first + step) for first in range(0, n_rows, step)]
    for first_tree, last_tree in _groups(trees.starts, TREE_BYTES):
        some = trees.some(first_tree, last_tree)
        needed = some.slots.nbytes + some.step.nbytes + some.set_of.nbytes
        check_room(device, needed + rows_bytes, "trees and rows to score", "Set device='cpu'.")
        add = PlacedTrees(device, some).add
        with ThreadPoolExecutor(AT_ONCE) as threads:
            done = [threads.submit(add, codes[:, rows], sums[rows]) for rows in blocks]
        for one in done:
            one.result()
    return sums


def _groups(starts: NDArray[np.int64], n_bytes: int) -> list[tuple[int, int]]:
    """Divide the trees into groups of at most this many bytes, or of a single tree."""
    groups, first = [], 0
    for last in range(1, len(starts)):
        is_end = last == len(starts) - 1
        if is_end or (starts[last + 1] - starts[first]) * SLOT_BYTES > n_bytes:
            groups.append((first, last))
            first = last
    return groups


class PlacedTrees:
    """Trees in the memory of the device."""

    def __init__(self, device: Device, trees: PackedTrees) -> None:
        self.device, self.trees = device, trees
        arrays = (
            trees.slots, trees.step, trees.set_of, trees.category_sets, trees.starts, trees.at_end,
        )  # fmt: skip
        placed = [upload(device, values) for values in arrays]
        self.slots, self.step, self.set_of, self.sets, self.starts, self.at_end = placed

    def add(self, codes: NDArray[Any], sums: NDArray[np.float64]) -> None:
        """Add the values of some rows to their sums."""
        n_features, n = codes.shape
        kernels = self.device.kernels(Program(codes.itemsize))
        columns = upload(self.device, np.ascontiguousarray(codes))
        # Row-major, so that the codes of a row stay in few cache lines during all its walks.
        stride = row_stride(n_features, codes.itemsize)
        there = self.device.empty(n * stride * codes.itemsize)
        kernels.launch(
            "transpose", -(-n // THREADS), THREADS, columns, np.int64(n), np.int64(0),
            np.int64(n_features), np.int64(stride), np.int64(n), there,
        )  # fmt: skip
        totals = upload(self.device, sums)
        self.walk(kernels, there, stride, n, totals)
        sums[:] = download(self.device, totals, np.float64, n)

    def walk(self, kernels: Kernels, codes: Place, stride: int, n: int, sums: Place) -> None:
        """Add the values of rows to their sums; `codes` are on the device, row-major."""
        for first, last in _groups(self.trees.starts, NEAR_BYTES):
            kernels.launch(
                "score_rows", -(-n // THREADS), THREADS, codes, np.int64(stride), np.int64(n),
                self.slots, self.step, self.set_of, self.sets, self.starts,
                self.at_end, first, last, sums,
            )  # fmt: skip
