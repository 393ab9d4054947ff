"""Numeric tables in the memory of a device, which are surveyed, gathered and encoded there."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.arrays import DeviceArray, open_array, read_array
from treerank._device.codes import DeviceCodes, MadeThere
from treerank._device.device import Device, check_room, download, upload
from treerank._device.source import Program

NUMBERS = np.dtype(
    [(name, "<i8") for name in
     ("data", "n_rows", "n_columns", "row_bytes", "column_bytes", "item_bytes")]
)  # fmt: skip
SEEN = np.dtype([("n_missing", "<u8"), ("n_infinite", "<u8"), ("first_infinite", "<u8")])
THREADS, BLOCKS_PER_COLUMN = 256, 64
MEMORY_SHARE = 0.5  # of the free memory that codes may take


class DeviceNumbers:
    """A float32 or float64 table on a device: the user's, or a copy made when first needed."""

    def __init__(self, device: Device, given: Any, there: DeviceArray | None = None) -> None:
        self.device, self.given = device, given
        self._there = there
        n_rows, n_columns = given.shape if there is None else there.shape
        self.shape: tuple[int, int] = (n_rows, n_columns)

    @property
    def there(self) -> DeviceArray:
        """The table on the device."""
        if self._there is None:
            self._there = _place(self.device, self.given)
        return self._there

    def release(self) -> None:
        """Free the copy of a host array."""
        if isinstance(self.given, np.ndarray):
            self._there = None

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def host(self) -> NDArray[Any]:
        """The table in host memory, copied when first requested."""
        if isinstance(self.given, np.ndarray):
            return self.given
        return read_array(self.device, self.given)

    @cached_property
    def seen(self) -> NDArray[Any]:
        """Counts of missing and infinite numbers in each column."""
        n_columns = self.shape[1]
        seen = self.device.empty(SEEN.itemsize * n_columns)
        self.device.fill(seen, 0, SEEN.itemsize * n_columns)
        blocks = min(-(-len(self) // THREADS), BLOCKS_PER_COLUMN)
        self._kernels(1).launch(
            "survey_numbers", (blocks, n_columns), THREADS, self._described, seen
        )  # fmt: skip
        return download(self.device, seen, SEEN, n_columns)

    def rows(self, numbers: NDArray[np.uint32]) -> NDArray[Any]:
        """Copy some rows to the host."""
        shape = (len(numbers), self.shape[1])
        values = np.empty(shape, dtype=self.there.dtype)
        if values.size:
            wanted, out = upload(self.device, numbers), self.device.empty(values.nbytes)
            self._kernels(1).launch(
                "gather_numbers", self._blocks(values.size), THREADS, self._described, wanted,
                np.int64(len(numbers)), out,
            )  # fmt: skip
            self.device.read(out, values)
        return values

    def encode(
        self,
        thresholds: list[NDArray[np.float64]],
        dtype: np.dtype[Any],
        rows: slice = slice(None),
    ) -> DeviceCodes:
        """Encode all rows, or a contiguous slice, by the thresholds of their columns."""
        sizes = [1 << len(some).bit_length() for some in thresholds]
        firsts = np.cumsum([0, *sizes])
        padded = np.full(int(firsts[-1]), np.inf)
        for first, some in zip(firsts, thresholds, strict=False):
            padded[first : first + len(some)] = some
        halves = np.array(sizes) // 2
        numbers = self._described
        first, last, _ = rows.indices(len(self))
        numbers["data"] += first * numbers["row_bytes"]
        numbers["n_rows"] = n_rows = last - first
        n_columns = self.shape[1]
        needed = n_rows * n_columns * dtype.itemsize
        check_room(
            self.device, needed, f"codes of {n_rows:,} rows and {n_columns:,} features",
            "Score fewer rows at a time, or set device='cpu'.",
        )  # fmt: skip
        codes = self.device.empty(needed)
        self._kernels(dtype.itemsize).launch(
            "encode_numbers", self._blocks(n_rows), THREADS, numbers,
            upload(self.device, padded), upload(self.device, firsts.astype(np.int32)),
            upload(self.device, halves.astype(np.int32)), codes,
        )  # fmt: skip
        return DeviceCodes(codes, (n_columns, n_rows), dtype)

    def make_codes(
        self, thresholds: list[NDArray[np.float64]], dtype: np.dtype[Any]
    ) -> MadeThere | NDArray[Any]:
        """Encode all rows. The codes stay on the device unless they take too much memory."""
        n_rows, n_columns = self.shape
        if n_rows * n_columns * dtype.itemsize > MEMORY_SHARE * self.device.free_bytes:
            return self.encode_to_host(thresholds, dtype)
        there = self.encode(thresholds, dtype)
        self.release()
        return MadeThere(self.device, there, lambda: self.encode_to_host(thresholds, dtype))

    def encode_to_host(
        self, thresholds: list[NDArray[np.float64]], dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """Encode all rows, as many at a time as fit, and copy the codes to the host."""
        n_rows, n_columns = self.shape
        one = n_columns * dtype.itemsize
        at_once = int(np.clip(MEMORY_SHARE * self.device.free_bytes // one, 1, n_rows))
        codes = np.empty((n_columns, n_rows), dtype=dtype)
        for first in range(0, n_rows, at_once):
            rows = slice(first, min(first + at_once, n_rows))
            there = self.encode(thresholds, dtype, rows)
            if at_once == n_rows:
                self.release()
                self.device.read(there.memory, codes)
            else:
                _read_codes(self.device, there, codes[:, rows])
        return codes

    def _kernels(self, code_bytes: int) -> Any:
        return self.device.kernels(Program(code_bytes))

    def _blocks(self, n: int) -> int:
        return min(-(-n // THREADS), 64 * self.device.n_processors)

    @property
    def _described(self) -> NDArray[Any]:
        numbers, there = np.zeros(1, dtype=NUMBERS), self.there
        numbers["data"], numbers["item_bytes"] = there.address, there.dtype.itemsize
        numbers["n_rows"], numbers["n_columns"] = there.shape
        numbers["row_bytes"], numbers["column_bytes"] = there.strides
        return numbers


def open_numbers(device: Device, array: Any) -> DeviceNumbers:
    """Use a table that is already on the device, without a copy."""
    there = open_array(device, array)
    if len(there.shape) != 2 or min(there.shape) == 0:
        raise ValueError(
            f"Got an array of shape {there.shape} on a GPU; expected rows and columns, at least "
            "one of each: 0 sample(s) or 0 feature(s) while a minimum of 1 is required."
        )
    if there.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"Got an array of {there.dtype} on a GPU; expected float32 or float64: convert it "
            "there, or pass it as an array of NumPy."
        )
    return DeviceNumbers(device, array, there)


def _place(device: Device, values: NDArray[Any]) -> DeviceArray:
    """Copy a contiguous table to the device."""
    memory = device.empty(values.nbytes)
    device.write(memory, values)
    return DeviceArray(memory.address, values.shape, values.strides, values.dtype, memory)


def _read_codes(device: Device, codes: DeviceCodes, values: NDArray[Any]) -> None:
    """Copy codes to a part of an array, feature by feature."""
    row_bytes = values.shape[1] * codes.dtype.itemsize
    for feature, some in enumerate(values):
        device.read(codes.memory, some, feature * row_bytes)
