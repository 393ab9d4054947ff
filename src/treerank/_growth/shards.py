"""One part of the training rows, and what it is asked while trees are grown from sums.

A part is asked the same questions wherever it is: in this process, or on a worker of a
cluster. All functions are pure: what they return depends on nothing but their arguments, so
that a part that is lost can be asked again.
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
LOW_BITS = np.uint32(31)  # of a row: its label and how often it counts


@dataclass(frozen=True)
class Part:
    """Rows ``first_row, first_row + 1, ...`` of all rows."""

    codes: Codes
    labels: NDArray[np.uint8]
    weights: Weights
    first_row: int
    place: NDArray[np.int64] | None = (
        None  # among the rows of its class, as they are dealt to folds
    )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)


class Sample(Protocol):
    """Which rows of a part a tree is grown on, and how often they count."""

    def of(self, part: Part) -> Weights:
        """Weights of the part's rows in this tree; 0 for a row that is not in it."""


@dataclass(frozen=True)
class AllRows:
    """Every row, by its own weight."""

    def of(self, part: Part) -> Weights:
        """Return the weights of the rows."""
        return part.weights


@dataclass(frozen=True)
class WithoutFold:
    """All rows but what a fold holds out; or, turned round, only that."""

    fold: int
    n_folds: int
    held_out: bool = False

    def of(self, part: Part) -> Weights:
        """Return what is left of the weights of the rows."""
        assert part.place is not None
        return part.weights.where((part.place % self.n_folds == self.fold) == self.held_out)


@dataclass(frozen=True)
class Drawn:
    """Rows drawn for one tree of a forest."""

    sampling: Sampling
    tree: int
    n_rows: int

    def counts(self, part: Part) -> NDArray[np.uint8]:
        """How often each row was drawn."""
        return self.sampling.some_counts(self.tree, self.n_rows, part.first_row, part.n_rows)

    def of(self, part: Part) -> Weights:
        """Return the weights of the rows times their draws."""
        units = part.weights.as_units
        if self.sampling.n_draws == 0:
            return part.weights if units is None else Weights(units=units, scale=part.weights.scale)
        counts = self.counts(part)
        if units is None:
            return Weights(repeats=counts)
        return Weights(units=units * counts, scale=part.weights.scale)


@dataclass(frozen=True)
class Order:
    """What a part is asked for one tree in one round; None: nothing of that kind.

    First rows are placed anew (`tree`, the tree so far, with the `roots` of trials) or moved
    (`steps`); then the histograms of the slots `wanted`, or the class masses of the leaves of
    grown `trials`, are counted.
    """

    tree: RankTree | None = None
    sample: Sample | None = None
    roots: Records | None = None
    aside_roots: Records | None = None
    steps: Records | None = None
    step_sets: Records | None = None
    wanted: NDArray[np.int32] | None = None
    trials: tuple[Any, Any, Any, Any] | None = None


@dataclass(frozen=True)
class Placed:
    """Where the rows of a part are in one tree."""

    weights: Weights
    cells: NDArray[np.int32]  # leaf of the tree so far, by row
    rows: NDArray[np.uint32]  # by slot
    starts: NDArray[np.int64]
    aside_rows: NDArray[np.uint32]
    aside_starts: NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """Orders for all trees that grow in lockstep, and what they have in common."""

    orders: list[Order | None]
    n_codes: NDArray[np.int32]
    n_classes: int
    wide: bool  # sums may not fit half a word


State = list[Placed | None]


def answer(part: Part, before: State | None, question: Question) -> tuple[State, list[Any]]:
    """Move the rows of all trees, and count what is asked for."""
    state: State = list(before) if before is not None else [None] * len(question.orders)
    answers: list[Any] = []
    for i, order in enumerate(question.orders):
        answers.append(None)
        if order is None:
            continue
        if order.tree is not None:
            state[i] = _place(part, order)
        placed = state[i]
        assert placed is not None
        if order.steps is not None:
            placed = state[i] = _step(part, placed, order)
        if order.wanted is not None:
            answers[i] = _core.count_slots(
                part.codes, placed.weights.units, placed.rows, placed.starts, order.wanted,
                question.n_codes, question.wide,
            )  # fmt: skip
        if order.trials is not None:
            answers[i] = _core.trial_masses(
                part.codes, part.labels, placed.weights.repeats, placed.weights.units,
                placed.cells, *order.trials, question.n_classes,
            )  # fmt: skip
    return state, answers


def add(answers: list[list[Any]]) -> list[Any]:
    """Add up what parts have answered; whole numbers, so that their order does not matter."""
    columns = zip(*answers, strict=True)
    return [None if column[0] is None else np.sum(column, axis=0) for column in columns]


def class_masses(part: Part, samples: list[Sample], n_classes: int) -> list[NDArray[np.int64]]:
    """Units of each class in the rows of each tree."""
    return [_units_by(part.labels, sample.of(part), n_classes) for sample in samples]


