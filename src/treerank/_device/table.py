"""A table of codes on a device: as a whole or, if it does not fit, one block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._device.codes import MadeThere, on_host
from treerank._device.device import Device, Kernels, Memory, check_room, upload
from treerank._device.source import Program

# Size of the column-major codes that are copied at once, before they are transposed.
COPIED_BYTES = 2**30
LEAST_BLOCK_ROWS = 2**16  # with fewer rows per block, a table would be copied in too many blocks
THREADS = 256
ROW_BLOCK = np.dtype([("first", "<u4"), ("last", "<u4")])


@dataclass(frozen=True)
class Features:
    """Properties of the features that growth needs."""

    n_codes: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    monotonic: NDArray[np.int8]


class RowBlock(NamedTuple):
    """Rows whose codes are on the device."""

    codes: int  # address at which the codes of row 0 would be
    first: int
    last: int

    @property
    def described(self) -> NDArray[Any]:
        """The rows as a kernel argument."""
        return np.array([(self.first, self.last)], dtype=ROW_BLOCK)


@dataclass(frozen=True)
class DeviceTable:
    """Row-major codes, labels, and the units of weighted rows."""

    device: Device
    kernels: Kernels
    codes: Memory  # of all rows, or of one block
    code_bytes: int
    stride: int  # codes per row
    block_rows: int  # rows that fit into `codes`
    elsewhere: NDArray[Any] | None  # host codes of all rows (features x rows); None if all fit
    columns: Memory | None  # buffer for the column-major codes of a block
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
        """Whether rows have fixed-point weights."""
        return self.units is not None

    @property
    def count_bytes(self) -> int:
        """Size of a counter for both classes."""
        return 16 if self.is_wide else 8

    @property
    def row_bytes(self) -> int:
        """Size of the codes of a row."""
        return self.stride * self.code_bytes

    @property
    def gathered_bytes(self) -> tuple[int, int]:
        """Sizes of the codes and of the units of one block of gathered rows."""
        n_rows = 0 if self.is_whole else self.block_rows
        return n_rows * self.row_bytes, 8 * n_rows if self.is_wide else 0

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the blocks of all rows. The codes of a block are valid until the next one."""
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
    """Codes per row, such that rows are aligned for the device's reads."""
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
    """Copy a table to the device; `codes` are column-major.

    If they do not fit together with the `beside` bytes that later work needs, memory is allocated
    for one block of rows only.
    """
    n_features, n_rows = codes.shape
    code_bytes = codes.itemsize
    stride = row_stride(n_features, code_bytes)
    step = min(n_rows, max(1, COPIED_BYTES // (n_features * code_bytes)))
    n_bytes = n_rows * stride * code_bytes + step * n_features * code_bytes
    of_rows = n_rows * (1 + (8 if units is not None else 0))
    is_whole = n_bytes + of_rows + beside <= device.free_bytes
    if not is_whole:
        codes = codes.bring() if isinstance(codes, MadeThere) else codes  # frees their memory first
        step = _block_rows(device, codes, stride, of_rows, beside)
    there = codes.take_there() if isinstance(codes, MadeThere) else None
    kernels = device.kernels(Program(code_bytes, units is not None))
    by_row = device.empty((n_rows if is_whole else step) * stride * code_bytes)
    columns = None
    if there is None or not is_whole:
        columns = device.empty(step * n_features * code_bytes)
    if there is not None:
        _transpose(kernels, there.memory, codes.shape, stride, by_row, 0)
    for first in range(0, n_rows, step) if is_whole and there is None else ():
        assert columns is not None
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
    """Rows per block, which may take half of the free memory, or all but `beside` if that is less.

    A block holds column-major and row-major codes, and as many gathered rows, with units, from all
    blocks.
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
    """Copy codes (features x rows) and transpose them, starting at row `first`."""
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
