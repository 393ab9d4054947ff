"""Rules: a description of the rows that fall into a cell.

A cell is an intersection, over the splits above it, of unions of boxes. The boxes are
multiplied out and simplified, so that a stratum reads as a few alternatives of a few
conditions each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._input.categories import flat_levels
from treerank._trees.boxes import MAX_BOXES, Allowed, Box, intersect, simplify
from treerank._trees.cell_boxes import all_codes, side_boxes
from treerank._trees.ranking_tree import RankTree

# A list with more levels than this is unreadable: only its first levels and its length are shown.
LONGEST_LIST = 10
FIRST_LEVELS = 5


def cell_rules(
    tree: RankTree, binning: Binning, names: list[str], cells: NDArray[np.intp]
) -> list[str]:
    """Rule of each of the given cells."""
    paths = _Paths(tree, binning)
    return [paths.say(int(cell), names) for cell in cells]


def group_rules(
    tree: RankTree, binning: Binning, names: list[str], groups: list[NDArray[np.intp]]
) -> list[str]:
    """Rule of each group of cells: the condition to be in any cell of the group."""
    paths = _Paths(tree, binning)
    return [paths.say_any([int(cell) for cell in cells], names) for cells in groups]


def side_rule(tree: RankTree, binning: Binning, names: list[str], cell: int, side: int) -> str:
    """Rule that sends rows of an inner cell to its left (0) or right (1) child."""
    return format_boxes(simple_side(tree, binning, cell, side), binning, names)


def simple_side(tree: RankTree, binning: Binning, cell: int, side: int) -> list[Box]:
    """One side of a cell, simplified to few boxes with few conditions."""
    return simplify(side_boxes(tree, binning, cell, side), all_codes(binning))


class _Paths:
    """The boxes of each cell, derived from those of its parent and cached for shared paths."""

    def __init__(self, tree: RankTree, binning: Binning) -> None:
        self.tree, self.binning = tree, binning
        self._sides: dict[int, list[Box]] = {}
        # Boxes of each cell; None if they are too many to multiply out.
        self._boxes: dict[int, list[Box] | None] = {0: [{}]}

    def say(self, cell: int, names: list[str]) -> str:
        """Rule of a cell: its boxes or, if they are too many, the conditions of each split."""
        boxes = self._reach(cell)
        if boxes is not None:
            return format_boxes(boxes, self.binning, names)
        ways = [self._side(below) for below in self._path(cell)]
        return _and([format_boxes(way, self.binning, names) for way in ways])

    def say_any(self, cells: list[int], names: list[str]) -> str:
        """Rule of several cells together: their boxes, merged if possible."""
        found = [self._reach(cell) for cell in cells]
        if all(boxes is not None for boxes in found):
            together = [box for boxes in found for box in boxes or ()]
            return format_boxes(simplify(together, all_codes(self.binning)), self.binning, names)
        return " or ".join(f"({self.say(cell, names)})" for cell in cells)

    def _path(self, cell: int) -> list[int]:
        """Cells on the path from below the root down to this one."""
        path = [cell]
        while (parent := int(self.tree.cells["parent"][path[-1]])) >= 0:
            path.append(parent)
        return path[-2::-1]

    def _reach(self, cell: int) -> list[Box] | None:
        """Boxes of a cell; computes those of the cells above it first."""
        for below in self._path(cell):
            if below not in self._boxes:
                self._boxes[below] = self._narrow(below)
        return self._boxes[cell]

    def _narrow(self, cell: int) -> list[Box] | None:
        """Intersect the boxes of the parent with the side that leads to the cell."""
        above = self._boxes[int(self.tree.cells["parent"][cell])]
        if above is None:
            return None
        products = (intersect(a, b) for a in above for b in self._side(cell))
        boxes = simplify(products, all_codes(self.binning))
        return boxes if len(boxes) <= MAX_BOXES else None

    def _side(self, cell: int) -> list[Box]:
        """Boxes of the side of the parent's split that leads to the cell."""
        if cell not in self._sides:
            parent = int(self.tree.cells["parent"][cell])
            side = 0 if self.tree.cells["left"][parent] == cell else 1
            self._sides[cell] = simple_side(self.tree, self.binning, parent, side)
        return self._sides[cell]


