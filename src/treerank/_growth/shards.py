"""Operations on one shard of the training rows while trees are grown from sums.

They are the same in this process and on a worker of a cluster. All functions are pure: their
results depend only on their arguments, so that they can be repeated if a shard is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Codes
from treerank._input.weights import Weights
from treerank._trees.packed_forest import Sampling
from treerank._trees.ranking_tree import RankTree, Records

Counts = NDArray[Any]  # int64, or uint64 with the negatives in the low half of a word
Features = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int8]]
ROW_SHIFT = np.uint32(5)  # of the row number in a packed row
LOW_BITS = np.uint32(31)  # of a packed row: its label and its repeat count


@dataclass(frozen=True)
class Shard:
    """Rows ``first_row, first_row + 1, ...`` of all rows."""

    codes: Codes
    labels: NDArray[np.uint8]
    weights: Weights
    first_row: int
    # Position of each row within its class, by which it is assigned to a fold.
    place: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def take(self, rows: NDArray[np.intp]) -> Shard:
        """Return some of the rows, as rows of their own: they are counted from 0."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        return Shard(codes, self.labels[rows], self.weights.take(rows), 0)


class RowSelection(Protocol):
    """Which rows of a shard a tree is grown on, and with which weights."""

    def of(self, shard: Shard) -> Weights:
        """Return the weights of the shard's rows in this tree; 0 for a row that is not in it."""


@dataclass(frozen=True)
class AllRows:
    """Every row with its own weight."""

    def of(self, shard: Shard) -> Weights:
        """Return the weights of the rows."""
        return shard.weights


@dataclass(frozen=True)
class WithoutFold:
    """All rows except those that a fold holds out; or, if `held_out`, only those."""

    fold: int
    n_folds: int
    held_out: bool = False

    def of(self, shard: Shard) -> Weights:
        """Return the weights of the rows; 0 for those left out."""
        assert shard.place is not None
        return shard.weights.where((shard.place % self.n_folds == self.fold) == self.held_out)


@dataclass(frozen=True)
class Drawn:
    """Rows drawn for one tree of a forest."""

    sampling: Sampling
    tree: int
    n_rows: int

    def counts(self, shard: Shard) -> NDArray[np.uint8]:
        """Return how often each row was drawn."""
        return self.sampling.some_counts(self.tree, self.n_rows, shard.first_row, shard.n_rows)

    def of(self, shard: Shard) -> Weights:
        """Return the weights of the rows multiplied by how often they were drawn."""
        units = shard.weights.as_units
        if self.sampling.n_draws == 0:
            return (
                shard.weights if units is None else Weights(units=units, scale=shard.weights.scale)
            )
        counts = self.counts(shard)
        if units is None:
            return Weights(repeats=counts)
        return Weights(units=units * counts, scale=shard.weights.scale)


@dataclass(frozen=True)
class Command:
    """The operations on a shard for one tree in one round; fields are None if not needed.

    First, rows are placed anew (by `tree`, the tree so far, and the `roots` of trials) or moved (by
    `steps`). Then the histograms of the slots `wanted`, or the class weights in the leaves of grown
    `trials`, are computed.
    """

    tree: RankTree | None = None
    sample: RowSelection | None = None
    roots: Records | None = None
    gathered_roots: Records | None = None
    steps: Records | None = None
    step_sets: Records | None = None
    n_slots: tuple[int, int] | None = None  # that continue; including those that are gathered
    wanted: NDArray[np.int32] | None = None
    trials: tuple[Any, Any, Any, Any] | None = None


@dataclass(frozen=True)
class RowState:
    """The positions of the rows of a shard in one tree."""

    weights: Weights
    cells: NDArray[np.int32]  # leaf of the tree so far, by row
    rows: NDArray[np.uint32]  # by slot
    starts: NDArray[np.int64]
    gathered_rows: NDArray[np.uint32]
    gathered_starts: NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """Commands for all trees that grow in lockstep, and what they share."""

    commands: list[Command | None]
    n_codes: NDArray[np.int32]
    n_classes: int
    wide: bool  # sums may not fit into half a word


State = list[RowState | None]


def answer(shard: Shard, before: State | None, request: Request) -> tuple[State, list[Any]]:
    """Move the rows of all trees, and compute the requested sums."""
    state: State = list(before) if before is not None else [None] * len(request.commands)
    answers: list[Any] = []
    for i, command in enumerate(request.commands):
        answers.append(None)
        if command is None:
            continue
        if command.tree is not None:
            state[i] = _place(shard, command)
        row_state = state[i]
        assert row_state is not None
        if command.steps is not None:
            row_state = state[i] = _step(shard, row_state, command)
        if command.wanted is not None:
            answers[i] = _core.count_slots(
                shard.codes, row_state.weights.units, row_state.rows, row_state.starts,
                command.wanted, request.n_codes, request.wide,
            )  # fmt: skip
        if command.trials is not None:
            answers[i] = _core.trial_weights(
                shard.codes, shard.labels, row_state.weights.repeats, row_state.weights.units,
                row_state.cells, *command.trials, request.n_classes,
            )  # fmt: skip
    return state, answers


def add(answers: list[list[Any]]) -> list[Any]:
    """Sum the answers of all shards; they are integers, so that the order does not matter."""
    columns = zip(*answers, strict=True)
    return [None if column[0] is None else np.sum(column, axis=0) for column in columns]


def class_weights(
    shard: Shard, samples: list[RowSelection], n_classes: int
) -> list[NDArray[np.int64]]:
    """Return the units of each class in the rows of each tree."""
    return [_units_by(shard.labels, sample.of(shard), n_classes) for sample in samples]


