"""Odd tables, labels, weights and parameters: a ValueError that names the value, or a fit."""

import re

import numpy as np
import pandas as pd
import pytest
from saved_models import come_back
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import (
    BoostedTreeRank,
    GeometricRanker,
    LeafRank,
    RankingForest,
    TreeRank,
    baselines,
    two_sample_test,
)
from treerank.splitters import DyadicGrid

RIVALS = {name: getattr(baselines, name)() for name in baselines.__all__}
FEW = {"n_estimators": 5, "max_iter": 20, "hidden_units": 2}
for rival in RIVALS.values():
    rival.set_params(**{k: v for k, v in FEW.items() if k in rival.get_params()})
TREES = [TreeRank(), LeafRank(), RankingForest(n_estimators=3), BoostedTreeRank(n_estimators=3)]


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def refused(model, X, y, message, **more):
    """The fit fails, says why, and leaves the model as it was."""
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **more)
    assert vars(model) == before


@pytest.mark.parametrize("least", [2**63, 1e300])
def test_boosting_refuses_leaves_heavier_than_all_rows_can_be(least):
    x, y = table()
    refused(
        BoostedTreeRank(min_samples_leaf=least), x, y,
        re.escape(f"Got min_samples_leaf={least!r}; expected at most 2**52."),
    )  # fmt: skip


def test_boosting_takes_leaves_heavier_than_all_rows():
    x, y = table()
    weight = np.random.default_rng(0).exponential(size=len(x))
    model = BoostedTreeRank(min_samples_leaf=2**40, n_estimators=3).fit(x, y, weight)
    assert model.n_estimators_ == 0  # nothing can be split


@pytest.mark.parametrize("value", [pd.NA, np.array([1, 2]), [2], None])
def test_a_depth_of_an_odd_type_is_named(value):
    x, y = table()
    with pytest.raises(ValueError, match="Got leafrank_depth="):
        BoostedTreeRank(leafrank_depth=value).fit(x, y)


@pytest.mark.parametrize("value", [pd.NA, np.array([0.1, 1.0]), None])
def test_a_gamma_of_an_odd_type_is_named(value):
    x, y = table()
    with pytest.raises(ValueError, match="Got gamma="):
        baselines.RankSVM(kernel="rbf", gamma=value).fit(x, y)


@pytest.mark.parametrize("value", [[], np.array([0, 1]), pd.NA, "no"])
def test_a_class_of_interest_that_is_no_class_is_named(value):
    x, y = table()
    with pytest.raises(ValueError, match="Got class_of_interest="):
        GeometricRanker(DecisionTreeClassifier(max_depth=3), class_of_interest=value).fit(x, y)


def test_a_forest_too_small_to_judge_itself_says_so():
    x = np.array([[0.0], [1.0]])
    refused(
        RankingForest(DyadicGrid(1), n_estimators=1, oob_score=True, shrinkage=0.0), x, [0, 1],
        "Got oob_score=True with 1 trees, which leave out rows of",
    )  # fmt: skip


@pytest.mark.parametrize("ranking", ["global", "local"])
@pytest.mark.parametrize("metric", ["minmax", "standard", [1e-300, 1.0]])
def test_rows_too_far_apart_for_distances_are_refused_when_fitting(ranking, metric):
    x, y = table()
    if isinstance(metric, str):
        x[:, 0] *= 1e307
    refused(
        GeometricRanker(LeafRank(max_depth=2), ranking=ranking, metric=metric), x, y,
        "Got values of 'x0' from .* too far apart for distances",
    )  # fmt: skip
    shares = GeometricRanker(LeafRank(max_depth=2), ranking=None, metric=metric).fit(x, y)
    assert np.isfinite(shares.score_samples(x)).all()


@pytest.mark.parametrize("value", [pd.NA, "no", ["a", "b"], [1.0], None])
def test_a_metric_of_an_odd_type_is_named(value):
    x, y = table()
    with pytest.raises(ValueError, match="Got metric="):
        GeometricRanker(LeafRank(), metric=value).fit(x, y)


