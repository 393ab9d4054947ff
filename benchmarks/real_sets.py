"""Real sets for the comparisons: which there are, their rows, and columns as rivals want them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from treerank.datasets import BenchmarkUnavailableError, list_benchmarks, load_benchmark

MAX_ROWS = 3_000
QUICK_SETS = 4
Load = Callable[[str], tuple[Any, Any]]


def load_rows(name: str, seed: int, max_rows: int = MAX_ROWS, last: bool = False) -> Any:
    """Rows and labels of a set: the first, or last, `max_rows` of a shuffle, in their order.

    Columns are called x0, x1, …, since LightGBM and XGBoost refuse some characters in names.
    """
    found = load_benchmark(name)
    shuffled = np.random.RandomState(seed).permutation(len(found.y))
    rows = np.sort(shuffled[-max_rows:] if last else shuffled[:max_rows])
    X = found.X.iloc[rows].reset_index(drop=True)
    return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1), found.y[rows]


def sets(
    task: str, load: Load, quick: bool, skipped: list[str] | None = None
) -> Iterator[tuple[str, Any, Any]]:
    """Sets of a task that can be had, with `quick` four; the names of others go to `skipped`.

    Sets called "complete" are the rows without a missing value of another set: they are left out.
    """
    names = [n for n in list_benchmarks(task) if not n.endswith("_complete")]
    for name in names[: QUICK_SETS if quick else None]:
        try:
            yield name, *load(name)
        except BenchmarkUnavailableError as error:
            print(f"{name}: left out. {error}", flush=True)
            if skipped is not None:
                skipped.append(name)


def one_hot(model: Any, *before: Any, numbers: Any = "passthrough") -> Pipeline:
    """Put one column a category level before a model; `numbers` says what becomes of the others."""
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer(
        (levels, make_column_selector(dtype_include="category")), remainder=numbers
    )
    return make_pipeline(encode, *before, model)
