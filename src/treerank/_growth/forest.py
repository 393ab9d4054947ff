"""The plan of a forest, and the growth of its trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._binning.encoding import Encoding
from treerank._growth.device_rows import DeviceRows
from treerank._growth.progress import Report
from treerank._growth.splitter_forest import grow_splitter_forest
from treerank._growth.trees import TreeRankOptions
from treerank._input.focus import Focus
from treerank._input.validation import TrainingData, class_sizes
from treerank._trees.packed_forest import ForestArrays, Sampling, forest_from_core
from treerank._trees.ranking_tree import cut_weights
from treerank._trees.splitter_forest import SplitterForest

Trees = ForestArrays | SplitterForest


@dataclass(frozen=True)
class ForestPlan:
    """Everything that determines a forest except the data."""

    name: str  # a description
    kinds: list[TreeRankOptions]  # exact trees, trees with random cuts
    splitter: Any  # None: LeafRank, grown by the core
    kind_of: NDArray[np.uint8]  # index into `kinds` for each tree
    sampling: Sampling
    value: str  # the value of a row in a tree: "path", "monotone" or "rank"
    shrinkages: list[float]
    n_rows: int
    verbose: int
    focus: Focus | None = None  # used to choose shrinkage and plan
    may_weigh_features: bool = False  # with out-of-bag rows, once the shrinkage is chosen

    @property
    def by_value(self) -> bool:
        """Whether values of trees are shares of positives rather than ranks."""
        return self.value != "rank"


def grow_forest(
    rows: NDArray[Any],
    data: TrainingData,
    binning: Binning,
    encoding: Encoding | None,
    monotonic: NDArray[np.int8],
    plan: ForestPlan,
    before: Trees | None,
    n_jobs: int,
    device_rows: DeviceRows | None = None,
    report: Report | None = None,
) -> Trees:
    """Grow the trees of the plan that are not in `before`.

    `rows` are codes, or the matrix of the encoding if there is one. `device_rows` are the same rows
    if a device grows the trees.
    """
    first = 0 if before is None else before.n_trees
    if before is not None and isinstance(before, SplitterForest) != (encoding is not None):
        raise ValueError(
            "Got another kind of splitter with warm_start=True; expected that of the first fit."
        )
    if before is not None and first == len(plan.kind_of):
        return before
    if encoding is None:
        [trees] = grow_in_core(
            rows, data, binning, monotonic, [plan], first, n_jobs, device_rows, report
        )
        return before.joined(trees) if isinstance(before, ForestArrays) else trees
    grown = grow_splitter_forest(
        rows, data, encoding, splitter=plan.splitter, options=plan.kinds[0],
        sampling=plan.sampling, numbers=range(first, len(plan.kind_of)),
        by_rank=not plan.by_value, n_jobs=n_jobs, verbose=plan.verbose,
    )  # fmt: skip
    return before.joined(grown) if isinstance(before, SplitterForest) else grown


def grow_in_core(
    codes: Codes,
    data: TrainingData,
    binning: Binning,
    monotonic: NDArray[np.int8],
    plans: list[ForestPlan],
    first: int,
    n_jobs: int,
    device_rows: DeviceRows | None,
    report: Report | None,
) -> list[ForestArrays]:
    """Grow the trees of each plan from index `first` on, all in one go."""
    options = [
        core_options(plan, first, data.weights.scale, data.weights.design_effect) for plan in plans
    ]
    if device_rows is not None and all(device_rows.can_grow(one["kinds"]) for one in options):
        return [
            _grow_on_device(device_rows, one, plan, first, n_jobs, report)
            for one, plan in zip(options, plans, strict=True)
        ]
    columns = binning.columns
    grown = _core.grow_forests(
        codes, data.labels, data.weights.as_units, columns.n_codes, columns.as_sets,
        monotonic, options, n_jobs, report, len(data.classes),
    )  # fmt: skip
    sizes = class_sizes(data)
    return [
        wrap_forest(arrays, plan, binning.n_columns, sizes)
        for arrays, plan in zip(grown, plans, strict=True)
    ]


def _grow_on_device(
    rows: DeviceRows,
    options: dict[str, Any],
    plan: ForestPlan,
    first: int,
    n_jobs: int,
    report: Report | None,
) -> ForestArrays:
    """Grow the trees of the plan on a device, and pack them on the host."""
    n_columns, sizes = rows.binning.n_columns, class_sizes(rows.data)
    numbers = range(first, len(plan.kind_of))
    packed = _core.PackedTrees()

    def take(growths: list[_core.LevelGrowth]) -> None:
        packed.add(growths, options, n_columns, n_jobs)

    rows.grow(
        [partial(_repeats, plan, t) for t in numbers],
        [options["kinds"][plan.kind_of[t]] for t in numbers], numbers, n_jobs, take, report,
    )  # fmt: skip
    return wrap_forest(packed.arrays(n_jobs), plan, n_columns, sizes)


def _repeats(plan: ForestPlan, tree: int) -> NDArray[np.uint8] | None:
    """Return how often each row was drawn for a tree; None means once."""
    return None if plan.sampling.n_draws == 0 else plan.sampling.counts(tree, plan.n_rows)


def core_options(
    plan: ForestPlan, first: int, scale: float, design_effect: float
) -> dict[str, Any]:
    """Return the options of the trees from index `first` on, in the form that the core takes."""
    effect = design_effect * plan.sampling.design_effect(plan.n_rows)
    return {
        "kinds": [kind.for_core(scale, effect) for kind in plan.kinds],
        "kind_of": plan.kind_of[first:],
        "first_tree": first,
        "sampling": vars(plan.sampling),
        "value": plan.value,
        "shrinkages": plan.shrinkages,
        "scale": scale,
    }


def wrap_forest(
    arrays: tuple[Any, ...], plan: ForestPlan, n_columns: int, sizes: NDArray[np.float64]
) -> ForestArrays:
    """Wrap the trees of the core according to the plan."""
    pooled = tuple(plan.shrinkages) if plan.value == "monotone" else ()
    return forest_from_core(arrays, n_columns, cut_weights(sizes), pooled)
