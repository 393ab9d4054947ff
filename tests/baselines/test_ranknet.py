"""RankNet's gradient over all pairs is exact, and cheap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.datasets import make_classification

from treerank._growth.pairwise_logistic import pairwise_logistic
from treerank.baselines import RankNet
from treerank.baselines._ranking_classifier import TrainingRows
from treerank.baselines._ranknet import draw_network, penalised_loss, unflatten


def logistic_by_pairs(scores, rank, weight):
    pair = (rank[:, None] > rank) * np.outer(weight, weight)
    gap = scores[:, None] - scores
    wrong = pair * expit(-gap)
    return np.sum(pair * np.logaddexp(0, -gap)), wrong.sum(axis=0) - wrong.sum(axis=1)


@examples(80)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 6),
    spread=st.floats(1e-6, 1e5),
    centre=st.floats(-1e3, 1e3),
)
def test_loss_and_gradient_equal_sums_over_pairs(seed, n_classes, spread, centre):
    rng = np.random.default_rng(seed)
    scores = centre + spread * rng.standard_t(2, size=60)
    rank, weight = rng.integers(0, n_classes, size=60), rng.uniform(size=60)
    loss, gradient = pairwise_logistic(scores, rank, weight, n_classes)
    expected, slope = logistic_by_pairs(scores, rank, weight)
    assert loss == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, atol=1e-11 * weight.sum())


def test_scores_on_box_edges_and_ties_are_no_exception():
    scores = np.array([0.0, 1.0, 1.0, np.nextafter(1, 0), -1.0, 45.0, -45.0, 86.0])
    rank = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    loss, gradient = pairwise_logistic(scores, rank, np.ones(8), 2)
    expected, slope = logistic_by_pairs(scores, rank, np.ones(8))
    assert loss == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_of_the_network_equals_finite_differences(n_classes):
    rng = np.random.default_rng(n_classes)
    rows = TrainingRows(
        rng.normal(size=(50, 3)),
        rng.integers(0, n_classes, size=50),
        rng.uniform(0.5, 2, size=50),
        n_classes,
    )
    weights = 2 * draw_network(3, 4, np.random.RandomState(0)).flatten()
    _, gradient = penalised_loss(weights, rows, 0.1)
    slope = approx_fprime(weights, lambda w: penalised_loss(w, rows, 0.1)[0], 1e-7)
    np.testing.assert_allclose(gradient, slope, atol=1e-6)


def test_training_ends_where_the_gradient_vanishes():
    X, y = make_classification(100, 3, n_redundant=0, flip_y=0.1, random_state=0)
    model = RankNet(3, alpha=0.05, max_iter=2000, random_state=0).fit(X, y)
    rows = TrainingRows(model.scaler_.transform(X), y, np.ones(100), 2)
    loss, gradient = penalised_loss(model.network_.flatten(), rows, 0.05)
    assert loss == pytest.approx(model.loss_)
    assert np.abs(gradient).max() < 1e-5


def test_hidden_units_learn_what_a_line_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] * X[:, 1] > 0
    model = RankNet(alpha=1e-3, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95


def test_same_seed_same_network_other_seed_another():
    X, y = make_classification(80, 4, flip_y=0.2, random_state=0)
    first, second, third = (RankNet(random_state=s, max_iter=20).fit(X, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.network_.hidden, second.network_.hidden)
    assert not np.allclose(first.network_.hidden, third.network_.hidden)


def test_flattened_networks_come_back():
    network = draw_network(3, 5, np.random.RandomState(0))
    for before, after in zip(network, unflatten(network.flatten(), 3), strict=True):
        np.testing.assert_array_equal(before, after)
