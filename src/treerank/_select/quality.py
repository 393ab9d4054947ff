"""Ordered classes: what a model's scores say of them, and how good its ranking of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from treerank._input.focus import Focus
from treerank._input.labels import check_known_labels
from treerank.metrics import local_auc_score, ordinal_vus_score, partial_auc_score


def has_two_classes(model: Any) -> bool:
    """Whether a model is fitted to two classes.

    Before that it cannot be known whether it will have one score per row that `decision_function`
    may return: with more classes scikit-learn expects one per class.
    """
    return len(getattr(model, "classes_", ())) == 2


def ranking_quality(
    y: ArrayLike,
    scores: NDArray[np.float64],
    classes: NDArray[Any],
    sample_weight: ArrayLike | None,
    focus: Focus | None = None,
) -> float:
    """AUC of the scores, local or partial with a focus; VUS beyond two classes."""
    y = check_known_labels(y, classes)
    if len(classes) > 2:
        return ordinal_vus_score(y, scores, sample_weight, labels=classes)
    positive = np.asarray(y == classes[1])
    if focus is None:
        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))
    if focus.counts == "rows":
        return local_auc_score(positive, scores, rate=focus.high, sample_weight=sample_weight)
    return partial_auc_score(
        positive, scores, min_fpr=focus.low, max_fpr=focus.high, sample_weight=sample_weight
    )


def held_out_quality(
    classes: NDArray[Any],
    scores: NDArray[np.float64],
    n_classes: int,
    weight: NDArray[np.int64] | None,
    focus: Focus | None = None,
) -> float:
    """Like `ranking_quality`, of rows that are known to be sound: their classes are numbers.

    Plans, amounts of shrinkage and the like are compared many times in a fit, where checking
    the rows would take longer than ranking them.
    """
    if n_classes > 2 or focus is not None:
        return ranking_quality(classes, scores, np.arange(n_classes), weight, focus)
    order = np.argsort(scores)
    ranked = scores[order]
    is_last = np.append(ranked[1:] != ranked[:-1], True)  # of the rows of its score
    units = np.ones(len(order)) if weight is None else weight[order].astype(np.float64)
    positives = units * (classes[order] == 1)
    upto_positive = np.cumsum(positives)[is_last]
    upto_negative = np.cumsum(units - positives)[is_last]
    here_positive = np.diff(upto_positive, prepend=0.0)
    here_negative = np.diff(upto_negative, prepend=0.0)
    won = here_positive @ (upto_negative - here_negative / 2)
    return float(won / (upto_positive[-1] * upto_negative[-1]))


def class_shares(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each class, from the shares of those above the first, the second, ..."""
    upper = np.minimum.accumulate(upper, axis=1)
    edges = np.column_stack([np.ones(len(upper)), upper, np.zeros(len(upper))])
    return np.asarray(edges[:, :-1] - edges[:, 1:])
