"""CalibrationDisplay: observed event rates against predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Label
from treerank.metrics import CalibrationFit, calibration_slope
from treerank.metrics._calibration import CALIBRATION_COLUMNS, calibration_columns
from treerank.plots._axes import diagonal, lines_of
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._score_display import SHOWN, ScoreDisplay, name_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@insert_shared_docs
class CalibrationDisplay(ScoreDisplay):
    """Observed event rates in groups of predicted probability, with intervals.

    Points on the diagonal are calibrated; above it, the predictions are too low. Rows of equal
    probability stay together, so that a ranking tree with few strata has one point per stratum.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    table : data frame or dict of arrays
        The columns of `treerank.metrics.calibration_table`.
    fit : CalibrationFit, optional
        Its slope is shown in the legend.
    {name}

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line of the points

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import CalibrationDisplay
    >>> p = [0.2, 0.2, 0.2, 0.2, 0.8, 0.8]
    >>> display = CalibrationDisplay.from_predictions([0, 0, 0, 1, 1, 1], p)
    >>> display.table["observed"]
    array([0.25, 1.  ])
    """

    line_: Line2D
    needs_probabilities: ClassVar[bool] = True

    def __init__(
        self,
        table: Any,
        *,
        fit: CalibrationFit | None = None,
        name: str | None = None,
    ) -> None:
        self.table = {name: np.asarray(table[name]) for name in CALIBRATION_COLUMNS}
        self.fit = fit
        self.name = name

    @classmethod
    @insert_shared_docs
    def from_predictions(
        cls,
        y: ArrayLike,
        probability: ArrayLike,
        *,
        n_groups: int = 10,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        level: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw observed event rates against predicted probabilities.

        Parameters
        ----------
        {y}
        probability : array-like of shape (n_samples,)
            Predicted probabilities of the positive class.
        n_groups : int, default=10
            Maximum number of groups.
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        level : float, default=0.95
            Confidence level of the intervals.
        name : str, optional
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `errorbar`

        Returns
        -------
        CalibrationDisplay
        """
        about: dict[str, Any] = {
            "sample_weight": sample_weight,
            "pos_label": pos_label,
            "level": level,
        }
        table = calibration_columns(y, probability, n_groups=n_groups, **about)
        fit = calibration_slope(y, probability, **about)
        return cls(table, fit=fit, name=name).plot(ax, **kwargs)

    @insert_shared_docs
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the points and their intervals.

        Parameters
        ----------
        {ax}
        **kwargs : options of matplotlib's `errorbar`

        Returns
        -------
        self
        """
        ax = self._open(ax, "Predicted probability", "Observed share")
        has_others = len(lines_of(ax, SHOWN)) > 0
        diagonal(ax, "treerank-calibrated")
        x, y = self.table["predicted"], self.table["observed"]
        reach = np.maximum([y - self.table["lower"], self.table["upper"] - y], 0.0)
        said = "groups" if self.fit is None else f"slope {self.fit.slope:.2f}"
        style = {"fmt": "o-", "markersize": 5, "linewidth": 1.2, "capsize": 2, **kwargs}
        self.line_ = ax.errorbar(x, y, yerr=reach, zorder=3, **style).lines[0]
        self.line_.set(gid=SHOWN, label=self._label(said))
        before = ax.get_xlim()[1] if has_others else 0.0
        top = max(before, min(1.0, 1.08 * max(x.max(), self.table["upper"].max())))
        ax.set(xlim=(0, top), ylim=(0, top))
        name_curves(ax)
        return self
