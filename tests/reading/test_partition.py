"""The ordered partition: curve, area, order and table."""

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank import OrderedPartition, TreeRank

counts = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8
).filter(lambda c: all(np.sum(c, axis=0) > 0))  # fmt: skip


@given(counts)
def test_auc_equals_mann_whitney_with_ties(table):
    partition = OrderedPartition(table)
    y = np.concatenate([np.repeat([0, 1], cell) for cell in table])
    score = np.concatenate([np.full(sum(cell), -i) for i, cell in enumerate(table)])
    assert np.isclose(partition.auc(), oracles.auc(y, score))


@given(counts)
def test_concave_order_has_the_largest_auc(table):
    partition = OrderedPartition(table)
    concave = partition.reorder_concave()
    assert concave.auc() >= partition.auc() - 1e-12
    fpr, tpr = concave.roc()
    cross = np.diff(fpr)[1:] * np.diff(tpr)[:-1] - np.diff(fpr)[:-1] * np.diff(tpr)[1:]
    assert (cross >= -1e-12).all()
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert concave.auc() >= OrderedPartition(rng.permutation(table)).auc() - 1e-12


def test_roc_runs_from_corner_to_corner():
    fpr, tpr = OrderedPartition([[0, 3], [2, 0]]).roc()
    assert fpr.tolist() == [0, 0, 1]
    assert tpr.tolist() == [0, 1, 1]


def test_posterior_is_smoothed_towards_the_overall_shares():
    partition = OrderedPartition([[0, 2], [6, 0]])
    assert partition.posterior().tolist() == [[0, 1], [1, 0]]
    smooth = partition.posterior(smoothing=4)
    assert np.allclose(smooth.sum(axis=1), 1)
    assert np.allclose(smooth[0], [3 / 6, 3 / 6])


@pytest.mark.parametrize(("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_strata_table(backend, kind):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"income": rng.normal(size=300), "age": rng.normal(size=300)})
    y = np.where(x["income"] > 0, "good", "bad")
    frame = TreeRank().fit(x, y).partition_.to_frame(backend)
    assert isinstance(frame, kind)
    assert {"stratum", "score", "rows", "n_bad", "n_good", "event_rate", "rule"} <= set(
        frame.columns
    )
    assert sum(frame["rows"]) == 300
    assert "income" in frame["rule"][0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 2, 3], "shape"),
        ([[1, -1], [1, 1]], "negative"),
        ([[1, 0], [1, 0]], "class without weight"),
        ([[np.nan, 1]], "finite"),
    ],
)
def test_bad_counts_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        OrderedPartition(bad)


def test_scores_must_fall_and_rules_must_be_known():
    with pytest.raises(ValueError, match="best cell first"):
        OrderedPartition([[1, 1], [1, 1]], scores=[1, 2])
    with pytest.raises(ValueError, match="no rules"):
        OrderedPartition([[1, 1]]).rules()
    with pytest.raises(ValueError, match="needs two"):
        OrderedPartition([[1, 1, 1]]).roc()
