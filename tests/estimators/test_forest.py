"""Ranking forests: scores, threads, warm starts, weights, constraints, refusals."""

import pickle
import subprocess
import sys

import numpy as np
import oracles
import pytest
from forest_tables import as_frame, rank_trees, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import LeafRank, RankingForest
from treerank._plans.forest import _kind_of, default_recipe
from treerank._trees.packed_forest import Sampling

pytestmark = pytest.mark.core


@examples(15)
@given(
    st.integers(20, 80), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, None]),
    st.sampled_from([0.0, 0.2]), st.sampled_from([0, 6]), st.floats(0, 200), st.booleans(),
)  # fmt: skip
def test_scores_are_the_mean_of_slow_walks(n, seed, depth, missing, levels, shrinkage, weighted):
    x, y = table(n, 4, seed, missing, levels)
    x = as_frame(x, levels)
    weights = np.random.default_rng(seed).integers(1, 40, size=n) if weighted else None
    splitter = LeafRank(max_depth=depth, min_samples_leaf=2, max_features=2)
    model = RankingForest(
        splitter,
        n_estimators=4,
        max_depth=None,
        shrinkage=shrinkage,
        random_state=seed,
        warm_start=True,
    ).fit(x, y, sample_weight=weights)
    codes, _ = model._codes(x)
    trees = rank_trees(model, x, y, None if weights is None else weights.astype(np.int64))
    walks = [oracles.path_values(tree, codes, shrinkage) for tree in trees]
    np.testing.assert_allclose(model.score_samples(x), np.mean(walks, axis=0) - 0.5, atol=2e-6)
    for tree, walk in zip(model.estimators_, walks, strict=True):
        np.testing.assert_allclose(tree.score_samples(x), walk, atol=2e-6)


def test_whole_trees_and_shared_cells_are_folded_differently():
    x, y = table()
    whole = RankingForest(LeafRank(max_depth=None), n_estimators=3).fit(x, y)
    shared = RankingForest(n_estimators=3).fit(x, y)
    assert whole._trees.at_end.all()
    assert not shared._trees.at_end.any()


def test_the_default_splitter_follows_the_size_of_the_data():
    few, many = (default_recipe(n, "path", 2).splitter for n in (300, 300_000))
    assert few.max_depth == 3
    assert many.max_depth is None
    assert default_recipe(300_000, "rank", 2).splitter.max_depth == 3
    x, y = table(20_000, 3)
    model = RankingForest(n_estimators=2, n_jobs=2).fit(x, y)
    assert model._plan.kinds[0].max_depth == 1
    shares = [_kind_of("auto", 100, n).mean() for n in (300, 300_000)]
    assert shares == [0.5, 0.01]
    assert model.score(x, y) > 0.8


@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_threads_do_not_change_a_score(aggregation):
    x, y = table(500)
    scores = [
        RankingForest(n_estimators=15, aggregation=aggregation, n_jobs=n_jobs)
        .fit(x, y)
        .score_samples(x)
        for n_jobs in (1, 2, 3)
    ]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_a_score_does_not_depend_on_the_other_rows_scored(aggregation):
    x, y = table(300)
    model = RankingForest(n_estimators=15, aggregation=aggregation).fit(x, y)
    some = np.array([3, 50, 200])
    assert np.array_equal(model.score_samples(x)[some], model.score_samples(x[some]))


@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_positive_scores_are_predicted_positive(aggregation):
    x, y = table(400)
    labels = np.array(["bad", "good"])[y]
    model = RankingForest(n_estimators=30, aggregation=aggregation).fit(x, labels)
    new = table(1000, seed=9)[0]
    positive = model.decision_function(new) > 0
    assert np.array_equal(model.predict(new) == "good", positive)
    proba = model.predict_proba(new)
    assert np.array_equal(proba[:, 1] > 0.5, positive)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_a_warm_start_goes_on_where_the_first_fit_stopped():
    x, y = table(200, n_levels=5)
    x = as_frame(x, 5)
    warm = RankingForest(n_estimators=7, warm_start=True, random_state=5).fit(x, y)
    warm.set_params(n_estimators=20).fit(x, y)
    cold = RankingForest(n_estimators=20, random_state=5).fit(x, y)
    assert np.array_equal(warm.score_samples(x), cold.score_samples(x))
    assert warm.shrinkage_ == cold.shrinkage_
    with pytest.raises(ValueError, match="expected at least the 20 trees"):
        warm.set_params(n_estimators=5).fit(x, y)
    with pytest.raises(ValueError, match="Got other data"):
        warm.set_params(n_estimators=25).fit(x[:100], y[:100])


