"""The interface of a device to the rest of the library."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treerank._device.source import Program

BUDGET = "TREERANK_GPU_GIB"  # environment variable: most memory that may be allocated


class Memory(Protocol):
    """A block of device memory, freed when it is no longer referenced."""

    @property
    def address(self) -> int:
        """Address of the first byte."""

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""


class Kernels(Protocol):
    """The kernels for one type of code, with or without weights."""

    def launch(
        self,
        name: str,
        grid: int | tuple[int, int],
        block: int,
        *arguments: Any,
        shared_bytes: int = 0,
    ) -> None:
        """Run a kernel. An int is passed as 32 bits, memory by its address."""


class Device(Protocol):
    """A device, or its emulation in the tests."""

    @property
    def name(self) -> str:
        """Name for messages."""

    @property
    def n_processors(self) -> int:
        """Number of multiprocessors."""

    @property
    def free_bytes(self) -> int:
        """Memory that may still be allocated."""

    def kernels(self, program: Program) -> Kernels:
        """Return the kernels of a program."""

    def empty(self, n_bytes: int) -> Memory:
        """Allocate memory without initializing it."""

    def host_bytes(self, n_bytes: int) -> NDArray[np.uint8]:
        """Allocate host memory to which the device copies fast."""

    def fill(self, memory: Memory, byte: int, n_bytes: int, first: int = 0) -> None:
        """Set some bytes."""

    def write(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy an array to the device, starting at byte `first` of the memory."""

    def write_all(self, memory: Memory, parts: Sequence[tuple[int, NDArray[Any]]]) -> None:
        """Copy several arrays to the device; each part has its first byte and its values."""

    def wait_for(self, stream: int) -> None:
        """Wait until all work that another library has queued in a stream is done."""

    def read(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy memory to an array, once all earlier kernels have finished."""


def upload(device: Device, values: NDArray[Any]) -> Memory:
    """Allocate memory for an array, and copy it there."""
    values = np.ascontiguousarray(values)
    memory = device.empty(max(values.nbytes, 16))
    if values.nbytes:
        device.write(memory, values)
    return memory


def download(
    device: Device, memory: Memory, dtype: DTypeLike, n: int, first: int = 0
) -> NDArray[Any]:
    """Copy `n` values from the device, skipping the `first` values before them."""
    values = np.empty(n, dtype=dtype)
    if n:
        device.read(memory, values, first * values.itemsize)
    return values


def row_ranges_of(
    firsts: NDArray[Any], lasts: NDArray[Any], rows_per_block: int
) -> NDArray[np.uint32]:
    """Divide the rows of each job into ranges (job, first row), one per block."""
    n_blocks = -(-(lasts.astype(np.int64) - firsts.astype(np.int64)) // rows_per_block)
    jobs = np.repeat(np.arange(len(firsts)), n_blocks)
    within = np.arange(len(jobs)) - np.repeat(np.cumsum(n_blocks) - n_blocks, n_blocks)
    rows = firsts.astype(np.int64)[jobs] + within * rows_per_block
    return np.ascontiguousarray(np.column_stack([jobs, rows]).astype(np.uint32))


def record_ranges(
    records: NDArray[Any], rows_per_block: int, start: str = "first"
) -> NDArray[np.uint32]:
    """Divide the `n` rows of each record into ranges; the field `start` is the first row."""
    first: NDArray[np.int64] = records[start]
    n: NDArray[np.int64] = records["n"]
    return row_ranges_of(first, first + n, rows_per_block)


def within_budget(free: int, taken: int) -> int:
    """Memory that may still be allocated: the free memory, within the limit of the environment."""
    given = os.environ.get(BUDGET, "")
    if not given:
        return free
    try:
        budget = float(given)
    except ValueError:
        budget = math.nan
    if not 0 < budget < math.inf:
        raise ValueError(f"Got {BUDGET}={given!r} in the environment; expected GiB, such as 8.")
    return max(0, min(free, int(budget * 2**30) - taken))


def check_room(device: Device, needed: int, what: str, remedy: str) -> None:
    """Raise if the device has too little free memory for some work, before it begins."""
    free = device.free_bytes
    if needed > free:
        raise MemoryError(
            f"Got {what}, which needs {needed / 2**30:.1f} GiB of the memory of {device.name}; "
            f"expected at most the {free / 2**30:.1f} GiB that are free. {remedy}"
        )


def addresses(memories: Sequence[Memory | None]) -> list[int]:
    """Return the addresses of blocks of memory; 0 for None."""
    return [0 if memory is None else memory.address for memory in memories]