def class_rows(shard: Shard, n_classes: int) -> list[NDArray[np.intp]]:
    """Return the number of rows of each class."""
    return [np.bincount(shard.labels, minlength=n_classes)]


def take_sample(shard: Shard, seed: int, bounds: NDArray[np.uint64] | None) -> Shard:
    """Return the rows whose hashes do not exceed the bound of their class; None means all."""
    if bounds is None:
        return shard
    hashes = _core.row_hashes(shard.codes, shard.labels, seed)
    return shard.take(np.flatnonzero(hashes <= bounds[shard.labels]))


def content(shard: Shard) -> list[NDArray[np.uint64]]:
    """Return sums, modulo 2^64, that serve as a fingerprint of encoded and labelled rows."""
    hashes = _core.row_hashes(shard.codes, shard.labels, 0)
    numbers = np.arange(shard.first_row, shard.first_row + shard.n_rows, dtype=np.uint64)
    weights = shard.weights.of_rows(shard.n_rows).astype(np.uint64)
    odd = np.uint64(2) * numbers + np.uint64(1)
    with np.errstate(over="ignore"):
        return [np.array([np.sum(hashes * odd), np.sum((hashes ^ odd) * weights)], np.uint64)]


def _units_by(places: NDArray[Any], weights: Weights, n_places: int) -> NDArray[np.int64]:
    units = weights.as_units
    if units is None:
        return np.bincount(places, minlength=n_places)
    total = np.zeros(n_places, dtype=np.int64)
    np.add.at(total, places, units)
    return total


def leaf_weights(
    shard: Shard, trees: list[RankTree], samples: list[RowSelection]
) -> list[NDArray[np.int64]]:
    """Return the units of each class in the leaves of each tree, for the rows of its sample."""
    return [
        tree.leaf_weights(shard.codes, shard.labels, sample.of(shard)).ravel()
        for tree, sample in zip(trees, samples, strict=True)
    ]


def _place(shard: Shard, command: Command) -> RowState:
    assert command.tree is not None
    assert command.sample is not None
    assert command.roots is not None
    assert command.gathered_roots is not None
    weights = command.sample.of(shard)
    cells = command.tree.apply(shard.codes)
    slots = [
        _core.place_rows(shard.labels, weights.repeats, weights.units, cells, roots)
        for roots in (command.roots, command.gathered_roots)
    ]
    return RowState(weights, cells, *slots[0], *slots[1])


def _step(shard: Shard, row_state: RowState, command: Command) -> RowState:
    assert command.steps is not None
    assert command.step_sets is not None
    assert command.n_slots is not None
    n_kept, n_slots = command.n_slots
    rows, starts = _core.step_rows(
        shard.codes, row_state.rows, row_state.starts, command.steps, command.step_sets, n_slots
    )
    before, end = row_state.gathered_starts, starts[n_kept]
    return RowState(
        row_state.weights, row_state.cells, rows[:end].copy(), starts[: n_kept + 1].copy(),
        np.concatenate([row_state.gathered_rows, rows[end:]]),
        np.concatenate([before, before[-1] + starts[n_kept + 1 :] - end]),
    )  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """The rows of one shard that are gathered in one slot."""

    codes: Codes
    marks: NDArray[np.uint32]  # label and repeats
    units: NDArray[np.int64] | None


@dataclass(frozen=True)
class Job:
    """A cell or node to be grown in one place: its tree and slot, and the input of growth."""

    tree: int
    slot: int
    record: Records
    options: dict[str, Any]
    features: NDArray[np.int32] | None  # that a node may use; None for a cell
    total: tuple[float, float]


def gather(shard: Shard, state: State, jobs: list[list[Job]]) -> list[list[Piece]]:
    """Take the rows of the shard for every job in each of the bins of jobs."""
    return [[_piece(shard, state[job.tree], job.slot) for job in bin_] for bin_ in jobs]


def _piece(shard: Shard, row_state: RowState | None, slot: int) -> Piece:
    assert row_state is not None
    rows = row_state.gathered_rows[
        row_state.gathered_starts[slot] : row_state.gathered_starts[slot + 1]
    ]
    numbers = rows >> ROW_SHIFT
    units = row_state.weights.units
    return Piece(
        np.ascontiguousarray(shard.codes[:, numbers]),
        rows & LOW_BITS,
        None if units is None else units[numbers],
    )


def grow_gathered(
    pieces: list[list[Piece]], jobs: list[Job], features: Features, code_values: Any
) -> list[tuple[Any, ...]]:
    """Grow cells and nodes whose rows have been gathered from all shards."""
    grown: list[tuple[Any, ...]] = []
    for job, of_shards in zip(jobs, zip(*pieces, strict=True), strict=True):
        codes = np.ascontiguousarray(np.concatenate([p.codes for p in of_shards], axis=1))
        marks = np.concatenate([p.marks for p in of_shards])
        if len(marks) > _core.MAX_ROWS:
            raise ValueError(
                f"Got {len(marks):,} rows of one cell, which its weights made look small; expected "
                f"at most {_core.MAX_ROWS:,}. Give rows weights that differ less."
            )
        rows = (np.arange(len(marks), dtype=np.uint32) << ROW_SHIFT) | marks
        units = None
        if of_shards[0].units is not None:
            units = np.concatenate([p.units for p in of_shards if p.units is not None])
        given = (codes, rows, units, *features, job.options, code_values, job.record)
        if job.features is None:
            grown.append(_core.grow_cell(*given, job.total))
        else:
            grown.append(_core.grow_node(*given, job.features))
    return grown
