"""Computes the boxes of the cells of a ranking tree from their tests."""

from __future__ import annotations

from typing import Any

from treerank._binning.binning import Binning
from treerank._trees.boxes import Allowed, Box, intersect
from treerank._trees.ranking_tree import RankTree


def all_codes(binning: Binning) -> list[Allowed]:
    """Return all codes of each feature; code 0 only if it was missing in some training row."""
    return [
        ((1 << int(n)) - 1) & (-1 if missing else ~1)
        for n, missing in zip(binning.n_codes, binning.has_missing, strict=True)
    ]


def side_boxes(tree: RankTree, binning: Binning, cell: int, side: int) -> list[Box]:
    """Return the boxes of the LeafRank leaves that make up one side of a cell."""
    everything = all_codes(binning)
    boxes: list[Box] = []
    stack: list[tuple[int, Box]] = [(int(tree.cells["first_test"][cell]), {})]
    while stack:
        number, box = stack.pop()
        test = tree.tests[number]
        if test["left"] < 0:
            if test["side"] == side:
                boxes.append(box)
            continue
        feature = int(test["feature"])
        left = left_codes(tree, test, int(binning.n_codes[feature])) & everything[feature]
        for child, codes in ((test["right"], everything[feature] & ~left), (test["left"], left)):
            narrowed = intersect(box, {feature: codes})
            if narrowed is not None:
                stack.append((int(child), narrowed))
    return boxes


def left_codes(tree: RankTree, test: Any, n_codes: int) -> Allowed:
    if test["categorical"]:
        words = tree.category_sets[test["cut"]]
        return sum(int(word) << (64 * i) for i, word in enumerate(words)) & ((1 << n_codes) - 1)
    codes = (1 << (int(test["cut"]) + 1)) - 1
    return codes if test["missing_left"] else codes & ~1
