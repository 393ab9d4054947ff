"""The AUC interval and the paired comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis_examples import examples
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from treerank.metrics import auc_interval, compare_auc

# Hanley and McNeil (1982), Radiology 143: CT images of 58 normal and 51 abnormal patients, read on
# a scale of five.
RATINGS = np.arange(1, 6)
HANLEY_SCORE = np.concatenate(
    [np.repeat(RATINGS, [33, 6, 6, 11, 2]), np.repeat(RATINGS, [3, 2, 2, 11, 33])]
)
HANLEY_LABEL = np.repeat([0, 1], [58, 51])

# DeLong, DeLong and Clarke-Pearson (1988): ovarian cancer patients with albumin, total protein and
# K-G score (low is good), and whether surgery helped; complete rows only.
OVARIAN = np.array(
    [
        (3.0, 5.8, 10, 0), (3.2, 6.3, 5, 1), (3.9, 6.8, 3, 1), (2.8, 4.8, 6, 0), (3.2, 5.8, 3, 1),
        (0.9, 4.0, 5, 0), (2.5, 5.7, 8, 0), (1.6, 5.6, 5, 1), (3.8, 5.7, 5, 1), (3.7, 6.7, 6, 1),
        (3.2, 5.4, 4, 1), (3.8, 6.6, 6, 1), (4.1, 6.6, 5, 1), (3.6, 5.7, 5, 1), (4.3, 7.0, 4, 1),
        (3.6, 6.7, 4, 0), (2.3, 4.4, 6, 1), (4.2, 7.6, 4, 0), (4.0, 6.6, 6, 0), (3.5, 5.8, 6, 1),
        (3.8, 6.8, 7, 1), (3.0, 4.7, 8, 0), (4.5, 7.4, 5, 1), (3.7, 7.4, 5, 1), (3.1, 6.6, 6, 1),
        (4.1, 8.2, 6, 1), (4.3, 7.0, 5, 1), (4.3, 6.5, 4, 1), (3.2, 5.1, 5, 1), (2.6, 4.7, 6, 1),
        (3.3, 6.8, 6, 0), (1.7, 4.0, 7, 0), (3.7, 6.1, 5, 1), (3.3, 6.3, 7, 1), (4.2, 7.7, 6, 1),
        (3.5, 6.2, 5, 1), (2.9, 5.7, 9, 0), (2.1, 4.8, 7, 1), (2.8, 6.2, 8, 0), (4.0, 7.0, 7, 1),
        (3.3, 5.7, 6, 1), (3.7, 6.9, 5, 1), (3.6, 6.6, 5, 1),
    ]
)  # fmt: skip


def structural_components(y, s):
    """Slow twin: the matrix of pairs, its row and column means."""
    won = np.sign(s[y == 1][:, None] - s[y == 0][None, :]) / 2 + 0.5
    return won.mean(axis=1), won.mean(axis=0)


def delong_covariance(y, scores):
    """Slow twin: DeLong's covariance matrix of the AUCs of several scores."""
    v10, v01 = zip(*(structural_components(y, s) for s in scores), strict=True)
    return np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])


@st.composite
def scored_labels(draw, min_class=2):
    n = draw(st.integers(2 * min_class, 25))
    y = np.array(draw(st.permutations([0, 1] * min_class + [0] * (n - 2 * min_class))))
    y[draw(hnp.arrays(bool, n))] = 1
    if (y == 0).sum() < min_class:
        y[:min_class] = 0
    s = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 8)))
    return y, s.astype(float)


@examples(150)
@given(scored_labels())
def test_variance_equals_structural_components(data):
    y, s = data
    if (y == 1).sum() < 2:
        y[-2:] = 1
    found = auc_interval(y, s)
    assert found.auc == pytest.approx(roc_auc_score(y, s), abs=1e-12)
    variance = float(delong_covariance(y, [s, s])[0, 0])
    if variance > 1e-20:
        assert found.standard_error**2 == pytest.approx(variance, rel=1e-9)
    assert 0 <= found.lower <= found.auc <= found.upper <= 1
    assert found.upper - found.lower > 0.01


