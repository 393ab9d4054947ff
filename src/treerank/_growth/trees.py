"""Growth of trees in the core: passes codes, labels and options, and returns trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning, Coded, Codes
from treerank._binning.code_values import code_values
from treerank._growth.device_rows import DeviceRows
from treerank._growth.progress import progress_bar
from treerank._input.focus import WHOLE, CoreFocus
from treerank._input.option_types import MonotonicCst
from treerank._input.parameters import invalid_parameter, listed
from treerank._input.validation import TrainingData
from treerank._input.weights import Weights
from treerank._select.folds import Folds
from treerank._trees.level_sets import tree_with_sets
from treerank._trees.ranking_tree import RankTree, tree_from_core


@dataclass(frozen=True)
class LeafRankOptions:
    """Limits of the LeafRank tree inside a cell, with sums of sample weights; -1 means no limit."""

    criterion: str
    max_depth: int
    max_leaf_nodes: int
    min_weight_leaf: float
    min_weight_split: float
    max_features: int
    random_cuts: bool = False  # one random cut per drawn feature
    pruning: bool = False  # by cross-validation inside each cell

    def for_core(self, scale: float, design_effect: float) -> dict[str, Any]:
        """Return the options for the core, with weights in units."""
        return {
            **vars(self),
            "row_weight": scale,
            "independent_weight": scale * design_effect,
            "min_weight_leaf": self.min_weight_leaf * scale,
            "min_weight_split": self.min_weight_split * scale,
        }


@dataclass(frozen=True)
class TreeRankOptions:
    """Limits of the master tree."""

    leafrank: LeafRankOptions | None  # None: cells are split in Python
    max_depth: int
    min_weight_leaf: float
    min_weight_split: float
    min_auc_gain: float
    max_features: int
    seed: int
    missing: str = "learned"
    tournament: str = "all"
    tournament_gain: str = "vus"
    focus: CoreFocus = WHOLE  # deep cells below it are not split

    def for_core(self, scale: float, design_effect: float, first_tree: int = 0) -> dict[str, Any]:
        """Return the options for the core, with weights in units; `first_tree` keys the draws."""
        assert self.leafrank is not None
        return {
            **vars(self),
            "first_tree": first_tree,
            "leafrank": self.leafrank.for_core(scale, design_effect),
            "min_weight_leaf": self.min_weight_leaf * scale,
            "min_weight_split": self.min_weight_split * scale,
        }


@dataclass(frozen=True)
class SoftLabels:
    """The weight of each row in each class, in integers, for each of several trees.

    `units` has shape (n_trees, n_rows, n_classes); `scale` units are a weight of 1.
    """

    units: NDArray[np.uint32]
    scale: float


def grow_trees(
    coded: Coded,
    data: TrainingData,
    monotonic: NDArray[np.int8],
    options: TreeRankOptions,
    folds: Folds | None,
    n_jobs: int,
    verbose: int,
    device_rows: DeviceRows | None = None,
) -> list[RankTree]:
    """Grow a tree on all rows, then one without the rows of each fold.

    `device_rows` are the same rows if a device grows the trees.
    """
    assert options.leafrank is not None
    weights = data.weights
    core_options = options.for_core(weights.scale, weights.design_effect)
    if device_rows is not None and device_rows.can_grow([core_options]):
        return _grow_on_device(device_rows, folds, core_options, n_jobs, verbose)
    samples = [weights.where(np.ones(data.table.n_rows, dtype=bool))]
    if folds is not None:
        samples += [weights.where(folds.fold != fold) for fold in range(folds.n_folds)]
    return grow_samples(coded, data, monotonic, options, samples, n_jobs, verbose)


def grow_samples(
    coded: Coded,
    data: TrainingData,
    monotonic: NDArray[np.int8],
    options: TreeRankOptions,
    samples: Sequence[Weights] | SoftLabels,
    n_jobs: int,
    verbose: int,
) -> list[RankTree]:
    """Grow a tree for each of `samples`: weights in the units of the data, or soft labels."""
    assert options.leafrank is not None
    labels, codes, binning = data.labels, coded.codes, coded.binning
    columns = binning.columns
    scale = (samples if isinstance(samples, SoftLabels) else data.weights).scale
    design_effect = data.weights.design_effect
    rows: Any = slice(None)
    if options.leafrank.pruning:  # LeafRank's folds depend on the order of the rows
        rows = order_of_content(codes, labels, data.weights.as_units, options.seed, n_jobs)
        codes, labels = np.ascontiguousarray(codes[:, rows]), labels[rows]
    values = code_values(coded) if options.missing == "cell_mean" else None

    def grow(repeats: Any, units: Any, first_tree: int, soft: Any = None) -> list[RankTree]:
        grown = _core.grow_trees(
            codes, labels, repeats, units, columns.n_codes, columns.as_sets, monotonic,
            options.for_core(scale, design_effect, first_tree), n_jobs, progress,
            values, len(data.classes), soft,
        )  # fmt: skip
        trees = [tree_from_core(arrays, scale) for arrays in grown]
        return [tree_with_sets(tree, binning) for tree in trees]

    with progress_bar("growing", verbose) as progress:
        if isinstance(samples, SoftLabels):
            return grow(None, None, 0, np.ascontiguousarray(samples.units[:, rows]))
        units = [sample.units[rows] for sample in samples if sample.units is not None]
        if units:
            return [grow(None, some, t)[0] for t, some in enumerate(units)]
        repeats = np.array([sample.repeats for sample in samples])
        return grow(np.ascontiguousarray(repeats[:, rows]), None, 0)


def _grow_on_device(
    rows: DeviceRows, folds: Folds | None, options: dict[str, Any], n_jobs: int, verbose: int
) -> list[RankTree]:
    """Grow the same trees on a device; weighted rows are in a sample or not, with common units."""
    trees: list[RankTree] = []
    weights, scale = rows.data.weights, rows.data.weights.scale

    def take(growths: list[_core.LevelGrowth]) -> None:
        grown = [tree_from_core(growth.tree(), scale) for growth in growths]
        trees.extend(tree_with_sets(tree, rows.binning) for tree in grown)

    def repeats(fold: int | None) -> NDArray[np.uint8] | None:
        if folds is None or fold is None:
            return weights.repeats
        return Weights(repeats=weights.repeats).where(folds.fold != fold).repeats

    left_out = [None, *range(0 if folds is None else folds.n_folds)]
    with progress_bar("growing", verbose) as progress:
        rows.grow(
            [partial(repeats, fold) for fold in left_out], [options] * len(left_out),
            range(len(left_out)), n_jobs, take, progress,
        )  # fmt: skip
    return trees


def order_of_content(
    codes: Codes,
    labels: NDArray[np.uint8],
    units: NDArray[np.int64] | None,
    seed: int,
    n_jobs: int,
) -> NDArray[np.intp]:
    """Sort rows by a hash of their content, so that the given order does not matter."""
    hashes = _core.row_hashes(codes, labels, seed, n_jobs)
    return np.lexsort([hashes] if units is None else [units, hashes])


def check_monotonic(
    monotonic_cst: MonotonicCst, names: list[str], binning: Binning
) -> NDArray[np.int8]:
    """Return -1, 0 or 1 per feature, from a list or from a dict by name."""
    if monotonic_cst is None:
        return np.zeros(len(names), dtype=np.int8)
    expected = "None, one of -1, 0, 1 for each feature, or a dict from feature names to these"
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(
                f"Got monotonic_cst for {unknown[0]!r}; expected names of features: "
                f"{listed(names)}."
            )
        signs = np.array([monotonic_cst.get(name, 0) for name in names])
    else:
        signs = np.asarray(monotonic_cst)
    if signs.shape != (len(names),) or not np.isin(signs, (-1, 0, 1)).all():
        raise invalid_parameter("monotonic_cst", monotonic_cst, expected)
    both = np.flatnonzero((signs != 0) & (binning.is_categorical == 1))
    if len(both):
        raise ValueError(
            f"Got a monotone constraint on {names[both[0]]!r}, which is a category; "
            "expected constraints on numbers only."
        )
    return signs.astype(np.int8)
