"""Codes that were computed on a device and stay there until trees are grown on them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import Device, Memory, upload
from treerank._device.source import Program

THREADS = 256


class DeviceCodes(NamedTuple):
    """Codes on a device, column-major."""

    memory: Memory
    shape: tuple[int, int]  # features x rows
    dtype: np.dtype[Any]


class MadeThere:
    """Codes on a device, which are copied to the host when first needed there.

    `again` computes them anew for the host, after `take_there` has passed on those on the device.
    """

    def __init__(self, device: Device, there: DeviceCodes, again: Any) -> None:
        self.device, self.shape, self.dtype = device, there.shape, there.dtype
        self._there: DeviceCodes | None = there
        self._again = again

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def itemsize(self) -> int:
        """Bytes per code."""
        return self.dtype.itemsize

    def can_work(self, n_bytes: int) -> bool:
        """Whether the device still has the codes, and memory for a result of this many bytes."""
        return self._there is not None and n_bytes <= self.device.free_bytes

    def take_there(self) -> DeviceCodes | None:
        """Pass on the codes on the device, and forget them."""
        there, self._there = self._there, None
        return there

    @cached_property
    def host(self) -> NDArray[Any]:
        """The codes in host memory."""
        if self._there is None:
            return np.asarray(self._again())
        codes = np.empty(self.shape, dtype=self.dtype)
        self.device.read(self._there.memory, codes)
        return codes

    def bring(self) -> NDArray[Any]:
        """Copy the codes to the host, and free them on the device."""
        host, self._there = self.host, None
        return host

    def row_hashes(self, labels: NDArray[np.uint8], seed: int) -> NDArray[np.uint64]:
        """Hash of each row's content, the same as the core's."""
        there, (n_features, n) = self._at_hand, self.shape
        hashes = np.empty(n, dtype=np.uint64)
        out = self.device.empty(hashes.nbytes)
        self._launch(
            "hash_rows", n, there.memory, np.int64(n), np.int64(n_features),
            upload(self.device, labels), np.uint64(seed), out,
        )  # fmt: skip
        self.device.read(out, hashes)
        return hashes

    def rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Copy the codes of some rows to the host."""
        there, (n_features, n_all) = self._at_hand, self.shape
        codes = np.empty((n_features, len(numbers)), dtype=self.dtype)
        if codes.size:
            out = self.device.empty(codes.nbytes)
            self._launch(
                "take_rows", codes.size, there.memory, np.int64(n_all), np.int64(n_features),
                upload(self.device, numbers.astype(np.uint32)), np.int64(len(numbers)), out,
            )  # fmt: skip
            self.device.read(out, codes)
        return codes

    @property
    def _at_hand(self) -> DeviceCodes:
        assert self._there is not None
        return self._there

    def _launch(self, name: str, n: int, *arguments: Any) -> None:
        blocks = min(-(-n // THREADS), 64 * self.device.n_processors)
        self.device.kernels(Program(self.itemsize)).launch(name, blocks, THREADS, *arguments)


def take_rows(codes: NDArray[Any] | MadeThere, rows: NDArray[Any]) -> NDArray[Any]:
    """Return the codes of some rows, in host memory."""
    if isinstance(codes, MadeThere) and codes.can_work(
        len(rows) * (4 + len(codes) * codes.itemsize)
    ):
        return codes.rows(rows)
    return np.ascontiguousarray(on_host(codes)[:, rows])


def on_host(codes: NDArray[Any] | MadeThere) -> NDArray[Any]:
    """Return the codes in host memory."""
    return codes.host if isinstance(codes, MadeThere) else codes
