"""PartialDependenceDisplay: the mean score as a function of one or two features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.categories import format_level
from treerank._input.parameters import invalid_parameter
from treerank._input.types import FittedClassifier, TableLike
from treerank._reading.dependence import PartialDependence, partial_dependence
from treerank.plots._axes import LITERAL, require_pyplot, slant_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

WORDS = {"score": "mean score", "probability": "mean probability"}


class PartialDependenceDisplay:
    """Partial dependence of a ranking tree, one plot per feature or pair.

    A numeric feature is drawn as a step line, a categorical feature as bars, a pair as a map. Plots
    of single features have the same vertical limits, so that they can be compared.

    Create one with `from_estimator`.

    Parameters
    ----------
    results : sequence of PartialDependence
        One per plot.

    Attributes
    ----------
    axes_ : array of matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.plots import PartialDependenceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> features = ["worst perimeter", ("worst perimeter", "worst texture")]
    >>> display = PartialDependenceDisplay.from_estimator(TreeRank().fit(X, y), X, features)
    >>> [result.features for result in display.results]
    [('worst perimeter',), ('worst perimeter', 'worst texture')]
    """

    axes_: NDArray[Any]
    figure_: Figure

    def __init__(self, results: Sequence[PartialDependence]) -> None:
        if not results:
            raise ValueError("Got no results to draw; expected at least one.")
        self.results = list(results)

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        features: Any,
        *,
        grid_resolution: int = 100,
        response: str = "score",
        sample_weight: ArrayLike | None = None,
        cmap: str | Colormap = "viridis",
        ax: Axes | None = None,
    ) -> Self:
        """Compute and draw the partial dependence of a fitted model.

        Parameters
        ----------
        model : TreeRank or LeafRank
            A fitted model.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to average over.
        features : sequence of str, int or pairs
            Features or pairs of features, one plot each.
        grid_resolution : int, default=100
            Number of grid values for a numeric feature.
        response : {"score", "probability"}, default="score"
        sample_weight : array-like of shape (n_samples,), optional
        cmap : str or matplotlib colormap, default="viridis"
            Colormap of the maps.
        ax : matplotlib axes or array of axes, optional
            One per plot; by default those of a new figure.

        Returns
        -------
        PartialDependenceDisplay
        """
        require_pyplot()
        if isinstance(features, str) or not hasattr(features, "__iter__"):
            raise invalid_parameter(
                "features", features, "a list of features, or of pairs of features"
            )
        results = [
            partial_dependence(
                model, X, feature, grid_resolution=grid_resolution, response=response,
                sample_weight=sample_weight,
            )
            for feature in features
        ]  # fmt: skip
        return cls(results).plot(ax, cmap=cmap)

    def plot(self, ax: Axes | None = None, *, cmap: str | Colormap = "viridis") -> Self:
        """Draw the plots; the parameters are those of `from_estimator`.

        Returns
        -------
        self
        """
        plt = require_pyplot()
        n = len(self.results)
        if ax is None:
            size = (3.6 * min(n, 3) + 0.6, 3.2 * -(-n // 3) + 0.2)
            figure = plt.figure(figsize=size, layout="constrained")
            shape = (-(-n // 3), min(n, 3))
            axes = figure.subplots(*shape, squeeze=False).ravel()
            for spare in axes[n:]:
                spare.remove()
            axes = axes[:n]
        else:
            axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != n:
            raise ValueError(f"Got {len(axes)} axes; expected {n}, one for each picture.")
        self.axes_, self.figure_ = axes, axes[0].figure
        limits = self._limits()
        for picture, result in zip(axes, self.results, strict=True):
            if len(result.features) == 2:
                self._draw_map(picture, result, cmap)
            else:
                _draw_line(picture, result)
                picture.set_ylim(limits)
        return self

    def _limits(self) -> tuple[float, float]:
        """Return the common range of all single features, with a margin."""
        lines = [r.average for r in self.results if len(r.features) == 1]
        values = np.concatenate(lines) if lines else np.array([0.0, 1.0])
        margin = 0.05 * float(np.ptp(values)) or 0.05
        return float(values.min()) - margin, float(values.max()) + margin

    def _draw_map(self, ax: Axes, result: PartialDependence, cmap: str | Colormap) -> None:
        edges = [_edges(grid) for grid in result.grid]
        mesh = ax.pcolormesh(*edges, result.average.T, cmap=cmap, rasterized=True)
        _name_axis(ax.xaxis, result.features[0], result.grid[0])
        _name_axis(ax.yaxis, result.features[1], result.grid[1])
        self.figure_.colorbar(mesh, ax=ax, label=WORDS[result.response])


def _draw_line(ax: Axes, result: PartialDependence) -> None:
    [grid] = result.grid
    if grid.dtype == object:
        base = ax.axhline(float(np.mean(result.average)), color="0.6", linewidth=0.8)
        ax.vlines(np.arange(len(grid)), base.get_ydata()[0], result.average, linewidth=5)
    else:
        ax.plot(grid, result.average, drawstyle="steps-mid")
    _name_axis(ax.xaxis, result.features[0], grid)
    ax.set_ylabel(WORDS[result.response])


def _edges(grid: NDArray[Any]) -> NDArray[np.float64]:
    """Return the edges of the rectangles around the values of a grid."""
    places = np.arange(len(grid), dtype=np.float64) if grid.dtype == object else grid
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middles = (places[1:] + places[:-1]) / 2
    ends = places[[0, -1]] + (places[[0, -1]] - middles[[0, -1]])
    return np.concatenate([ends[:1], middles, ends[1:]])


def _name_axis(axis: Any, name: str, grid: NDArray[Any]) -> None:
    axis.set_label_text(name, **LITERAL)
    if grid.dtype == object:
        said = list(map(format_level, grid))
        slant = slant_of(said) if axis.axis_name == "x" else {}
        axis.set_ticks(np.arange(len(grid)), said, **LITERAL, **slant)
