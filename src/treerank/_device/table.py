"""A table of codes on a device: there once, or where it does not fit, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._device.codes import MadeThere, on_host
from treerank._device.device import Device, Kernels, Memory, check_room, upload
from treerank._device.source import Program

# Codes that are copied at a time, column by column, before they are laid row by row.
COPIED_BYTES = 2**30
LEAST_BLOCK_ROWS = 2**16  # with fewer at a time a table goes through too often
THREADS = 256
ROW_BLOCK = np.dtype([("first", "<u4"), ("last", "<u4")])


@dataclass(frozen=True)
class Features:
    """What growth must know of the features."""

    n_codes: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    monotonic: NDArray[np.int8]


class RowBlock(NamedTuple):
    """Rows whose codes are on the device."""

    codes: int  # where the codes of row 0 would be
    first: int
    last: int

    @property
    def described(self) -> NDArray[Any]:
        """The rows as a kernel takes them."""
        return np.array([(self.first, self.last)], dtype=ROW_BLOCK)


@dataclass(frozen=True)
class DeviceTable:
    """Codes row by row, labels, and the units of weighted rows."""

    device: Device
    kernels: Kernels
    codes: Memory  # of all rows, or of a block of them
    code_bytes: int
    stride: int  # codes to a row
    block_rows: int  # whose codes have room
    elsewhere: NDArray[Any] | None  # where the codes of all rows are, features x rows
    columns: Memory | None  # room for a block of them
    labels: Memory
    units: Memory | None
    n_rows: int
    features: Features
    n_codes: Memory
    categorical: Memory
    monotonic: Memory

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features.n_codes)

    @property
    def is_whole(self) -> bool:
        """Whether the codes of all rows are on the device."""
        return self.elsewhere is None

    @property
    def is_wide(self) -> bool:
        """Whether rows have weights in fixed point."""
        return self.units is not None

    @property
    def count_bytes(self) -> int:
        """Size of a counter of both classes."""
        return 16 if self.is_wide else 8

    @property
    def row_bytes(self) -> int:
        """Size of a row's codes."""
        return self.stride * self.code_bytes

    @property
    def gathered_bytes(self) -> tuple[int, int]:
        """Size of the codes, and of the units, of as many rows brought together as a block has."""
        n_rows = 0 if self.is_whole else self.block_rows
        return n_rows * self.row_bytes, 8 * n_rows if self.is_wide else 0

    def blocks(self) -> Iterator[RowBlock]:
        """Blocks of all rows, one after another; the codes of one are there until the next."""
        if self.elsewhere is None:
            yield RowBlock(self.codes.address, 0, self.n_rows)
            return
        assert self.columns is not None
        for first in range(0, self.n_rows, self.block_rows):
            last = min(first + self.block_rows, self.n_rows)
            _lay_rows(
                self.device, self.kernels, self.elsewhere[:, first:last], self.columns, self.stride,
                self.codes, 0,
            )  # fmt: skip
            yield RowBlock(self.codes.address - first * self.row_bytes, first, last)


def row_stride(n_features: int, code_bytes: int) -> int:
    """Codes to a row, so that rows begin where the device likes to read."""
    n_bytes = n_features * code_bytes
    unit = 32 if n_bytes > 16 else 4
    return -(-n_bytes // unit) * unit // code_bytes


def put_table(
    device: Device,
    codes: NDArray[Any] | MadeThere,
    labels: NDArray[np.uint8],
    units: NDArray[np.int64] | None,
    features: Features,
    beside: int = 0,
) -> DeviceTable:
    """Copy a table to the device; `codes` are column by column.

    Where they do not fit with what work on them takes `beside`, there is room for a block of them.
    """
    n_features, n_rows = codes.shape
    code_bytes = codes.itemsize
    stride = row_stride(n_features, code_bytes)
    step = min(n_rows, max(1, COPIED_BYTES // (n_features * code_bytes)))
    n_bytes = n_rows * stride * code_bytes + step * n_features * code_bytes
    of_rows = n_rows * (1 + (8 if units is not None else 0))
    is_whole = n_bytes + of_rows + beside <= device.free_bytes
    if not is_whole:
        codes = codes.bring() if isinstance(codes, MadeThere) else codes  # their memory goes first
        step = _block_rows(device, codes, stride, of_rows, beside)
    there = codes.take_there() if isinstance(codes, MadeThere) else None
    kernels = device.kernels(Program(code_bytes, units is not None))
    by_row = device.empty((n_rows if is_whole else step) * stride * code_bytes)
    columns = device.empty(step * n_features * code_bytes)
    if there is not None:
        _transpose(kernels, there.memory, codes.shape, stride, by_row, 0)
    for first in range(0, n_rows, step) if is_whole and there is None else ():
        some = on_host(codes)[:, first : first + step]
        _lay_rows(device, kernels, some, columns, stride, by_row, first)
    return DeviceTable(
        device, kernels, by_row, code_bytes, stride, n_rows if is_whole else step,
        None if isinstance(codes, MadeThere) or is_whole else codes, None if is_whole else columns,
        upload(device, labels),
        None if units is None else upload(device, units), n_rows, features,
        upload(device, features.n_codes), upload(device, features.categorical),
        upload(device, features.monotonic),
    )  # fmt: skip


def _block_rows(device: Device, codes: NDArray[Any], stride: int, of_rows: int, beside: int) -> int:
    """Rows of a block: of half of the memory, or of what is left of it.

    A block has codes column by column and row by row, and as many rows, with units, brought
    together from all blocks.
    """
    n_features, n_rows = codes.shape
    one = codes.itemsize * (n_features + 2 * stride) + 8
    least = min(LEAST_BLOCK_ROWS, n_rows)
    check_room(
        device, of_rows + beside + least * one,
        f"a fit to {n_rows:,} rows and {n_features:,} features, {least:,} rows at a time",
        "Fit to fewer rows, or set device='cpu'.",
    )  # fmt: skip
    free = device.free_bytes - of_rows
    return int(np.clip(min(free // 2, free - beside) // one, least, n_rows))


def _lay_rows(
    device: Device,
    kernels: Kernels,
    codes: NDArray[Any],
    columns: Memory,
    stride: int,
    by_row: Memory,
    first: int,
) -> None:
    """Copy codes, features x rows, and lay them row by row, from row `first` on."""
    n_features, n = codes.shape
    size = n * codes.itemsize
    device.write_all(columns, [(feature * size, some) for feature, some in enumerate(codes)])
    _transpose(kernels, columns, (n_features, n), stride, by_row, first)


def _transpose(
    kernels: Kernels,
    columns: Memory,
    shape: tuple[int, ...],
    stride: int,
    by_row: Memory,
    first: int,
) -> None:
    n_features, n = shape
    kernels.launch(
        "transpose", -(-n // THREADS), THREADS, columns, np.int64(n), np.int64(first),
        np.int64(n_features), np.int64(stride), np.int64(n), by_row,
    )  # fmt: skip
