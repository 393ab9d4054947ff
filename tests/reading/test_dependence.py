"""Partial dependence by group walks, against averages of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import frame

from treerank import LeafRank, TreeRank
from treerank.inspection import partial_dependence
from treerank.metrics import roc_auc_score


def brute_force(model, x, features, grid, weight=None, probability=False):
    """The definition: predict copies of the rows, each with the features replaced."""
    average = np.empty([len(values) for values in grid])
    for place in np.ndindex(average.shape):
        copy = x.copy()
        for feature, values, i in zip(features, grid, place, strict=True):
            copy[feature] = values[i]
        response = model.predict_proba(copy)[:, 1] if probability else model.score_samples(copy)
        average[place] = np.average(response, weights=weight)
    return average


@pytest.mark.core
@examples(30)
@given(
    st.integers(20, 80), st.integers(0, 2**32 - 1), st.sampled_from([1, 3]),
    st.sampled_from([["a"], ["level"], ["b", "c"], ["level", "a"]]), st.booleans(),
    st.sampled_from([None, 20]),
)  # fmt: skip
def test_equals_the_average_of_predictions(n, seed, depth, features, weighted, max_bins):
    x, y = frame(n, seed)
    model = TreeRank(
        LeafRank(max_depth=depth), pruning=None, min_samples_leaf=2, max_bins=max_bins or "auto"
    ).fit(x, y)
    weight = np.random.default_rng(seed).random(n) if weighted else None
    probability = seed % 2 == 0
    found = partial_dependence(
        model, x, features, grid_resolution=6, sample_weight=weight,
        response="probability" if probability else "score",
    )  # fmt: skip
    assert found.features == tuple(features)
    slow = brute_force(model, x, features, found.grid, weight, probability)
    assert np.abs(found.average - slow).max() <= 1e-12


def test_a_fine_grid_takes_several_walks():
    x, y = frame(3_000, 0, missing=0.0)
    model = TreeRank(LeafRank(max_depth=3), pruning=None, shrinkage=0.0).fit(x, y)
    found = partial_dependence(model, x, ["a", "b"], grid_resolution=150)
    assert len(np.unique(found.average, axis=0)) > 64
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, 150, size=(5, 2)):
        grid = [found.grid[0][[i]], found.grid[1][[j]]]
        slow = brute_force(model, x, ["a", "b"], grid)
        assert abs(found.average[i, j] - slow[0, 0]) <= 1e-12


def test_threads_and_blocks_of_rows_do_not_matter():
    x, y = frame(60_000, 1)
    model = TreeRank(pruning=None, max_depth=6).fit(x, y)
    one = partial_dependence(model, x, "a").average
    model.n_jobs = 3
    many = partial_dependence(model, x, "a").average
    assert np.array_equal(one, many)
    halves = [partial_dependence(model, part, "a", percentiles=(0.0, 1.0), grid_resolution=2)
              for part in (x, x.iloc[::-1])]  # fmt: skip
    assert np.allclose(halves[0].average, halves[1].average, rtol=1e-13)


def test_walks_of_all_rows_equal_predictions():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(10_000, 10))
    y = (x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(size=10_000) > 0).astype(int)
    model = TreeRank(pruning=None).fit(x, y)
    assert roc_auc_score(y, model.score_samples(x)) > 0.8
    found = partial_dependence(model, x, 0)
    slow = np.empty(100)
    copy = x.copy()
    for i, value in enumerate(found.grid[0]):
        copy[:, 0] = value
        slow[i] = model.score_samples(copy).mean()
    assert np.abs(found.average - slow).max() <= 1e-12


def test_a_feature_that_is_never_tested_changes_nothing():
    x, y = frame(500, 3)
    x["still"] = 0.0
    model = TreeRank().fit(x, y)
    found = partial_dependence(model, x, "still")
    assert found.grid[0].tolist() == [0.0]
    assert np.isclose(found.average[0], model.score_samples(x).mean(), rtol=0, atol=1e-13)


def test_the_grid_of_a_column_that_is_mostly_zero_reaches_its_other_values():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((3000, 1)) < 0.96, 0.0, rng.lognormal(0, 3, (3000, 1)))
    model = LeafRank().fit(x, (x[:, 0] > 1) ^ (rng.random(3000) < 0.1))
    grid = partial_dependence(model, x, 0, grid_resolution=50).grid[0]
    others = x[x > 0]
    assert len(np.unique(grid)) == 50
    assert grid[0] == 0
    assert np.quantile(others, 0.9) < grid[-1] < others.max()
    below = partial_dependence(model, -x, 0, grid_resolution=50).grid[0]
    assert np.allclose(below, -grid[::-1])


def test_grids():
    x, y = frame(500, 4, missing=0.2)
    x["few"] = np.arange(500) % 3
    model = TreeRank().fit(x, y)
    assert partial_dependence(model, x, "few").grid[0].tolist() == [0, 1, 2]
    assert partial_dependence(model, x, 3).grid[0].tolist() == ["u", "v", "w"]
    grid = partial_dependence(model, x, "a", grid_resolution=11).grid[0]
    assert np.allclose(grid[[0, -1]], x["a"].quantile([0.05, 0.95]))
    assert len(grid) == 11


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": "z"}, "Got feature 'z'; expected a column name, or a position"),
        ({"features": ["a", "a"]}, "expected one or two different features"),
        ({"features": ["a", "b", "c"]}, "expected one or two different features"),
        ({"features": 9}, "position from 0 to 3"),
        ({"features": "a", "grid_resolution": 1}, "Got grid_resolution=1; expected an integer"),
        ({"features": "a", "percentiles": (0.9, 0.1)}, "0 <= low < high <= 1"),
        ({"features": "a", "response": "logit"}, "Got response='logit'; expected one of 'score'"),
        ({"features": "a", "sample_weight": [1.0]}, "expected 100 finite weights"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    x, y = frame(100, 5)
    model = TreeRank().fit(x, y)
    with pytest.raises(ValueError, match=message):
        partial_dependence(model, x, **arguments)


def test_other_models_are_sent_to_scikit_learn():
    with pytest.raises(ValueError, match=r"sklearn\.inspection\.partial_dependence"):
        partial_dependence(object(), [[0.0]], 0)
