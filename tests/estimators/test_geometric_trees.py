"""Geometric ranking: trees from elsewhere, and input that cannot be used."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from samples import cancer
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treerank import GeometricRanker, LeafRank, TreeRank, _core

# Trees from elsewhere

J48 = """J48 pruned tree
------------------

plas <= 127
|   mass <= 26.4: tested_negative (132.0/3.0)
|   mass > 26.4
|   |   age <= 28: tested_negative (180.0/22.0)
|   |   age > 28: tested_positive (60.0/20.0)
plas > 127: tested_positive (396.0/100.0)

Number of Leaves  : \t4

Size of the tree : \t7
"""
WEATHER = """outlook = sunny
|   humidity <= 75: yes (2.0)
|   humidity > 75: no (3.0)
outlook = overcast: yes (4.0)
outlook = rainy
|   windy = TRUE: no (2.0)
|   windy != TRUE: yes (3.0)
"""


def test_j48_text_is_read_with_its_counts():
    X = pd.DataFrame(
        {"age": [20.0, 40, 40], "mass": [20.0, 30, 30], "plas": [100.0, 100, 150], "other": 1}
    )
    ranker = GeometricRanker(J48, metric=[10.0, 1.0, 1.0], smoothing=None).fit(X)
    assert ranker.predict(X).tolist() == [
        "tested_negative", "tested_positive", "tested_positive",
    ]  # fmt: skip
    np.testing.assert_allclose(ranker.predict_proba(X)[:, 1], [3 / 132, 40 / 60, 296 / 396])
    # In the order of the text: plas, mass, age.
    np.testing.assert_allclose(ranker.distance(X), [2.7, 3.6, np.hypot(2.3, 3.6)])
    order = X[["plas", "other", "age", "mass"]]
    assert GeometricRanker(J48).fit(order).predict(order).tolist() == ranker.predict(X).tolist()
    assert GeometricRanker(J48).fit(pl.from_pandas(X)).predict(pl.from_pandas(X)).tolist()
    assert pickle.loads(pickle.dumps(ranker)).score_samples(X).tolist() == (
        ranker.score_samples(X).tolist()
    )


def test_j48_text_may_have_categories_with_many_outcomes():
    X = pd.DataFrame(
        {
            "outlook": ["sunny", "overcast", "rainy", "rainy"],
            "humidity": [70.0, 80, 80, 80],
            "windy": ["TRUE", "FALSE", "TRUE", "FALSE"],
        }
    )
    ranker = GeometricRanker(WEATHER, metric=[1.0, 10.0, 1.0]).fit(X)
    assert ranker.predict(X).tolist() == ["yes", "yes", "no", "yes"]
    np.testing.assert_allclose(ranker.distance(X), [0.5, 1.0, 1.0, 1.0])
    found = ranker.boundary_point(X)
    assert found.in_words()[0].startswith("no: humidity to 75 ")
    assert (found.decision != ranker.predict(X)).all()
    with pytest.raises(ValueError, match="unknown level"):
        ranker.predict(X.assign(outlook="foggy"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (": yes (14.0/5.0)", "without a test"),
        ("a <= 1: x (1.0)", "expected <= and >"),
        ("a <= 1: x (1.0)\na > 2: y (1.0)", "expected <= and >"),
        ("a <= 1: x (1.0)\nb > 1: y (1.0)", "expected <= and >"),
        ("a <= 1\na > 1: y (1.0)", "stops at a <= 1"),
        ("a <= 1: x (1.0)\n|   b <= 1: x (1.0)\na > 1: y (1.0)", "nothing leads to"),
        ("a <= 1\n|   |   b <= 1: x (1.0)", "nothing leads to"),
        ("a <= 1\n|   nonsense\na > 1: y (1.0)", "expected a test"),
        ("a <= 1\n|   a = 3: x (1.0)\n|   a = 4: x (1.0)\na > 1: y (1.0)", "as a category"),
        ("a <= 1: x (1.0)\na > 1: x (1.0)", "one class only"),
    ],
)
def test_text_that_is_no_j48_tree_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        GeometricRanker(text).fit(pd.DataFrame({"a": [1.0], "b": [1.0]}))


def test_a_long_line_of_j48_text_is_read_in_one_pass():
    # A pattern that goes back would take hours.
    with pytest.raises(ValueError, match="Got a test of the J48 text"):
        GeometricRanker("a = b: " * 200_000 + "((((").fit(pd.DataFrame({"a": ["b", "c"]}))


def test_j48_text_of_several_classes_ranks_by_distance_only():
    text = "a <= 1: x (5.0/1.0)\na > 1\n|   a <= 2: y (3.0)\n|   a > 2: z (4.0)"
    X = pd.DataFrame({"a": [0.0, 1.5, 3.0]})
    ranker = GeometricRanker(text, metric=[1.0], class_of_interest="x").fit(X)
    assert ranker.score_samples(X).tolist() == [1.0, -0.5, -2.0]
    with pytest.raises(ValueError, match="does not say of which class the errors"):
        ranker.predict_proba(X)
    with pytest.raises(ValueError, match="expected ranking='global'"):
        GeometricRanker(text, ranking="local").fit(X)
    pure = text.replace("(5.0/1.0)", "(5.0)").replace("x", "1").replace("y", "2").replace("z", "10")
    assert GeometricRanker(pure, ranking="local").fit(X).classes_.tolist() == [1, 2, 10]


def test_arrays_of_a_scikit_learn_tree_rank_as_the_tree_does():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    names = (
        "children_left", "children_right", "feature", "threshold", "value",
        "weighted_n_node_samples", "missing_go_to_left",
    )  # fmt: skip
    arrays = {name: getattr(tree.tree_, name) for name in names}
    arrays |= {"feature_names": list(X.columns), "input_dtype": "float32", "classes": ["a", "b"]}
    for ranking in ("global", "local", None):
        plain = GeometricRanker(arrays, ranking=ranking).fit(X)
        fitted = GeometricRanker(tree, ranking=ranking).fit(X)
        assert plain.score_samples(X_new).tolist() == fitted.score_samples(X_new).tolist()
    assert set(plain.predict(X_new)) == {"a", "b"}
    assert (plain.predict_proba(X_new) == fitted.predict_proba(X_new)).all()
    assert clone(plain).fit(X).scale_.tolist() == plain.scale_.tolist()
    array = GeometricRanker(arrays).fit(X.to_numpy())
    assert array.predict(X_new.to_numpy()).tolist() == plain.predict(X_new).tolist()


SMALL = {
    "children_left": [1, -1, -1], "children_right": [2, -1, -1], "feature": [0, -1, -1],
    "threshold": [0.5, 0.0, 0.0], "value": [[2, 2], [2, 0], [0, 2]], "n_features": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"children_left": [1, -1, -1, -1]}, "different lengths"),
        ({"children_right": [-1, -1, -1]}, "one child only"),
        ({"children_left": [7, -1, -1]}, "child with the number 7"),
        ({"children_left": [0, -1, -1]}, "round in a circle"),
        ({"feature": [3, -1, -1]}, "test of feature 3"),
        ({"feature": [-1, -1, -1]}, "test of feature -1"),
        ({"threshold": [np.nan, 0, 0]}, "threshold that is NaN"),
        ({"value": [[2.0], [2.0], [0.0]]}, "regression tree"),
        ({"value": [[2, 2], [-2, 0], [0, 2]]}, "negative"),
        ({"value": [[2, 2], [2, 0], [2, 0]]}, "one class only"),
        ({"classes": ["a"]}, "Got 1 classes; expected 2"),
        ({"n_features": None}, "without n_features"),
        ({"thresholds": [1]}, "'thresholds'"),
        ({"value": None}, "without value"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(change, message):
    arrays = {k: v for k, v in {**SMALL, **change}.items() if v is not None}
    with pytest.raises(ValueError, match=message):
        GeometricRanker(arrays).fit([[0.0], [1.0]])


# Bad input


def test_trees_without_a_boundary_are_refused():
    X, y = load_breast_cancer(return_X_y=True)
    stump = DecisionTreeClassifier(max_leaf_nodes=2, min_samples_leaf=250).fit(X, y > -1)
    one_class = DecisionTreeClassifier(max_depth=1).fit(X[:, :1], np.r_[1, np.zeros(568)])
    for tree in (stump, one_class):
        table = X[:, : tree.n_features_in_]
        with pytest.raises(ValueError, match=r"one class only.*no decision boundary"):
            GeometricRanker(tree).fit(table)
        alone = GeometricRanker(tree, ranking=None).fit(table)
        with pytest.raises(ValueError, match="no decision boundary"):
            alone.distance(table)
        with pytest.raises(ValueError, match="no decision boundary"):
            alone.boundary_point(table)
        assert len(alone.predict_proba(table)) == len(table)
    root = TreeRank(max_depth=1, min_samples_leaf=400).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        GeometricRanker(root).fit(X)


def test_a_class_that_no_leaf_predicts_is_refused():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    unseen = next(c for c in (0, 1, 2) if c not in tree.predict(X))
    with pytest.raises(ValueError, match=f"class_of_interest=.*{unseen}.*no leaf"):
        GeometricRanker(tree, class_of_interest=unseen).fit(X)
    with pytest.raises(ValueError, match="class_of_interest='setosa'; expected one of"):
        GeometricRanker(tree, class_of_interest="setosa").fit(X)


def test_features_missing_or_in_another_order_are_refused():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    for table in (X[X.columns[::-1]], X.drop(columns="mean area")):
        with pytest.raises(
            ValueError, match=r"feature names should match|must be in the same order"
        ):
            GeometricRanker(tree).fit(table)
    ranker = GeometricRanker(tree).fit(X)
    for use in (ranker.predict, ranker.distance, ranker.score_samples, ranker.boundary_point):
        with pytest.raises(
            ValueError, match=r"feature names should match|must be in the same order"
        ):
            use(X_new[X.columns[::-1]])
    nameless = DecisionTreeClassifier(max_depth=3).fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="29 features"):
        GeometricRanker(nameless).fit(X.to_numpy()[:, 1:])
    with pytest.raises(ValueError, match="without the columns mass, age"):
        GeometricRanker(J48).fit(pd.DataFrame({"plas": [1.0]}))
    with pytest.raises(ValueError, match="expected a data frame with the columns plas, mass, age"):
        GeometricRanker(J48).fit([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="X has 2 features, but the tree is expecting 1"):
        GeometricRanker(SMALL).fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="Column 'mass' has String values; expected numbers"):
        GeometricRanker(J48).fit(pd.DataFrame({"plas": [1.0], "mass": ["x"], "age": [1.0]}))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (DecisionTreeRegressor(), "a regression tree has no decision boundary"),
        (TreeRank(GaussianNB()), "GaussianNB.*oblique"),
        (RandomForestClassifier(), "expected a DecisionTreeClassifier"),
        (None, "expected a DecisionTreeClassifier"),
        (DecisionTreeClassifier, "expected a DecisionTreeClassifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "expected a DecisionTree"),
        (make_pipeline(make_pipeline(DecisionTreeClassifier())), None),
        (make_pipeline(make_pipeline(StandardScaler(), DecisionTreeClassifier())), "not another"),
    ],
)
def test_models_without_boxes_are_refused(tree, message):
    X, _, y, _ = cancer()
    if message is None:
        assert GeometricRanker(tree).fit(X, y).score(X, y) > 0.9
        return
    with pytest.raises(ValueError, match=message):
        GeometricRanker(tree).fit(X, y)


def test_a_tree_of_several_outputs_is_refused():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 outputs"):
        GeometricRanker(tree).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranking": "best"}, "Got ranking='best'; expected one of 'global', 'local', None"),
        ({"smoothing": 3}, "Got smoothing=3"),
        ({"metric": "cosine"}, "Got metric='cosine'; expected one of 'minmax', 'standard'"),
        ({"metric": [1.0, 2.0]}, "expected 'minmax', 'standard', or 4 positive numbers"),
        ({"metric": [1.0, 2.0, 0.0, 1.0]}, "4 positive numbers"),
        ({"metric": [1.0, 2.0, np.nan, 1.0]}, "4 positive numbers"),
        ({"n_jobs": 0}, "Got n_jobs=0"),
        ({"class_of_interest": 7}, "Got class_of_interest=7"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = load_iris(return_X_y=True)
    ranker = GeometricRanker(DecisionTreeClassifier(), **parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y)
    assert not hasattr(ranker, "classes_")


def test_bad_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    ranker = GeometricRanker(DecisionTreeClassifier(random_state=0))
    with pytest.raises(ValueError, match="requires y to be passed"):
        ranker.fit(X)
    with pytest.raises(ValueError, match="infinity"):
        ranker.fit(X, y).distance(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="expected labels among"):
        ranker.score(X, y + 5)
    with pytest.raises(ValueError, match="does not say where to send it"):
        GeometricRanker(SMALL).fit([[0.0], [1.0]]).predict([[np.nan]])


def test_a_distance_beyond_all_numbers_is_refused():
    ranker = GeometricRanker(SMALL, metric=[1e-200]).fit([[0.0]])
    with pytest.raises(ValueError, match="metric of larger units"):
        ranker.distance([[1e10]])


def test_a_tree_of_too_many_boxes_is_refused(monkeypatch):
    X, _, y, _ = cancer()
    monkeypatch.setattr("treerank._trees.axis_tree.MAX_NODES", 3)
    with pytest.raises(ValueError, match=r"more than 3 nodes.*smaller max_depth"):
        GeometricRanker(TreeRank(LeafRank(max_depth=3))).fit(X, y)


@pytest.mark.core
def test_the_core_refuses_damaged_trees():
    X, y = load_iris(return_X_y=True)
    ranker = GeometricRanker(DecisionTreeClassifier(random_state=0)).fit(X, y)
    tree = ranker._source.tree
    side = (tree.predicted == 2).astype(np.uint8)
    sets = np.empty((0, 32), dtype=np.uint8)

    def find(nodes, rows=X, scale=ranker.scale_, side=side):
        records = nodes.view(np.uint8).reshape(len(nodes), 32)
        return _core.find_boundary(records, sets, side, rows, scale, 1)

    for field, value in [("left", 0), ("right", 999), ("feature", 9), ("category_set", 0)]:
        bad = tree.nodes.copy()
        bad[field][0] = value
        with pytest.raises(ValueError, match="damaged"):
            find(bad)
    with pytest.raises(ValueError, match="damaged"):
        find(tree.nodes, side=side[:1])
    with pytest.raises(ValueError, match="scale"):
        find(tree.nodes, scale=np.ones(3))
