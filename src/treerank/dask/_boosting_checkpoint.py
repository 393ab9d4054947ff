"""Checkpoints of boosting: the trees so far, written every few trees, to resume a fit.

A fit has a sequence of rounds to choose the number of trees, if required, and one to grow the
trees (for each bag). The file holds the trees of each sequence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._io.atomic import find_target
from treerank._trees.packed_forest import ForestArrays
from treerank.dask._checkpoint import check_checkpoint, reading, write_arrays

# Number of trees between two writes.
EVERY = 10
# Arrays of a tree, and the column of `sizes` with their length.
LENGTHS = {
    "slots": 0, "step": 0, "left_share": 0, "set_of": 1, "category_sets": 2, "importance": 3,
}  # fmt: skip


@dataclass
class KeptRounds:
    """Trees of a sequence of rounds, and the constants between grades after the last tree."""

    trees: list[ForestArrays] = field(default_factory=list)
    constants: NDArray[np.float64] | None = None


class BoostingCheckpoint:
    """File with the trees of a fit while they grow; without a path, nothing is written."""

    def __init__(self, path: Any, digest: str) -> None:
        self.path = check_checkpoint(path)
        self.digest = digest
        self._rounds: list[KeptRounds] = []
        self._n_begun = 0
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def begin(self) -> KeptRounds:
        """Return the trees that already exist for the next sequence of rounds."""
        if self._n_begun == len(self._rounds):
            self._rounds.append(KeptRounds())
        self._n_begun += 1
        return self._rounds[self._n_begun - 1]

    def add(
        self, rounds: KeptRounds, tree: ForestArrays, constants: NDArray[np.float64] | None
    ) -> None:
        """Keep one more tree."""
        if self.path is None:
            return
        rounds.trees.append(tree)
        rounds.constants = None if constants is None else constants.copy()
        if len(rounds.trees) % EVERY == 0:
            self._write(self.path)

    def close(self) -> None:
        """Remove the checkpoint: the fit is done."""
        if self.path is not None:
            find_target(self.path).unlink(missing_ok=True)  # keeps a symbolic link to it

    def _write(self, path: Path) -> None:
        arrays: dict[str, Any] = {}
        for r, rounds in enumerate(self._rounds):
            arrays |= {f"{r}-{name}": array for name, array in _packed(rounds).items()}
        write_arrays(path, {"digest": self.digest, "rounds": len(self._rounds)}, arrays)

    def _read(self, path: Path) -> None:
        with reading(path, self.digest) as (head, file):
            self._rounds = [
                _unpacked({name: file[f"{r}-{name}"] for name in ("sizes", "constants", *LENGTHS)})
                for r in range(head["rounds"])
            ]


def _packed(rounds: KeptRounds) -> dict[str, Any]:
    """Return the trees as a few concatenated arrays."""
    lengths = ("slots", "set_of", "category_sets", "importance")
    sizes = [[len(getattr(tree, name)) for name in lengths] for tree in rounds.trees]
    arrays: dict[str, Any] = {
        "sizes": np.array(sizes, dtype=np.int64).reshape(-1, len(lengths)),
        "constants": np.empty(0) if rounds.constants is None else rounds.constants,
    }
    for name in LENGTHS:
        parts = [getattr(tree, name) for tree in rounds.trees]
        arrays[name] = np.concatenate(parts) if parts else np.empty(0)
    return arrays


def _unpacked(arrays: dict[str, Any]) -> KeptRounds:
    sizes = arrays["sizes"]
    ends = np.cumsum(sizes, axis=0)
    parts: dict[str, list[Any]] = {
        name: np.split(arrays[name], ends[:-1, column]) for name, column in LENGTHS.items()
    }
    trees = []
    for t, (n_slots, *_) in enumerate(sizes):
        given: dict[str, Any] = {name: np.ascontiguousarray(of[t]) for name, of in parts.items()}
        starts = np.array([0, n_slots], dtype=np.int64)
        at_end = np.ones(1, dtype=np.uint8)
        trees.append(ForestArrays(starts=starts, weight=None, at_end=at_end, **given))
    return KeptRounds(trees, arrays["constants"] if len(arrays["constants"]) else None)
