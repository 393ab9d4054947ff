"""RankBoost without pairs is RankBoost on pairs."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from treerank.baselines import RankBoost
from treerank.baselines._rankboost import pair_weights, row_weights
from treerank.baselines._ranking_classifier import TrainingRows
from treerank.baselines._stumps import StumpTable


def boost_on_pairs(X, y, weight, n_estimators, *, learning_rate, smoothing):
    """Slow twin: Freund et al.'s algorithm with one weight_sum for each pair of rows."""
    better, worse = np.nonzero(y[:, None] > y)
    weight_sum = weight[better] * weight[worse]
    weight_sum = weight_sum / weight_sum.sum()
    thresholds = [
        (j, (a + b) / 2)
        for j in range(X.shape[1])
        for a, b in zip(np.unique(X[:, j])[:-1], np.unique(X[:, j])[1:], strict=True)
    ]
    scores = np.zeros(len(X))
    stumps = []
    for _ in range(n_estimators):
        left = []
        for j, threshold in thresholds:
            above = (X[:, j] > threshold).astype(float)
            order = above[better] - above[worse]
            left.append((weight_sum[order > 0].sum(), weight_sum[order < 0].sum()))
        right, wrong = np.array(left).T
        remaining = 1 - right - wrong + 2 * np.sqrt(right * wrong)
        best = int(np.argmin(remaining.round(12)))
        step = 0.5 * np.log((right[best] + smoothing) / (wrong[best] + smoothing))
        j, threshold = thresholds[best]
        above = (X[:, j] > threshold).astype(float)
        scores += learning_rate * step * above
        weight_sum = weight_sum * np.exp(-learning_rate * step * (above[better] - above[worse]))
        weight_sum = weight_sum / weight_sum.sum()
        stumps.append((j, threshold))
    return stumps, scores


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_rankboost_equals_the_pairwise_definition(n_classes, learning_rate):
    rng = np.random.default_rng(n_classes)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)])
    y = np.clip(np.floor(X[:, 0] + 0.5 * X[:, 2] + rng.normal(size=60)), 0, n_classes - 1)
    weight = rng.uniform(0.5, 2, size=60)
    model = RankBoost(15, learning_rate=learning_rate).fit(X, y, sample_weight=weight)
    stumps, scores = boost_on_pairs(
        X, y, weight, 15, learning_rate=learning_rate, smoothing=model.smoothing
    )
    assert [j for j, _ in stumps] == list(model.stumps_.feature)
    np.testing.assert_allclose([t for _, t in stumps], model.stumps_.threshold)
    np.testing.assert_allclose(model.stumps_(X), scores, rtol=1e-9, atol=1e-9)


def test_pair_weights_of_every_stump_equal_sums_over_pairs():
    rng = np.random.default_rng(0)
    X, rank = rng.integers(0, 9, size=(40, 3)).astype(float), rng.integers(0, 4, size=40)
    weight, scores = rng.uniform(size=40), rng.normal(size=40) * 3
    table = StumpTable(X, weight, max_bins=100)
    weights = row_weights(scores, TrainingRows(X, rank, weight, 4))
    right, wrong = pair_weights(*table.sums(weights))

    pair = (rank[:, None] > rank) * np.outer(weight * np.exp(-scores), weight * np.exp(scores))
    pair /= pair.sum()
    above = X[:, table.feature] > table.threshold
    np.testing.assert_allclose(right, np.einsum("ij,ic,jc->c", pair, above, ~above), atol=1e-14)
    np.testing.assert_allclose(wrong, np.einsum("ij,ic,jc->c", pair, ~above, above), atol=1e-14)


def test_exponential_loss_over_pairs_falls_in_every_round():
    X, y = make_classification(200, 5, flip_y=0.2, random_state=0)
    model = RankBoost(30, learning_rate=1.0, smoothing=1e-9).fit(X, y)
    losses = []
    for t in range(31):
        of_round = type(model.stumps_)(
            model.stumps_.feature[:t], model.stumps_.threshold[:t], model.stumps_.step[:t]
        )
        s = of_round(X)
        losses.append(np.mean(np.exp(-(s[y == 1][:, None] - s[y == 0]))))
    assert np.all(np.diff(losses) < 0)


def test_separated_classes_do_not_overflow():
    X = np.linspace(-1, 1, 50)[:, None]
    model = RankBoost(2000, learning_rate=1.0, smoothing=1e-300).fit(X, X[:, 0] > 0)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert model.score(X, X[:, 0] > 0) == 1.0


def test_coarse_bins_keep_quantiles_only_and_lose_little():
    X, y = make_classification(2000, 5, flip_y=0.1, random_state=0)
    table = StumpTable(X, np.ones(len(X)), max_bins=16)
    assert np.bincount(table.feature).max() == 15
    share_above = (X[:, table.feature] > table.threshold).mean(axis=0)
    np.testing.assert_allclose(share_above[:15], 1 - np.arange(1, 16) / 16, atol=0.01)
    coarse = RankBoost(50, max_bins=16).fit(X, y).score(X, y)
    assert coarse > RankBoost(50, max_bins=2000).fit(X, y).score(X, y) - 0.02


def test_neighbouring_floats_are_still_parted():
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2)]])
    model = RankBoost(1).fit(X, [0, 1])
    assert list(model.predict(X)) == [0, 1]