def content(part: Part) -> list[NDArray[np.uint64]]:
    """Sums, modulo 2^64, that tell one table of coded and labelled rows from another."""
    hashes = _core.row_hashes(part.codes, part.labels, 0)
    numbers = np.arange(part.first_row, part.first_row + part.n_rows, dtype=np.uint64)
    units = part.weights.as_units
    masses = np.ones(part.n_rows, np.uint64) if units is None else units.astype(np.uint64)
    odd = np.uint64(2) * numbers + np.uint64(1)
    with np.errstate(over="ignore"):
        return [np.array([np.sum(hashes * odd), np.sum((hashes ^ odd) * masses)], np.uint64)]


def _units_by(places: NDArray[Any], weights: Weights, n_places: int) -> NDArray[np.int64]:
    units = weights.as_units
    if units is None:
        return np.bincount(places, minlength=n_places)
    total = np.zeros(n_places, dtype=np.int64)
    np.add.at(total, places, units)
    return total


def leaf_masses(
    part: Part, trees: list[RankTree], samples: list[Sample], n_classes: int
) -> list[NDArray[np.int64]]:
    """Units of each class in the leaves of each tree: the sample's rows walk through it."""
    masses = []
    for tree, sample in zip(trees, samples, strict=True):
        place = tree.apply(part.codes).astype(np.int64) * n_classes + part.labels
        masses.append(_units_by(place, sample.of(part), tree.n_cells * n_classes))
    return masses


def _place(part: Part, order: Order) -> Placed:
    assert order.tree is not None
    assert order.sample is not None
    assert order.roots is not None
    assert order.aside_roots is not None
    weights = order.sample.of(part)
    cells = order.tree.apply(part.codes)
    slots = [
        _core.place_rows(part.labels, weights.repeats, weights.units, cells, roots)
        for roots in (order.roots, order.aside_roots)
    ]
    return Placed(weights, cells, *slots[0], *slots[1])


def _step(part: Part, placed: Placed, order: Order) -> Placed:
    assert order.steps is not None
    assert order.step_sets is not None
    rows, starts, aside_rows, aside_starts = _core.step_rows(
        part.codes, placed.rows, placed.starts, order.steps, order.step_sets
    )
    return Placed(
        placed.weights, placed.cells, rows, starts,
        np.concatenate([placed.aside_rows, aside_rows]),
        np.concatenate([placed.aside_starts, placed.aside_starts[-1] + aside_starts[1:]]),
    )  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """What one part has of the rows set aside in one slot."""

    codes: Codes
    marks: NDArray[np.uint32]  # label and repeats
    units: NDArray[np.int64] | None


@dataclass(frozen=True)
class Job:
    """A cell or a node to be grown in one place: tree and slot, and what growth depends on."""

    tree: int
    slot: int
    record: Records
    options: dict[str, Any]
    features: NDArray[np.int32] | None  # None: a cell, else the features that a node may use
    total: tuple[float, float]


def take_aside(part: Part, state: State, jobs: list[list[Job]]) -> list[list[Piece]]:
    """Take the part's rows of every job, job by job in each of the bins."""
    return [[_piece(part, state[job.tree], job.slot) for job in bin_] for bin_ in jobs]


def _piece(part: Part, placed: Placed | None, slot: int) -> Piece:
    assert placed is not None
    rows = placed.aside_rows[placed.aside_starts[slot] : placed.aside_starts[slot + 1]]
    numbers = rows >> np.uint32(5)
    units = placed.weights.units
    return Piece(
        np.ascontiguousarray(part.codes[:, numbers]),
        rows & LOW_BITS,
        None if units is None else units[numbers],
    )


def grow_aside(
    pieces: list[list[Piece]], jobs: list[Job], features: Features, code_values: Any
) -> list[tuple[Any, ...]]:
    """Grow cells and nodes whose rows have been brought together from all parts."""
    grown: list[tuple[Any, ...]] = []
    for job, of_parts in zip(jobs, zip(*pieces, strict=True), strict=True):
        codes = np.ascontiguousarray(np.concatenate([p.codes for p in of_parts], axis=1))
        marks = np.concatenate([p.marks for p in of_parts])
        if len(marks) > _core.MAX_ROWS:
            raise ValueError(
                f"Got {len(marks):,} rows of one cell, which its weights made look small; expected "
                f"at most {_core.MAX_ROWS:,}. Give rows weights that differ less."
            )
        rows = (np.arange(len(marks), dtype=np.uint32) << 5) | marks
        units = None
        if of_parts[0].units is not None:
            units = np.concatenate([p.units for p in of_parts if p.units is not None])
        given = (codes, rows, units, *features, job.options, code_values, job.record)
        if job.features is None:
            grown.append(_core.grow_cell(*given, job.total))
        else:
            grown.append(_core.grow_node(*given, job.features))
    return grown
