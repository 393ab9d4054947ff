"""Displays of attributions: one row, all rows, one feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from treerank._input.frames import take_rows_of
from treerank._input.parameters import check_integer, invalid_parameter, is_whole
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._reading.attributions import Attributions, attributions
from treerank._reading.dependence import find_feature
from treerank._reading.usual_values import format_value
from treerank.plots._axes import LITERAL, axes_for, slant_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

UP, DOWN = "#c0392b", "#2471a3"
MOST_LABELS = 12  # maximum number of levels labelled at the colour bar
INTERACTION_ROWS = 100  # rows whose interactions decide which feature is the strongest


class WaterfallDisplay:
    """The score of one row, feature by feature, starting from the expected value.

    Create one with `from_attributions`.

    Parameters
    ----------
    names : sequence of str
        Label of each bar, a feature with the row's value; largest contribution first.
    values : array-like of shape (n_bars,)
        Contribution of each bar to the score.
    expected_value : float

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.inspection import attributions
    >>> from treerank.plots import WaterfallDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TreeRank().fit(X, y)
    >>> display = WaterfallDisplay.from_attributions(attributions(model, X[:1]), 0, max_bars=3)
    >>> len(display.names)
    3
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, names: Any, values: Any, expected_value: float) -> None:
        self.names = list(names)
        self.values = np.asarray(values, dtype=np.float64)
        self.expected_value = float(expected_value)
        if self.values.shape != (len(self.names),) or len(self.names) == 0:
            raise ValueError(
                f"Got {len(self.names)} names and values of shape {self.values.shape}; expected "
                "one value for each name, and at least one."
            )

    @classmethod
    def from_attributions(
        cls, found: Attributions, row: int = 0, *, max_bars: int = 10, ax: Axes | None = None
    ) -> Self:
        """Draw one row; features beyond `max_bars` are summed in the last bar.

        Parameters
        ----------
        found : Attributions
        row : int, default=0
        max_bars : int, default=10
        ax : matplotlib axes, optional

        Returns
        -------
        WaterfallDisplay
        """
        if not is_whole(row) or not 0 <= row < len(found):
            raise invalid_parameter("row", row, f"a number from 0 to {len(found) - 1}")
        most = check_integer("max_bars", max_bars, 1)
        values = found.values[row]
        order = np.argsort(-np.abs(values), kind="stable")
        order, rest = (order, order[:0]) if len(order) <= most else np.split(order, [most - 1])
        names = [f"{found.feature_names[j]} = {_say(found.data[row, j])}" for j in order]
        bars = list(values[order])
        if len(rest):
            names.append(f"{len(rest)} other features")
            bars.append(values[rest].sum())
        return cls(names, bars, found.expected_value).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars, the largest on top.

        Returns
        -------
        self
        """
        n = len(self.names)
        self.ax_ = ax = axes_for(ax, (6.4, 0.36 * n + 1.2), layout="constrained")
        self.figure_ = ax.figure
        # From the bottom (the expected value) to the top (the score).
        ends = self.expected_value + np.cumsum(self.values[::-1])
        starts = np.append(self.expected_value, ends[:-1])
        for place, (start, value) in enumerate(zip(starts, self.values[::-1], strict=True)):
            ax.barh(place, value, left=start, color=UP if value > 0 else DOWN, height=0.7)
            ax.annotate(
                f"{value:+.3g}", (max(start, start + value), place), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize="small",
            )  # fmt: skip
        ax.axvline(self.expected_value, color="0.6", linewidth=0.8, zorder=0)
        ax.set_yticks(np.arange(n), self.names[::-1], **LITERAL)
        ax.use_sticky_edges = False
        ax.margins(x=0.15)
        ax.set_xlabel("score")
        ax.set_title(f"expected {self.expected_value:.3g}, score {ends[-1]:.3g}", fontsize="medium")
        return self


class BeeswarmDisplay:
    """The attributions of many rows: a line of dots per feature, coloured by its value.

    Missing values are grey, and so are categories, as their levels have no order.

    Create one with `from_attributions`.

    Parameters
    ----------
    found : Attributions
    max_features : int, default=15
        Number of features to show, those with the largest mean absolute attribution.

    Attributes
    ----------
    order : array
        Indices of the features, most important first.
    ax_, figure_ : matplotlib axes and figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, found: Attributions, *, max_features: int = 15) -> None:
        most = check_integer("max_features", max_features, 1)
        self.found = found
        size = np.abs(found.values).mean(axis=0)
        self.order = np.argsort(-size, kind="stable")[:most]

    @classmethod
    def from_attributions(
        cls,
        found: Attributions,
        *,
        max_features: int = 15,
        cmap: str | Colormap = "coolwarm",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the attributions.

        Parameters
        ----------
        found : Attributions
        max_features : int, default=15
        cmap : str or matplotlib colormap, default="coolwarm"
        ax : matplotlib axes, optional

        Returns
        -------
        BeeswarmDisplay
        """
        return cls(found, max_features=max_features).plot(ax, cmap=cmap)

    def plot(self, ax: Axes | None = None, *, cmap: str | Colormap = "coolwarm") -> Self:
        """Draw a line of dots for each feature, the most important on top.

        Returns
        -------
        self
        """
        n = len(self.order)
        self.ax_ = ax = axes_for(ax, (6.4, 0.4 * n + 1.2), layout="constrained")
        self.figure_ = ax.figure
        ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        dots = None
        for place, j in enumerate(self.order[::-1]):
            values = self.found.values[:, j]
            colour = _ranks(self.found.data[:, j])
            if _places(self.found.data[:, j])[1]:
                colour[:] = np.nan
            known = ~np.isnan(colour)
            y = place + _spread(values)
            ax.scatter(values[~known], y[~known], s=6, color="0.6", rasterized=True)
            dots = ax.scatter(
                values[known], y[known], c=colour[known], s=6, cmap=cmap, vmin=0, vmax=1,
                rasterized=True,
            )  # fmt: skip
        names = [self.found.feature_names[j] for j in self.order[::-1]]
        ax.set_yticks(np.arange(n), names, **LITERAL)
        ax.set_xlabel("attribution to the score")
        bar = self.figure_.colorbar(dots, ax=ax, ticks=[0, 1], aspect=30)
        bar.set_ticklabels(["low", "high"])
        bar.set_label("value of the feature")
        return self


class AttributionDependenceDisplay:
    """The attribution of one feature against its value, coloured by another feature.

    Create one with `from_attributions` or `from_estimator`.

    Parameters
    ----------
    found : Attributions
    feature : int
        Index of the feature.
    color_by : int or None
        Index of the feature that colours the dots.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, found: Attributions, feature: int, color_by: int | None) -> None:
        self.found, self.feature, self.color_by = found, feature, color_by

    @classmethod
    def from_attributions(
        cls, found: Attributions, feature: Any, *, color_by: Any = None, ax: Axes | None = None
    ) -> Self:
        """Draw one feature.

        Parameters
        ----------
        found : Attributions
        feature : str or int
        color_by : str or int, optional
            By default the feature with the strongest interaction, if `found` has interactions.
        ax : matplotlib axes, optional

        Returns
        -------
        AttributionDependenceDisplay
        """
        at = find_feature(found.feature_names, feature)
        if color_by is not None:
            return cls(found, at, find_feature(found.feature_names, color_by)).plot(ax)
        return cls(found, at, _strongest(found, at)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        feature: Any,
        *,
        baseline: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute attributions and draw one feature, coloured by its strongest interaction.

        Parameters
        ----------
        model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
            A fitted model.
        X : array-like or data frame of shape (n_samples, n_features)
        feature : str or int
        baseline : array-like or data frame, optional
            As in `inspection.attributions`.
        ax : matplotlib axes, optional

        Returns
        -------
        AttributionDependenceDisplay
        """
        found = attributions(model, X, baseline)
        at = find_feature(found.feature_names, feature)
        first_rows = take_rows_of(X, np.arange(min(INTERACTION_ROWS, len(found.values))))
        few = attributions(model, first_rows, baseline, interactions=True)
        return cls(found, at, _strongest(few, at)).plot(ax)

    def plot(self, ax: Axes | None = None, *, cmap: str | Colormap = "coolwarm") -> Self:
        """Draw a dot for each row.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(ax, (5.4, 3.8), layout="constrained")
        self.figure_ = ax.figure
        names, data = self.found.feature_names, self.found.data
        y = self.found.values[:, self.feature]
        x, levels = _places(data[:, self.feature])
        ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        if self.color_by is None:
            ax.scatter(x, y, s=8, rasterized=True)
        else:
            colour = _ranks(data[:, self.color_by])
            labels = _places(data[:, self.color_by])[1] or ["low", "high"]
            known = ~np.isnan(colour)
            ax.scatter(x[~known], y[~known], s=8, color="0.6", rasterized=True)
            dots = ax.scatter(
                x[known], y[known], c=colour[known], s=8, cmap=cmap, vmin=0, vmax=1,
                rasterized=True,
            )  # fmt: skip
            every = -(-len(labels) // MOST_LABELS)
            ticks = np.arange(0, len(labels), every) / max(len(labels) - 1, 1)
            bar = self.figure_.colorbar(dots, ax=ax, ticks=ticks)
            bar.set_ticklabels(labels[::every], **LITERAL)
            bar.ax.set_ylabel(names[self.color_by], **LITERAL)
        if levels:
            ax.set_xticks(np.arange(len(levels)), levels, **LITERAL, **slant_of(levels))
        ax.set_xlabel(names[self.feature], **LITERAL)
        ax.set_ylabel("attribution to the score")
        return self


def _say(value: Any) -> str:
    said = format_value(value)
    return "missing" if said == "is missing" else said


def _strongest(found: Attributions, feature: int) -> int | None:
    """Return the feature with the largest mean absolute interaction with `feature`."""
    if found.interactions is None or len(found.feature_names) < 2:
        return None
    size = np.abs(found.interactions[:, feature]).mean(axis=0)
    size[feature] = -1.0
    return int(np.argmax(size))


def _places(column: NDArray[Any]) -> tuple[Floats, list[str]]:
    """Return where to draw each value (NaN if missing), and the levels of a category."""
    if column.dtype != object:
        return column.astype(np.float64), []
    known = [value for value in column if _say(value) != "missing"]
    if all(isinstance(value, int | float | np.number) for value in known):
        return np.array([np.nan if v is None else v for v in column], dtype=np.float64), []
    levels = sorted({str(value) for value in known})
    place = {level: float(i) for i, level in enumerate(levels)}
    return np.array([place.get(str(v), np.nan) for v in column]), levels


def _ranks(column: NDArray[Any]) -> Floats:
    """Return the rank of each value from 0 to 1, equal for ties; NaN if missing."""
    places, _ = _places(column)
    known = ~np.isnan(places)
    _, rank = np.unique(places[known], return_inverse=True)
    ranks = np.full(len(places), np.nan)
    ranks[known] = rank / max(int(rank.max(initial=0)), 1)
    return ranks


def _spread(values: Floats, n_bins: int = 60) -> Floats:
    """Return offsets that keep dots apart: those of one bin fan out from the middle."""
    low, high = float(values.min()), float(values.max())
    if high == low:
        bins = np.zeros(len(values), dtype=np.intp)
    else:
        bins = ((values - low) / (high - low) * (n_bins - 1)).astype(np.intp)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=n_bins)
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    side = np.where(place % 2 == 0, 1.0, -1.0)
    return np.asarray(side * np.ceil(place / 2) * 0.8 / max(int(counts.max()), 2))
