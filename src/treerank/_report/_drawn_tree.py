"""The tree as a picture: root on the left, better sides up, as deep as is readable.

The layout is that of `plots.TreeDisplay`; the page needs no matplotlib.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._input.types import Floats
from treerank._report._cells import CellView
from treerank._report._order import class_values
from treerank._report._pictures import pixels
from treerank._report._render import area, percent
from treerank.plots._tree import better_sides
from treerank.plots._tree_layout import (
    Layout,
    Shape,
    Skeleton,
    Typesetting,
    make_layout,
    make_skeleton,
)
from treerank.plots._tree_text import format_strata, format_weight

MAX_LEAVES, MAX_WIDTH = 16, 1080  # of the picture, in pixels
INCH = 96.0
FONT = 12.0
LINE = 1.3 * FONT / INCH
MAX_TEXT = 120  # characters of a rule
REACH = 5.0  # inches available to the leaves
TABLE = (74, 62, 78)  # widths of the columns: strata, rows, rate
MARGIN = 8.0
NARROW, WIDE = set("iljtfr.,:;'|!()[] "), set("mwMW@%—…")


@dataclass(frozen=True)
class DrawnTree:
    """Parts of the picture, in pixels, and how much of the tree it shows."""

    width: float
    height: float
    title: str
    branches: str
    nodes: list[dict[str, Any]]
    labels: list[dict[str, Any]]
    table: list[dict[str, Any]]
    headings: list[dict[str, Any]]
    n_levels: int
    is_whole: bool


@dataclass(frozen=True)
class _Cells:
    """Evaluation rows in the cells of the model's tree."""

    counts: Floats
    values: Floats

    def worth(self, cell: Any) -> Floats:
        """Event rate, or mean grade for more than two classes; NaN without rows."""
        counts = self.counts[cell]
        with np.errstate(invalid="ignore"):
            share = counts / counts.sum(axis=-1, keepdims=True)
        return share[..., -1] if self.is_rate else np.asarray(share @ self.values)

    @property
    def is_rate(self) -> bool:
        return len(self.values) == 2

    def said(self, cell: int) -> str:
        worth = float(self.worth(cell))
        if np.isnan(worth):
            return "–"
        return percent(worth) if self.is_rate else f"{area(worth, 2)}"


def draw_tree(view: CellView, model: TreeRanker) -> DrawnTree:
    """Draw the model's tree with its evaluation rows, down to the deepest level that fits."""
    parent = np.asarray(model.tree_.cells["parent"], dtype=np.intp)
    counts = _Cells(view.judged[_cells_of_model(view)], class_values(model.label_order_))
    sides, stratum = better_sides(model), np.asarray(model._stratum, dtype=np.intp)
    deepest = make_skeleton(parent, None)
    for depth in range(deepest.n_levels - 1, 0, -1):
        skeleton = make_skeleton(parent, depth)
        if skeleton.n_leaves > MAX_LEAVES and depth > 1:
            continue
        layout = _lay_out(skeleton, counts, sides)
        if depth == 1 or _width(layout) <= MAX_WIDTH:
            return _draw(layout, counts, stratum, parent)
    return _draw(_lay_out(deepest, counts, sides), counts, stratum, parent)


def _cells_of_model(view: CellView) -> NDArray[np.intp]:
    """Cells of the model's tree, in preorder, as numbers in the largest subtree."""
    cells: set[int] = set()
    for leaf in view.steps[view.chosen].leaves.tolist():
        cell = leaf
        while cell >= 0 and cell not in cells:
            cells.add(cell)
            cell = int(view.tree.cells["parent"][cell])
    return np.array(sorted(cells), dtype=np.intp)


def text_width(text: str) -> float:
    """Estimated width of a line in a browser's default font, in inches; rather too wide."""
    ems = sum(
        0.36 if c in NARROW else 0.9 if c in WIDE else 0.7 if c.isupper() else 0.6 for c in text
    )
    return ems * FONT / INCH


def _lay_out(skeleton: Skeleton, counts: _Cells, sides: list[Any]) -> Layout:
    weight = counts.counts[skeleton.cell].sum(axis=1)
    texts = [
        (f"{format_weight(weight[i])} rows, {counts.said(cell)}", sides[cell])
        for i, cell in enumerate(skeleton.cell)
    ]
    setting = Typesetting(text_width, LINE, MAX_TEXT)
    return make_layout(skeleton, np.maximum(weight, 1e-9), texts, setting, Shape(False, REACH))


