"""Arrays in GPU memory: a table stays there, labels and weights are copied to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.arrays import is_on_device, read_array
from treerank._device.choice import LEAST_ROWS, device_of
from treerank._device.device import Device
from treerank._device.numbers import DeviceNumbers, open_numbers
from treerank._input.columns import raise_infinite
from treerank._input.types import TableLike

# Arrays with at least LEAST_ROWS rows are copied to the device, which checks and encodes them
# faster, if they take less than MEMORY_SHARE of its free memory.
MEMORY_SHARE = 0.5


def numbers_on_device(estimator: Any, X: Any) -> DeviceNumbers | None:
    """Return a table that is on the device or is large enough to be copied there; else None."""
    if is_on_device(X):
        return open_numbers(_device_of(estimator), X)
    if not _is_large_matrix(X) or getattr(estimator, "device", "cpu") == "cpu":
        return None
    device = _device_of(estimator)
    return DeviceNumbers(device, X) if X.nbytes < MEMORY_SHARE * device.free_bytes else None


def _is_large_matrix(X: TableLike) -> bool:
    return (
        type(X) is np.ndarray and X.ndim == 2 and len(X) >= LEAST_ROWS and X.shape[1] > 0
        and X.dtype in (np.float32, np.float64) and X.dtype.isnative
        and (X.flags.c_contiguous or X.flags.f_contiguous)
    )  # fmt: skip


def values_here(estimator: Any, values: Any) -> Any:
    """Return labels or weights, copied to the host if they are on a device."""
    return read_array(_device_of(estimator), values) if is_on_device(values) else values


def _device_of(estimator: Any) -> Device:
    device = device_of(getattr(estimator, "device", "cpu"))
    if device is None:
        raise TypeError(
            f"Got an array in the memory of a GPU for {type(estimator).__name__} on the processor; "
            "expected an array of NumPy: set device='cuda' where the model has it, or pass X.get() "
            "of CuPy, X.cpu() of PyTorch."
        )
    return device


def check_finite(numbers: DeviceNumbers, names: list[str]) -> None:
    """Raise if a column has infinite values."""
    for name, seen in zip(names, numbers.seen, strict=True):
        if seen["n_infinite"]:
            first = len(numbers) - int(seen["first_infinite"])
            raise_infinite(name, int(seen["n_infinite"]), len(numbers), first)


def missing_columns(numbers: DeviceNumbers) -> NDArray[np.bool_]:
    """Return whether each column has missing values."""
    return np.asarray(numbers.seen["n_missing"] > 0)
