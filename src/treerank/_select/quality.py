"""Quality of a ranking of ordered classes, and class shares from scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from treerank import _core
from treerank._input.focus import WHOLE, Focus
from treerank._input.labels import check_known_labels
from treerank.metrics import ordinal_vus_score


def ranking_quality(
    y: ArrayLike,
    scores: NDArray[np.float64],
    classes: NDArray[Any],
    sample_weight: ArrayLike | None,
) -> float:
    """Return the AUC of the scores, or the VUS for more than two classes."""
    y = check_known_labels(y, classes)
    if len(classes) > 2:
        return ordinal_vus_score(y, scores, sample_weight, labels=classes)
    return float(roc_auc_score(y == classes[1], scores, sample_weight=sample_weight))


def held_out_qualities(
    classes: NDArray[np.uint8],
    scores: NDArray[np.float64],
    n_classes: int,
    weight: NDArray[np.int64] | None,
    focus: Focus | None,
    n_jobs: int,
) -> NDArray[np.float64]:
    """Return `ranking_quality` of each column of scores; local or partial AUC with a focus.

    The input is not validated: classes are given as class numbers and weights as integers. A fit
    compares plans, amounts of shrinkage etc. many times, and validation would take longer than
    ranking the rows.
    """
    if n_classes == 2:
        columns = np.ascontiguousarray(scores)
        counted = WHOLE if focus is None else focus.for_core
        return np.asarray(_core.ranking_quality(columns, classes, weight, n_jobs, counted))
    numbers = np.arange(n_classes)
    return np.array([ranking_quality(classes, column, numbers, weight) for column in scores.T])


def quality_of_scores(
    scores: NDArray[np.float64],
    rank: NDArray[np.intp],
    units: NDArray[np.int64] | None,
    n_classes: int,
    focus: Focus | None,
) -> float:
    """Return `held_out_qualities` for a single score per row."""
    column = scores[:, np.newaxis]
    return float(held_out_qualities(rank.astype(np.uint8), column, n_classes, units, focus, 1)[0])


def class_shares(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each class, given the shares above each class but the last."""
    upper = np.minimum.accumulate(upper, axis=1)
    edges = np.column_stack([np.ones(len(upper)), upper, np.zeros(len(upper))])
    return np.asarray(edges[:, :-1] - edges[:, 1:])