def test_equal_weights_change_nothing():
    x, y = table(200)
    plain = RankingForest(n_estimators=10).fit(x, y)
    weighted = RankingForest(n_estimators=10).fit(x, y, sample_weight=np.full(200, 0.3))
    np.testing.assert_allclose(weighted.score_samples(x), plain.score_samples(x), atol=1e-6)


def test_a_heavy_row_pulls_the_score():
    x, y = table(300)
    weight = np.where(y == 1, 10.0, 1.0)
    light = RankingForest(n_estimators=30, shrinkage=100.0).fit(x, y)
    heavy = RankingForest(n_estimators=30, shrinkage=100.0).fit(x, y, sample_weight=weight)
    assert heavy.score_samples(x).mean() > light.score_samples(x).mean() + 0.1


def test_sampling_without_replacement_and_all_rows():
    x, y = table(300)
    half = RankingForest(n_estimators=20, bootstrap=False, max_samples=0.5, oob_score=True)
    assert half.fit(x, y).oob_auc_ > 0.7
    assert half._plan.sampling == Sampling(False, 150, 0)
    everything = RankingForest(n_estimators=3, bootstrap=False, shrinkage=0.0, random_cut_share=0.0)
    everything.set_params(splitter=LeafRank(max_depth=None)).fit(x, y)
    values = [tree.score_samples(x) for tree in everything.estimators_]
    assert np.array_equal(values[0], values[1])  # nothing is left to chance


def test_constraints_hold_between_any_two_rows():
    x, y = table(400, 3)
    model = RankingForest(n_estimators=40, monotonic_cst=[1, 0, -1]).fit(x, y)
    rng = np.random.default_rng(1)
    low = rng.normal(size=(2000, 3))
    high = low + np.column_stack([rng.random(2000), np.zeros(2000), -rng.random(2000)])
    assert (model.score_samples(high) >= model.score_samples(low)).all()
    assert model.score(x, y) > 0.75


@pytest.mark.not_sanitized
def test_importance_finds_the_features_that_matter():
    x, y = table(600, 6)
    model = RankingForest(n_estimators=40).fit(x, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert np.argsort(-model.feature_importances_)[:2].tolist() == [0, 1]
    assert (model.feature_importances_std_ > 0).all()
    single = [
        RankingForest(n_estimators=1, random_state=s).fit(x, y).feature_importances_
        for s in range(40)
    ]
    exact = RankingForest(n_estimators=40, random_cut_share=0.0).fit(x, y)
    np.testing.assert_allclose(np.mean(single, axis=0), exact.feature_importances_, atol=0.1)


@pytest.mark.not_sanitized
def test_five_hundred_trees_are_small():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 20))
    y = (x[:, 0] + rng.normal(size=2000) > 0).astype(int)
    model = RankingForest(n_estimators=500, shrinkage=10.0).fit(x, y)
    assert model.n_bytes_ < 10e6
    assert len(pickle.dumps(model)) < 11e6
    assert len(model.estimators_) == 500


def test_a_pickled_forest_scores_alike():
    x, y = table(200, missing=0.1, n_levels=4)
    x = as_frame(x, 4)
    for aggregation in ("posterior", "kendall"):
        model = RankingForest(n_estimators=10, aggregation=aggregation).fit(x, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.score_samples(x), model.score_samples(x))
        assert model.apply(x).shape == (200, 10)
        assert np.array_equal(model.apply(x)[:, 3], model.estimators_[3].apply(x))


