"""Validation rows for early stopping of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._binning.binning import Codes
from treerank._growth.boosting import BoostingRows, boosting_units
from treerank._input.labels import check_labels
from treerank._input.weights import check_weights, quantise


def validation_rows(
    codes: Codes, y: ArrayLike, sample_weight: ArrayLike | None, classes: NDArray[Any]
) -> BoostingRows:
    """Check the labels and weights of encoded rows against the classes of the training rows."""
    n_rows, n_classes = codes.shape[1], len(classes)
    lacking = np.setdiff1d(classes, np.asarray(y))
    if len(lacking):
        raise ValueError(
            f"Got a y_val that lacks class {lacking[0]!r}; expected some rows of every class."
        )
    labels, _ = check_labels(y, n_rows, classes, n_classes)
    units, scale = boosting_units(quantise(check_weights(sample_weight, n_rows)))
    return BoostingRows(codes, labels.astype(np.intp), units, scale, 1.0, n_classes)
