"""Geometric ranking: the distance to the decision boundary, and rankings by it."""

import pickle

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treerank import GeometricRanker, LeafRank, TreeRank

GRID = np.arange(-3, 4).astype(float)


def random_arrays(seed, n_features=3, max_depth=5, n_classes=2):
    """A tree that nobody would grow: tests repeat and contradict each other, boxes are empty."""
    rng = np.random.default_rng(seed)
    nodes = []

    def grow(depth):
        number = len(nodes)
        nodes.append(None)
        children = (-1, -1)
        if depth < max_depth and rng.random() < 0.85:
            children = grow(depth + 1), grow(depth + 1)
        nodes[number] = children
        return number

    grow(0)
    n = len(nodes)
    return {
        "children_left": np.array([left for left, _ in nodes]),
        "children_right": np.array([right for _, right in nodes]),
        "feature": rng.integers(0, n_features, n),
        "threshold": rng.choice(GRID, n) + rng.choice([0.0, 0.5], n),
        "value": rng.integers(0, 20, (n, n_classes)) + rng.random((n, n_classes)),
        "missing_go_to_left": rng.integers(0, 2, n),
        "n_features": n_features,
    }


def random_rows(seed, n_rows, n_features=3, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.choice(GRID, (n_rows, n_features)) + rng.choice([0.0, 0.5, 0.1], (n_rows, n_features))
    x[rng.random(x.shape) < missing] = np.nan
    return x


def has_boundary(arrays, interest):
    known = {
        np.argmax(arrays["value"][leaf]) == interest
        for leaf, box in oracles.leaf_boxes(arrays)
        if all(low < high for low, high, _ in box.values())
    }
    return len(known) == 2


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0)


# The distance


