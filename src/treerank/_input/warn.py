"""Warnings that point to the line of the user's code, wherever they are raised."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

# Stack frames of these packages are skipped, to find the user's code that called them.
_INSIDE = (
    str(Path(__file__).parents[1]),
    contextlib.__file__,
    *(str(Path(str(package.__file__)).parent) for package in (sklearn, joblib)),
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this library, scikit-learn and joblib."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
