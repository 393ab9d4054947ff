"""GradesDisplay: the event rate of each grade with its interval, and its share of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.plots._axes import LITERAL, add_legend_below, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from treerank.scoring import Grades


class GradesDisplay:
    """Event rate of each grade with its interval, and its share of the rows.

    Create one with `from_grades`.

    Parameters
    ----------
    table : dict of arrays
        As returned by :meth:`treerank.scoring.Grades.columns`, for two classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from treerank.plots import GradesDisplay
    >>> from treerank.scoring import Grades
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(1 - score))
    >>> display = GradesDisplay.from_grades(Grades(4).fit(score, y))
    >>> display.ax_.get_xlabel()
    'Grade'
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, table: dict[str, Any]) -> None:
        if "event_rate" not in table:
            raise ValueError("Got grades of several classes; expected two, with an event rate.")
        self.table = table

    @classmethod
    def from_grades(
        cls,
        grades: Grades,
        s: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        level: float = 0.95,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw fitted grades, for the rows of the fit or for other rows.

        Parameters
        ----------
        grades : Grades
            Grades fitted to two classes.
        s, y, sample_weight : array-like, optional
            Scores, labels and weights of other rows.
        level : float, default=0.95
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `errorbar`

        Returns
        -------
        display
        """
        from treerank.scoring import Grades  # noqa: PLC0415

        if not isinstance(grades, Grades):
            raise TypeError(
                f"Got grades of type {type(grades).__name__}; expected fitted Grades, such as "
                "grades_ of a Scorecard."
            )
        return cls(grades.columns(s, y, sample_weight, level=level)).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the event rates and the shares.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `errorbar`

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(ax, (5.6, 4.8), layout="constrained")
        self.figure_ = ax.figure
        place = np.arange(len(self.table["grade"]))
        rate = np.asarray(self.table["event_rate"])
        ax.bar(place, self.table["share_of_rows"], color="0.88", width=0.8, label="share of rows")
        reach = np.maximum([rate - self.table["lower"], self.table["upper"] - rate], 0.0)
        style = {"fmt": "o", "markersize": 6, "capsize": 3, "color": "C0", **kwargs}
        ax.errorbar(place, rate, yerr=reach, zorder=3, label="event rate", **style)
        ax.set_xticks(place, self.table["grade"], **LITERAL)
        ax.set_xlabel("Grade", **LITERAL)
        ax.set_ylabel("Share", **LITERAL)
        ax.set_ylim(0, None)
        ax.spines[["top", "right"]].set_visible(False)
        add_legend_below(ax, *ax.get_legend_handles_labels())
        return self
