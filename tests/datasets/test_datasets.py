"""Simulated models against simulation, brute force and closed forms."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri
from sklearn.metrics import roc_auc_score

from treerank.datasets import (
    RocSurface,
    make_gaussians_20d,
    make_ordinal_gaussians,
    make_ordinal_uniform,
    make_truncated_gaussians,
    make_uniform_mixture,
)

BINARY = {
    "uniform": make_uniform_mixture,
    "pair": make_truncated_gaussians,
    "tough": lambda n, **options: make_truncated_gaussians(n, variant="tough", **options),
    "easy": lambda n, **options: make_gaussians_20d(n, "easy", **options),
    "medium": lambda n, **options: make_gaussians_20d(n, "medium", **options),
    "hard": lambda n, **options: make_gaussians_20d(n, "hard", **options),
}
SMOOTH = {name: make for name, make in BINARY.items() if name != "uniform"}
ORDINAL = {"gaussians": make_ordinal_gaussians, "cells": make_ordinal_uniform}

every_binary = pytest.mark.parametrize("make", BINARY.values(), ids=BINARY)
every_smooth = pytest.mark.parametrize("make", SMOOTH.values(), ids=SMOOTH)
every_ordinal = pytest.mark.parametrize("make", ORDINAL.values(), ids=ORDINAL)
every_model = pytest.mark.parametrize(
    "make", [*BINARY.values(), *ORDINAL.values()], ids=[*BINARY, *ORDINAL]
)


def assert_calibrated(eta, hit):
    """Within bins of the posterior, the label rate is the mean posterior, up to its noise."""
    edges = np.unique(np.quantile(eta, np.linspace(0, 1, 21)))
    bins = np.searchsorted(edges[1:-1], eta, side="right")
    for b in np.unique(bins):
        members = bins == b
        expected = eta[members].mean()
        noise = np.sqrt(np.sum(eta[members] * (1 - eta[members]))) / members.sum()
        assert abs(hit[members].mean() - expected) <= 4.5 * noise + 1e-12


def simulated_vus(y, score):
    """Share of triples in the right order, for scores without ties."""
    first, second, third = (np.sort(score[y == k]) for k in (1, 2, 3))
    below = np.searchsorted(first, second)
    above = third.size - np.searchsorted(third, second, side="right")
    return np.mean(below * above.astype(float)) / (first.size * third.size)


@every_model
def test_same_seed_gives_the_same_sample(make):
    first, again, other = (make(300, random_state=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@every_model
def test_sample_carries_rows_labels_and_posteriors(make):
    sample = make(257, random_state=0)
    truth = sample.truth
    assert sample.X.shape == (257, truth.n_features)
    assert sample.y.shape == (257,)
    assert set(np.unique(sample.y)) == set(truth.classes)
    np.testing.assert_array_equal(sample.eta, truth.posterior(sample.X))
    if sample.eta.ndim == 2:
        np.testing.assert_allclose(sample.eta.sum(axis=1), 1)


@every_model
def test_test_sample_comes_from_the_same_truth(make):
    truth = make(10, random_state=0).truth
    test = truth.sample(500, random_state=1)
    assert test.truth is truth
    assert test.X.shape == (500, truth.n_features)


@every_binary
@pytest.mark.parametrize("positive_rate", [0.5, 0.1])
def test_binary_posterior_is_calibrated(make, positive_rate):
    sample = make(40_000, positive_rate=positive_rate, random_state=3)
    assert abs(sample.y.mean() - positive_rate) < 0.01
    assert_calibrated(sample.eta, sample.y)


@every_ordinal
@pytest.mark.parametrize("class_shares", [None, [0.7, 0.2, 0.1]])
def test_ordinal_posteriors_are_calibrated(make, class_shares):
    sample = make(40_000, class_shares=class_shares, random_state=3)
    for k in range(3):
        assert_calibrated(sample.eta[:, k], sample.y == k + 1)


@every_binary
def test_optimal_auc_agrees_with_simulation(make):
    sample = make(200_000, random_state=11)
    simulated = roc_auc_score(sample.y, sample.truth.score(sample.X))
    noise = np.sqrt(simulated * (1 - simulated) / 100_000)
    assert abs(sample.truth.auc - simulated) < 3 * noise


@every_binary
def test_optimal_auc_is_the_gini_difference_of_the_posterior(make):
    # AUC* = 1/2 + E|eta(X) - eta(X')| / (4 p (1 - p)), without a look at the labels
    p = 0.3
    sample = make(100_000, positive_rate=p, random_state=5)
    eta = np.sort(sample.eta)
    n = eta.size
    difference = 2 * np.sum((2 * np.arange(n) - n + 1) * eta) / (n * (n - 1.0))
    assert sample.truth.auc == pytest.approx(0.5 + difference / (4 * p * (1 - p)), abs=0.004)


@every_binary
def test_rates_agree_with_simulation(make):
    sample = make(100_000, random_state=2)
    score = sample.truth.score(sample.X)
    thresholds = np.quantile(score, [0.05, 0.3, 0.5, 0.7, 0.95]) + 1e-9
    for label, rates in enumerate(sample.truth.rates(np.exp(thresholds))):
        simulated = (score[sample.y == label, np.newaxis] > thresholds).mean(axis=0)
        np.testing.assert_allclose(rates, simulated, atol=0.01)


@every_binary
def test_curve_rises_concave_from_corner_to_corner(make):
    fpr, tpr, thresholds = make(10, random_state=0).truth.roc
    for rate in (fpr, tpr):
        assert rate[0] == 0
        assert rate[-1] == pytest.approx(1, abs=1e-14)
        assert np.all(np.diff(rate) >= 0)
    assert np.all(np.diff(thresholds) < 0)
    # Every chord is less steep than the tangent at its left end, up to rounding of the rates.
    steeper = np.diff(tpr) - thresholds[:-1] * np.diff(fpr)
    assert np.all(steeper <= 1e-14 * (1 + thresholds[:-1]))


@every_smooth
def test_slope_of_the_curve_is_the_likelihood_ratio(make):
    truth = make(10, random_state=0).truth
    ratio = np.array([0.6, 0.9, 1.2, 1.6])
    (left_fpr, left_tpr), (right_fpr, right_tpr) = (
        truth.rates(ratio * np.exp(step)) for step in (-1e-3, 1e-3)
    )
    slope = (left_tpr - right_tpr) / (left_fpr - right_fpr)
    np.testing.assert_allclose(slope, ratio, rtol=2e-6)


@every_binary
def test_curve_does_not_depend_on_the_positive_rate(make):
    rare, common = (make(10, positive_rate=p, random_state=0).truth for p in (0.02, 0.7))
    np.testing.assert_array_equal(rare.roc.tpr, common.roc.tpr)
    assert rare.auc == common.auc


@every_binary
def test_extreme_thresholds_take_all_or_nothing(make):
    truth = make(10, random_state=0).truth
    np.testing.assert_allclose(truth.rates([0.0, np.inf]), [[1, 0], [1, 0]], atol=1e-14)
    assert np.shape(truth.rates(1.0)[0]) == ()
    assert np.shape(truth.rates(np.ones((2, 3)))[1]) == (2, 3)


def test_uniform_mixture_is_the_one_of_the_paper():
    sample = make_uniform_mixture(2000, random_state=0)
    roc = sample.truth.roc
    np.testing.assert_allclose(roc.fpr, [0, 0.1, 0.3, 0.6, 1])
    np.testing.assert_allclose(roc.tpr, [0, 0.3, 0.7, 0.9, 1])
    assert sample.truth.auc == pytest.approx(0.735, abs=1e-15)
    centres = [[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]
    np.testing.assert_allclose(sample.truth.posterior(centres), [2 / 3, 0.75, 0.4, 0.2])


def test_posterior_of_the_pair_is_the_printed_formula():
    X = np.random.default_rng(0).random((500, 2))
    x1, x2 = X.T
    exponent = 0.02 * x1**2 + 0.05 * x2**2 - 3.08 * x1 + 0.53 * x2 - 0.11 * x1 * x2 + 1.32
    truth = make_truncated_gaussians(10, random_state=0).truth
    # The paper cuts its coefficients to two digits, and its constant lacks the determinants.
    determinants = np.linalg.det(truth.covariances)
    constant = 1.02 * np.sqrt(determinants[0] / determinants[1])
    printed = expit(np.log(constant) + exponent)
    np.testing.assert_allclose(truth.posterior(X), printed, atol=0.005)


@pytest.mark.parametrize("variant", ["pair", "tough"])
def test_truncated_rates_agree_with_brute_force_integration(variant):
    truth = make_truncated_gaussians(10, variant=variant, random_state=0).truth
    middle = (np.arange(1000) + 0.5) / 1000
    points = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    score = truth.score(points)
    thresholds = np.quantile(score, [0.01, 0.2, 0.5, 0.9, 0.99])
    for which, rates in enumerate(truth.rates(np.exp(thresholds))):
        gap = points - truth.means[which]
        precision = np.linalg.inv(truth.covariances[which])
        density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", gap, precision, gap))
        brute = [density[score > t].sum() / density.sum() for t in thresholds]
        np.testing.assert_allclose(rates, brute, atol=1e-4)


@every_smooth
def test_area_has_converged_in_the_number_of_knots(make, monkeypatch):
    area = make(10, random_state=0).truth.auc
    finer = make(10, random_state=0).truth
    monkeypatch.setattr(type(finer), "_n_pieces", 3000)
    assert finer.roc.fpr.size == 3001
    assert finer.auc == pytest.approx(area, abs=1e-10)


def test_hard_pair_is_the_binormal_curve():
    truth = make_gaussians_20d(10, "hard", random_state=0).truth
    distance = 0.4
    assert truth.auc == pytest.approx(ndtr(distance / np.sqrt(2)), abs=1e-11)
    fpr, tpr, _ = truth.roc
    np.testing.assert_allclose(tpr, ndtr(ndtri(fpr) + distance), atol=1e-11)


def test_known_optima():
    assert make_truncated_gaussians(10).truth.auc == pytest.approx(0.73907, abs=5e-6)
    areas = [make_gaussians_20d(10, level).truth.auc for level in ("easy", "medium", "hard")]
    assert areas == sorted(areas, reverse=True)
    assert make_ordinal_gaussians(10).truth.vus == pytest.approx(0.43701, abs=5e-6)
    assert make_ordinal_uniform(10).truth.vus == pytest.approx(0.59301, abs=5e-6)


@every_ordinal
def test_optimal_vus_agrees_with_simulation(make):
    sample = make(300_000, random_state=4)
    # A little noise breaks the ties of the cells at random, which is what their VUS means.
    jitter = np.random.default_rng(0).uniform(-1e-6, 1e-6, sample.y.size)
    assert simulated_vus(sample.y, sample.truth.score(sample.X) + jitter) == pytest.approx(
        sample.truth.vus, abs=0.005
    )


@every_ordinal
def test_tails_agree_with_simulation(make):
    sample = make(100_000, random_state=6)
    score = sample.truth.score(sample.X)
    levels = np.quantile(score, [0.1, 0.4, 0.6, 0.9]) + 1e-9
    simulated = [[(score[sample.y == k] > t).mean() for k in (1, 2, 3)] for t in levels]
    np.testing.assert_allclose(sample.truth.tails(levels), simulated, atol=0.012)


@every_ordinal
def test_all_likelihood_ratios_grow_with_the_score(make):
    sample = make(2000, random_state=0)
    order = np.argsort(sample.truth.score(sample.X), kind="stable")
    with np.errstate(divide="ignore"):
        ratios = sample.eta[order, 1:] / sample.eta[order, :-1]
    finite = np.where(np.isfinite(ratios), ratios, 1e300)
    assert np.all(np.diff(finite, axis=0) >= -1e-9 * finite[1:])


@pytest.mark.parametrize("pair", [1, 2])
def test_level_inverts_the_likelihood_ratio(pair):
    truth = make_ordinal_gaussians(10, random_state=0).truth
    ratio = np.array([0.5, 1.0, 1.9])
    level = truth.level(pair, ratio)
    log_density = truth.log_densities(np.column_stack([level / 2, level / 2]))
    np.testing.assert_allclose(np.exp(log_density[:, pair] - log_density[:, pair - 1]), ratio)
    np.testing.assert_array_equal(truth.level(pair, [0.0, np.inf]), [0.0, 2.0])


def test_nine_cells_have_the_odds_of_the_table():
    truth = make_ordinal_uniform(10, random_state=0).truth
    middle = (np.arange(3) + 0.5) / 3
    centres = np.array([(x, y) for y in middle for x in middle])
    eta = truth.posterior(centres[np.argsort(truth.score(centres))])
    odds_2_1 = [0.00001, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0, np.inf, np.inf]
    odds_3_2 = [0.0, 0.0, 0.6, 0.8, 1.0, 1.0, 1.6667, 2.5, 1000.0]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(eta[:, 1] / eta[:, 0], odds_2_1, rtol=1e-4)
        np.testing.assert_allclose(eta[:, 2] / eta[:, 1], odds_3_2, rtol=1e-4)
    np.testing.assert_allclose(eta.mean(axis=0), truth.class_shares)


def test_linear_score_fails_on_the_nine_cells_as_in_the_paper():
    sample = make_ordinal_uniform(60_000, random_state=0)
    slope, *_ = np.linalg.lstsq(sample.X - 0.5, sample.y - sample.y.mean(), rcond=None)
    assert simulated_vus(sample.y, sample.X @ slope) == pytest.approx(0.297, abs=0.01)


def enumerated_vus(masses):
    """VUS by summing over all triples of cells, best cell first."""
    total = 0.0
    cells = range(len(masses))
    for i, j, k in itertools.product(cells, cells, cells):
        if i >= j >= k:
            ties = (i == j) + (j == k)
            total += masses[i][0] * masses[j][1] * masses[k][2] / (1, 2, 6)[ties]
    return total


def test_surface_volume_is_the_share_of_ordered_triples():
    masses = np.random.default_rng(0).dirichlet(np.ones(6), size=3).T
    surface = RocSurface(np.minimum(np.vstack([np.zeros(3), np.cumsum(masses, axis=0)]), 1))
    assert surface.vus == pytest.approx(enumerated_vus(masses), abs=1e-14)
    assert surface.vus == pytest.approx(surface.grid(801)[2].mean(), abs=2e-3)


def test_surface_goes_through_its_knots():
    masses = np.random.default_rng(1).dirichlet(np.ones(5), size=3).T
    tails = np.minimum(np.vstack([np.zeros(3), np.cumsum(masses, axis=0)]), 1)
    surface = RocSurface(tails)
    for j in range(6):
        for i in range(j, 6):
            height = surface(1 - tails[i, 0], tails[j, 2])
            assert height == pytest.approx(tails[i, 1] - tails[j, 1], abs=1e-14)


@every_ordinal
def test_optimal_surface_has_the_optimal_volume(make):
    truth = make(10, random_state=0).truth
    assert truth.roc_surface.vus == pytest.approx(truth.vus, abs=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_uniform_mixture(0), "Got n_samples=0; expected an integer >= 1"),
        (lambda: make_uniform_mixture(2.5), "Got n_samples=2.5"),
        (lambda: make_uniform_mixture(5, positive_rate=1), "Got positive_rate=1"),
        (lambda: make_truncated_gaussians(5, variant="odd"), "expected one of pair, tough"),
        (lambda: make_gaussians_20d(5, "brutal"), "expected one of easy, medium, hard"),
        (lambda: make_ordinal_uniform(5, class_shares=[0.5, 0.5]), "expected 3 positive numbers"),
        (lambda: make_ordinal_gaussians(5, class_shares=[1, 1, 1]), "of sum 1"),
        (lambda: make_uniform_mixture(5).truth.posterior([[0.5]]), "Got 1 columns in X"),
        (lambda: make_uniform_mixture(5).truth.score([[0.5, 1.5]]), "Got row 0 outside"),
        (lambda: RocSurface(np.zeros((2, 2))), "expected \\(n_cells \\+ 1, 3\\)"),
        (lambda: RocSurface(np.zeros((2, 3))), "do not rise from 0 to 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
