"""Types of parameters that several estimators share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from numpy.typing import ArrayLike

# A proportion of the rows, or a range of false positive rates.
FocusLike: TypeAlias = float | tuple[float, float] | None
# "from_dtype", or names, indices or a mask of columns.
CategoricalFeatures: TypeAlias = ArrayLike | None
# -1, 0 or 1 for each feature, by position or by name.
MonotonicCst: TypeAlias = ArrayLike | Mapping[str, int] | None
# A file, a folder, a glob pattern, or a list of these.
Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
