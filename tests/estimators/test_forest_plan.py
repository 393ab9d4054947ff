"""The plan of a forest is chosen by the out-of-bag AUC."""

import numpy as np
import pytest

from treerank import LeafRank, RankingForest
from treerank._plans import forest as forest_plan
from treerank._select import plan_race

pytestmark = pytest.mark.core


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


def plain_aucs(x, y, n_trees, monkeypatch):
    """Out-of-bag AUC of so many trees of each plan."""
    with monkeypatch.context() as patch:
        patch.setattr(plan_race, "RACE_SHARE", 64 // n_trees)
        patch.setattr(plan_race, "RACE_TREES", 64)
        choice = RankingForest(n_estimators=64).fit(x, y).plan_
    assert choice.n_trees == n_trees
    return choice.oob_auc


def test_the_auc_of_many_trees_is_extrapolated(early_race, monkeypatch):
    x, y = sparse_table(2_000)
    two, four, eight = (plain_aucs(x, y, n, monkeypatch) for n in (2, 4, 8))
    monkeypatch.setattr(plan_race, "RACE_TREES", 8)
    forest = RankingForest(n_estimators=64).fit(x, y)
    worst = min(four, key=four.get)
    for name, auc in forest.plan_.oob_auc.items():
        expected = four[name] if name == worst else eight[name] + (eight[name] - two[name]) / 3
        assert auc == pytest.approx(expected, abs=1e-12)
    assert forest._trees.n_trees == 64
    assert "0.8 of the features" in forest.plan_.name
    splitter = LeafRank(max_depth=None, min_samples_leaf=1, max_features=0.8)
    said = RankingForest(splitter, n_estimators=64, random_cut_share=0.5).fit(x, y)
    np.testing.assert_array_equal(forest.score_samples(x), said.score_samples(x))


def test_few_trees_of_a_forest_are_those_of_a_small_one():
    x, y = sparse_table(400)
    trees = RankingForest(LeafRank(max_depth=3), n_estimators=6, shrinkage=2.0).fit(x, y)
    few = RankingForest(LeafRank(max_depth=3), n_estimators=2, shrinkage=2.0).fit(x, y)
    part = trees._trees.some_trees(0, 2)
    assert part.n_trees == 2
    for name in ("starts", "step", "importance", "left_share"):
        np.testing.assert_array_equal(getattr(part, name), getattr(few._trees, name))


@pytest.mark.parametrize("n_jobs", [2, 5])
@pytest.mark.parametrize("n_compared", [24, 4], ids=["as they are", "extrapolated"])
def test_the_plan_does_not_depend_on_the_threads(early_race, monkeypatch, n_compared, n_jobs):
    monkeypatch.setattr(plan_race, "RACE_TREES", n_compared)
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
