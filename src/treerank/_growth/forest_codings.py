"""Trees of a forest that are grown on different codings of its categories.

Categories by statistics are encoded several times, each time with statistics of other folds. A tree
sees one of the codings, and the errors of the folds average out over the trees.

It is grown on the order of the levels or on the single levels, but not on both. Rows of one level
differ in their code by the labels of the other folds: where these are high, the own labels are low.
A tree that separates a level could learn that from the codes of its rows. It does not hold for new
rows, but it does for out-of-bag rows, since the codes of other rows depend on their labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Codes
from treerank._binning.category_statistics import n_codings_in, with_coding
from treerank._input.types import Floats
from treerank._trees.packed_forest import ForestArrays, Sampling, mean_out_of_bag

# Consecutive trees that have the same coding: enough to keep several threads busy.
TREES_PER_CODING = 8

# `ForestArrays.out_of_bag` or `ForestArrays.out_of_bag_by_feature`.
Score = Callable[..., tuple[Floats, NDArray[np.int32]]]


class TreeBlock(NamedTuple):
    """Trees ``first, ..., last - 1``, which have the same coding."""

    coding: int
    first: int
    last: int


def tree_blocks(first: int, last: int, n_codings: int) -> list[TreeBlock]:
    """Divide trees into blocks; the coding of a tree does not depend on how many there are."""
    if n_codings == 1:
        return [TreeBlock(0, first, last)]
    numbers = range(first // TREES_PER_CODING, -(-last // TREES_PER_CODING))
    return [
        TreeBlock(
            number % n_codings,
            max(first, number * TREES_PER_CODING),
            min(last, (number + 1) * TREES_PER_CODING),
        )
        for number in numbers
    ]


def codes_to_grow_on(codes: Codes, binning: Binning, coding: int) -> Codes:
    """Return the codes for trees with one of several codings; columns that they must not see are 0.

    Trees with an even coding see the order of the levels, and those with an odd one single levels.
    """
    seen = with_coding(codes, binning, coding)
    if len(seen) < len(codes):  # a copy
        seen[binning.with_sets if coding % 2 else slice(len(binning.levels), None)] = 0
    return seen


def score_out_of_bag(
    score: Score,
    trees: ForestArrays,
    codes: Codes,
    binning: Binning,
    sampling: Sampling,
    rows: NDArray[np.uint32],
    shrinkage: Any,
    n_jobs: int,
    block: tuple[int, int] | None = None,
) -> Floats:
    """Return the mean scores of rows over the trees that did not draw them.

    Every tree is given the codes that it was grown on.
    """
    n_codings = n_codings_in(codes, binning)
    parts = [
        score(
            trees.some_trees(first, last), with_coding(codes, binning, coding), sampling, rows,
            shrinkage, n_jobs, first_tree=first, block=block,
        )
        for coding, first, last in tree_blocks(0, trees.n_trees, n_codings)
    ]  # fmt: skip
    sums, n_trees = (reduce(np.add, part) for part in zip(*parts, strict=True))
    return mean_out_of_bag(sums, n_trees)
