"""Forests: draws, values, out-of-bag scores, aggregation, bad input."""

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, RankingForest, _core, consensus
from treerank._plans import forest as forest_plan
from treerank._plans.forest import SHRINKAGES, _kind_of, default_recipe
from treerank._select import plan_race, rank_aggregation
from treerank._trees.packed_forest import Sampling
from treerank._trees.ranking_tree import tree_from_core

pytestmark = pytest.mark.core


def table(n=300, p=5, seed=0, missing=0.0, n_levels=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).round(1)
    y = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    if n_levels:
        x[:, -1] = rng.integers(0, n_levels, size=n)
    x[rng.random((n, p)) < missing] = np.nan
    return x, y


def as_frame(x, n_levels):
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    if n_levels:
        last = frame.columns[-1]
        frame[last] = frame[last].map(lambda v: None if np.isnan(v) else f"level {v:.0f}")
        frame[last] = frame[last].astype("category")
    return frame


def rank_trees(model, x, y, weights=None):
    """The trees of a forest as full ranking trees, grown again one by one.

    Fitted with ``warm_start=True``, a forest still has the thresholds it was grown with.
    """
    assert model.warm_start
    codes, _ = model._codes(x)
    plan, binning = model._plan, model._binning
    trees = []
    for t, kind in enumerate(plan.kind_of):
        counts = plan.sampling.counts(t, len(y))
        units = None if weights is None else weights * counts.astype(np.int64)
        repeats = np.zeros((t + 1, len(y)), np.uint8)  # the number of a tree is part of its key
        repeats[t] = counts
        options = plan.kinds[kind].for_core(1.0, plan.sampling.design_effect(len(y)))
        labels = np.asarray(y, np.uint8)
        grown = _core.grow_trees(
            codes, labels, repeats, units, binning.n_codes, binning.is_categorical,
            np.zeros(len(codes), np.int8), options, 1, None,
        )  # fmt: skip
        trees.append(tree_from_core(grown[-1], 1.0))
    return trees


# --- draws ---


@examples(40)
@given(st.integers(2, 400), st.floats(0, 1), st.integers(0, 2**63), st.booleans())
def test_draws_add_up(n, share, seed, replace):
    n_draws = max(1, round(share * n))
    counts = Sampling(replace, n_draws, seed).counts(3, n)
    assert counts.sum() == n_draws
    if not replace:
        assert counts.max() == 1


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(
    ("n", "n_draws"), [(2, 2), (700, 500), (65_536, 65_536), (65_537, 65_537), (150_000, 100_000)]
)
def test_draws_are_those_of_the_slow_twin(n, n_draws, replace):
    sampling = Sampling(replace, n_draws, 2**63 + 7)
    expected = oracles.draw_counts(sampling.seed, 2, n_draws, n, replace)
    assert np.array_equal(sampling.counts(2, n), np.concatenate(expected))


