"""RocSurfaceDisplay: the ROC surface of three ordered classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from treerank._input.label_order import label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.types import FittedClassifier, TableLike
from treerank._reading.partition import OrderedPartition
from treerank.metrics import RocSurface, roc_surface
from treerank.metrics._input import read_labels
from treerank.plots._axes import LITERAL, require_pyplot
from treerank.plots._scores import ranking_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RocSurfaceDisplay:
    """ROC surface of a model, of scores, or of an ordered partition, in three dimensions.

    Two cuts of the score assign the lowest rows to class 1, the highest to class 3 and those
    between to class 2. For each pair of shares of class 1 and class 3 that are assigned correctly,
    the surface shows the correct share of class 2. The volume under it (VUS) is the probability
    that random rows, one of each class, are ranked in order: 1/6 for a random order, 1 for a
    perfect one.

    Create one with `from_estimator`, `from_predictions` or `from_partition`.

    Parameters
    ----------
    surface : RocSurface
    classes : array-like of shape (3,), optional
        Names of the classes, worst first, for the axes.
    optimal : callable, optional
        The best possible surface, if it is known: a function of the shares of class 1 and class 3,
        such as the `roc_surface` of a simulated model; drawn as a wire frame.

    Attributes
    ----------
    vus : float
        Volume under the surface.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank import TreeRank
    >>> from treerank.datasets import make_ordinal_gaussians
    >>> from treerank.plots import RocSurfaceDisplay
    >>> train = make_ordinal_gaussians(1000, random_state=0)
    >>> test = make_ordinal_gaussians(1000, random_state=1)
    >>> model = TreeRank().fit(train.X, train.y)
    >>> display = RocSurfaceDisplay.from_estimator(
    ...     model, test.X, test.y, optimal=train.truth.roc_surface
    ... )
    >>> print(f"{display.vus:.1f}")
    0.4
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, surface: RocSurface, *, classes: Any = None, optimal: Any = None) -> None:
        self.surface = surface
        self.classes = np.array([1, 2, 3]) if classes is None else np.asarray(classes)
        if self.classes.shape != (3,):
            raise ValueError(f"Got classes={classes!r}; expected the names of three classes.")
        if optimal is not None and not callable(optimal):
            raise ValueError(
                f"Got optimal={optimal!r}; expected a function of two shares: of class 1 and 3."
            )
        self.optimal = optimal
        self.vus = surface.volume()

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        optimal: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the surface of a fitted model of three ordered classes.

        Parameters
        ----------
        model : fitted model with `score_samples`
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        optimal : callable, optional
            The best possible surface.
        ax : matplotlib 3-D axes, optional

        Returns
        -------
        RocSurfaceDisplay
        """
        check_is_fitted(model)
        classes = label_order_of(model)
        if len(classes) != 3:
            raise ValueError(f"Got a model of {len(classes)} classes; expected three.")
        y = check_known_labels(y, classes)
        return cls.from_predictions(
            y, ranking_scores(model, X),
            labels=classes, sample_weight=sample_weight, optimal=optimal, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        scores: ArrayLike,
        *,
        labels: Any = None,
        sample_weight: ArrayLike | None = None,
        optimal: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the surface of scores.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels of three ordered classes.
        scores : array-like of shape (n_samples,)
            Higher is better.
        labels : array-like of shape (3,), optional
            The classes, worst first.
        sample_weight : array-like of shape (n_samples,), optional
        optimal : callable, optional
            The best possible surface.
        ax : matplotlib 3-D axes, optional

        Returns
        -------
        RocSurfaceDisplay
        """
        classes, _ = read_labels(y, labels)
        surface = roc_surface(y, scores, sample_weight=sample_weight, labels=classes)
        return cls(surface, classes=classes, optimal=optimal).plot(ax)

    @classmethod
    def from_partition(
        cls, partition: OrderedPartition, *, optimal: Any = None, ax: Axes | None = None
    ) -> Self:
        """Draw the surface of an ordered partition, such as that of a tree on its training rows.

        Parameters
        ----------
        partition : OrderedPartition
            A partition of three classes.
        optimal : callable, optional
            The best possible surface.
        ax : matplotlib 3-D axes, optional

        Returns
        -------
        RocSurfaceDisplay
        """
        display = cls(partition.surface(), classes=partition.classes, optimal=optimal)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the surface.

        Parameters
        ----------
        ax : matplotlib 3-D axes, optional
            By default the axes of a new figure.

        Returns
        -------
        self
        """
        if ax is None:
            figure = require_pyplot().figure(figsize=(6.2, 5.6), layout="constrained")
            ax = figure.add_subplot(projection="3d")
        elif getattr(ax, "name", "") != "3d":
            raise ValueError("Got flat axes; expected 3-D ones: add_subplot(projection='3d').")
        low, high = np.meshgrid(self.surface.low, self.surface.high, indexing="ij")
        ax.plot_surface(
            low, high, self.surface.middle,
            cmap="viridis", vmin=0, vmax=1, linewidth=0, antialiased=True, alpha=0.9,
            rcount=60, ccount=60,
        )  # fmt: skip
        if self.optimal is not None:
            grid = np.linspace(0, 1, 21)
            alpha, gamma = np.meshgrid(grid, grid, indexing="ij")
            height = np.asarray(self.optimal(alpha, gamma))
            ax.plot_wireframe(alpha, gamma, height, color="0.25", linewidth=0.5)
        names = [f"share of {name} right" for name in self.classes]
        ax.set_xlabel(names[0], **LITERAL)
        ax.set_ylabel(names[2], **LITERAL)
        ax.set_zlabel(names[1], **LITERAL)
        ax.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1))
        ax.view_init(elev=25, azim=40)
        note = "; wire: the best possible" if self.optimal is not None else ""
        ax.set_title(f"VUS {self.vus:.3f} (random order 0.167{note})", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self
