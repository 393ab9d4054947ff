"""Attributions: exact against all subsets, and they sum to the score."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
import samples
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_examples import examples

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, _core
from treerank._reading.tree_sums import tree_sum
from treerank._trees.ranking_tree import SLOT
from treerank.inspection import attributions

pytestmark = pytest.mark.core

MODELS = {
    "tree": TreeRank(max_depth=3, pruning=None, min_samples_leaf=2),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=3),
    "one tree a cell": RankingForest(LeafRank(max_depth=None), n_estimators=3, max_depth=1),
    "ranks": RankingForest(n_estimators=3, aggregation="mean_rank"),
    "boosted": BoostedTreeRank(n_estimators=3, min_samples_leaf=2, max_depth=3),
    "boosted strata": BoostedTreeRank(
        n_estimators=3, min_samples_leaf=2, max_depth=3, leaf_values="stratum"
    ),
}


def graded(x, y):
    """Three grades instead of two classes."""
    y = np.asarray(y) + (np.nan_to_num(np.asarray(x["c"])) > 0.5)
    y[:3] = 0, 1, 2
    return y


def codes_of(model, x):
    return model._binning.transform(samples.table_of(model, x))


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10_000), grades=st.booleans())
@examples(8)
def test_attributions_are_exact_against_all_subsets(name, seed, grades):
    x, y = samples.frame(40, seed)
    if name == "leafrank" or (name.startswith("boosted") and seed % 2):
        grades = False
    model = MODELS[name].fit(x, graded(x, y) if grades else y)
    rows = x.iloc[:2]
    trees, codes = tree_sum(model), codes_of(model, x)
    assert trees is not None
    found = attributions(model, rows, interactions=True, max_paths=2**20)
    against = attributions(model, rows, baseline=x.iloc[5:8], interactions=True)
    assert found.exact
    for i in range(len(rows)):
        games = [
            (found, oracles.path_game(trees, codes[:, i])),
            (against, oracles.baseline_game(trees, codes[:, i], codes[:, 5:8])),
        ]
        for made, game in games:
            values, expected = oracles.shapley_values(game, len(codes))
            np.testing.assert_allclose(made.values[i], values, atol=1e-9)
            assert made.expected_value == pytest.approx(expected, abs=1e-9)
            pairs = oracles.shapley_interactions(game, len(codes))
            np.testing.assert_allclose(made.interactions[i], pairs, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_attributions_sum_to_the_score(name):
    x, y = samples.frame(400, 3)
    model = MODELS[name].fit(x, y if name == "leafrank" else graded(x, y))
    score = model.score_samples(x)
    for baseline in (None, x.iloc[:130]):
        found = attributions(model, x, baseline)
        total = found.expected_value + found.values.sum(axis=1)
        np.testing.assert_allclose(total, score, atol=1e-9)
        pairs = attributions(model, x.iloc[:20], baseline, interactions=True, max_paths=2**20)
        total = pairs.expected_value + pairs.interactions.sum(axis=(1, 2))
        np.testing.assert_allclose(total, score[:20], atol=1e-9)


def test_expected_value_is_the_mean_of_the_baseline():
    x, y = samples.frame(300, 4)
    model = RankingForest(n_estimators=10).fit(x, y)
    found = attributions(model, x.iloc[:3], baseline=x.iloc[:100])
    assert found.expected_value == pytest.approx(model.score_samples(x.iloc[:100]).mean())


@pytest.mark.parametrize(
    "model",
    [
        TreeRank(pruning=None),
        RankingForest(n_estimators=4, bootstrap=False, shrinkage=5.0),
        RankingForest(n_estimators=4, bootstrap=False, aggregation="mean_rank"),
        BoostedTreeRank(n_estimators=10),
        BoostedTreeRank(n_estimators=10, leaf_values="stratum"),
    ],
)
def test_expected_value_is_the_mean_over_the_training_rows(model):
    x, y = samples.frame(300, 4)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    model.fit(x, y, sample_weight=weight)
    found = attributions(model, x.iloc[:3])
    mean = np.average(model.score_samples(x), weights=weight)
    assert found.expected_value == pytest.approx(mean, abs=1e-6)


def test_a_tree_with_too_many_paths_is_estimated_and_still_sums_to_the_score():
    x, y = samples.frame(400, 5)
    model, some = RankingForest(n_estimators=30).fit(x, y), x.iloc[:10]
    exact = attributions(model, some, max_paths=2**20)
    rough = attributions(model, some, max_paths=1)
    assert exact.exact
    assert not rough.exact
    np.testing.assert_allclose(rough.scores, model.score_samples(some), atol=1e-9)
    assert rough.expected_value == pytest.approx(exact.expected_value, abs=1e-6)
    # 240 orders of 4 features leave little to chance.
    assert np.abs(rough.values - exact.values).max() < 0.1 * np.abs(exact.values).max()


FEW_SETS = 16 * 2**4  # the paths that allow for all sets of four features


@given(seed=st.integers(0, 10_000))
@examples(3)
def test_trees_of_few_features_are_exact_however_many_paths_they_have(seed):
    x, y = samples.frame(150, seed)
    model, row = RankingForest(n_estimators=1).fit(x, y), x.iloc[:1]
    trees = tree_sum(model)
    starts, slots, _, set_of, sets, at_end = trees.walks
    assume(len(_core.estimated_paths(starts, slots, set_of, sets, at_end, FEW_SETS - 1)))
    found = attributions(model, row, interactions=True, max_paths=FEW_SETS)
    assert found.exact
    np.testing.assert_allclose(found.scores, model.score_samples(row), atol=1e-9)
    game = oracles.path_game(trees, codes_of(model, row)[:, 0])
    # The tree adds up its steps in single precision.
    pairs = oracles.shapley_interactions(game, x.shape[1])
    np.testing.assert_allclose(found.interactions[0], pairs, atol=1e-7)
    np.testing.assert_allclose(found.values[0], pairs.sum(axis=1), atol=1e-7)
    assert found.expected_value == pytest.approx(game(set()), abs=1e-7)


def test_paths_of_many_features_are_exact_beside_paths_of_few():
    # One long path and many short ones: these do with fewer points of the quadrature.
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 10)).round(1)
    y = ((x > 0.3).sum(axis=1) + x[:, 0] > 4).astype(int)
    splitter = LeafRank(max_depth=None, min_samples_leaf=1, max_features=1)
    model = RankingForest(splitter, n_estimators=1, max_depth=1).fit(x, y)
    trees, codes = tree_sum(model), codes_of(model, x)
    assert trees.at_end.all()
    found = attributions(model, x[:1])
    values, expected = oracles.shapley_values(oracles.path_game(trees, codes[:, 0]), x.shape[1])
    np.testing.assert_allclose(found.values[0], values, atol=1e-9)
    assert found.expected_value == pytest.approx(expected, abs=1e-9)


def test_very_long_paths_do_not_exhaust_the_stack():
    # Each test separates a single row, at one end of the others. Walks of 60,000 tests once ended
    # the process; on systems with small stacks, so did 2,000.
    x, y = np.column_stack([np.arange(1500.0), -np.arange(1500.0)]), np.arange(1500) % 2
    splitter = LeafRank(max_depth=None, min_samples_leaf=1)
    model = RankingForest(
        splitter, n_estimators=1, max_depth=1, bootstrap=False, shrinkage=None, random_cut_share=0
    ).fit(x, y)
    found = attributions(model, x[-3:])
    assert found.exact
    np.testing.assert_allclose(found.scores, model.score_samples(x[-3:]), atol=1e-6)
    with pytest.raises(ValueError, match="more than 1,000 tests on a path; expected at most"):
        attributions(model, x[-3:], baseline=x[:3])


def test_results_depend_neither_on_threads_nor_on_the_other_rows():
    x, y = samples.frame(400, 6)
    one = RankingForest(n_estimators=10, n_jobs=1).fit(x, y)
    three = RankingForest(n_estimators=10, n_jobs=3).fit(x, y)
    for options in ({}, {"baseline": x.iloc[:70]}, {"max_paths": 1}, {"max_paths": FEW_SETS}):
        values = attributions(one, x, **options).values
        np.testing.assert_array_equal(values, attributions(three, x, **options).values)
        some = attributions(one, x.iloc[100:107], **options).values
        np.testing.assert_array_equal(values[100:107], some)


def test_attributions_of_a_monotone_feature_never_contradict_it():
    x, y = samples.frame(400, 7, missing=0.0)
    x, constraint = x[["a", "b", "c"]], {"c": 1}
    for model in (
        TreeRank(monotonic_cst=constraint),
        RankingForest(n_estimators=10, monotonic_cst=constraint),
        BoostedTreeRank(n_estimators=20, monotonic_cst=constraint),
    ):
        model.fit(x, y)
        rows = x.iloc[:30]
        gains = [
            attributions(model, rows.assign(c=value), baseline=x.iloc[:60]).values[:, 2]
            for value in (-2.0, -0.5, 0.0, 0.5, 2.0)
        ]
        assert np.ptp(gains) > 0
        assert (np.diff(gains, axis=0) >= -1e-12).all()


def test_features_without_a_test_get_nothing():
    x, y = samples.frame(200, 8)
    x = x.assign(constant=1.0)
    model = BoostedTreeRank(n_estimators=10).fit(x, y)
    assert (attributions(model, x).values[:, -1] == 0).all()


def test_a_boosted_model_without_trees_has_no_attributions():
    x, y = np.zeros((20, 2)), np.arange(20) % 2
    model = BoostedTreeRank(n_estimators=3).fit(x, y)
    found = attributions(model, x, interactions=True)
    assert (found.values == 0).all()
    np.testing.assert_allclose(found.scores, model.score_samples(x))


def test_attributions_survive_the_model_file(tmp_path):
    x, y = samples.frame(200, 9)
    for model in (RankingForest(n_estimators=5), BoostedTreeRank(n_estimators=5), TreeRank()):
        model.fit(x, y)
        treerank.save(model, tmp_path / "model")
        loaded = treerank.load(tmp_path / "model")
        found, again = attributions(model, x), attributions(loaded, x)
        np.testing.assert_array_equal(found.values, again.values)
        assert found.expected_value == again.expected_value


def test_trees_grown_later_have_their_shares_too():
    x, y = samples.frame(200, 10)
    warm = RankingForest(n_estimators=3, warm_start=True).fit(x, y)
    warm.set_params(n_estimators=6).fit(x, y)
    whole = RankingForest(n_estimators=6, warm_start=True).fit(x, y)
    np.testing.assert_array_equal(attributions(warm, x).values, attributions(whole, x).values)


def test_a_model_of_the_first_version_needs_a_baseline():
    x, y = samples.frame(100, 13)
    model = RankingForest(n_estimators=3).fit(x, y)
    model._trees = replace(model._trees, left_share=None)  # as its files are read
    attributions(model, x, baseline=x.iloc[:10])
    with pytest.raises(ValueError, match=r"saved by version 0\.1\.0.*baseline"):
        attributions(model, x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda x: {"X": x[["a", "b"]]}, "Feature names seen at fit time, yet now missing"),
        (lambda x: {"baseline": x[["a", "b"]]}, "Got a baseline that does not fit the model"),
        (lambda x: {"baseline": x.iloc[:0]}, "Got a baseline that does not fit the model"),
        (lambda _: {"max_paths": 0}, "Got max_paths=0"),
        (lambda _: {"interactions": 2}, "Got interactions=2"),
        (lambda _: {"interactions": True, "max_paths": 1}, "Give a baseline"),
    ],
)
def test_bad_input_gets_one_clear_error(arguments, message):
    x, y = samples.frame(100, 11)
    model = RankingForest(n_estimators=3).fit(x, y)
    with pytest.raises(ValueError, match=message):
        attributions(model, **{"X": x, **arguments(x)})


def test_models_that_are_no_sum_of_trees_are_refused():
    x, y = samples.frame(100, 12)
    with pytest.raises(ValueError, match="aggregation='median_rank'"):
        attributions(RankingForest(n_estimators=3, aggregation="median_rank").fit(x, y), x)
    from sklearn.linear_model import LogisticRegression

    plain = x[["a", "b"]].fillna(0)
    with pytest.raises(ValueError, match="Got a LogisticRegression; expected"):
        attributions(LogisticRegression().fit(plain, y), plain)


def packed_sklearn_forest(forest, n_features):
    """Arrays of the core for the trees of a scikit-learn forest, and the cuts of its codes."""
    cuts = [
        np.unique(np.concatenate([t.tree_.threshold[t.tree_.feature == j] for t in forest]))
        for j in range(n_features)
    ]
    starts, slots, step, share = [0], [], [], []
    for estimator in forest:
        tree = estimator.tree_
        order, place = [0], {0: 0}
        for node in order:  # children side by side, further on
            if tree.children_left[node] >= 0:
                for child in (tree.children_left[node], tree.children_right[node]):
                    place[child] = len(order)
                    order.append(child)
        for node in order:
            weight = tree.weighted_n_node_samples
            if tree.children_left[node] < 0:
                slots.append((place[node], 0, 0xFFFF))
                share.append(0.0)
            else:
                j = tree.feature[node]
                cut = np.searchsorted(cuts[j], tree.threshold[node]) + 1
                slots.append((place[tree.children_left[node]], j, cut))
                share.append(weight[tree.children_left[node]] / weight[node])
            step.append(tree.value[node, 0, 0])
        starts.append(len(slots))
    records = np.array(slots, dtype=SLOT).view(np.uint8).reshape(-1, 8)
    return (
        np.array(starts, dtype=np.int64), records, np.array(step), np.empty(0, dtype=np.int32),
        np.empty((0, 32), dtype=np.uint8), np.ones(len(forest), dtype=np.uint8), np.array(share),
    ), cuts  # fmt: skip


def test_attributions_of_a_forest_of_scikit_learn_equal_those_of_shap():
    shap = pytest.importorskip("shap")
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(size=300)
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(x, y)
    arrays, cuts = packed_sklearn_forest(forest.estimators_, x.shape[1])
    codes = np.array(
        [1 + np.searchsorted(c, x[:50, j]) for j, c in enumerate(cuts)], dtype=np.uint16
    )
    flat, expected, exact = _core.attribute_paths(*arrays, codes, False, 10**6, 2, 1)
    explainer = shap.TreeExplainer(forest)
    assert exact
    np.testing.assert_allclose(
        flat.reshape(50, -1) / 5, explainer.shap_values(x[:50], check_additivity=False), atol=1e-5
    )
    assert expected / 5 == pytest.approx(float(np.ravel(explainer.expected_value)[0]), abs=1e-5)
