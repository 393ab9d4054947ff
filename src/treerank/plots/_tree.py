"""TreeDisplay: a ranking tree drawn from the root to its strata."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank._base import TreeRanker
from treerank._binning.binning import Binning
from treerank._input.parameters import check_choice, check_integer, check_number, invalid_parameter
from treerank._input.types import FittedClassifier
from treerank._input.validation import feature_names
from treerank._reading.rules import format_boxes, shorter_list, simple_side
from treerank._trees.boxes import Box
from treerank._trees.ranking_tree import RankTree
from treerank._trees.splitter_tree import SplitterTree, format_splitter
from treerank.plots._axes import require_pyplot
from treerank.plots._tree_layout import (
    DOWNWARD_LEAVES,
    LINE,
    Layout,
    Shape,
    Skeleton,
    Typesetting,
    make_layout,
    make_skeleton,
)
from treerank.plots._tree_paint import Painter, measure_at
from treerank.plots._tree_text import (
    NO_BREAK,
    Conditions,
    format_rate,
    format_strata,
    format_weight,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Lists of category levels are shortened to about this many characters.
LONGEST_TEXT = 48

StrataTable = list[tuple[str, str, str]]  # stratum, rows, event rate


class TreeDisplay:
    """Plot of a ranking tree: strata side by side, best first.

    Every circle is a cell: its colour shows the share of positives (of the top class, if there are
    more than two), its area the number of rows. The rule at an inner cell says which of its rows go
    to the better side. The strata are listed with their number, rows and event rate. The numbers
    follow the score, whose order can differ from that of the tree.

    Create one with `from_estimator`.

    Parameters
    ----------
    parent : array-like of shape (n_cells,)
        Parent of each cell, in preorder with the better child first; -1 for the root.
    counts : array-like of shape (n_cells, n_classes)
        Sum of sample weights of each class in each cell.
    rules : list of lists of tuples of str
        For each cell, the alternatives that send a row to the better side, each a tuple of
        conditions that must all hold; empty for leaves.
    stratum : array-like of shape (n_cells,)
        Rank of each leaf, 0 for the best; -1 for inner cells.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    nodes_ : matplotlib collection of the circles, in preorder
    texts_ : list of matplotlib texts

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.plots import TreeDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = TreeDisplay.from_estimator(TreeRank().fit(X, y))
    >>> print(display.rules[0])
    [('worst perimeter <= 105.95', 'worst concave points <= 0.13495')]
    >>> display.figure_.savefig("tree.svg")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure
    nodes_: Any
    texts_: list[Any]

    def __init__(
        self, parent: Any, counts: Any, rules: list[list[Conditions]], stratum: Any
    ) -> None:
        self.parent = np.asarray(parent, dtype=np.intp)
        self.counts = np.asarray(counts, dtype=np.float64)
        self.rules = rules
        self.stratum = np.asarray(stratum, dtype=np.intp)
        n_cells = len(self.parent)
        if self.counts.ndim != 2 or not (
            len(self.counts) == len(rules) == len(self.stratum) == n_cells > 0
        ):
            raise ValueError("Got parent, counts, rules and stratum that do not fit; expected one "
                             "entry a cell.")  # fmt: skip

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        *,
        max_depth: int | None = None,
        max_text: int | None = None,
        orientation: str = "auto",
        cmap: str | Colormap = "RdBu_r",
        fontsize: float = 8,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the tree of a fitted model.

        Parameters
        ----------
        model : TreeRank or LeafRank
        max_depth : int, optional
            Draw the tree down to this depth; a cell that is cut off is listed with the strata
            below it.
        max_text : int, optional
            Maximum length of a rule, in characters; 0 shows none. A longer rule loses its last
            alternatives. By default 200, or more for a tree with few strata.
        orientation : {"auto", "down", "right"}, default="auto"
            "down": root at the top, best stratum on the left. "right": root on the left, best
            stratum at the top. By default "down" for at most 12 strata; in given axes,
            whichever fits better.
        cmap : str or matplotlib colormap, default="RdBu_r"
            Diverging colours, with the share of positives among all rows in the middle.
        fontsize : float, default=8
            Font size in a new figure; in given axes the tree is scaled to fit.
        ax : matplotlib axes, optional
            By default the axes of a new figure, as large as the tree needs.

        Returns
        -------
        TreeDisplay
        """
        if not isinstance(model, TreeRanker):
            raise ValueError(
                f"Got model={type(model).__name__}; expected a fitted TreeRank or LeafRank."
            )
        check_is_fitted(model)
        display = cls(
            model.tree_.cells["parent"], model.tree_.counts, better_sides(model), model._stratum
        )
        return display.plot(
            ax,
            max_depth=max_depth,
            max_text=max_text,
            orientation=orientation,
            cmap=cmap,
            fontsize=fontsize,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_depth: int | None = None,
        max_text: int | None = None,
        orientation: str = "auto",
        cmap: str | Colormap = "RdBu_r",
        fontsize: float = 8,
    ) -> Self:
        """Draw the tree; the parameters are those of `from_estimator`.

        Returns
        -------
        self
        """
        cmap = require_pyplot().get_cmap(cmap)
        max_depth = check_integer("max_depth", max_depth, 0, none=True)
        max_text = check_integer("max_text", max_text, 0, none=True)
        if check_number("fontsize", fontsize) == 0:
            raise invalid_parameter("fontsize", fontsize, "a number > 0")
        check_choice("orientation", orientation, ["auto", "down", "right"])
        skeleton = make_skeleton(self.parent, max_depth)
        if max_text is None:
            max_text = max(200, 1200 // skeleton.n_leaves)
        setting = Typesetting(measure_at(fontsize), LINE * fontsize / 72, max_text)
        table = self._table(skeleton)
        painters = [
            Painter(
                self._layout(skeleton, table, setting, shape), table, self._word, cmap, fontsize
            )
            for shape in _shapes(skeleton, orientation, given=ax is not None)
        ]
        painter = max(painters, key=lambda painter: painter.scale_in(ax))
        self.ax_ = painter.open(ax)
        self.figure_ = self.ax_.figure
        self._paint(painter)
        return self

    @property
    def _word(self) -> str:
        return "event rate" if self.counts.shape[1] == 2 else "top class"

    def _paint(self, painter: Painter) -> None:
        skeleton = painter.layout.skeleton
        weight = self.counts[skeleton.cell].sum(axis=1)
        is_cut = skeleton.is_leaf & (self.stratum[skeleton.cell] < 0)
        painter.branches()
        painter.rules()
        self.nodes_ = painter.nodes(self.counts[skeleton.cell, -1] / weight, is_cut)
        painter.table()
        painter.legend(weight)
        self.texts_ = painter.texts

    def _layout(
        self, skeleton: Skeleton, table: StrataTable, setting: Typesetting, shape: Shape
    ) -> Layout:
        weight = self.counts[skeleton.cell].sum(axis=1)
        share = self.counts[skeleton.cell, -1] / weight
        texts = [
            (f"{format_weight(m)} rows, {format_rate(s)}", self.rules[cell])
            for cell, m, s in zip(skeleton.cell, weight, share, strict=True)
        ]
        widest = max(setting.measure(text) for row in table for text in row)
        return make_layout(skeleton, weight, texts, setting, replace(shape, widest_entry=widest))

    def _table(self, skeleton: Skeleton) -> StrataTable:
        """Return stratum, rows and event rate of each drawn leaf, in the order of the tree."""
        shown = skeleton.cell[skeleton.is_leaf]
        strata: dict[int, list[int]] = {int(cell): [] for cell in shown}
        for leaf in np.flatnonzero(self.stratum >= 0):
            cell = int(leaf)
            while cell not in strata:
                cell = int(self.parent[cell])
            strata[cell].append(int(self.stratum[leaf]))
        table = []
        for cell, inside in strata.items():
            weight = self.counts[cell].sum()
            rate = self.counts[cell, -1] / weight
            table.append((format_strata(inside), format_weight(weight), format_rate(rate)))
        return table


def _shapes(skeleton: Skeleton, orientation: str, given: bool) -> list[Shape]:
    """Return the shapes to choose from: one for a new figure, several to fit given axes."""
    if orientation == "auto" and not given:
        orientation = "down" if skeleton.n_leaves <= DOWNWARD_LEAVES else "right"
    turns = [turn for turn in ("down", "right") if orientation in ("auto", turn)]
    return [
        Shape(turn == "down", (10.0 if turn == "down" else 5.0) / tighter)
        for turn in turns
        for tighter in ((1, 1.5, 2.5) if given else (1,))
    ]


def better_sides(model: TreeRanker) -> list[list[Conditions]]:
    """Return the alternatives that send rows of each inner cell to the left, shortest first."""
    tree, binning = model.tree_, model._binning
    names = feature_names(model)
    rules: list[list[Conditions]] = [[] for _ in range(tree.n_cells)]
    if isinstance(tree, SplitterTree):
        for cell, split in zip(np.flatnonzero(tree.is_split), tree.splits, strict=True):
            rules[cell] = [(f"better side of the {format_splitter(split.splitter)}",)]
        return rules
    assert isinstance(tree, RankTree)
    for cell in np.flatnonzero(tree.is_split):
        boxes = simple_side(tree, binning, int(cell), 0)
        said = [_format_conditions(box, binning, names) for box in boxes]
        rules[cell] = sorted(
            said, key=lambda conditions: (len(" and ".join(conditions)), conditions)
        )
    return rules


def _format_conditions(box: Box, binning: Binning, names: list[str]) -> Conditions:
    said = [_format_condition(feature, box[feature], binning, names) for feature in sorted(box)]
    said = [s for s in said if s != "all rows"]  # all known values of the feature are inside
    if len(said) == 1:
        return (said[0],)
    return tuple(f"({s})" if " or " in s else s for s in said) or ("all rows",)


def _format_condition(feature: int, codes: int, binning: Binning, names: list[str]) -> str:
    """Return a condition as text; a long list of levels is cut off, with the number of levels."""
    said = format_boxes([{feature: codes}], binning, names)
    levels = binning.levels[feature]
    if levels is None or len(said) <= LONGEST_TEXT:
        return said
    known = format_boxes([{feature: codes & ~1}], binning, names)
    n_levels = len(shorter_list(codes, levels)[1])
    last = known.rfind(", ", 0, LONGEST_TEXT)
    if last < 0:  # the first level is that long
        return said
    short = f"{known[: last + 1]} … ({n_levels:,}{NO_BREAK}levels)"
    return short if known == said else f"{short} or {names[feature]} is missing"
