"""Draws a tree plot; one unit of the axes is an inch, and the plot is scaled as a whole to fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treerank.plots._axes import LITERAL, axes_for
from treerank.plots._tree_layout import GAP, MARGIN, Layout
from treerank.plots._tree_text import Measure, format_rate, format_weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

DARK, GREY, BRANCH = "0.1", "0.42", "0.65"
BAR = 13  # width of the colour bar, in lines


def measure_at(fontsize: float) -> Measure:
    """Return a function for the width of a line of text in inches, at the given font size."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    font = FontProperties(size=fontsize)

    @cache
    def width(text: str) -> float:
        points, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
        return float(points) / 72

    def measure(text: str) -> float:
        # Letter by letter, which is much faster than whole lines, as there are few letters.
        advance = sum(width(f"x{letter}x") - width("xx") for letter in text)
        return 1.03 * advance  # hinting on a screen may widen it a little

    return measure


class Painter:
    """Draws the parts of a tree, one method each."""

    def __init__(
        self,
        layout: Layout,
        table: Sequence[tuple[str, ...]],
        word: str,
        cmap: str | Colormap,
        fontsize: float,
    ) -> None:
        self.layout = layout
        self.word = word  # what the colour shows
        self.headings = ("stratum", "rows", word)
        self.cells = table
        self.cmap = cmap
        self.fontsize = fontsize
        self.measure = measure_at(fontsize)
        self.line = layout.line_height
        self.texts: list[Any] = []
        self._set_page()

    def _set_page(self) -> None:
        """Compute the size of the page, and the positions of the root's corner and the legend."""
        across, end = self.layout.skeleton.n_leaves * self.layout.slot, self.layout.end
        # Bold text is about a tenth wider.
        self.columns = [
            max(1.1 * self.measure(text) for text in column)
            for column in zip(self.headings, *self.cells, strict=True)
        ]
        if self.layout.downward:
            before = max(map(self.measure, self.headings)) + 2 * GAP
            width, height = before + across, end + GAP + len(self.headings) * self.line
            corner = np.array([before, 0.0])
        else:
            width = end + sum(self.columns) + 5 * GAP * len(self.columns)
            height = across + self.line
            corner = np.array([0.0, -self.line])
        self.legend_size = np.array([36.5, 3.2]) * self.line
        page_width = max(width, self.legend_size[0])
        self.page = np.array([page_width, height + 1.5 * self.line + self.legend_size[1]])
        self.corner = corner + np.array([(page_width - width) / 2, 0.0])
        self.legend_corner = np.array(
            [(page_width - self.legend_size[0]) / 2, -height - 1.5 * self.line]
        )

    def place(self, across: Any, along: Any) -> NDArray[np.float64]:
        """Return positions on the page, with x to the right and y upwards."""
        across, along = np.broadcast_arrays(across, along)
        x, y = (across, along) if self.layout.downward else (along, across)
        return np.stack([self.corner[0] + x, self.corner[1] - y], axis=-1)

    def scale_in(self, ax: Axes) -> float:
        """Return the scale at which the page fits into the axes; 1 in a new figure."""
        return 1.0 if ax is None else float((_size(ax) / (self.page + 2 * MARGIN)).min())

    def open(self, ax: Axes) -> Any:
        """Prepare the axes so that the page fills them."""
        edges = {"left": 0, "right": 1, "bottom": 0, "top": 1}
        self.ax = axes_for(ax, tuple(self.page + 2 * MARGIN), gridspec_kw=edges)
        self.scale = self.scale_in(ax)
        slack = (_size(self.ax) / self.scale - self.page) / 2
        self.ax.set_xlim(-slack[0], self.page[0] + slack[0])
        self.ax.set_ylim(-self.page[1] - slack[1], slack[1])
        self.ax.set_axis_off()
        return self.ax

    def write(self, xy: Any, text: str, **options: Any) -> None:
        """Write text literally, scaled with the page."""
        size = self.fontsize * self.scale
        style = {"color": DARK, "linespacing": 1.2, **LITERAL, **options}
        self.texts.append(self.ax.text(*xy, text, fontsize=size, zorder=4, **style))

    def branches(self) -> None:
        """Join every cell to its children by right angles."""
        from matplotlib.collections import LineCollection  # noqa: PLC0415

        tree, layout = self.layout.skeleton, self.layout
        child = np.arange(1, len(tree.cell))
        parent = tree.parent[1:]
        across, along = layout.across, layout.along
        paths = np.stack(
            [
                self.place(across[parent], along[parent]),
                self.place(across[parent], layout.bus_along[parent]),
                self.place(across[child], layout.bus_along[parent]),
                self.place(across[child], along[child]),
            ],
            axis=1,
        )
        style = {"colors": BRANCH, "linewidths": 1.1 * self.scale, "joinstyle": "round"}
        self.ax.add_collection(LineCollection(list(paths), zorder=1, **style), autolim=False)

    def rules(self) -> None:
        """Write weight, share and rule at every inner cell, with a background over the branch."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415

        layout = self.layout
        for i in np.flatnonzero(~layout.skeleton.is_leaf):
            x, y = self.place(layout.across[i], layout.text_along[i])
            width, height = layout.block[i]
            left, top = (x - width / 2, y) if layout.downward else (x, y + height / 2)
            ground = Rectangle(
                (left - GAP, top - height), width + 2 * GAP, height,
                facecolor=self.ax.get_facecolor(), edgecolor="none", zorder=2,
            )  # fmt: skip
            self.ax.add_patch(ground)
            header, *rule = layout.lines[i]
            self.write((left, top), header, color=GREY, va="top")
            if rule:
                self.write((left, top - self.line), "\n".join(rule), va="top")

    def nodes(self, share: NDArray[np.float64], is_cut: NDArray[np.bool_]) -> Any:
        """Draw the circles: colour by share of positives, area by weight."""
        self.share = share
        self.norm = _diverging(share)
        edges = [(0, (1.5, 1)) if cut else "solid" for cut in is_cut]
        xy = self.place(self.layout.across, self.layout.along)
        nodes = self._circles(xy, self.layout.radius, linestyles=edges, cmap=self.cmap)
        nodes.set(array=share, norm=self.norm)
        return nodes

    def _circles(self, xy: Any, radius: Any, **options: Any) -> Any:
        from matplotlib.collections import EllipseCollection  # noqa: PLC0415

        circles = EllipseCollection(
            2 * radius, 2 * radius, np.zeros(len(radius)), units="xy", offsets=xy,
            offset_transform=self.ax.transData, edgecolors="0.25",
            linewidths=0.8 * self.scale, zorder=3, **options,
        )  # fmt: skip
        return self.ax.add_collection(circles, autolim=False)

    def table(self) -> None:
        """List stratum, rows and event rate at the leaves, with headings."""
        layout = self.layout
        leaves = np.flatnonzero(layout.skeleton.is_leaf)
        start = layout.end
        for k, heading in enumerate(self.headings):
            weight = "bold" if k == 0 else "normal"
            if layout.downward:
                along = start + (k + 0.5) * self.line
                self.write(
                    self.place(-2 * GAP, along), heading, color=GREY, ha="right", va="center"
                )
                align = "center"
            else:
                along = start + 3 * GAP + sum(self.columns[: k + 1]) + 5 * GAP * k
                top = self.place(-self.line / 4, along)
                self.write(top, heading, color=GREY, ha="right", va="center")
                align = "right"
            for leaf, cell in zip(leaves, self.cells, strict=True):
                xy = self.place(layout.across[leaf], along)
                self.write(xy, cell[k], ha=align, va="center", fontweight=weight)

    def legend(self, weight: NDArray[np.float64]) -> None:
        """Explain the rules, sizes and colours."""
        x, top = self.legend_corner
        y = top - self.legend_size[1] / 2
        side = "left" if self.layout.downward else "up"
        if self.layout.skeleton.n_leaves > 1:
            note = f"Rows that meet the rule\ngo {side}, the better side."
            self.write((x, y), note, va="center")
        self._legend_of_sizes(x + 12 * self.line, y, weight)
        self._legend_of_colours(x + self.legend_size[0] - BAR * self.line, y, BAR * self.line)

    def _legend_of_sizes(self, x: float, y: float, weight: NDArray[np.float64]) -> None:
        large = self.layout.radius.max()
        shown = [weight.max(), weight.max() / 10]
        radius = large * np.sqrt(np.array([1, 1 / 10]))
        centre = np.array([[x + large, y], [x + 2 * large + 2 * GAP + radius[1], y]])
        self._circles(centre, radius, facecolors="white")
        said = "\n".join(f"{format_weight(round(m))} rows" for m in shown)
        self.write((centre[1, 0] + radius[1] + GAP, y), said, va="center")

    def _legend_of_colours(self, x: float, y: float, width: float) -> None:
        low, high = float(self.share.min()), float(self.share.max())
        base = float(self.share[0])
        height = 0.7 * self.line
        if high == low:
            self.write((x, y), f"{self.word} {format_rate(base)}", va="center")
            return
        edges = np.linspace(low, high, 129)
        self.ax.pcolormesh(
            x + width * (edges - low) / (high - low), [y - height / 2, y + height / 2],
            ((edges[1:] + edges[:-1]) / 2)[np.newaxis], cmap=self.cmap, norm=self.norm, zorder=3,
        )  # fmt: skip
        middle = x + width * (base - low) / (high - low)
        self.ax.plot([middle] * 2, [y - height / 2, y + height / 2], color=DARK,
                     linewidth=self.scale, zorder=3.5)  # fmt: skip
        under = y - height / 2 - GAP / 2
        self.write((x, under), format_rate(low), ha="left", va="top")
        self.write((x + width, under), format_rate(high), ha="right", va="top")
        # The text is centred on the tick, but stays above the bar.
        word = f"{self.word}; all rows {format_rate(base)}"
        half = self.measure(word) / 2
        centre = float(np.clip(middle, x + half, max(x + width - half, x + half)))
        self.write((centre, y + height / 2 + GAP / 2), word, ha="center", va="bottom")


def _size(ax: Axes) -> NDArray[np.float64]:
    """Return the width and height of the axes in inches."""
    box = ax.get_window_extent()
    return np.asarray(np.array([box.width, box.height]) / ax.figure.dpi)


def _diverging(share: NDArray[np.float64]) -> Any:
    """Map the share of all rows to the middle colour and the extremes to the ends."""
    from matplotlib.colors import TwoSlopeNorm  # noqa: PLC0415

    base = float(share[0])
    low, high = min(float(share.min()), base - 1e-9), max(float(share.max()), base + 1e-9)
    return TwoSlopeNorm(base, low, high)
