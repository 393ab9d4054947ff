"""Rules: which rows fall into a cell, in words.

A cell is an intersection, over the splits above it, of unions of boxes. The boxes are
multiplied out, empty ones dropped, and neighbours merged, so that a stratum reads as a
few alternatives of a few conditions each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning import Binning
from treerank._tree import RankTree

# What a feature may be: its codes as bits of an integer, code 0 (missing) the lowest.
Allowed = int
Box = dict[int, Allowed]  # features that are not named may be anything

# More boxes than this are not multiplied out: the rule is given split by split.
MAX_BOXES = 64


def cell_rules(
    tree: RankTree, binning: Binning, names: list[str], cells: NDArray[np.intp]
) -> list[str]:
    """Rule of each of the given cells."""
    return [_cell_rule(tree, binning, names, int(cell)) for cell in cells]


def side_rule(tree: RankTree, binning: Binning, names: list[str], cell: int, side: int) -> str:
    """Rule that sends rows of an inner cell to its left (0) or right (1) child."""
    return say_boxes(merge_boxes(side_boxes(tree, binning, cell, side)), binning, names)


def _cell_rule(tree: RankTree, binning: Binning, names: list[str], cell: int) -> str:
    path = []
    while tree.cells["parent"][cell] >= 0:
        parent = int(tree.cells["parent"][cell])
        side = 0 if tree.cells["left"][parent] == cell else 1
        path.append(merge_boxes(side_boxes(tree, binning, parent, side)))
        cell = parent
    if not path:
        return "all rows"
    boxes: list[Box] = [{}]
    for alternatives in reversed(path):
        boxes = merge_boxes(_intersect(a, b) for a in boxes for b in alternatives)
        if len(boxes) > MAX_BOXES:
            parts = [say_boxes(alternatives, binning, names) for alternatives in reversed(path)]
            return " and ".join(f"({part})" if " or " in part else part for part in parts)
    return say_boxes(boxes, binning, names)


def side_boxes(tree: RankTree, binning: Binning, cell: int, side: int) -> list[Box]:
    """Boxes of the LeafRank leaves that make up one side of a cell."""
    n_codes = binning.n_codes
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
        left = _left_codes(tree, test, int(n_codes[feature]))
        everything = (1 << int(n_codes[feature])) - 1
        for child, codes in ((test["right"], everything & ~left), (test["left"], left)):
            narrowed = _intersect(box, {feature: codes})
            if narrowed is not None:
                stack.append((int(child), narrowed))
    return boxes


def _left_codes(tree: RankTree, test: Any, n_codes: int) -> Allowed:
    if test["categorical"]:
        words = tree.category_sets[test["cut"]]
        return sum(int(word) << (64 * i) for i, word in enumerate(words)) & ((1 << n_codes) - 1)
    codes = (1 << (int(test["cut"]) + 1)) - 1
    return codes if test["missing_left"] else codes & ~1


def _intersect(a: Box, b: Box | None) -> Box | None:
    """The common part of two boxes; None when it is empty."""
    if b is None:
        return None
    box = dict(a)
    for feature, codes in b.items():
        box[feature] = box.get(feature, -1) & codes
        if box[feature] == 0:
            return None
    return box


def merge_boxes(boxes: Iterable[Box | None]) -> list[Box]:
    """Join boxes that differ in one feature, and drop those inside another."""
    found: list[Box] = []
    for box in boxes:
        if box is not None and box not in found:
            found.append(box)
    merged = True
    while merged and len(found) <= 4 * MAX_BOXES:
        merged = False
        for i in range(len(found)):
            for j in range(i + 1, len(found)):
                joined = _join(found[i], found[j])
                if joined is not None:
                    found[i] = joined
                    del found[j]
                    merged = True
                    break
            if merged:
                break
    return found


def _join(a: Box, b: Box) -> Box | None:
    """One box for both, if there is one: equal but for a single feature, or nested."""
    differing = [f for f in a.keys() | b.keys() if a.get(f, -1) != b.get(f, -1)]
    if all(a.get(f, -1) & b.get(f, -1) == b.get(f, -1) for f in differing):
        return a
    if all(a.get(f, -1) & b.get(f, -1) == a.get(f, -1) for f in differing):
        return b
    if len(differing) > 1:
        return None
    [feature] = differing
    return {**a, feature: a[feature] | b[feature]}


def say_boxes(boxes: list[Box], binning: Binning, names: list[str]) -> str:
    """Alternatives joined by "or", the simplest first."""
    said = sorted((_say_box(box, binning, names) for box in boxes), key=lambda s: (len(s), s))
    if not said:
        return "no row"
    if len(said) == 1:
        return said[0]
    return " or ".join(f"({s})" if " and " in s else s for s in said)


def _say_box(box: Box, binning: Binning, names: list[str]) -> str:
    said = [s for f, codes in sorted(box.items()) if (s := _say(f, codes, binning, names))]
    return " and ".join(said) if said else "all rows"


def _say(feature: int, codes: Allowed, binning: Binning, names: list[str]) -> str:
    """One condition in words; empty when it excludes nothing."""
    n_codes = int(binning.n_codes[feature])
    values = codes & ((1 << n_codes) - 1) & ~1
    all_values = (1 << n_codes) - 2
    missing = bool(codes & 1)
    seen_missing = bool(binning.has_missing[feature])
    name = names[feature]
    if values == all_values:
        return "" if missing or not seen_missing else f"{name} is known"
    if values == 0:
        return f"{name} is missing"
    levels = binning.levels[feature]
    said = (
        _say_range(name, values, binning.thresholds[feature])
        if levels is None
        else _say_levels(name, values, levels)
    )
    if not (missing and seen_missing):
        return said
    return f"({said} or {name} is missing)"


def _say_range(name: str, values: Allowed, thresholds: NDArray[np.float64]) -> str:
    """Intervals of a number; codes are 1 + the number of thresholds below."""
    parts = []
    while values:
        first = (values & -values).bit_length() - 1
        run = ~(values >> first)
        last = first + (run & -run).bit_length() - 2
        values &= ~(((1 << (last - first + 1)) - 1) << first)
        low = _number(thresholds[first - 2]) if first >= 2 else None
        high = _number(thresholds[last - 1]) if last - 1 < len(thresholds) else None
        if low is None:
            parts.append(f"{name} <= {high}")
        elif high is None:
            parts.append(f"{name} > {low}")
        else:
            parts.append(f"{low} < {name} <= {high}")
    return parts[0] if len(parts) == 1 else "(" + " or ".join(parts) + ")"


def _number(value: float) -> str:
    """Six significant digits: enough to read, while the model keeps all."""
    return f"{value:.6g}"


def _say_levels(name: str, values: Allowed, levels: list[Any]) -> str:
    chosen = [level for i, level in enumerate(levels, start=1) if values >> i & 1]
    others = [level for i, level in enumerate(levels, start=1) if not values >> i & 1]
    if len(others) < len(chosen):
        return _say_list(name, others, "is not")
    return _say_list(name, chosen, "is")


def _say_list(name: str, levels: list[Any], verb: str) -> str:
    said = [
        f"one of {len(level)} rare levels" if isinstance(level, tuple) else str(level)
        for level in levels
    ]
    return f"{name} {verb} {said[0]}" if len(said) == 1 else f"{name} {verb} any of {', '.join(said)}"
