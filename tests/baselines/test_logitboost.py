"""LogitBoost takes Newton steps on the binomial likelihood."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from treerank.baselines import LogitBoost
from treerank.baselines._logitboost import LARGEST_RESPONSE, working_response


def test_working_response_is_the_clipped_newton_step():
    log_odds, rank = np.linspace(-8, 8, 33), np.arange(33) % 2
    response, curvature = working_response(log_odds, rank)
    p = expit(log_odds)
    newton = (rank - p) / (p * (1 - p))
    np.testing.assert_allclose(response, np.clip(newton, -LARGEST_RESPONSE, LARGEST_RESPONSE))
    np.testing.assert_allclose(curvature, p * (1 - p))


def test_first_stump_is_the_weighted_regression_on_the_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    weight = rng.uniform(0.5, 2, size=60)
    model = LogitBoost(1, learning_rate=1.0).fit(X, y, sample_weight=weight)
    score = model.score_samples(X)
    # At log-odds 0 the response is +-2 with equal weights, so a leaf holds twice its balance.
    for value in np.unique(score):
        leaf = score == value
        assert value == pytest.approx(2 * np.average(2 * y[leaf] - 1, weights=weight[leaf]))


def test_order_of_rows_does_not_matter():
    X, y = make_classification(60, 8, flip_y=0.2, random_state=0)
    shuffle = np.random.default_rng(0).permutation(60)
    straight = LogitBoost(30, random_state=0).fit(X, y)
    shuffled = LogitBoost(30, random_state=0).fit(X[shuffle], y[shuffle])
    np.testing.assert_array_equal(straight.score_samples(X), shuffled.score_samples(X))


def test_likelihood_rises_and_depth_helps_an_interaction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] * X[:, 1] > 0
    few, many = (LogitBoost(t, max_depth=2, random_state=0).fit(X, y) for t in (5, 60))
    assert log_loss(y, many.predict_proba(X)) < log_loss(y, few.predict_proba(X))
    assert many.score(X, y) > 0.98
    assert LogitBoost(60, random_state=0).fit(X, y).score(X, y) < 0.8


def test_separated_classes_stay_finite():
    X, y = make_classification(100, 3, n_redundant=0, class_sep=5, flip_y=0, random_state=0)
    model = LogitBoost(300, learning_rate=1.0, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert model.score(X, y) == 1.0
