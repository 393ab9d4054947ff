"""Tables of any kind: some of their rows, and columns made into a data frame."""

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
    """Return a data frame of any library as narwhals has it; None for anything else."""
    if isinstance(table, np.ndarray):
        return None
    try:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in table.columns]
        [(name, count)] = Counter(names).most_common(1)
        raise ValueError(
            f"Got {count} columns named {name!r}; expected unique column names. Rename them, or "
            "drop some."
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def few_rows(table: Any) -> tuple[list[Any], NDArray[Any]] | None:
    """Return the names and the values of a short frame of pandas or polars; else None.

    A service scores one row at a time: taken as a whole it costs a tenth of what its columns cost
    one by one.
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
    """Refuse what cannot be made numbers: text, dates, integers beyond the largest double."""
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
    """Rows of a data frame, an array or anything NumPy can read, in the order asked for."""
    frame = open_frame(table)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return table[rows] if hasattr(table, "shape") else array_of_rows(table)[rows]


def array_of_rows(rows: Any) -> NDArray[Any]:
    """Lists of rows as an array; of objects where there is text, which keeps numbers numbers."""
    array = np.asarray(rows)
    return np.array(rows, dtype=object) if array.dtype.kind == "U" else array


def frame_of(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Build a data frame of the library named, or of the first that is installed."""
    names: list[Any] = [backend] if backend else ["pandas", "polars", "pyarrow"]
    for name in names:
        try:
            return nw.from_dict(columns, backend=name).to_native()
        except ModuleNotFoundError:
            continue
    wanted = backend or "pandas, polars or pyarrow"
    raise ModuleNotFoundError(f"A data frame needs {wanted}; install it, or use columns().")
