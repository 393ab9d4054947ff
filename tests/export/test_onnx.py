"""Models in ONNX: the same scores as Python."""

import numpy as np
import pandas as pd
import pytest
import saved_models
from exported_models import GRADES, MODELS, N_ROWS, ORDINAL, training
from onnx_scores import run_onnx

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_onnx
from treerank.export._onnx_ensemble import Expanded, _adds_exactly
from treerank.export._walks import IN_SET, walks_of


@pytest.mark.parametrize("name", MODELS)
def test_onnx_gives_the_scores_to_the_bit(models, rows, expected, name):
    [scores] = run_onnx(models[name], rows)
    np.testing.assert_array_equal(scores, expected[name])


@pytest.mark.parametrize("name", MODELS)
def test_onnx_gives_the_probabilities(models, rows, name):
    if name == "mean ranks":
        pytest.skip("a consensus of ranks has no probabilities in ONNX")
    [found] = run_onnx(models[name], rows, ["probability"])
    np.testing.assert_allclose(found, models[name].predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ORDINAL if name != "mean ranks"])
def test_onnx_gives_a_probability_of_each_ordered_class(rows, name):
    X, y = training()
    grades = np.array(GRADES)[(y + (X["Age"] > 40) + (X["Age"] > 60)).astype(int)]
    model = ORDINAL[name].fit(X, grades)
    [found] = run_onnx(model, rows, ["probability"])
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=0, atol=1e-12)


def operators(model):
    pytest.importorskip("onnx", reason="onnx is not installed")
    return [node.op_type for node in to_onnx(model).graph.node]


@pytest.mark.parametrize("name", ["tree", "deep tree", "leafrank", "whole forest", "boosted"])
def test_onnx_uses_the_operator_for_trees(models, name):
    assert operators(models[name]).count("TreeEnsemble") == 1
    assert "Loop" not in operators(models[name])


def test_onnx_walks_where_there_are_more_ways_than_nodes(monkeypatch, models, rows, expected):
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_NODES", 10)
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_COPIES", 0)
    for name in ("forest", "deep tree", "boosted"):
        assert "Loop" in operators(models[name])
        [scores] = run_onnx(models[name], rows)
        np.testing.assert_array_equal(scores, expected[name])


def test_onnx_counts_equal_sets_of_levels_once(monkeypatch, rows):
    boosted = BoostedTreeRank(50, max_depth=2).fit(*training())
    walks = walks_of(boosted)
    tested = walks.set_of[walks.kind == IN_SET]
    n_distinct = len(np.unique(walks.members[tested], axis=0))
    assert n_distinct < len(np.unique(tested))
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_SETS", n_distinct)
    assert "Loop" not in operators(boosted)
    [scores] = run_onnx(boosted, rows)
    np.testing.assert_array_equal(scores, boosted.score_samples(rows))


@pytest.mark.parametrize("exact", [True, False])
def test_onnx_gives_few_trees_to_each_operator_and_the_same_bits(monkeypatch, rows, exact):
    forest = RankingForest(LeafRank(max_depth=None), n_estimators=12).fit(*training())
    n_slots = len(forest._trees.slots)
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_TOGETHER", n_slots // 4)
    monkeypatch.setattr("treerank.export._onnx_ensemble._adds_exactly", lambda _: exact)
    used = operators(forest).count("TreeEnsemble")
    assert (4 <= used <= 6) if exact else used == 12
    [scores] = run_onnx(forest, rows)
    np.testing.assert_array_equal(scores, forest.score_samples(rows))


@pytest.mark.parametrize(
    ("totals", "exact"),
    [([1, 2.5, 2.0**-40], True), ([1, 2.0**-60], False), ([0, 0], True), ([0.1, 0.2], False),
     ([np.float32(0.1), np.float32(0.2)], True)],
)  # fmt: skip
def test_sums_without_rounding_are_told_from_others(totals, exact):
    leaves = np.full(len(totals), -1)
    trees = Expanded(leaves, leaves, np.arange(len(totals)), np.array(totals, dtype=np.float64))
    assert _adds_exactly(trees) == exact


def test_onnx_takes_trees_of_a_single_leaf():
    X = np.zeros((20, 1))
    model = TreeRank().fit(X, [0, 1] * 10)
    scores, strata = run_onnx(model, X, ("score", "stratum"))
    np.testing.assert_array_equal(scores, model.score_samples(X))
    assert not strata.any()


def test_onnx_takes_a_matrix_where_there_are_no_categories():
    X, y = saved_models.numbers(500)
    X[::7, 0] = np.nan
    model = TreeRank().fit(X, y)
    new = saved_models.numbers(N_ROWS, seed=2)[0]
    new[::5, 1] = np.nan
    scores, strata = run_onnx(model, new, ("score", "stratum"))
    np.testing.assert_array_equal(scores, model.score_samples(new))
    np.testing.assert_array_equal(strata, model.apply(new))
    forest = RankingForest(n_estimators=30).fit(X, y)
    np.testing.assert_array_equal(run_onnx(forest, new)[0], forest.score_samples(new))


def test_onnx_compares_in_double_precision():
    X = np.array([[1.0], [1.0 + 2**-40]] * 50)
    model = LeafRank().fit(X, [0, 1] * 50)
    [scores] = run_onnx(model, X)
    np.testing.assert_array_equal(scores, model.score_samples(X))
    assert len(set(scores.tolist())) == 2


def test_onnx_refuses_a_column_named_like_an_output():
    pytest.importorskip("onnx", reason="onnx is not installed")
    X = pd.DataFrame({"score": ["a", "b"] * 20})
    with pytest.raises(ValueError, match="Got a column named 'score'"):
        to_onnx(TreeRank(pruning=None).fit(X, [0, 1] * 20))


def test_onnx_refuses_levels_that_are_no_text_number_or_boolean():
    when = pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * 30))
    rows = pd.DataFrame({"when": when, "x": np.arange(60) % 7})
    model = TreeRank(max_depth=2, soft_labels=False).fit(rows, np.arange(60) % 2)
    with pytest.raises(ValueError, match=r"Got levels such as Timestamp.* in column 'when'"):
        to_onnx(model)