@pytest.mark.parametrize("replace", [True, False])
def test_a_block_is_drawn_without_the_others(replace):
    n, block = 5 * _core.ROWS_PER_BLOCK + 17, _core.ROWS_PER_BLOCK
    sampling = Sampling(replace, n // 2, 5)
    whole = sampling.counts(1, n)
    cuts = [0, 0, 17, block, block + 1, 3 * block - 1, 5 * block, n]
    for first, last in pairwise(cuts):
        mine = sampling.some_counts(1, n, first, last - first)
        assert np.array_equal(mine, whole[first:last])
    with pytest.raises(ValueError, match="no such rows"):
        sampling.some_counts(1, n, n, 1)


@pytest.mark.not_sanitized
@pytest.mark.parametrize("replace", [True, False])
def test_blocks_share_the_draws_as_chance_would(replace):
    n, block = 180_000, _core.ROWS_PER_BLOCK
    n_draws = n // 3
    sampling = Sampling(replace, n_draws, 3)
    counts = (sampling.counts(t, n).astype(int) for t in range(300))
    totals = np.array([np.add.reduceat(c, [0, block, 2 * block]) for c in counts])
    share = np.array([block, block, n - 2 * block]) / n
    variance = n_draws * share * (1 - share)
    if not replace:
        variance *= (n - n_draws) / (n - 1)
    assert (abs(totals.mean(axis=0) - n_draws * share) < 4 * np.sqrt(variance / 300)).all()
    assert (abs(totals.var(axis=0) / variance - 1) < 4 * np.sqrt(2 / 300)).all()


def test_draws_are_uniform_and_differ_between_trees():
    counts = np.array([Sampling(True, 1000, 1).counts(t, 1000) for t in range(200)])
    assert abs((counts == 0).mean() - np.exp(-1)) < 0.005
    totals = counts.sum(axis=0)  # 200 expected for each row, standard deviation 14
    assert 120 < totals.min() <= totals.max() < 280
    assert len({row.tobytes() for row in counts}) == 200


# --- values ---


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


@examples(20)
@given(
    st.integers(10, 150), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]),
    st.sampled_from([0, 5]), st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
)  # fmt: skip
def test_random_cuts_part_the_rows_they_count(n, seed, missing, levels, criterion):
    x, y = table(n, 3, seed, missing, levels)
    x = as_frame(x, levels)
    model = RankingForest(
        LeafRank(criterion=criterion, max_depth=None, max_features=2),
        n_estimators=1, random_cut_share=1.0, random_state=seed, warm_start=True,
    ).fit(x, y)  # fmt: skip
    [tree] = rank_trees(model, x, y)
    codes, _ = model._codes(x)
    repeats = model._plan.sampling.counts(0, n).astype(float)
    counted = oracles.node_weights(tree, codes, y, repeats)
    reached = tree.tests[["negative", "positive"]]
    np.testing.assert_array_equal(counted[:, 0], reached["negative"])
    np.testing.assert_array_equal(counted[:, 1], reached["positive"])
    inner = tree.tests["left"] >= 0
    assert (counted[tree.tests["left"][inner]].sum(axis=1) > 0).all()
    assert (counted[tree.tests["right"][inner]].sum(axis=1) > 0).all()


def test_random_cuts_are_spread_over_the_range():
    rng = np.random.default_rng(0)
    x = rng.permutation(1000)[:, np.newaxis] / 1000.0
    y = (rng.random(1000) < 0.5).astype(int)
    model = RankingForest(
        LeafRank(max_depth=1),
        max_depth=1,
        n_estimators=120,
        random_cut_share=1.0,
        shrinkage=0.0,
        warm_start=True,
    ).fit(x, y)
    cuts = [tree.tests["cut"][0] for tree in rank_trees(model, x, y) if len(tree.tests)]
    assert np.histogram(cuts, bins=4, range=(0, 1000))[0].min() > 15


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


# --- out of bag ---


def test_out_of_bag_scores_use_only_trees_that_have_not_seen_the_row():
    x, y = table(120)
    model = RankingForest(n_estimators=25, shrinkage=3.0, oob_score=True, warm_start=True).fit(x, y)
    unseen = np.array([model._plan.sampling.counts(t, 120) == 0 for t in range(25)])
    values = np.array([tree.score_samples(x) for tree in model.estimators_])
    roots = [tree.counts[0] for tree in rank_trees(model, x, y)]
    change = values - np.array([[root[1] / root.sum()] for root in roots])
    with np.errstate(invalid="ignore"):
        expected = (change * unseen).sum(axis=0) / unseen.sum(axis=0) + y.mean() - 0.5
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=2e-6)
    seen = np.isfinite(expected)
    auc = roc_auc_score(y[seen], model.oob_decision_function_[seen])
    assert model.oob_auc_ == pytest.approx(auc)
    interval = model.oob_auc_interval_
    assert interval.lower < model.oob_auc_ < interval.upper