@pytest.mark.core
@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(1, 4),
    depth=st.integers(1, 6),
    n_classes=st.integers(2, 3),
    missing=st.sampled_from([0.0, 0.3]),
    n_jobs=st.integers(1, 2),
)
def test_the_distance_equals_the_projection_on_all_leaves(
    seed, n_features, depth, n_classes, missing, n_jobs
):
    arrays = random_arrays(seed, n_features, depth, n_classes)
    x = random_rows(seed + 1, 12, n_features, missing)
    interest = seed % n_classes
    scale = np.random.default_rng(seed + 2).uniform(0.1, 10, n_features)
    ranker = GeometricRanker(arrays, metric=scale, class_of_interest=interest, n_jobs=n_jobs)
    if not has_boundary(arrays, interest):
        with pytest.raises(ValueError, match=r"no decision boundary|no leaf of the tree predicts"):
            ranker.fit(x)
        return
    found = ranker.fit(x).distance(x)
    expected = [oracles.distance_to_boundary(arrays, row, scale, interest) for row in x]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.core
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 3),
    missing=st.sampled_from([0.0, 0.2]),
    levels=st.integers(2, 6),
)
def test_the_distance_in_ranking_trees_with_categories_equals_all_paths(
    seed, depth, missing, levels
):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3)).round(1)
    x[:, 2] = rng.integers(0, levels, 60)
    y = (x[:, 0] * (x[:, 2] % 2 - 0.5) + 0.3 * rng.normal(size=60) > 0).astype(int)
    y[:2] = 0, 1
    x[rng.random(x.shape) < missing] = np.nan
    model = TreeRank(
        LeafRank(max_depth=depth), max_depth=3, categorical_features=[2], pruning=None
    ).fit(x, y)
    ranker = GeometricRanker(model)
    if len(np.unique(model.predict(x))) < 2:
        return
    known = ~np.isnan(x).any(axis=1)
    if len(np.unique(model.predict(x[known]))) < 2:
        return
    ranker.fit(x)
    codes = [
        [0 if np.isnan(v) else model._binning.levels[2].index(v) + 1 for v in x[:, 2]]
        if f == 2
        else oracles.encode(x[:, f], model._binning.thresholds[f])
        for f in range(3)
    ]
    expected = [
        oracles.distance_in_ranking_tree(model, row, code, ranker.scale_)
        for row, code in zip(x, np.transpose(codes), strict=True)
    ]
    np.testing.assert_allclose(ranker.distance(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.core
def test_a_deep_chain_of_tests_is_walked_without_recursion():
    n = 30_000  # inner nodes 0, 2, 4, …, each with a leaf on the left
    inner = np.arange(n) * 2
    left = np.full(2 * n + 1, -1)
    right = left.copy()
    left[inner], right[inner] = inner + 1, inner + 2
    arrays = {
        "children_left": left, "children_right": right, "feature": np.zeros(2 * n + 1, int),
        "threshold": np.repeat(np.arange(n + 1.0), 2)[: 2 * n + 1], "n_features": 1,
        "value": np.tile([[1.0, 0.0]], (2 * n + 1, 1)),
    }  # fmt: skip
    arrays["value"][-1] = 0.0, 1.0
    x = np.array([[-5.0], [n - 1.5], [n + 3.0]])
    distance = GeometricRanker(arrays, metric=[2.0]).fit(x).distance(x)
    assert distance.tolist() == [(n + 4) / 2, 0.25, 2.0]


def test_threads_and_row_order_do_not_matter():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    one, two = (GeometricRanker(tree, n_jobs=n).fit(X) for n in (1, 2))
    new = pd.concat([X_new] * 20, ignore_index=True)
    assert one.distance(new).tolist() == two.distance(new).tolist()
    assert one.distance(new[::-1]).tolist() == one.distance(new)[::-1].tolist()


def test_no_row_within_the_distance_is_decided_otherwise():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X, y)
    ranker = GeometricRanker(tree, metric="standard").fit(X)
    rng = np.random.default_rng(0)
    step = rng.normal(size=(50, *X_new.shape))
    step /= np.linalg.norm(step, axis=2, keepdims=True)
    near = X_new.to_numpy() + step * 0.999 * ranker.distance(X_new)[:, None] * ranker.scale_
    for rows in near:
        with_names = pd.DataFrame(rows, columns=X.columns)
        assert (tree.predict(with_names) == tree.predict(X_new)).all()


# What scikit-learn's trees do with numbers


def test_rows_are_seen_in_single_precision_as_the_tree_sees_them():
    x = np.array([[0.0], [1.0]])
    tree = DecisionTreeClassifier().fit(x, [0, 1])
    assert tree.tree_.threshold[0] == 0.5
    ranker = GeometricRanker(tree).fit(x)
    close = np.array([[0.5 + 1e-12], [0.5], [0.5 + 1e-6]])
    assert ranker.predict(close).tolist() == tree.predict(close).tolist() == [0, 0, 1]
    assert ranker.distance(close)[:2].tolist() == [0.0, 0.0]
    assert ranker.score_samples(close).tolist()[:2] == [0.0, 0.0]
    with pytest.raises(ValueError, match="too large for dtype"):
        ranker.predict([[1e300]])


def test_missing_values_follow_the_tree_and_do_not_count_in_the_distance():
    X, y = make_classification(400, 4, n_informative=3, n_redundant=0, random_state=0)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    ranker = GeometricRanker(tree).fit(X)
    assert (ranker.predict(X) == tree.predict(X)).all()
    assert (ranker._leaves(X) == tree.apply(X)).all()
    arrays = {
        "children_left": tree.tree_.children_left, "children_right": tree.tree_.children_right,
        "feature": tree.tree_.feature, "threshold": tree.tree_.threshold,
        "value": tree.tree_.value[:, 0], "missing_go_to_left": tree.tree_.missing_go_to_left,
    }  # fmt: skip
    seen = X[:40].astype(np.float32).astype(float)
    expected = [oracles.distance_to_boundary(arrays, row, ranker.scale_, 1) for row in seen]
    np.testing.assert_allclose(ranker.distance(X[:40]), expected, rtol=1e-12, atol=1e-12)
    assert np.isfinite(ranker.distance(np.full((1, 4), np.nan))).all()


def test_a_fitted_tree_stays_as_it_is():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    before = pickle.dumps(tree)
    ranker = GeometricRanker(tree).fit(X[:50])
    ranker.boundary_point(X_new)
    assert ranker.tree_ is tree
    assert pickle.dumps(tree) == before
    assert (ranker.predict(X_new) == tree.predict(X_new)).all()


def test_a_tree_that_is_not_fitted_is_fitted_as_a_copy():
    X, X_new, y, y_new = cancer()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ranker = GeometricRanker(tree).fit(X, y)
    assert not hasattr(tree, "tree_")
    assert (ranker.predict(X_new) == clone(tree).fit(X, y).predict(X_new)).all()
    again = GeometricRanker(tree, metric=ranker.scale_).fit(X, y, sample_weight=np.ones(len(y)))
    assert again.score(X_new, y_new) == ranker.score(X_new, y_new)


def test_a_frozen_tree_stays_fitted_through_cross_validation():
    X, X_new, y, y_new = cancer()
    frozen = FrozenEstimator(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))
    copy = clone(GeometricRanker(frozen)).fit(X)
    assert copy.tree_ is frozen
    scores = cross_val_score(GeometricRanker(frozen), X_new, y_new, cv=3)
    assert scores.mean() > 0.9


