"""Training rows on a device, and the trees grown there: the same as the core's, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._device.device import Device
from treerank._device.table import DeviceTable, Features, put_table
from treerank._device.trials import RECORD_BYTES, memory_of
from treerank._growth.on_device import DeviceTree, can_grow, grow_on_device
from treerank._growth.progress import Report
from treerank._input.validation import TrainingData

# Fewer rows are grown on the processor, which is done before a device has begun.
LEAST_ROWS = 50_000
# Trees that grow together; batches at once, so that the device is at work while trees are put
# together here; and the share of the free memory that they may take.
BATCH, AT_ONCE, MEMORY_SHARE = 8, 2, 0.8

Repeats = Callable[[], NDArray[np.uint8] | None]


@dataclass(frozen=True)
class DeviceRows:
    """Codes, labels and weights, copied to the device when the first tree is grown."""

    device: Device
    codes: Codes
    data: TrainingData
    binning: Binning
    monotonic: NDArray[np.int8]
    units: NDArray[np.int64] | None  # of the rows; None: trees say how often each counts

    def can_grow(self, options: Sequence[dict[str, Any]]) -> bool:
        """Whether trees of these options are grown here; the core grows the same."""
        return len(self.data.labels) >= LEAST_ROWS and all(can_grow(some) for some in options)

    @cached_property
    def table(self) -> DeviceTable:
        """The table on the device."""
        features = Features(self.binning.n_codes, self.binning.grown_as_sets, self.monotonic)
        return put_table(self.device, self.codes, self.data.labels, self.units, features)

    def batches(self, n_trees: int, options: dict[str, Any]) -> list[range]:
        """Numbers of the trees that grow together, as many as the memory holds."""
        table, n_rows = self.table, len(self.data.labels)
        n_classes = len(self.data.classes)
        n_pairs = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
        leaf_rows = options["leafrank"]["min_weight_leaf"] / options["leafrank"]["row_weight"]
        n_records = 2 * n_rows * n_pairs / max(leaf_rows, 1.0)
        one = memory_of(table, 2 * n_rows) - memory_of(table, n_rows)
        one = n_pairs * one + 8 * n_rows + int(2 * RECORD_BYTES * n_records)
        free = MEMORY_SHARE * self.device.free_bytes / AT_ONCE - memory_of(table, 0)
        size = int(np.clip(free // one, 1, BATCH))
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
        """Grow trees, a batch after another; `take` gets those of each as they are done."""
        n_classes = len(self.data.classes)
        batches = self.batches(len(repeats), options[0])

        def grown(batch: range) -> list[_core.LevelGrowth]:
            rows = list(threads.map(lambda t: repeats[t](), batch))
            trees = [
                DeviceTree(some, options[t], numbers[t])
                for some, t in zip(rows, batch, strict=True)
            ]
            return grow_on_device(self.table, trees, n_classes, n_jobs)

        _ = self.table  # before the threads need it
        with ThreadPoolExecutor(max(n_jobs, 1)) as threads, ThreadPoolExecutor(AT_ONCE) as growers:
            growing = [growers.submit(grown, batch) for batch in batches[:AT_ONCE]]
            for number, batch in enumerate(batches):
                done = growing[number].result()
                if number + AT_ONCE < len(batches):
                    growing.append(growers.submit(grown, batches[number + AT_ONCE]))
                take(done)
                if progress is not None:
                    progress(batch.stop / len(repeats))