@pytest.mark.not_sanitized
@pytest.mark.parametrize("depth", [3, None])  # several ways to a slot, or one
def test_out_of_bag_sums_of_few_rows_are_those_of_all(depth):
    """Many rows look their sums up by the slot where they end, few add them up as they walk."""
    x, y = table(3_000, missing=0.1)
    splitter = LeafRank(max_depth=depth, max_features=2)
    model = RankingForest(splitter, n_estimators=6, shrinkage=1.0, warm_start=True).fit(x, y)
    codes, _ = model._codes(x)
    trees, sampling = model._before_shrinkage, model._plan.sampling
    shrinkages = [0.0, 2.0, 50.0]
    numbers = np.arange(len(y), dtype=np.uint32)
    means, _ = trees.out_of_bag(codes, sampling, numbers, shrinkages, 2)
    for row in (0, 17, 2_999):
        alone, _ = trees.out_of_bag(codes, sampling, numbers[row : row + 1], shrinkages, 1)
        np.testing.assert_array_equal(alone[0], means[row])


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_laid_side_by_side_make_the_same_trees(weighted):
    """Constant columns make the table so large that rows of small nodes are copied together."""
    rng = np.random.default_rng(3)
    x, y = table(20_000, 4, missing=0.05)
    x[:, 3] = rng.normal(size=len(y))
    wide = np.column_stack([x, np.zeros((len(y), 40))])
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    splitter = LeafRank(max_depth=None, min_samples_leaf=2)
    narrow, large = (
        RankingForest(splitter, n_estimators=2, max_depth=2, random_cut_share=0.5)
        .fit(table, y, sample_weight=weight)
        .score_samples(table)
        for table in (x, wide)
    )
    np.testing.assert_array_equal(narrow, large)


def test_out_of_bag_auc_of_noise_is_one_half():
    aucs = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(200, 5)), rng.integers(0, 2, size=200)
        model = RankingForest(n_estimators=60, oob_score=True, random_state=seed).fit(x, y)
        aucs.append(model.oob_auc_)
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / np.sqrt(20)
    assert abs(np.mean(aucs) - 0.5) < 0.03


@pytest.mark.not_sanitized
@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_out_of_bag_auc_foretells_the_auc_on_new_rows(aggregation):
    x, y = table(2400, seed=3)
    model = RankingForest(n_estimators=60, oob_score=True, aggregation=aggregation)
    model.fit(x[:800], y[:800])
    assert abs(model.oob_auc_ - model.score(x[800:], y[800:])) < 0.03
    assert model.score(x[800:], y[800:]) > 0.8


def test_the_shrinkage_with_the_best_out_of_bag_auc_is_chosen():
    x, y = table(250)
    model = RankingForest(n_estimators=40).fit(x, y)
    aucs = [
        RankingForest(n_estimators=40, shrinkage=s, oob_score=True).fit(x, y).oob_auc_
        for s in SHRINKAGES
    ]
    assert model.shrinkage_ == SHRINKAGES[int(np.argmax(aucs))]


# --- the whole estimator ---


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


def test_shrinkage_under_constraints_is_chosen_out_of_bag():
    x, y = table(300, 3)
    given = {"n_estimators": 25, "monotonic_cst": [1, 0, 0]}
    chosen = RankingForest(**given).fit(x, y)
    models = {s: RankingForest(**given, shrinkage=s, oob_score=True).fit(x, y) for s in SHRINKAGES}
    best = max(SHRINKAGES, key=lambda s: models[s].oob_auc_)
    assert chosen.shrinkage_ == best
    # The choice also stretches the scores, which keeps their order.
    assert np.corrcoef(chosen.score_samples(x), models[best].score_samples(x))[0, 1] > 1 - 1e-9
    warm = RankingForest(n_estimators=9, monotonic_cst=[1, 0, 0], warm_start=True).fit(x, y)
    warm.set_params(n_estimators=25).fit(x, y)
    assert np.array_equal(warm.score_samples(x), chosen.score_samples(x))


@pytest.mark.not_sanitized
def test_out_of_bag_auc_of_noise_is_one_half_under_constraints_too():
    aucs = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(150, 4)), rng.integers(0, 2, size=150)
        model = RankingForest(n_estimators=40, oob_score=True, monotonic_cst=[1, 0, 0, 0])
        aucs.append(model.set_params(random_state=seed).fit(x, y).oob_auc_)
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / np.sqrt(12)


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