def test_a_pipeline_is_ranked_by_its_last_step():
    X, X_new, y, y_new = cancer()
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0))
    plain = GeometricRanker(DecisionTreeClassifier(max_depth=3, random_state=0), metric="standard")
    behind = GeometricRanker(pipe, metric="standard").fit(X, y)
    assert (behind.predict(X_new) == behind.tree_.predict(X_new)).all()
    expected = plain.fit(X, y).distance(X_new)
    np.testing.assert_allclose(behind.distance(X_new), expected, rtol=1e-4)
    for fitted in (pipe.fit(X, y), FrozenEstimator(pipe)):
        assert GeometricRanker(fitted, metric="standard").fit(X).score(X_new, y_new) > 0.9
    weighted = GeometricRanker(clone(pipe)).fit(X, y, sample_weight=np.arange(len(y)))
    assert weighted.score(X_new, y_new) > 0.8
    last = make_pipeline(StandardScaler(), GeometricRanker(DecisionTreeClassifier(max_depth=3)))
    assert last.fit(X, y).score(X_new, y_new) > 0.9
    ours = make_pipeline(StandardScaler(), TreeRank()).fit(X, y)
    assert GeometricRanker(ours).fit(X).score(X_new, y_new) > 0.9


# Rankings


def rankers(X, y, **parameters):
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    for ranking in ("global", "local", None):
        yield GeometricRanker(tree, ranking=ranking, **parameters).fit(X)


def test_global_ranks_by_signed_distance():
    X, X_new, y, _ = cancer()
    ranker, *_ = rankers(X, y)
    sign = np.where(ranker.predict(X_new) == 1, 1, -1)
    np.testing.assert_allclose(ranker.score_samples(X_new), sign * ranker.distance(X_new))
    assert ((ranker.decision_function(X_new) > 0) == (ranker.predict(X_new) == 1)).all()


@pytest.mark.parametrize("smoothing", ["laplace", "m", None])
def test_local_ranks_by_the_leaf_then_by_signed_distance(smoothing):
    X, X_new, y, _ = cancer()
    by_distance, local, alone = rankers(X, y, smoothing=smoothing)
    share = local.predict_proba(X_new)[:, 1]
    order = np.lexsort([by_distance.score_samples(X_new), share])
    scores = local.score_samples(X_new)[order]
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(scores)[np.diff(share[order]) > 1e-9] > 0).all()
    assert len(np.unique(scores)) == len(np.unique(by_distance.score_samples(X_new)))
    np.testing.assert_allclose(alone.score_samples(X_new), share - 0.5)


def test_smoothing_follows_the_formulas():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    leaf = tree.apply(X)
    k = np.array([((leaf == at) & (y == 1)).sum() for at in tree.apply(X_new)])
    n = np.array([(leaf == at).sum() for at in tree.apply(X_new)])
    p = y.mean()
    m = 10 / p
    expected = {"laplace": (k + 1) / (n + 2), "m": (k + m * p) / (n + m), None: k / n}
    for smoothing, share in expected.items():
        ranker = GeometricRanker(tree, ranking=None, smoothing=smoothing).fit(X)
        np.testing.assert_allclose(ranker.predict_proba(X_new)[:, 1], share)
        np.testing.assert_allclose(ranker.predict_proba(X_new).sum(axis=1), 1)


def test_metric_is_taken_from_the_rows_or_given():
    X, X_new, y, _ = cancer()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    minmax = GeometricRanker(tree).fit(X)
    standard = GeometricRanker(tree, metric="standard").fit(X)
    np.testing.assert_allclose(minmax.scale_, X.max() - X.min(), rtol=1e-6)
    np.testing.assert_allclose(standard.scale_, X.std(ddof=0), rtol=1e-6)
    given_scale = GeometricRanker(tree, metric=minmax.scale_).fit(X_new)
    assert given_scale.distance(X_new).tolist() == minmax.distance(X_new).tolist()
    wide = GeometricRanker(tree, metric=2 * minmax.scale_).fit(X)
    np.testing.assert_allclose(2 * wide.distance(X_new), minmax.distance(X_new), rtol=1e-12)


def test_weights_equal_repeated_rows_in_the_metric():
    X, _, y, _ = cancer()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for metric in ("minmax", "standard"):
        weighted = GeometricRanker(tree, metric=metric).fit(X, sample_weight=weight)
        repeated = GeometricRanker(tree, metric=metric).fit(X.loc[X.index.repeat(weight)])
        np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)


def test_a_constant_column_does_not_divide_by_zero():
    X, _, y, _ = cancer()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for metric in ("minmax", "standard"):
        ranker = GeometricRanker(tree, metric=metric).fit(X.iloc[[0, 0]])
        assert ranker.scale_.tolist() == [1.0] * 30


