"""A fitted model keeps the thresholds that its tests use, and says the same as with all."""

import numpy as np
import oracles
import pandas as pd
import pytest

from treerank import LeafRank, RankingForest, TreeRank, _forest
from treerank._trees import compact
from treerank.inspection import explain, partial_dependence


def loans(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=n).round(3),
            "age": rng.integers(18, 80, n).astype(float),
            "home": rng.choice(["owns", "rents", "family"], n),
        }
    )
    y = (frame.income + 0.03 * frame.age + (frame.home == "rents") + rng.normal(size=n) > 2).astype(
        int
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "home"] = None
    return frame, y


MODELS = {
    "tree": TreeRank(),
    "deep": TreeRank(LeafRank(max_depth=3), pruning=None, max_depth=4),
    "cell mean": TreeRank(missing="cell_mean"),
    "monotone": TreeRank(monotonic_cst={"income": 1}, shrinkage=5.0),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=10),
    "whole trees": RankingForest(LeafRank(max_depth=None), n_estimators=5),
    "ranks": RankingForest.preset("rf5", n_estimators=5),
}


def with_all_thresholds(model, X, y, monkeypatch):
    with monkeypatch.context() as patch, oracles.all_thresholds():
        patch.setattr(_forest, "keep_used_in_forest", lambda binning, forest: (binning, forest))
        return model.fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_same_as_with_all_thresholds(name, monkeypatch):
    X, y = loans()
    new, _ = loans(2000, seed=1)
    model = MODELS[name]
    whole = with_all_thresholds(model, X, y, monkeypatch)
    expected, size = whole.score_samples(new), sum(map(len, whole._binning.thresholds))
    model.fit(X, y)
    np.testing.assert_array_equal(model.score_samples(new), expected)
    assert sum(map(len, model._binning.thresholds)) < size


@pytest.mark.parametrize("bins", [8, 255])  # all thresholds are in use, or some
def test_slots_are_looked_at_in_parts(bins, monkeypatch):
    X, y = loans()
    model = RankingForest(LeafRank(max_depth=None), n_estimators=4, max_bins=bins, random_state=0)
    expected = model.fit(X, y)._trees.slots, model._binning
    assert (sum(map(len, model._binning.thresholds)) == 14) == (bins == 8)
    monkeypatch.setattr(compact, "SLOTS_AT_ONCE", 7)
    assert np.array_equal(model.fit(X, y)._trees.slots, expected[0])
    assert model._binning.equals(expected[1])


@pytest.mark.parametrize("name", ["tree", "deep", "cell mean", "monotone", "leafrank"])
def test_rules_explanations_and_dependence_are_the_same(name, monkeypatch):
    X, y = loans()
    model = MODELS[name]

    def said(model):
        return (
            model.partition_.rules(),
            explain(model, X.head(20)),
            [partial_dependence(model, X, f).average.tolist() for f in (0, "home", (0, 2))],
        )

    expected = said(with_all_thresholds(model, X, y, monkeypatch))
    assert said(model.fit(X, y)) == expected


def test_unpruned_tree_cuts_at_the_same_values(monkeypatch):
    X, y = loans()

    def cut_values(model):
        tests = model.unpruned_tree_.tests
        tests = tests[(tests["left"] >= 0) & (tests["categorical"] == 0)]
        thresholds = model._binning.thresholds
        return [
            (int(f), float(np.append(thresholds[f], np.inf)[c - 1]) if c else None)
            for f, c in zip(tests["feature"], tests["cut"], strict=True)
        ]

    expected = cut_values(with_all_thresholds(TreeRank(), X, y, monkeypatch))
    assert cut_values(TreeRank().fit(X, y)) == expected


def test_a_warm_forest_keeps_all_thresholds_and_goes_on():
    X, y = loans()
    cold = RankingForest(n_estimators=12).fit(X, y)
    warm = RankingForest(n_estimators=6, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(warm.score_samples(X), cold.score_samples(X))


def test_codes_take_one_byte_where_few_thresholds_are_left():
    X, y = loans(2000)
    assert TreeRank().fit(X, y)._binning.code_type == np.uint8
