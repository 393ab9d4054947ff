"""Scores and labels for the displays, from models of this library and others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier, Label
from treerank._select.scores import probabilities, ranking_scores

__all__ = ["is_positive", "positive_class", "probabilities", "ranking_scores"]


def is_positive(y: ArrayLike, pos_label: Label | None = None) -> NDArray[np.bool_]:
    """Mark the rows of the positive class, by default the larger of two labels."""
    y = column_or_1d(np.asarray(y))
    classes = np.unique(y)
    if pos_label is None:
        if len(classes) != 2:
            shown = ", ".join(map(repr, classes[:6].tolist())) + (", …" * (len(classes) > 6))
            raise ValueError(f"Got y with classes {shown}; expected labels of two classes.")
        pos_label = classes[1]
    elif pos_label not in classes.tolist():
        raise ValueError(f"Got pos_label={pos_label!r}; expected one of {classes.tolist()}.")
    return np.asarray(y == pos_label)


def positive_class(model: FittedClassifier, y: ArrayLike) -> Any:
    """Return the class that a fitted binary model ranks on top; None without `classes_`."""
    if not hasattr(model, "classes_"):
        return None
    classes = label_order_of(model)
    if len(classes) != 2:
        raise ValueError(f"Got a model of {len(classes)} classes; expected two.")
    unknown = set(np.unique(np.asarray(y)).tolist()) - set(classes.tolist())
    if unknown:
        raise ValueError(
            f"Got y with {sorted(map(repr, unknown))[0]}, unknown to the model; "
            f"expected labels among {classes.tolist()}."
        )
    return classes[1]
