"""Layout of a tree plot, in inches.

Leaves have slots of equal size side by side, best first; an inner cell lies midway between
its children and owns the slots of its leaves. Cells of the same depth share a level, and all
leaves share the last one. The rule of a cell is set within its slots and its level, so that
texts cannot overlap.

A position is (across, along): across the slots, and along from the root to the leaves. Only
`place` knows the orientation of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats, Indices
from treerank.plots._tree_text import Conditions, Measure, rule_lines

MARGIN = 0.2
GAP = 0.06
LINE = 1.26  # height of a line of text, in font sizes
LARGEST_RADIUS, SMALLEST_RADIUS = 0.19, 0.045
# A tree with more leaves than this grows to the right, as lines of text are wider than high.
DOWNWARD_LEAVES = 12


@dataclass(frozen=True)
class Skeleton:
    """The cells to draw, in preorder, and their slots.

    `cell` holds their indices in the fitted tree; `parent` and `children` (-1: none) are indices
    of drawn cells; `across`, `low` and `high` are in units of slots.
    """

    cell: Indices
    parent: Indices
    children: Indices
    depth: Indices
    across: Floats
    low: Floats
    high: Floats

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each cell is drawn without children."""
        return np.asarray(self.children[:, 0] < 0)

    @property
    def n_leaves(self) -> int:
        """Number of slots."""
        return int(self.is_leaf.sum())

    @property
    def n_levels(self) -> int:
        """Number of levels: those of inner cells, and one for the leaves."""
        return int(self.depth.max()) + 1


def make_skeleton(parent: Indices, max_depth: int | None) -> Skeleton:
    """Select the cells up to a depth and assign their slots."""
    n_cells = len(parent)
    depth = np.zeros(n_cells, dtype=np.intp)
    for i in range(1, n_cells):  # preorder: parents come first
        depth[i] = depth[parent[i]] + 1
    cell = np.flatnonzero(depth <= (n_cells if max_depth is None else max_depth))
    number = np.full(n_cells, -1, dtype=np.intp)
    number[cell] = np.arange(len(cell))
    up = np.where(parent[cell] >= 0, number[parent[cell]], -1)
    children = np.full((len(cell), 2), -1, dtype=np.intp)
    for i in range(len(cell) - 1, 0, -1):  # the left child comes first, so is set last
        children[up[i]] = (i, children[up[i], 0])
    is_leaf = children[:, 0] < 0
    low: Floats = (np.cumsum(is_leaf) - 1).astype(np.float64)
    across, high = low + 0.5, low + 1.0
    for i in np.flatnonzero(~is_leaf)[::-1]:
        left, right = children[i]
        across[i] = (across[left] + across[right]) / 2
        low[i], high[i] = low[left], high[right]
    return Skeleton(cell, up, children, depth[cell], across, low, high)


@dataclass(frozen=True)
class Layout:
    """A skeleton in inches, with the text of each inner cell."""

    skeleton: Skeleton
    downward: bool
    slot: float
    radius: Floats
    along: Floats  # position of each cell
    text_along: Floats  # where the text of a cell begins
    bus_along: Floats  # where the branches of a cell fork
    lines: list[list[str]]
    block: Floats  # (n, 2): width and height of the text of each inner cell
    line_height: float
    end: float  # position after the circles of the leaves

    @property
    def across(self) -> Floats:
        """Centre of each cell, in inches."""
        return np.asarray(self.skeleton.across * self.slot)


@dataclass(frozen=True)
class Typesetting:
    """How text is set: the width and height of a line in inches, and the maximum length."""

    measure: Measure
    line: float
    max_text: int


@dataclass(frozen=True)
class Shape:
    """Orientation of the tree, how far its leaves may extend, and the width they must hold."""

    downward: bool
    reach: float
    widest_entry: float = 0.0  # in the table of strata


