"""The rounds of boosting: compute gradients, grow a tree on them, and add it to the scores."""

from __future__ import annotations

import threading
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
from treerank._input.types import Floats
from treerank._trees.packed_forest import ForestArrays, Sampling
from treerank._trees.ranking_tree import CATEGORICAL

if TYPE_CHECKING:
    from treerank._growth.boosting import BoostingPlan, BoostingRows

# First and second derivatives of the loss with respect to the scores; None if the grower computes
# them itself.
Derivatives = tuple[Floats, Floats] | tuple[None, None]

GRADIENT_BITS = 30


def grow_rounds(
    rows: BoostingRows,
    binning: Binning,
    plan: BoostingPlan,
    scores: Floats,
    first: int = 0,
    at_once: int = 1,
) -> Generator[ForestArrays | None]:
    """Yield the tree of each round, or None if it has no split, and add it to the scores.

    With the logistic loss, up to `at_once` trees come together. Ends early if nothing is left to
    learn.
    """
    if plan.device is not None and len(rows.rank) >= LEAST_ROWS:
        yield from _rounds_on_device(plan.device, rows, binning, plan, scores, first)
        return
    with stage("grow"):
        columns = binning.columns
        rounds = _core.BoostingRounds(
            rows.codes, rows.units, columns.n_codes, columns.as_sets, plan.monotonic, plan.n_jobs
        )
    if _is_derived_by_grower(rows, plan):
        yield from _logistic_rounds(rounds, rows, plan, scores, first, at_once)
        return

    def update(tree: ForestArrays) -> None:
        if plan.subsample < 1:
            with stage("update scores"):
                np.add(scores, tree.total(rows.codes, plan.n_jobs), out=scores)

    yield from _one_by_one(rounds.grow, update, rows, plan, scores, first)


def _one_by_one(
    grow: Callable[..., Any],
    update: Callable[[ForestArrays], None],
    rows: BoostingRows,
    plan: BoostingPlan,
    scores: Floats,
    first: int,
) -> Generator[ForestArrays | None]:
    """Yield the trees that `grow` grows; `update` adds a tree to the scores of all its rows."""
    settings = _settings_of(rows, plan)
    loss = None if _is_derived_by_grower(rows, plan) else _loss_of(rows, plan)
    for number in range(first, plan.n_rounds):
        with stage("gradients"):
            derivatives: Derivatives = (None, None) if loss is None else loss(scores)
        with stage("grow"):
            tree = _grow_tree(grow, rows, derivatives, plan, settings, number, scores)
        if tree is None:
            break
        if len(tree.slots) == 1:  # no split; other rows and features may have one
            yield None
            continue
        update(tree)
        yield tree


def _logistic_rounds(
    rounds: _core.BoostingRounds,
    rows: BoostingRows,
    plan: BoostingPlan,
    scores: Floats,
    first: int,
    at_once: int,
) -> Generator[ForestArrays | None]:
    """Yield the trees of several rounds at a time, which the core grows one after another."""
    settings = _settings_of(rows, plan)
    labels, n_features = rows.rank.astype(np.uint8), len(rows.made)
    sampling = None if plan.subsample == 1 else vars(subsampling(rows.n_rows, plan))
    goes_on = True
    for start in range(first, plan.n_rounds, at_once):
        numbers = range(start, min(start + at_once, plan.n_rounds))
        with stage("grow"):
            chosen = np.array([drawn_features(n_features, plan, number) for number in numbers])
            grown, goes_on = rounds.boost(
                scores, labels, settings.bits, rows.scale, sampling, start, chosen, settings.options
            )
            trees = _boosted_trees(*grown)
        if trees.n_trees > 0 or goes_on:
            yield trees if trees.n_trees > 0 else None
        if not goes_on:
            break


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


def _loss_of(rows: BoostingRows, plan: BoostingPlan) -> Callable[[Floats], Derivatives]:
    return make_loss(plan.loss, rows.rank, rows.weight, rows.units, rows.n_classes, plan.focus)


def _rounds_on_device(
    device: Device,
    rows: BoostingRows,
    binning: Binning,
    plan: BoostingPlan,
    scores: Floats,
    first: int,
) -> Generator[ForestArrays | None]:
    """Yield the same trees as the core; scores are updated on the device and copied at the end.

    The device computes the derivatives of the two-class logistic loss. Other losses need all scores
    on the host in each round.
    """
    features = Features(binning.columns.n_codes, binning.columns.as_sets, plan.monotonic)
    with stage("grow"):
        rounds = DeviceRounds(device, rows.made, rows.rank, rows.units, features, scores)

    def update(tree: ForestArrays) -> None:
        with stage("update scores"):
            if plan.subsample < 1:
                rounds.add(tree.packed)
            if not _is_derived_by_grower(rows, plan):
                rounds.read_scores(scores)

    try:
        yield from _one_by_one(rounds.grow, update, rows, plan, scores, first)
    finally:
        rounds.read_scores(scores)


def _grow_tree(
    grow: Callable[..., Any],
    rows: BoostingRows,
    derivatives: Derivatives,
    plan: BoostingPlan,
    settings: _TreeSettings,
    number: int,
    scores: Floats,
) -> ForestArrays | None:
    """Grow a tree by `grow`, or return None if nothing is left to learn.

    A tree grown on all rows is also added to their scores.
    """
    drawn = _drawn_rows(len(rows.rank), plan, number)
    grown = grow(
        derivatives[0], derivatives[1], settings.bits, rows.scale, drawn,
        drawn_features(len(rows.made), plan, number), settings.options,
        scores if drawn is None else None,
    )  # fmt: skip
    return None if grown is None else boosted_tree(grown)


def boosted_tree(grown: tuple[Any, ...]) -> ForestArrays:
    """Wrap a tree of the core."""
    slots, value, target, sets, importance, left_share = grown
    is_set = (slots.view(np.uint32)[:, 0] & CATEGORICAL) > 0
    set_of = np.where(is_set, target, -1).astype(np.int32) if len(sets) else target[:0]
    starts = np.array([0, len(slots)], dtype=np.int64)
    return _boosted_trees(starts, slots, value, set_of, sets, importance, left_share)


def _boosted_trees(
    starts: NDArray[np.int64],
    slots: NDArray[np.uint8],
    value: NDArray[np.float32],
    set_of: NDArray[np.int32],
    sets: NDArray[np.uint8],
    importance: Floats,
    left_share: NDArray[np.float32],
) -> ForestArrays:
    """Wrap trees of the core, of which each walk adds the value of the slot where it ends."""
    n_trees = len(starts) - 1
    return ForestArrays(
        starts=starts,
        slots=slots,
        step=value,
        weight=None,
        set_of=set_of,
        category_sets=sets,
        importance=importance.reshape(n_trees, -1) if n_trees else importance,
        at_end=np.ones(n_trees, dtype=np.uint8),
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
    chosen = _generator(seed, number).choice(n_features, n_chosen, replace=False)
    drawn = np.sort(chosen).astype(np.int32)
    drawn.flags.writeable = False
    return drawn


def _generator(seed: int, number: int) -> np.random.Generator:
    """Return the generator of a round: that of `Philox(key=...)`, but quicker to make."""
    if not hasattr(_kept, "generator"):
        bits = np.random.Philox(key=[0, 0])
        _kept.generator, _kept.state = np.random.Generator(bits), bits.state
    key = _kept.state["state"]["key"]
    key[0], key[1] = seed, number
    generator: np.random.Generator = _kept.generator
    generator.bit_generator.state = _kept.state
    return generator


_kept = threading.local()  # a generator for each thread
