"""Scores of training rows by models that have not seen them: by folds, or out of bag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from treerank._forest import RankingForest
from treerank._input.classifiers import fit_weighted, with_label_order
from treerank._input.frames import take_rows_of
from treerank._input.label_order import label_order_of
from treerank._input.parameters import check_integer, invalid_parameter, is_whole
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._select.quality import ranking_quality
from treerank._select.scores import probabilities, ranking_scores

# In a smaller forest, too few trees leave a row out to represent the whole forest.
MIN_TREES = 50
# Out-of-bag scores belong to the given rows if they have the AUC that was measured at the fit.
SAME_QUALITY = 1e-9


@dataclass(frozen=True)
class Fold:
    """A model, and the positions of the rows that were held out when it was fitted."""

    model: Any
    rows: NDArray[np.intp]


@dataclass(frozen=True)
class HeldOut:
    """Predictions for rows by models that were not fitted to them.

    Attributes
    ----------
    score : array of shape (n_rows,)
        NaN for a row that every tree of a forest has seen.
    probability : array of shape (n_rows,) or None
        Probability of the higher of two classes, if the model gives it.
    n_folds : int
        0 for out-of-bag scores of a forest.
    fold : Fold or None
        The first fold, to see how a model treats rows that it does not know; None if no model was
        fitted again.
    """

    score: Floats
    probability: Floats | None
    n_folds: int
    fold: Fold | None = None

    def take(self, rows: NDArray[np.intp]) -> HeldOut:
        """Return the values of some of the rows, whose positions are ascending."""
        fold = self.fold
        if fold is not None:
            kept = np.intersect1d(fold.rows, rows)
            fold = Fold(fold.model, np.searchsorted(rows, kept))
        probability = None if self.probability is None else self.probability[rows]
        return HeldOut(self.score[rows], probability, self.n_folds, fold)

    @property
    def said(self) -> str:
        """Description of these rows."""
        if self.n_folds == 0:
            return "out-of-bag rows"
        return f"held-out rows of {self.n_folds} folds"


def held_out_scores(
    model: FittedClassifier,
    X: TableLike,
    labels: NDArray[Any],
    weight: Floats | None,
    cv: Any = 5,
    seed: int = 0,
) -> HeldOut:
    """Score training rows with the same kind of model, fitted without them.

    A forest scores each row by the trees that have not drawn it; if it did not keep these scores
    and is large enough, it is grown once more. Any other model is fitted again for each of `cv`
    folds.
    """
    if isinstance(model, RankingForest) and model.bootstrap:
        score = _kept_scores(model, labels, weight)
        if score is None and model.n_estimators >= MIN_TREES:
            fresh = _as_new(model).set_params(oob_score=True, warm_start=False)
            score = fresh.fit(X, labels, sample_weight=weight).oob_decision_function_
        if score is not None:
            return HeldOut(score, _forest_probability(model, score), 0)
    folds = _folds(cv, labels, label_order_of(model), seed)
    score = np.full(len(labels), np.nan)
    two_classes = len(model.classes_) == 2
    probability = (
        np.full(len(labels), np.nan) if two_classes and hasattr(model, "predict_proba") else None
    )
    first = None
    for train, test in folds:
        fitted = _fit_again(model, X, labels, weight, train)
        first = first or Fold(fitted, test)
        rows = take_rows_of(X, test)
        score[test] = ranking_scores(fitted, rows)
        if probability is not None:
            probability[test] = probabilities(fitted, rows)
    return HeldOut(score, probability, len(folds), first)


def _folds(
    cv: Any, labels: NDArray[Any], classes: NDArray[Any], seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the training and test rows of each fold; each row is tested once."""
    if is_whole(cv):
        smallest = min(int(np.sum(labels == label)) for label in classes)
        if smallest < 2:
            raise ValueError(
                f"Got {smallest} row of one of the classes {classes.tolist()}; expected at least "
                "2 of each, so that some can be held out. Evaluate the model on new rows."
            )
        wanted = check_integer("cv", cv, 2)
        cv = StratifiedKFold(min(wanted, smallest), shuffle=True, random_state=seed)
    elif not hasattr(cv, "split"):
        raise invalid_parameter("cv", cv, "an integer >= 2 or a cross-validation splitter")
    folds = list(cv.split(np.zeros((len(labels), 1)), labels))
    judged = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(labels))
    if (judged != 1).any():
        raise invalid_parameter("cv", cv, "a splitter whose test folds hold every row just once")
    return folds


def fit_without_a_fold(
    model: FittedClassifier,
    X: TableLike,
    labels: NDArray[Any],
    weight: Floats | None,
    seed: int,
    **parameters: Any,
) -> Fold | None:
    """Fit the same kind of model, with some other parameters, without a fifth of the rows.

    Returns None if a class has a single row, so that none can be held out.
    """
    smallest = min(int(np.sum(labels == label)) for label in model.classes_)
    if smallest < 2:
        return None
    train, test = _folds(5, labels, label_order_of(model), seed)[0]
    return Fold(_fit_again(model, X, labels, weight, train, **parameters), test)


def _fit_again(
    model: FittedClassifier,
    X: TableLike,
    labels: NDArray[Any],
    weight: Floats | None,
    rows: NDArray[np.intp],
    **parameters: Any,
) -> Any:
    """Fit the same kind of model to some of the rows."""
    fresh = _as_new(model).set_params(**parameters)
    weights = None if weight is None else weight[rows]
    return fit_weighted(fresh, take_rows_of(X, rows), labels[rows], weights)


def _as_new(model: FittedClassifier) -> Any:
    """Return an unfitted copy that ranks the classes in the same order."""
    return with_label_order(clone(model), label_order_of(model))


def _kept_scores(
    model: RankingForest, labels: NDArray[Any], weight: Floats | None
) -> Floats | None:
    """Return the out-of-bag scores that a forest has kept, if they belong to the given rows."""
    score = getattr(model, "oob_decision_function_", None)
    if score is None or len(score) != len(labels):
        return None
    seen = np.isfinite(score)
    if len(np.unique(labels[seen])) < len(model.classes_):
        return None
    found = ranking_quality(
        labels[seen], score[seen], model.label_order_, None if weight is None else weight[seen]
    )
    kept = getattr(model, "oob_auc_", getattr(model, "oob_vus_", np.nan))
    return score if abs(found - kept) < SAME_QUALITY else None


def _forest_probability(model: RankingForest, score: Floats) -> Floats | None:
    if len(model.classes_) > 2 or model.aggregation != "posterior":
        return None
    return np.asarray(np.clip(score + 0.5, 0.0, 1.0))
