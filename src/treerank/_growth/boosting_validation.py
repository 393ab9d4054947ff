"""Validation rows for early stopping of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._binning.binning import Codes
from treerank._growth.boosting import BoostingRows, boosting_units
from treerank._input.labels import check_known_labels, check_labels
from treerank._input.weights import check_weights, quantise


def check_validation(X: Any, y: Any, sample_weight: Any) -> None:
    """Check that rows and labels are given, or neither."""
    if (X is None) != (y is None):
        given, lacking = ("X_val", "y_val") if y is None else ("y_val", "X_val")
        raise ValueError(f"Got {given} without {lacking}; expected both, or neither.")
    if X is None and sample_weight is not None:
        raise ValueError("Got sample_weight_val without X_val and y_val; expected them, too.")


def validation_rows(
    codes: Codes, y: ArrayLike, sample_weight: ArrayLike | None, classes: NDArray[Any]
) -> BoostingRows:
    """Check the labels and weights of encoded rows against the classes of the training rows."""
    n_rows, n_classes = codes.shape[1], len(classes)
    try:
        known = check_known_labels(y, classes)
        lacking = np.setdiff1d(classes, known).tolist()
        if lacking:
            raise ValueError(f"Got no row of class {lacking[0]!r}; expected some of every class.")
        labels, _ = check_labels(known, n_rows, classes, n_classes)
        units, scale = boosting_units(quantise(check_weights(sample_weight, n_rows)))
    except ValueError as error:
        raise ValueError(f"In y_val or sample_weight_val: {error}") from None
    return BoostingRows(codes, labels.astype(np.intp), units, scale, 1.0, n_classes)
