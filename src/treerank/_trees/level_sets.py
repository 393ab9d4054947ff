"""Converts cuts of a category with ordered codes to sets of levels, as for other categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import CATEGORICAL, MISSING_RIGHT, NO_CUT, SLOT, RankTree


def tree_with_sets(tree: RankTree, binning: Binning) -> RankTree:
    """Return the same tree with cuts of ordered categories stored as sets of codes."""
    if not binning.by_statistic:
        return tree
    tests = tree.tests.copy()
    ordered = np.isin(tests["feature"], list(binning.by_statistic))
    cut = np.flatnonzero(ordered & (tests["left"] >= 0) & (tests["categorical"] == 0))
    if len(cut) == 0:
        return tree
    sets, number = _sets_of(tests["cut"][cut], tests["missing_left"][cut] > 0)
    tests["cut"][cut] = number + len(tree.category_sets)
    tests["categorical"][cut] = 1
    joined = np.concatenate([tree.category_sets, sets.view(np.uint64)])
    return replace(tree, tests=tests, category_sets=joined)


def forest_with_sets(forest: ForestArrays, binning: Binning) -> ForestArrays:
    """Return the same forest with cuts of ordered categories stored as sets of codes."""
    if not binning.by_statistic:
        return forest
    slots = np.ascontiguousarray(forest.slots).view(SLOT).ravel().copy()
    is_cut = (slots["cut"] != NO_CUT) & (slots["next"] & CATEGORICAL == 0)
    cut = np.flatnonzero(is_cut & np.isin(slots["feature"], list(binning.by_statistic)))
    missing_right = (slots["next"][cut] & MISSING_RIGHT) != 0
    # A slot that sends missing values right stores its cut minus one.
    last = slots["cut"][cut].astype(np.int64) + missing_right
    sets, number = _sets_of(last, ~missing_right)
    set_of = forest.set_of.copy() if len(forest.set_of) else np.full(len(slots), -1, dtype=np.int32)
    set_of[cut] = number + len(forest.category_sets)
    slots["next"][cut] = (slots["next"][cut] & ~MISSING_RIGHT) | CATEGORICAL
    slots["cut"][cut] = 0
    # One set per test, in the order of the tests: the arrays do not depend on whether all trees are
    # grown in one go.
    tests = np.flatnonzero((slots["next"] & CATEGORICAL) != 0)
    category_sets = np.concatenate([forest.category_sets, sets])[set_of[tests]]
    set_of[tests] = np.arange(len(tests), dtype=np.int32)
    return replace(
        forest,
        slots=slots.view(np.uint8).reshape(-1, SLOT.itemsize),
        set_of=set_of,
        category_sets=category_sets,
    )


def _sets_of(
    last: NDArray[Any], missing_left: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the distinct sets of the codes 1 to `last`, and the index of each test's set.

    A set contains code 0 if missing values go left.
    """
    kinds, number = np.unique(2 * last.astype(np.int64) + missing_left, return_inverse=True)
    code = np.arange(_core.MAX_CATEGORY_CODES)
    member = (code >= 1) & (code <= (kinds // 2)[:, np.newaxis])
    member[:, 0] = kinds % 2 == 1
    return np.packbits(member, axis=1, bitorder="little"), number.astype(np.int32)
