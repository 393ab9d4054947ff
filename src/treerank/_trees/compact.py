"""Reduces the binning of a fitted model to the thresholds that its tests use.

For a small table, the binning has a code for every distinct value, but tests use few thresholds.
Codes that no test separates are merged, which leaves scores, rules and explanations unchanged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import UINT8_BINS, Binning
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import RankTree


def keep_used_in_trees(binning: Binning, trees: list[RankTree]) -> tuple[Binning, list[RankTree]]:
    """Return a binning with the thresholds that the trees use, and the trees on its codes."""
    numeric = [(tree.tests["left"] >= 0) & (tree.tests["categorical"] == 0) for tree in trees]
    features = np.concatenate(
        [t.tests["feature"][use] for t, use in zip(trees, numeric, strict=True)]
    )
    cuts = np.concatenate([t.tests["cut"][use] for t, use in zip(trees, numeric, strict=True)])
    kept, new_cut = _choose(binning, features, cuts)
    renumbered = []
    for tree, use in zip(trees, numeric, strict=True):
        tests = tree.tests.copy()
        feature: NDArray[np.int32] = tests["feature"]
        cut: NDArray[np.int32] = tests["cut"]
        cut[use] = new_cut(feature[use], cut[use])
        renumbered.append(replace(tree, tests=tests))
    return kept, renumbered


def keep_used_in_forest(
    binning: Binning, forest: ForestArrays, n_jobs: int
) -> tuple[Binning, ForestArrays]:
    """Return a binning with the thresholds that the forest uses, and the forest on its codes."""
    n_cuts = np.array([len(t) + 2 for t in binning.thresholds], dtype=np.int64)
    used = np.flatnonzero(_core.used_cuts(forest.starts, forest.slots, n_cuts, n_jobs))
    first = np.cumsum(n_cuts) - n_cuts
    features = np.searchsorted(first, used, side="right") - 1
    cuts = used - first[features]
    kept, new_cut = _choose(binning, features, cuts)
    if kept.equals(binning):  # usual for a large forest: it uses every threshold
        return kept, forest
    renumbered = np.zeros(int(n_cuts.sum()), dtype=np.int32)
    renumbered[used] = new_cut(features, cuts)
    slots = _core.renumber_cuts(forest.starts, forest.slots, n_cuts, renumbered, n_jobs)
    return kept, replace(forest, slots=slots)


def _choose(binning: Binning, features: NDArray[Any], cuts: NDArray[Any]) -> tuple[Binning, Any]:
    """Return a binning with the cuts in use, and a function that renumbers cuts.

    Cut 0 and the cut at the last code separate missing from known values, and need no threshold.
    """
    old_size = np.array([len(t) for t in binning.thresholds], dtype=np.int64)
    start = np.cumsum(old_size) - old_size
    inner = (cuts >= 1) & (cuts <= old_size[features])
    used = np.zeros(int(old_size.sum()), dtype=bool)
    used[start[features[inner]] + cuts[inner] - 1] = True
    rank = np.append(0, np.cumsum(used))
    thresholds = [
        t[used[s : s + n]] for t, s, n in zip(binning.thresholds, start, old_size, strict=True)
    ]

    def new_cut(features: NDArray[Any], cuts: NDArray[Any]) -> NDArray[np.int64]:
        first = start[features]
        upto = np.minimum(cuts, old_size[features])
        beyond = cuts > old_size[features]
        return np.asarray(rank[first + upto] - rank[first] + beyond)

    kept = replace(binning, thresholds=thresholds)
    fits = int(kept.n_codes.max()) <= UINT8_BINS + 1
    return replace(kept, code_type=np.dtype(np.uint8 if fits else np.uint16)), new_cut