def _width(layout: Layout) -> float:
    return layout.end * INCH + sum(TABLE) + 2 * MARGIN


def _draw(
    layout: Layout, counts: _Cells, stratum: NDArray[np.intp], parent: NDArray[np.intp]
) -> DrawnTree:
    skeleton = layout.skeleton
    top = MARGIN + LINE * INCH  # space for the headings of the table
    x, y = MARGIN + layout.along * INCH, top + layout.across * INCH
    width, height = _width(layout), top + skeleton.n_leaves * layout.slot * INCH + MARGIN
    table, headings = _table(layout, y, counts, _strata_below(skeleton, stratum, parent))
    n_levels = skeleton.n_levels - 1
    is_whole = len(skeleton.cell) == len(parent)
    words = "The tree" if is_whole else f"The top {n_levels} levels of the tree"
    title = f"{words}, from all rows on the left to {skeleton.n_leaves} cells on the right"
    return DrawnTree(
        width, height, title, _branches(layout, x, y), _nodes(layout, x, y, counts, stratum),
        _labels(layout, y), table, headings, n_levels, is_whole,
    )  # fmt: skip


def _branches(layout: Layout, x: Floats, y: Floats) -> str:
    parts = []
    for child in range(1, len(x)):
        up = layout.skeleton.parent[child]
        bus = MARGIN + layout.bus_along[up] * INCH
        parts.append(
            f"M{pixels(x[up])} {pixels(y[up])}H{pixels(bus)}V{pixels(y[child])}H{pixels(x[child])}"
        )
    return "".join(parts)


def _nodes(
    layout: Layout, x: Floats, y: Floats, counts: _Cells, stratum: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """Circles, with areas by rows and colour strengths by event rate or mean grade."""
    cells = layout.skeleton.cell
    worth = counts.worth(cells)
    low = float(np.nanmin(worth))
    worth = np.nan_to_num(worth, nan=low) - low
    reach = max(float(worth.max()), 1e-12)
    return [
        {
            "x": pixels(x[i]),
            "y": pixels(y[i]),
            "r": pixels(layout.radius[i] * INCH),
            "strength": f"{0.1 + 0.9 * worth[i] / reach:.2f}",
            "is_cut": bool(layout.skeleton.is_leaf[i] and stratum[cell] < 0),
        }
        for i, cell in enumerate(cells)
    ]


def _labels(layout: Layout, y: Floats) -> list[dict[str, Any]]:
    """Rows, rate and rule of each inner cell, on a background that hides the branch."""
    labels = []
    for i in np.flatnonzero(~layout.skeleton.is_leaf):
        block_width, block_height = layout.block[i] * INCH
        left, top = MARGIN + layout.text_along[i] * INCH, y[i] - block_height / 2
        labels.append(
            {
                "x": pixels(left),
                "top": pixels(top),
                "width": pixels(block_width),
                "height": pixels(block_height),
                "lines": [
                    (pixels(top + (k + 0.8) * LINE * INCH), line)
                    for k, line in enumerate(layout.lines[i])
                ],
            }
        )
    return labels


def _strata_below(
    skeleton: Skeleton, stratum: NDArray[np.intp], parent: NDArray[np.intp]
) -> list[str]:
    """Numbers of the strata in each cell that is drawn as a leaf."""
    inside: dict[int, list[int]] = {int(c): [] for c in skeleton.cell[skeleton.is_leaf]}
    for leaf in np.flatnonzero(stratum >= 0):
        cell = int(leaf)
        while cell not in inside:
            cell = int(parent[cell])
        inside[cell].append(int(stratum[leaf]))
    return [format_strata(numbers) for numbers in inside.values()]


def _table(
    layout: Layout, y: Floats, counts: _Cells, strata: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Strata, rows and rate next to the leaves, and the headings above them."""
    ends = [pixels(MARGIN + layout.end * INCH + sum(TABLE[: k + 1])) for k in range(len(TABLE))]
    leaves = np.flatnonzero(layout.skeleton.is_leaf)
    rows = []
    for i, name in zip(leaves, strata, strict=True):
        cell = int(layout.skeleton.cell[i])
        texts = (name, format_weight(float(counts.counts[cell].sum())), counts.said(cell))
        rows.append({"y": pixels(y[i] + 4), "cells": list(zip(ends, texts, strict=True))})
    word = "event rate" if counts.is_rate else "mean grade"
    return rows, [
        {"x": x, "text": text} for x, text in zip(ends, ("stratum", "rows", word), strict=True)
    ]