def make_layout(
    skeleton: Skeleton,
    weight: Floats,
    texts: Sequence[tuple[str, Sequence[Conditions]]],
    setting: Typesetting,
    shape: Shape,
) -> Layout:
    """Set the texts, a header and a rule for each cell, then space the levels to fit them."""
    line, downward = setting.line, shape.downward
    slot = _slot_size(skeleton.n_leaves, shape, line)
    radius = np.maximum(LARGEST_RADIUS * np.sqrt(weight / weight.max()), SMALLEST_RADIUS)
    headers, rules = zip(*texts, strict=True)
    set_rules = _set_downward if downward else _set_rightward
    set_lines = set_rules(skeleton, slot, rules, setting)
    lines = [[header, *rule] for header, rule in zip(headers, set_lines, strict=True)]
    block = np.array([(max(map(setting.measure, text)), len(text) * line) for text in lines])
    block[skeleton.is_leaf] = 0.0
    level, text, bus, end = _levels(skeleton, radius, block[:, 1 if downward else 0])
    last = skeleton.n_levels - 1
    at = np.where(skeleton.is_leaf, last, skeleton.depth)
    return Layout(
        skeleton, downward, slot, radius, level[at], text[at], bus[at], lines, block, line, end
    )  # fmt: skip


def _slot_size(n_leaves: int, shape: Shape, line: float) -> float:
    """Return room for a column of the table, or for two lines; more if there are few leaves."""
    if shape.downward:
        least = max(6.0 * line, 1.1 * shape.widest_entry + 2 * GAP)
        return float(np.clip(shape.reach / n_leaves, least, max(16.0 * line, least)))
    return float(np.clip(shape.reach / n_leaves, 2.7 * line, 4.0 * line))


def _room(skeleton: Skeleton, slot: float) -> Floats:
    """Return the width for a text that is centred on its cell and stays within its slots."""
    half = np.minimum(skeleton.across - skeleton.low, skeleton.high - skeleton.across)
    return np.asarray(2 * slot * half - 2 * GAP)


def _set_downward(
    skeleton: Skeleton, slot: float, rules: Sequence[Sequence[Conditions]], setting: Typesetting
) -> list[list[str]]:
    """Set lines as wide as the slots, as many as needed, since the level grows with them."""
    widths = np.minimum(_room(skeleton, slot), 20 * setting.line)
    return [
        rule_lines(rule, setting.measure, float(width), setting.max_text)
        for rule, width in zip(rules, widths, strict=True)
    ]


def _set_rightward(
    skeleton: Skeleton, slot: float, rules: Sequence[Sequence[Conditions]], setting: Typesetting
) -> list[list[str]]:
    """Set as many lines as the slots hold; a level is as narrow as possible without omissions."""
    measure, max_text = setting.measure, setting.max_text
    n_lines = (_room(skeleton, slot) / setting.line).astype(int) - 1  # one is the header
    width = np.zeros(skeleton.n_levels)
    for i, rule in enumerate(rules):
        for tried in setting.line * np.array([14, 18, 23, 29]):
            width[skeleton.depth[i]] = max(width[skeleton.depth[i]], tried)
            all_lines = rule_lines(rule, measure, tried, max_text)
            if rule_lines(rule, measure, tried, max_text, n_lines[i]) == all_lines:
                break
    return [
        rule_lines(rule, measure, width[skeleton.depth[i]], max_text, n_lines[i])
        for i, rule in enumerate(rules)
    ]


def _levels(
    skeleton: Skeleton, radius: Floats, extent: Floats
) -> tuple[Floats, Floats, Floats, float]:
    """Return the positions of each level's cells, texts and forks, and the end of the leaves."""
    last = skeleton.n_levels - 1
    at = np.where(skeleton.is_leaf, last, skeleton.depth)
    largest, longest = np.zeros(last + 1), np.zeros(last + 1)
    np.maximum.at(largest, at, radius)
    np.maximum.at(longest, at, extent)
    level, text, bus = np.zeros(last + 1), np.zeros(last + 1), np.zeros(last + 1)
    position = 0.0
    for d in range(last + 1):
        level[d] = position + largest[d]
        text[d] = level[d] + largest[d] + GAP
        bus[d] = text[d] + longest[d] + 2 * GAP
        position = bus[d] + 2 * GAP
    return level, text, bus, float(text[last])
