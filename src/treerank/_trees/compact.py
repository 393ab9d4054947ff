"""Keep of the binning only what the tests of a fitted model use, and renumber the codes.

The binning tells every value of a small table apart, tests cut at few places. Codes that no
test tells apart become one, so that scores, rules and explanations stay the same.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import UINT8_BINS, Binning
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import SLOT, RankTree

# Bits of a slot's `next` (src/core/tree/flat_tree.hpp), and the cut of a slot that ends a walk.
MISSING_RIGHT = np.uint32(1 << 30)
CATEGORICAL = np.uint32(1 << 31)
NEXT_MASK = np.uint32((1 << 30) - 1)
NO_CUT = 0xFFFF


SLOTS_AT_ONCE = 2**20  # of a forest that may have hundreds of millions


def keep_used_in_trees(binning: Binning, trees: list[RankTree]) -> tuple[Binning, list[RankTree]]:
    """Binning with the thresholds that one of the trees cuts at, and the trees on its codes."""
    used = _UsedThresholds(binning)
    numeric = [(tree.tests["left"] >= 0) & (tree.tests["categorical"] == 0) for tree in trees]
    for tree, use in zip(trees, numeric, strict=True):
        used.mark(tree.tests["feature"][use], tree.tests["cut"][use])
    renumbered = []
    for tree, use in zip(trees, numeric, strict=True):
        tests = tree.tests.copy()
        tests["cut"][use] = used.new_cut(tests["feature"][use], tests["cut"][use])
        renumbered.append(replace(tree, tests=tests))
    return used.binning, renumbered


def keep_used_in_forest(binning: Binning, forest: ForestArrays) -> tuple[Binning, ForestArrays]:
    """Binning with the thresholds that the forest cuts at, and the forest on its codes."""
    slots = np.ascontiguousarray(forest.slots).view(SLOT).ravel()
    parts = [slice(at, at + SLOTS_AT_ONCE) for at in range(0, len(slots), SLOTS_AT_ONCE)]
    used = _UsedThresholds(binning)
    for part in parts:
        _, features, cuts, _ = _tests_of(slots[part])
        used.mark(features, cuts)
        if used.are_all:  # as a rule in a large forest, and soon
            break
    if used.binning.equals(binning):
        return used.binning, forest
    slots = slots.copy()
    for part in parts:
        some = slots[part]
        tests, features, cuts, shift = _tests_of(some)
        some["cut"][tests] = used.new_cut(features, cuts) - shift
    return used.binning, replace(forest, slots=slots.view(np.uint8).reshape(-1, SLOT.itemsize))


def _tests_of(slots: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Which slots are tests of numbers; features and cuts of those, and what a slot leaves out.

    A slot that sends missing values right holds its cut minus one.
    """
    tests = (slots["cut"] != NO_CUT) & (slots["next"] & CATEGORICAL == 0)
    shift = ((slots["next"][tests] & MISSING_RIGHT) != 0).astype(np.int64)
    cuts = slots["cut"][tests].astype(np.int64) + shift
    return tests, slots["feature"][tests].astype(np.int64), cuts, shift


class _UsedThresholds:
    """Thresholds that tests cut at.

    Cut 0 and the cut at the last code separate missing from known values: they need no threshold.
    """

    def __init__(self, binning: Binning) -> None:
        self._all = binning
        self._size = np.array([len(t) for t in binning.thresholds], dtype=np.int64)
        self._start = np.cumsum(self._size) - self._size
        self._used = np.zeros(int(self._size.sum()), dtype=bool)

    def mark(self, features: NDArray[Any], cuts: NDArray[Any]) -> None:
        """Note what some tests use."""
        inner = (cuts >= 1) & (cuts <= self._size[features])
        self._used[self._start[features[inner]] + cuts[inner] - 1] = True

    @property
    def are_all(self) -> bool:
        """Whether no threshold can go."""
        return bool(self._used.all())

    @cached_property
    def binning(self) -> Binning:
        """Binning with those thresholds alone, once all tests are noted."""
        parts = zip(self._all.thresholds, self._start, self._size, strict=True)
        thresholds = [t[self._used[s : s + n]] for t, s, n in parts]
        kept = replace(self._all, thresholds=thresholds)
        fits = int(kept.n_codes.max()) <= UINT8_BINS + 1
        return replace(kept, code_type=np.dtype(np.uint8 if fits else np.uint16))

    @cached_property
    def _rank(self) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(self._used))

    def new_cut(self, features: NDArray[Any], cuts: NDArray[Any]) -> NDArray[np.int64]:
        """Return the new numbers of cuts, once all tests are noted."""
        first, size = self._start[features], self._size[features]
        upto = np.minimum(cuts, size)
        return np.asarray(self._rank[first + upto] - self._rank[first] + (cuts > size))
