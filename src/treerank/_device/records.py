"""Records of the nodes of trees that grow on a device, and their copies on the host."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import Device, Memory, check_room, download, upload

RECORD_BYTES, SET_BYTES = 32, 32
TREE_RECORDS = np.dtype([("first", "<i8"), ("capacity", "<i8")])


class Records:
    """Device memory for the records of several trees. The roots of a tree come first."""

    def __init__(
        self,
        device: Device,
        capacity: NDArray[np.int64],  # by tree
        n_roots: NDArray[np.int64],
        has_categories: bool,
    ) -> None:
        self.device = device
        self.trees: NDArray[Any] = np.zeros(len(capacity), dtype=TREE_RECORDS)
        self.trees["capacity"], self.trees["first"] = capacity, np.cumsum(capacity) - capacity
        n_records = int(capacity.sum())
        self.set_capacity = n_records if has_categories else 0
        check_room(
            device, RECORD_BYTES * n_records + SET_BYTES * self.set_capacity,
            f"{len(capacity)} trees together", "Set a larger min_samples_leaf, or device='cpu'.",
        )  # fmt: skip
        self.memory = device.empty(RECORD_BYTES * n_records)
        self.sets = device.empty(SET_BYTES * self.set_capacity)
        self.tree_memory = upload(device, self.trees)
        self.n_records = upload(device, n_roots.astype(np.uint32))
        for first, n in zip(self.trees["first"], n_roots, strict=True):
            device.fill(self.memory, 0xFF, RECORD_BYTES * int(n), RECORD_BYTES * int(first))

    @property
    def described(self) -> dict[str, Memory | int]:
        """Fields of the kernels' argument."""
        return {
            "trees": self.tree_memory, "n_records": self.n_records, "records": self.memory,
            "sets": self.sets, "set_capacity": self.set_capacity,
        }  # fmt: skip

    def bring(self, n_sets: int) -> tuple[list[NDArray[np.uint8]], NDArray[np.uint8]]:
        """Copy the records of each tree, and the category sets, to the host."""
        sizes = download(self.device, self.n_records, np.uint32, len(self.trees))
        room = _room_for(self.device, RECORD_BYTES * int(sizes.sum()))
        ends = np.cumsum(sizes, dtype=np.int64)
        records = []
        for first, end, n in zip(self.trees["first"], ends, sizes, strict=True):
            some = room[RECORD_BYTES * int(end - n) : RECORD_BYTES * int(end)]
            self.device.read(self.memory, some, RECORD_BYTES * int(first))
            records.append(some.reshape(int(n), RECORD_BYTES))
        sets = np.empty((n_sets, SET_BYTES), dtype=np.uint8)
        if n_sets:
            self.device.read(self.sets, sets)
        return records, sets


_rooms = threading.local()


def _room_for(device: Device, n_bytes: int) -> NDArray[np.uint8]:
    """Buffer of this thread, reused for each level: allocating costs more than the copy."""
    room = getattr(_rooms, "bytes", None)
    if room is None or len(room) < n_bytes:
        room = _rooms.bytes = device.host_bytes(n_bytes + n_bytes // 8)
    return np.asarray(room)