@examples(100)
@given(scored_labels(), st.randoms(use_true_random=False))
def test_paired_variance_equals_covariance_matrix(data, random):
    y, first = data
    if (y == 1).sum() < 2:
        y[-2:] = 1
    second = np.array([random.randint(0, 6) for _ in y], dtype=float)
    found = compare_auc(y, first, second)
    matrix = delong_covariance(y, [first, second])
    variance = matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]
    assert found.difference == pytest.approx(roc_auc_score(y, first) - roc_auc_score(y, second))
    if variance > 1e-15:
        assert found.standard_error**2 == pytest.approx(variance, rel=1e-6)


def test_hanley_mcneil_ratings():
    # Published: area 0.893; DeLong's standard error 0.0307, normal limits 0.83295 and 0.95339.
    found = auc_interval(HANLEY_LABEL, HANLEY_SCORE)
    assert found.auc == pytest.approx(0.8932, abs=5e-5)
    assert found.standard_error == pytest.approx(0.0307, abs=5e-5)
    limits = found.auc + norm.ppf([0.025, 0.975]) * found.standard_error
    assert limits == pytest.approx([0.83295, 0.95339], abs=5e-6)


def test_delong_ovarian_cancer():
    # Published: areas, standard errors and differences from the K-G score, to four digits.
    albumin, protein, kg, helped = OVARIAN.T
    expected = {"albumin": (0.7366, 0.0927), "protein": (0.6478, 0.1000), "kg": (0.7258, 0.1028)}
    for name, score in (("albumin", albumin), ("protein", protein), ("kg", -kg)):
        found = auc_interval(helped, score)
        assert (found.auc, found.standard_error) == pytest.approx(expected[name], abs=5e-5)
    first, second = compare_auc(helped, albumin, -kg), compare_auc(helped, protein, -kg)
    assert (first.difference, first.standard_error) == pytest.approx((0.0108, 0.0953), abs=5e-5)
    assert (second.difference, second.standard_error) == pytest.approx((-0.0780, 0.1046), abs=5e-5)
    # The published p-values, 0.9102 and 0.4561, take the degrees of freedom for infinite.
    assert first.p_value == pytest.approx(0.9102, abs=0.01)
    assert second.p_value == pytest.approx(0.4561, abs=0.01)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("auc", [0.6, 0.8, 0.95])
def test_interval_covers_at_its_level(auc, n):
    rng = np.random.default_rng(int(1000 * auc) + n)
    y = np.repeat([0, 1], n // 2)
    shift = norm.ppf(auc) * np.sqrt(2) * y
    found = [auc_interval(y, rng.normal(size=n) + shift) for _ in range(2000)]
    assert 0.93 <= np.mean([f.lower <= auc <= f.upper for f in found]) <= 0.97


def test_interval_covers_with_few_positives():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [180, 20])
    shift = norm.ppf(0.8) * np.sqrt(2) * y
    found = [auc_interval(y, rng.normal(size=200) + shift) for _ in range(1500)]
    assert 0.93 <= np.mean([f.lower <= 0.8 <= f.upper for f in found]) <= 0.97


def test_interval_covers_with_uneven_weights():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 100)
    shift = norm.ppf(0.8) * np.sqrt(2) * y
    found = [
        auc_interval(y, rng.normal(size=200) + shift, sample_weight=rng.lognormal(size=200))
        for _ in range(1500)
    ]
    assert 0.93 <= np.mean([f.lower <= 0.8 <= f.upper for f in found]) <= 0.97


def test_comparison_covers_and_rejects_at_its_level():
    rng = np.random.default_rng(11)
    y = np.repeat([0, 1], 60)
    found = []
    for _ in range(1500):
        common = rng.normal(size=120) + y
        found.append(compare_auc(y, common + rng.normal(size=120), common + rng.normal(size=120)))
    assert 0.93 <= np.mean([f.lower <= 0 <= f.upper for f in found]) <= 0.97
    for f in found:
        assert (f.p_value < 0.05) == (not f.lower <= 0 <= f.upper)


