"""Growing: every decision of a tree, audited against its definition."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import grown, table, table_of

from treerank import LeafRank, _core

pytestmark = pytest.mark.core


def audit(model, x, y, weight, splitter, categorical=()):
    codes = model._binning.transform(table_of(model, x))
    options = {
        "criterion": splitter.criterion,
        "max_depth": splitter.max_depth,
        "min_samples_leaf": splitter.min_samples_leaf,
        "min_auc_gain": model.min_auc_gain,
    }
    oracles.audit(model.tree_, codes, np.asarray(y), weight, options, categorical)


@examples(60)
@given(
    st.integers(4, 120), st.integers(1, 5), st.integers(0, 2**32 - 1),
    st.sampled_from(_core.CRITERIA), st.sampled_from([1, 2, 3, None]),
    st.integers(1, 6), st.sampled_from([0.0, 0.2]), st.booleans(),
)  # fmt: skip
def test_every_decision_is_the_best_one(n, p, seed, criterion, depth, least, missing, weighted):
    x, y = table(n, p, seed, missing=missing)
    weight = np.random.default_rng(seed).integers(1, 40, size=n).astype(float)
    weight[0] = 1  # a factor common to all would not count
    weight = weight if weighted else np.ones(n)
    splitter = LeafRank(criterion=criterion, max_depth=depth, min_samples_leaf=least)
    model = grown(x, y, weight, splitter=splitter, max_depth=3, min_samples_leaf=1)
    audit(model, x, y, weight, splitter)


@examples(30)
@given(st.integers(10, 150), st.integers(0, 2**32 - 1), st.sampled_from(["gini", "entropy"]))
def test_a_categorical_test_is_the_best_of_all_sets_of_levels(n, seed, criterion):
    x, y = table(n, 2, seed, missing=0.1, n_levels=6)
    splitter = LeafRank(criterion=criterion, max_depth=2)
    model = grown(
        x, y, splitter=splitter, max_depth=2, min_samples_leaf=1, categorical_features=[1]
    )
    audit(model, x, y, np.ones(n), splitter, categorical={1})


@examples(15)
@given(st.integers(15, 150), st.integers(0, 2**32 - 1), st.sampled_from(_core.CRITERIA),
       st.sampled_from([0.0, 3.0]))  # fmt: skip
def test_many_levels_are_judged_by_what_is_believed_of_them(n, seed, criterion, effect):
    x, y = table(n, 2, seed, missing=0.1, n_levels=9)
    rng = np.random.default_rng(seed)
    y = (effect * (np.nan_to_num(x[:, 1]) % 2 - 0.5) + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    splitter = LeafRank(criterion=criterion, max_depth=2)
    model = grown(
        x, y, splitter=splitter, max_depth=2, min_samples_leaf=1, categorical_features=[1]
    )
    audit(model, x, y, np.ones(n), splitter, categorical={1})


@pytest.mark.parametrize("max_bins", [16, 255, 1_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_nodes_decide_as_small_ones_do(max_bins, weighted):
    """The vector scan over histograms and the walk over occupied codes must agree."""
    x, y = table(1_200, 3, 5, missing=0.05, digits=2)
    weight = np.random.default_rng(0).integers(1, 40, size=len(y)).astype(float)
    weight = weight if weighted else np.ones(len(y))
    splitter = LeafRank(max_depth=2)
    model = grown(
        x, y, weight, splitter=splitter, max_depth=2, min_samples_leaf=1, max_bins=max_bins
    )
    audit(model, x, y, weight, splitter)


@examples(30)
@given(st.integers(4, 64), st.integers(17, 40), st.integers(0, 2**32 - 1), st.integers(1, 4),
       st.sampled_from([0.0, 0.1]), st.booleans())  # fmt: skip
def test_many_features_of_a_small_node_are_searched_at_once(n, p, seed, least, missing, levels):
    """More features than are searched side by side, some with missing values or levels."""
    x, y = table(n, p, seed, missing=missing, n_levels=6 * levels)
    splitter = LeafRank(max_depth=3, min_samples_leaf=least)
    categorical = [p - 1] if levels else []
    model = grown(
        x, y, splitter=splitter, max_depth=2, min_samples_leaf=1, categorical_features=categorical
    )
    audit(model, x, y, np.ones(n), splitter, categorical=set(categorical))


@pytest.mark.parametrize("seed", range(8))
def test_a_small_node_takes_the_first_of_equal_cuts(seed):
    """Weights that do not fit a byte are searched feature by feature, code by code."""
    x, y = table(60, 12, seed, missing=0.05)
    x = np.column_stack([x, x[:, ::-1], -x])
    weight = np.random.default_rng(seed).integers(1, 4, size=len(y)).astype(float)
    splitter = LeafRank(max_depth=None)
    trees = [
        grown(x, y, factor * weight, splitter=splitter, min_samples_leaf=1).tree_
        for factor in (1.0, 64.0)
    ]
    narrow, wide = trees
    for field in ("feature", "cut", "missing_left", "left"):
        np.testing.assert_array_equal(narrow.tests[field], wide.tests[field])


@examples(40)
@given(st.integers(4, 200), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4]))
def test_auc_is_one_half_plus_half_the_sum_of_deltas(n, seed, depth):
    x, y = table(n, 3, seed)
    model = grown(x, y, splitter=LeafRank(max_depth=depth), max_depth=None, min_samples_leaf=1)
    identity = 0.5 + model.tree_.cells["auc_gain"].sum()
    assert np.isclose(model.partition_.auc(), identity)
    assert np.isclose(oracles.auc(y, model.score_samples(x)), identity)


@examples(40)
@given(st.integers(4, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_rows_walk_to_the_cells_they_were_counted_in(n, seed, categorical):
    x, y = table(n, 3, seed, missing=0.1, n_levels=5)
    model = grown(
        x, y, max_depth=4, min_samples_leaf=2, categorical_features=[2] if categorical else None
    )
    codes = model._binning.transform(table_of(model, x))
    cells = model.tree_.apply(codes)
    assert cells.tolist() == [oracles.walk(model.tree_, codes, i) for i in range(n)]
    counts = np.array([np.bincount(y[cells == c], minlength=2) for c in model.tree_.leaves])
    assert np.array_equal(counts, model.tree_.counts[model.tree_.leaves])


def test_best_first_grows_the_leaves_that_gain_most():
    x, y = table(500, 4, 3)
    leaves = {}
    for limit in (2, 4, 7):
        splitter = LeafRank(max_depth=None, max_leaf_nodes=limit)
        tree = grown(x, y, splitter=splitter, max_depth=1).tree_
        leaves[limit] = int((tree.tests["left"] < 0).sum())
    assert leaves == {2: 2, 4: 4, 7: 7}
    deep = grown(x, y, splitter=LeafRank(max_depth=3), max_depth=1).tree_
    best = grown(x, y, splitter=LeafRank(max_depth=3, max_leaf_nodes=8), max_depth=1).tree_
    assert np.isclose(deep.cells["auc_gain"][0], best.cells["auc_gain"][0])


def test_limits_hold():
    x, y = table(1_000, 4, 7)
    model = grown(x, y, max_depth=4, min_samples_leaf=30, min_auc_gain=0.001)
    tree = model.tree_
    assert tree.cells["depth"].max() <= 4
    assert tree.counts.sum(axis=1).min() >= 30
    assert tree.cells["auc_gain"][tree.is_split].min() > 0.001
    split = grown(x, y, min_samples_split=400, min_samples_leaf=1).tree_
    assert split.counts[split.is_split].sum(axis=1).min() >= 400


@pytest.mark.parametrize("level", ["master", "inner"])
def test_drawn_features_depend_on_the_seed_only(level):
    x, y = table(800, 10, 11)
    parameters = (
        {"max_features": 2}
        if level == "master"
        else {"splitter": LeafRank(max_depth=3, max_features=2)}
    )
    first = grown(x, y, random_state=1, **parameters)
    same = grown(x, y, random_state=1, n_jobs=2, **parameters)
    other = grown(x, y, random_state=2, **parameters)
    assert np.array_equal(first.tree_.tests, same.tree_.tests)
    assert not np.array_equal(first.score_samples(x), other.score_samples(x))
    if level == "master":
        for cell in first.tree_.cells[first.tree_.is_split]:
            tests = first.tree_.tests[cell["first_test"] : cell["last_test"]]
            assert len(np.unique(tests["feature"][tests["left"] >= 0])) <= 2
