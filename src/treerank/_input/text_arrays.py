"""NumPy arrays and lists of rows that contain text, so that some columns are categorical."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import DATES, Column, object_column
from treerank._input.frames import array_of_rows
from treerank._input.types import TableLike

# What missing values become when NumPy converts a whole array to text.
MISSING_WORDS = ("nan", "None", "<NA>")
NO_NUMBERS = (str, *DATES)


def open_text_array(X: TableLike) -> NDArray[Any] | None:
    """Return X as an array of objects or text if it contains text or dates; otherwise None."""
    if isinstance(X, list | tuple):
        try:
            X = array_of_rows(X)
        except ValueError:  # ragged rows, for which scikit-learn raises later
            return None
    if not isinstance(X, np.ndarray):
        return None
    if X.dtype.kind in "UT":
        return X
    is_text = X.dtype == object and any(isinstance(value, NO_NUMBERS) for value in X.flat)
    return X if is_text else None


def text_array_column(
    array: NDArray[Any], name: str, j: int, wanted: set[int] | None, fitted: bool
) -> Column:
    """Read one column; `wanted` and `fitted` as for `frame_column`."""
    values = array[:, j].tolist()
    if array.dtype != object and not fitted and (wanted is None or j not in wanted):
        _check_was_text(values, name)
    return object_column(values, name, j, wanted, fitted)


def _check_was_text(values: list[str], name: str) -> None:
    """Raise if NumPy seems to have converted numbers or missing values to text."""
    levels = sorted(set(values))
    missing = [word for word in MISSING_WORDS if word in levels]
    if missing or all(map(_is_number, levels)):
        raise ValueError(
            f"Column {name!r} has {(missing or levels)[0]!r} as text, in an array that holds "
            "nothing but text; expected numbers as numbers and missing values as None or NaN. "
            "Make the array with dtype=object, pass a data frame, or name the column in "
            "categorical_features."
        )


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True
