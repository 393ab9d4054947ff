"""The partial AUC against scikit-learn's, and its standard error against the jackknife."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from treerank.metrics import auc_interval, partial_auc_interval


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


def test_a_rate_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="Got max_fpr=0"):
        partial_auc_interval([0, 1], [1, 2], max_fpr=0)
