"""Choice of the device: the CPU, or a GPU."""

from __future__ import annotations

from typing import Any

from treerank._device.cuda import cuda_device
from treerank._device.device import Device

DEVICES = ["cpu", "cuda"]
# With fewer rows, the CPU codes the table and grows the trees sooner than a device has started.
LEAST_ROWS = 50_000


def device_of(given: Any) -> Device | None:
    """Return the device with the given name; None for the CPU."""
    if not isinstance(given, str) or given not in DEVICES:
        raise ValueError(f"Got device={given!r}; expected 'cpu' or 'cuda'.")
    return None if given == "cpu" else cuda_device()
