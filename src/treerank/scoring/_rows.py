"""Rows with labels and a model's predictions: classes, weights, scores, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._input.label_order import class_codes, label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._report._sample import bin_once, class_probabilities
from treerank.metrics._input import check_weights
from treerank.plots._scores import ranking_scores


@dataclass(frozen=True)
class LabelledScores:
    """Rows with labels and scores.

    Attributes
    ----------
    code : array of shape (n_rows,)
        Class indices, worst class first.
    weight, score : array of shape (n_rows,)
    probability : array of shape (n_rows,) or None
        Probability of the higher of two classes.
    """

    code: NDArray[np.intp]
    weight: Floats
    score: Floats
    probability: Floats | None

    def take(self, rows: NDArray[Any]) -> LabelledScores:
        """Return some of the rows."""
        probability = None if self.probability is None else self.probability[rows]
        return LabelledScores(self.code[rows], self.weight[rows], self.score[rows], probability)


def check_two_classes(model: FittedClassifier, owner: str) -> None:
    """Raise an error for models that do not rank two classes."""
    check_is_fitted(model)
    classes = getattr(model, "classes_", ())
    if len(classes) != 2:
        raise ValueError(
            f"Got a {type(model).__name__} of {len(classes)} classes; expected two: {owner} "
            "compares events with non-events."
        )


def score_rows(model: FittedClassifier, X: TableLike) -> tuple[Floats, Floats | None]:
    """Return the score of each row, and the probability of the higher of two classes."""
    rows = bin_once(model, X)
    score = ranking_scores(model, rows)
    if len(model.classes_) != 2:
        return score, None
    probability = class_probabilities(model, rows, score)
    return score, None if probability is None else probability[:, -1]


def read_rows(
    model: FittedClassifier, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> LabelledScores:
    """Check labels and weights, and score the rows; rows of zero weight are kept."""
    check_is_fitted(model)
    classes = label_order_of(model)
    code = class_codes(check_known_labels(y, classes), classes)
    weight = check_weights(sample_weight, len(code))
    score, probability = score_rows(model, X)
    if len(score) != len(code):
        raise ValueError(f"Got {len(code)} labels for {len(score)} rows; expected one per row.")
    return LabelledScores(code, weight, score, probability)