def test_ranks_in_a_tree_are_those_of_its_strata():
    x, y = table(300)
    model = RankingForest(n_estimators=3, aggregation="mean_rank", warm_start=True).fit(x, y)
    codes, _ = model._codes(x)
    for view, tree in zip(model.estimators_, rank_trees(model, x, y), strict=True):
        weight = tree.counts.sum(axis=1)
        leaves = tree.leaves
        above = np.cumsum(weight[leaves]) - weight[leaves] / 2
        rank = dict(zip(leaves.tolist(), 1 - above / weight[0], strict=True))
        expected = [rank[cell] for cell in tree.apply(codes)]
        np.testing.assert_allclose(view.score_samples(x), expected, atol=1e-6)


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_kendall_is_no_worse_than_the_mean_rank_on_the_training_rows(seed):
    x, y = table(150, seed=seed)
    forests = {
        rule: RankingForest(n_estimators=20, aggregation=rule).fit(x, y)
        for rule in ("kendall", "mean_rank")
    }
    ranks = np.array([tree.score_samples(x) for tree in forests["kendall"].estimators_])
    cost = {
        rule: consensus.kendall_cost(model.score_samples(x), ranks)
        for rule, model in forests.items()
    }
    assert cost["kendall"] < cost["mean_rank"]


def test_kendall_gives_way_to_the_mean_rank_where_it_would_cost_more(monkeypatch):
    x, y = table(150)

    def upside_down(trees, codes, n_jobs):
        reference, places = ordered(trees, codes, n_jobs)
        return np.ascontiguousarray(reference[:, ::-1]), places

    ordered = rank_aggregation._reference
    mean = RankingForest(n_estimators=10, aggregation="mean_rank").fit(x, y)
    model = RankingForest(n_estimators=10, aggregation="kendall").fit(x, y)
    assert model._ranks.kind == "kendall"
    assert not np.array_equal(model.score_samples(x), mean.score_samples(x))
    monkeypatch.setattr(rank_aggregation, "_reference", upside_down)
    model.fit(x, y)
    assert np.array_equal(model.score_samples(x), mean.score_samples(x))


def test_kendall_beats_the_mean_rank_on_more_rows_than_it_orders():
    x, y = table(900, 3)
    forests = {
        rule: RankingForest(n_estimators=10, aggregation=rule).fit(x, y)
        for rule in ("kendall", "mean_rank")
    }
    ranks = np.array([tree.score_samples(x) for tree in forests["kendall"].estimators_])
    cost = {r: consensus.kendall_cost(m.score_samples(x), ranks) for r, m in forests.items()}
    assert cost["kendall"] <= cost["mean_rank"]


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


# --- bad input ---


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
        ({"shrinkage": "cv"}, "Got shrinkage='cv'; expected one of 'oob', None"),
        ({"aggregation": "vote"}, "Got aggregation='vote'; expected one of"),
        ({"random_cut_share": "half"}, "Got random_cut_share='half'; expected one of 'auto'"),
        ({"random_cut_share": 1.5}, "Got random_cut_share=1.5; expected a share from 0 to 1"),
        ({"max_depth": 0}, "Got max_depth=0; expected an integer >= 1 or None"),
        ({"max_depth": "deep"}, "Got max_depth='deep'"),
        ({"min_samples_leaf": 0}, "Got min_samples_leaf=0"),
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


@pytest.mark.not_sanitized
@pytest.mark.parametrize("splitter", [None, LogisticRegression()], ids=["LeafRank", "other"])
def test_shares_are_stretched_to_fit_and_the_order_stays(splitter, monkeypatch):
    monkeypatch.setattr("treerank._plans.forest.SHRINKAGES", [200.0, 500.0])  # far too strong
    x, y = table(1_500, 4, seed=3)
    given = {"splitter": splitter, "n_estimators": 12, "max_depth": 4}
    chosen = RankingForest(**given).fit(x[:1000], y[:1000])
    plain = RankingForest(**given, shrinkage=chosen.shrinkage_).fit(x[:1000], y[:1000])
    stretched, shrunk = (m.predict_proba(x)[:, 1] for m in (chosen, plain))
    # A factor on what the trees add to the shares at their roots: the order stays.
    assert np.corrcoef(chosen.score_samples(x), plain.score_samples(x))[0, 1] > 1 - 1e-6
    assert stretched.std() > 1.2 * shrunk.std()
    new = slice(1000, None)
    assert np.mean((stretched[new] - y[new]) ** 2) < np.mean((shrunk[new] - y[new]) ** 2)


