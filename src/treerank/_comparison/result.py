"""The class Comparison: the result of `compare`, as numbers and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.frames import frame_of
from treerank._input.types import Floats
from treerank.metrics._delong import difference_limits
from treerank.metrics._structural import Spread, interval_within_unit


@dataclass(frozen=True)
class Comparison:
    """Performance of models on the same folds; the result of :func:`compare`.

    It prints as a table, the best model first.

    Attributes
    ----------
    names : list of str
        The models, in the given order.
    metric : str
        "AUC", or "VUS" for more than two classes.
    fold_scores : array of shape (n_models, n_folds)
        AUC or VUS of each model in each fold.
    fit_times, score_times : array of shape (n_models, n_folds)
        In seconds.
    folds : list of arrays
        The test rows of each fold.
    held_out : dict
        By name, the scores of the test rows of each fold; comparable within a fold only.
    overlap : float
        Mean ratio of test rows to training rows, which accounts for the dependence of the folds.
    smallest_class : float
        Effective number of rows of the smallest class.
    baseline : str or None
        As given to :func:`compare`.
    level : float
        Confidence level.
    """

    names: list[str]
    metric: str
    fold_scores: Floats
    fit_times: Floats
    score_times: Floats
    folds: list[NDArray[np.intp]]
    held_out: dict[str, list[Floats]]
    overlap: float
    smallest_class: float
    baseline: str | None
    level: float

    @property
    def mean(self) -> Floats:
        """Mean of each model over the folds."""
        return np.asarray(self.fold_scores.mean(axis=1))

    @property
    def reference(self) -> str:
        """Name of the model that the others are compared with."""
        if self.baseline == "best" and "best" not in self.names:
            return self.names[int(np.argmax(self.mean))]
        return self.baseline or self.names[0]

    def columns(self) -> dict[str, Any]:
        """Return the table as a dict of columns, with the models in the given order.

        Returns
        -------
        dict
            `model`; the mean (`auc` or `vus`) with `lower` and `upper` limit; `difference` from
            the baseline with its limits, `p_value` and `p_adjusted` (Holm), NaN for the baseline
            itself; mean `fit_seconds` and `score_seconds` of a fold. The limits of the difference
            are adjusted like the p-values, so they exclude 0 exactly if
            `p_adjusted < 1 - level`.
        """
        means = self.mean
        reference = self.names.index(self.reference)
        intervals = np.array(
            [
                interval_within_unit(float(mean), self._spread(scores), self.level)[:2]
                for mean, scores in zip(means, self.fold_scores, strict=True)
            ]
        )
        models = range(len(self.names))
        p_values = np.array([self._difference(i, reference, self.level)[3] for i in models])
        adjusted, times = holm_factors(p_values)
        # The factor of a p-value divides the error probability of the interval.
        found = np.array(
            [self._difference(i, reference, 1 - (1 - self.level) / times[i]) for i in models]
        )
        return {
            "model": self.names,
            self.metric.lower(): means,
            "lower": intervals[:, 0],
            "upper": intervals[:, 1],
            "difference": found[:, 0],
            "difference_lower": found[:, 1],
            "difference_upper": found[:, 2],
            "p_value": p_values,
            "p_adjusted": adjusted,
            "fit_seconds": self.fit_times.mean(axis=1),
            "score_seconds": self.score_times.mean(axis=1),
        }

    def _spread(self, values: Floats) -> Spread:
        """Standard error of a mean over folds, corrected for shared training rows."""
        variance = np.var(values, ddof=1) * (1 / len(values) + self.overlap)
        return Spread(float(np.sqrt(variance)), len(values) - 1.0, self.smallest_class)

    def _difference(
        self, model: int, reference: int, level: float
    ) -> tuple[float, float, float, float]:
        """Return the difference from the reference, its limits and its p-value."""
        if model == reference:
            return 0.0, np.nan, np.nan, np.nan
        gaps = self.fold_scores[model] - self.fold_scores[reference]
        difference = float(gaps.mean())
        limits = difference_limits(difference, self._spread(gaps), level)
        lower, upper, _, p_value = limits
        return difference, lower, upper, p_value

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a data frame, one row per model.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        return frame_of(self.columns(), backend)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, times: bool = True) -> str:
        """Return the table as text, the best model first.

        Parameters
        ----------
        times : bool, default=True
            Show the duration of a fit.
        """
        table = self.columns()
        order = np.argsort(-self.mean, kind="stable")
        lines = [
            ["model", self.metric, "interval", f"- {self.reference}", "interval", "p", "fit s"]
        ]
        lines += [self._line(table, int(i)) for i in order]
        lines = lines if times else [line[:-1] for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True)]
            ).rstrip()
            for line in lines
        ]
        n_folds = self.fold_scores.shape[1]
        note = f"{n_folds} folds; {self.level:.0%} intervals, t corrected for shared training rows"
        return "\n".join(
            [*text, note + "; p and intervals of differences by Holm" * (len(self.names) > 2)]
        )

    def _line(self, table: dict[str, Any], i: int) -> list[str]:
        p_value = table["p_adjusted"][i]
        line = [
            self.names[i],
            f"{self.mean[i]:.4f}",
            f"{table['lower'][i]:.3f} to {table['upper'][i]:.3f}",
        ]
        if np.isnan(p_value):
            line += ["", "", ""]
        else:
            low, high = table["difference_lower"][i], table["difference_upper"][i]
            line += [f"{table['difference'][i]:+.4f}", f"{low:+.3f} to {high:+.3f}"]
            line += ["< 0.001" if p_value < 0.001 else f"{p_value:.3f}"]
        return [*line, f"{table['fit_seconds'][i]:.2f}"]


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjustment; NaN stays NaN."""
    return holm_factors(p_values)[0]


def holm_factors(p_values: Floats) -> tuple[Floats, Floats]:
    """Holm's step-down adjustment, and its factor for each p-value; NaN stays NaN."""
    adjusted, times = np.full(len(p_values), np.nan), np.ones(len(p_values))
    order = np.argsort(p_values)[: int(np.isfinite(p_values).sum())]
    factors = np.arange(len(order), 0, -1)
    ranked = p_values[order]
    raised = np.maximum.accumulate(factors * ranked)
    adjusted[order] = np.minimum(raised, 1.0)
    times[order] = np.where(ranked > 0, raised / np.where(ranked > 0, ranked, 1.0), factors)
    return adjusted, times
