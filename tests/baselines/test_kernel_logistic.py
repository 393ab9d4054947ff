"""Kernel logistic regression minimises its criterion over the kernel's space."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

from treerank.baselines import KernelLogisticRegression


@pytest.fixture(scope="module")
def rows():
    return make_classification(150, 4, flip_y=0.1, random_state=0)


def test_score_is_stationary_in_the_kernel_space(rows):
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    weight /= weight.mean()  # as the model scales them
    model = KernelLogisticRegression(2.0, gamma=0.4).fit(X, y, sample_weight=weight)
    kernel = rbf_kernel(model.scaler_.transform(X), gamma=0.4)
    log_odds = model.decision_function(X)
    residual = 2.0 * weight * (y - expit(log_odds))
    # Representer theorem: the score is the kernel times the residuals; their sum vanishes
    # because the intercept is free.
    np.testing.assert_allclose(log_odds - model.intercept_, kernel @ residual, atol=1e-5)
    assert residual.sum() == pytest.approx(0, abs=1e-5)


def test_linear_kernel_is_logistic_regression(rows):
    X, y = rows
    model = KernelLogisticRegression(kernel="linear").fit(X, y)
    plain = LogisticRegression(tol=1e-10, max_iter=1000).fit(model.scaler_.transform(X), y)
    np.testing.assert_allclose(model.scoring_rule_.coef, plain.coef_[0], rtol=1e-4)


def test_probabilities_follow_the_score_and_are_calibrated(rows):
    X, y = rows
    model = KernelLogisticRegression().fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability[:, 1], expit(model.decision_function(X)))
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert probability[:, 1].mean() == pytest.approx(y.mean(), abs=1e-6)
    assert log_loss(y, probability) < 0.5
