"""BoostedTreeRank: trees equal their slow twin, losses their definition, promises kept."""

import pickle
import threading

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import treerank
from treerank import BoostedTreeRank, _core
from treerank._growth.boosting import boosting_units
from treerank._growth.losses import PAIR_LOSSES, CumulativeLogistic
from treerank._input.weights import Weights
from treerank.metrics import ordinal_vus_score

pytestmark = pytest.mark.core


def sample(n=400, n_classes=2, seed=0, **change):
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=seed,
        **change,
    )  # fmt: skip


UNIT = 2.0**-8


def grow(
    codes, derivatives, weights, categorical, monotonic, rows, chosen, options, bits=30, n_jobs=1
):  # fmt: skip
    """Return the value of each row of the table, by the core; `rows` None: grown on all."""
    n_codes = (codes.max(axis=1) + 1).astype(np.int32)
    rounds = _core.BoostingRounds(
        codes, weights, n_codes, np.array(categorical, dtype=np.uint8),
        np.array(monotonic, dtype=np.int8), n_jobs,
    )  # fmt: skip
    scores = np.zeros(codes.shape[1]) if rows is None else None
    slots, value, target, sets, importance, _ = rounds.grow(
        *derivatives, bits, 1.0, rows, chosen, options, scores
    )
    is_set = slots.view(np.uint32)[:, 0] >= 1 << 31
    set_of = np.where(is_set, target, -1).astype(np.int32) if len(sets) else target[:0]
    starts = np.array([0, len(slots)], dtype=np.int64)
    at_end = np.ones(1, dtype=np.uint8)
    walked = _core.score_forest(starts, slots, value, set_of, sets, at_end, codes, 1)
    if scores is not None and len(slots) > 1:  # moved leaf by leaf, to the bit as by walking
        assert np.array_equal(scores, walked)
    return walked, importance


