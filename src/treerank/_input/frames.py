"""Helpers for tables of any library: opening them, taking rows, and building data frames."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from treerank._input.types import TableLike

FEW_ROWS = 16


def open_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Wrap a data frame of any library with narwhals; return None for anything else."""
    if isinstance(table, np.ndarray):
        return None
    if nw.dependencies.is_pyarrow_table(table):
        table = _without_views(table)
    try:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        # The columns of a pyarrow table are the values.
        names = [str(name) for name in getattr(table, "column_names", table.columns)]
        [(name, count)] = Counter(names).most_common(1)
        raise ValueError(
            f"Got {count} columns named {name!r}; expected unique column names. Rename them, or "
            "drop some."
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _without_views(table: Any) -> Any:
    """Return a table of pyarrow whose text can be taken row by row, as views cannot."""
    views = [field.name for field in table.schema if str(field.type) == "string_view"]
    for name in views:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(place).cast("large_string"))
    return table


def few_rows(table: Any) -> tuple[list[Any], NDArray[Any]] | None:
    """Return the names and values of a short pandas or polars frame; otherwise None.

    A service scores one row at a time. Reading such a frame as a whole takes a tenth of the time
    of reading it column by column.
    """
    if nw.dependencies.is_pandas_dataframe(table):
        if not 0 < len(table) <= FEW_ROWS:
            return None
        return table.columns.tolist(), table.to_numpy(dtype=object)
    if nw.dependencies.is_polars_dataframe(table) and 0 < len(table) <= FEW_ROWS:
        values = np.empty(table.shape, dtype=object)
        for i, row in enumerate(table.rows()):
            for j, value in enumerate(row):
                values[i, j] = value
        return table.columns, values
    return None


def check_numeric(X: TableLike, owner: str) -> None:
    """Raise if X cannot be converted to numbers: text, dates, integers too large for a double."""
    if issparse(X):
        return
    try:
        check_array(
            X, dtype=np.float64, ensure_all_finite=False, ensure_2d=False, allow_nd=True,
            ensure_min_samples=0, ensure_min_features=0,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"Got X that does not hold numbers alone ({error}); expected numbers, for {owner} "
            "takes no text, categories or dates. Encode them first."
        ) from None


def take_rows_of(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return rows of a data frame, an array or anything NumPy can read, in the given order."""
    frame = open_frame(table)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return table[rows] if hasattr(table, "shape") else array_of_rows(table)[rows]


def array_of_rows(rows: Any) -> NDArray[Any]:
    """Convert lists of rows to an array, of objects if there is text, so that numbers are kept."""
    array = np.asarray(rows)
    return np.array(rows, dtype=object) if array.dtype.kind == "U" else array


def frame_of(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Build a data frame of the given library, or of the first one that is installed."""
    names: list[Any] = [backend] if backend else ["pandas", "polars", "pyarrow"]
    for name in names:
        try:
            return nw.from_dict(columns, backend=name).to_native()
        except ModuleNotFoundError:
            continue
    wanted = backend or "pandas, polars or pyarrow"
    raise ModuleNotFoundError(f"A data frame needs {wanted}; install it.")
