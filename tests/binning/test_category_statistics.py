"""Categories whose levels are put in the order of the labels."""

import sqlite3

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_models import come_back
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank._binning.category_statistics import (
    N_FOLDS,
    CategoryPlan,
    code_training_data,
    coding_rows,
    level_counts,
    order_levels,
)
from treerank._binning.category_statistics import _shrunk_means as shrunk_means
from treerank._input.validation import validate_training_data
from treerank.export import to_sql

MODELS = {
    "tree": TreeRank(),
    "forest": RankingForest(n_estimators=12),
    "boosting": BoostedTreeRank(20),
    "leafrank": LeafRank(max_depth=3),
}


def shops(n=1_500, n_levels=300, n_classes=2, seed=0):
    """Text of many levels that matter, a number, and ordered labels."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=n_levels)
    level = rng.integers(0, n_levels, n)
    x = rng.normal(size=n)
    score = effect[level] + 0.5 * x + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    frame = pd.DataFrame({"shop": [f"shop {v}" for v in level], "x": x})
    frame.loc[rng.random(n) < 0.03, "shop"] = None
    return frame, y


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_statistics_are_those_of_the_slow_twin(data):
    n = data.draw(st.integers(4, 60))
    n_levels, n_classes = data.draw(st.integers(1, 8)), data.draw(st.integers(2, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    level = rng.integers(0, n_levels + 1, n)  # 0 is missing
    labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    if (level > 0).sum() == 0 or n < n_classes:
        return
    labels = labels.astype(np.uint8)
    fold = rng.integers(0, N_FOLDS, n)
    units = rng.integers(1, 5, n)
    counts = level_counts(level, n_levels, fold, labels, units, n_classes, N_FOLDS)
    everything = oracles.level_statistic(level, fold, labels, units.astype(float), None)
    of_levels = shrunk_means(counts.sum(axis=1).astype(float))
    for k in range(1, n_levels + 1):
        assert of_levels[k] == pytest.approx(everything.get(k, np.nan), nan_ok=True)
    for row in range(n):
        if level[row] == 0 or not (fold != fold[row])[level > 0].any():
            continue
        rest = (counts.sum(axis=1) - counts[:, fold[row]]).astype(float)
        twin = oracles.level_statistic(level, fold, labels, units.astype(float), row)
        expected = np.nan if twin is None else twin
        assert shrunk_means(rest)[level[row]] == pytest.approx(expected, nan_ok=True)


def test_a_row_s_own_label_never_reaches_its_code():
    rng = np.random.default_rng(0)
    level, fold = rng.integers(1, 30, 400), rng.integers(0, N_FOLDS, 400)
    labels = rng.integers(0, 2, 400).astype(np.uint8)

    def code_of(labels):
        counts = level_counts(level, 29, fold, labels, None, 2, N_FOLDS)
        rest = [shrunk_means((counts.sum(axis=1) - counts[:, f]).astype(float)) for f in range(5)]
        return np.column_stack(rest)[level, fold]

    before = code_of(labels)
    for row in range(0, 400, 23):
        other = labels.copy()
        other[row] = 1 - other[row]
        assert code_of(other)[row] == before[row]
        same_fold = (fold == fold[row]) & (level == level[row])
        np.testing.assert_array_equal(code_of(other)[same_fold], before[same_fold])


def test_levels_that_other_folds_do_not_know_are_missing_and_every_code_has_a_level():
    rng = np.random.default_rng(1)
    level = rng.integers(1, 400, 800)
    fold = rng.integers(0, N_FOLDS, 800)
    labels = rng.integers(0, 2, 800).astype(np.uint8)
    known = [f"level {k}" for k in range(1, 400)]
    counts = level_counts(level, 399, fold, labels, None, 2, N_FOLDS)
    order = order_levels(known, counts, 1.0, 64, has_sets=False)
    assert len(order.levels) <= 64
    flat = [one for entry in order.levels for one in (entry if type(entry) is not str else [entry])]
    assert sorted(flat) == sorted(f"level {k}" for k in np.unique(level))
    for row in range(800):
        alone = not ((level == level[row]) & (fold != fold[row])).any()
        assert (order.code_of[level[row], fold[row]] == 0) == alone


def test_rows_get_the_same_folds_whatever_the_blocks_they_are_read_in(monkeypatch):
    X, y = shops(700, 90)
    expected = TreeRank(categories="statistics").fit(X, y).score_samples(X)
    monkeypatch.setattr("treerank._binning.category_statistics.ROWS_AT_ONCE", 64)
    found = TreeRank(categories="statistics").fit(X, y).score_samples(X)
    np.testing.assert_array_equal(found, expected)


def codes_of(X, y, n_codings):
    data = validate_training_data(BoostedTreeRank(), X, y, None, "from_dtype")
    return code_training_data(data, 255, "auto", 1, CategoryPlan(n_codings)).codes


def test_codings_differ_in_their_folds_alone():
    X, y = shops()
    X["agent"] = np.random.default_rng(1).permutation(X["shop"].to_numpy())
    codes = codes_of(X, y, 3)
    assert len(codes) == CategoryPlan(3).n_code_rows(3, 2) == 7
    np.testing.assert_array_equal(codes[:5], codes_of(X, y, 2))
    np.testing.assert_array_equal(codes[1], codes_of(X, y, 1)[1])
    for name, j, first in (("shop", 0, 3), ("agent", 2, 4)):
        codings = [codes[coding_rows(3, [0, 2], number)[j]] for number in range(3)]
        np.testing.assert_array_equal(codings, codes[[j, first, first + 2]])
        for number, coding in enumerate(codings):
            # One code for each fold that a level occurs in, and none for missing values.
            by_level = pd.Series(coding).groupby(X[name].to_numpy()).nunique()
            assert 1 < by_level.max() <= CategoryPlan(3).n_folds < N_FOLDS
            assert not coding[X[name].isna()].any()
            assert not any(np.array_equal(coding, other) for other in codings[:number])


def test_each_bag_has_a_coding_of_its_own(monkeypatch):
    X, y = shops(700, 300)
    model = BoostedTreeRank(5, n_bags=3)
    scores = model.fit(X, y).score_samples(X)
    mixed = np.random.default_rng(4).permutation(700)
    again = clone(model).set_params(n_jobs=2).fit(X.iloc[mixed], y[mixed])
    np.testing.assert_array_equal(again.score_samples(X), scores)
    one = CategoryPlan(1, has_sets=True)
    monkeypatch.setattr("treerank._boosting.plan_categories", lambda *_: one)
    common = clone(model).fit(X, y).score_samples(X)
    assert not np.array_equal(common, scores)
    assert np.corrcoef(common, scores)[0, 1] > 0.9


@pytest.mark.parametrize("name", MODELS)
def test_statistics_rank_new_rows_better_than_sets_of_many_levels(name):
    X, y = shops(4_000, 500)
    auc = {}
    for categories in ("levels", "statistics"):
        model = MODELS[name].set_params(categories=categories).fit(X[:2000], y[:2000])
        auc[categories] = model.score(X[2000:], y[2000:])
    assert auc["statistics"] > auc["levels"] + 0.01
    automatic = MODELS[name].set_params(categories="auto").fit(X[:2000], y[:2000])
    assert automatic.score(X[2000:], y[2000:]) > auc["statistics"] - 0.01


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "bags"])
def test_labels_of_pure_noise_are_not_learnt(name):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"id": [f"i{v}" for v in rng.integers(0, 700, 6_000)], "x": rng.random(6_000)})
    y = rng.integers(0, 2, 6_000)
    model = BoostedTreeRank(20, n_bags=10) if name == "bags" else MODELS[name]
    model.set_params(categories="auto").fit(X[:3000], y[:3000])
    assert abs(roc_auc_score(y[3000:], model.score_samples(X[3000:])) - 0.5) < 0.035


def test_the_order_of_the_rows_and_a_factor_of_the_weights_do_not_matter():
    X, y = shops(900, 120)
    weight = np.random.default_rng(3).exponential(size=900)
    model = TreeRank(categories="statistics").fit(X, y, sample_weight=weight)
    mixed = np.random.default_rng(4).permutation(900)
    other = clone(model).fit(X.iloc[mixed], y[mixed], sample_weight=8 * weight[mixed])
    np.testing.assert_array_equal(model.score_samples(X), other.score_samples(X))
    assert model._binning.levels == other._binning.levels


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_come_back_from_files_and_any_number_of_threads(tmp_path, name, n_classes):
    if n_classes > 2 and name == "leafrank":
        pytest.skip("LeafRank alone has two classes")
    X, y = shops(700, 90, n_classes)
    model = MODELS[name].set_params(categories="statistics", n_jobs=1).fit(X, y)
    again = come_back(model, X, tmp_path)
    assert again.categories == "statistics"
    scores = model.score_samples(X)
    two = MODELS[name].set_params(n_jobs=2).fit(X, y).score_samples(X)
    np.testing.assert_array_equal(two, scores)


def test_unseen_levels_follow_missing_ones():
    X, y = shops()
    model = TreeRank().fit(X, y)
    row = pd.DataFrame({"shop": ["nowhere", None], "x": [0.3, 0.3]})
    first, second = model.score_samples(row)
    assert first == second


def test_rules_name_levels_and_sql_scores_as_python_does():
    X, y = shops(600, 70)
    model = TreeRank(max_depth=3, categories="statistics").fit(X, y)
    assert any("shop 1" in rule for rule in model.partition_.rules())
    with sqlite3.connect(":memory:") as connection:
        X.assign(id=np.arange(len(X))).to_sql("shops", connection, index=False)
        found = connection.execute(to_sql(model, "shops", "sqlite", columns=["id"])).fetchall()
    scores = np.array([row[2] for row in sorted(found)])
    np.testing.assert_allclose(scores, model.score_samples(X), rtol=0, atol=1e-12)


def test_files_give_the_model_of_memory(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = shops(900, 150)
    frame = X.assign(y=y)
    frame[:400].to_parquet(tmp_path / "a.parquet", row_group_size=70)
    frame[400:].to_parquet(tmp_path / "b.parquet")
    forest, bags = RankingForest(n_estimators=18), BoostedTreeRank(6, n_bags=4)
    for model in (TreeRank(), forest, bags, forest):  # each needs other codes than are kept
        model.set_params(categories="statistics")
        in_memory = model.fit(X, y).score_samples(X)
        for _ in range(2):  # the second time from codes that were kept
            model.fit_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"], target="y",
                              cache_dir=tmp_path / "kept")  # fmt: skip
            np.testing.assert_array_equal(model.score_samples(X), in_memory)


def test_wrong_values_are_named():
    X, y = shops(200, 60)
    for model in (TreeRank(), RankingForest(n_estimators=2), BoostedTreeRank(2), LeafRank()):
        with pytest.raises(ValueError, match="categories='target'; expected one of"):
            model.set_params(categories="target").fit(X, y)
    with pytest.raises(ValueError, match="only LeafRank splits categories by statistics"):
        TreeRank(DecisionTreeClassifier(), categories="statistics").fit(X, y)
    assert TreeRank(DecisionTreeClassifier(max_depth=2)).fit(X, y).score(X, y) > 0.5
