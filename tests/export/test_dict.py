"""Models as text and as plain arrays, which SHAP reads."""

import numpy as np
import pytest
import saved_models
from exported_models import MODELS, TREES, training

from treerank import LeafRank, RankingForest, TreeRank
from treerank.export import to_dict, to_matrix, to_text


def test_text_has_every_stratum_and_rule(models):
    text = to_text(models["tree"])
    for k, rule in enumerate(models["tree"].partition_.rules()):
        assert f"\n{k}: score" in text
        assert rule in text


def walk(tree, row):
    """Value of one row: the slow twin of what reads the dict."""
    at = 0
    while tree["children_left"][at] >= 0:
        value = row[tree["feature"][at]]
        side = "left" if value <= tree["threshold"][at] else "right"
        at = tree[f"children_{'default' if np.isnan(value) else side}"][at]
    return tree["value"][at, 0]


@pytest.mark.parametrize("name", MODELS)
def test_the_dict_holds_the_model(models, rows, expected, name):
    X, _ = training()
    model = models[name]
    if name in ("forest", "mean ranks"):  # smaller ones: every way is written out
        small = RankingForest(LeafRank(max_depth=2), n_estimators=2, max_depth=3)
        model = small.set_params(aggregation=model.aggregation).fit(*training())
        expected = {name: model.score_samples(rows)}
    found = to_dict(model, None if name in TREES else X)
    matrix = to_matrix(model, rows)[:200]
    sums = [sum(walk(t, row) for t in found["trees"]) + found["base_offset"] for row in matrix]
    np.testing.assert_allclose(sums, expected[name][:200], atol=1e-7)
    for tree in found["trees"]:
        split = tree["children_left"] >= 0
        weight = tree["node_sample_weight"]
        assert weight[0] == len(X)
        if name != "deep tree":
            below = weight[tree["children_left"][split]] + weight[tree["children_right"][split]]
            is_number = np.isin(tree["feature"][split], [0, 1])
            np.testing.assert_allclose(below[is_number], weight[split][is_number], atol=1e-8)


def test_counting_the_training_rows_gives_the_training_counts():
    X, y = saved_models.numbers(500)
    X[::9, 0] = np.nan
    for splitter in (LeafRank(), LeafRank(max_depth=None, max_leaf_nodes=6)):
        model = TreeRank(splitter, max_depth=1 if splitter.max_leaf_nodes else 5).fit(X, y)
        [kept], [counted] = to_dict(model)["trees"], to_dict(model, X)["trees"]
        assert len(kept["value"]) > 5
        np.testing.assert_allclose(kept["node_sample_weight"], counted["node_sample_weight"])


def test_the_dict_needs_rows_for_a_forest_and_has_a_limit(models):
    X, _ = training()
    with pytest.raises(ValueError, match="expected rows to be counted"):
        to_dict(models["forest"])
    with pytest.raises(ValueError, match=r"more than 500 nodes.*to_shap"):
        to_dict(models["forest"], X, max_nodes=500)


@pytest.mark.parametrize("name", ["tree", "deep tree", "whole forest"])
def test_shap_values_sum_to_the_score(models, rows, expected, name):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, _ = training()
    model = models[name]
    explainer = shap.TreeExplainer(to_dict(model, X))
    values = explainer.shap_values(to_matrix(model, rows)[:100], check_additivity=False)
    total = np.asarray(values).reshape(100, -1).sum(axis=1) + np.ravel(explainer.expected_value)[0]
    np.testing.assert_allclose(total, expected[name][:100], atol=1e-6)
