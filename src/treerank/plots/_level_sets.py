"""LevelSetDisplay: the score of a model over two features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from treerank._base import TreeRanker
from treerank._input.label_order import label_order_of
from treerank._input.parameters import check_integer, invalid_parameter
from treerank._input.types import FittedClassifier, TableLike
from treerank._reading.dependence import find_feature
from treerank._trees.ranking_tree import RankTree
from treerank.plots._axes import LITERAL, add_legend, axes_for, require_pyplot
from treerank.plots._grid import (
    Axis,
    Table,
    cross,
    level_axis,
    numeric_axis,
    open_table,
)
from treerank.plots._scores import ranking_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# With more distinct scores than this, the lines between them would hide the map.
OUTLINED_SCORES = 40


class LevelSetDisplay:
    """Level sets of a score over two features: the strata of a tree as a map.

    All other features are held at their median, or at their most frequent level.

    Create one with `from_estimator`.

    Parameters
    ----------
    x, y : Axis
        The intervals or levels of each feature, and the positions of the rows.
    score : array of shape (n_y, n_x)
        Score of each rectangle.
    labels : array of shape (n_samples,), optional
        Class of each row; if given, the rows are drawn, marked by class.
    classes : array, optional
        The classes in their order, lowest first; by default those of the labels, sorted.
    n_held : int, default=0
        Number of features held at a typical value.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    mesh_ : matplotlib mesh of the scores

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.plots import LevelSetDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["worst perimeter", "worst texture"]]
    >>> display = LevelSetDisplay.from_estimator(TreeRank().fit(X, y), X, y=y)
    >>> display.x.name, display.y.name
    ('worst perimeter', 'worst texture')
    """

    ax_: Axes
    figure_: Figure
    mesh_: Any

    def __init__(
        self,
        x: Axis,
        y: Axis,
        score: ArrayLike,
        *,
        labels: Any = None,
        classes: Any = None,
        n_held: int = 0,
    ) -> None:
        self.x, self.y = x, y
        self.score = np.asarray(score, dtype=np.float64)
        if self.score.shape != (len(y.edges) - 1, len(x.edges) - 1):
            raise ValueError(
                f"Got score of shape {self.score.shape}; expected one for each of "
                f"{len(y.edges) - 1} x {len(x.edges) - 1} rectangles."
            )
        self.labels = None if labels is None else column_or_1d(np.asarray(labels))
        self.classes = None if classes is None else np.asarray(classes)
        check_consistent_length(x.points, y.points, self.labels)
        self.n_held = n_held

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        features: Any = (0, 1),
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 200,
        outlines: bool | None = None,
        cmap: str | Colormap = "viridis",
        colorbar: bool = True,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the level sets of a fitted model.

        Parameters
        ----------
        model : estimator
            A fitted model of this library, or any classifier of two classes.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that determine the ranges, the typical values and the points.
        features : tuple of two, default=(0, 1)
            Names or positions of the columns on the horizontal and on the vertical axis.
        y : array-like of shape (n_samples,), optional
            Labels; if given, the rows are drawn, marked by class.
        grid_resolution : int, default=200
            Number of intervals for a numeric feature. The thresholds of a ranking tree
            are added, so that its boundaries are exact.
        outlines : bool, optional
            Whether to draw lines between scores; by default if there are at most 40 distinct ones.
        cmap : str or matplotlib colormap, default="viridis"
        colorbar : bool, default=True
        ax : matplotlib axes, optional

        Returns
        -------
        LevelSetDisplay
        """
        require_pyplot()
        check_is_fitted(model)
        resolution = check_integer("grid_resolution", grid_resolution, 2)
        table = open_table(X, getattr(model, "feature_names_in_", None))
        if not isinstance(features, tuple | list) or len(features) != 2:
            raise invalid_parameter("features", features, "two columns, by name or position")
        first, second = (find_feature(table.names, feature) for feature in features)
        if first == second:
            raise invalid_parameter("features", features, "two different columns")
        categorical = _categorical_columns(model, table)
        axes = {
            j: level_axis(table, j)
            if categorical[j]
            else numeric_axis(table, j, resolution, _thresholds(model, j))
            for j in (first, second)
        }
        score = ranking_scores(model, cross(table, axes, categorical))
        x, up = axes[first], axes[second]
        display = cls(
            x,
            up,
            score.reshape(len(up.edges) - 1, len(x.edges) - 1),
            labels=y,
            classes=label_order_of(model) if hasattr(model, "classes_") else None,
            n_held=len(table.names) - 2,
        )
        return display.plot(ax, outlines=outlines, cmap=cmap, colorbar=colorbar)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        outlines: bool | None = None,
        cmap: str | Colormap = "viridis",
        colorbar: bool = True,
    ) -> Self:
        """Draw the level sets; the parameters are those of `from_estimator`.

        Returns
        -------
        self
        """
        cmap = require_pyplot().get_cmap(cmap)
        self.ax_ = ax = axes_for(ax, (6.4, 5.2), layout="constrained")
        self.figure_ = ax.figure
        mesh = ax.pcolormesh(self.x.edges, self.y.edges, self.score, cmap=cmap, rasterized=True)
        self.mesh_ = mesh
        if outlines is None:
            outlines = len(np.unique(self.score)) <= OUTLINED_SCORES
        if outlines:
            self._draw_outlines(ax)
        if self.labels is not None:
            self._draw_points(ax, self.labels)
        self._name_axes(ax)
        if colorbar:
            bar = self.figure_.colorbar(mesh, ax=ax, label="score (higher is ranked first)")
            bar.outline.set_visible(False)
        return self

    def _draw_outlines(self, ax: Axes) -> None:
        """Draw lines along the edges where the score changes."""
        from matplotlib.collections import LineCollection  # noqa: PLC0415

        x, y = self.x.edges, self.y.edges
        row, column = np.nonzero(np.diff(self.score, axis=1))
        upright = [x[column + 1], y[row], x[column + 1], y[row + 1]]
        row2, column2 = np.nonzero(np.diff(self.score, axis=0))
        level = [x[column2], y[row2 + 1], x[column2 + 1], y[row2 + 1]]
        ends = np.concatenate([np.array(upright).T, np.array(level).T]).reshape(-1, 2, 2)
        lines = LineCollection(list(ends), colors="white", linewidths=0.8, capstyle="projecting")
        ax.add_collection(lines, autolim=False)

    def _draw_points(self, ax: Axes, labels: NDArray[Any]) -> None:
        """Mark the rows; higher classes are darker."""
        classes = np.unique(labels)
        if self.classes is not None and np.isin(classes, self.classes).all():
            classes = self.classes[np.isin(self.classes, classes)]
        shades = np.linspace(1.0, 0.1, len(classes)) if len(classes) > 1 else [0.1]
        size = float(np.clip(9000 / len(labels), 5, 22))
        x, y = _spread(self.x), _spread(self.y, seed=1)
        drawn = []
        for shade, label in zip(shades, classes, strict=True):
            mine = labels == label
            edge = "0.1" if shade > 0.5 else "white"
            style = {"facecolors": str(shade), "edgecolors": edge, "linewidths": size**0.5 / 8}
            drawn.append(ax.scatter(x[mine], y[mine], s=size, zorder=3, **style))
        add_legend(
            ax, drawn, [str(label) for label in classes], loc="lower right",
            bbox_to_anchor=(1, 1), ncols=min(len(classes), 6), frameon=False,
            markerscale=5.5 / size**0.5, borderaxespad=0.2, handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip

    def _name_axes(self, ax: Axes) -> None:
        ax.set_xlabel(self.x.name, **LITERAL)
        ax.set_ylabel(self.y.name, **LITERAL)
        ax.set_xlim(self.x.edges[[0, -1]])
        ax.set_ylim(self.y.edges[[0, -1]])
        if self.x.levels is not None:
            many = sum(map(len, self.x.levels)) > 40
            slant = {"rotation": 45, "ha": "right"} if many else {}
            ax.set_xticks(self.x.centres, self.x.levels, **LITERAL, **slant)
        if self.y.levels is not None:
            ax.set_yticks(self.y.centres, self.y.levels, **LITERAL)
        if self.n_held:
            other = "1 other feature" if self.n_held == 1 else f"{self.n_held} other features"
            ax.set_title(f"{other} at the typical value", loc="left", fontsize="small", color="0.4")


def _categorical_columns(model: FittedClassifier, table: Table) -> list[bool]:
    """Return which columns the model treats as categorical, or else have a categorical type."""
    if isinstance(model, TreeRanker) and len(model._binning.levels) == len(table.names):
        return [bool(flag) for flag in model._binning.is_categorical]
    return [table.holds_categories(j) for j in range(len(table.names))]


def _thresholds(model: FittedClassifier, feature: int) -> NDArray[np.float64]:
    """Return the thresholds of a feature in a ranking tree; values up to a threshold go left."""
    if not (isinstance(model, TreeRanker) and isinstance(model.tree_, RankTree)):
        return np.empty(0)
    tests = model.tree_.tests
    cuts = tests["cut"][(tests["left"] >= 0) & (tests["feature"] == feature)]
    # Code i + 1 stands for values up to thresholds[i], and codes up to the cut go left. A cut at 0
    # or at the last code only separates missing from known values and has no threshold.
    thresholds = model._binning.thresholds[feature]
    return np.asarray(thresholds[cuts[(cuts >= 1) & (cuts <= len(thresholds))] - 1])


def _spread(axis: Axis, seed: int = 0) -> NDArray[np.float64]:
    """Return the positions of the rows, with a reproducible jitter within each level."""
    if axis.levels is None:
        return axis.points
    jitter = np.random.default_rng(seed).uniform(-0.3, 0.3, len(axis.points))
    return np.asarray(axis.points + jitter)
