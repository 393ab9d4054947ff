"""Refuses containers that NumPy would misread, with the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse

from treerank._input.frames import open_frame
from treerank._input.types import TableLike


def open_readable(X: TableLike) -> nw.DataFrame[Any] | None:
    """Wrap a data frame; return None for another table, and raise for what is no table."""
    frame = open_frame(X)
    if frame is None:
        _check_readable(X)
    return frame


def _check_readable(X: TableLike) -> None:
    if hasattr(X, "__dask_graph__"):
        raise TypeError(
            f"Got X of type {type(X).__module__.split('.')[0]} {type(X).__name__}; expected a "
            "table in memory: call compute() on it, or train with treerank.dask."
        )
    if type(X) is str or hasattr(X, "collect_schema"):
        hint = "call collect() first" if hasattr(X, "collect_schema") else "read it first"
        raise TypeError(f"Got X of type {type(X).__name__}; expected a table: {hint}.")
    if type(X).__name__ == "RecordBatch":  # NumPy reads it as rows without names
        raise TypeError(
            "Got X of type RecordBatch; expected a table: pyarrow.Table.from_batches([X])."
        )
    _check_no_mapping(X)
    _check_no_series(X)
    if isinstance(X, np.ndarray):
        _check_array(X)


def _check_no_mapping(X: Any) -> None:
    if isinstance(X, Mapping) and not issparse(X):  # a sparse dictionary of keys is refused as such
        raise TypeError(
            f"Got X of type {type(X).__name__}; expected a table. Pass pandas.DataFrame(X) if it "
            "has a list for each column, pandas.DataFrame([X]) if it is one row."
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        raise TypeError(
            f"Got X as a {type(X).__name__} of {type(X[0]).__name__}; expected a table. Pass "
            "pandas.DataFrame(X)."
        )


def _check_no_series(X: Any) -> None:
    if not isinstance(nw.from_native(X, allow_series=True, pass_through=True), nw.Series):
        return
    remedy = "Pass a data frame of one row or one column"
    if nw.dependencies.is_pandas_series(X):
        remedy += ": table.iloc[[0]] for a row, table[['name']] for a column"
    raise ValueError(
        f"Got X of type {type(X).__name__}, which has one dimension (length {len(X)}); expected a "
        f"table of rows and columns. {remedy}."
    )


def _check_array(X: np.ndarray[Any, Any]) -> None:
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(
            "Got a masked array; expected NaN for missing. Pass X.astype(float).filled(numpy.nan)."
        )
    if X.dtype.names is not None:
        fields = ", ".join(map(repr, X.dtype.names[:8])) + (", …" if len(X.dtype.names) > 8 else "")
        raise ValueError(
            f"Got a structured array with the fields {fields}; expected a table of rows and "
            "columns. Pass pandas.DataFrame(X), which keeps the names."
        )
    if X.dtype.kind in "SmM":
        kind, remedy = (
            ("bytes", "Decode them: X.astype(str).")
            if X.dtype.kind == "S"
            else ("dates", "Count days since a fixed day.")
        )
        raise ValueError(
            f"Got an array of {kind} (dtype {X.dtype}); expected numbers or text. {remedy}"
        )
