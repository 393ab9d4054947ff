"""Assigns rows to cross-validation folds by their content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from treerank import _core
from treerank._input.parameters import check_integer, invalid_parameter, is_whole
from treerank._input.validation import TrainingData
from treerank._input.warn import warn


@dataclass(frozen=True)
class Folds:
    """The fold that holds out each row.

    The weight of a row is never divided between folds: the row would then be held out from a tree
    that was also grown on it.
    """

    n_folds: int
    fold: NDArray[np.int32]


def assign_folds(
    cv: Any, hashes: Callable[[int], NDArray[np.uint64]], data: TrainingData, seed: int, n_jobs: int
) -> Folds | None:
    """Assign the rows to folds, or return None if a class is too small.

    The rows of a class are assigned in the order of a hash of their content, so that the order of
    the rows does not matter; `hashes` returns the hashes for a seed. Equal rows are assigned at
    random: spread evenly, the held-out rows would repeat the noise of the training rows.
    """
    if not is_whole(cv):
        return _folds_of_splitter(cv, data)
    wanted = check_integer("cv", cv, 2)
    n_folds = min(wanted, int(data.class_rows.min()))
    if n_folds < 2:
        warn_of_tiny_class(data.classes, data.class_rows)
        return None
    fold = _core.assign_folds(
        hashes(seed), data.labels, data.weights.as_units, len(data.classes), n_folds, seed, n_jobs
    )
    return Folds(n_folds, fold)


def warn_of_tiny_class(classes: NDArray[Any], class_rows: NDArray[np.int64]) -> None:
    """Warn that no rows can be held out."""
    label = classes.tolist()[int(np.argmin(class_rows))]
    warn(
        f"Got a single row of class {label!r}; cross-validation needs two of each class. The tree "
        "is neither pruned nor shrunk. Add rows of this class, join it with another, or leave it "
        "out."
    )


def _folds_of_splitter(cv: Any, data: TrainingData) -> Folds:
    """Return the folds of a scikit-learn splitter, which refers to the rows as given to `fit`."""
    labels = np.zeros(data.given_rows, dtype=np.intp)
    labels[data.kept] = data.labels
    try:
        splits = list(check_cv(cv).split(np.zeros((data.given_rows, 1)), labels))
    except (TypeError, ValueError) as error:
        raise invalid_parameter(
            "cv", cv, "an integer >= 2 or a splitter of scikit-learn"
        ) from error
    fold = np.full(data.given_rows, -1, dtype=np.int32)
    times = np.zeros(data.given_rows, dtype=np.int64)
    for f, (_, held_out) in enumerate(splits):
        fold[held_out] = f
        times[held_out] += 1
    if not (times == 1).all() or len(splits) < 2:
        raise invalid_parameter("cv", cv, "a splitter whose test folds hold every row just once")
    fold = fold[data.kept]
    for f in range(len(splits)):
        for part in (fold == f, fold != f):
            if len(np.unique(data.labels[part])) < len(data.classes):
                raise ValueError(f"Got cv={cv!r}, whose fold {f} lacks a class; stratify it.")
    return Folds(len(splits), fold)
