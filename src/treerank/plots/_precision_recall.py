"""PrecisionRecallDisplay: the precision of the top of a ranking against its recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Label
from treerank.metrics import average_precision_score
from treerank.metrics._input import check_binary, check_rate
from treerank.metrics._ties import cumulated_weights
from treerank.plots._axes import lines_of
from treerank.plots._gains import event_rate
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._score_display import SHOWN, ScoreDisplay, highest, name_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

CHANCE = "treerank-base-rate"


@insert_shared_docs
class PrecisionRecallDisplay(ScoreDisplay):
    """Precision of the top rows of a ranking against their share of the positives.

    Each knot flags all rows from some score on; rows of equal score are flagged together. With
    ``max_recall=0.2`` only the left part of the curve is drawn: the rows that are ranked first.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    recall, precision : array-like of shape (n_knots,)
        Recall and precision at the knots, from the highest score down.
    rate : float
        Share of positives among all rows, which is the precision of a random ranking.
    average_precision : float
        Mean precision over the positives, shown in the legend.
    {name}

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line of the curve

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> print(display.precision.round(2), f"{display.average_precision:.3f}")
    [1.   1.   0.67 0.75 0.6  0.5 ] 0.917
    """

    line_: Line2D

    def __init__(
        self,
        recall: Any,
        precision: Any,
        rate: float,
        average_precision: float,
        *,
        name: str | None = None,
    ) -> None:
        self.recall = np.asarray(recall, dtype=np.float64)
        self.precision = np.asarray(precision, dtype=np.float64)
        self.rate = float(rate)
        self.average_precision = float(average_precision)
        self.name = name

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
        max_recall: float = 1.0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        {y}
        {score}
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        name : str, optional
        max_recall : float in (0, 1], default=1.0
            End of the horizontal axis; below 1, the left part of the curve is enlarged.
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        PrecisionRecallDisplay
        """
        sample = check_binary(y, score, sample_weight, pos_label)
        negative, positive, _ = (values[1:] for values in cumulated_weights(sample))
        average = average_precision_score(
            sample.positive, sample.score, sample_weight=sample.weight
        )
        rate = event_rate(sample)
        display = cls(
            positive / positive[-1], positive / (negative + positive), rate, average, name=name
        )
        return display.plot(ax, max_recall=max_recall, **kwargs)

    @insert_shared_docs
    def plot(self, ax: Axes | None = None, *, max_recall: float = 1.0, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        max_recall : float in (0, 1], default=1.0
            End of the horizontal axis; below 1, the left part of the curve is enlarged.
        **kwargs : options of matplotlib's `plot`

        Returns
        -------
        self
        """
        max_recall = check_rate(max_recall, "max_recall")
        style = {"linewidth": 1.8, "zorder": 3, **kwargs}
        ax = self._open(ax, "Recall: share of positives found", "Precision of the flagged rows")
        if not lines_of(ax, CHANCE):
            ax.axhline(self.rate, color="0.75", linewidth=1, zorder=1, gid=CHANCE)
        # Extend the precision of the first rows back to the axis.
        recall, precision = (
            np.append(0.0, self.recall),
            np.append(self.precision[0], self.precision),
        )
        label = self._label(f"average precision {self.average_precision:.3f}")
        [self.line_] = ax.plot(recall, precision, label=label, gid=SHOWN, **style)
        ax.set(xlim=(0, max_recall), ylim=(0, max(1.02, highest(ax))))
        name_curves(ax)
        return self
