"""Monotone constraints hold in the score, between any two rows, not only at single splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import BoostedTreeRank, LeafRank, TreeRank


def wavy(n, p, seed):
    """Labels that run against the constraint here and there."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, p)).round(2)
    x[rng.random((n, p)) < 0.03] = np.nan
    signal = np.nan_to_num(x[:, 0] + np.sin(4 * x[:, 0]) - x[:, 1] + np.cos(3 * x[:, -1]))
    return x, (signal + rng.normal(size=n) > 0).astype(int)


def assert_monotone(model, p, signs, seed, n_chains=60, length=40, slack=1e-12):
    rng = np.random.default_rng(seed)
    for j in np.flatnonzero(signs):
        rows = rng.uniform(-2.2, 2.2, size=(n_chains, 1, p))
        rows = np.repeat(rows, length, axis=1)
        rows[:, :, j] = np.sort(rng.uniform(-2.2, 2.2, size=(n_chains, length)), axis=1)
        scores = model.score_samples(rows.reshape(-1, p)).reshape(n_chains, length)
        steps = np.diff(scores, axis=1) * signs[j]
        assert steps.min() >= -slack


@examples(30)
@given(
    st.integers(50, 600), st.integers(2, 4), st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, 6]), st.sampled_from(["cv", 10.0, None]),
    st.sampled_from([None, "cv"]), st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Got a class")
def test_chains_of_points_keep_their_order(n, p, seed, depth, shrinkage, pruning, criterion):
    x, y = wavy(n, p, seed)
    if len(np.unique(y)) < 2:
        return
    signs = np.zeros(p, dtype=int)
    signs[:2] = 1, -1
    model = TreeRank(
        LeafRank(max_depth=depth, criterion=criterion), monotonic_cst=signs, shrinkage=shrinkage,
        pruning=pruning, min_samples_leaf=2,
    ).fit(x, y)  # fmt: skip
    assert_monotone(model, p, signs, seed)


def test_without_the_constraint_the_same_data_break_the_order():
    x, y = wavy(2_000, 2, 0)
    free = TreeRank(LeafRank(max_depth=3), pruning=None).fit(x, y)
    with pytest.raises(AssertionError):
        assert_monotone(free, 2, np.array([1, -1]), 0)


def test_a_constraint_that_fits_the_data_costs_little():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3_000, 3))
    y = (x[:, 0] - x[:, 1] + rng.normal(size=3_000) > 0).astype(int)
    free = TreeRank().fit(x[:1_500], y[:1_500]).score(x[1_500:], y[1_500:])
    bound = TreeRank(monotonic_cst=[1, -1, 0]).fit(x[:1_500], y[:1_500])
    assert bound.score(x[1_500:], y[1_500:]) > free - 0.01


def test_names_and_lists_say_the_same():
    import pandas as pd

    x, y = wavy(500, 3, 1)
    frame = pd.DataFrame(x, columns=["age", "rate", "debt"])
    by_name = TreeRank(monotonic_cst={"age": 1, "debt": -1}).fit(frame, y)
    by_place = TreeRank(monotonic_cst=[1, 0, -1]).fit(frame, y)
    assert np.array_equal(by_name.score_samples(frame), by_place.score_samples(frame))


def test_leafrank_alone_keeps_the_constraint():
    x, y = wavy(800, 2, 5)
    model = LeafRank(max_depth=4, monotonic_cst=[1, -1]).fit(x, y)
    assert_monotone(model, 2, np.array([1, -1]), 5)


@examples(60)
@given(
    n=st.integers(20, 500), p=st.integers(2, 4), seed=st.integers(0, 2**32 - 1),
    max_depth=st.integers(1, 3), leafrank_depth=st.integers(1, 4),
    leaf_values=st.sampled_from(["leaf", "stratum"]), n_classes=st.integers(2, 4),
    loss=st.sampled_from(["auto", "pairwise", "rankboost"]), least=st.sampled_from([1, 5]),
    draws=st.sampled_from([{}, {"max_features": None}, {"subsample": 0.7}]),
    l2=st.sampled_from([0.0, 5.0]),
)  # fmt: skip
def test_boosting_keeps_every_chain_to_the_last_bit(
    n, p, seed, max_depth, leafrank_depth, leaf_values, n_classes, loss, least, draws, l2
):
    x, y = wavy(n, p, seed)
    y = np.digitize(np.nan_to_num(x[:, 0]) + 2 * y, np.linspace(-1, 2, n_classes - 1))
    if len(np.unique(y)) < 2:
        return
    signs = np.zeros(p, dtype=int)
    signs[:2] = 1, -1
    model = BoostedTreeRank(
        15, learning_rate=0.5, max_depth=max_depth, leafrank_depth=leafrank_depth,
        leaf_values=leaf_values, loss=loss, min_samples_leaf=least, l2_regularization=l2,
        monotonic_cst=signs, **draws,
    ).fit(x, y)  # fmt: skip
    assert_monotone(model, p, signs, seed, slack=0)


def test_boosting_without_the_constraint_breaks_the_order():
    x, y = wavy(2_000, 2, 0)
    free = BoostedTreeRank(30).fit(x, y)
    with pytest.raises(AssertionError):
        assert_monotone(free, 2, np.array([1, -1]), 0)


def test_boosting_under_a_constraint_that_fits_ranks_as_well():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3_000, 3))
    y = (x[:, 0] - x[:, 1] + np.sin(3 * x[:, 2]) + rng.normal(size=3_000) > 0).astype(int)
    free = BoostedTreeRank(100).fit(x[:1_500], y[:1_500]).score(x[1_500:], y[1_500:])
    bound = BoostedTreeRank(100, monotonic_cst=[1, -1, 0]).fit(x[:1_500], y[:1_500])
    assert bound.score(x[1_500:], y[1_500:]) > free - 0.002


def test_boosting_takes_constraints_by_name_and_by_place():
    import pandas as pd

    x, y = wavy(500, 3, 1)
    frame = pd.DataFrame(x, columns=["age", "rate", "debt"])
    by_name = BoostedTreeRank(20, monotonic_cst={"age": 1, "debt": -1}).fit(frame, y)
    by_place = BoostedTreeRank(20, monotonic_cst=[1, 0, -1]).fit(frame, y)
    free = BoostedTreeRank(20).fit(frame, y)
    assert np.array_equal(by_name.score_samples(frame), by_place.score_samples(frame))
    assert not np.array_equal(by_name.score_samples(frame), free.score_samples(frame))


def test_boosting_probabilities_of_ordered_classes_rise_with_the_feature():
    x, y = wavy(600, 2, 2)
    y = np.digitize(np.nan_to_num(x[:, 0]) + 2 * y, [0.0, 1.5])
    model = BoostedTreeRank(30, monotonic_cst=[1, 0]).fit(x, y)
    line = np.column_stack([np.linspace(-2, 2, 200), np.full(200, 0.3)])
    above = np.cumsum(model.predict_proba(line)[:, ::-1], axis=1)[:, :-1]
    assert np.diff(above, axis=0).min() >= -1e-12


def test_boosting_refuses_a_constraint_on_a_category():
    import pandas as pd

    frame = pd.DataFrame({"kind": list("abcd") * 10, "size": np.arange(40.0)})
    with pytest.raises(ValueError, match="'kind', which is a category"):
        BoostedTreeRank(monotonic_cst={"kind": 1}).fit(frame, np.arange(40) % 2)