def test_a_class_of_interest_among_several():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, names)
    for interest in names[[0, 50, 100]]:
        ranker = GeometricRanker(tree, class_of_interest=interest).fit(X)
        auc = ranker.score(X, names)
        assert auc == roc_auc_score(names == interest, ranker.score_samples(X)) > 0.97
        assert ((ranker.decision_function(X) > 0) == (ranker.predict(X) == interest)).all()
    last = GeometricRanker(tree).fit(X)
    assert last.class_of_interest_ == "virginica"
    by_class = last.decision_function(X)
    assert (names[[0, 50, 100]][by_class.argmax(axis=1)] == last.predict(X)).all()
    assert by_class[:, 2].tolist() == last.score_samples(X).tolist()
    # Between two classes that are both of no interest there is no boundary.
    setosa = GeometricRanker(tree, class_of_interest="setosa").fit(X)
    assert (setosa.distance(X) >= last.distance(X) - 1e-12)[names == "versicolor"].any()


def test_the_first_of_two_classes_can_be_the_one_of_interest():
    X, X_new, y, y_new = cancer()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for ranking in ("global", "local", None):
        first, second = (
            GeometricRanker(tree, ranking=ranking, class_of_interest=c).fit(X) for c in (0, 1)
        )
        assert first.score(X_new, y_new) == pytest.approx(second.score(X_new, y_new))
        np.testing.assert_allclose(
            first.decision_function(X_new), second.decision_function(X_new), atol=1e-12
        )
        assert roc_auc_score(y_new == 0, first.score_samples(X_new)) > 0.9


def test_ranking_by_distance_improves_on_the_leaves_of_a_small_tree():
    X, X_new, y, y_new = cancer()
    by_distance, local, alone = (r.score(X_new, y_new) for r in rankers(X, y))
    assert by_distance > alone + 0.01
    assert local > alone + 0.01


# Boundary points


def test_the_tree_decides_otherwise_at_the_boundary_point():
    X, X_new, y, _ = cancer()
    for tree in (DecisionTreeClassifier(min_samples_leaf=2, random_state=0), TreeRank()):
        ranker = GeometricRanker(tree).fit(X, y)
        found = ranker.boundary_point(X_new)
        points = pd.DataFrame(found.points, columns=X.columns)
        assert (ranker.predict(points) == found.decision).all()
        assert (found.decision != ranker.predict(X_new)).all()
        length = np.linalg.norm(found.changes / ranker.scale_, axis=1)
        np.testing.assert_allclose(length, found.distance, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(found.points, X_new.to_numpy() + found.changes)
        assert (found.points[~found.changed] == X_new.to_numpy()[~found.changed]).all()
        assert (found.distance == ranker.distance(X_new)).all()
    words = found.in_words()
    assert len(words) == len(found) == len(X_new)
    assert " to " in words[0]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_boundary_points_of_odd_trees_flip_the_decision(seed, missing):
    arrays = random_arrays(seed, max_depth=6)
    x = random_rows(seed + 1, 10, missing=missing)
    if not has_boundary(arrays, 1):
        return
    ranker = GeometricRanker(arrays, metric=[1.0, 2.0, 3.0]).fit(x)
    found = ranker.boundary_point(x)
    assert (ranker.predict(found.points) == found.decision).all()
    assert (found.decision != ranker.predict(x)).all()


def test_a_boundary_point_names_another_level():
    n = 300
    rng = np.random.default_rng(0)
    purpose = rng.choice(["car", "radio", "house"], n)
    amount = rng.uniform(0, 10, n)
    X = pd.DataFrame({"purpose": purpose, "amount": amount})
    y = ((purpose == "car") & (amount > 2)).astype(int)
    model = TreeRank(pruning=None, shrinkage=None).fit(X, y)
    ranker = GeometricRanker(model).fit(X)
    rows = pd.DataFrame({"purpose": ["car", "radio", None], "amount": [9.0, 9.0, 9.0]})
    found = ranker.boundary_point(rows)
    assert found.in_words()[1] == "1: purpose to car"
    assert found.distance[1] == 1.0
    assert found.points[1].tolist() == ["car", 9.0]
    assert ranker.predict(rows).tolist() == [1, 0, ranker.predict(rows)[2]]
    assert found.distance[0] == pytest.approx((9 - 2) / np.ptp(amount), rel=0.05)
    assert np.isfinite(found.distance).all()


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
        ({"children_left": [7, -1, -1]}, "not there"),
        ({"children_left": [0, -1, -1]}, "round in a circle"),
        ({"feature": [3, -1, -1]}, "test of feature 3"),
        ({"feature": [-1, -1, -1]}, "test of feature -1"),
        ({"threshold": [np.nan, 0, 0]}, "NaN or infinite"),
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


def test_the_core_refuses_damaged_trees():
    from treerank import _core

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
