"""Grow: hand codes, labels and options to the core, and take trees back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning import Binning, Codes
from treerank._params import complain
from treerank._progress import progress_bar
from treerank._tree import RankTree, tree_from_core
from treerank._validate import TrainingData


@dataclass(frozen=True)
class LeafRankOptions:
    """Limits of the tree inside a cell; masses are sums of weights, -1 means no limit."""

    criterion: str
    max_depth: int
    max_leaf_nodes: int
    min_mass_leaf: float
    min_mass_split: float
    max_features: int
    random_cuts: bool = False  # one random cut a drawn feature

    def for_core(self, scale: float) -> dict[str, Any]:
        """Masses in units of the core."""
        return {
            **vars(self),
            "min_mass_leaf": self.min_mass_leaf * scale,
            "min_mass_split": self.min_mass_split * scale,
        }


@dataclass(frozen=True)
class TreeRankOptions:
    """Limits of the master tree."""

    leafrank: LeafRankOptions
    max_depth: int
    min_mass_leaf: float
    min_mass_split: float
    min_auc_gain: float
    max_features: int
    seed: int

    def for_core(self, scale: float) -> dict[str, Any]:
        """Masses in units of the core."""
        return {
            **vars(self),
            "leafrank": self.leafrank.for_core(scale),
            "min_mass_leaf": self.min_mass_leaf * scale,
            "min_mass_split": self.min_mass_split * scale,
        }


def grow_trees(
    codes: Codes,
    data: TrainingData,
    binning: Binning,
    monotonic: NDArray[np.int8],
    options: TreeRankOptions,
    held_out: list[NDArray[Any]],
    n_jobs: int,
    verbose: int,
) -> list[RankTree]:
    """Grow a tree on all rows, then one without each of the parts that are held out.

    A part says for every row how much of its weight is held out, in units.
    """
    weights = data.weights

    def grow(repeats: Any, units: Any, progress: Any) -> list[RankTree]:
        grown = _core.grow_trees(
            codes, data.labels, repeats, units, binning.n_codes, binning.is_categorical,
            monotonic, options.for_core(weights.scale), n_jobs, progress,
        )  # fmt: skip
        return [tree_from_core(arrays, weights.scale) for arrays in grown]

    with progress_bar("growing", verbose) as progress:
        if weights.units is not None:
            parts = [0, *held_out]
            return [grow(None, weights.units - part, progress)[0] for part in parts]
        everything = weights.repeats if weights.repeats is not None else np.uint8(1)
        parts = [np.zeros(data.table.n_rows, np.uint8), *held_out]
        return grow(np.array([everything - part for part in parts], np.uint8), None, progress)


def check_monotonic(monotonic_cst: Any, names: list[str], binning: Binning) -> NDArray[np.int8]:
    """One of -1, 0, +1 a feature, from a list or from a dict by name."""
    if monotonic_cst is None:
        return np.zeros(len(names), dtype=np.int8)
    expected = "None, one of -1, 0, 1 for each feature, or a dict from feature names to these"
    if isinstance(monotonic_cst, dict):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(
                f"Got monotonic_cst for {unknown[0]!r}; expected names among {names[:6]}."
            )
        signs = np.array([monotonic_cst.get(name, 0) for name in names])
    else:
        signs = np.asarray(monotonic_cst)
    if signs.shape != (len(names),) or not np.isin(signs, (-1, 0, 1)).all():
        raise complain("monotonic_cst", monotonic_cst, expected)
    both = np.flatnonzero((signs != 0) & (binning.is_categorical == 1))
    if len(both):
        raise ValueError(
            f"Got a monotone constraint on {names[both[0]]!r}, which is a category; "
            "expected constraints on numbers only."
        )
    return signs.astype(np.int8)
