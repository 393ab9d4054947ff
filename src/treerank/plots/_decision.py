"""DecisionCurveDisplay: net benefit of acting on predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike

from treerank._input.types import Label
from treerank.metrics import DecisionCurve, decision_curve
from treerank.plots._axes import lines_of
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._score_display import SHOWN, ScoreDisplay, highest, name_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@insert_shared_docs
class DecisionCurveDisplay(ScoreDisplay):
    """Net benefit of a model by the probability from which one would act.

    It is compared with two policies without a model: acting on everyone, and acting on no one. A
    model is useful where its curve lies above both.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : DecisionCurve
        As returned by `treerank.metrics.decision_curve`.
    {name}

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line of the model

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> len(display.curve.threshold)
    99
    """

    line_: Line2D
    needs_probabilities: ClassVar[bool] = True

    def __init__(self, curve: DecisionCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    @insert_shared_docs
    def from_predictions(
        cls,
        y: ArrayLike,
        probability: ArrayLike,
        *,
        thresholds: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the net benefit of probabilities.

        Parameters
        ----------
        {y}
        probability : array-like of shape (n_samples,)
            Predicted probabilities of the positive class.
        thresholds : array-like, optional
            Threshold probabilities; 0.01, 0.02, ..., 0.99 by default.
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        name : str, optional
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        DecisionCurveDisplay
        """
        curve = decision_curve(
            y, probability, thresholds=thresholds, sample_weight=sample_weight, pos_label=pos_label
        )
        return cls(curve, name=name).plot(ax, **kwargs)

    @insert_shared_docs
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curve and the two policies without a model.

        Parameters
        ----------
        {ax}
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        self
        """
        is_first = ax is None or not lines_of(ax, SHOWN)
        ax = self._open(ax, "Threshold probability", "Net benefit")
        at, curve = self.curve.threshold, self.curve
        if is_first:
            plain = {"linewidth": 1.1, "color": "0.45", "gid": SHOWN, "zorder": 2}
            ax.plot(at, curve.call_all, linestyle=(0, (4, 2)), label="act on everyone", **plain)
            ax.plot(at, curve.call_none, linestyle=(0, (1, 1.5)), label="act on no one", **plain)
        style = {"linewidth": 1.8, "gid": SHOWN, "zorder": 3, **kwargs}
        [self.line_] = ax.plot(at, curve.model, label=self.name or "model", **style)
        top = max(highest(ax), 1e-3)
        # Far below zero no policy is of use; the limits enlarge the part that matters.
        ax.set(xlim=(at[0], at[-1]) if len(at) > 1 else None, ylim=(-0.15 * top, 1.08 * top))
        name_curves(ax)
        return self
