"""Training rows on a device, and trees grown there: the same as the core's, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._device.choice import LEAST_ROWS
from treerank._device.codes import MadeThere
from treerank._device.device import Device
from treerank._device.held_out import weigh_held_out
from treerank._device.records import RECORD_BYTES
from treerank._device.table import DeviceTable, Features, put_table
from treerank._device.trials import memory_of
from treerank._growth.on_device import DeviceTree, can_grow, grow_on_device
from treerank._growth.progress import Report
from treerank._input.validation import TrainingData
from treerank._select.folds import Folds
from treerank._select.pruning import HeldOut

# Trees per batch; batches at a time, so that the device is busy while trees are assembled on the
# host; and the share of the free memory that they may take.
BATCH, AT_ONCE, MEMORY_SHARE = 8, 2, 0.8

Repeats = Callable[[], NDArray[np.uint8] | None]


@dataclass(frozen=True)
class DeviceRows:
    """Codes, labels and weights, which are copied to the device when the first tree is grown."""

    device: Device
    codes: Codes | MadeThere
    data: TrainingData
    binning: Binning
    monotonic: NDArray[np.int8]
    units: NDArray[np.int64] | None  # weights of the rows; None: trees have repeat counts
    _tables: list[DeviceTable] = field(default_factory=list)  # one, once it is on the device

    def can_grow(self, options: Sequence[dict[str, Any]]) -> bool:
        """Whether the device grows trees with these options; otherwise the core grows the same."""
        return len(self.data.labels) >= LEAST_ROWS and all(can_grow(some) for some in options)

    def table_for(self, options: dict[str, Any]) -> DeviceTable:
        """Return the table on the device, leaving room for a tree with these options."""
        if not self._tables:
            columns = self.binning.columns
            features = Features(columns.n_codes, columns.as_sets, self.monotonic)
            beside = memory_of(0) + self._tree_bytes(options)
            self._tables.append(
                put_table(self.device, self.codes, self.data.labels, self.units, features, beside)
            )
        return self._tables[0]

    @property
    def is_placed(self) -> bool:
        """Whether the table is on the device."""
        return len(self._tables) > 0

    def held_out(self, trees: Sequence[Any], folds: Folds) -> list[HeldOut]:
        """Count the held-out rows of each fold in the cells of its tree."""
        weights, n_classes = self.data.weights, len(self.data.classes)
        units = weigh_held_out(
            self._tables[0], [tree.for_device for tree in trees], folds.fold, weights.repeats,
            n_classes,
        )  # fmt: skip
        return [
            HeldOut(tree, tree.cell_counts(some / weights.scale))
            for tree, some in zip(trees, units, strict=True)
        ]

    def _tree_bytes(self, options: dict[str, Any]) -> int:
        """Return the memory in bytes that each further tree of a batch takes."""
        n_rows, n_classes = len(self.data.labels), len(self.data.classes)
        n_pairs = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
        leaf_rows = options["leafrank"]["min_weight_leaf"] / options["leafrank"]["row_weight"]
        n_records = 2 * n_rows * n_pairs / max(leaf_rows, 1.0)
        one = memory_of(2 * n_rows) - memory_of(n_rows)
        return n_pairs * one + 9 * n_rows + int(2 * RECORD_BYTES * n_records)

    def batches(self, n_trees: int, options: dict[str, Any], at_once: int) -> list[range]:
        """Return the indices of the trees of each batch; batches are as large as memory allows."""
        free = self.device.free_bytes - sum(self.table_for(options).gathered_bytes)
        of_trees = MEMORY_SHARE * free / at_once - memory_of(0)
        size = int(np.clip(of_trees // self._tree_bytes(options), 1, BATCH))
        return [range(first, min(first + size, n_trees)) for first in range(0, n_trees, size)]

    def grow(
        self,
        repeats: Sequence[Repeats],
        options: Sequence[dict[str, Any]],
        numbers: Sequence[int],
        n_jobs: int,
        take: Callable[[list[_core.LevelGrowth]], None],
        progress: Report | None = None,
    ) -> None:
        """Grow trees in batches; `take` is called with the trees of each batch once it is done."""
        n_classes = len(self.data.classes)
        table = self.table_for(options[0])
        at_once = AT_ONCE if table.is_whole else 1  # a table in blocks leaves room for one batch
        batches = self.batches(len(repeats), options[0], at_once)
        draws: dict[int, list[Future[Any]]] = {}

        def draw(number: int) -> None:
            draws[number] = [threads.submit(repeats[t]) for t in batches[number]]

        def grown(number: int) -> list[_core.LevelGrowth]:
            if number + at_once < len(batches):  # its rows are drawn while this batch grows
                draw(number + at_once)
            trees = [
                DeviceTree(rows.result(), options[t], numbers[t])
                for rows, t in zip(draws.pop(number), batches[number], strict=True)
            ]
            return grow_on_device(table, trees, n_classes, n_jobs)

        with ThreadPoolExecutor(max(n_jobs, 1)) as threads, ThreadPoolExecutor(at_once) as growers:
            first = range(min(at_once, len(batches)))
            for number in first:
                draw(number)
            growing = [growers.submit(grown, number) for number in first]
            for number, batch in enumerate(batches):
                done = growing[number].result()
                if number + at_once < len(batches):
                    growing.append(growers.submit(grown, number + at_once))
                take(done)
                if progress is not None:
                    progress(batch.stop / len(repeats))
