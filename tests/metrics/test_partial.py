"""The partial AUC against scikit-learn's, and its standard error against the jackknife."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from treerank.metrics import auc_interval, partial_auc_interval, partial_auc_score


def sample(n=300, seed=0, digits=6):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, np.round(y + rng.normal(size=n), digits)


def plain_area(y, s, limit, weight=None):
    """Undo the standardisation of scikit-learn."""
    found = roc_auc_score(y, s, max_fpr=limit, sample_weight=weight)
    least, most = limit**2 / 2, limit
    return (least + (2 * found - 1) * (most - least)) / limit


@pytest.mark.parametrize("limit", [0.05, 0.2, 0.7])
@pytest.mark.parametrize("digits", [6, 0])
def test_the_area_is_that_of_scikit_learn(limit, digits):
    y, s = sample(digits=digits)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    for w in (None, weight):
        found = partial_auc_interval(y, s, max_fpr=limit, sample_weight=w)
        assert found.auc == pytest.approx(plain_area(y, s, limit, w), abs=1e-12)
        assert 0 < found.lower < found.auc < found.upper < 1


@pytest.mark.parametrize("digits", [6, 0])
def test_all_of_the_curve_is_the_auc_with_its_interval(digits):
    y, s = sample(digits=digits)
    found, whole = partial_auc_interval(y, s, max_fpr=1), auc_interval(y, s)
    for name in ("auc", "lower", "upper", "standard_error"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=1e-12)


@pytest.mark.parametrize("limit", [0.1, 0.3])
def test_the_standard_error_is_that_of_repeated_samples(limit):
    found = [partial_auc_interval(*sample(400, seed), max_fpr=limit) for seed in range(300)]
    spread = np.std([f.auc for f in found])
    assert np.mean([f.standard_error for f in found]) == pytest.approx(spread, rel=0.1)
    truth = np.mean([f.auc for f in found])
    covered = np.mean([f.lower <= truth <= f.upper for f in found])
    assert 0.91 <= covered <= 0.99


def by_riemann_sum(y, s, w, low, high, least):
    """Slow twin: the curve at many rates, and what of it lies above the least rate."""
    knots = np.array([[w[(y == c) & (s >= v)].sum() / w[y == c].sum() for c in (0, 1)]
                      for v in np.unique(s)[::-1]])  # fmt: skip
    u = low + (np.arange(100_000) + 0.5) / 100_000 * (high - low)
    roc = np.interp(u, *np.vstack([[0, 0], knots]).T)
    return np.clip(roc - least, 0, None).mean() / (1 - least)


@pytest.mark.parametrize(
    ("low", "high", "least"), [(0.1, 0.4, 0), (0, 0.3, 0.5), (0.05, 0.6, 0.7), (0, 0.1, 0.9)]
)
@pytest.mark.parametrize("digits", [6, 0])
def test_a_range_and_a_least_true_positive_rate_cut_the_region(low, high, least, digits):
    y, s = sample(digits=digits)
    w = np.random.default_rng(1).integers(1, 4, len(y))
    limits = {"min_fpr": low, "max_fpr": high, "min_tpr": least}
    expected = by_riemann_sum(y, s, w, low, high, least)
    assert partial_auc_score(y, s, **limits, sample_weight=w) == pytest.approx(expected, abs=1e-4)
    repeated = partial_auc_score(np.repeat(y, w), np.repeat(s, w), **limits)
    assert repeated == pytest.approx(expected, abs=1e-4)


def test_standardised_areas_are_those_of_scikit_learn_with_chance_in_the_middle():
    y, s = sample()
    for limit in (0.1, 0.5, 1.0):
        found = partial_auc_interval(y, s, max_fpr=limit, standardise=True)
        assert found.auc == pytest.approx(roc_auc_score(y, s, max_fpr=limit), abs=1e-12)
        assert found.lower < found.auc < found.upper
        plain = partial_auc_interval(y, s, max_fpr=limit)
        ratio = (found.upper - found.lower) / (plain.upper - plain.lower)
        assert found.standard_error == pytest.approx(plain.standard_error * ratio)
    for limits in ({"min_fpr": 0.1, "max_fpr": 0.3}, {"max_fpr": 0.7, "min_tpr": 0.4}):
        chance = partial_auc_score(y, np.zeros(len(y)), **limits, standardise=True)
        assert chance == pytest.approx(0.5, abs=1e-12)
        assert partial_auc_score(y, y, **limits, standardise=True) == pytest.approx(1.0)


@pytest.mark.parametrize("limits", [{"min_fpr": 0.1, "max_fpr": 0.4},
                                    {"max_fpr": 0.5, "min_tpr": 0.6}])  # fmt: skip
def test_the_standard_error_of_a_region_is_that_of_repeated_samples(limits):
    found = [partial_auc_interval(*sample(400, seed), **limits) for seed in range(300)]
    spread = np.std([f.auc for f in found])
    assert np.mean([f.standard_error for f in found]) == pytest.approx(spread, rel=0.1)


def test_a_rate_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="Got max_fpr=0"):
        partial_auc_interval([0, 1], [1, 2], max_fpr=0)
    with pytest.raises(ValueError, match=r"Got min_fpr=0.2; expected a rate below max_fpr=0.1"):
        partial_auc_score([0, 1], [1, 2], min_fpr=0.2)
    with pytest.raises(ValueError, match=r"Got min_tpr=1; expected a rate in \[0, 1\)"):
        partial_auc_score([0, 1], [1, 2], min_tpr=1)
