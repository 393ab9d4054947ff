"""RankRLS in closed form is the pairwise least squares, and leaves rows out honestly."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel

from treerank.baselines import RankRLS
from treerank.baselines._rankrls import ridge_path


def fit_pairs(features, target, weight, alpha):
    """Slow twin: least squares on all pairs; the intercept makes residuals average zero."""
    i, j = np.triu_indices(len(target), k=1)
    root = np.sqrt(weight[i] * weight[j] / weight.sum())
    design = root[:, None] * (features[i] - features[j])
    penalty = np.sqrt(alpha) * np.eye(features.shape[1])
    coef = np.linalg.lstsq(
        np.vstack([design, penalty]),
        np.concatenate([root * (target[i] - target[j]), np.zeros(len(penalty))]),
        rcond=None,
    )[0]
    return coef, np.average(target - features @ coef, weights=weight)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(25, 4)) + 3
    target = np.clip(np.round(features[:, 0] - 2 + rng.normal(size=25)), 0, 3)
    return features, target, rng.uniform(0.2, 3, size=25)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_closed_form_equals_least_squares_on_pairs(rows, alpha):
    features, target, weight = rows
    path = ridge_path(features, target, weight, np.array([7.0, alpha]))
    coef, intercept = fit_pairs(features, target, weight, alpha)
    np.testing.assert_allclose(path.coefs[:, 1], coef, atol=1e-10)
    assert path.intercepts[1] == pytest.approx(intercept)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_leaving_one_out_equals_refitting_without_it(rows, alpha):
    features, target, _ = rows
    ones = np.ones(len(target))
    path = ridge_path(features, target, ones, np.array([alpha]))
    for i in range(len(target)):
        keep = np.arange(len(target)) != i
        coef, intercept = fit_pairs(features[keep], target[keep], ones[keep], alpha)
        assert path.loo_scores[i, 0] == pytest.approx(features[i] @ coef + intercept)
    assert path.loo_errors[0] == pytest.approx(np.mean((target - path.loo_scores[:, 0]) ** 2))


def test_a_unit_of_a_heavy_row_is_left_out_and_all_of_a_light_one(rows):
    features, target, weight = rows
    path = ridge_path(features, target, weight, np.array([2.0]))
    for i in range(len(target)):
        reduced = weight.copy()
        reduced[i] = max(0.0, weight[i] - 1)
        coef, intercept = fit_pairs(features, target, reduced, 2.0)
        assert path.loo_scores[i, 0] == pytest.approx(features[i] @ coef + intercept)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_estimator_leaves_one_out_as_a_refit_would(kernel):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = RankRLS(kernel=kernel).fit(X, y)
    scaled = model.scaler_.transform(X)
    gram = rbf_kernel(scaled, gamma=0.25) if kernel == "rbf" else scaled @ scaled.T
    for i in range(0, len(y), 7):
        keep = np.arange(len(y)) != i
        m = keep.sum()
        centre = np.eye(m) - 1 / m
        inner = centre @ gram[np.ix_(keep, keep)] @ centre
        dual = np.linalg.solve(inner + model.alpha_ * np.eye(m), y[keep] - y[keep].mean())
        cross = gram[i, keep] - gram[np.ix_(keep, keep)].mean(axis=0)
        assert model.loo_scores_[i] == pytest.approx(cross @ centre @ dual + y[keep].mean())


def test_choice_of_alpha_equals_ridge_with_cross_validation():
    X, y = make_classification(200, 30, n_informative=3, flip_y=0.3, random_state=0)
    alphas = np.logspace(-2, 5, 15)
    model = RankRLS(alphas).fit(X, y)
    ridge = RidgeCV(alphas, store_cv_results=True).fit(model.scaler_.transform(X), y)
    assert model.alpha_ == ridge.alpha_
    np.testing.assert_allclose(model.loo_errors_, ridge.cv_results_.mean(axis=0))
    np.testing.assert_allclose(model.scoring_rule_.coef, ridge.coef_)


def test_gaussian_kernel_sees_what_a_line_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.sum(X**2, axis=1) > 1.4
    assert RankRLS().fit(X, y).score(X, y) < 0.7
    assert RankRLS(kernel="rbf").fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.97
