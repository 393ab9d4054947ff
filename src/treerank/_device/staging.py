"""Copy large arrays to and from a device through page-locked memory.

The driver copies from pageable memory piece by piece, in one thread. Here several threads copy the
pieces to or from page-locked memory, which the device accesses at full speed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 2**22
LEAST_BYTES = 2**24  # fewer bytes are copied faster than threads start
AT_ONCE = min(12, os.cpu_count() or 1)

Bytes = NDArray[np.uint8]
Copy = Callable[[int, Bytes], None]  # copies between a device address and host memory


class Staging:
    """Pieces of page-locked memory, reused for later copies."""

    def __init__(self, take: Callable[[int], Bytes]) -> None:
        self._take = take
        self._free: SimpleQueue[Bytes] = SimpleQueue()

    def write(self, parts: Sequence[tuple[int, NDArray[Any]]], copy: Copy) -> None:
        """Copy contiguous arrays to the given addresses of the device."""

        def write(address: int, values: Bytes) -> None:
            with self._piece(len(values)) as piece:
                np.copyto(piece, values)
                copy(address, piece)

        _in_pieces(parts, write)

    def read(self, parts: Sequence[tuple[int, NDArray[Any]]], copy: Copy) -> None:
        """Copy from the given addresses of the device to contiguous arrays."""

        def read(address: int, values: Bytes) -> None:
            with self._piece(len(values)) as piece:
                copy(address, piece)
                np.copyto(values, piece)

        _in_pieces(parts, read)

    @contextmanager
    def _piece(self, n_bytes: int) -> Iterator[Bytes]:
        try:
            piece = self._free.get_nowait()
        except Empty:
            piece = self._take(PIECE_BYTES)
        try:
            yield piece[:n_bytes]
        finally:
            self._free.put(piece)


def _in_pieces(
    parts: Sequence[tuple[int, NDArray[Any]]], copy: Callable[[int, Bytes], None]
) -> None:
    pieces = [
        (address + first, flat[first : first + PIECE_BYTES])
        for address, flat in ((address, _flat(values)) for address, values in parts)
        for first in range(0, len(flat), PIECE_BYTES)
    ]
    with ThreadPoolExecutor(min(AT_ONCE, max(len(pieces), 1))) as threads:
        for done in [threads.submit(copy, *piece) for piece in pieces]:
            done.result()


def _flat(values: NDArray[Any]) -> Bytes:
    """Bytes of a contiguous array, without a copy."""
    flat = values.reshape(-1, order="A").view(np.uint8)
    assert np.shares_memory(flat, values) or not flat.size
    return flat
