"""Types of user input, and short names of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from narwhals.typing import IntoDataFrame
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]

# A matrix, or a data frame of pandas, Polars, Arrow or any other library that narwhals supports.
TableLike: TypeAlias = ArrayLike | IntoDataFrame
Label: TypeAlias = str | float | bool | np.generic
LabelOrder: TypeAlias = Sequence[Label] | NDArray[Any] | None
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
ClassWeight: TypeAlias = Mapping[Label, float] | str | None


class FittedClassifier(Protocol):
    """A fitted classifier of this or another library."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels; `label_order_of` puts them in the order of the ranking."""


class FittedRanker(FittedClassifier, Protocol):
    """A fitted model that ranks."""

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row; higher is better."""