def format_boxes(boxes: list[Box], binning: Binning, names: list[str]) -> str:
    """Format the conditions that all boxes share, then the alternatives, the simplest first."""
    if not boxes:
        return "no row"
    shared = {f: c for f, c in boxes[0].items() if all(box.get(f) == c for box in boxes)}
    rests = [{f: c for f, c in box.items() if f not in shared} for box in boxes]
    said = _format_box(shared, binning, names)
    if all(rests):
        ways = sorted(
            (_format_box(rest, binning, names) for rest in rests), key=lambda w: (len(w), w)
        )
        said.append(" or ".join(f"({_and(way)})" if len(way) > 1 else way[0] for way in ways))
    return _and(said) if said else "all rows"


def _and(conditions: list[str]) -> str:
    if len(conditions) == 1:
        return conditions[0]
    return " and ".join(f"({c})" if " or " in c else c for c in conditions)


def _format_box(box: Box, binning: Binning, names: list[str]) -> list[str]:
    return [s for f, codes in sorted(box.items()) if (s := _format(f, codes, binning, names))]


def _format(feature: int, codes: Allowed, binning: Binning, names: list[str]) -> str:
    """One condition as text; empty if it excludes nothing."""
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
        _format_range(name, values, binning.thresholds[feature])
        if levels is None
        else _format_levels(name, values, levels)
    )
    if not (missing and seen_missing):
        return said
    return f"{said} or {name} is missing"


def _format_range(name: str, values: Allowed, thresholds: NDArray[np.float64]) -> str:
    """Intervals of a number; a code is 1 + the number of thresholds below the value."""
    parts = []
    while values:
        first = (values & -values).bit_length() - 1
        run = ~(values >> first)
        last = first + (run & -run).bit_length() - 2
        values &= ~(((1 << (last - first + 1)) - 1) << first)
        low = _threshold(thresholds, first - 2) if first >= 2 else None
        high = _threshold(thresholds, last - 1) if last - 1 < len(thresholds) else None
        if low is None:
            parts.append(f"{name} <= {high}")
        elif high is None:
            parts.append(f"{name} > {low}")
        else:
            parts.append(f"{low} < {name} <= {high}")
    return " or ".join(parts)


def _threshold(thresholds: NDArray[np.float64], k: int) -> str:
    """Format a threshold with as many digits as it takes to tell it from its neighbours."""
    near = [float(thresholds[j]) for j in (k - 1, k + 1) if 0 <= j < len(thresholds)]
    value, digits = float(thresholds[k]), 6
    while digits < 17 and any(_number(other, digits) == _number(value, digits) for other in near):
        digits += 1
    return _number(value, digits)


def _number(value: float, digits: int = 6) -> str:
    """Format with six significant digits, enough for reading. The model keeps all digits.

    Large numbers keep their whole part and one decimal: a cut between whole numbers is 1234567.5.
    """
    if 1e6 <= abs(value) < 1e17:
        digits = max(digits, min(len(str(int(abs(value)))) + 1, 17))
    return f"{value:.{digits}g}"


def _format_levels(name: str, values: Allowed, levels: list[Any]) -> str:
    verb, listed = shorter_list(values, levels)
    said = [str(level) for level in listed]
    if len(said) == 1:
        return f"{name} {verb} {said[0]}"
    if len(said) > LONGEST_LIST:
        said = [*said[:FIRST_LEVELS], f"… ({len(listed):,} levels)"]
    return f"{name} {verb} any of {', '.join(said)}"


def shorter_list(values: Allowed, levels: list[Any]) -> tuple[str, list[Any]]:
    """Return "is" and the allowed levels, or "is not" and the others if those are fewer."""
    chosen = flat_levels([level for i, level in enumerate(levels, start=1) if values >> i & 1])
    others = flat_levels([level for i, level in enumerate(levels, start=1) if not values >> i & 1])
    return ("is not", others) if len(others) < len(chosen) else ("is", chosen)