@pytest.mark.parametrize("n", [2, 10, 100, 100_000])
@pytest.mark.parametrize("kind", ["perfect", "reversed", "constant"])
def test_no_certainty_without_spread(kind, n):
    y = np.repeat([0, 1], n)
    s = {"perfect": y, "reversed": -y, "constant": 0 * y}[kind]
    found = auc_interval(y, s)
    assert found.auc == {"perfect": 1, "reversed": 0, "constant": 0.5}[kind]
    assert 0 <= found.lower <= found.auc <= found.upper <= 1
    assert found.upper - found.lower >= 1 / (1 + n)
    assert found.standard_error > 0


def test_perfect_score_gives_the_bound_of_disjoint_pairs():
    # All m disjoint pairs in order has chance AUC^m: the exact limit is 0.025^(1/m).
    found = auc_interval(np.repeat([0, 1], 50), np.repeat([0, 1], 50))
    assert found.lower == pytest.approx(0.025 ** (1 / 50), abs=0.001)


def test_one_positive_row_is_no_evidence():
    found = auc_interval([0] * 999 + [1], np.arange(1000))
    assert found.lower < 0.25


def test_equal_rankings_differ_by_nothing_but_not_for_certain():
    y, s = np.repeat([0, 1], 40), np.random.default_rng(0).normal(size=80)
    found = compare_auc(y, s, 3 * s + 1)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.lower < 0 < found.upper


def test_opposite_rankings_differ_with_a_small_p_value():
    y = np.repeat([0, 1], 40)
    found = compare_auc(y, y, -y)
    assert found.difference == 1
    assert 0 < found.lower < found.upper == 1
    assert found.p_value < 1e-6


def test_comparison_with_one_positive_row_is_not_significant():
    y = [0] * 50 + [1]
    found = compare_auc(y, np.arange(51), np.arange(51) % 7)
    assert found.p_value > 0.05
    assert found.lower <= 0 <= found.upper


def test_integer_weights_equal_repeated_rows_in_the_auc():
    rng = np.random.default_rng(2)
    y, s, w = rng.integers(0, 2, 60), rng.integers(0, 9, 60), rng.integers(0, 4, 60)
    y[:2], w[:2] = [0, 1], 1
    repeated = auc_interval(np.repeat(y, w), np.repeat(s, w))
    assert auc_interval(y, s, sample_weight=w).auc == pytest.approx(repeated.auc, abs=1e-12)


def test_interval_does_not_depend_on_the_scale_of_weights():
    rng = np.random.default_rng(3)
    y, s, w = rng.integers(0, 2, 60), rng.normal(size=60), rng.random(60)
    one, thousand = (auc_interval(y, s, sample_weight=k * w) for k in (1, 1000))
    assert one.lower == pytest.approx(thousand.lower, rel=1e-9)
    equal = auc_interval(y, s, sample_weight=np.full(60, 7.0))
    assert equal.upper == pytest.approx(auc_interval(y, s).upper, rel=1e-9)


def test_rows_of_weight_zero_do_not_count():
    y, s = np.array([0, 1, 0, 1, 1, 0]), np.array([1.0, 2, 3, 4, 0, 9])
    w = np.array([1, 1, 1, 1, 0, 0])
    assert auc_interval(y, s, sample_weight=w) == auc_interval(y[:4], s[:4])


def test_only_the_order_of_scores_counts():
    y, s = [0, 1, 0, 1, 1], np.array([1.0, 2, 3, 4, 5])
    far = np.array([-np.inf, -1e300, 0, 1e-300, np.inf])
    assert auc_interval(y, s) == auc_interval(y, far)


def test_pos_label_turns_the_auc_round():
    y, s = np.array(["bad", "good", "bad", "good"]), [1, 2, 3, 4]
    assert auc_interval(y, s).auc == 0.75
    assert auc_interval(y, s, pos_label="bad").auc == 0.25
