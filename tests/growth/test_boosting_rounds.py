"""The number of trees of boosting: early stopping, warm starts, stages."""

import threading

import numpy as np
import pytest
from boosted_trees import sample
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from treerank import BoostedTreeRank
from treerank.metrics import ordinal_vus_score

pytestmark = pytest.mark.core


def test_early_stopping_keeps_the_best_number_of_trees():
    X, y = sample(600, class_sep=0.4)
    model = BoostedTreeRank(
        300, learning_rate=0.5, early_stopping=True, validation_fraction=0.3, n_iter_no_change=10
    ).fit(X, y)
    scores = model.validation_scores_
    assert model.n_estimators_ == np.argmax(scores) + 1 < 300
    assert len(scores) == model.n_estimators_ + 10
    assert model.apply(X).shape == (600, model.n_estimators_)
    held = train_test_split(np.arange(600), test_size=180, stratify=y, random_state=0)[1]
    assert roc_auc_score(y[held], model.score_samples(X[held])) == pytest.approx(scores.max())


def test_early_stopping_watches_vus_beyond_two_classes():
    X, y = sample(600, n_classes=3)
    model = BoostedTreeRank(40, early_stopping=True, n_iter_no_change=5).fit(X, y)
    held = train_test_split(np.arange(600), test_size=60, stratify=y, random_state=0)[1]
    found = ordinal_vus_score(y[held], model.score_samples(X[held]))
    assert found == pytest.approx(model.validation_scores_.max())


def test_early_stopping_needs_two_rows_of_a_class():
    X, y = sample(60)
    y[:] = 0
    y[0] = 1
    with pytest.raises(ValueError, match="1 rows of the rarest class"):
        BoostedTreeRank(early_stopping=True).fit(X, y)


def test_training_rows_score_what_the_rounds_made_of_them():
    X, y = sample()
    shallow, deep = (BoostedTreeRank(n, subsample=0.6).fit(X, y) for n in (10, 20))
    first = deep._start + deep._trees.each(deep._codes(X)[0], 1)[:10].sum(axis=0, dtype=float)
    np.testing.assert_allclose(first, shallow.score_samples(X), atol=1e-9)


def test_rounds_start_no_threads_of_python(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40_000, 2)), rng.integers(0, 2, 40_000)
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self), start(self)))
    BoostedTreeRank(6, n_jobs=3).fit(x, y)
    assert not started  # those of the core live as long as the fit


def many_rows(n=5_000):
    X, y = make_classification(n, n_features=8, n_informative=6, flip_y=0.1, random_state=5)
    return X, y


def test_a_class_of_few_rows_chooses_nothing():
    X, y = many_rows()
    rare = (np.arange(len(y)) < 30).astype(int)
    assert BoostedTreeRank(n_bags=1).fit(X, rare).n_estimators_ <= 200


def test_a_number_of_trees_that_is_given_holds():
    X, y = many_rows()
    assert BoostedTreeRank(7).fit(X, y).n_estimators_ == 7
    for name in ("n_estimators", "learning_rate"):
        with pytest.raises(ValueError, match=name):
            BoostedTreeRank(**{name: "many"}).fit(X, y)


def test_rows_to_validate_on_say_when_to_stop():
    X, y = many_rows(3_000)
    learn, judge = slice(0, 2_000), slice(2_000, None)
    model = BoostedTreeRank(300, learning_rate=0.3, n_iter_no_change=10)
    model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge])
    assert model.n_estimators_ == np.argmax(model.validation_scores_) + 1 < 300
    assert model.score(X[judge], y[judge]) == pytest.approx(model.validation_scores_.max())
    weight = np.where(X[judge, 0] > 0, 3.0, 1.0)
    model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge], sample_weight_val=weight)
    expected = roc_auc_score(y[judge], model.score_samples(X[judge]), sample_weight=weight)
    assert model.validation_scores_.max() == pytest.approx(expected)


def test_rows_to_validate_on_are_checked():
    X, y = sample(200)
    model = BoostedTreeRank(5)
    with pytest.raises(ValueError, match=r"In y_val .* Got no row of class 0"):
        model.fit(X, y, X_val=X[y == 1], y_val=y[y == 1])
    with pytest.raises(ValueError, match="features"):
        model.fit(X, y, X_val=X[:, :2], y_val=y)
    assert not hasattr(model, "_trees")


@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_goes_on_from_the_trees_of_the_last_fit(loss, n_classes):
    X, y = sample(400, n_classes=n_classes)
    model = BoostedTreeRank(6, loss=loss, warm_start=True, subsample=0.8).fit(X, y)
    first = model._trees.slots
    model.set_params(n_estimators=15).fit(X, y)
    np.testing.assert_array_equal(model._trees.slots[: len(first)], first)
    at_once = BoostedTreeRank(15, loss=loss, subsample=0.8).fit(X, y)
    np.testing.assert_allclose(model.score_samples(X), at_once.score_samples(X), atol=2e-2)
    assert model.n_estimators_ == 15
    with pytest.raises(ValueError, match="at least the 15 trees"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="other data"):
        model.set_params(n_estimators=20).fit(X + 1, y)
    with pytest.raises(ValueError, match="a number of trees to go on to"):
        model.set_params(n_estimators="auto").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_at_the_score_and_are_those_of_fewer_trees(n_classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [0.0, 1.0][: n_classes - 1])
    model = BoostedTreeRank(n_estimators=7, random_state=0).fit(X, y)
    stages = list(model.staged_score_samples(X))
    assert len(stages) == 7
    np.testing.assert_array_equal(stages[-1], model.score_samples(X))
    if model.loss_ == "logistic":
        fewer = BoostedTreeRank(n_estimators=3, random_state=0).fit(X, y)
        np.testing.assert_array_equal(stages[2], fewer.score_samples(X))


def test_stages_of_bags_take_a_tree_of_each():
    X, y = sample()
    model = BoostedTreeRank(n_estimators=5, n_bags=3, random_state=0).fit(X, y)
    stages = list(model.staged_score_samples(X))
    assert len(stages) == 5
    np.testing.assert_allclose(stages[-1], model.score_samples(X), rtol=1e-12)
    fewer = BoostedTreeRank(n_estimators=2, n_bags=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(stages[1], fewer.score_samples(X), rtol=1e-12)
