"""Scores of rows by models that have not learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from treerank._input.frames import take_rows_of
from treerank._input.labels import check_known_labels
from treerank._input.parameters import check_integer, invalid_parameter
from treerank._select.scores import ranking_scores

Floats = NDArray[np.float64]


def held_out_scores(model: Any, X: Any, y: Any, sample_weight: Any, cv: Any) -> tuple[Floats, str]:
    """Score the training rows of a fitted model as if they were new, and say how.

    Out of bag for a forest that has kept these scores, else by models fitted to the other folds.
    Rows that no tree has left out get NaN.
    """
    out_of_bag = getattr(model, "oob_decision_function_", None)
    if out_of_bag is not None:
        return np.asarray(out_of_bag, dtype=np.float64), "out-of-bag scores"
    labels = check_known_labels(y, np.asarray(model.classes_))
    splits = _splits(cv, labels)
    scores = np.full(len(labels), np.nan)
    for train, test in splits:
        fitted = fit_rows(unfitted(model), X, labels, sample_weight, train)
        scores[test] = ranking_scores(fitted, take_rows_of(X, test))
    return scores, f"{len(splits)} folds"


def unfitted(model: Any) -> Any:
    """Copy of an estimator, which knows the order of the classes where it asks for it."""
    copy = clone(model)
    if "label_order" in copy.get_params(deep=False):
        copy.set_params(label_order=np.asarray(model.classes_).tolist())
    return copy


def fit_rows(model: Any, X: Any, labels: Any, sample_weight: Any, rows: NDArray[np.intp]) -> Any:
    """Fit to some rows."""
    table = take_rows_of(X, rows)
    if sample_weight is None:
        return model.fit(table, labels[rows])
    return model.fit(table, labels[rows], sample_weight=np.asarray(sample_weight)[rows])


def _splits(cv: Any, labels: NDArray[Any]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        wanted = check_integer("cv", cv, 2) or 2
        smallest = int(np.unique(labels, return_counts=True)[1].min())
        if smallest < 2:
            raise ValueError(
                "Got a class with a single row; expected two of every class, to hold some out. "
                'Give more rows, or fit with cv="prefit" to others.'
            )
        cv = StratifiedKFold(min(wanted, smallest), shuffle=True, random_state=0)
    try:
        return list(check_cv(cv).split(np.zeros((len(labels), 1)), labels))
    except (TypeError, ValueError, AttributeError) as error:
        raise invalid_parameter(
            "cv", cv, "'prefit', an integer >= 2 or a splitter of scikit-learn"
        ) from error
