"""GainsDisplay: events found from the top of a ranking, and the lift over chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import auc as area_under

from treerank._input.parameters import check_choice
from treerank._input.types import Label
from treerank.metrics import cap_curve
from treerank.metrics._input import BinarySample, check_binary
from treerank.plots._axes import diagonal
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._score_display import SHOWN, ScoreDisplay, highest, name_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@insert_shared_docs
class GainsDisplay(ScoreDisplay):
    """Gains of a ranking: the share of the events that its top rows contain.

    The curve is the cumulative accuracy profile (CAP). Drawn as a lift, the same numbers show how
    many times more events the top rows contain than rows drawn at random.

    Create one with `from_estimator` or `from_predictions`; ``plot(kind="lift")`` draws the lift.

    Parameters
    ----------
    rows, found : array-like of shape (n_knots,)
        Shares of all rows and of all events, from 0 to 1.
    rate : float
        Share of events among all rows.
    {name}

    Attributes
    ----------
    gini : float
        Accuracy ratio: the area above chance, divided by that of a perfect ranking.
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line of the curve

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import GainsDisplay
    >>> display = GainsDisplay.from_predictions([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> print(f"{display.gini:.3f}")
    0.778
    """

    line_: Line2D

    def __init__(self, rows: Any, found: Any, rate: float, *, name: str | None = None) -> None:
        self.rows = np.asarray(rows, dtype=np.float64)
        self.found = np.asarray(found, dtype=np.float64)
        self.rate = float(rate)
        self.name = name
        self.gini = (2 * float(area_under(self.rows, self.found)) - 1) / (1 - self.rate)

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
        kind: str = "gains",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the gains of scores.

        Parameters
        ----------
        {y}
        {score}
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        name : str, optional
        kind : {"gains", "lift"}, default="gains"
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        GainsDisplay
        """
        rows, found = cap_curve(y, score, sample_weight=sample_weight, pos_label=pos_label)
        rate = event_rate(check_binary(y, score, sample_weight, pos_label))
        return cls(rows, found, rate, name=name).plot(ax, kind=kind, **kwargs)

    @insert_shared_docs
    def plot(self, ax: Axes | None = None, *, kind: str = "gains", **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        kind : {"gains", "lift"}, default="gains"
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        self
        """
        check_choice("kind", kind, ["gains", "lift"])
        style = {"linewidth": 1.8, "zorder": 3, **kwargs}
        label = self._label(f"Gini {self.gini:.3f}")
        if kind == "gains":
            ax = self._open(ax, "Share of rows, best first", "Share of events found")
            ax.set(xlim=(0, 1), ylim=(0, 1))
            diagonal(ax, "treerank-chance")
            best = [0, self.rate, 1], [0, 1, 1]
            ax.plot(*best, color="0.6", linewidth=1, linestyle=(0, (3, 3)), label="_best")
            [self.line_] = ax.plot(self.rows, self.found, label=label, gid=SHOWN, **style)
            name_curves(ax)
            return self
        ax = self._open(ax, "Share of rows, best first", "Lift")
        ax.axhline(1, color="0.75", linewidth=1, zorder=1)
        lift = self.found[1:] / self.rows[1:]
        [self.line_] = ax.plot(self.rows[1:], lift, label=label, gid=SHOWN, **style)
        ax.set(xlim=(0, 1), ylim=(0, 1.05 * highest(ax)))
        name_curves(ax)
        return self


def event_rate(sample: BinarySample) -> float:
    """Return the share of the positive class, by weight."""
    return float(sample.weight[sample.positive].sum() / sample.weight.sum())
