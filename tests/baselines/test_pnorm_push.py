"""The P-norm push without pairs is the P-norm push on pairs."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import make_classification

from treerank.baselines import PNormPush, RankBoost
from treerank.baselines._pnorm_push import weigh_push


def push_loss(scores, y, weight, p):
    """Rudin's objective, pair by pair."""
    inner = np.exp(-(scores[y == 1][:, None] - scores[y == 0]))
    return weight[y == 0] @ (weight[y == 1] @ inner) ** p


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(80, 4, flip_y=0.2, random_state=3)
    return X, y, np.random.default_rng(0).uniform(0.5, 2, size=80)


@pytest.mark.parametrize("p", [1, 2.5, 8])
def test_first_stump_lowers_the_pairwise_loss_most_of_all(rows, p):
    X, y, weight = rows
    model = PNormPush(p, n_estimators=1, learning_rate=1.0, smoothing=1e-12)
    model.fit(X, y, sample_weight=weight)
    found = push_loss(model.stumps_(X), y, weight, p)
    least = np.inf
    for j in range(X.shape[1]):
        for threshold in X[:, j]:
            above = X[:, j] > threshold
            # A pure side has no finite best step; smoothing keeps both from it.
            best = minimize_scalar(
                lambda step, above=above: push_loss(step * above, y, weight, p),
                bounds=(-20, 20),
                method="bounded",
            )
            least = min(least, best.fun)
    assert found == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("p", [1, 3, 10])
def test_closed_form_gain_and_step_equal_a_search(p):
    share = np.random.default_rng(p).uniform(0.1, 0.9, size=(20, 2))
    gain, step = weigh_push(5 * share, 5 * (1 - share), p, 1e-15)
    for (a, b), g, s in zip(share, gain, step, strict=True):
        best = minimize_scalar(
            lambda t, a=a, b=b: (
                p * np.log(1 - a + a * np.exp(-t)) + np.log(1 - b + b * np.exp(p * t))
            ),
            tol=1e-12,
        )
        assert s == pytest.approx(best.x, abs=1e-6)
        assert (p + 1) * np.log(1 - g) == pytest.approx(best.fun, abs=1e-9)


def test_power_one_is_rankboost(rows):
    X, y, weight = rows
    push = PNormPush(1, n_estimators=25).fit(X, y, sample_weight=weight)
    boost = RankBoost(25).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(push.stumps_.feature, boost.stumps_.feature)
    np.testing.assert_allclose(push.stumps_.step, boost.stumps_.step, rtol=1e-9)


def test_larger_powers_push_negatives_off_the_top():
    # Feature 0 orders most pairs, but a tenth of the negatives sit at its very top;
    # feature 1 is poor in the middle and clean at the top.
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    good = rng.normal(size=2000) + 1.5 * y
    good[(y == 0) & (rng.uniform(size=2000) < 0.1)] += 6
    clean = np.where((y == 1) & (rng.uniform(size=2000) < 0.3), 1.0, 0.0)
    X = np.column_stack([good, clean])

    def positives_at_top(p):
        scores = PNormPush(p, n_estimators=30).fit(X, y).score_samples(X)
        return y[np.argsort(-scores, kind="stable")[:200]].mean()

    assert positives_at_top(16) >= positives_at_top(1)
    assert positives_at_top(16) == 1.0


def test_high_power_stays_finite():
    X, y = make_classification(200, 5, class_sep=3, flip_y=0, random_state=0)
    model = PNormPush(500, n_estimators=200, learning_rate=1.0).fit(X, y)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert model.score(X, y) > 0.9
