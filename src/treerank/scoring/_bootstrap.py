"""Fits of a whole procedure to bootstrap samples, in parallel, and their measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedGroupKFold
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

from treerank._base import RankingModel
from treerank._input.classifiers import fit_weighted, with_label_order
from treerank._input.frames import take_rows_of
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._select.scores import probabilities, ranking_scores
from treerank.metrics import ordinal_vus_score
from treerank.metrics._calibration import slope_alone
from treerank.metrics._ties import auc_of_checked

REDRAWS = 1000


@dataclass(frozen=True)
class Rows:
    """Training and test rows.

    Attributes
    ----------
    X : table
    labels : array
    classes : array
        The classes, worst first.
    code : array of int
        Class index of each row.
    weight : array or None
    """

    X: TableLike
    labels: NDArray[Any]
    classes: NDArray[Any]
    code: NDArray[np.intp]
    weight: Floats | None


@dataclass(frozen=True)
class Predictions:
    """A model's predictions for every row: the score, and the probability of the last class."""

    score: Floats
    probability: Floats | None


def measure_names(rows: Rows, has_probability: bool) -> list[str]:
    """Return the names of the measures, in the order of `measures`."""
    if len(rows.classes) > 2:
        return ["VUS"]
    return ["AUC", "Brier score", "calibration slope"] if has_probability else ["AUC"]


def measures(rows: Rows, said: Predictions, weight: Floats | None) -> Floats:
    """Return the measures on the rows of positive weight; NaN if they lack a class."""
    kept = slice(None) if weight is None else weight > 0
    code, score = rows.code[kept], said.score[kept]
    weight = None if weight is None else weight[kept]
    n_classes = len(rows.classes)
    if len(np.unique(code)) < n_classes:
        return np.full(len(measure_names(rows, said.probability is not None)), np.nan)
    if n_classes > 2:
        return np.array([ordinal_vus_score(code, score, weight)])
    auc = auc_of_checked(score, code, np.ones(len(code)) if weight is None else weight)
    if said.probability is None:
        return np.array([auc])
    p = said.probability[kept]
    brier = np.average((p - code) ** 2, weights=weight)
    slope = slope_alone(code == 1, p, weight)
    return np.array([auc, brier, slope if np.isfinite(slope) else np.nan])


def no_information(rows: Rows, said: Predictions) -> Floats:
    """Return what the measures would be if the labels were independent of the rows."""
    if len(rows.classes) > 2:
        return np.array([1 / np.prod(np.arange(1, len(rows.classes) + 1))])
    if said.probability is None:
        return np.array([0.5])
    rate = np.average(rows.code, weights=rows.weight)
    p = np.average(said.probability, weights=rows.weight)
    square = np.average(said.probability**2, weights=rows.weight)
    return np.array([0.5, rate * (1 - 2 * p) + square, 0.0])


def predict(model: FittedClassifier, rows: Rows) -> Predictions:
    """Score every row."""
    score = ranking_scores(model, rows.X)
    if len(rows.classes) > 2 or not hasattr(model, "predict_proba"):
        return Predictions(score, None)
    return Predictions(score, np.clip(probabilities(model, rows.X), 0.0, 1.0))


def fit_procedure(estimator: Any, rows: Rows) -> Any:
    """Fit the procedure to all rows, on one thread like its repetitions."""
    model = _on_one_thread(clone(estimator))
    return fit_weighted(model, rows.X, rows.labels, rows.weight)


@dataclass(frozen=True)
class Refit:
    """Measures of a model fitted to a bootstrap sample, and its predictions for all rows."""

    training: Floats
    test: Floats
    out_of_bag: Floats
    said: Predictions


def refits(estimator: Any, rows: Rows, n_boot: int, seed: int, n_jobs: int) -> list[Refit]:
    """Fit the procedure to bootstrap samples; the result does not depend on `n_jobs`."""
    calls = (delayed(_refit)(estimator, rows, (seed, number)) for number in range(n_boot))
    # Nested threads of linear algebra libraries would only compete with each other.
    with threadpool_limits(1):
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(calls))


def _refit(estimator: Any, rows: Rows, seed: tuple[int, int]) -> Refit:
    drawn = _draw(rows.code, seed)
    weight = np.ones(len(drawn)) if rows.weight is None else rows.weight
    said = predict(_fit_drawn(estimator, rows, drawn), rows)
    return Refit(
        measures(rows, said, drawn * weight),
        measures(rows, said, rows.weight),
        measures(rows, said, np.where(drawn > 0, 0.0, weight)),
        said,
    )


def _draw(code: NDArray[np.intp], seed: tuple[int, int]) -> Floats:
    """Return how often each row is drawn; a sample that lacks a class is drawn again."""
    rng = np.random.default_rng(seed)
    n = len(code)
    for _ in range(REDRAWS):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        if len(np.unique(code[drawn > 0])) == code.max() + 1:
            return drawn.astype(np.float64)
    raise ValueError(
        f"Got so few rows of a class that {REDRAWS:,} bootstrap samples left it out; expected some "
        "of every class. Give more rows."
    )


def _fit_drawn(estimator: Any, rows: Rows, drawn: Floats) -> Any:
    """Fit to a bootstrap sample such that inner folds never separate the copies of a row."""
    model = with_label_order(_on_one_thread(clone(estimator)), rows.classes)
    searches = isinstance(model, GridSearchCV | RandomizedSearchCV)
    fitted = model.estimator if searches else model
    if isinstance(fitted[-1] if isinstance(fitted, Pipeline) else fitted, RankingModel):
        # Integer weights equal repeated rows for them, and a weighted row stays in one fold.
        taken = np.flatnonzero(drawn)
        weight = drawn if rows.weight is None else drawn * rows.weight
        return fit_weighted(model, take_rows_of(rows.X, taken), rows.labels[taken], weight[taken])
    taken = np.repeat(np.arange(len(drawn)), drawn.astype(np.intp))
    more: dict[str, Any] = {}
    weights = None if rows.weight is None else rows.weight[taken]
    if searches and (model.cv is None or isinstance(model.cv, int)):
        model.set_params(cv=StratifiedGroupKFold(model.cv or 5))
        more["groups"] = taken
    return fit_weighted(model, take_rows_of(rows.X, taken), rows.labels[taken], weights, **more)


def _on_one_thread(model: Any) -> Any:
    """Set each `n_jobs` to 1: threads are used across samples, not within a fit."""
    for name, value in model.get_params().items():
        if (name == "n_jobs" or name.endswith("__n_jobs")) and value is not None:
            model.set_params(**{name: 1})
    return model
