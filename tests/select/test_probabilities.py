"""Probabilities of strata whose scores are their places in the tree: on average, the base rate."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from treerank import LeafRank, TreeRank

MODELS = {
    "pruned": TreeRank(shrinkage=None),
    "unpruned": TreeRank(shrinkage=None, pruning=None, min_samples_leaf=2),
    "penalty": TreeRank(shrinkage=None, pruning="penalty", penalty_constant=0.0),
    "classifier": TreeRank(LogisticRegression(), max_depth=4, shrinkage=None, pruning=None),
    "monotone": TreeRank(shrinkage=None, pruning=None, monotonic_cst=[1, 0, 0]),
    "leafrank": LeafRank(max_depth=4),
}


def table(n_classes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1_500, 3))
    latent = x[:, 0] - np.abs(x[:, 1]) + rng.normal(size=len(x))
    # Classes of very different sizes, so that cells differ in size too.
    edges = np.quantile(latent, np.linspace(0, 1, n_classes + 1)[1:-1] ** 2)
    return x, np.digitize(latent, edges), rng.exponential(size=len(x)).round(2) + 0.01


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_mean_training_probability_is_the_base_rate(name, weighted):
    x, y, weight = table(2, seed=1)
    if not weighted:
        weight = np.ones(len(x))
    model = MODELS[name].fit(x, y, sample_weight=weight)
    assert len(model.partition_) > 1
    probability = model.predict_proba(x)[:, 1]
    base_rate = np.average(y, weights=weight)
    assert np.average(probability, weights=weight) == pytest.approx(base_rate, abs=1e-6)
    assert 0 < probability.min() < probability.max() < 1  # no cell is certain


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["pruned", "unpruned", "classifier"])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_mean_probability_above_each_cut_is_the_share_above_it(name, weighted, n_classes):
    x, y, weight = table(n_classes, seed=2)
    if not weighted:
        weight = np.ones(len(x))
    model = MODELS[name].fit(x, y, sample_weight=weight)
    mean = np.average(model.predict_proba(x), axis=0, weights=weight)
    share = np.bincount(y, weights=weight) / weight.sum()
    np.testing.assert_allclose(np.cumsum(mean), np.cumsum(share), atol=1e-6)


def test_probabilities_do_not_rise_along_the_strata():
    x, y, weight = table(2, seed=3)
    model = MODELS["unpruned"].fit(x, y, sample_weight=weight)
    assert (np.diff(model._posterior[:, 1]) <= 0).all()
    predicted = model.predict(x)
    np.testing.assert_array_equal(predicted == 1, model.predict_proba(x)[:, 1] > 0.5)
