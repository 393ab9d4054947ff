"""Distances to the decision boundary, their metric, and the nearest points of it."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import cancer
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

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


@pytest.mark.core
@examples(150)
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
@examples(25)
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


@examples(60)
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
