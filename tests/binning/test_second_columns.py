"""Categories that trees see twice: in the order of the labels, and as sets of single levels."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from onnx_scores import run_onnx
from saved_models import come_back
from sklearn.base import clone

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank._binning.category_statistics import (
    MOST_SINGLES,
    PLACES,
    CategoryPlan,
    code_training_data,
    level_counts,
    order_levels,
)
from treerank._input.validation import validate_training_data
from treerank._trees.level_sets import forest_with_sets
from treerank.export import to_sql
from treerank.inspection import attributions

MODELS = {
    "forest": RankingForest(n_estimators=18),
    "boosting": BoostedTreeRank(12),
    "bags": BoostedTreeRank(5, n_bags=3),
}


def visits(n=1_500, n_levels=320, n_classes=2, seed=0):
    """Text of many levels, some of them frequent, whose effect differs between two groups."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=(2, n_levels))
    level = np.minimum(rng.geometric(0.01, n) - 1, n_levels - 1)
    level[:n_levels] = np.arange(n_levels)[: len(level)]
    group, x = rng.integers(0, 2, n), rng.normal(size=n)
    score = effect[group, level] + 0.5 * x + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    frame = pd.DataFrame({"group": group, "shop": [f"shop {v}" for v in level], "x": x})
    frame.loc[rng.random(n) < 0.03, "shop"] = None
    return frame, y


def others(n=400):
    """Rows with known, unseen and missing levels."""
    frame, _ = visits(n, seed=1)
    frame.loc[:30, "shop"] = "nowhere"
    return frame


def coded(X, y, plan):
    data = validate_training_data(RankingForest(), X, y, None, "from_dtype")
    return code_training_data(data, 255, "auto", 1, plan)


@examples(40)
@given(st.data())
def test_codes_tell_the_places_and_the_frequent_levels(data):
    n_levels = data.draw(st.integers(1, 500))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    level = np.minimum(rng.geometric(data.draw(st.floats(0.003, 0.5)), 3_000), n_levels)
    level[rng.random(3_000) < data.draw(st.sampled_from([0.0, 0.1]))] = 0
    fold, labels = rng.integers(0, 5, 3_000), rng.integers(0, 2, 3_000).astype(np.uint8)
    known = [f"level {k}" for k in range(1, n_levels + 1)]
    order = order_levels(
        known, level_counts(level, n_levels, fold, labels, None, 2, 5), 1.0, 255, has_sets=True
    )
    assert len(order.levels) <= MOST_SINGLES + PLACES <= 255
    assert len(order.place) == len(order.single) == len(order.levels) + 1
    rows = np.bincount(level, minlength=n_levels + 1)
    frequent = [k for k in range(1, n_levels + 1) if rows[k] >= 5]
    frequent = sorted(frequent, key=lambda k: -rows[k])[:MOST_SINGLES]
    code_of = {
        one: code
        for code, entry in enumerate(order.levels, start=1)
        for one in ([entry] if type(entry) is str else entry)
    }
    assert set(code_of) == {known[k - 1] for k in np.unique(level[level > 0])}
    for k in np.unique(level[level > 0]):
        code = code_of[known[k - 1]]
        assert order.single[code] == order.single_of[k]
        alone = [other for other, its in code_of.items() if order.single[its] == order.single[code]]
        assert (len(alone) == 1 and rows[k] >= 5) or k not in frequent
    rare = {int(order.single_of[k]) for k in range(1, n_levels + 1) if k not in frequent}
    assert rare <= {len(frequent) + 1}
    assert order.single_of[0] == order.single[0] == (max(rare) if rare else 0)
    assert order.place[0] == 0 < order.place[1:].min(initial=1)


def test_second_columns_follow_the_features_and_are_alike_in_all_codings():
    X, y = visits()
    X["agent"] = np.random.default_rng(1).permutation(X["shop"].to_numpy())
    found = coded(X, y, CategoryPlan(3, has_sets=True))
    alone = coded(X, y, CategoryPlan(3))
    columns = found.binning.columns
    assert columns.feature.tolist() == [0, 1, 2, 3, 1, 3]
    assert columns.as_sets.tolist() == [0, 0, 0, 0, 1, 1]
    assert len(found.codes) == 6 + 2 * 2
    assert alone.binning.columns.feature.tolist() == [0, 1, 2, 3]
    assert (found.codes.max(axis=1)[:6] < columns.n_codes).all()
    shop, agent = found.codes[4], found.codes[5]
    by_level = pd.Series(shop).groupby(X["shop"].to_numpy(), dropna=False).nunique()
    assert (by_level == 1).all()
    assert X.assign(code=agent).groupby("code")["agent"].nunique().iloc[:-1].eq(1).all()


