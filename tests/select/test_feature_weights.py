"""How much each feature of a forest counts, as rows that its trees have not drawn say."""

import numpy as np
import pandas as pd
import pytest
from forest_tables import table
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, RankingForest
from treerank._growth.forest_rows import Unseen
from treerank._plans.forest import weighs_features
from treerank._select.feature_weights import choose_feature_weights, weigh_features


def noisy_table(n=400, n_noise=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3 + n_noise))
    return x, (x[:, :3].sum(axis=1) + 2.0 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("splitter", [None, LeafRank(max_depth=None)])
@pytest.mark.parametrize("categories", [False, True])
def test_parts_of_an_out_of_bag_score_add_up_and_can_be_weighed(splitter, categories):
    x, y = table(300, 4)
    if categories:
        x = np.column_stack([np.digitize(x[:, 0], [-1.0, 0.0, 1.0]), x[:, 1:]])
    forest = RankingForest(
        splitter, n_estimators=15, warm_start=True, categorical_features=[0] if categories else None
    ).fit(x, y)
    trees, sampling = forest._before_shrinkage, forest._plan.sampling
    codes, _ = forest._codes(x)
    rows = np.arange(0, 300, 3, dtype=np.uint32)
    weights = np.array([0.5, 2.0, 0.0, 1.0])
    parts, _ = trees.out_of_bag_by_feature(codes, sampling, rows, 20.0, 1)
    again, _ = trees.out_of_bag_by_feature(codes, sampling, rows, 20.0, 3)
    np.testing.assert_array_equal(parts, again)
    for own, factor in ((trees, np.ones(4)), (weigh_features(trees, weights), weights)):
        whole, _ = own.out_of_bag(codes, sampling, rows, [20.0], 1)
        np.testing.assert_allclose(parts @ factor, whole[:, 0], atol=1e-6)


def test_a_feature_that_says_nothing_counts_less():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 2_000).astype(np.uint8)
    useful = 0.1 * (labels - 0.5) + rng.normal(scale=0.1, size=2_000)
    parts = np.column_stack([useful, rng.normal(scale=0.1, size=2_000)])
    useful_weight, noise_weight = choose_feature_weights(
        Unseen(parts, labels, None), np.ones(2_000, dtype=bool)
    )
    assert useful_weight > 1.0
    assert noise_weight < 0.7


def test_units_count_as_repeated_rows():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 200).astype(np.uint8)
    parts = rng.normal(size=(200, 3)) + labels[:, np.newaxis] * [0.5, 0.1, 0.0]
    units = np.full(200, 7, dtype=np.int64)
    everyone = np.ones(200, dtype=bool)
    plain = choose_feature_weights(Unseen(parts, labels, None), everyone)
    np.testing.assert_array_equal(
        choose_feature_weights(Unseen(parts, labels, units), everyone), plain
    )


def test_rows_of_one_class_choose_nothing():
    parts = np.random.default_rng(5).normal(size=(20, 2))
    ones = np.ones(20, dtype=np.uint8)
    weights = choose_feature_weights(Unseen(parts, ones, None), np.ones(20, dtype=bool))
    np.testing.assert_array_equal(weights, [1.0, 1.0])


def is_weighed(forest, x, y):
    forest.fit(x, y)
    return weighs_features(forest._plan, forest._binning)


def test_features_are_weighed_only_where_it_was_measured():
    x, y = table(200, 4)
    weighed = [
        is_weighed(forest, x, y)
        for forest in (
            RankingForest(n_estimators=3),
            RankingForest(n_estimators=3, shrinkage=10.0),
            RankingForest(n_estimators=3, aggregation="mean_rank"),
            RankingForest(n_estimators=3, focus=0.1),
            RankingForest(n_estimators=3, monotonic_cst=[1, 0, 0, 0]),
        )
    ]
    assert weighed == [True, False, False, False, False]
    grades = np.digitize(x[:, 0], np.quantile(x[:, 0], [1 / 3, 2 / 3]))
    assert not is_weighed(RankingForest(n_estimators=3), x, grades)


def test_features_of_large_tables_are_weighed_if_levels_are_ordered_by_statistics(monkeypatch):
    monkeypatch.setattr("treerank._plans.forest.WEIGHED_ROWS", 100)
    x, y = table(200, 4)
    x = (
        pd.DataFrame(x, columns=list("abcd"))
        .assign(kind=np.arange(200) % 7)
        .astype({"kind": "category"})
    )
    for categories, expected in (("levels", False), ("statistics", True)):
        assert is_weighed(RankingForest(n_estimators=3, categories=categories), x, y) == expected


def test_out_of_bag_auc_is_not_flattered_by_the_weights():
    rng = np.random.default_rng(6)
    aucs = []
    for seed in range(8):
        x, y = rng.normal(size=(150, 30)), rng.integers(0, 2, 150)
        forest = RankingForest(n_estimators=40, oob_score=True, random_state=seed).fit(x, y)
        aucs.append(forest.oob_auc_)
    assert np.mean(aucs) < 0.54


def test_weights_help_among_many_features_that_say_nothing():
    gains = []
    for seed in range(4):
        x, y = noisy_table(4_000, seed=seed)
        forest = RankingForest(n_estimators=60, warm_start=True, random_state=seed)
        forest.fit(x[:1_000], y[:1_000])
        plain = forest._before_shrinkage.bake_shrinkage(forest.shrinkage_)
        codes, _ = forest._codes(x[1_000:])
        before = roc_auc_score(y[1_000:], plain.mean(codes, 1))
        gains.append(roc_auc_score(y[1_000:], forest.score_samples(x[1_000:])) - before)
    assert np.mean(gains) > 0.002
