"""Scores of any fitted two-class classifier, or of any model of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._input.label_order import by_rank, label_order_of
from treerank._input.types import TableLike


def ranking_scores(model: Any, X: TableLike) -> NDArray[np.float64]:
    """Return the score of each row (higher is better) from any fitted two-class model."""
    check_is_fitted(model)
    for method in ("score_samples", "decision_function", "predict_proba"):
        if hasattr(model, method):
            scores = np.asarray(getattr(model, method)(X), dtype=np.float64)
            if method == "predict_proba" and scores.ndim == 2 and scores.shape[1] == 2:
                scores = scores[:, _place_of_best(model)]
            elif method == "decision_function" and _place_of_best(model) == 0:
                scores = -scores
            if scores.ndim == 1:
                return scores
            raise ValueError(
                f"Got a {type(model).__name__} whose {method} has shape {scores.shape}; expected "
                "a model of two classes, with one score per row."
            )
    raise ValueError(
        f"Got a {type(model).__name__}, which gives no score; expected a model with score_samples, "
        "decision_function or predict_proba."
    )


def probabilities(model: Any, X: TableLike) -> NDArray[np.float64]:
    """Return the probability of the positive class from any fitted two-class model."""
    check_is_fitted(model)
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"Got a {type(model).__name__}, which gives no probabilities; expected a model with "
            "predict_proba."
        )
    return shares_by_rank(model, X)[:, -1]


def shares_by_rank(model: Any, X: TableLike) -> NDArray[np.float64]:
    """Return the class probabilities from any fitted classifier, worst class first."""
    return by_rank(np.asarray(model.predict_proba(X), dtype=np.float64), model)


def _place_of_best(model: Any) -> int:
    """Place in `classes_` of the better of two classes; the second, if there is no `classes_`."""
    if len(getattr(model, "classes_", ())) != 2:
        return 1
    return int(np.asarray(model.classes_).tolist().index(label_order_of(model).tolist()[-1]))
