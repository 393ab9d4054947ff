"""The rounds of boosting: compute gradients, grow a tree on them, and add it to the scores."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._device.choice import LEAST_ROWS
from treerank._device.device import Device
from treerank._device.table import Features
from treerank._growth.boosting_device import DeviceRounds
from treerank._growth.losses import make_loss
from treerank._input.stages import stage
from treerank._trees.packed_forest import ForestArrays, Sampling
from treerank._trees.ranking_tree import CATEGORICAL

if TYPE_CHECKING:
    from treerank._growth.boosting import BoostingPlan, BoostingRows

FloatArray = NDArray[np.float64]
# First and second derivatives of the loss with respect to the scores; None if the grower computes
# them itself.
Derivatives = tuple[FloatArray, FloatArray] | tuple[None, None]
Derive = Callable[[FloatArray], Derivatives]

GRADIENT_BITS = 30


def grow_rounds(
    rows: BoostingRows, binning: Binning, plan: BoostingPlan, scores: FloatArray, first: int = 0
) -> Generator[ForestArrays | None]:
    """Yield the tree of each round, or None if it has no split, and add it to the scores.

    Ends early if nothing is left to learn.
    """
    if plan.device is not None and len(rows.rank) >= LEAST_ROWS:
        yield from _rounds_on_device(plan.device, rows, binning, plan, scores, first)
        return
    with stage("grow"):
        rounds = _core.BoostingRounds(
            rows.codes, rows.units, binning.n_codes, binning.grown_as_sets, plan.monotonic,
            plan.n_jobs,
        )  # fmt: skip
    settings = _settings_of(rows, plan)
    derive = _derivatives_of(rounds, rows, plan, settings)
    for number in range(first, plan.n_rounds):
        with stage("gradients"):
            derivatives = derive(scores)
        with stage("grow"):
            tree = _grow_tree(rounds, rows, derivatives, plan, settings, number, scores)
        if tree is None:
            break
        if len(tree.slots) == 1:  # no split; other rows and features may have one
            yield None
            continue
        if plan.subsample < 1:
            with stage("update scores"):
                scores += tree.total(rows.codes, plan.n_jobs)
        yield tree


class _TreeSettings(NamedTuple):
    """Settings of the core that all trees share."""

    bits: int  # of the gradient of a row
    options: dict[str, Any]


def _settings_of(rows: BoostingRows, plan: BoostingPlan) -> _TreeSettings:
    weight = len(rows.rank) if rows.units is None else int(rows.units.sum())
    options = tree_options(plan, rows.scale, rows.design_effect, weight)
    return _TreeSettings(gradient_bits(weight), options)


def gradient_bits(weight: int) -> int:
    """Return the number of bits of a gradient such that weighted sums do not overflow."""
    return min(GRADIENT_BITS, 61 - int(np.ceil(np.log2(weight + 1))))


def tree_options(
    plan: BoostingPlan, scale: float, design_effect: float, weight: int
) -> dict[str, Any]:
    """Return the options of a tree for the core; `weight` is the total weight in units."""
    return {
        "max_depth": plan.max_depth,
        "max_leaf_nodes": plan.max_leaf_nodes,
        "leafrank_depth": plan.leafrank_depth,
        "min_weight_leaf": min(max(1, round(plan.min_samples_leaf * scale)), weight + 1),
        "independent_weight": scale * design_effect,
        "l2": plan.l2,
        "learning_rate": plan.learning_rate,
        "by_stratum": plan.by_stratum,
    }


def _is_derived_by_grower(rows: BoostingRows, plan: BoostingPlan) -> bool:
    """Whether the loss is the two-class logistic loss, whose derivatives the grower computes."""
    return plan.loss == "logistic" and rows.n_classes == 2


def _loss_of(rows: BoostingRows, plan: BoostingPlan) -> Derive:
    return make_loss(plan.loss, rows.rank, rows.weight, rows.units, rows.n_classes, plan.focus)


def _derivatives_of(
    rounds: _core.BoostingRounds, rows: BoostingRows, plan: BoostingPlan, settings: _TreeSettings
) -> Derive:
    """Return a function that computes the derivatives of a round, or lets the core do so."""
    if not _is_derived_by_grower(rows, plan):
        return _loss_of(rows, plan)
    labels = rows.rank.astype(np.uint8)

    def derive(scores: FloatArray) -> Derivatives:
        rounds.set_logistic_gradients(scores, labels, settings.bits)
        return None, None

    return derive


def _rounds_on_device(
    device: Device,
    rows: BoostingRows,
    binning: Binning,
    plan: BoostingPlan,
    scores: FloatArray,
    first: int,
) -> Generator[ForestArrays | None]:
    """Yield the same trees as the core; scores are updated on the device and copied at the end.

    The device computes the derivatives of the two-class logistic loss. Other losses need all scores
    on the host in each round.
    """
    features = Features(binning.n_codes, binning.grown_as_sets, plan.monotonic)
    with stage("grow"):
        rounds = DeviceRounds(device, rows.made, rows.rank, rows.units, features, scores)
    settings = _settings_of(rows, plan)
    is_derived_there = _is_derived_by_grower(rows, plan)
    loss = None if is_derived_there else _loss_of(rows, plan)
    try:
        for number in range(first, plan.n_rounds):
            with stage("gradients"):
                derivatives: Derivatives = (None, None) if loss is None else loss(scores)
            with stage("grow"):
                tree = _grow_tree(rounds, rows, derivatives, plan, settings, number, scores)
            if tree is None:
                break
            if len(tree.slots) == 1:
                yield None
                continue
            with stage("update scores"):
                if plan.subsample < 1:
                    rounds.add(tree.packed)
                if not is_derived_there:
                    rounds.read_scores(scores)
            yield tree
    finally:
        rounds.read_scores(scores)


def _grow_tree(
    rounds: _core.BoostingRounds | DeviceRounds,
    rows: BoostingRows,
    derivatives: Derivatives,
    plan: BoostingPlan,
    settings: _TreeSettings,
    number: int,
    scores: FloatArray,
) -> ForestArrays | None:
    """Grow a tree, or return None if nothing is left to learn.

    A tree grown on all rows is also added to their scores.
    """
    drawn = _drawn_rows(len(rows.rank), plan, number)
    grown: Any = rounds.grow(
        derivatives[0], derivatives[1], settings.bits, rows.scale, drawn,
        drawn_features(len(rows.made), plan, number), settings.options,
        scores if drawn is None else None,
    )  # fmt: skip
    return None if grown is None else boosted_tree(grown)


def boosted_tree(grown: tuple[Any, ...]) -> ForestArrays:
    """Wrap a tree of the core."""
    slots, value, target, sets, importance, left_share = grown
    is_set = (slots.view(np.uint32)[:, 0] & CATEGORICAL) > 0
    return ForestArrays(
        starts=np.array([0, len(slots)], dtype=np.int64),
        slots=slots,
        step=value,
        weight=None,
        set_of=np.where(is_set, target, -1).astype(np.int32) if len(sets) else target[:0],
        category_sets=sets,
        importance=importance[np.newaxis],
        at_end=np.ones(1, dtype=np.uint8),
        left_share=left_share,
    )


def _drawn_rows(n_rows: int, plan: BoostingPlan, number: int) -> NDArray[np.uint32] | None:
    """Draw the rows of a tree without replacement, by seed and round only; None means all."""
    if plan.subsample == 1:
        return None
    counts = subsampling(n_rows, plan).counts(number, n_rows)
    return np.flatnonzero(counts).astype(np.uint32)


def subsampling(n_rows: int, plan: BoostingPlan) -> Sampling:
    """Return how the rows of trees are drawn."""
    return Sampling(replace=False, n_draws=max(1, round(plan.subsample * n_rows)), seed=plan.seed)


def drawn_features(n_features: int, plan: BoostingPlan, number: int) -> NDArray[np.int32]:
    """Draw the features of a tree, by seed and round only."""
    if plan.n_chosen < 0:
        return np.arange(n_features, dtype=np.int32)
    return _draw_features(n_features, plan.n_chosen, plan.seed, number)


@lru_cache(maxsize=4096)
def _draw_features(n_features: int, n_chosen: int, seed: int, number: int) -> NDArray[np.int32]:
    """Draw features; cached, because it can take as long as growth and is shared by all trials."""
    generator = np.random.Generator(np.random.Philox(key=[seed, number]))
    chosen = generator.choice(n_features, n_chosen, replace=False)
    drawn = np.sort(chosen).astype(np.int32)
    drawn.flags.writeable = False
    return drawn
