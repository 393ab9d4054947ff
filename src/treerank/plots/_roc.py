"""RocDisplay: ROC curves with ties joined by straight lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc as area_under
from sklearn.metrics import roc_curve
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from treerank._input.types import FittedClassifier, Label, TableLike
from treerank._reading.partition import OrderedPartition
from treerank.metrics import RocBand, auc_interval, roc_band
from treerank.metrics._input import check_rate
from treerank.plots._axes import (
    axes_for,
    diagonal,
    lines_of,
    name_lines,
    style_axes,
)
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._scores import is_positive, positive_class, ranking_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

# Tags by which several displays on the same axes recognise each other's lines.
CURVE, CHANCE = "treerank-roc-curve", "treerank-roc-chance"


@insert_shared_docs
class RocDisplay:
    """ROC curve of a model, of scores, or of an ordered partition.

    Ties are drawn as straight segments, so that the area under the drawn curve is the AUC with ties
    counted as 1/2. For a ranking tree, the knots are marked, one per stratum, and the curve on the
    training rows can be drawn as well.

    Create one with `from_estimator`, `from_predictions` or `from_partition`. To compare
    models, pass the axes of the first display to the next.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n_knots,)
        Knots of the curve: false positive and true positive rates.
    {name}
    interval : tuple of two floats, optional
        Confidence limits of the AUC, shown in the legend.
    level : float, default=0.95
        Confidence level of the interval.
    mark_knots : bool, default=False
        Whether to mark each knot with a dot.
    training : tuple of two arrays, optional
        Knots of the curve on the training rows, drawn dashed.
    optimal : tuple of two arrays, optional
        Knots of the best possible curve, if it is known; drawn dotted.
    band : RocBand, optional
        Simultaneous confidence band, as returned by `treerank.metrics.roc_band`; drawn shaded.

    Attributes
    ----------
    auc : float
        Area under the curve.
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line of the curve

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import LeafRank, TreeRank
    >>> from treerank.plots import RocDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = TreeRank().fit(X_train, y_train)
    >>> display = RocDisplay.from_estimator(model, X_test, y_test)
    >>> print(f"{display.auc:.2f}")
    0.99
    >>> other = LeafRank().fit(X_train, y_train)
    >>> both = RocDisplay.from_estimator(other, X_test, y_test, ax=display.ax_)
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D

    def __init__(
        self,
        fpr: ArrayLike,
        tpr: ArrayLike,
        *,
        name: str | None = None,
        interval: tuple[float, float] | None = None,
        level: float = 0.95,
        mark_knots: bool = False,
        training: Curve | None = None,
        optimal: Curve | None = None,
        band: RocBand | None = None,
    ) -> None:
        self.fpr, self.tpr = check_curve("fpr, tpr", (fpr, tpr))
        self.auc = float(area_under(self.fpr, self.tpr))
        self.name = name
        self.interval = interval
        self.level = level
        self.mark_knots = mark_knots
        self.training = None if training is None else check_curve("training", training)
        self.optimal = None if optimal is None else check_curve("optimal", optimal)
        self.band = band

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        training: bool = False,
        optimal: Curve | None = None,
        mark_knots: bool | None = None,
        level: float = 0.95,
        band: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted model on the given rows.

        Parameters
        ----------
        model : estimator
            A fitted model of this library, or any classifier of two classes.
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        name : str, optional
            By default the name of the model's class.
        training : bool, default=False
            Whether to also draw the tree's own piecewise linear curve on its training rows.
        optimal : tuple of two arrays, optional
            The best possible curve, if it is known.
        mark_knots : bool, optional
            Whether to mark the knots; by default for ranking trees.
        level : float, default=0.95
            Confidence level of the interval in the legend, and of the band.
        band : bool, default=False
            Whether to shade a band that contains the whole curve with that confidence.
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        RocDisplay
        """
        check_is_fitted(model)
        pos_label = positive_class(model, y)
        partition = getattr(model, "partition_", None)
        if training and partition is None:
            raise ValueError(
                f"Got training=True; {type(model).__name__} keeps no curve of its training rows."
            )
        return cls.from_predictions(
            y,
            ranking_scores(model, X),
            sample_weight=sample_weight,
            pos_label=pos_label,
            name=type(model).__name__ if name is None else name,
            training=partition.roc() if training and partition is not None else None,
            optimal=optimal,
            mark_knots=partition is not None if mark_knots is None else mark_knots,
            level=level,
            band=band,
            ax=ax,
            **kwargs,
        )

    @classmethod
    @insert_shared_docs
    def from_predictions(
        cls,
        y: ArrayLike,
        score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        training: Curve | None = None,
        optimal: Curve | None = None,
        mark_knots: bool = False,
        level: float = 0.95,
        band: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the empirical curve of scores.

        Parameters
        ----------
        {y}
        {score}
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        name : str, optional
        training, optimal : tuple of two arrays, optional
        mark_knots : bool, default=False
        level : float, default=0.95
            Confidence level of the interval in the legend, and of the band.
        band : bool, default=False
            Whether to shade a band that contains the whole curve with that confidence.
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        RocDisplay
        """
        positive, score, weight = _check_sample(y, score, sample_weight, pos_label)
        # Every stratum is a knot, even where the curve does not bend.
        fpr, tpr, _ = roc_curve(positive, score, sample_weight=weight, drop_intermediate=False)
        display = cls(
            fpr,
            tpr,
            name=name,
            interval=_interval(positive, score, weight, level),
            level=level,
            mark_knots=mark_knots,
            training=training,
            optimal=optimal,
            band=roc_band(positive.astype(int), score, level, sample_weight=weight)
            if band
            else None,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_partition(
        cls,
        partition: OrderedPartition,
        *,
        name: str | None = None,
        optimal: Curve | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of an ordered partition on its own rows, with one knot per cell.

        Parameters
        ----------
        partition : OrderedPartition
            Such as ``model.partition_``.
        name : str, optional
        optimal : tuple of two arrays, optional
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        RocDisplay
        """
        if not isinstance(partition, OrderedPartition):
            raise ValueError(f"Got partition={partition!r}; expected an OrderedPartition.")
        fpr, tpr = partition.roc()
        return cls(fpr, tpr, name=name, mark_knots=True, optimal=optimal).plot(ax, **kwargs)

    @insert_shared_docs
    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        max_fpr: float | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        name : str, optional
            Replaces the name given before.
        max_fpr : float in (0, 1], optional
            Show only the left part of the curve, up to this false positive rate.
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        self
        """
        if name is not None:
            self.name = name
        self.ax_ = ax = axes_for(ax, (5.6, 5.6), layout="constrained")
        self.figure_ = ax.figure
        _set_frame(ax)
        knots = {"marker": "o", "markersize": 4} if self.mark_knots else {}
        style = {"linewidth": 1.8, **knots, "clip_on": max_fpr is not None, "zorder": 3, **kwargs}
        [self.line_] = ax.plot(self.fpr, self.tpr, label=self._label(), gid=CURVE, **style)
        if self.band is not None:
            shade = {"alpha": 0.15, "linewidth": 0, "zorder": 2, "color": self.line_.get_color()}
            ax.fill_between(self.band.fpr, self.band.lower, self.band.upper, **shade)
        if self.training is not None:
            drawn = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "zorder": 2.5, "alpha": 0.9}
            label = self._format("on training rows", area_under(*self.training))
            ax.plot(*self.training, label=label, gid=CURVE, color=self.line_.get_color(), **drawn)
        if self.optimal is not None:
            drawn = {"linestyle": (0, (1, 1.5)), "linewidth": 1.6, "zorder": 2.4}
            label = f"optimal: AUC {area_under(*self.optimal):.3f}"
            ax.plot(*self.optimal, label=label, gid=CURVE, color="black", **drawn)
        if max_fpr is not None:
            ax.set(xlim=(0, check_rate(max_fpr, "max_fpr")), ylim=(0, 1.02), aspect="auto")
        name_lines(ax, CURVE)
        return self

    def _label(self) -> str:
        said = self._format("", self.auc)
        if self.interval is None:
            return said
        lower, upper = self.interval
        return f"{said}, {100 * self.level:g}% interval {lower:.3f} to {upper:.3f}"

    def _format(self, what: str, auc: float) -> str:
        name = ", ".join(part for part in (self.name, what) if part)
        return f"{name}: AUC {auc:.3f}" if name else f"AUC {auc:.3f}"


def check_curve(name: str, curve: Any) -> Curve:
    """Return the knots of a ROC curve from (0, 0) to (1, 1) as two arrays."""
    error = ValueError(
        f"Got {name} that is no ROC curve; expected two arrays of equal length >= 2 that rise "
        "from 0 to 1."
    )
    try:
        fpr, tpr = (np.array(rates, dtype=np.float64) for rates in curve)
    except (TypeError, ValueError):
        raise error from None
    for rates in (fpr, tpr):
        if rates.ndim != 1 or len(rates) < 2 or len(rates) != len(fpr):
            raise error
        # Comparisons with NaN are false, so NaN is rejected too.
        if not (rates[0] == 0 and np.isclose(rates[-1], 1) and (np.diff(rates) >= 0).all()):
            raise error
    return fpr, tpr


def _check_sample(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label | None
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64] | None]:
    positive = is_positive(y, pos_label)
    score = np.asarray(score, dtype=np.float64)
    if score.ndim != 1:
        raise ValueError(f"Got score of shape {score.shape}; expected one score per row.")
    if not np.isfinite(score).all():
        raise ValueError("Got scores that are NaN or infinite; expected finite scores.")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    check_consistent_length(positive, score, weight)
    if weight is not None:
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError("Got sample_weight that is negative or not finite; expected >= 0.")
        keep = weight > 0
        positive, score, weight = positive[keep], score[keep], weight[keep]
    if positive.all() or not positive.any():
        raise ValueError("Got rows of one class only; expected rows of two classes.")
    return positive, score, weight


def _interval(
    positive: NDArray[np.bool_],
    score: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    level: float,
) -> tuple[float, float]:
    """Return DeLong's limits of the AUC."""
    found = auc_interval(positive.astype(int), score, sample_weight=weight, level=level)
    return float(found.lower), float(found.upper)


def _set_frame(ax: Axes) -> None:
    """Set up square axes with the diagonal of chance, once for all curves on them."""
    if lines_of(ax, CHANCE):
        return
    diagonal(ax, CHANCE)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    style_axes(ax, "False positive rate", "True positive rate")
