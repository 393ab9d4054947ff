"""Sequential tests: the closed form is an average likelihood ratio; one may look often."""

import numpy as np
import pytest
from oracles import mixture_evidence
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from treerank.metrics._scorecard import shift_p_value
from treerank.scoring import monitor
from treerank.scoring._sequential import (
    TIGHTEST,
    TUNED_PERIODS,
    log_e_process,
    log_evidence,
    spent_level,
)

LOOKS, ALPHA = 24, 0.05


def draw(n_runs, change=0.0, begin=0, seed=0):
    """Estimates of 24 periods that share a baseline's noise; sizes of periods differ."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.5, 3, LOOKS)
    baseline = 0.3
    noise = rng.normal(size=(n_runs, LOOKS)) * np.sqrt(variance)
    shared = rng.normal(size=(n_runs, 1)) * np.sqrt(baseline)
    moved = np.where(np.arange(LOOKS) >= begin, change, 0.0)
    return noise + moved - shared, variance, baseline


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_closed_form_is_the_average_likelihood_ratio(one_sided):
    estimates, variance, baseline = draw(3, change=0.6)
    rho = 1 / (baseline + variance[0] / TUNED_PERIODS) / TIGHTEST
    for row in estimates:
        found = log_e_process(row, variance, baseline, one_sided=one_sided)
        for t in (1, 2, 7, LOOKS):
            expected = mixture_evidence(row[:t], variance[:t], baseline, rho, one_sided)
            assert np.exp(found[t - 1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("one_sided", [False, True])
def test_false_alarms_stay_below_the_level_over_24_looks(one_sided):
    estimates, variance, baseline = draw(1500)
    evidence = [log_evidence(row, variance, baseline, one_sided=one_sided) for row in estimates]
    alarms = np.max(evidence, axis=1) >= np.log(1 / ALPHA)
    assert alarms.mean() <= ALPHA
    # A plain test after every period is not content with that.
    precision = np.cumsum(1 / variance)
    z = np.cumsum(estimates / variance, axis=1) / precision / np.sqrt(1 / precision + baseline)
    plain = (z > 1.645 if one_sided else np.abs(z) > 1.96).any(axis=1)
    assert plain.mean() > 2 * ALPHA


@pytest.mark.parametrize("begin", [0, 12])
def test_a_change_is_found_whenever_it_begins(begin):
    estimates, variance, baseline = draw(300, change=4.0, begin=begin)
    evidence = [log_evidence(row, variance, baseline, one_sided=True) for row in estimates]
    assert (np.max(evidence, axis=1) >= np.log(1 / ALPHA)).mean() > 0.9
    before = np.array(evidence)[:, :begin]
    assert begin == 0 or (before.max(axis=1) < np.log(1 / ALPHA)).mean() > 0.95


def test_periods_that_say_nothing_change_nothing():
    estimates, variance, baseline = draw(1, change=1.0)
    full = log_e_process(estimates[0], variance, baseline, one_sided=True)
    holes = np.insert(estimates[0], [0, 5], np.nan), np.insert(variance, [0, 5], np.nan)
    found = log_e_process(*holes, baseline, one_sided=True)
    np.testing.assert_array_equal(np.delete(found, [0, 6]), full)
    assert found[0] == 0.0
    none = log_evidence(np.full(3, np.nan), np.ones(3), 1.0, one_sided=True)
    assert (none <= 0).all()


def test_looks_spend_the_level_and_no_more():
    spent = spent_level(10_000, ALPHA)
    assert (np.diff(spent) < 0).all()
    assert 0.999 * ALPHA < spent.sum() < ALPHA


def test_the_p_value_of_a_shift_is_that_of_a_table_of_counts():
    from scipy.stats import chi2_contingency

    counts = np.array([[30, 50, 20, 0], [45, 40, 30, 0]], dtype=float)
    expected = chi2_contingency(counts[:, :3]).pvalue
    assert shift_p_value(*counts, tuple(counts.sum(axis=1))) == pytest.approx(expected)
    assert shift_p_value(np.array([3.0, 0]), np.array([5.0, 0]), (3.0, 5.0)) == 1.0


def test_a_model_in_steady_use_gives_few_alarms_in_24_months():
    rng = np.random.default_rng(3)

    def rows(n):
        x = rng.normal(size=(n, 1))
        return x, (rng.random(n) < expit(x[:, 0] - 2)).astype(int)

    model = LogisticRegression(C=1e6).fit(*rows(5000))
    month = np.repeat(np.arange(LOOKS), 60)
    alarms = [monitor(model, rows(600), rows(60 * LOOKS), month).status for _ in range(40)]
    assert alarms.count("alarm") <= 5  # P(6 or more) is 1.4 % at the level itself
