"""One shard of the rows that boosting learns from, and what it is asked in each round.

As in `shards`, all functions are pure: what they return depends on nothing but their arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import CutConstants, cut_derivatives, cut_sums, log_losses
from treerank._growth.shards import Shard
from treerank._input.weights import Weights
from treerank._trees.packed_forest import ForestArrays, Sampling

FloatArray = NDArray[np.float64]
ROW_SHIFT = np.uint32(5)  # of a row's number, as the core packs it
ONE = np.uint32(1)


class CutsNow(NamedTuple):
    """Constants of the cuts between more than two classes, and what each counts."""

    constants: FloatArray
    importance: FloatArray


@dataclass(frozen=True)
class Draw:
    """Rows drawn for a tree, of all rows that are learned from."""

    sampling: Sampling
    number: int
    n_rows: int
    first_row: int  # of the shard

    def of(self, n_rows: int) -> NDArray[np.intp]:
        """Numbers of the shard's rows that were drawn."""
        return np.flatnonzero(
            self.sampling.some_counts(self.number, self.n_rows, self.first_row, n_rows)
        )


class Derived(NamedTuple):
    """What a tree is to be grown on, before it is rounded."""

    first: FloatArray
    second: FloatArray
    rows: NDArray[np.intp] | None  # None: all


class ExtremeScores(NamedTuple):
    """Scores that decide how large the derivatives of the logistic loss of two classes get.

    The core goes by these instead of the derivatives themselves, which rounding may put into
    another order where they hardly differ.
    """

    of_positives: float  # the least
    of_negatives: float  # the largest
    from_zero: float  # the least distance

    @classmethod
    def of(cls, scores: FloatArray, labels: NDArray[np.uint8]) -> ExtremeScores:
        """Extremes over some rows; infinite where there are none."""
        return cls(
            float(scores[labels == 1].min(initial=np.inf)),
            float(scores[labels == 0].max(initial=-np.inf)),
            float(np.abs(scores).min(initial=np.inf)),
        )

    def derivatives(self) -> tuple[float, float]:
        """Return the largest first and second derivative, without their signs."""
        scores, labels = np.array(self), np.array([1, 0, 0], dtype=np.uint8)
        is_there = np.isfinite(scores)
        first, second = np.zeros(3), np.zeros(3)
        _core.logistic_derivatives(np.where(is_there, scores, 0.0), labels, first, second)
        largest = np.abs(first[:2]).max(initial=0.0, where=is_there[:2])
        return float(largest), float(second[2]) if is_there[2] else 0.0


class Extent(NamedTuple):
    """What decides how gradients are rounded."""

    first: float  # the largest, without its sign
    second: float
    units: int  # of the rows drawn
    scores: ExtremeScores | None = None  # of two classes: the largest follow from these

    @classmethod
    def joined(cls, parts: list[Extent]) -> Extent:
        """Extent of all shards together."""
        units = sum(part.units for part in parts)
        scores = [part.scores for part in parts if part.scores is not None]
        if not scores:
            largest = max(part.first for part in parts), max(part.second for part in parts)
            return cls(*largest, units)
        positives, negatives, distances = zip(*scores, strict=True)
        extreme = ExtremeScores(min(positives), max(negatives), min(distances))
        return cls(*extreme.derivatives(), units, extreme)


class GradientRows(NamedTuple):
    """Rows of a shard while a tree grows on them: those of each node side by side."""

    gradients: NDArray[np.int32]
    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class GrowthRequest:
    """What a growing tree asks of all shards, as the core says it."""

    moves: tuple[Any, Any, int] | None  # steps, category sets, slots from now on
    wanted: NDArray[np.int32]
    square_shift: int
    n_codes: NDArray[np.int32]
    chosen: NDArray[np.int32]


def with_units(shard: Shard, coarser: float) -> Shard:
    """Shard whose weights are small enough to be multiplied by gradients without overflow."""
    units = shard.weights.as_units
    if units is None or coarser == 1:
        return shard
    whole = np.maximum(np.rint(units / coarser), 1.0).astype(np.int64)
    return replace(shard, weights=Weights(units=whole))


