"""RankSVM's sorted sums are sums over pairs, and its minimum is the minimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.optimize import approx_fprime
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from treerank.baselines import KernelLogisticRegression, RankRLS, RankSVM, _kernel_features
from treerank.baselines._pairwise_hinge import PairwiseHinge, pair_weight


def hinge_by_pairs(scores, rank, weight):
    pair = (rank[:, None] > rank) * np.outer(weight, weight)
    return np.sum(pair * np.maximum(0, 1 - (scores[:, None] - scores)) ** 2)


def hessian_by_pairs(scores, rank, weight):
    """Half the second derivative: a weighted graph Laplacian of the active pairs."""
    pair = (rank[:, None] > rank) * np.outer(weight, weight)
    active = pair * (scores[:, None] - scores < 1)
    links = active + active.T
    return np.diag(links.sum(axis=1)) - links


@examples(50)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6), spread=st.floats(0.01, 100))
def test_hinge_gradient_and_hessian_equal_sums_over_pairs(seed, n_classes, spread):
    rng = np.random.default_rng(seed)
    scores, rank = spread * rng.normal(size=30), rng.integers(0, n_classes, size=30)
    weight, direction = rng.uniform(size=30), rng.normal(size=30)
    pairs = PairwiseHinge(scores, rank, weight, n_classes)
    loss = hinge_by_pairs(scores, rank, weight)
    assert pairs.loss() == pytest.approx(loss, rel=1e-10, abs=1e-9)
    hessian = hessian_by_pairs(scores, rank, weight)
    np.testing.assert_allclose(pairs.product(direction), hessian @ direction, atol=1e-10)
    slope = approx_fprime(scores, hinge_by_pairs, 1e-7 * spread, rank, weight)
    np.testing.assert_allclose(pairs.gradient(), slope, rtol=1e-3, atol=1e-3 * (1 + loss))
    assert pair_weight(rank, weight, n_classes) == pytest.approx(
        np.sum((rank[:, None] > rank) * np.outer(weight, weight))
    )


def test_ties_and_exact_margins_count_like_pairs():
    scores, rank = np.array([0.0, 0.0, 1.0, 1.0, 2.0]), np.array([0, 1, 0, 1, 1])
    pairs = PairwiseHinge(scores, rank, np.ones(5), 2)
    assert pairs.loss() == pytest.approx(hinge_by_pairs(scores, rank, np.ones(5)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 10])
def test_linear_machine_equals_a_classifier_of_pair_differences(n_classes, C):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 4))
    y = np.clip(np.floor(X[:, 0] - X[:, 1] + rng.normal(size=60) + 1), 0, n_classes - 1)
    model = RankSVM(C).fit(X, y)
    better, worse = np.nonzero(y[:, None] > y)
    scaled = model.scaler_.transform(X)
    differences = scaled[better] - scaled[worse]
    # The pair both ways round: LinearSVC wants two classes.
    pairs = LinearSVC(C=C * 60 / len(better) / 2, fit_intercept=False, tol=1e-10, max_iter=10**6)
    pairs.fit(np.vstack([differences, -differences]), np.repeat([1, 0], len(better)))
    coef = model.scoring_rule_.coef
    np.testing.assert_allclose(coef, pairs.coef_[0], rtol=1e-4, atol=1e-5)
    hinge = np.mean(np.maximum(0, 1 - differences @ coef) ** 2)
    assert model.loss_ == pytest.approx(coef @ coef / 2 + C * 60 * hinge)


def test_kernel_machine_is_stationary_in_the_kernel_space():
    X, y = make_classification(120, 4, flip_y=0.1, random_state=0)
    model = RankSVM(3.0, kernel="rbf", gamma=0.3).fit(X, y)
    scaled = model.scaler_.transform(X)
    kernel = rbf_kernel(scaled, gamma=0.3)
    scores = kernel @ np.linalg.lstsq(kernel, model.scoring_rule_(scaled), rcond=1e-13)[0]
    pairs = PairwiseHinge(scores, y, np.ones(120), 2)
    factor = 3.0 * 120 / pair_weight(y, np.ones(120), 2)
    # At the minimum the score is minus the kernel times the derivative of the loss.
    np.testing.assert_allclose(scores, -factor * kernel @ pairs.gradient(), atol=1e-5)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_separated_and_noisy_classes_converge(C, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    for y in (X[:, 0] > 0, rng.integers(0, 2, size=150)):
        assert RankSVM(C, kernel=kernel).fit(X, y).n_iter_ < 100


def test_too_few_steps_warn_with_the_remedy():
    X, y = make_classification(200, 5, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter=1 or tol"):
        RankSVM(max_iter=1).fit(X, y)


def test_nystroem_on_all_rows_is_the_exact_kernel():
    X, y = make_classification(90, 4, flip_y=0.1, random_state=0)
    for rival in (RankSVM, RankRLS, KernelLogisticRegression):
        exact = rival(kernel="rbf", approximation="exact").fit(X, y)
        nystroem = rival(kernel="rbf", approximation="nystroem", random_state=0).fit(X, y)
        np.testing.assert_allclose(
            nystroem.decision_function(X), exact.decision_function(X), rtol=1e-3, atol=1e-3
        )


def test_many_rows_take_nystroem_and_the_seed_decides(monkeypatch):
    monkeypatch.setattr("treerank.baselines._kernel_ranker.MAX_EXACT_ROWS", 100)
    X, y = make_classification(300, 4, flip_y=0.1, random_state=0)
    model = RankSVM(kernel="rbf", n_components=20, random_state=0).fit(X, y)
    assert model.scoring_rule_.basis.shape == (20, 4)
    again = RankSVM(kernel="rbf", n_components=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("rival", [RankSVM, RankRLS, KernelLogisticRegression])
def test_kernel_too_large_for_memory_names_the_size_and_nystroem(rival, monkeypatch):
    monkeypatch.setattr(_kernel_features, "physical_memory", lambda: 2.0**30)
    X, y = np.random.default_rng(0).normal(size=(9_000, 2)), np.arange(9_000) % 2
    with pytest.raises(
        MemoryError, match=r"9,000 x 9,000 needs 1\.2 GiB.*approximation='nystroem'"
    ):
        rival(kernel="rbf", approximation="exact").fit(X, y)
    with pytest.raises(MemoryError, match=r"9,000 x 8,000 needs 1\.1 GiB.*smaller n_components"):
        rival(kernel="rbf", n_components=8_000).fit(X, y)


def test_scoring_in_batches_equals_scoring_at_once(monkeypatch):
    X, y = make_classification(90, 4, random_state=0)
    model = RankSVM(kernel="rbf").fit(X, y)
    at_once = model.score_samples(X)
    monkeypatch.setattr(_kernel_features, "BATCH_CELLS", 700)
    np.testing.assert_allclose(model.score_samples(X), at_once, rtol=1e-12, atol=1e-12)
