"""Rows of the cells of growing trees on a device, partitioned between two buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import check_room, download, row_ranges_of, upload
from treerank._device.table import DeviceTable

CELL_ROWS = np.dtype(
    [
        ("first", "<u4"), ("last", "<u4"), ("buffer", "<i4"), ("first_test", "<i4"),
        ("first_set", "<i4"), ("to_first", "<u4"), ("to_last", "<u4"), ("worse", "<i4"),
        ("better", "<i4"), ("n_left", "<u4"), ("n_right", "<u4"), ("unused", "<i4"),
    ]
)  # fmt: skip
ROWS_PER_BLOCK, THREADS = 8192, 256


class DeviceCells:
    """Packed rows of several trees, concatenated."""

    def __init__(self, table: DeviceTable, repeats: list[NDArray[np.uint8] | None]) -> None:
        self.table, device = table, table.device
        sizes = [table.n_rows if some is None else int(np.count_nonzero(some)) for some in repeats]
        self.firsts = np.cumsum([0, *sizes])[:-1]
        self.n_rows = int(sum(sizes))
        if self.n_rows >= 2**32:
            raise MemoryError(f"Got {self.n_rows:,} rows of trees together; expected below 2^32.")
        check_room(
            device, 8 * self.n_rows + table.n_rows, f"the rows of {len(repeats)} trees",
            "Fit to fewer rows, or set device='cpu'.",
        )  # fmt: skip
        self.buffers = [device.empty(4 * self.n_rows) for _ in range(2)]
        self.lasts = self._pack(repeats)

    def _pack(self, repeats: list[NDArray[np.uint8] | None]) -> NDArray[np.int64]:
        """Write the rows of each tree that have weight; return where they end."""
        table, device = self.table, self.table.device
        cursors = upload(device, np.zeros(len(repeats), dtype=np.uint32))
        counts = device.empty(table.n_rows)
        blocks = min(-(-table.n_rows // THREADS), 64 * device.n_processors)
        for t, some in enumerate(repeats):
            if some is not None:
                device.write(counts, some)
            rows = self.buffers[0].address + 4 * int(self.firsts[t])
            table.kernels.launch(
                "pack_rows", blocks, THREADS, table.labels, None if some is None else counts,
                table.units, np.int64(table.n_rows), np.uint64(rows),
                np.uint64(cursors.address + 4 * t),
            )  # fmt: skip
        ends = self.firsts + download(device, cursors, np.uint32, len(repeats))
        return np.asarray(ends, dtype=np.int64)

    def class_weights(self, n_classes: int) -> NDArray[np.int64]:
        """Weight of each class in the rows of each tree, in units."""
        table, device = self.table, self.table.device
        n_trees = len(self.firsts)
        weights = upload(device, np.zeros((n_trees, n_classes), dtype=np.int64))
        for t in range(n_trees):
            n = int(self.lasts[t] - self.firsts[t])
            rows = self.buffers[0].address + 4 * int(self.firsts[t])
            table.kernels.launch(
                "weigh_classes", min(-(-n // THREADS), 8 * device.n_processors), THREADS,
                table.labels, table.units, np.uint64(rows), np.int64(n), n_classes,
                np.uint64(weights.address + 8 * t * n_classes),
            )  # fmt: skip
        return download(device, weights, np.int64, n_trees * n_classes).reshape(n_trees, -1)

    def partition(
        self, jobs: NDArray[Any], tests: NDArray[np.uint8], sets: NDArray[np.uint8]
    ) -> NDArray[Any]:
        """Partition the rows of split cells. The returned jobs have the sizes of both halves."""
        table = self.table
        jobs["to_first"], jobs["to_last"] = jobs["first"], jobs["last"]
        return self._run(
            "partition_cells", jobs, self._by_block(),
            [upload(table.device, tests), upload(table.device, sets), *self.buffers],
        )  # fmt: skip

    def place(self, jobs: NDArray[Any], rows: Any) -> NDArray[Any]:
        """Copy the rows of each trial's classes to `rows`, starting at `to_first` of the job."""
        return self._run("place_trials", jobs, [[self.table.labels]], [*self.buffers, rows])

    def trial_weights(
        self,
        jobs: NDArray[Any],
        tests: NDArray[np.uint8],
        sets: NDArray[np.uint8],
        n_classes: int,
    ) -> NDArray[np.int64]:
        """Weights of all classes in the leaves of grown trials, in units (tests x classes)."""
        table, device = self.table, self.table.device
        weights = upload(device, np.zeros(len(tests) * n_classes, dtype=np.int64))
        self._run(
            "weigh_trials", jobs, self._by_block(table.labels, table.units),
            [upload(device, tests), upload(device, sets), *self.buffers, n_classes, weights],
        )  # fmt: skip
        return download(device, weights, np.int64, len(tests) * n_classes)

    def _by_block(self, *more: Any) -> Iterator[list[Any]]:
        """Yield the codes as kernel arguments, one block of rows after another."""
        stride = np.int64(self.table.stride)
        for block in self.table.blocks():
            yield [np.uint64(block.codes), stride, block.described, *more]

    def _run(
        self, kernel: str, jobs: NDArray[Any], before: Iterable[list[Any]], after: list[Any]
    ) -> NDArray[Any]:
        """Run a kernel on ranges of the jobs' rows; return the jobs as modified by it.

        `before` has the first arguments of each launch, and `after` the last arguments of all.
        """
        table = self.table
        jobs["n_left"] = jobs["n_right"] = 0
        there = upload(table.device, jobs)
        cut = row_ranges_of(jobs["first"], jobs["last"], ROWS_PER_BLOCK)
        row_ranges = upload(table.device, cut)
        for some in before:
            table.kernels.launch(
                kernel, len(cut), THREADS, *some, there, row_ranges, ROWS_PER_BLOCK, *after
            )
        return download(table.device, there, CELL_ROWS, len(jobs))
