"""KsDisplay: the score distributions of the two classes, and where they differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Label
from treerank.metrics._input import check_binary
from treerank.metrics._ties import roc_knots
from treerank.plots._parameter_docs import insert_shared_docs
from treerank.plots._score_display import SHOWN, ScoreDisplay, name_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@insert_shared_docs
class KsDisplay(ScoreDisplay):
    """Distributions of the score in the two classes, with their largest distance (KS).

    Each curve shows the share of a class with at most a given score. The vertical line marks the
    score at which the share of non-events exceeds that of events the most.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    score : array-like of shape (n_scores,)
        Distinct scores, ascending.
    negative, positive : array-like of shape (n_scores,)
        Share of each class with at most that score.
    {name}

    Attributes
    ----------
    ks : float
        Largest distance, as returned by `treerank.metrics.ks_score`.
    threshold : float
        Score at which the distance is largest: the cut-off is just above it.
    ax_, figure_ : matplotlib axes and figure
    lines_ : list of the two matplotlib lines

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from treerank.plots import KsDisplay
    >>> display = KsDisplay.from_predictions([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    >>> print(f"{display.ks:.3f} above {display.threshold}")
    0.667 above 2.0
    """

    lines_: list[Any]

    def __init__(
        self, score: ArrayLike, negative: Any, positive: Any, *, name: str | None = None
    ) -> None:
        self.score = np.asarray(score, dtype=np.float64)
        self.negative = np.asarray(negative, dtype=np.float64)
        self.positive = np.asarray(positive, dtype=np.float64)
        self.name = name
        gap = self.negative - self.positive
        self._at = int(np.argmax(gap))
        self.ks = max(0.0, float(gap[self._at]))
        self.threshold = float(self.score[self._at])

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
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the distributions of scores.

        Parameters
        ----------
        {y}
        {score}
        sample_weight : array-like of shape (n_samples,), optional
        {pos_label}
        name : str, optional
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `step`

        Returns
        -------
        KsDisplay
        """
        fpr, tpr, scores = roc_knots(check_binary(y, score, sample_weight, pos_label))
        # Knot i flags the rows from scores[i - 1] on; the other rows score at most scores[i].
        negative, positive = (1 - rates[-2::-1] for rates in (fpr, tpr))
        return cls(scores[::-1], negative, positive, name=name).plot(ax, **kwargs)

    @insert_shared_docs
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw both distributions and their largest distance.

        Parameters
        ----------
        {ax}
        **kwargs : options of matplotlib's `step`

        Returns
        -------
        self
        """
        ax = self._open(ax, "Score", "Share of the class at or below")
        style = {"where": "post", "linewidth": 1.8, "gid": SHOWN, **kwargs}
        reach = 0.03 * (self.score[-1] - self.score[0]) or 0.5
        ends = self.score[0] - reach, self.score[-1] + reach
        x = np.concatenate([[ends[0]], self.score, [ends[1]]])
        said = self._label(f"KS {self.ks:.3f}")
        self.lines_ = [
            ax.step(x, np.concatenate([[0], below, [1]]), label=label, **style)[0]
            for below, label in ((self.negative, "non-events"), (self.positive, "events"))
        ]
        gap = self.positive[self._at], self.negative[self._at]
        ax.plot([self.threshold] * 2, gap, color="0.25", linewidth=2, gid=SHOWN, label=said)
        ax.set(xlim=ends, ylim=(0, 1.02))
        name_curves(ax)
        return self
