"""Measures of the top with intervals, and paired comparisons there, against repeated samples."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from treerank.metrics import (
    auc_interval,
    compare_auc,
    compare_top,
    hit_rate_score,
    local_auc_interval,
    local_auc_score,
    partial_auc_score,
    top_measures,
)


def sample(n=500, seed=0, digits=6, lift=1.5):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    return y, np.round(lift * y + rng.normal(size=n), digits)


@pytest.mark.parametrize("digits", [6, 0])
@pytest.mark.parametrize("rate", [0.05, 0.3, 1.0])
def test_the_values_are_those_of_the_scores(rate, digits):
    y, s = sample(digits=digits)
    w = np.random.default_rng(1).integers(1, 4, len(y))
    for weight in (None, w):
        options = {"rate": rate, "sample_weight": weight}
        local = local_auc_interval(y, s, **options)
        assert local.auc == pytest.approx(local_auc_score(y, s, **options), abs=1e-12)
        assert 0 < local.lower < local.auc < local.upper < 1
        top = top_measures(y, s, **options)
        precision, base = hit_rate_score(y, s, **options), np.average(y, weights=weight)
        assert top.precision.value == pytest.approx(precision, abs=1e-12)
        assert top.recall.value == pytest.approx(precision * rate / base, abs=1e-12)
        assert top.lift.value == pytest.approx(precision / base, abs=1e-12)
        assert top.base_rate == pytest.approx(base)
        for found in (top.precision, top.recall, top.lift):
            assert found.lower <= found.value <= found.upper
            assert found.lower < found.upper


def test_k_rows_at_the_top_are_precision_and_recall_of_scikit_learn():
    y, s = sample(200)
    called = np.zeros(len(y), dtype=int)
    called[np.argsort(-s)[:30]] = 1
    found = top_measures(y, s, k=30)
    assert found.rate == 0.15
    assert found.precision.value == pytest.approx(precision_score(y, called))
    assert found.recall.value == pytest.approx(recall_score(y, called))


def test_all_rows_are_the_auc_with_its_interval_and_test():
    y, s = sample()
    other = sample(seed=0)[1] + np.random.default_rng(5).normal(size=len(y))
    found, whole = local_auc_interval(y, s, rate=1), auc_interval(y, s)
    for name in ("auc", "lower", "upper", "standard_error"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=1e-12)
    expected = compare_auc(y, s, other)
    for measure in ("local_auc", "partial_auc"):
        found = compare_top(y, s, other, measure=measure, rate=1)
        assert found.difference == pytest.approx(expected.difference, abs=1e-12)
        assert found.p_value == pytest.approx(expected.p_value, abs=1e-9)


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_the_standard_errors_are_those_of_repeated_samples(rate):
    draws = [sample(1000, seed) for seed in range(300)]
    local = [local_auc_interval(*draw, rate=rate) for draw in draws]
    tops = [top_measures(*draw, rate=rate) for draw in draws]
    # The share of positives varies from sample to sample, which the local AUC takes as given.
    residual = np.array([found.auc for found in local])
    base = np.array([top.base_rate for top in tops])
    residual = residual - np.polyval(np.polyfit(base, residual, 1), base)
    assert np.mean([f.standard_error for f in local]) == pytest.approx(np.std(residual), rel=0.1)
    for name in ("precision", "recall", "lift"):
        found = [getattr(top, name) for top in tops]
        values = [one.value for one in found]
        error = np.mean([one.standard_error for one in found])
        assert error == pytest.approx(np.std(values), rel=0.12)
        covered = np.mean([one.lower <= np.mean(values) <= one.upper for one in found])
        assert 0.91 <= covered <= 0.99


@pytest.mark.parametrize("measure", ["local_auc", "partial_auc", "precision", "recall", "lift"])
def test_paired_tests_hold_their_level_and_see_a_difference(measure):
    p_same, p_better = [], []
    for seed in range(200):
        y, s = sample(600, seed)
        rng = np.random.default_rng([seed, 1])
        first, second = s + rng.normal(size=(2, len(y)))
        p_same.append(compare_top(y, first, second, measure=measure).p_value)
        p_better.append(compare_top(y, s, second, measure=measure).p_value)
    assert np.mean(np.array(p_same) < 0.05) <= 0.09
    assert np.mean(np.array(p_same) < 0.5) == pytest.approx(0.5, abs=0.13)
    assert np.mean(np.array(p_better) < 0.05) > 0.4


def test_a_comparison_names_its_values_and_agrees_with_its_interval():
    y, s = sample()
    other = np.random.default_rng(3).normal(size=len(y))
    found = compare_top(y, s, other, measure="partial_auc", rate=0.2)
    assert found.value1 == pytest.approx(partial_auc_score(y, s, max_fpr=0.2))
    assert found.value2 == pytest.approx(partial_auc_score(y, other, max_fpr=0.2))
    assert found.lower <= found.difference <= found.upper
    assert (found.p_value < 0.05) == (found.lower > 0 or found.upper < 0)
    lift = compare_top(y, s, other, measure="lift", rate=0.1)
    recall = compare_top(y, s, other, measure="recall", rate=0.1)
    assert lift.difference == pytest.approx(recall.difference / 0.1)
    assert lift.p_value == recall.p_value


def test_a_perfect_top_and_equal_scores_are_not_certain():
    y = np.repeat([0, 1], [80, 20])
    top = top_measures(y, np.arange(100.0), rate=0.1)
    assert top.precision.value == 1.0
    assert top.precision.lower < 0.9
    assert top.precision.standard_error > 0
    same = compare_top(y, np.arange(100.0), np.arange(100.0), measure="precision")
    assert same.difference == 0
    assert same.p_value == 1
    assert same.lower < 0 < same.upper


def test_what_cannot_be_measured_is_refused():
    y, s = sample(50)
    with pytest.raises(ValueError, match=r"Got k=0; expected an integer from 1 to 50"):
        top_measures(y, s, k=0)
    with pytest.raises(ValueError, match=r"Got rate=0; expected a number above 0"):
        local_auc_interval(y, s, rate=0)
    with pytest.raises(ValueError, match="Got measure='auc'; expected one of local_auc"):
        compare_top(y, s, s, measure="auc")
