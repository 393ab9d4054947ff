"""KS, Gini, CAP, gains tables and the population stability index."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.stats import ks_2samp
from sklearn.metrics import auc as area
from sklearn.metrics import roc_auc_score

from treerank.metrics import (
    cap_curve,
    gains_table,
    gini_score,
    ks_score,
    population_stability_index,
    wilson_interval,
)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    return y, np.round(rng.normal(size=400) + y, 1)


def test_ks_equals_the_one_sided_two_sample_statistic(sample):
    y, s = sample
    expected = ks_2samp(s[y == 1], s[y == 0], alternative="less").statistic
    assert ks_score(y, s) == pytest.approx(expected)


def test_ks_of_a_reversed_score_is_0():
    assert ks_score([0, 0, 1, 1], [4, 3, 2, 1]) == 0


def test_gini_is_twice_the_auc_less_1(sample):
    y, s = sample
    w = np.random.default_rng(1).random(y.size)
    expected = 2 * roc_auc_score(y, s, sample_weight=w) - 1
    assert gini_score(y, s, sample_weight=w) == pytest.approx(expected)


def test_gini_is_the_accuracy_ratio_of_the_cap_curve(sample):
    y, s = sample
    rows, positives = cap_curve(y, s)
    ratio = (area(rows, positives) - 0.5) / (0.5 * np.mean(y == 0))
    assert gini_score(y, s) == pytest.approx(ratio)


def test_gains_of_untied_scores_equal_sorted_slices():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    s = rng.permutation(200) + 40 * y
    s = s + np.arange(200) / 1000
    ranked = y[np.argsort(-s)].reshape(10, 20)
    scores = np.sort(s)[::-1].reshape(10, 20)
    table = gains_table(y, s)
    np.testing.assert_allclose(table["rows"], 20)
    np.testing.assert_allclose(table["events"], ranked.sum(axis=1))
    np.testing.assert_allclose(table["score_max"], scores[:, 0])
    np.testing.assert_allclose(table["score_min"], scores[:, -1])
    np.testing.assert_allclose(table["lift"], ranked.mean(axis=1) / y.mean())
    np.testing.assert_allclose(table["cumulative_events"], ranked.sum(axis=1).cumsum() / y.sum())
    lower, upper = wilson_interval(ranked.sum(axis=1), 20)
    np.testing.assert_allclose(table["lower"], lower)
    np.testing.assert_allclose(table["upper"], upper)


def test_ties_are_shared_between_bands():
    table = gains_table([0, 1] * 10, np.zeros(20), n_bands=4)
    np.testing.assert_allclose(table["events"], 2.5)
    np.testing.assert_allclose(table["lift"], 1)
    np.testing.assert_allclose(table["ks"], 0, atol=1e-12)
    assert table["score_min"].tolist() == [0] * 4


def test_gains_weights_equal_repeated_rows(sample):
    y, s = sample
    w = np.random.default_rng(3).integers(1, 4, y.size)
    weighted = gains_table(y, s, sample_weight=w)
    repeated = gains_table(np.repeat(y, w), np.repeat(s, w))
    for column in set(weighted) - {"lower", "upper"}:
        np.testing.assert_allclose(weighted[column], repeated[column], atol=1e-12)


def test_gains_are_a_data_frame(sample):
    frame = gains_table(*sample, n_bands=5)
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape[0] == 5
    assert frame["cumulative_rows"].iloc[-1] == 1
    assert frame["cumulative_lift"].iloc[-1] == pytest.approx(1)
    assert frame["events"].sum() == pytest.approx(sample[0].sum())


@examples(60)
@given(
    st.lists(st.integers(1, 50), min_size=3, max_size=3),
    st.lists(st.integers(1, 50), min_size=3, max_size=3),
)
def test_stability_index_equals_its_formula(expected, actual):
    old, new = np.repeat(["a", "b", "c"], expected), np.repeat(["a", "b", "c"], actual)
    e, a = np.array(expected) / sum(expected), np.array(actual) / sum(actual)
    value = np.sum((a - e) * np.log(a / e))
    assert population_stability_index(old, new) == pytest.approx(value, abs=1e-12)
    weighted = population_stability_index(
        ["a", "b", "c"], ["a", "b", "c"], expected_weight=expected, actual_weight=actual
    )
    assert weighted == pytest.approx(value, abs=1e-12)


def test_stability_bins_are_quantiles_of_the_expected_sample():
    old = np.arange(1000.0)
    new = np.concatenate([old[:500], old[:500]])
    # Five bins of share 0.1 double, five empty out to half a row of 1,000.
    low, empty = 5 * 0.1 * np.log(2), 5 * (0.0005 - 0.1) * np.log(0.0005 / 0.1)
    assert population_stability_index(old, new) == pytest.approx(low + empty)


def test_stability_of_repeated_values_needs_fewer_bins():
    old = np.repeat([0.0, 1.0], [90, 10])
    new = np.repeat([0.0, 1.0], [50, 50])
    expected = -0.4 * np.log(5 / 9) + 0.4 * np.log(5)
    assert population_stability_index(old, new) == pytest.approx(expected)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_all_missing_values_are_the_same_level(missing):
    old = np.array(["a", "b", None] * 20, dtype=object)
    new = np.array(["a", "b", missing] * 20, dtype=object)
    assert population_stability_index(old, new) == 0
    named = ["a", "b", "None"] * 20  # a level of this name is not missing
    assert population_stability_index(old, named) > 1


def test_numbers_with_none_are_numbers():
    old = np.arange(100.0)
    old[::7] = np.nan
    with_none = [None if np.isnan(value) else value for value in old]
    assert population_stability_index(old, with_none) == 0


def test_booleans_compare_with_zeros_and_ones():
    old = np.repeat([False, True], [30, 70])
    assert population_stability_index(old, old.astype(int)) == 0


def test_missing_values_are_a_bin_of_their_own():
    old = np.append(np.arange(90.0), np.full(10, np.nan))
    new = np.append(np.arange(90.0), np.full(40, np.nan))
    assert population_stability_index(old, old) == 0
    assert population_stability_index(old, new) > 0.1
    assert population_stability_index(["a", None], ["a", "a"]) > 0.1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="Got n_bands=0"):
        gains_table([0, 1], [1, 2], n_bands=0)
    with pytest.raises(ValueError, match="Got n_bins=1"):
        population_stability_index([1, 2], [1, 2], n_bins=1)
    with pytest.raises(ValueError, match="Got actual of shape"):
        population_stability_index([1, 2], [])
    with pytest.raises(ValueError, match="zeros only"):
        population_stability_index(["a"], ["a"], actual_weight=[0])
    with pytest.raises(ValueError, match="without a value"):
        population_stability_index([np.nan], [1.0])
    with pytest.raises(ValueError, match="Got expected of numbers and actual of text"):
        population_stability_index([1.0], ["a"])
