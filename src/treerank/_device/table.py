"""A table of codes on a device: there once, whatever is grown on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import Device, Kernels, Memory, check_room, upload

# Codes that are copied at a time, column by column, before they are laid row by row.
BLOCK_BYTES = 2**30
THREADS = 256


@dataclass(frozen=True)
class Features:
    """What growth must know of the features."""

    n_codes: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    monotonic: NDArray[np.int8]


@dataclass(frozen=True)
class DeviceTable:
    """Codes row by row, labels, and the units of weighted rows."""

    device: Device
    kernels: Kernels
    codes: Memory
    stride: int  # codes to a row
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
    def code_bytes(self) -> int:
        """Size of a code."""
        return self.codes.n_bytes // (self.n_rows * self.stride)

    @property
    def is_wide(self) -> bool:
        """Whether rows have weights in fixed point."""
        return self.units is not None

    @property
    def count_bytes(self) -> int:
        """Size of a counter of both classes."""
        return 16 if self.is_wide else 8


def row_stride(n_features: int, code_bytes: int) -> int:
    """Codes to a row, so that rows begin where the device likes to read."""
    n_bytes = n_features * code_bytes
    unit = 32 if n_bytes > 16 else 4
    return -(-n_bytes // unit) * unit // code_bytes


def put_table(
    device: Device,
    codes: NDArray[Any],
    labels: NDArray[np.uint8],
    units: NDArray[np.int64] | None,
    features: Features,
) -> DeviceTable:
    """Copy a table to the device; `codes` are column by column."""
    n_features, n_rows = codes.shape
    code_bytes = codes.itemsize
    stride = row_stride(n_features, code_bytes)
    step = min(n_rows, max(1, BLOCK_BYTES // (n_features * code_bytes)))
    needed = n_rows * (stride * code_bytes + 1 + (8 if units is not None else 0))
    needed += step * n_features * code_bytes
    check_room(
        device, needed, f"a table of {n_rows:,} rows and {n_features:,} features",
        "Fit to fewer rows or features, or set device='cpu'.",
    )  # fmt: skip
    kernels = device.kernels(code_bytes, units is not None)
    by_row = device.empty(n_rows * stride * code_bytes)
    block = device.empty(step * n_features * code_bytes)
    for first in range(0, n_rows, step):
        some = np.ascontiguousarray(codes[:, first : first + step])
        device.write(block, some)
        n = some.shape[1]
        kernels.launch(
            "transpose", -(-n // THREADS), THREADS, block, np.int64(n), np.int64(first),
            np.int64(n_features), np.int64(stride), np.int64(n), by_row,
        )  # fmt: skip
    return DeviceTable(
        device, kernels, by_row, stride, upload(device, labels),
        None if units is None else upload(device, units), n_rows, features,
        upload(device, features.n_codes), upload(device, features.categorical),
        upload(device, features.monotonic),
    )  # fmt: skip
