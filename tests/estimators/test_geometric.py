"""GeometricRanker: what it wraps, how it ranks and smooths."""

import pickle

import numpy as np
import pytest
from samples import cancer
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from treerank import GeometricRanker, TreeRank


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


def test_the_m_estimate_of_a_class_without_weight_is_a_number():
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    for light in (1e-200, 1e-180, 1.0):  # of 1e150 no share, a subnormal one, a small one
        tree = DecisionTreeClassifier().fit(x, y, sample_weight=[1e150, 1e150, light, light])
        ranker = GeometricRanker(tree, ranking=None, smoothing="m").fit(x)
        shares = ranker.predict_proba(x)
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1)


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
