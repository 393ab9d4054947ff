"""Class weights, which are multiplied with the sample weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.parameters import invalid_parameter
from treerank._input.types import ClassWeight, Floats


def with_class_weight(
    class_weight: ClassWeight,
    labels: NDArray[np.uint8],
    classes: NDArray[Any],
    weight: Floats | None,
) -> Floats | None:
    """Multiply the sample weights by the class weights, as scikit-learn does."""
    if class_weight is None:
        return weight
    of_class = _weights_of(class_weight, labels, classes)
    return of_class[labels] if weight is None else of_class[labels] * weight


def refuse_class_weight(estimator: Any, where: str) -> None:
    """Raise if class weights are given; used if rows are read block by block."""
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is not None:
        raise ValueError(
            f"Got class_weight={class_weight!r} {where}; expected None: put the weights of the "
            "classes into a column, and name it in sample_weight."
        )


def _weights_of(
    class_weight: ClassWeight, labels: NDArray[np.uint8], classes: NDArray[Any]
) -> Floats:
    if isinstance(class_weight, str) and class_weight == "balanced":
        # Balances numbers of rows, not sums of sample weights.
        counts = np.bincount(labels, minlength=len(classes))
        return len(labels) / (len(classes) * np.maximum(counts, 1)).astype(np.float64)
    if not isinstance(class_weight, Mapping):
        raise invalid_parameter(
            "class_weight", class_weight, "None, 'balanced' or a dict of labels to weights"
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(
            f"Got class_weight of the label {unknown[0]!r}; expected labels of y: "
            f"{', '.join(map(repr, known))}."
        )
    weights = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise invalid_parameter(
            "class_weight", class_weight, "finite weights that are not negative"
        )
    return weights
