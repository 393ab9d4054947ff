"""Arrays of other libraries that are already in the memory of a device."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import Device

CUDA_TYPES = (2, 13)  # DLPack device types: memory of a GPU, or managed memory
DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
STREAM_HERE = 2  # the per-thread default stream, with which other libraries synchronize


class DeviceArray(NamedTuple):
    """Location of an array on the device, and the object that owns it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    dtype: np.dtype[Any]
    owner: Any

    @property
    def n_bytes(self) -> int:
        """Bytes from the first to the last element."""
        ends = [
            (n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True) if n > 0
        ]
        return self.dtype.itemsize + sum(ends)


def is_on_device(array: Any) -> bool:
    """Whether an array declares to be in the memory of a GPU."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    place = getattr(array, "__dlpack_device__", None)
    return callable(place) and int(place()[0]) in CUDA_TYPES


def open_array(device: Device, array: Any) -> DeviceArray:
    """Locate an array by its CUDA array interface, or else by DLPack, without a copy."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return _by_dlpack(array)
    if interface.get("stream") is not None:
        device.wait_for(interface["stream"])
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides") or _packed_strides(shape, dtype.itemsize)
    return DeviceArray(int(interface["data"][0]), shape, tuple(strides), dtype, array)


def read_array(device: Device, array: Any) -> NDArray[Any]:
    """Copy an array from the device to the host."""
    there = open_array(device, array)
    if min(there.shape, default=1) == 0:
        return np.empty(there.shape, dtype=there.dtype)
    if min(there.strides, default=0) < 0:
        raise ValueError("Got an array on a GPU in backward order; expected a contiguous one.")
    whole = np.empty(there.n_bytes, dtype=np.uint8)
    device.read(there, whole)
    strided = np.lib.stride_tricks.as_strided(
        whole[: there.dtype.itemsize].view(there.dtype), there.shape, there.strides
    )
    return np.array(strided)


def _packed_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides of an array in C order."""
    sizes = np.cumprod([itemsize, *shape[:0:-1]])
    return tuple(int(size) for size in sizes[::-1][: len(shape)])


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def _by_dlpack(array: Any) -> DeviceArray:
    capsule = array.__dlpack__(stream=STREAM_HERE)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    kind = DLPACK_KINDS.get(tensor.code, "V")
    if kind == "V" or tensor.lanes != 1:
        raise TypeError(
            f"Got an array of {type(array).__name__} whose numbers have no NumPy type; expected "
            "float32 or float64."
        )
    dtype = np.dtype(bool) if kind == "b" else np.dtype(f"{kind}{tensor.bits // 8}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = (
        tuple(dtype.itemsize * step for step in tensor.strides[: tensor.ndim])
        if tensor.strides
        else _packed_strides(shape, dtype.itemsize)
    )
    address = (tensor.data or 0) + tensor.byte_offset
    return DeviceArray(address, shape, strides, dtype, (array, capsule))
