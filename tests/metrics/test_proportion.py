"""Wilson's interval."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from treerank.metrics import wilson_interval


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (1, 1), (50, 1000)])
def test_equals_scipys(k, n):
    expected = binomtest(k, n).proportion_ci(method="wilson", confidence_level=0.9)
    assert wilson_interval(k, n, 0.9) == pytest.approx(tuple(expected), abs=1e-12)


def test_limits_solve_the_score_equation():
    lower, upper = wilson_interval(7.5, 22.5)
    for limit in (lower, upper):
        z = abs(7.5 / 22.5 - limit) / np.sqrt(limit * (1 - limit) / 22.5)
        assert z == pytest.approx(norm.ppf(0.975))


def test_mean_coverage_is_near_the_level():
    n, shares = 30, np.linspace(0.05, 0.95, 50)
    lower, upper = wilson_interval(np.arange(n + 1), n)
    chances = binom.pmf(np.arange(n + 1), n, shares[:, None])
    inside = (lower <= shares[:, None]) & (shares[:, None] <= upper)
    assert np.sum(chances * inside, axis=1).mean() == pytest.approx(0.95, abs=0.01)


def test_arrays_give_arrays_and_no_rows_say_nothing():
    lower, upper = wilson_interval([0, 1, 0], [5, 5, 0])
    assert lower.shape == (3,)
    assert (lower[2], upper[2]) == (0, 1)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (1, -2), (np.nan, 5), (1, np.inf)])
def test_impossible_counts_are_refused(k, n):
    with pytest.raises(ValueError, match="Got "):
        wilson_interval(k, n)
