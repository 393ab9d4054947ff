"""Tables of any library: rows and columns by position, and a fingerprint."""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import is_missing, object_kinds
from treerank._input.frames import open_frame
from treerank._input.types import FittedClassifier, TableLike


class RowTable:
    """Rows of a data frame or of an array.

    New tables only take existing values by position, so that no column changes its type.
    """

    def __init__(self, X: TableLike) -> None:
        self._frame = open_frame(X)
        self._array = np.asarray(X if self._frame is None else ())

    def __len__(self) -> int:
        return len(self._array) if self._frame is None else len(self._frame)

    @property
    def native(self) -> Any:
        """The data frame or array, as input of a model."""
        return self._array if self._frame is None else self._frame.to_native()

    @property
    def names(self) -> list[str]:
        """Names of the columns; x0, x1, … for an array."""
        if self._frame is None:
            return [f"x{j}" for j in range(self._array.shape[1])]
        return [str(name) for name in self._frame.columns]

    def take(self, rows: NDArray[np.intp]) -> RowTable:
        """Return the rows at the given positions."""
        if self._frame is None:
            return RowTable(self._array[rows])
        return RowTable(self._frame[rows.tolist()].to_native())

    def with_values_of(self, j: int, rows: NDArray[np.intp], source: RowTable) -> RowTable:
        """Return a copy whose column j has the values of the source at the given rows."""
        if self._frame is None or source._frame is None:
            array = self._array.copy()
            array[:, j] = source._array[rows, j]
            return RowTable(array)
        values = source._frame[:, j][rows.tolist()].alias(self._frame.columns[j])
        return RowTable(self._frame.with_columns(values).to_native())

    def column(self, j: int) -> NDArray[Any]:
        """Return numbers with NaN for missing values, or text with None for missing values."""
        if self._frame is None:
            return _as_column(self._array[:, j].tolist(), self._array[:, j])
        series = self._frame[:, j]
        if series.dtype.is_numeric():
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return _as_column(series.to_list(), None)


def _as_column(values: list[Any], array: NDArray[Any] | None) -> NDArray[Any]:
    if array is not None and array.dtype.kind in "biuf":
        return array.astype(np.float64)
    first = next((value for value in values if not is_missing(value)), "")
    if not isinstance(first, str) and object_kinds(values).counts.keys() == {"number"}:
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    column = np.empty(len(values), dtype=object)
    column[:] = [None if is_missing(value) else str(value) for value in values]
    return column


def table_names(table: RowTable, model: FittedClassifier) -> list[str]:
    """Return the feature names of the model, or else those of the table."""
    names = getattr(model, "feature_names_in_", None)
    return table.names if names is None else [str(name) for name in names]


def fingerprint(table: RowTable, labels: NDArray[Any], weight: NDArray[np.float64] | None) -> str:
    """SHA-256 of names, values, class numbers and weights, to identify a data set.

    The same numbers and texts give the same fingerprint, whether they come from pandas,
    polars or NumPy.
    """
    digest = hashlib.sha256(repr((len(table), table.names)).encode())
    for j in range(len(table.names)):
        values = table.column(j)
        if values.dtype == object:
            digest.update(repr(values.tolist()).encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.where(np.isnan(values), np.nan, values).tobytes())
    digest.update(np.asarray(labels, dtype=np.int64).tobytes())
    if weight is not None:
        digest.update(weight.tobytes())
    return digest.hexdigest()
