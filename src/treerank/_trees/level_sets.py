"""Converts tests of a category with ordered levels to sets of codes, as for other categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Binning
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import CATEGORICAL, MISSING_RIGHT, NO_CUT, SLOT, RankTree

Sets = NDArray[np.uint8]  # sets x bytes, one bit per code


def tree_with_sets(tree: RankTree, binning: Binning) -> RankTree:
    """Return the same tree with cuts of ordered categories stored as sets of codes."""
    if not binning.ordered:
        return tree
    tests = tree.tests.copy()
    is_cut = (tests["left"] >= 0) & (tests["categorical"] == 0)
    cut = np.flatnonzero(is_cut & np.isin(tests["feature"], list(binning.ordered)))
    if len(cut) == 0:
        return tree
    missing_left = tests["missing_left"][cut] > 0
    sets, number = _sets_of_cuts(binning, tests["feature"][cut], tests["cut"][cut], missing_left)
    tests["cut"][cut] = number + len(tree.category_sets)
    tests["categorical"][cut] = 1
    joined = np.concatenate([tree.category_sets, sets.view(np.uint64)])
    return replace(tree, tests=tests, category_sets=joined)


def forest_with_sets(forest: ForestArrays, binning: Binning) -> ForestArrays:
    """Return the same forest with all tests of ordered categories stored as sets of codes.

    The forest is one of columns, and what is returned is one of features: sets of single levels
    become sets of codes, too.
    """
    if not binning.ordered:
        return forest
    slots = np.ascontiguousarray(forest.slots).view(SLOT).ravel().copy()
    column = slots["feature"]
    is_set = (slots["next"] & CATEGORICAL) != 0
    is_cut = (slots["cut"] != NO_CUT) & ~is_set
    cut = np.flatnonzero(is_cut & np.isin(column, list(binning.ordered)))
    single = np.flatnonzero(is_set & (column >= len(binning.levels)))
    set_of = forest.set_of.copy() if len(forest.set_of) else np.full(len(slots), -1, dtype=np.int32)
    feature = binning.columns.feature[column[single]]
    of_singles = _sets_of_singles(binning, feature, forest.category_sets[set_of[single]])
    missing_right = (slots["next"][cut] & MISSING_RIGHT) != 0
    # A slot that sends missing values right stores its cut minus one.
    last = slots["cut"][cut].astype(np.int64) + missing_right
    of_cuts, number = _sets_of_cuts(binning, column[cut], last, ~missing_right)
    set_of[single] = len(forest.category_sets) + np.arange(len(single))
    set_of[cut] = len(forest.category_sets) + len(single) + number
    column[single] = feature
    slots["next"][cut] = (slots["next"][cut] & ~MISSING_RIGHT) | CATEGORICAL
    slots["cut"][cut] = 0
    # One set per test, in the order of the tests: the arrays do not depend on whether all trees are
    # grown in one go.
    tests = np.flatnonzero((slots["next"] & CATEGORICAL) != 0)
    sets = np.concatenate([forest.category_sets, of_singles, of_cuts])[set_of[tests]]
    set_of[tests] = np.arange(len(tests), dtype=np.int32)
    return replace(
        forest,
        slots=slots.view(np.uint8).reshape(-1, SLOT.itemsize),
        set_of=set_of,
        category_sets=sets,
        importance=_by_feature(forest.importance, binning),
    )


def _by_feature(importance: NDArray[np.float64], binning: Binning) -> NDArray[np.float64]:
    """Add up the columns of each feature."""
    n_features = len(binning.levels)
    total = importance[:, :n_features].copy()
    total[:, binning.with_sets] += importance[:, n_features:]
    return total


def _sets_of_cuts(
    binning: Binning,
    features: NDArray[Any],
    last: NDArray[Any],
    missing_left: NDArray[np.bool_],
) -> tuple[Sets, NDArray[np.int32]]:
    """Return the distinct sets of the places 1 to `last`, and the index of each test's set.

    A set contains code 0 if missing values go left.
    """
    tests = np.column_stack([features, last, missing_left]).astype(np.int64)
    kinds, number = np.unique(tests, axis=0, return_inverse=True)
    member = np.zeros((len(kinds), _core.MAX_CATEGORY_CODES), dtype=bool)
    for j, order in binning.ordered.items():
        of = kinds[:, 0] == j
        member[of, : len(order.place)] = order.place <= kinds[of, 1:2]
    member[:, 0] = kinds[:, 2] == 1
    return _packed(member), number.ravel().astype(np.int32)


def _sets_of_singles(binning: Binning, features: NDArray[Any], sets: Sets) -> Sets:
    """Return sets of codes for sets of codes of the second columns."""
    in_set = np.unpackbits(sets, axis=1, bitorder="little").astype(bool)
    member = np.zeros_like(in_set)
    for j in binning.with_sets:
        of, single = features == j, binning.ordered[j].single
        assert single is not None
        member[of, : len(single)] = in_set[of][:, single]
    return _packed(member)


def _packed(member: NDArray[np.bool_]) -> Sets:
    return np.packbits(member, axis=1, bitorder="little")