@pytest.mark.parametrize("model", [*TREES, GeometricRanker(LeafRank())], ids=str)
def test_a_lone_surrogate_in_a_level_is_refused_by_name(model):
    x, y = table()
    X = pd.DataFrame({"a": x[:, 0]})
    X["city"] = pd.Series(["M\ud800nchen", "Köln"] * (len(x) // 2), dtype=object)
    refused(model, X, y, r"Column 'city' has the level 'M\\ud800nchen', which is not valid Unicode")


def test_unknown_levels_with_lone_surrogates_are_missing():
    x, y = table()
    X = pd.DataFrame({"a": x[:, 0], "city": ["x", "y"] * (len(x) // 2)})
    model = TreeRank(pruning=None).fit(X, y)
    unknown = X.assign(city=pd.Series(["\ud800"] * len(X), dtype=object))
    missing = X.assign(city=pd.Series([None] * len(X), dtype=object))
    np.testing.assert_array_equal(model.score_samples(unknown), model.score_samples(missing))


@pytest.mark.parametrize("inner", [LeafRank(max_depth=2), TreeRank(max_depth=2, pruning=None)])
def test_geometric_ranking_takes_a_text_column_without_values(inner):
    x, y = table()
    nothing = pd.Series([None] * len(x), dtype=object)
    X = pd.DataFrame({"nothing": nothing, "a": x[:, 0], "b": x[:, 1]})
    model = GeometricRanker(inner).fit(X, y)
    assert np.isfinite(model.score_samples(X)).all()
    without = GeometricRanker(clone(inner)).fit(X.drop(columns="nothing"), y)
    np.testing.assert_array_equal(
        model.score_samples(X), without.score_samples(X.drop(columns="nothing"))
    )


@pytest.mark.parametrize("splitter", [DyadicGrid(2), LogisticRegression()], ids=str)
def test_a_table_without_any_value_gives_a_splitter_nothing_to_learn(splitter):
    X = pd.DataFrame({"a": pd.Series([None] * 20, dtype=object)})
    refused(TreeRank(splitter), X, [0, 1] * 10, r"columns \('a'\) have no value at all")


@pytest.mark.parametrize("model", [*TREES, GeometricRanker(LeafRank()), *RIVALS.values()], ids=str)
def test_columns_of_the_same_name_are_refused(model):
    x, y = table()
    twice = pd.DataFrame(x, columns=["twice", "twice"])
    refused(model, twice, y, "Got 2 columns named 'twice'; expected unique column names")


def test_columns_of_the_same_name_are_refused_in_two_samples():
    twice = pd.DataFrame(table()[0], columns=["twice", "twice"])
    with pytest.raises(ValueError, match="Got 2 columns named 'twice'"):
        two_sample_test(twice, twice)


def test_lists_are_no_levels():
    _, y = table(20)
    X = pd.DataFrame({"a": pd.Series([[1], [2]] * 10, dtype=object)})
    model = TreeRank(categorical_features=["a"], pruning=None)
    message = r"Column 'a' has values of type list \(first: row 0, \[1\]\)"
    refused(model, X, y, message)
    model.fit(X.map(tuple), y)
    with pytest.raises(ValueError, match=message):
        model.score_samples(X)


def test_a_tree_of_scikit_learn_refuses_text_by_name():
    x, y = table(20)
    X = pd.DataFrame(x, columns=["a", "b"])
    model = GeometricRanker(DecisionTreeClassifier(max_depth=2)).fit(X, y)
    with pytest.raises(ValueError, match="does not hold numbers alone"):
        model.score_samples(X.assign(a="text"))


def test_whole_levels_beyond_the_largest_double_can_be_saved(tmp_path):
    X = pd.DataFrame({"a": pd.Series([10**400, 7] * 20, dtype=object)})
    model = TreeRank(categorical_features=["a"], pruning=None).fit(X, [0, 1] * 20)
    come_back(model, X, tmp_path)
    assert len(set(model.score_samples(X))) == 2


@pytest.mark.parametrize("model", [*TREES, *RIVALS.values()], ids=str)
def test_labels_of_several_types_are_refused(model):
    x, _ = table(20)
    for labels in ([0, "one"], ["one", 0]):
        y = np.array(labels * 10, dtype=object)
        refused(model, x, y, "Got labels of several types that have no order")


@pytest.mark.parametrize("value", [1e308, -1e308, 1e60])
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_name_a_value_that_is_too_large(name, value):
    x, y = table()
    model = clone(RIVALS[name]).fit(x, y)
    x[3, 1] = value
    message = rf"Got X\[3, 1\]={re.escape(f'{value:g}')}; expected numbers from -1e\+38 to 1e\+38"
    refused(clone(model), x, y, message)
    with pytest.raises(ValueError, match=message):
        model.score_samples(x)


@pytest.mark.parametrize("weight", [1e-320, 5e-324, 1e300])
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_take_weights_of_any_size(name, weight):
    x, y = table()
    model = clone(RIVALS[name])
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    alone = model.fit(x, y).score_samples(x)
    same = model.fit(x, y, sample_weight=np.full(len(x), weight)).score_samples(x)
    np.testing.assert_array_equal(same, alone)
    weights = np.ones(len(x))
    weights[5] = weight
    assert np.isfinite(model.fit(x, y, sample_weight=weights).score_samples(x)).all()


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_say_that_they_take_no_text(name):
    x, y = table()
    X = pd.DataFrame({"a": x[:, 0], "city": ["x", "y"] * (len(x) // 2)})
    refused(clone(RIVALS[name]), X, y, f"does not hold numbers alone.*{name} takes no text")


@pytest.mark.parametrize(
    "model",
    [
        baselines.RankNet(2, alpha=1e300, max_iter=5),
        baselines.RankRLS([1e-300, 1e300]),
        baselines.RankSVM(C=1e300, max_iter=5),
        baselines.RankBoost(5, learning_rate=1e308),
        baselines.PNormPush(1e6, n_estimators=5, learning_rate=1e308),
        baselines.LogitBoost(5, learning_rate=1e308),
        baselines.KernelLogisticRegression(C=1e300, max_iter=5),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_rivals_with_extreme_parameters_have_finite_scores_or_say_what_is_wrong(model):
    x, y = table()
    x, weight = x * 1e30, np.linspace(1e-90, 1e90, len(x))
    try:
        model.fit(x, y, sample_weight=weight)
    except ValueError:
        message = r"(?s)Got X with values up to -?\d\.\d+e\+30, .* leaves the range of doubles"
        refused(clone(model), x, y, message, sample_weight=weight)
    else:
        assert np.isfinite(model.score_samples(x)).all()


@pytest.mark.parametrize("name", ["RankNet", "KernelLogisticRegression"])
def test_rivals_with_a_constant_column_and_weights_can_be_saved(name, tmp_path):
    rng = np.random.default_rng(0)
    for seed in range(5):  # rounding puts some of the variances below 0
        x, y = table(30, seed)
        x = np.asfortranarray(np.column_stack([x, np.full((30, 20), 7.1 / np.arange(1, 21))]))
        weight = rng.exponential(size=len(x))
        model = clone(RIVALS[name]).set_params(random_state=0).fit(x, y, sample_weight=weight)
        treerank.save(model, tmp_path / "model")
        loaded = treerank.load(tmp_path / "model")
        np.testing.assert_allclose(loaded.score_samples(x), model.score_samples(x), rtol=1e-9)