def take_rows(shard: Shard, rows: NDArray[np.intp]) -> Shard:
    """Some rows of a shard; it no longer matters which of all rows they were."""
    codes = np.ascontiguousarray(shard.codes[:, rows])
    return Shard(codes, shard.labels[rows], shard.weights.take(rows), 0)


def take_fold(shard: Shard, n_folds: int, fold: int, held_out: bool) -> Shard:
    """Rows of a fold, or all others."""
    assert shard.place is not None
    return take_rows(shard, np.flatnonzero((shard.place % n_folds == fold) == held_out))


def score(shard: Shard, start: float, trees: list[ForestArrays]) -> FloatArray:
    """Scores of the rows by some trees, added up one after the other."""
    scores = np.full(shard.n_rows, start)
    for tree in trees:
        scores += tree.total(shard.codes, 1)
    return scores


def move(shard: Shard, scores: FloatArray, tree: ForestArrays, back: bool) -> FloatArray:
    """Scores moved by a tree, or back."""
    return scores - tree.total(shard.codes, 1) if back else scores + tree.total(shard.codes, 1)


def log_loss(shard: Shard, scores: FloatArray, sums: ExactSums) -> list[NDArray[np.int64]]:
    """Sum of the log-loss of two classes."""
    return [np.array([sums.of(log_losses(scores, shard.labels), shard.weights.as_units)])]


def sums_of_cuts(
    shard: Shard, scores: FloatArray, cuts: CutConstants, sums: ExactSums
) -> list[NDArray[np.int64]]:
    """What moves the constants of cuts between more than two classes."""
    rank = shard.labels.astype(np.intp)
    return [cut_sums(scores, rank, shard.weights.as_units, cuts, sums)]


def derive(
    shard: Shard, scores: FloatArray, cuts: CutsNow | None, draw: Draw | None
) -> tuple[Derived, Extent]:
    """First and second derivatives of the logistic loss by the scores; the rows of the tree."""
    if cuts is None:
        first, second = np.empty_like(scores), np.empty_like(scores)
        _core.logistic_derivatives(scores, shard.labels, first, second)
    else:
        first, second = cut_derivatives(scores, shard.labels.astype(np.intp), *cuts)
    rows = None if draw is None else draw.of(shard.n_rows)
    units = shard.weights.as_units
    if units is not None and rows is not None:
        units = units[rows]
    n_rows = shard.n_rows if rows is None else len(rows)
    return Derived(first, second, rows), Extent(
        float(np.abs(first).max(initial=0.0)),
        float(np.abs(second).max(initial=0.0)),
        n_rows if units is None else int(units.sum()),
        ExtremeScores.of(scores, shard.labels) if cuts is None else None,
    )


def begin(derived: Derived, first_unit: float, second_unit: float) -> GradientRows:
    """Gradients in whole numbers, as the core rounds them, and all rows of the tree in its root."""
    pair = [derived.first / first_unit, derived.second / second_unit]
    gradients = np.rint(np.stack(pair, axis=1)).astype(np.int32)
    rows = derived.rows if derived.rows is not None else np.arange(len(gradients))
    packed = (rows.astype(np.uint32) << ROW_SHIFT) | ONE
    return GradientRows(gradients, packed, np.array([0, len(packed)], dtype=np.int64))


def answer(
    shard: Shard, before: GradientRows, request: GrowthRequest
) -> tuple[GradientRows, list[Any]]:
    """Move the rows, and count what is asked for."""
    state = before
    if request.moves is not None:
        rows, starts = _core.step_rows(shard.codes, state.rows, state.starts, *request.moves)
        state = GradientRows(state.gradients, rows, starts)
    sums, squares = _core.count_gradients(
        shard.codes, state.gradients, shard.weights.as_units, state.rows, state.starts,
        request.wanted, request.n_codes, request.chosen, request.square_shift,
    )  # fmt: skip
    return state, [sums, squares]