@pytest.mark.parametrize("name", MODELS)
def test_trees_of_features_score_other_rows_as_those_of_columns(monkeypatch, name):
    X, y = visits()
    kept = {}

    def spy(forest, binning):
        kept["before"], kept["after"] = forest, forest_with_sets(forest, binning)
        return kept["after"]

    for module in ("_growth.boosting_fit", "_forest"):
        target = f"treerank.{module}.forest_with_sets"
        monkeypatch.setattr(target, spy)
    model = clone(MODELS[name]).set_params(warm_start=name == "forest").fit(X, y)
    binning = model._binning
    assert set(binning.columns.feature) == {0, 1, 2}
    assert kept["before"].slots.shape == kept["after"].slots.shape
    codes = coded(X, y, CategoryPlan(1, has_sets=True)).binning.transform(
        validate_training_data(RankingForest(), others(), y[:400], None, "from_dtype").table
    )
    if name == "forest":  # otherwise, unused thresholds are gone
        by_column = kept["before"].total(binning.column_codes(codes), 1)
        np.testing.assert_array_equal(kept["after"].total(codes, 1), by_column)
    before, after = kept["before"].importance, kept["after"].importance
    assert before.shape[1] == 4
    np.testing.assert_allclose(before[:, 1] + before[:, 3], after[:, 1])
    assert before[:, 3].sum() > 0
    assert len(model.feature_importances_) == 3


def test_sets_of_levels_follow_interactions():
    X, y = visits(6_000, 300)
    for model in (RankingForest(n_estimators=40), BoostedTreeRank(80, learning_rate=0.2)):
        auc = {}
        for categories in ("statistics", "auto"):
            fitted = clone(model).set_params(categories=categories).fit(X[:4000], y[:4000])
            auc[categories] = fitted.score(X[4000:], y[4000:])
        assert auc["auto"] > auc["statistics"] + 0.02


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_models_come_back_from_files_and_any_number_of_threads(tmp_path, name, n_classes):
    X, y = visits(n_classes=n_classes)
    model = clone(MODELS[name]).fit(X, y)
    again = come_back(model, others(), tmp_path)
    scores = model.score_samples(others())
    np.testing.assert_array_equal(again.score_samples(others()), scores)
    two = clone(model).set_params(n_jobs=2).fit(X, y).score_samples(others())
    np.testing.assert_array_equal(two, scores)


@pytest.mark.parametrize("name", ["forest", "boosting", "bags"])
def test_sql_and_onnx_score_as_python_does(name):
    X, y = visits()
    model, rows = clone(MODELS[name]).fit(X, y), others()
    scores = model.score_samples(rows)
    with sqlite3.connect(":memory:") as connection:
        rows.assign(id=np.arange(len(rows))).to_sql("visits", connection, index=False)
        query = to_sql(model, "visits", "sqlite", columns=["id"])
        found = pd.read_sql_query(query, connection).sort_values("id")
    by_sql = found["score"].to_numpy()
    np.testing.assert_allclose(by_sql, scores, rtol=0, atol=1e-6)
    [by_onnx] = run_onnx(model, rows)
    np.testing.assert_allclose(by_onnx.ravel(), scores, rtol=0, atol=1e-5)


@pytest.mark.parametrize("categories", ["auto", "statistics"])
@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_a_fit_that_goes_on_is_the_fit_at_once(tmp_path, name, categories):
    X, y = visits()
    model = clone(MODELS[name]).set_params(categories=categories)
    at_once = clone(model).fit(X, y).score_samples(others())
    later = clone(model).set_params(n_estimators=4, warm_start=True).fit(X, y)
    for before in (come_back(later, others(), tmp_path), later):
        before.set_params(n_estimators=model.n_estimators).fit(X, y)
        np.testing.assert_allclose(before.score_samples(others()), at_once, rtol=0, atol=1e-9)


def test_boosting_starts_again_if_it_did_not_keep_its_trees_of_columns():
    X, y = visits()
    model = BoostedTreeRank(4).fit(X, y)
    model.set_params(n_estimators=8, warm_start=True).fit(X, y)
    at_once = BoostedTreeRank(8).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), at_once.score_samples(X))


def test_validation_rows_have_the_columns_of_training_rows():
    X, y = visits(3_000)
    model = BoostedTreeRank(60, n_iter_no_change=60)
    model.fit(X[:2000], y[:2000], X_val=X[2000:], y_val=y[2000:])
    assert model.validation_scores_.max() == pytest.approx(model.score(X[2000:], y[2000:]))


def test_files_give_the_model_of_memory(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = visits()
    frame = X.assign(y=y)
    frame[:700].to_parquet(tmp_path / "a.parquet", row_group_size=70)
    frame[700:].to_parquet(tmp_path / "b.parquet")
    for name in ("forest", "bags", "tree", "forest"):  # each needs other codes than are kept
        model = TreeRank() if name == "tree" else clone(MODELS[name])
        in_memory = model.fit(X, y).score_samples(others())
        for _ in range(2):  # the second time from codes that were kept
            model.fit_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"], target="y",
                              cache_dir=tmp_path / "kept")  # fmt: skip
            np.testing.assert_array_equal(model.score_samples(others()), in_memory)


def test_explanations_and_reasons_are_those_of_features():
    X, y = visits()
    for name in ("forest", "boosting"):
        model = clone(MODELS[name]).fit(X, y)
        found = attributions(model, others(20))
        assert found.values.shape == (20, 3)
        total = found.values.sum(axis=1) + found.expected_value
        np.testing.assert_allclose(total, model.score_samples(others(20)), atol=1e-5)
