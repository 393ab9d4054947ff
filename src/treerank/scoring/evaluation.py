"""Evaluation of a model on rows with labels: all measures, with intervals, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier, TableLike
from treerank.metrics import (
    brier_score_loss,
    calibration_slope,
    gini_score,
    ks_score,
    local_auc_interval,
    pairwise_auc_scores,
    top_measures,
    vus_interval,
)
from treerank.metrics._delong import auc_interval
from treerank.metrics._input import check_level, check_rate
from treerank.metrics._scorecard import gains_columns
from treerank.scoring._plain import PlainResult, format_table, known
from treerank.scoring._rows import LabelledScores, read_rows

MAX_BANDS = 10


@dataclass(frozen=True)
class Evaluation(PlainResult):
    """How well a model ranks some rows; created by :func:`evaluate`.

    It prints as a list of measures and the gains table.

    Attributes
    ----------
    classes : list
        Labels, worst first.
    rows : list of float
        Weight of each class.
    metric : str
        "AUC", or "VUS" for more than two classes.
    value, lower, upper : float
        The metric with its confidence limits.
    level : float
    local_auc, local_rate : float or None
        AUC of the top of the ranking, and the share of rows in the top. Two classes only, like all
        following attributes except `pairs`.
    local_auc_limits : tuple of two floats or None
    top : dict or None
        "precision", "recall" and "lift" of that top, each with its confidence limits.
    ks, gini : float or None
    brier : float or None
        None for a model without probabilities, like slope and intercept.
    slope, intercept : float or None
        Calibration slope (ideally 1) and calibration in the large, the intercept at slope 1
        (ideally 0). There is no slope if all probabilities are equal or separate the classes.
    slope_limits, intercept_limits : tuple of two floats or None
    gains : dict of arrays or None
        Up to ten bands of the ranking: the columns of :func:`treerank.metrics.gains_table`.
    pairs : list of dict or None
        For more than two classes: AUC of each pair of classes.
    """

    classes: list[Any]
    rows: list[float]
    metric: str
    value: float
    lower: float
    upper: float
    level: float
    local_auc: float | None = None
    local_auc_limits: tuple[float, float] | None = None
    local_rate: float | None = None
    top: dict[str, list[float]] | None = None
    ks: float | None = None
    gini: float | None = None
    brier: float | None = None
    slope: float | None = None
    slope_limits: tuple[float, float] | None = None
    intercept: float | None = None
    intercept_limits: tuple[float, float] | None = None
    gains: dict[str, Any] | None = None
    pairs: list[dict[str, Any]] | None = None

    def __repr__(self) -> str:
        lines = format_table(self._measures(), left=3)
        if self.gains is not None:
            lines += ["", *format_table(self._bands(self.gains), left=0)]
        if self.pairs is not None:
            lines += ["", *format_table(self._pairs(self.pairs), left=2)]
        return "\n".join(lines)

    def _measures(self) -> list[list[str]]:
        counts = ", ".join(
            f"{n:,.10g} of {label}" for n, label in zip(self.rows, self.classes, strict=True)
        )
        percent = f"{self.level:.0%} interval"
        lines = [
            ["rows", counts, ""],
            [self.metric, f"{self.value:.4f}", f"{percent} {self.lower:.4f} to {self.upper:.4f}"],
        ]
        if self.ks is None or self.local_rate is None:
            return lines
        lines += [
            ["Gini", f"{self.gini:.4f}", ""],
            *self._top_measures(percent),
            ["KS", f"{self.ks:.4f}", ""],
        ]
        if self.brier is None:
            return [*lines, ["calibration", "none: no probabilities", ""]]
        lines.append(["Brier score", f"{self.brier:.4f}", ""])
        for name, value, limits in (
            ("calibration slope", self.slope, self.slope_limits),
            ("calibration intercept", self.intercept, self.intercept_limits),
        ):
            said = "not defined" if value is None else f"{value:.3f}"
            interval = "" if limits is None else f"{percent} {limits[0]:.3f} to {limits[1]:.3f}"
            lines.append([name, said, interval])
        return lines

    def _top_measures(self, percent: str) -> list[list[str]]:
        local = [] if self.local_auc is None else [self.local_auc, *(self.local_auc_limits or ())]
        measures = {"local AUC": local} | (self.top or {})
        return [
            [f"{name}, top {self.local_rate:.0%}", f"{found[0]:.4f}",
             f"{percent} {found[1]:.4f} to {found[2]:.4f}"]
            for name, found in measures.items()
        ]  # fmt: skip

    @staticmethod
    def _bands(gains: dict[str, Any]) -> list[list[str]]:
        lines = [["band", "rows", "events", "event rate", "lift", "events so far", "KS"]]
        for i in range(len(gains["band"])):
            lines.append(
                [
                    f"{gains['band'][i]}",
                    f"{gains['rows'][i]:,.10g}",
                    f"{gains['events'][i]:,.1f}".removesuffix(".0"),
                    f"{gains['event_rate'][i]:.1%}",
                    f"{gains['lift'][i]:.2f}",
                    f"{gains['cumulative_events'][i]:.1%}",
                    f"{gains['ks'][i]:.3f}",
                ]
            )
        return lines

    @staticmethod
    def _pairs(pairs: list[dict[str, Any]]) -> list[list[str]]:
        lines = [["class", "ranked above", "AUC"]]
        return lines + [[str(p["high"]), str(p["low"]), f"{p['auc']:.4f}"] for p in pairs]


def evaluate(
    model: FittedClassifier,
    X: TableLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    rate: float = 0.1,
    level: float = 0.95,
) -> Evaluation:
    """Measure how well a model ranks rows that it was not fitted to.

    For two classes: AUC with DeLong's interval; local AUC, precision, recall and lift of the top,
    with intervals; KS, Gini and Brier score; calibration slope and intercept, with intervals; and
    the gains table. For more classes: VUS with its interval, and the AUC of each pair.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or any binary classifier with scores.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted to.
    y : array-like of shape (n_samples,)
        Their labels, including every class of the model.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights, as in :func:`treerank.metrics.auc_interval`.
    rate : float, default=0.1
        Share of the rows that counts as the top.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import TreeRank
    >>> from treerank.scoring import evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> found = evaluate(TreeRank().fit(X_train, y_train), X_test, y_test)
    >>> found.metric, found.lower < found.value < found.upper
    ('AUC', True)
    """
    level, rate = check_level(level), check_rate(rate)
    rows = read_rows(model, X, y, sample_weight)
    rows = rows.take(rows.weight > 0)
    classes = label_order_of(model)
    totals = np.bincount(rows.code, weights=rows.weight, minlength=len(classes))
    if not totals.all():
        missing = classes[totals == 0].tolist()
        raise ValueError(
            f"Got no row of {missing} in y (with weight above 0); expected some of every class, "
            "to say how well they are told apart."
        )
    shared = {"classes": classes.tolist(), "rows": totals.tolist(), "level": level}
    if len(classes) == 2:
        return Evaluation(**shared, **_two_classes(rows, rate, level))
    return Evaluation(**shared, **_ordered(rows, classes, level))


def _two_classes(rows: LabelledScores, rate: float, level: float) -> dict[str, Any]:
    y, s, weight = rows.code, rows.score, rows.weight
    auc = auc_interval(y, s, sample_weight=weight, level=level)
    n_bands = min(MAX_BANDS, len(y))
    options: dict[str, Any] = {"rate": rate, "sample_weight": weight, "level": level}
    local, top = local_auc_interval(y, s, **options), top_measures(y, s, **options)
    return {
        "metric": "AUC",
        "value": auc.auc,
        "lower": auc.lower,
        "upper": auc.upper,
        "local_auc": local.auc,
        "local_auc_limits": (local.lower, local.upper),
        "top": {
            name: [found.value, found.lower, found.upper]
            for name, found in (
                ("precision", top.precision),
                ("recall", top.recall),
                ("lift", top.lift),
            )
        },
        "local_rate": rate,
        "ks": ks_score(y, s, sample_weight=weight),
        "gini": gini_score(y, s, sample_weight=weight),
        "gains": gains_columns(y, s, n_bands=n_bands, sample_weight=weight, level=level),
    } | _calibration(rows, level)


def _calibration(rows: LabelledScores, level: float) -> dict[str, Any]:
    """Return Brier score, slope and intercept of a model with probabilities."""
    p, weight = rows.probability, rows.weight
    if p is None:
        return {}
    fit = calibration_slope(rows.code, p, sample_weight=weight, level=level)
    slope = known(fit.slope)
    return {
        "brier": float(brier_score_loss(rows.code, p, sample_weight=weight)),
        "slope": slope,
        "slope_limits": None if slope is None else fit.slope_limits,
        "intercept": fit.in_the_large,
        "intercept_limits": fit.in_the_large_limits,
    }


def _ordered(rows: LabelledScores, classes: Any, level: float) -> dict[str, Any]:
    numbers = np.arange(len(classes))
    arguments: dict[str, Any] = {"sample_weight": rows.weight, "labels": numbers}
    vus = vus_interval(rows.code, rows.score, level=level, **arguments)
    pairs = np.asarray(pairwise_auc_scores(rows.code, rows.score, **arguments), dtype=float)
    return {
        "metric": "VUS",
        "value": vus.vus,
        "lower": vus.lower,
        "upper": vus.upper,
        "pairs": [
            {"low": classes[a], "high": classes[b], "auc": float(pairs[a, b])}
            for a in numbers
            for b in numbers[a + 1 :]
        ],
    }