@pytest.mark.parametrize("name", ["bagging", "rf1", "rf2", "rf3", "rf4", "rf5", "rf6"])
def test_presets_draw_features_at_the_two_levels(name):
    x, y = table(200, 8)
    model = RankingForest.preset(name, n_estimators=5, warm_start=True).fit(x, y)
    outer, inner = {
        "bagging": (-1, -1), "rf1": (2, -1), "rf2": (1, -1), "rf3": (-1, 2), "rf4": (-1, 1),
        "rf5": (4, 2), "rf6": (2, 1),
    }[name]  # fmt: skip
    kind = model._plan.kinds[0]
    assert (kind.max_features, kind.leafrank.max_features) == (outer, inner)
    assert not model._plan.kind_of.any()
    if name == "rf2":  # one feature a cell
        for tree in rank_trees(model, x, y):
            for cell in tree.cells[tree.is_split]:
                tests = tree.tests[cell["first_test"] : cell["last_test"]]
                assert len(set(tests["feature"][tests["left"] >= 0])) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "Got n_estimators=0; expected an integer >= 1"),
        ({"max_samples": 1}, "too few to hold both classes"),
        ({"max_samples": 0.001}, "too few to hold both classes"),
        ({"max_samples": 101}, "Got max_samples=101; expected"),
        ({"max_samples": 1.5}, "Got max_samples=1.5; expected"),
        ({"max_samples": "all"}, "Got max_samples='all'; expected"),
        ({"bootstrap": False, "oob_score": True, "shrinkage": 1.0}, "Got oob_score=True with"),
        ({"bootstrap": False}, "Got shrinkage='oob' with bootstrap=False"),
        ({"shrinkage": -1}, "Got shrinkage=-1; expected a finite number >= 0"),
        ({"shrinkage": "cv"}, "Got shrinkage='cv'; expected 'oob', a finite number >= 0 or None"),
        ({"aggregation": "vote"}, "Got aggregation='vote'; expected one of"),
        ({"random_cut_share": "half"}, "Got random_cut_share='half'; expected one of 'auto'"),
        ({"random_cut_share": 1.5}, "Got random_cut_share=1.5; expected a share from 0 to 1"),
        ({"max_depth": 0}, "Got max_depth=0; expected an integer >= 1 or None"),
        ({"max_depth": "deep"}, "Got max_depth='deep'"),
        ({"min_samples_leaf": 0}, "Got min_samples_leaf=0"),
        ({"splitter": 50}, r"to one of these\. Pass numbers by name, such as n_estimators=50"),
        ({"splitter": "cart"}, "Got splitter='cart'; expected None, a LeafRank, a classifier"),
        ({"splitter": LeafRank(max_bins=9)}, "set max_bins on RankingForest instead"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    x, y = table(100)
    with pytest.raises(ValueError, match=message):
        RankingForest(**parameters).fit(x, y)
    with pytest.raises(ValueError, match="Got name='rf7'"):
        RankingForest.preset("rf7")


def test_a_damaged_forest_is_refused():
    x, y = table(100)
    model = RankingForest(n_estimators=2).fit(x, y)
    slots = model._trees.slots.copy()
    slots[0, :4] = 255  # leads far out of the tree
    object.__setattr__(model._trees, "slots", slots)
    with pytest.raises(ValueError, match="damaged"):
        model.score_samples(x)


def test_one_class_in_a_sample_does_no_harm():
    x, y = table(60)
    y[:] = 0
    y[7] = 1
    model = RankingForest(n_estimators=30, oob_score=True).fit(x, y)
    assert np.isfinite(model.score_samples(x)).all()


@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_one_row_of_each_class_is_enough(aggregation):
    model = RankingForest(n_estimators=12, aggregation=aggregation, oob_score=True)
    x, y = np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1])
    assert np.isfinite(model.fit(x, y).score_samples(x)).all()
    two = RankingForest(n_estimators=12, aggregation=aggregation, shrinkage=1.0).fit(x[:2], y[:2])
    assert two.score(x[:2], y[:2]) >= 0.5


@pytest.mark.parametrize("n", [300, 300_000])
def test_few_rows_and_many(n):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n + 2000, 4)).astype(np.float32)
    y = (x[:, 0] + rng.normal(size=n + 2000) > 0).astype(int)
    model = RankingForest(n_estimators=4, n_jobs=2, random_state=1).fit(x[:n], y[:n])
    assert model.score(x[n:], y[n:]) > 0.78


def test_a_copy_row_by_row_changes_no_tree():
    # From 512 KB of codes on the core reads small nodes row by row; grown alone, a tree never is.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 10)).round(2)
    x[rng.random(x.shape) < 0.02] = np.nan
    y = (np.nan_to_num(x[:, 0]) + rng.normal(size=60_000) > 0).astype(int)
    model = RankingForest(warm_start=True, n_estimators=2, shrinkage=0.0, random_cut_share=0.5).fit(
        x, y
    )
    some = x[:50]
    codes, _ = model._codes(some)
    for view, tree in zip(model.estimators_, rank_trees(model, x, y), strict=True):
        expected = oracles.path_values(tree, codes, 0.0)
        np.testing.assert_allclose(view.score_samples(some), expected, atol=2e-6)


def test_ctrl_c_stops_a_forest_and_leaves_no_threads():
    script = """
import os, signal, threading, time
import numpy as np
from treerank import RankingForest
rng = np.random.default_rng(0)
x, y = rng.normal(size=(100_000, 10)), rng.integers(0, 2, size=100_000)
model = RankingForest(n_estimators=5000, n_jobs=2)
before = dict(vars(model))
def press():
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.5, press).start()
try:
    model.fit(x, y)
except KeyboardInterrupt:
    assert vars(model) == before
    tasks = len(os.listdir("/proc/self/task"))
    print("stopped", "threads", threading.active_count(), tasks)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.startswith("stopped threads 1"), done.stdout + done.stderr
