"""Lazy scores of Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np

# Type of the result of each method; None: that of the classes.
RESULTS: dict[str, Any] = {
    "score_samples": np.float64,
    "predict_proba": np.float64,
    "predict": None,
    "apply": np.int32,
}


def lazily(model: Any, method: str, X: Any) -> Any:
    """Call a method of a fitted local model on every partition.

    A DataFrame gives a Series, or a DataFrame if there are several numbers per row; an Array
    gives an Array.
    """
    dtype = RESULTS[method] if RESULTS[method] is not None else model.classes_.dtype
    width = _width(model, method)
    if hasattr(X, "columns"):
        columns = _columns(model, method, width)
        return X.map_partitions(_score_frame, model, method, columns,
                                meta=_empty(dtype, columns, X._meta.index))  # fmt: skip
    X = X.rechunk({1: -1})
    meta = np.empty((0,) if width is None else (0, 0), dtype=dtype)
    if width is None:
        return X.map_blocks(_score_block, model, method, drop_axis=1, dtype=dtype, meta=meta)
    chunks = (X.chunks[0], (width,))
    return X.map_blocks(_score_block, model, method, chunks=chunks, dtype=dtype, meta=meta)


def _width(model: Any, method: str) -> int | None:
    """Number of values per row; None for one value."""
    if method == "predict_proba":
        return len(model.classes_)
    if method == "apply" and hasattr(model, "n_estimators"):
        return 0 if model._trees is None else int(model._trees.n_trees)
    return None


def _columns(model: Any, method: str, width: int | None) -> list[Any] | str:
    if width is None:
        return "score" if RESULTS[method] is np.float64 else method
    return list(model.classes_) if method == "predict_proba" else list(range(width))


def _empty(dtype: Any, columns: list[Any] | str, index: Any) -> Any:
    import pandas as pd  # noqa: PLC0415 (a Dask DataFrame is made of pandas)

    if isinstance(columns, str):
        return pd.Series(np.empty(0, dtype=dtype), name=columns, index=index)
    return pd.DataFrame({name: np.empty(0, dtype=dtype) for name in columns}, index=index)


def _score_frame(part: Any, model: Any, method: str, columns: list[Any] | str) -> Any:
    import pandas as pd  # noqa: PLC0415

    if len(part) == 0:
        dtype = RESULTS[method] if RESULTS[method] is not None else model.classes_.dtype
        return _empty(dtype, columns, part.index)
    values = getattr(model, method)(part)
    if isinstance(columns, str):
        return pd.Series(values, index=part.index, name=columns)
    return pd.DataFrame(values, index=part.index, columns=columns)


def _score_block(part: Any, model: Any, method: str) -> Any:
    if len(part) == 0:
        dtype = RESULTS[method] if RESULTS[method] is not None else model.classes_.dtype
        width = _width(model, method)
        return np.empty((0,) if width is None else (0, width), dtype=dtype)
    return getattr(model, method)(part)
