"""Models of ordered classes: scores, declared orders, constraints, forests."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from samples import graded
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from treerank import LeafRank, OrderedPartition, RankingForest, TreeRank
from treerank.datasets import make_ordinal_gaussians
from treerank.metrics import ordinal_vus_score

pytestmark = pytest.mark.core


def test_scores_classes_and_shares_agree():
    x, y = graded(500, 3)
    labels = np.array(["bad", "fair", "good"])
    model = TreeRank(label_order=labels).fit(x, labels[y])
    shares = model.predict_proba(x)
    assert model.label_order_.tolist() == labels.tolist()
    assert shares.shape == (500, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    assert np.array_equal(model.predict(x), labels[np.argmax(shares, axis=1)])
    order = np.argsort(model.score_samples(x))
    assert ordinal_vus_score(y, model.score_samples(x)) == pytest.approx(model.score(x, labels[y]))
    assert (np.diff(model.apply(x)[order]) <= 0).all()
    assert np.array_equal(model.decision_function(x), shares)
    assert model.feature_importances_.argmax() == 0
    assert model.partition_.vus() == pytest.approx(model.score(x, labels[y]))
    assert model.partition_.surface().volume() == pytest.approx(model.partition_.vus())
    assert "share_good" in model.partition_.columns()


def test_order_of_labels_is_taken_from_where_it_is_declared():
    x, y = graded(300, 3)
    names = np.array(["low", "mid", "high"])
    expected = TreeRank().fit(x, y).score_samples(x)
    ordered = pd.Categorical(names[y], categories=names, ordered=True)
    for labels in (ordered, pd.Series(ordered), pl.Series(names[y], dtype=pl.Enum(names))):
        model = TreeRank().fit(x, labels)
        assert model.label_order_.tolist() == names.tolist()
        assert model.classes_.tolist() == sorted(names)
        assert np.array_equal(model.score_samples(x), expected)
    declared = TreeRank(label_order=names).fit(x, names[y])
    assert np.array_equal(declared.score_samples(x), expected)
    with pytest.warns(UserWarning, match="'high', 'low', 'mid', worst first. Pass label_order"):
        assert TreeRank().fit(x, names[y]).label_order_.tolist() == ["high", "low", "mid"]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["low", "high"], "misses the label 'mid'"),
        (["low", "mid", "high", "top"], "no row of the class 'top'"),
        (["low", "mid", "mid"], "every class once"),
        ("low", "every class once"),
    ],
)
def test_an_order_that_does_not_fit_the_labels_is_refused(order, message):
    x, y = graded(60, 3)
    with pytest.raises(ValueError, match=message):
        TreeRank(label_order=order).fit(x, np.array(["low", "mid", "high"])[y])


def test_two_classes_follow_a_declared_order_too():
    x, y = graded(200, 2)
    model = TreeRank(label_order=["yes", "no"]).fit(x, np.array(["yes", "no"])[y])
    assert model.score(x, np.array(["yes", "no"])[y]) > 0.6
    assert np.array_equal(model.score_samples(x), TreeRank().fit(x, y).score_samples(x))


def test_a_class_that_vanishes_in_a_fold_is_named():
    x, y = graded(100, 3)
    model = TreeRank().fit(x, y)
    with pytest.raises(ValueError, match=r"no row of the classes \[2\]"):
        model.score(x[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="stratify"):
        TreeRank(label_order=[0, 1, 2]).fit(x[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="label 7"):
        model.score(x, np.where(y == 2, 7, y))


def test_penalties_are_for_two_classes():
    x, y = graded(100, 3)
    with pytest.raises(ValueError, match="pruning='penalty' with 3 classes"):
        TreeRank(pruning="penalty").fit(x, y)


@pytest.mark.not_sanitized
@pytest.mark.parametrize("n_classes", [3, 5])
def test_pure_noise_is_pruned_to_the_root(n_classes):
    rng = np.random.default_rng(5)
    kept = 0
    for _ in range(20):
        x = rng.normal(size=(300, 4))
        y = rng.permutation(np.arange(300) % n_classes)
        kept += len(TreeRank().fit(x, y).partition_) > 1
    assert kept <= 2


def test_many_classes_of_very_different_sizes():
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[1, 2, 500], rng.integers(3, 60, 17)])
    y = np.repeat(np.arange(20), sizes)
    x = np.column_stack([y + rng.normal(size=len(y)), rng.normal(size=len(y))])
    with pytest.warns(UserWarning, match="a single row of class 0; .* Add rows of this class"):
        model = TreeRank().fit(x, y)
    assert model.predict_proba(x).shape == (len(y), 20)
    assert np.corrcoef(model.score_samples(x), y)[0, 1] > 0.9
    assert model.partition_.vus() > 1 / math.factorial(20)


def test_monotone_constraints_hold_for_ordered_classes():
    x, y = graded(600, 4)
    for splitter in (None, LeafRank(max_depth=3)):
        model = TreeRank(splitter, monotonic_cst=[1, 1, 0]).fit(x, y)
        base = np.repeat(x[:50], 21, axis=0)
        base[:, 0] = np.tile(np.linspace(-3, 3, 21), 50)
        scores = model.score_samples(base).reshape(50, 21)
        assert (np.diff(scores, axis=1) >= 0).all()
        assert len(np.unique(scores)) > 3


@pytest.mark.not_sanitized
def test_other_splitters_compete_for_ordered_classes():
    train = make_ordinal_gaussians(800, random_state=0)
    test = make_ordinal_gaussians(2_000, random_state=1)
    linear = TreeRank(LogisticRegression(), max_depth=4).fit(train.X, train.y)
    stumps = TreeRank(max_depth=4).fit(train.X, train.y)
    assert linear.score(test.X, test.y) > stumps.score(test.X, test.y)
    assert linear.score(test.X, test.y) > train.truth.vus - 0.03


def test_cross_validation_of_ordered_classes_needs_no_scorer():
    x, y = graded(400, 3)
    assert cross_val_score(TreeRank(), x, y, cv=3).min() > 0.25


def test_partition_of_three_classes_reads_as_a_surface():
    partition = OrderedPartition([[0, 1, 4], [1, 3, 1], [4, 1, 0]])
    assert partition.vus() == pytest.approx(partition.surface().volume())
    assert "vus=" in repr(partition)
    with pytest.raises(ValueError, match="needs two"):
        partition.auc()
    with pytest.raises(ValueError, match="needs three"):
        OrderedPartition([[1, 2], [2, 1]]).surface()


@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_forests_rank_ordered_classes(aggregation):
    x, y = graded(600, 4)
    model = RankingForest(n_estimators=30, aggregation=aggregation, oob_score=True)
    model.fit(x[:400], y[:400])
    assert model.score(x[400:], y[400:]) > 3 / math.factorial(4)
    shares = model.predict_proba(x)
    assert shares.shape == (600, 4)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    assert np.array_equal(model.predict(x), np.argmax(shares, axis=1))
    assert model.oob_vus_ == pytest.approx(model.score(x[400:], y[400:]), abs=0.1)
    assert model.oob_vus_interval_.lower < model.oob_vus_ < model.oob_vus_interval_.upper
    assert not hasattr(model, "oob_auc_")
    assert np.array_equal(model.decision_function(x), shares)
    assert model.feature_importances_.argmax() == 0


def test_class_shares_of_a_forest_are_those_of_its_leaves():
    """A forest of one tree on all rows; with one test per split no two paths share a leaf."""
    x, y = graded(300, 3)
    whole = {"n_estimators": 1, "bootstrap": False, "random_cut_share": 0, "max_depth": 3}
    model = RankingForest(LeafRank(), shrinkage=None, **whole).fit(x, y)
    ends, shares = model.apply(x)[:, 0], model.predict_proba(x)
    for end in np.unique(ends):
        inside = ends == end
        counts = np.bincount(y[inside], minlength=3)
        assert np.allclose(shares[inside], counts / counts.sum(), atol=1e-6)
    shrunk = RankingForest(LeafRank(), shrinkage=50.0, **whole).fit(x, y).predict_proba(x)
    base = np.bincount(y) / len(y)
    assert np.abs(shrunk - base).mean() < 0.8 * np.abs(shares - base).mean()


def test_a_bootstrap_sample_may_miss_a_class():
    x, y = graded(200, 3)
    y[:] = np.where(y == 1, 0, y)
    y[0] = 1  # one row of the middle class: many trees do not see it
    model = RankingForest(n_estimators=20).fit(x, y)
    assert np.isfinite(model.score_samples(x)).all()
    assert np.isfinite(model.predict_proba(x)).all()


def test_forests_keep_monotone_constraints_and_grow_warm_with_ordered_classes():
    x, y = graded(400, 4)
    model = RankingForest(n_estimators=8, monotonic_cst=[1, 0, 0], warm_start=True).fit(x, y)
    model.set_params(n_estimators=15).fit(x, y)
    whole = RankingForest(n_estimators=15, monotonic_cst=[1, 0, 0]).fit(x, y)
    assert np.array_equal(model.score_samples(x), whole.score_samples(x))
    base = np.repeat(x[:40], 15, axis=0)
    base[:, 0] = np.tile(np.linspace(-3, 3, 15), 40)
    assert (np.diff(whole.score_samples(base).reshape(40, 15), axis=1) >= -1e-6).all()


@pytest.mark.not_sanitized
def test_forests_of_other_splitters_rank_ordered_classes():
    train = make_ordinal_gaussians(400, random_state=0)
    test = make_ordinal_gaussians(1_000, random_state=1)
    model = RankingForest(LogisticRegression(), n_estimators=5, max_depth=3).fit(train.X, train.y)
    assert model.score(test.X, test.y) > train.truth.vus - 0.05
    assert model.predict_proba(test.X).shape == (1_000, 3)
