"""Calibration intercept and slope."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from treerank.metrics import brier_score_loss, calibration_slope


def sample(n, seed, intercept=0.0, slope=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1, size=n)
    return rng.random(n) < expit(intercept + slope * x), expit(x)


def test_fit_equals_general_optimiser():
    y, p = sample(400, 0, 0.3, 0.7)
    w = np.random.default_rng(1).random(400)

    def loss(beta):
        eta = beta[0] + beta[1] * logit(p)
        return w @ (np.logaddexp(0, eta) - y * eta)

    best = minimize(loss, [0, 1], method="BFGS", options={"gtol": 1e-8}).x
    found = calibration_slope(y, p, sample_weight=w)
    assert (found.intercept, found.slope) == pytest.approx(tuple(best), abs=1e-5)


def test_in_the_large_equals_the_sum_of_events():
    y, p = sample(400, 2, 0.5)
    found = calibration_slope(y, p)
    assert expit(logit(p) + found.in_the_large).sum() == pytest.approx(y.sum())


def test_intervals_cover_at_their_level():
    hits_slope, hits_large = [], []
    for seed in range(800):
        y, p = sample(300, seed, 0.0, 1.0)
        found = calibration_slope(y, p)
        hits_slope.append(found.slope_limits[0] <= 1 <= found.slope_limits[1])
        hits_large.append(found.in_the_large_limits[0] <= 0 <= found.in_the_large_limits[1])
    assert 0.92 <= np.mean(hits_slope) <= 0.98
    assert 0.92 <= np.mean(hits_large) <= 0.98


def test_too_extreme_probabilities_have_a_slope_below_1():
    y, p = sample(5000, 3)
    assert calibration_slope(y, expit(2 * logit(p))).slope == pytest.approx(0.5, abs=0.05)
    assert calibration_slope(y, expit(logit(p) - 1)).in_the_large == pytest.approx(1, abs=0.1)


def test_weights_equal_repeated_rows():
    y, p = sample(200, 4)
    w = np.random.default_rng(0).integers(1, 4, 200)
    weighted = calibration_slope(y, p, sample_weight=w)
    repeated = calibration_slope(np.repeat(y, w), np.repeat(p, w))
    assert weighted.slope == pytest.approx(repeated.slope)
    assert weighted.in_the_large == pytest.approx(repeated.in_the_large)


def test_separated_classes_have_an_infinite_slope():
    assert calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9]).slope == np.inf
    assert calibration_slope([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.9]).slope == -np.inf


def test_equal_probabilities_have_no_slope():
    found = calibration_slope([0, 1, 1], [0.5, 0.5, 0.5])
    assert np.isnan(found.slope)
    assert found.in_the_large == pytest.approx(np.log(2))


def test_certain_probabilities_are_clipped():
    found = calibration_slope([0, 1, 0, 1, 1], [0.0, 1.0, 0.7, 0.4, 0.6])
    assert np.isfinite(found.slope)


def test_numbers_beyond_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"Got p=1.5 in row 1; expected probabilities"):
        calibration_slope([0, 1], [0.5, 1.5])
    with pytest.raises(ValueError, match="Got clip=0"):
        calibration_slope([0, 1], [0.5, 0.5], clip=0)


def test_brier_score_is_the_one_of_scikit_learn():
    assert brier_score_loss([0, 1], [0.0, 0.5]) == 0.125