@given(
    n=st.integers(2, 50), seed=st.integers(0, 10_000), n_codes=st.integers(2, 14),
    max_depth=st.integers(1, 3), leafrank_depth=st.integers(1, 3), by_stratum=st.booleans(),
    max_leaf_nodes=st.sampled_from([0, 0, 2, 3, 5, 9]),
    weighted=st.booleans(), least=st.integers(1, 4), l2=st.sampled_from([0.0, 0.5]),
    monotonic=st.sampled_from([(0, 0, 0), (1, 0, 0), (-1, 1, 0)]), n_jobs=st.integers(1, 5),
)  # fmt: skip
@examples(200)
def test_tree_equals_its_slow_twin(
    n, seed, n_codes, max_depth, leafrank_depth, by_stratum, max_leaf_nodes, weighted, least, l2,
    monotonic, n_jobs,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, size=(3, n)).astype(np.uint8)
    gradient = rng.integers(-1000, 1001, n).astype(np.int32)
    hessian = rng.integers(1, 500, n).astype(np.int32)
    weights = rng.integers(1, 4, n) if weighted else None
    rows = None
    if seed % 3:
        rows = np.sort(rng.choice(n, max(1, 3 * n // 4), replace=False)).astype(np.uint32)
    chosen = np.array([0, 2] if seed % 2 else [0, 1, 2], dtype=np.int32)
    options = {
        "max_depth": max_depth + (3 if max_leaf_nodes else 0), "max_leaf_nodes": max_leaf_nodes,
        "leafrank_depth": leafrank_depth, "min_weight_leaf": least,
        "independent_weight": 1.0, "l2": l2, "gradient_unit": UNIT, "hessian_unit": UNIT,
        "learning_rate": 1.0, "by_stratum": by_stratum,
    }  # fmt: skip
    categorical = (0, 0, 1)
    if not gradient.any():
        return
    found, _ = grow(
        codes, (gradient * UNIT, hessian * UNIT), weights, categorical, monotonic, rows, chosen,
        options, n_jobs=n_jobs,
    )  # fmt: skip
    data = oracles.GradientRows(
        codes, gradient.astype(object), hessian.astype(object),
        np.ones(n, dtype=object) if weights is None else weights.astype(object),
        categorical, monotonic, options,
    )  # fmt: skip
    grown_on = np.arange(n) if rows is None else rows.astype(int)
    try:
        wanted = oracles.boosted_tree_values(data, grown_on, chosen)
    except oracles.AmbiguousTieError:
        reject()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", [18, 20, 44, 92, 119])
def test_leaves_that_a_bound_made_equal_stay_together(seed, monkeypatch):
    # Where the best cut of the ordered leaves lies between two of equal value.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 24))
    codes = rng.integers(0, 5, size=(3, n)).astype(np.uint8)
    gradient = rng.integers(-1000, 1001, n).astype(np.int32)
    hessian = rng.integers(1, 500, n).astype(np.int32)
    options = {
        "max_depth": 1, "leafrank_depth": int(rng.integers(2, 4)), "min_weight_leaf": 1,
        "independent_weight": 1.0, "l2": float(rng.choice([0, 0.5])), "gradient_unit": UNIT,
        "hessian_unit": UNIT, "learning_rate": 1.0, "by_stratum": bool(rng.integers(2)),
    }  # fmt: skip
    found, _ = grow(
        codes, (gradient * UNIT, hessian * UNIT), None, (0, 0, 0), (1, -1, 0), None,
        np.arange(3, dtype=np.int32), options,
    )  # fmt: skip
    data = oracles.GradientRows(
        codes, gradient.astype(object), hessian.astype(object), np.ones(n, dtype=object),
        (0, 0, 0), (1, -1, 0), options,
    )  # fmt: skip
    wanted = oracles.boosted_tree_values(data, np.arange(n), np.arange(3))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    keep_together = oracles.boosting._gradient_halves
    monkeypatch.setattr(
        oracles.boosting, "_gradient_halves", lambda *a: keep_together(*a[:3], False)
    )
    assert not np.allclose(found, oracles.boosted_tree_values(data, np.arange(n), np.arange(3)))


def pair_loss(name, scores, rank, weight):
    """Sum over pairs, straight from the definition."""
    total = weight_sum = 0.0
    for i in range(len(rank)):
        for j in range(len(rank)):
            if rank[i] > rank[j]:
                gap = scores[j] - scores[i]
                pair = weight[i] * weight[j]
                weight_sum += pair
                total += pair * (np.logaddexp(0, gap) if name == "pairwise" else np.exp(gap))
    return weight.sum() / 2 * (total / weight_sum if name == "pairwise" else np.log(total))


@pytest.mark.parametrize("name", ["pairwise", "rankboost"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_of_pairs_is_that_of_the_definition(name, n_classes):
    rng = np.random.default_rng(0)
    rank = np.arange(24) % n_classes
    scores, weight = rng.normal(size=24), rng.uniform(0.5, 2, 24)
    first, second = PAIR_LOSSES[name](scores, rank, weight, n_classes)
    for i in range(0, 24, 5):
        step = np.zeros(24)
        step[i] = 1e-5
        up, down = (pair_loss(name, scores + s, rank, weight) for s in (step, -step))
        assert weight[i] * first[i] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)
    assert (second > 0).all()


def cut_loss(scores, constants, rank, weight):
    """Logistic losses of all cuts of the classes, each divided by U (1 - U), by the definition."""
    total = importance = 0.0
    for k, constant in enumerate(constants):
        above = rank > k
        share = np.average(above, weights=weight)
        gap = np.where(above, -(scores + constant), scores + constant)
        total += weight @ np.logaddexp(0, gap) / (share * (1 - share))
        importance += 1 / (share * (1 - share))
    return total / importance


def test_derivatives_of_cuts_are_those_of_the_definition_with_the_best_constants():
    rng = np.random.default_rng(2)
    rank, scores, units = np.arange(30) % 4, rng.normal(size=30), rng.integers(50, 200, 30)
    weight = units / 100
    loss = CumulativeLogistic(rank, units, 4)
    first, second = loss(scores)
    best = loss.cuts.constants
    for k, step in enumerate(0.05 * np.eye(3)):
        for sign in (1, -1):
            other = cut_loss(scores, best + sign * step, rank, weight)
            assert other > cut_loss(scores, best, rank, weight), k
    for i in range(0, 30, 4):
        step = np.zeros(30)
        step[i] = 1e-3
        up, at, down = (cut_loss(scores + s, best, rank, weight) for s in (step, 0 * step, -step))
        assert weight[i] * first[i] == pytest.approx((up - down) / 2e-3, rel=1e-4, abs=1e-6)
        assert weight[i] * second[i] == pytest.approx((up - 2 * at + down) / 1e-6, rel=1e-3)


def test_curvature_of_the_pairwise_loss_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    rank, scores, weight = np.arange(20) % 3, rng.normal(size=20), rng.uniform(0.5, 2, 20)
    _, second = PAIR_LOSSES["pairwise"](scores, rank, weight, 3)
    for i in range(0, 20, 3):
        step = np.zeros(20)
        step[i] = 1e-3
        values = [pair_loss("pairwise", scores + s, rank, weight) for s in (step, 0, -step)]
        bend = (values[0] - 2 * values[1] + values[2]) / 1e-6
        assert weight[i] * second[i] == pytest.approx(bend, rel=1e-3)


def test_rankboost_weights_survive_extreme_scores():
    first, second = PAIR_LOSSES["rankboost"](
        np.array([-900.0, 900.0, 0.0]), np.array([0, 1, 1]), np.ones(3), 2
    )
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()


STUMP = {
    "max_depth": 1, "leafrank_depth": 1, "min_weight_leaf": 1, "independent_weight": 1.0,
    "l2": 1.0, "learning_rate": 1.0, "by_stratum": True,
}  # fmt: skip


def test_fixed_point_keeps_values_to_the_last_bit_asked_for():
    values = np.array([0.7, -0.3, 0.0, 1e-4])
    whole, unit = oracles.fixed_point(values, 30)
    assert np.abs(whole).max() <= 2**30
    np.testing.assert_allclose(whole * unit, values, atol=unit / 2)


@given(st.integers(0, 10_000), st.integers(2, 12))
@examples(50)
def test_the_core_rounds_gradients_as_its_slow_twin(seed, bits):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 9, size=(2, 60)).astype(np.uint8)
    # Halves of units: of two whole numbers as near, the even one.
    first = rng.integers(-8, 9, 60) / 2 * rng.choice([1.0, 0.3])
    second = rng.integers(1, 9, 60) / 2
    first[0] = 3.7
    rounded = [np.multiply(*oracles.fixed_point(d, bits)) for d in (first, second)]
    setting = (None, (0, 0), (0, 0), None, np.arange(2, dtype=np.int32), STUMP)
    found, _ = grow(codes, (first, second), *setting, bits=bits)
    wanted, _ = grow(codes, rounded, *setting, bits=30)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_sums_of_many_rows_are_exact_on_any_number_of_threads(weighted, dtype):
    """More rows than the counters of a block have room for, and parts of them on many threads."""
    rng = np.random.default_rng(5)
    n = 150_000
    codes = rng.integers(1, 40, size=(5, n)).astype(dtype)
    first = rng.normal(size=n) - 0.3 * (codes[3] > 17)
    second = rng.uniform(0.1, 1.0, n)
    weights = rng.integers(1, 4, n) if weighted else None
    whole = [oracles.fixed_point(d, 30) for d in (first, second)]
    weight = np.ones(n, dtype=np.int64) if weights is None else weights
    best = 0.0
    for feature in range(5):
        bins = np.zeros((2, 40), dtype=np.int64)
        for of_kind, (numbers, _) in zip(bins, whole, strict=True):
            np.add.at(of_kind, codes[feature], numbers.astype(np.int64) * weight)
        g, h = (np.cumsum(b) * unit for b, (_, unit) in zip(bins, whole, strict=True))
        gain = g**2 / (h + 1) + (g[-1] - g) ** 2 / (h[-1] - h + 1)
        cut = int(np.argmax(gain[:-1]))
        if gain[cut] > best:
            best, goes_left = gain[cut], codes[feature] <= cut
            left, right = -g[cut] / (h[cut] + 1), -(g[-1] - g[cut]) / (h[-1] - h[cut] + 1)
    wanted = np.where(goes_left, left, right).astype(np.float32)
    setting = (weights, [0] * 5, [0] * 5, None, np.arange(5, dtype=np.int32), STUMP)
    for n_jobs in (1, 2, 16):
        found, _ = grow(codes, (first, second), *setting, n_jobs=n_jobs)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("monotonic", [[0, 0, 0, 0], [1, -1, 0, 0]])
@pytest.mark.parametrize("depths", [(6, 1), (2, 4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_of_one_depth_grown_together_make_the_tree_of_one_after_another(
    depths, weighted, monotonic
):
    """Many threads share the nodes of a depth out; a thread alone grows a branch to its end."""
    rng = np.random.default_rng(7)
    n = 80_000
    codes = rng.integers(0, 30, size=(4, n)).astype(np.uint8)
    wave = np.sin(codes[0] * codes[1] / 40.0) + 0.4 * (codes[2] % 5 == 3)
    derivatives = (rng.normal(size=n) - wave, rng.uniform(0.1, 1.0, n))
    weights = rng.integers(1, 4, n) if weighted else None
    options = {**STUMP, "max_depth": depths[0], "leafrank_depth": depths[1]}
    setting = (weights, [0, 0, 1, 0], monotonic, None, np.arange(4, dtype=np.int32), options)
    values, importance = grow(codes, derivatives, *setting, n_jobs=1)
    assert len(np.unique(values)) > 3
    for n_jobs in (2, 3, 16):
        found, of_features = grow(codes, derivatives, *setting, n_jobs=n_jobs)
        assert np.array_equal(found, values)
        assert np.array_equal(of_features, importance)


def test_huge_weights_leave_room_for_gradients():
    units, scale = boosting_units(Weights(units=np.array([2**50, 2**49, 3])))
    assert units.sum() <= 2**40
    assert units.min() == 1
    np.testing.assert_allclose(units[:2] / scale, [2.0**50, 2.0**49])


@pytest.mark.parametrize("loss", ["logistic", "pairwise", "rankboost"])
def test_integer_weights_equal_repeated_rows(loss):
    X, y = sample()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"n_estimators": 15, "loss": loss, "max_features": 0.5}
    weighted = BoostedTreeRank(**options).fit(X, y, sample_weight=weight)
    repeated = BoostedTreeRank(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    found, wanted = weighted.score_samples(X), repeated.score_samples(X)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7 if loss == "logistic" else 1e-4)


def test_multiplying_fractional_weights_changes_nothing():
    X, y = sample()
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    one, other = (
        BoostedTreeRank(20).fit(X, y, sample_weight=w).score_samples(X)
        for w in (weight, 1024 * weight)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
def test_result_does_not_depend_on_the_number_of_threads(loss):
    X, y = sample(6000)
    models = [
        BoostedTreeRank(8, loss=loss, subsample=0.7, max_features=0.7, n_jobs=n).fit(X, y)
        for n in (1, 3)
    ]
    scores = [model.score_samples(X) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(models[0].feature_importances_, models[1].feature_importances_)


def test_same_seed_same_result_other_seed_other_result():
    X, y = sample()
    one, again, other = (
        BoostedTreeRank(10, subsample=0.5, random_state=seed).fit(X, y).score_samples(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_order_of_the_rows_does_not_matter():
    X, y = sample()
    order = np.random.default_rng(0).permutation(len(y))
    one = BoostedTreeRank(30).fit(X, y).score_samples(X)
    other = BoostedTreeRank(30).fit(X[order], y[order]).score_samples(X)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("leafrank_depth", [1, 2])
@pytest.mark.parametrize("monotonic_cst", [None, [1, 0, 0, -1, 0, 0]])
def test_cells_split_best_first_are_the_same_for_any_number_of_threads(
    leafrank_depth, monotonic_cst
):
    X, y = sample(40_000)
    settings = {
        "max_leaf_nodes": 13, "leafrank_depth": leafrank_depth, "monotonic_cst": monotonic_cst,
        "random_state": 0,
    }  # fmt: skip
    alone = BoostedTreeRank(3, n_jobs=1, **settings).fit(X, y)
    for n_jobs in (3, 16):
        shared = BoostedTreeRank(3, n_jobs=n_jobs, **settings).fit(X, y)
        assert np.array_equal(alone._trees.slots, shared._trees.slots)
        assert np.array_equal(alone.score_samples(X), shared.score_samples(X))


def same_gains(seed):
    """Grow a tree on rows with two gradients only: many small cells gain the same."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 200)), int(rng.integers(1, 4))
    codes = rng.integers(0, int(rng.integers(3, 40)), size=(p, n)).astype(np.uint8)
    gradient = rng.choice([-1.0, 1.0], n)
    options = {
        "max_depth": 12, "max_leaf_nodes": int(rng.integers(4, 40)), "leafrank_depth": 1,
        "min_weight_leaf": 1, "independent_weight": 1.0, "l2": 0.0, "learning_rate": 1.0,
        "by_stratum": True,
    }  # fmt: skip
    return lambda n_jobs: grow(
        codes, (gradient, np.ones(n)), None, (0,) * p, (0,) * p, None,
        np.arange(p, dtype=np.int32), options, n_jobs=n_jobs,
    )  # fmt: skip


# In the first ones two cells gain the same, and of these the one that is made first on one thread
# is halved ahead of its turn after the other.
@pytest.mark.parametrize("seed", [500, 748, 771, 792, 1200, *range(50)])
def test_cells_halved_ahead_of_their_turn_do_not_change_the_tree(seed):
    alone = same_gains(seed)(1)
    for n_jobs in (2, 6, 16):
        shared = same_gains(seed)(n_jobs)
        np.testing.assert_array_equal(shared[0], alone[0])
        np.testing.assert_array_equal(shared[1], alone[1])


def test_best_first_trees_survive_clone_and_a_model_file(tmp_path):
    X, y = sample(700)
    model = BoostedTreeRank(2, max_leaf_nodes=300, min_samples_leaf=1, random_state=0).fit(X, y)
    assert model.plan_.max_depth == 256  # no more levels than this, where max_depth does not say
    treerank.save(model, tmp_path / "model.treerank")
    loaded = treerank.load(tmp_path / "model.treerank")
    assert loaded.plan_ == model.plan_
    assert loaded.max_leaf_nodes == 300
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    again = clone(model).fit(X, y)
    assert np.array_equal(again.score_samples(X), model.score_samples(X))


def test_a_number_of_strata_leaves_the_number_of_trees_to_rows_held_out():
    X, y = sample(600)
    model = BoostedTreeRank(max_leaf_nodes=6, random_state=0).fit(X, y)
    assert list(model.plan_.n_trees.items()) == [((5, 1), model.n_estimators_)]
    assert model.plan_.max_leaf_nodes == 6


def test_best_first_stops_at_max_leaf_nodes_and_without_a_limit_is_depth_by_depth():
    X, y = sample(2_000)
    settings = {"n_estimators": 1, "leaf_values": "stratum", "random_state": 0}
    for n_strata in (2, 5, 12):
        model = BoostedTreeRank(max_leaf_nodes=n_strata, **settings).fit(X, y)
        assert len(np.unique(model.score_samples(X))) == n_strata
        assert model.plan_.max_leaf_nodes == n_strata
    for leafrank_depth in (1, 2):
        depths = {"max_depth": 3, "leafrank_depth": leafrank_depth}
        plain = BoostedTreeRank(**settings, **depths).fit(X, y)
        limitless = BoostedTreeRank(max_leaf_nodes=100, **settings, **depths).fit(X, y)
        assert np.array_equal(plain._trees.slots, limitless._trees.slots)
        assert np.array_equal(plain.score_samples(X), limitless.score_samples(X))


def test_with_leafrank_of_depth_one_a_ranking_tree_is_an_ordinary_one():
    X, y = sample()
    settings = {"n_estimators": 20, "leaf_values": "leaf"}
    one = BoostedTreeRank(max_depth=4, leafrank_depth=1, **settings).fit(X, y)
    other = BoostedTreeRank(max_depth=1, leafrank_depth=4, **settings).fit(X, y)
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), atol=1e-9)


@pytest.mark.not_sanitized
def test_ranks_as_well_as_gradient_boosting_of_scikit_learn():
    X, y = make_classification(4000, n_features=12, n_informative=6, flip_y=0.2, random_state=3)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    ours = BoostedTreeRank().fit(X_train, y_train).score(X_test, y_test)
    rival = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    assert ours > roc_auc_score(y_test, rival.decision_function(X_test)) - 0.01


def test_strata_have_one_value_each():
    X, y = sample()
    model = BoostedTreeRank(5, leaf_values="stratum", max_depth=2).fit(X, y)
    for tree in range(5):
        values = model._trees.each(model._codes(X)[0], 1)[tree]
        assert 2 <= len(np.unique(values)) <= 4


@pytest.mark.parametrize("loss", ["logistic", "pairwise", "rankboost"])
def test_probabilities_are_those_of_the_score(loss):
    X, y = sample(2000)
    model = BoostedTreeRank(30, loss=loss).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (shares[:, 1] > 0.5).astype(int))
    np.testing.assert_array_equal(model.decision_function(X) > 0, shares[:, 1] > 0.5)
    assert log_loss(y, shares) < 0.5
    if loss == "logistic":
        np.testing.assert_allclose(shares[:, 1], expit(model.score_samples(X)))


@pytest.mark.parametrize("loss", ["auto", "logistic", "pairwise", "rankboost"])
def test_ordered_classes_are_ranked(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=1500), [0.3, 1.5])
    model = BoostedTreeRank(60, loss=loss).fit(X[:1000], y[:1000])
    assert model.loss_ == ("logistic" if loss == "auto" else loss)
    found = model.score(X[1000:], y[1000:])
    assert found > 0.85  # 1/6 by chance
    assert found == ordinal_vus_score(y[1000:], model.score_samples(X[1000:]))
    assert np.mean(model.predict(X[1000:]) == y[1000:]) > 0.75
    assert not hasattr(model, "decision_function")


def test_label_order_turns_the_ranking_round():
    X, y = sample()
    names = np.array(["bad", "good"])[y]
    up = BoostedTreeRank(20).fit(X, names).score_samples(X)
    down = BoostedTreeRank(20, label_order=["good", "bad"]).fit(X, names).score_samples(X)
    np.testing.assert_allclose(up, -down, atol=1e-6)


def test_early_stopping_keeps_the_best_number_of_trees():
    X, y = sample(600, class_sep=0.4)
    model = BoostedTreeRank(
        300, learning_rate=0.5, early_stopping=True, validation_fraction=0.3, n_iter_no_change=10
    ).fit(X, y)
    scores = model.validation_scores_
    assert model.n_estimators_ == np.argmax(scores) + 1 < 300
    assert len(scores) == model.n_estimators_ + 10
    assert model.apply(X).shape == (600, model.n_estimators_)
    held = train_test_split(np.arange(600), test_size=180, stratify=y, random_state=0)[1]
    assert roc_auc_score(y[held], model.score_samples(X[held])) == pytest.approx(scores.max())


def test_early_stopping_watches_vus_beyond_two_classes():
    X, y = sample(600, n_classes=3)
    model = BoostedTreeRank(40, early_stopping=True, n_iter_no_change=5).fit(X, y)
    held = train_test_split(np.arange(600), test_size=60, stratify=y, random_state=0)[1]
    found = ordinal_vus_score(y[held], model.score_samples(X[held]))
    assert found == pytest.approx(model.validation_scores_.max())


def test_missing_values_and_categories_are_learned():
    rng = np.random.default_rng(0)
    n = 2000
    town = rng.choice(list("abcdef"), n)
    income = rng.normal(size=n)
    y = ((np.isin(town, ["b", "e"])) ^ (rng.random(n) < 0.1)).astype(int)
    income[(y == 1) & (rng.random(n) < 0.5)] = np.nan
    X = pd.DataFrame({"town": pd.Categorical(town), "income": income})
    model = BoostedTreeRank(60, max_features=None).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.93
    unseen = pd.DataFrame({"town": pd.Categorical(["z", "b"]), "income": [0.0, 0.0]})
    assert np.isfinite(model.score_samples(unseen)).all()


def test_importance_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    model = BoostedTreeRank(20).fit(X, X[:, 2] + 0.5 * rng.normal(size=800) > 0)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 2


def test_nothing_to_learn_gives_one_score():
    X = np.ones((60, 2))
    for loss in ("logistic", "pairwise"):
        model = BoostedTreeRank(5, loss=loss).fit(X, np.repeat([0, 0, 1], 20))
        assert model.n_estimators_ == 0
        assert len(np.unique(model.score_samples(X))) == 1
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / 3, atol=0.01)
        assert model.apply(X).shape == (60, 0)


def test_pickled_model_scores_the_same():
    X, y = load_breast_cancer(return_X_y=True)
    model = BoostedTreeRank(20).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))


def test_training_rows_score_what_the_rounds_made_of_them():
    X, y = sample()
    shallow, deep = (BoostedTreeRank(n, subsample=0.6).fit(X, y) for n in (10, 20))
    first = deep._start + deep._trees.each(deep._codes(X)[0], 1)[:10].sum(axis=0, dtype=float)
    np.testing.assert_allclose(first, shallow.score_samples(X), atol=1e-9)


def test_failed_fit_leaves_the_model_as_it_was():
    X, y = sample()
    model = BoostedTreeRank(5).fit(X, y)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="subsample=2"):
        model.set_params(subsample=2).fit(X[:, :3], y)
    np.testing.assert_array_equal(model.score_samples(X), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": 0}, "Got n_estimators=0; expected an integer >= 1"),
        ({"learning_rate": 0}, "Got learning_rate=0; expected a number > 0"),
        ({"learning_rate": -1}, "Got learning_rate=-1"),
        ({"loss": "hinge"}, "Got loss='hinge'; expected one of 'auto', 'logistic'"),
        ({"max_depth": None}, "Got max_depth=None; expected an integer from 1 to 20"),
        ({"leafrank_depth": 0}, "Got leafrank_depth=0; expected an integer from 1 to 20"),
        ({"max_depth": 21}, "Got max_depth=21"),
        ({"min_samples_leaf": 0}, "Got min_samples_leaf=0"),
        ({"l2_regularization": -1}, "Got l2_regularization=-1"),
        ({"subsample": 1.5}, "Got subsample=1.5; expected a share"),
        ({"max_features": 7}, "Got max_features=7; expected at most"),
        ({"leaf_values": "cell"}, "Got leaf_values='cell'"),
        ({"max_leaf_nodes": 1}, "Got max_leaf_nodes=1"),
        ({"max_leaf_nodes": "many"}, "Got max_leaf_nodes='many'"),
        ({"early_stopping": "yes"}, "Got early_stopping='yes'"),
        ({"validation_fraction": 1.0}, "Got validation_fraction=1.0"),
        ({"n_iter_no_change": 0}, "Got n_iter_no_change=0"),
        ({"max_bins": 1}, "Got max_bins=1"),
    ],
)
def test_bad_parameters_are_named(change, message):
    X, y = sample(60)
    with pytest.raises(ValueError, match=message):
        BoostedTreeRank(**change).fit(X, y)


def test_early_stopping_needs_two_rows_of_a_class():
    X, y = sample(60)
    y[:] = 0
    y[0] = 1
    with pytest.raises(ValueError, match="1 rows of the rarest class"):
        BoostedTreeRank(early_stopping=True).fit(X, y)


def test_rounds_start_no_threads_of_python(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40_000, 2)), rng.integers(0, 2, 40_000)
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self), start(self)))
    BoostedTreeRank(6, n_jobs=3).fit(x, y)
    assert not started  # those of the core live as long as the fit


def logistic_case(n, seed, spread):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 30, size=(20, n)).astype(np.uint8)
    scores = spread * rng.normal(size=n)
    labels = (codes[0] + 5 * rng.normal(size=n) + scores > 15).astype(np.uint8)
    return codes, scores, labels


def grow_rounds(codes, scores, labels, n_jobs, derive):
    """Return what a few rounds of the core give, and the scores after them."""
    shape = np.full(20, 30, dtype=np.int32), np.zeros(20, np.uint8), np.zeros(20, np.int8)
    rounds = _core.BoostingRounds(codes, None, *shape, n_jobs)
    options = STUMP | {"max_depth": 3, "min_weight_leaf": 2, "learning_rate": 0.3}
    scores, trees = scores.copy(), []
    for _ in range(3):
        derivatives = derive(rounds, scores, labels)
        trees.append(
            rounds.grow(*derivatives, 20, 1.0, None, np.arange(20, dtype=np.int32), options, scores)
        )
    return trees, scores


def core_derives(rounds, scores, labels):
    rounds.set_logistic_gradients(scores, labels, 20)
    return None, None


@pytest.mark.parametrize(("n", "spread"), [(1, 1.0), (300, 0.0), (5_003, 2.0), (9_000, 400.0)])
def test_logistic_gradients_of_the_core_are_those_of_the_definition(n, spread):
    case = logistic_case(n, n, spread)
    trees, scores = grow_rounds(*case, 1, core_derives)
    slow, wanted = grow_rounds(*case, 1, lambda _, *rows: oracles.logistic_derivatives(*rows))
    for tree, twin in zip(trees, slow, strict=True):
        assert (tree is None) == (twin is None)
        if tree is not None:
            assert np.array_equal(tree[0], twin[0])
            np.testing.assert_allclose(tree[1], twin[1], rtol=1e-6)
    np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-9)


@examples(20)
@given(n=st.integers(20_000, 60_000), seed=st.integers(0, 1000))
def test_rounds_are_the_same_to_the_bit_for_any_number_of_threads(n, seed):
    case = logistic_case(n, seed, 1.5)
    alone, scores = grow_rounds(*case, 1, core_derives)
    for n_jobs in (2, 5):
        shared, same_scores = grow_rounds(*case, n_jobs, core_derives)
        for tree, twin in zip(alone, shared, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(tree, twin, strict=True))
        assert np.array_equal(scores, same_scores)


@pytest.mark.parametrize("labels", [np.zeros(6, np.uint8), np.ones(6, np.uint8)])
def test_logistic_gradients_of_rows_all_in_order_leave_nothing_to_learn(labels):
    codes = np.arange(6, dtype=np.uint8)[np.newaxis] % 3
    shape = np.array([3], dtype=np.int32), np.zeros(1, np.uint8), np.zeros(1, np.int8)
    rounds = _core.BoostingRounds(codes, None, *shape, 1)
    scores = np.where(labels == 1, 1e4, -1e4)
    chosen = np.zeros(1, dtype=np.int32)
    rounds.set_logistic_gradients(scores, labels, 30)
    grown = rounds.grow(None, None, 30, 1.0, None, chosen, STUMP, scores)
    assert grown is None or len(grown[0]) == 1
    assert np.array_equal(scores, np.where(labels == 1, 1e4, -1e4))


def test_core_refuses_arrays_that_do_not_fit():
    codes = np.ones((2, 5), dtype=np.uint8)
    ones, chosen = np.ones(5), np.arange(2, dtype=np.int32)
    shape = np.array([2, 2], dtype=np.int32), np.zeros(2, np.uint8), np.zeros(2, np.int8)
    with pytest.raises(ValueError, match="different lengths"):
        _core.BoostingRounds(codes, np.ones(4, dtype=np.int64), *shape, 1)
    rounds = _core.BoostingRounds(codes, None, *shape, 1)
    rows = np.arange(5, dtype=np.uint32)
    for first, scores, bits, features in [
        (ones[:4], None, 30, chosen),
        (ones, ones[:4].copy(), 30, chosen),
        (ones, None, 31, chosen),
        (ones, None, 30, chosen[:0]),
    ]:
        with pytest.raises(ValueError, match="different lengths"):
            rounds.grow(first, ones, bits, 1.0, None, features, {}, scores)
    with pytest.raises(ValueError, match="different lengths"):
        rounds.grow(ones, None, 30, 1.0, None, chosen, {}, None)
    for scores, labels, bits in [
        (ones[:4], np.ones(5, np.uint8), 30),
        (ones, np.ones(4, np.uint8), 30),
        (ones, np.ones(5, np.uint8), 31),
    ]:
        with pytest.raises(ValueError, match="different lengths"):
            rounds.set_logistic_gradients(scores, labels, bits)
    assert rounds.grow(None, None, 30, 1.0, None, chosen, STUMP, None) is None  # none were set
    with pytest.raises(ValueError, match="no such row"):
        rounds.grow(ones, ones, 30, 1.0, rows + np.uint32(1), chosen, {}, None)
    with pytest.raises(ValueError, match="no such feature"):
        rounds.grow(ones, ones, 30, 1.0, rows, chosen - np.int32(1), {}, None)
    assert rounds.grow(np.zeros(5), ones, 30, 1.0, None, chosen, STUMP, None) is None


def many_rows(n=5_000):
    X, y = make_classification(n, n_features=8, n_informative=6, flip_y=0.1, random_state=5)
    return X, y


def test_a_class_of_few_rows_chooses_nothing():
    X, y = many_rows()
    rare = (np.arange(len(y)) < 30).astype(int)
    assert BoostedTreeRank().fit(X, rare).n_estimators_ <= 200


def test_a_number_of_trees_that_is_given_holds():
    X, y = many_rows()
    assert BoostedTreeRank(7).fit(X, y).n_estimators_ == 7
    for name in ("n_estimators", "learning_rate"):
        with pytest.raises(ValueError, match=name):
            BoostedTreeRank(**{name: "many"}).fit(X, y)


def test_rows_to_validate_on_say_when_to_stop():
    X, y = many_rows(3_000)
    learn, judge = slice(0, 2_000), slice(2_000, None)
    model = BoostedTreeRank(300, learning_rate=0.3, n_iter_no_change=10)
    model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge])
    assert model.n_estimators_ == np.argmax(model.validation_scores_) + 1 < 300
    assert model.score(X[judge], y[judge]) == pytest.approx(model.validation_scores_.max())
    weight = np.where(X[judge, 0] > 0, 3.0, 1.0)
    model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge], sample_weight_val=weight)
    expected = roc_auc_score(y[judge], model.score_samples(X[judge]), sample_weight=weight)
    assert model.validation_scores_.max() == pytest.approx(expected)


def test_rows_to_validate_on_are_checked():
    X, y = sample(200)
    model = BoostedTreeRank(5)
    for alone in ({"X_val": X}, {"y_val": y}, {"sample_weight_val": np.ones(200)}):
        with pytest.raises(ValueError, match="expected both, or neither"):
            model.fit(X, y, **alone)
    with pytest.raises(ValueError, match="lacks class"):
        model.fit(X, y, X_val=X[y == 1], y_val=y[y == 1])
    with pytest.raises(ValueError, match="features"):
        model.fit(X, y, X_val=X[:, :2], y_val=y)
    assert not hasattr(model, "_trees")


@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_goes_on_from_the_trees_of_the_last_fit(loss, n_classes):
    X, y = sample(400, n_classes=n_classes)
    model = BoostedTreeRank(6, loss=loss, warm_start=True, subsample=0.8).fit(X, y)
    first = model._trees.slots
    model.set_params(n_estimators=15).fit(X, y)
    np.testing.assert_array_equal(model._trees.slots[: len(first)], first)
    at_once = BoostedTreeRank(15, loss=loss, subsample=0.8).fit(X, y)
    np.testing.assert_allclose(model.score_samples(X), at_once.score_samples(X), atol=2e-2)
    assert model.n_estimators_ == 15
    with pytest.raises(ValueError, match="at least the 15 trees"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="other data"):
        model.set_params(n_estimators=20).fit(X + 1, y)
    with pytest.raises(ValueError, match="a number of trees to go on to"):
        model.set_params(n_estimators="auto").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bags_score_by_the_mean_of_their_trees(n_classes):
    X, y = sample(400, n_classes=n_classes)
    model = BoostedTreeRank(12, n_bags=3, n_jobs=2).fit(X, y)
    assert model.n_estimators_ == 12
    assert model._trees.n_trees == 36
    again = BoostedTreeRank(12, n_bags=3).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))
    assert model.score(X, y) > BoostedTreeRank(1).fit(X, y).score(X, y)
    for other in ({"early_stopping": True}, {"warm_start": True}):
        with pytest.raises(ValueError, match="expected n_bags=1"):
            BoostedTreeRank(4, n_bags=2, **other).fit(X, y)


def test_files_give_the_model_of_memory(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = sample(500)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=120)
    in_memory = BoostedTreeRank(20).fit(frame, y)
    from_file = BoostedTreeRank(20).fit_parquet(tmp_path / "rows.parquet", target="y")
    np.testing.assert_array_equal(from_file.score_samples(frame), in_memory.score_samples(frame))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_at_the_score_and_are_those_of_fewer_trees(n_classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [0.0, 1.0][: n_classes - 1])
    model = BoostedTreeRank(n_estimators=7, random_state=0).fit(X, y)
    stages = list(model.staged_score_samples(X))
    assert len(stages) == 7
    np.testing.assert_array_equal(stages[-1], model.score_samples(X))
    if model.loss_ == "logistic":
        fewer = BoostedTreeRank(n_estimators=3, random_state=0).fit(X, y)
        np.testing.assert_array_equal(stages[2], fewer.score_samples(X))


def test_stages_of_bags_take_a_tree_of_each():
    X, y = sample()
    model = BoostedTreeRank(n_estimators=5, n_bags=3, random_state=0).fit(X, y)
    stages = list(model.staged_score_samples(X))
    assert len(stages) == 5
    np.testing.assert_allclose(stages[-1], model.score_samples(X), rtol=1e-12)
    fewer = BoostedTreeRank(n_estimators=2, n_bags=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(stages[1], fewer.score_samples(X), rtol=1e-12)
