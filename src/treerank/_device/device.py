"""What the rest of the library asks of a device."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treerank._device.source import Program

BUDGET = "TREERANK_GPU_GIB"  # in the environment: memory that may be taken at most


class Memory(Protocol):
    """A block of the device's memory, given back when nobody holds it any more."""

    @property
    def address(self) -> int:
        """Where it begins."""

    @property
    def n_bytes(self) -> int:
        """Size."""


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
        """Run a kernel; an int is passed as 32 bits, memory by its address."""


class Device(Protocol):
    """A device, or what emulates one in the tests."""

    @property
    def name(self) -> str:
        """Name in words."""

    @property
    def n_processors(self) -> int:
        """Multiprocessors."""

    @property
    def free_bytes(self) -> int:
        """Memory that nobody has taken."""

    def kernels(self, program: Program) -> Kernels:
        """Return the kernels of a program."""

    def empty(self, n_bytes: int) -> Memory:
        """Take memory, whatever it holds."""

    def host_bytes(self, n_bytes: int) -> NDArray[np.uint8]:
        """Take memory of the processor to which the device copies fast."""

    def fill(self, memory: Memory, byte: int, n_bytes: int, first: int = 0) -> None:
        """Set some bytes."""

    def write(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy an array to the device, from byte `first` on."""

    def write_all(self, memory: Memory, parts: Sequence[tuple[int, NDArray[Any]]]) -> None:
        """Copy several arrays to the device, each from its byte on."""

    def wait_for(self, stream: int) -> None:
        """Wait until all that another library has asked for in a stream is done."""

    def read(self, memory: Memory, values: NDArray[Any], first: int = 0) -> None:
        """Copy to an array, once all kernels before have ended."""


def upload(device: Device, values: NDArray[Any]) -> Memory:
    """Take memory for an array, and copy it there."""
    values = np.ascontiguousarray(values)
    memory = device.empty(max(values.nbytes, 16))
    if values.nbytes:
        device.write(memory, values)
    return memory


def download(
    device: Device, memory: Memory, dtype: DTypeLike, n: int, first: int = 0
) -> NDArray[Any]:
    """Copy `n` values from the device, the `first` before them left out."""
    values = np.empty(n, dtype=dtype)
    if n:
        device.read(memory, values, first * values.itemsize)
    return values


def row_ranges_of(
    firsts: NDArray[Any], lasts: NDArray[Any], rows_per_block: int
) -> NDArray[np.uint32]:
    """Cut the rows of each job into ranges, one per block: (job, first row)."""
    n_blocks = -(-(lasts.astype(np.int64) - firsts.astype(np.int64)) // rows_per_block)
    jobs = np.repeat(np.arange(len(firsts)), n_blocks)
    within = np.arange(len(jobs)) - np.repeat(np.cumsum(n_blocks) - n_blocks, n_blocks)
    rows = firsts.astype(np.int64)[jobs] + within * rows_per_block
    return np.ascontiguousarray(np.column_stack([jobs, rows]).astype(np.uint32))


def record_ranges(
    records: NDArray[Any], rows_per_block: int, start: str = "first"
) -> NDArray[np.uint32]:
    """Cut the `n` rows of each record into ranges, from the row that `start` names."""
    first: NDArray[np.int64] = records[start]
    n: NDArray[np.int64] = records["n"]
    return row_ranges_of(first, first + n, rows_per_block)


def within_budget(free: int, taken: int) -> int:
    """Memory that may still be taken: what is free, within what the environment allows."""
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
    """Refuse work that the device's memory cannot hold, before it begins."""
    free = device.free_bytes
    if needed > free:
        raise MemoryError(
            f"Got {what}, which needs {needed / 2**30:.1f} GiB of the memory of {device.name}; "
            f"expected at most the {free / 2**30:.1f} GiB that are free. {remedy}"
        )


def addresses(memories: Sequence[Memory | None]) -> list[int]:
    """Addresses of blocks of memory; 0 for none."""
    return [0 if memory is None else memory.address for memory in memories]