# --- The plan of a forest ---


@pytest.fixture
def early_race(monkeypatch):
    """A race on few rows already, so that the tests are quick."""
    monkeypatch.setattr(forest_plan, "RIVAL_ROWS", 2_000)


def sparse_table(n, seed=0):
    """Two of many features decide, so that a tree must see most of them in every node."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 12))
    y = (np.sin(3 * x[:, 0]) + np.sin(3 * x[:, 1]) > 0) ^ (rng.random(n) < 0.1)
    return x, y.astype(int)


def test_the_plan_of_the_highest_out_of_bag_auc_is_chosen(early_race):
    x, y = sparse_table(3_000)
    forest = RankingForest(n_estimators=40).fit(x[:2_000], y[:2_000])
    choice = forest.plan_
    assert choice.oob_auc[choice.name] == max(choice.oob_auc.values())
    assert len(choice.oob_auc) == 3
    assert choice.n_trees == 5
    assert forest._trees.n_trees == 40
    usual = RankingForest(n_estimators=40, random_cut_share=0.5).fit(x[:2_000], y[:2_000])
    assert usual.plan_.oob_auc == {}
    assert choice.name != usual.plan_.name
    assert forest.score(x[2_000:], y[2_000:]) > usual.score(x[2_000:], y[2_000:])


def test_trees_of_the_race_are_those_of_the_plan(early_race):
    x, y = sparse_table(2_000)
    chosen = RankingForest(n_estimators=32).fit(x, y)
    assert "0.8 of the features" in chosen.plan_.name
    splitter = LeafRank(max_depth=None, min_samples_leaf=1, max_features=0.8)
    said = RankingForest(splitter, n_estimators=32, random_cut_share=0.5).fit(x, y)
    np.testing.assert_array_equal(chosen.score_samples(x), said.score_samples(x))


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_plan_does_not_depend_on_the_threads(early_race, n_jobs):
    x, y = sparse_table(2_000)
    one, several = (RankingForest(n_estimators=32, n_jobs=j).fit(x, y) for j in (1, n_jobs))
    assert one.plan_ == several.plan_
    np.testing.assert_array_equal(one.score_samples(x), several.score_samples(x))


def test_many_rows_race_on_a_sample(early_race, monkeypatch):
    monkeypatch.setattr(plan_race, "RACE_ROWS", 1_000)
    x, y = sparse_table(2_000)
    forest = RankingForest(n_estimators=32).fit(x, y)
    assert len(forest.plan_.oob_auc) == 3
    assert forest._trees.n_trees == 32


@pytest.mark.parametrize(
    "given",
    [
        {"splitter": LeafRank(max_depth=3)}, {"max_features": 3}, {"min_samples_leaf": 2},
        {"max_depth": 4}, {"random_cut_share": 0.1}, {"shrinkage": 5.0}, {"n_estimators": 31},
        {"aggregation": "mean_rank"}, {"monotonic_cst": [1] + [0] * 11}, {"warm_start": True},
        {"bootstrap": False, "shrinkage": None},
    ],
    ids=str,
)  # fmt: skip
def test_there_is_no_race_where_something_is_said(early_race, given):
    x, y = sparse_table(2_000)
    forest = RankingForest(**{"n_estimators": 32, **given}).fit(x, y)
    assert forest.plan_.oob_auc == {}


def test_few_rows_and_grades_have_no_race(early_race):
    x, y = sparse_table(2_000)
    assert RankingForest(n_estimators=32).fit(x[:1_999], y[:1_999]).plan_.oob_auc == {}
    grades = y + (x[:, 0] > 1)
    assert RankingForest(n_estimators=32).fit(x, grades).plan_.oob_auc == {}
