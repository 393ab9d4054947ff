"""Forests whose cells are split by classifiers, grids or functions."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from treerank import LeafRank, RankingForest, TreeRank
from treerank.splitters import DyadicGrid


def table(n=150, p=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = (x[:, 0] + 0.7 * x[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)
    return x, y


def by_depth(cell):
    return DyadicGrid(2) if cell.depth == 0 else LogisticRegression()


SPLITTERS = {
    "svm": make_pipeline(StandardScaler(), SVC(kernel="rbf")),
    "logistic": LogisticRegression(),
    "cart": DecisionTreeClassifier(max_depth=3),
    "grid": DyadicGrid(2),
    "function": by_depth,
}


@pytest.mark.parametrize("splitter", SPLITTERS.values(), ids=SPLITTERS)
@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_a_forest_of_any_splitter_ranks_new_rows(splitter, aggregation):
    x, y = table(500)
    model = RankingForest(splitter, n_estimators=8, aggregation=aggregation, oob_score=True)
    model.set_params(max_depth=3)
    model.fit(x[:150], y[:150])
    assert model.score(x[150:], y[150:]) > 0.65
    assert abs(model.oob_auc_ - model.score(x[150:], y[150:])) < 0.12
    positive = model.decision_function(x) > 0
    assert np.array_equal(model.predict(x) == 1, positive)
    assert np.array_equal(model.predict_proba(x)[:, 1] > 0.5, positive)
    assert np.array_equal(model.score_samples(x)[[3, 77]], model.score_samples(x[[3, 77]]))


def test_processes_and_threads_grow_the_same_trees():
    x, y = table()
    model = RankingForest(DecisionTreeClassifier(max_depth=2, max_features=1), n_estimators=6)
    model.set_params(max_features=3, random_state=4)
    one = model.fit(x, y).score_samples(x)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend):
            other = clone(model).set_params(n_jobs=2).fit(x, y)
        assert np.array_equal(other.score_samples(x), one)
        assert other.shrinkage_ == model.shrinkage_


def test_a_tree_of_the_forest_is_treerank_on_its_sample():
    x, y = table(120)
    model = RankingForest(DyadicGrid(2), n_estimators=3, max_depth=4, shrinkage=7.0).fit(x, y)
    for number, view in enumerate(model.estimators_):
        counts = model._plan.sampling.counts(number, 120)
        alone = TreeRank(
            DyadicGrid(2), max_depth=4, pruning=None, shrinkage=7.0, min_samples_leaf=5
        ).fit(x, y, sample_weight=counts)
        drawn = counts > 0  # the grid of TreeRank spans the rows that have weight
        box = x[drawn].min(axis=0), x[drawn].max(axis=0)
        if (box[0] == x.min(axis=0)).all() and (box[1] == x.max(axis=0)).all():
            expected = alone.predict_proba(x)[:, 1]
            np.testing.assert_allclose(view.score_samples(x), expected, atol=1e-6)
        cells = model._trees.trees[number]
        assert cells.counts[0].sum() == counts.sum()


def test_shrinkage_goes_along_the_cells():
    x, y = table()
    model = RankingForest(LogisticRegression(), n_estimators=4, shrinkage=9.0).fit(x, y)
    rows, _ = model._codes(x)
    values = []
    for tree in model._trees.trees:
        weight, share = tree.counts.sum(axis=1), tree.counts[:, 1] / tree.counts.sum(axis=1)
        ends = tree.apply(rows)
        value = np.zeros(len(x))
        for row, end in enumerate(ends):
            cell = end
            while (parent := tree.cells["parent"][cell]) >= 0:
                value[row] += (share[cell] - share[parent]) / (1 + 9.0 / weight[parent])
                cell = parent
            value[row] += share[0]
        values.append(value)
    np.testing.assert_allclose(model.score_samples(x), np.mean(values, axis=0) - 0.5, atol=1e-9)
    unseen = np.array([model._plan.sampling.counts(t, len(y)) == 0 for t in range(4)])
    model.set_params(oob_score=True).fit(x, y)
    roots = np.array([t.counts[0, 1] / t.counts[0].sum() for t in model._trees.trees])
    change = (np.array(values) - roots[:, np.newaxis]) * unseen
    with np.errstate(invalid="ignore"):
        expected = change.sum(axis=0) / unseen.sum(axis=0) + y.mean() - 0.5
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-9)


def test_a_warm_start_adds_trees_split_in_python():
    x, y = table()
    warm = RankingForest(DyadicGrid(1), n_estimators=3, warm_start=True, random_state=5).fit(x, y)
    warm.set_params(n_estimators=8).fit(x, y)
    cold = RankingForest(DyadicGrid(1), n_estimators=8, random_state=5).fit(x, y)
    assert np.array_equal(warm.score_samples(x), cold.score_samples(x))
    with pytest.raises(ValueError, match="Got another kind of splitter with warm_start=True"):
        warm.set_params(splitter=None, n_estimators=9).fit(x, y)


def test_categories_missing_values_and_weights_reach_the_splitter():
    x, y = table(200)
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["c"] = np.where(x[:, 0] + x[:, 2] > 0, "high", "low")
    frame.loc[::7, "b"] = np.nan
    weight = np.random.default_rng(0).integers(0, 4, size=200)
    model = RankingForest(LogisticRegression(), n_estimators=4).fit(frame, y, sample_weight=weight)
    assert model.score(frame, y) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.score_samples(frame), model.score_samples(frame))
    assert model.apply(frame).shape == (200, 4)
    assert model.n_bytes_ > 1000
    assert "cells" in repr(model.estimators_[0])


def test_permutation_importance_finds_the_features_that_matter():
    x, y = table(600)
    for splitter in (None, LogisticRegression()):
        model = RankingForest(splitter, n_estimators=4, max_depth=4).fit(x[:300], y[:300])
        found = permutation_importance(model, x[300:], y[300:], random_state=0, n_repeats=3)
        assert np.argsort(-found.importances_mean)[:2].tolist() == [0, 1]
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize(
    ("name", "outer", "inner"), [("bagging", -1, None), ("rf1", 1, None), ("rf5", 2, 0.25)]
)
def test_presets_take_other_splitters(name, outer, inner):
    x, y = table()
    cart = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, max_features=2))
    model = RankingForest.preset(name, cart, n_estimators=4).fit(x, y)
    assert model._plan.kinds[0].max_features == outer
    assert model.splitter[-1].max_features == inner
    assert model.splitter is not cart
    assert roc_auc_score(y, model.score_samples(x)) > 0.75


@pytest.mark.parametrize("splitter", [SVC(), by_depth, DyadicGrid()])
def test_presets_that_draw_inside_need_a_splitter_that_draws(splitter):
    assert RankingForest.preset("rf2", splitter).max_features == 1
    with pytest.raises(ValueError, match="expected a splitter with max_features"):
        RankingForest.preset("rf3", splitter)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"splitter": LogisticRegression}, "Got splitter=LogisticRegression, a class"),
        ({"splitter": StandardScaler()}, "expected None, a LeafRank, a classifier"),
        ({"splitter": SVC(class_weight="balanced")}, "expected None: the classes weigh the same"),
        ({"splitter": SVC(), "random_cut_share": 0.5}, "only LeafRank has random cuts"),
        ({"splitter": SVC(), "monotonic_cst": [1, 0, 0, 0]}, "only LeafRank can keep monotone"),
        ({"splitter": SVC(), "max_depth": "deep"}, "Got max_depth='deep'"),
        ({"splitter": SVC(), "min_samples_leaf": 0}, "Got min_samples_leaf=0"),
        ({"splitter": SVC(), "max_features": 9}, "at most the number of features, 4"),
    ],
)
def test_bad_splitters_are_refused(parameters, message):
    x, y = table()
    with pytest.raises(ValueError, match=message):
        RankingForest(n_estimators=2, **parameters).fit(x, y)


def test_a_classifier_that_parts_nothing_is_refused():
    x, y = table()
    with pytest.raises(ValueError, match="puts all training rows into one class"):
        RankingForest(DummyClassifier(), n_estimators=2).fit(x, y)


def test_leafrank_after_another_splitter_has_importances_again():
    x, y = table()
    model = RankingForest(LogisticRegression(), n_estimators=2).fit(x, y)
    model.set_params(splitter=LeafRank(max_depth=2)).fit(x, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
