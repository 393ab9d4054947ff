"""Distances between rankings, and instability."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.stats import spearmanr

from treerank.metrics import instability, ranking_distance

KINDS = ["kendall", "footrule", "spearman"]


def kendall_by_pairs(a, b):
    """Slow twin over all pairs."""
    penalties = []
    for i, j in combinations(range(len(a)), 2):
        x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
        penalties.append(1 if x * y < 0 else 0.5 if (x == 0) != (y == 0) else 0)
    return np.mean(penalties)


def mid_ranks(a):
    """Slow twin: rows below plus half of the others tied, counted from 1."""
    return np.array([(a < v).sum() + ((a == v).sum() + 1) / 2 for v in a])


@st.composite
def two_rankings(draw):
    n = draw(st.integers(2, 20))
    values = st.lists(st.integers(0, 12), min_size=n, max_size=n)
    return np.array(draw(values)), np.array(draw(values))


@examples(200)
@given(two_rankings())
def test_distances_equal_their_definitions(rankings):
    a, b = rankings
    n = a.size
    gap = np.abs(mid_ranks(a) - mid_ranks(b))
    expected = [kendall_by_pairs(a, b), gap.sum() / (n * n // 2), (gap**2).sum() * 3 / (n**3 - n)]
    for kind, value in zip(KINDS, expected, strict=True):
        found = ranking_distance(a, b, kind=kind)
        assert found == pytest.approx(value, abs=1e-12)
        assert found == ranking_distance(b, a, kind=kind)
        assert -1e-12 <= found <= 1 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 10, 11])
def test_equal_rankings_are_at_0_and_opposite_ones_at_1(kind, n):
    a = np.random.default_rng(n).permutation(n)
    assert ranking_distance(a, np.exp(a), kind=kind) == 0
    assert ranking_distance(a, -a, kind=kind) == pytest.approx(1)


def test_a_constant_ranking_is_half_way_in_kendall_distance():
    assert ranking_distance(np.arange(9), np.zeros(9)) == 0.5
    assert ranking_distance(np.zeros(9), np.ones(9)) == 0


def test_spearman_distance_is_half_of_one_less_rho():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    rho = spearmanr(a, b).statistic
    assert ranking_distance(a, b, kind="spearman") == pytest.approx((1 - rho) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_instability_is_the_mean_over_all_pairs(kind):
    scores = np.random.default_rng(1).integers(0, 15, (6, 40))
    expected = np.mean([ranking_distance(a, b, kind=kind) for a, b in combinations(scores, 2)])
    assert instability(scores, kind=kind) == pytest.approx(expected)


def test_instability_of_the_same_ranking_is_0():
    scores = np.vstack([np.arange(10), np.arange(10) ** 3])
    for kind in KINDS:
        assert instability(scores, kind=kind) == 0


def test_kendall_distance_of_unrelated_rankings_is_a_half():
    a, b = np.random.default_rng(2).normal(size=(2, 300_000))
    assert ranking_distance(a, b) == pytest.approx(0.5, abs=0.01)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="Got kind='tau'"):
        ranking_distance([1, 2], [1, 2], kind="tau")
    with pytest.raises(ValueError, match="Got 2 and 3 scores"):
        ranking_distance([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="Got 1 point"):
        ranking_distance([1], [1])
    with pytest.raises(ValueError, match="Got NaN in b"):
        ranking_distance([1, 2], [1, np.nan])
    with pytest.raises(ValueError, match="n_models >= 2"):
        instability([[1, 2, 3]])
