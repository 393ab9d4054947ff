"""Operations on one shard of the training rows of boosting.

As in `shards`, all functions are pure: their results depend only on their arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._growth.exact_sums import ExactSums
from treerank._growth.losses import CutConstants, cut_derivatives, cut_sums, log_losses
from treerank._growth.shards import ROW_SHIFT, Shard
from treerank._input.types import Floats
from treerank._input.weights import Weights
from treerank._trees.packed_forest import ForestArrays, Sampling

ONE = np.uint32(1)


class CutsNow(NamedTuple):
    """Constants of the cuts between more than two classes, and their weights."""

    constants: Floats
    importance: Floats


@dataclass(frozen=True)
class Draw:
    """Rows drawn for a tree from all training rows."""

    sampling: Sampling
    number: int
    n_rows: int
    first_row: int  # of the shard

    def of(self, n_rows: int) -> NDArray[np.intp]:
        """Return the indices of the rows of the shard that were drawn."""
        return np.flatnonzero(
            self.sampling.some_counts(self.number, self.n_rows, self.first_row, n_rows)
        )


class Derived(NamedTuple):
    """The derivatives that a tree is grown on, before they are rounded."""

    first: Floats
    second: Floats
    rows: NDArray[np.intp] | None  # None: all


class ExtremeScores(NamedTuple):
    """Scores that determine the largest derivatives of the two-class logistic loss.

    The core uses these instead of the derivatives themselves, whose order rounding may change if
    they hardly differ.
    """

    of_positives: float  # smallest score of a positive
    of_negatives: float  # largest score of a negative
    from_zero: float  # smallest absolute score

    @classmethod
    def of(cls, scores: Floats, labels: NDArray[np.uint8]) -> ExtremeScores:
        """Return the extremes over some rows; infinite if there are none."""
        return cls(
            float(scores[labels == 1].min(initial=np.inf)),
            float(scores[labels == 0].max(initial=-np.inf)),
            float(np.abs(scores).min(initial=np.inf)),
        )

    def derivatives(self) -> tuple[float, float]:
        """Return the largest absolute first and second derivatives."""
        scores, labels = np.array(self), np.array([1, 0, 0], dtype=np.uint8)
        is_there = np.isfinite(scores)
        first, second = np.zeros(3), np.zeros(3)
        _core.logistic_derivatives(np.where(is_there, scores, 0.0), labels, first, second)
        largest = np.abs(first[:2]).max(initial=0.0, where=is_there[:2])
        return float(largest), float(second[2]) if is_there[2] else 0.0


class Extent(NamedTuple):
    """What determines how gradients are rounded."""

    first: float  # largest absolute first derivative
    second: float  # largest absolute second derivative
    units: int  # total weight of the rows drawn
    scores: ExtremeScores | None = None  # for two classes: `first` and `second` follow from it

    @classmethod
    def joined(cls, parts: list[Extent]) -> Extent:
        """Combine the extents of all shards."""
        units = sum(part.units for part in parts)
        scores = [part.scores for part in parts if part.scores is not None]
        if not scores:
            largest = max(part.first for part in parts), max(part.second for part in parts)
            return cls(*largest, units)
        positives, negatives, distances = zip(*scores, strict=True)
        extreme = ExtremeScores(min(positives), max(negatives), min(distances))
        return cls(*extreme.derivatives(), units, extreme)


class GradientRows(NamedTuple):
    """Rows of a shard while a tree grows on them; the rows of each node are contiguous."""

    gradients: NDArray[np.int32]
    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class GrowthRequest:
    """A request of a growing tree to all shards, as the core formulates it."""

    moves: tuple[Any, Any, int] | None  # steps, category sets, new number of slots
    wanted: NDArray[np.int32]
    square_shift: int
    n_codes: NDArray[np.int32]
    chosen: NDArray[np.int32]


def with_units(shard: Shard, coarser: float) -> Shard:
    """Return the shard with weights small enough for products with gradients not to overflow."""
    units = shard.weights.as_units
    if units is None or coarser == 1:
        return shard
    whole = np.maximum(np.rint(units / coarser), 1.0).astype(np.int64)
    return replace(shard, weights=Weights(units=whole))


def take_fold(shard: Shard, n_folds: int, fold: int, held_out: bool) -> Shard:
    """Return the rows of a fold, or all others."""
    assert shard.place is not None
    return shard.take(np.flatnonzero((shard.place % n_folds == fold) == held_out))


def score(shard: Shard, start: float, trees: list[ForestArrays]) -> Floats:
    """Return the scores of the rows, with the trees added one after another."""
    scores = np.full(shard.n_rows, start)
    for tree in trees:
        scores += tree.total(shard.codes, 1)
    return scores


def move(shard: Shard, scores: Floats, tree: ForestArrays, back: bool) -> Floats:
    """Return the scores with a tree added, or subtracted if `back`."""
    return scores - tree.total(shard.codes, 1) if back else scores + tree.total(shard.codes, 1)


def log_loss(shard: Shard, scores: Floats, sums: ExactSums) -> list[NDArray[np.int64]]:
    """Return the sum of the two-class log-loss."""
    return [np.array([sums.of(log_losses(scores, shard.labels), shard.weights.as_units)])]


def sums_of_cuts(
    shard: Shard, scores: Floats, cuts: CutConstants, sums: ExactSums
) -> list[NDArray[np.int64]]:
    """Return the sums that update the constants of cuts between more than two classes."""
    rank = shard.labels.astype(np.intp)
    return [cut_sums(scores, rank, shard.weights.as_units, cuts, sums)]


def derive(
    shard: Shard, scores: Floats, cuts: CutsNow | None, draw: Draw | None
) -> tuple[Derived, Extent]:
    """Return the derivatives of the logistic loss and the rows of the tree, and their extent."""
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
    """Round the gradients to integers, like the core, and put all rows of the tree in its root."""
    pair = [derived.first / first_unit, derived.second / second_unit]
    gradients = np.rint(np.stack(pair, axis=1)).astype(np.int32)
    rows = derived.rows if derived.rows is not None else np.arange(len(gradients))
    packed = (rows.astype(np.uint32) << ROW_SHIFT) | ONE
    return GradientRows(gradients, packed, np.array([0, len(packed)], dtype=np.int64))


def answer(
    shard: Shard, before: GradientRows, request: GrowthRequest
) -> tuple[GradientRows, list[Any]]:
    """Move the rows, and compute the requested sums."""
    state = before
    if request.moves is not None:
        rows, starts = _core.step_rows(shard.codes, state.rows, state.starts, *request.moves)
        state = GradientRows(state.gradients, rows, starts)
    sums, squares = _core.count_gradients(
        shard.codes, state.gradients, shard.weights.as_units, state.rows, state.starts,
        request.wanted, request.n_codes, request.chosen, request.square_shift,
    )  # fmt: skip
    return state, [sums, squares]
