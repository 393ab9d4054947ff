"""The types of parameters that several estimators have."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from numpy.typing import ArrayLike

# A share of the rows, or a range of false positive rates.
FocusLike: TypeAlias = float | tuple[float, float] | None
# "from_dtype", or names, numbers or a mask of columns.
CategoricalFeatures: TypeAlias = ArrayLike | None
# -1, 0 or 1 for each feature, or by name.
MonotonicCst: TypeAlias = ArrayLike | Mapping[str, int] | None
# Of files: one, a folder, a pattern, or a list of these.
Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
