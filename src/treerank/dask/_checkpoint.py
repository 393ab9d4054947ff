"""Checkpoints of growth: the trees so far, written after each level, to resume a fit.

A checkpoint holds only arrays, and a digest of everything that determines the trees, so that a
checkpoint of other data or other parameters is rejected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import treerank
from treerank._io.atomic import atomic_write, find_target
from treerank.dask._collections import CodedShards

Grown = list[tuple[Any, ...]]
# Grows a batch of trees, given a function that saves its state, and a state to continue from.
Grow = Callable[[Any, Any], Grown]
ARRAYS = ("cells", "mass", "tests", "sets", "test_weight")


class GrowthCheckpoint:
    """File with the trees of a fit while they grow; without a path, nothing is written."""

    def __init__(self, path: Any, digest: str) -> None:
        self.path = check_checkpoint(path)
        self.digest = digest
        self._done: list[Grown] = []  # batches of trees
        self._kept: list[Grown] = []
        self._open: list[tuple[Any, ...]] | None = None
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def grow(self, grow: Grow) -> Grown:
        """Grow one batch of trees, or take it from the checkpoint."""
        if len(self._done) < len(self._kept):
            grown = self._kept[len(self._done)]
        else:
            before, self._open = self._open, None
            grown = grow(None if self.path is None else self._write, before)
        self._done.append(grown)
        if self.path is not None and len(self._done) > len(self._kept):
            self._write(None)
        return grown

    def close(self) -> None:
        """Remove the checkpoint: the fit is done."""
        if self.path is not None:
            find_target(self.path).unlink(missing_ok=True)  # keeps a symbolic link to it

    def _write(self, state: list[tuple[Any, ...]] | None) -> None:
        assert self.path is not None
        arrays: dict[str, Any] = {}
        head = {"digest": self.digest, "done": [len(batch) for batch in self._done], "open": -1}
        for b, batch in enumerate(self._done):
            for t, tree in enumerate(batch):
                arrays |= {f"done-{b}-{t}-{n}": a for n, a in zip(ARRAYS, tree, strict=True)}
        if state is not None:
            head["open"] = len(state)
            for t, (tree, depth, gathered) in enumerate(state):
                arrays |= {f"open-{t}-{n}": a for n, a in zip(ARRAYS, tree, strict=True)}
                arrays |= {f"open-{t}-depth": np.int32(depth), f"open-{t}-gathered": gathered}
        write_arrays(self.path, head, arrays)

    def _read(self, path: Path) -> None:
        with reading(path, self.digest) as (head, file):
            self._kept = [
                [tuple(file[f"done-{b}-{t}-{n}"] for n in ARRAYS) for t in range(n_trees)]
                for b, n_trees in enumerate(head["done"])
            ]
            if head["open"] >= 0:
                self._open = [
                    (
                        tuple(file[f"open-{t}-{n}"] for n in ARRAYS),
                        int(file[f"open-{t}-depth"]),
                        file[f"open-{t}-gathered"],
                    )
                    for t in range(head["open"])
                ]


def write_arrays(path: Path, head: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a checkpoint: its header, and arrays."""
    text = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, head=text, **arrays)


@contextmanager
def reading(path: Path, digest: str) -> Iterator[tuple[Any, Any]]:
    """Yield the header of a checkpoint, and its arrays; raise if it is of another fit."""
    refuse = f"expected a checkpoint of this fit. Remove {str(path)!r}, or name another file."
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(bytes(file["head"]))
            is_other = head["digest"] != digest
            if not is_other:
                yield head, file
    except Exception as error:
        raise ValueError(f"Got a checkpoint that cannot be read ({error}); {refuse}") from None
    if is_other:
        raise ValueError(f"Got a checkpoint of other data or other parameters; {refuse}")


def check_checkpoint(path: Any) -> Path | None:
    """Return the path of the checkpoint, or None; raise if its folder does not exist."""
    if path is None:
        return None
    found = Path(path)
    if not found.parent.is_dir():
        raise FileNotFoundError(
            f"Got checkpoint={str(path)!r}, but there is no folder "
            f"{str(found.parent)!r}; make it first."
        )
    find_target(found)  # raises for a device, from which a fit cannot be resumed
    return found


def digest_of(estimator: Any, coded: CodedShards, content: Any) -> str:
    """Digest of everything that determines the trees."""
    parameters = {
        name: repr(value)
        for name, value in estimator.get_params().items()
        if name not in ("client", "checkpoint", "verbose", "n_jobs")
    }
    seen = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    binning = coded.binning
    said = [
        treerank.__version__,
        coded.n_rows,
        coded.names,
        coded.classes.tolist(),
        repr(binning.levels),
        coded.scale,
        coded.design_effect,
    ]
    seen.update(json.dumps(said, default=str).encode())
    for array in [*binning.thresholds, np.asarray(content)]:
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()
