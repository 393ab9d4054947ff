"""Numbers are read where they lie: no copy of a table in another type or order."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from treerank import LeafRank, RankingForest, TreeRank
from treerank._input.frames import open_frame
from treerank._input.validation import validate_rows

N_ROWS, N_COLUMNS = 60_000, 10


def numbers(dtype, order="C"):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N_ROWS, N_COLUMNS)).astype(dtype)
    values[rng.random(values.shape) < 0.01] = np.nan
    return np.asarray(values, order=order)


def labels(x):
    return (np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) > 0).astype(int)


def fitted(x, y):
    tree = TreeRank(LeafRank(max_depth=2), max_depth=2, pruning=None, shrinkage=None)
    return tree.fit(x, y)


def arrow_table(x):
    return pa.table({f"x{j}": np.ascontiguousarray(column) for j, column in enumerate(x.T)})


CONTAINERS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "every second row of more": lambda x: np.repeat(x, 2, axis=0)[::2],
    "pandas, one block": lambda x: pd.DataFrame(x, columns=[f"x{j}" for j in range(N_COLUMNS)]),
    "pandas, column by column": lambda x: pd.DataFrame({f"x{j}": c for j, c in enumerate(x.T)}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_fit_takes_no_memory_for_another_copy_of_the_table(container, dtype):
    """The codes take a byte a value, and what is worked on a column at a time little beside."""
    given = CONTAINERS[container](numbers(dtype))
    y = labels(np.asarray(given, dtype=np.float64))
    tree = TreeRank(LeafRank(max_depth=2), max_depth=2, pruning=None, shrinkage=None)
    tree.fit(given[:100], y[:100])  # imports what it needs
    tracemalloc.start()
    tree.fit(given, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * N_ROWS * N_COLUMNS, f"{peak / (N_ROWS * N_COLUMNS):.2f} bytes a value"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_a_data_frame_are_views_of_it(dtype):
    x = np.nan_to_num(numbers(dtype))
    arrow = arrow_table(x)
    lying = [arrow[j].chunks[0].to_numpy(zero_copy_only=True) for j in range(N_COLUMNS)]
    frame = pd.DataFrame(x, columns=arrow.column_names, copy=False)
    model = fitted(frame, labels(x))
    for given, sources in [(frame, x.T), (arrow, lying)]:
        assert open_frame(given) is not None
        columns = validate_rows(model, given, [False] * N_COLUMNS).columns
        for column, source in zip(columns, sources, strict=True):
            assert np.shares_memory(column.values, source)


@pytest.mark.parametrize("container", [*CONTAINERS, "arrow"])
def test_short_numbers_give_the_model_of_the_same_long_ones(container):
    make = {**CONTAINERS, "arrow": arrow_table}[container]
    x = numbers(np.float32)
    y = labels(x.astype(np.float64))
    long, short = fitted(x.astype(np.float64), y), fitted(make(x), y)
    assert np.array_equal(short.tree_.tests, long.tree_.tests)
    np.testing.assert_array_equal(
        short.score_samples(make(x)), long.score_samples(x.astype(np.float64))
    )


def test_a_forest_grown_in_python_sees_short_numbers_as_long_ones():
    x = numbers(np.float32)[:500]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(N_COLUMNS)])
    y = labels(x.astype(np.float64))
    forests = [RankingForest(n_estimators=3).fit(f, y) for f in (frame, frame.astype(np.float64))]
    one, other = (forest.score_samples(frame) for forest in forests)
    np.testing.assert_array_equal(one, other)
