"""Base class and axes of the displays of scores and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from treerank._input.types import FittedClassifier, TableLike
from treerank.plots._axes import axes_for, lines_of, name_lines, style_axes
from treerank.plots._scores import positive_class, probabilities, ranking_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = "treerank-curve"


class ScoreDisplay:
    """Base class of displays that are created from scores or probabilities of two classes."""

    name: str | None
    ax_: Axes
    figure_: Figure
    needs_probabilities: ClassVar[bool] = False
    from_predictions: ClassVar[Callable[..., Any]]

    @classmethod
    def from_estimator(
        cls,
        model: FittedClassifier,
        X: TableLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the display of a fitted model on the given rows.

        Parameters
        ----------
        model : estimator
            A fitted model of this library, or any classifier of two classes.
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        name : str, optional
            By default the name of the model's class.
        ax : matplotlib axes, optional
        **options : options of `from_predictions`

        Returns
        -------
        display
        """
        check_is_fitted(model)
        pos_label = positive_class(model, y)
        values = (probabilities if cls.needs_probabilities else ranking_scores)(model, X)
        name = type(model).__name__ if name is None else name
        options |= {"sample_weight": sample_weight, "pos_label": pos_label, "name": name, "ax": ax}
        display: Self = cls.from_predictions(y, values, **options)
        return display

    def _open(self, ax: Axes, x_label: str, y_label: str) -> Any:
        """Return axes with labels and a light grid; given axes may already hold other displays."""
        self.ax_ = ax = axes_for(ax, (5.6, 4.8), layout="constrained")
        self.figure_ = ax.figure
        style_axes(ax, x_label, y_label)
        return ax

    def _label(self, said: str) -> str:
        return f"{self.name}: {said}" if self.name else said


def name_curves(ax: Axes) -> None:
    """Draw a legend of all curves that displays have marked as shown."""
    name_lines(ax, SHOWN)


def highest(ax: Axes) -> float:
    """Return the largest value of the curves that displays have drawn on the axes."""
    return max(float(max(line.get_ydata())) for line in lines_of(ax, SHOWN))
