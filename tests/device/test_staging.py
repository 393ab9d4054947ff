"""Large arrays go to a device and back piece by piece, in several threads."""

import ctypes

import numpy as np
import pytest

from treerank._device import staging


def copy_there(address, values):
    ctypes.memmove(address, values.ctypes.data, values.nbytes)


def copy_here(address, values):
    ctypes.memmove(values.ctypes.data, address, values.nbytes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_arrive_whole(monkeypatch, order):
    monkeypatch.setattr(staging, "PIECE_BYTES", 64)
    taken = []
    pieces = staging.Staging(lambda n: taken.append(n) or np.zeros(n, dtype=np.uint8))
    parts = [np.asarray(np.arange(n).reshape(-1, 3), order=order) for n in (300, 3, 33)]
    there = [np.zeros(part.nbytes, dtype=np.uint8) for part in parts]
    addresses = [one.ctypes.data for one in there]
    pieces.write(list(zip(addresses, parts, strict=True)), copy_there)
    for one, part in zip(there, parts, strict=True):
        assert one.tobytes() == part.tobytes(order="A")
    back = [np.empty_like(part) for part in parts]
    pieces.read(list(zip(addresses, back, strict=True)), copy_here)
    assert all(map(np.array_equal, back, parts))
    assert set(taken) == {64}
    assert len(taken) <= staging.AT_ONCE  # pieces are used again


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(staging, "PIECE_BYTES", 8)
    pieces = staging.Staging(lambda n: np.zeros(n, dtype=np.uint8))

    def fail(address, values):
        raise RuntimeError("no device")

    with pytest.raises(RuntimeError, match="no device"):
        pieces.write([(0, np.zeros(40, dtype=np.uint8))], fail)
