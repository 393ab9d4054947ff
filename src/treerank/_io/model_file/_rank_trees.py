"""Store ranking trees in model files, with the checks that make walks safe."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._nodes import Node
from treerank._trees.ranking_tree import CELL, TEST, RankTree, Records, as_bytes

CELL_COLUMNS = (
    "left", "right", "first_test", "last_test", "worse_class", "better_class", "auc_gain",
)  # fmt: skip
TEST_COLUMNS = (
    "feature", "cut", "categorical", "missing_left", "left", "right", "side", "negative",
    "positive",
)  # fmt: skip
TYPES = {"auc_gain": "<f8", "negative": "<f8", "positive": "<f8"}
BYTES = ("categorical", "missing_left")


def pack_tree(tree: RankTree) -> dict[str, Any]:
    """Return the columns of the cells and of the tests."""
    tests = tree.tests.copy()
    leaf = tests["left"] < 0
    for name, value in (("feature", -1), ("cut", 0), ("categorical", 0), ("missing_left", 0)):
        tests[name][leaf] = value
    tests["side"][~leaf] = -1
    packed = {
        "cells": {name: np.array(tree.cells[name]) for name in CELL_COLUMNS},
        "counts": tree.counts,
        "tests": {name: np.array(tests[name]) for name in TEST_COLUMNS},
        "category_sets": pack_sets(tree.category_sets),
    }
    return packed if tree.shares is None else packed | {"shares": tree.shares}


def pack_sets(sets: NDArray[Any]) -> NDArray[np.uint32]:
    """Return sets of codes as 32-bit words, which every JSON parser can represent."""
    return as_bytes(sets).view("<u4")


def unpack_tree(node: Node, binning: Binning, n_classes: int) -> RankTree:
    """Reverse of `pack_tree`. Checks that every walk stays inside the arrays and ends."""
    fields = node.fields("cells", "counts", "tests", "category_sets", optional=("shares",))
    tests = read_records(fields["tests"], TEST, TEST_COLUMNS)
    cells = read_records(fields["cells"], CELL, CELL_COLUMNS)
    sets = fields["category_sets"].array("<u4", (None, 8))
    check_cells(cells, n_classes, fields["cells"])
    _check_ranges(cells, len(tests), fields["cells"])
    _check_test_trees(cells, tests, fields["tests"])
    inner = tests[tests["left"] >= 0]
    check_tests(
        inner["feature"], inner["cut"], inner["categorical"], inner["missing_left"],
        np.where(inner["categorical"] == 1, inner["cut"], -1), sets, binning, fields["tests"],
    )  # fmt: skip
    counts = read_counts(fields["counts"], len(cells), n_classes)
    shares = None
    if "shares" in fields:
        shares = fields["shares"].array("<f8", (len(cells), n_classes - 1), low=0.0, high=1.0)
    sets = np.ascontiguousarray(sets).view(np.uint64)
    return RankTree(cells, counts, tests, sets, shares=shares)


def read_records(node: Node, dtype: np.dtype[Any], columns: tuple[str, ...]) -> Records:
    """Return columns of equal lengths as records."""
    fields = node.fields(*columns)
    size: int | None = None
    arrays = {}
    for name in columns:
        kind = "|u1" if name in BYTES else TYPES.get(name, "<i4")
        arrays[name] = fields[name].array(kind, (size,))
        size = len(arrays[name])
    records = np.zeros(size or 0, dtype=dtype)
    for name, array in arrays.items():
        records[name] = array
    return records


def read_counts(node: Node, n_cells: int, n_classes: int) -> NDArray[np.float64]:
    """Return the weight of each class in each cell."""
    counts = node.array("<f8", (n_cells, n_classes), low=0.0)
    if not counts.sum(axis=1).all():
        raise node.error("some weight in every cell")
    return counts


def check_cells(cells: Records, n_classes: int, node: Node) -> None:
    """Check that cells form one binary tree in preorder; set their parents and depths."""
    n = len(cells)
    split = cells["left"] >= 0
    numbers = np.arange(n)
    left, right = cells["left"], cells["right"]
    if n < 1 or (right[split] >= n).any() or (left[split] != numbers[split] + 1).any():
        raise ModelFileError(f"Got cells at {node.path} that are not in preorder.")
    if (left[~split] != -1).any() or (right[~split] != -1).any():
        raise ModelFileError(f"Got a leaf cell at {node.path} that has children.")
    size = np.ones(n, dtype=np.int64)
    for cell in np.flatnonzero(split)[::-1]:  # children come after parents
        a, b = int(left[cell]), int(right[cell])
        if b >= n or b <= a or b != a + size[a]:
            raise ModelFileError(f"Got cells at {node.path} that are not in preorder.")
        size[cell] += size[a] + size[b]
    if size[0] != n:
        raise ModelFileError(f"Got cells at {node.path} that do not hang together.")
    cells["parent"] = -1
    for cell in np.flatnonzero(split):
        for child in (left[cell], right[cell]):
            cells["parent"][child] = cell
            cells["depth"][child] = cells["depth"][cell] + 1
    _check_pairs(cells, n_classes, node)


def _check_ranges(cells: Records, n_tests: int, node: Node) -> None:
    """Check that every test belongs to one split, and the tests of a split are contiguous."""
    split = cells["left"] >= 0
    for name in ("first_test", "last_test"):
        if (cells[name][~split] != -1).any():
            raise ModelFileError(f"Got a leaf cell at {node.path} that has tests.")
    ranges = cells[["first_test", "last_test"]][split]
    order = np.argsort(ranges["first_test"], kind="stable")
    first, last = ranges["first_test"][order], ranges["last_test"][order]
    if not np.array_equal(np.append(first, n_tests), np.append(0, last)) or (first >= last).any():
        raise ModelFileError(f"Got ranges of tests at {node.path} that do not divide the tests.")


def _check_pairs(cells: Records, n_classes: int, node: Node) -> None:
    """Check that each split separates two classes, worse one first, and a leaf cell has none."""
    split = cells["left"] >= 0
    worse, better = cells["worse_class"], cells["better_class"]
    in_order = (worse >= 0) & (worse < better) & (better < n_classes)
    if not in_order[split].all() or not ((worse == -1) & (better == -1))[~split].all():
        raise ModelFileError(f"Got pairs of classes at {node.path} that the splits cannot have.")


def _check_test_trees(cells: Records, tests: Records, node: Node) -> None:
    """Check that the tests of a cell form one binary tree, its root first, with both sides."""
    n = len(tests)
    inner = tests["left"] >= 0
    owner = np.zeros(n + 1, dtype=np.int64)
    first = cells["first_test"][cells["left"] >= 0]
    np.add.at(owner, first, 1)
    owner = np.cumsum(owner)[:n]
    numbers = np.flatnonzero(inner)
    children = np.concatenate([tests["left"][inner], tests["right"][inner]])
    parents = np.concatenate([numbers, numbers])
    damaged = ModelFileError(f"Got tests at {node.path} that do not form trees.")
    if (children <= parents).any() or (children >= n).any():
        raise damaged
    if (owner[children] != owner[parents]).any():
        raise damaged
    arrivals = np.bincount(children, minlength=n)
    is_root = np.zeros(n, dtype=bool)
    is_root[first] = True
    if not np.array_equal(arrivals, (~is_root).astype(np.int64)):
        raise damaged
    leaf = ~inner
    if (tests["right"][leaf] != -1).any() or not np.isin(tests["side"][leaf], (0, 1)).all():
        raise damaged
    for side in (0, 1):
        if len(np.unique(owner[leaf & (tests["side"] == side)])) != len(first):
            raise ModelFileError(f"Got a split at {node.path} with an empty side.")
    if (tests["side"][inner] != -1).any() or (tests["feature"][leaf] != -1).any():
        raise damaged
    if (tests["negative"] < 0).any() or (tests["positive"] < 0).any():
        raise ModelFileError(f"Got a negative weight at {node.path}.")


def check_tests(
    feature: NDArray[Any],
    cut: NDArray[Any],
    categorical: NDArray[Any],
    missing_left: NDArray[Any],
    set_of: NDArray[Any],
    sets: NDArray[np.uint32],
    binning: Binning,
    node: Node,
) -> None:
    """Check features, cuts and category sets of tests against the binning."""
    damaged = ModelFileError(f"Got a test at {node.path} that does not fit its feature.")
    n_codes, kinds = binning.n_codes, binning.is_categorical
    if len(feature) == 0:
        return
    if feature.min() < 0 or feature.max() >= len(n_codes):
        raise ModelFileError(f"Got a test at {node.path} on a feature that is not there.")
    if (categorical > 1).any() or (missing_left > 1).any():
        raise damaged
    if (categorical != kinds[feature]).any():
        raise damaged
    is_set = categorical == 1
    numeric = ~is_set
    if (cut[numeric] < 0).any() or (cut[numeric] >= n_codes[feature[numeric]]).any():
        raise damaged
    if (cut[numeric] == 0)[missing_left[numeric] == 0].any():
        raise damaged
    if not is_set.any():
        return
    used = set_of[is_set]
    if used.min() < 0 or used.max() >= len(sets):
        raise ModelFileError(f"Got a test at {node.path} with a category set that is not there.")
    bits = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")
    highest = np.where(bits.any(axis=1), 255 - np.argmax(bits[:, ::-1], axis=1), -1)
    if (highest[used] >= n_codes[feature[is_set]]).any():
        raise ModelFileError(f"Got a category set at {node.path} with codes beyond the levels.")
