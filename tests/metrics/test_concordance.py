"""Concordance: the share of pairs of different classes in order, and how well it is known."""

import numpy as np
import oracles
import pytest
from sklearn.metrics import roc_auc_score

from treerank.metrics import auc_interval, concordance_interval


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_counts_pairs(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 60))
    s = rng.integers(0, 8, len(y)) / 2
    weight = rng.integers(1, 4, len(y)) if weighted else None
    found = concordance_interval(y, s, sample_weight=weight)
    assert found.concordance == pytest.approx(oracles.concordance(y, s, weight))
    assert found.lower < found.concordance < found.upper


def test_of_two_classes_it_is_the_auc():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    s = rng.normal(size=300) + y
    found, auc = concordance_interval(y, s), auc_interval(y, s)
    assert found.concordance == pytest.approx(roc_auc_score(y, s))
    assert found.standard_error == pytest.approx(auc.standard_error, rel=0.02)


def test_the_interval_holds_what_it_promises():
    rng = np.random.default_rng(0)

    def draw(n):
        y = rng.choice(4, n, p=[0.03, 0.37, 0.4, 0.2])
        return y, rng.normal(size=n) + 0.7 * y

    true = concordance_interval(*draw(200_000)).concordance
    inside = 0
    for _ in range(400):
        found = concordance_interval(*draw(120))
        inside += found.lower <= true <= found.upper
    assert 0.92 <= inside / 400 <= 0.98


def test_a_perfect_order_is_not_certain():
    found = concordance_interval([0, 0, 1, 1, 2, 2], [1, 2, 3, 4, 5, 6])
    assert (found.concordance, found.upper) == (1.0, 1.0)
    assert found.lower < 0.8


def test_labels_give_the_order():
    y, s = ["low", "high", "middle"], [1, 3, 2]
    assert concordance_interval(y, s, labels=["low", "middle", "high"]).concordance == 1.0
    with pytest.raises(ValueError, match="level"):
        concordance_interval([0, 1, 2], s, level=2)
