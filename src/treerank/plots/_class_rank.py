"""ClassRankDisplay: where the rows of each class are in the ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from treerank._input.label_order import label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.types import FittedClassifier, TableLike
from treerank.metrics._input import check_ordered
from treerank.metrics._ordinal import vus_of_weights
from treerank.metrics._ties import class_weights
from treerank.plots._axes import LITERAL, axes_for
from treerank.plots._scores import ranking_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ClassRankDisplay:
    """Distribution of the ranks of each ordered class, best class on top.

    Each class has a band over the ranking, from the worst place (0) to the best (1), which is high
    where many rows of the class are. A dot marks the median, a bar the middle half. With a perfect
    ranking the bands follow each other without overlap; with a random one they are all flat. Works
    for any number of classes.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    places : array-like of shape (n_cells + 1,)
        Boundaries of the cells of equal score along the ranking, from 0 (worst) to 1 (best).
    cumulative : array-like of shape (n_classes, n_cells + 1)
        Share of each class below these places. The rows of a cell are spread evenly over it.
    classes : array-like of shape (n_classes,)
        The classes, worst first.
    vus : float, optional
        Shown in the title.
    n_bins : int, default=40
        Number of steps of each band.

    Attributes
    ----------
    density : array of shape (n_classes, n_bins)
        Density of the places of each class; 1 for a uniform distribution.
    quartiles : array of shape (n_classes, 3)
        Lower quartile, median and upper quartile of the places of each class.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import ClassRankDisplay
    >>> display = ClassRankDisplay.from_predictions([1, 1, 2, 2, 3, 3], [1, 2, 3, 2, 5, 6])
    >>> print(display.quartiles[:, 1].round(2))
    [0.17 0.5  0.83]
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        places: Any,
        cumulative: Any,
        classes: Any,
        *,
        vus: float | None = None,
        n_bins: int = 40,
    ) -> None:
        self.places = np.asarray(places, dtype=np.float64)
        self.cumulative = np.asarray(cumulative, dtype=np.float64)
        self.classes = np.asarray(classes)
        if self.cumulative.shape != (len(self.classes), len(self.places)):
            raise ValueError(
                f"Got cumulative of shape {self.cumulative.shape}; expected one row for each of "
                f"{len(self.classes)} classes and one column for each of {len(self.places)} places."
            )
        self.vus = vus
        edges = np.linspace(0, 1, n_bins + 1)
        below = np.array([np.interp(edges, self.places, row) for row in self.cumulative])
        self.density = np.diff(below, axis=1) * n_bins
        quarters = [0.25, 0.5, 0.75]
        self.quartiles = np.array(
            [np.interp(quarters, row, self.places) for row in self.cumulative]
        )

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the ranks that a fitted model gives the rows of each class.

        Parameters
        ----------
        model : fitted model with `score_samples`
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        ax : matplotlib axes, optional

        Returns
        -------
        ClassRankDisplay
        """
        check_is_fitted(model)
        classes = label_order_of(model)
        y = check_known_labels(y, classes)
        return cls.from_predictions(
            y, ranking_scores(model, X),
            labels=classes, sample_weight=sample_weight, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        scores: ArrayLike,
        *,
        labels: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the ranks of scores.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels of two or more ordered classes.
        scores : array-like of shape (n_samples,)
            Higher is better.
        labels : array-like of shape (n_classes,), optional
            The classes, worst first.
        sample_weight : array-like of shape (n_samples,), optional
        ax : matplotlib axes, optional

        Returns
        -------
        ClassRankDisplay
        """
        sample = check_ordered(y, scores, sample_weight, labels)
        _, weights = class_weights(sample.score, sample.code, sample.weight, sample.classes.size)
        cumulative = np.cumsum(np.column_stack([np.zeros(len(weights)), weights]), axis=1)
        places = cumulative.sum(axis=0)
        display = cls(
            places / places[-1], cumulative / cumulative[:, -1:], sample.classes,
            vus=vus_of_weights(weights),
        )  # fmt: skip
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bands.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        self
        """
        n_classes, n_bins = self.density.shape
        ax = axes_for(ax, (6.0, 1.2 + 0.7 * n_classes), layout="constrained")
        edges = np.linspace(0, 1, n_bins + 1)
        # The same scale in all bands; the highest step almost reaches the next band.
        heights = 0.85 * self.density / self.density.max()
        shades = np.linspace(0.15, 0.85, n_classes)
        for k, (height, shade) in enumerate(zip(heights, shades, strict=True)):
            colour = _colour(shade)
            ax.stairs(k + height, edges, baseline=k, fill=True, color=colour, alpha=0.6)
            low, median, high = self.quartiles[k]
            ax.plot([low, high], [k - 0.06] * 2, color=colour, linewidth=2.5)
            ax.plot([median], [k - 0.06], "o", color=colour, markersize=5)
        ax.set_yticks(range(n_classes))
        ax.set_yticklabels([str(label) for label in self.classes], **LITERAL)
        ax.set(xlim=(0, 1), ylim=(-0.25, n_classes), xlabel="place in the ranking, 1 the best")
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        ax.tick_params(axis="y", length=0)
        if self.vus is not None:
            name = "AUC" if n_classes == 2 else "VUS"
            ax.set_title(f"{name} {self.vus:.3g}", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _colour(shade: float) -> Any:
    import matplotlib  # noqa: PLC0415

    return matplotlib.colormaps["viridis"](shade)
