"""InstabilityDisplay: how much the predictions of single rows vary between samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from treerank._input.parameters import check_choice
from treerank.plots._axes import add_legend_below, axes_for, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from treerank.scoring import Validation

KINDS = ("prediction", "mape", "classification")
MOST_POINTS = 40_000  # maximum number of bootstrap predictions drawn


class InstabilityDisplay:
    """Instability of a model's predictions, against the model's own prediction.

    - ``"prediction"``: the predictions of models fitted to bootstrap samples, and the limits
      between which a share `level` of them lies. The closer they are to the diagonal, the less a
      prediction depends on chance.
    - ``"mape"``: for each row, their mean absolute difference from the model's own prediction.
    - ``"classification"``: for each row, the share of these models that put it on the other side of
      a cut-off.

    Create one with `from_validation`.

    Parameters
    ----------
    validation : Validation
        Result of :func:`treerank.scoring.validate`.
    kind : {"prediction", "mape", "classification"}, default="prediction"
    cutoff : float, default=0.5
        Cut-off for ``"classification"``.
    level : float, default=0.95
        Share of the predictions between the limits.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure

    References
    ----------
    Riley and Collins (2023), "Stability of clinical prediction models developed using statistical
    or machine learning methods", Biometrical Journal 65.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.plots import InstabilityDisplay
    >>> from treerank.scoring import validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = validate(TreeRank(), X, y, n_boot=10)
    >>> display = InstabilityDisplay.from_validation(found, kind="mape")
    >>> display.ax_.get_ylabel()
    'Mean absolute difference'
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        validation: Validation,
        *,
        kind: str = "prediction",
        cutoff: float = 0.5,
        level: float = 0.95,
    ) -> None:
        self.validation = validation
        self.kind = check_choice("kind", kind, KINDS)
        self.cutoff = cutoff
        self.level = level

    @classmethod
    def from_validation(
        cls,
        validation: Validation,
        *,
        kind: str = "prediction",
        cutoff: float = 0.5,
        level: float = 0.95,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the result of a validation.

        Parameters
        ----------
        validation : Validation
        kind : {"prediction", "mape", "classification"}, default="prediction"
        cutoff : float, default=0.5
        level : float, default=0.95
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `scatter`

        Returns
        -------
        display
        """
        return cls(validation, kind=kind, cutoff=cutoff, level=level).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the plot of the chosen kind.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs : options of matplotlib's `scatter`

        Returns
        -------
        self
        """
        found = self.validation
        what = "probability" if found.is_probability else "score"
        self.ax_ = ax = axes_for(ax, (5.6, 4.8), layout="constrained")
        self.figure_ = ax.figure
        draw = self._draw_predictions if self.kind == "prediction" else self._draw_rows
        style_axes(ax, f"Predicted {what}", draw(ax, kwargs))
        add_legend_below(ax, *ax.get_legend_handles_labels())
        return self

    def _draw_predictions(self, ax: Axes, style: dict[str, Any]) -> str:
        """Draw all predictions and their limits; return the label of the y axis."""
        found = self.validation
        order = np.argsort(found.prediction, kind="stable")
        # Rows evenly spaced along the ranking, each with all its predictions.
        n_rows = max(2, min(len(order), MOST_POINTS // found.n_boot))
        rows = order[np.linspace(0, len(order) - 1, n_rows).astype(np.intp)]
        x = np.broadcast_to(found.prediction[rows], (found.n_boot, len(rows)))
        points = {"s": 2, "alpha": 0.12, "linewidths": 0, "color": "C0", **style}
        ax.scatter(x.ravel(), found.predictions[:, rows].ravel(), rasterized=True, **points)
        ends = (found.prediction.min(), found.prediction.max())
        ax.plot(ends, ends, color="0.4", linewidth=1.2, label="the model itself")
        lower, upper = found.limits(self.level)
        middle, low, high = _smooth(found.prediction, lower, upper)
        said = f"{self.level:.0%} of the bootstrap models"
        ax.plot(middle, low, color="C1", linewidth=1.6, linestyle="--", label=said)
        ax.plot(middle, high, color="C1", linewidth=1.6, linestyle="--")
        return f"{'Probability' if found.is_probability else 'Score'} by bootstrap models"

    def _draw_rows(self, ax: Axes, style: dict[str, Any]) -> str:
        """Draw a figure of each row; return the label of the y axis."""
        found = self.validation
        points = {"s": 8, "alpha": 0.4, "linewidths": 0, "color": "C0", **style}
        if self.kind == "mape":
            values, label = found.mape, "Mean absolute difference"
            ax.axhline(values.mean(), color="C1", linewidth=1.4, linestyle="--",
                       label=f"mean {values.mean():.3f}")  # fmt: skip
        else:
            values = found.classification_instability(self.cutoff)
            label = "Share of models with another decision"
            ax.axvline(self.cutoff, color="C1", linewidth=1.4, linestyle="--",
                       label=f"cut-off {self.cutoff:g}")  # fmt: skip
        ax.scatter(found.prediction, values, **points)
        ax.set_ylim(bottom=0)
        return label


def _smooth(prediction: Any, lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """Average the limits over twenty groups of rows, as those of single rows are too noisy."""
    values, place = np.unique(prediction, return_inverse=True)
    group = np.floor(np.argsort(np.argsort(prediction, kind="stable")) / len(prediction) * 20)
    if len(values) <= 20:  # one group per stratum
        group = place
    _, part = np.unique(group, return_inverse=True)
    size = np.bincount(part)
    return tuple(np.bincount(part, weights=v) / size for v in (prediction, lower, upper))  # type: ignore[return-value]
