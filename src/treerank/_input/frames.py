"""Tables of any kind: some of their rows, and columns made into a data frame."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray


def take_rows_of(table: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of a data frame, an array or anything NumPy can read, in the order asked for."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    return table[rows] if hasattr(table, "shape") else np.asarray(table)[rows]


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
