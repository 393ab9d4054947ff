"""Distances between ROC curves, and the simultaneous band."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.stats import norm
from sklearn.metrics import auc as area
from sklearn.metrics import roc_curve

from treerank.metrics import roc_band, roc_distance

CHANCE = ([0, 1], [0, 1])


@st.composite
def curves(draw):
    n = draw(st.integers(0, 6))
    values = st.lists(st.integers(0, 16), min_size=n, max_size=n)
    return tuple(np.array([0, *sorted(draw(values)), 16]) / 16 for _ in range(2))


def value_inside(curve, u):
    """Value of a curve at abscissae that are not knots."""
    return np.interp(u, *curve)


@examples(150)
@given(curves(), curves())
def test_distance_equals_dense_evaluation(a, b):
    # Knots are multiples of 1/16; the middles of fine cells are none of them.
    u = (np.arange(16 * 2000) + 0.5) / (16 * 2000)
    gap = np.abs(value_inside(a, u) - value_inside(b, u))
    assert roc_distance(a, b) == pytest.approx(gap.max(), abs=2e-3)
    assert roc_distance(a, b, norm="l1") == pytest.approx(gap.mean(), abs=1e-5)


@examples(50)
@given(curves(), curves(), curves())
def test_distance_is_a_metric(a, b, c):
    for kind in ("sup", "l1"):
        assert roc_distance(a, a, norm=kind) == 0
        assert roc_distance(a, b, norm=kind) == pytest.approx(roc_distance(b, a, norm=kind))
        detour = roc_distance(a, b, norm=kind) + roc_distance(b, c, norm=kind)
        assert roc_distance(a, c, norm=kind) <= detour + 1e-12


def test_distance_takes_what_roc_curve_returns():
    curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    assert roc_distance(curve, CHANCE, norm="l1") == pytest.approx(0.25)


def test_crossing_curves_do_not_cancel():
    s_shape = ([0, 0.5, 1], [0, 0.5, 1])
    above_then_below = ([0, 0.25, 0.75, 1], [0, 0.5, 0.5, 1])
    assert roc_distance(s_shape, above_then_below, norm="l1") == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (([0, 0.5], [0, 1]), "from 0.0 to 0.5; expected 0 to 1"),
        (([0, 0.6, 0.5, 1], [0, 0.5, 0.7, 1]), "decreases"),
        (([0, np.nan, 1], [0, 0.5, 1]), "NaN"),
        (([0, 1], [0, 0.5, 1]), "of one length"),
        (([0, 1],), "expected a pair"),
    ],
)
def test_a_broken_curve_is_refused(curve, message):
    with pytest.raises(ValueError, match=message):
        roc_distance(CHANCE, curve)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="Got norm='l2'"):
        roc_distance(CHANCE, CHANCE, norm="l2")


def band_holds(band, u, curve):
    # Vertical pieces: open each doubled abscissa by a hair.
    x = band.fpr + np.tile([-1e-12, 1e-12], band.fpr.size // 2)
    lower, upper = np.interp(u, x, band.lower), np.interp(u, x, band.upper)
    return bool(np.all((lower <= curve + 1e-9) & (curve <= upper + 1e-9)))


@pytest.mark.parametrize(("auc", "n"), [(0.6, 100), (0.8, 100), (0.95, 100), (0.8, 400)])
def test_band_covers_the_whole_curve_at_its_level(auc, n):
    rng = np.random.default_rng(n)
    y = np.repeat([0, 1], n // 2)
    shift = norm.ppf(auc) * np.sqrt(2)
    u = np.concatenate([np.geomspace(1e-5, 0.5, 150), 1 - np.geomspace(0.5, 1e-5, 150)])
    truth = norm.cdf(norm.ppf(u) + shift)
    hits = [
        band_holds(roc_band(y, rng.normal(size=n) + shift * y, n_resamples=300), u, truth)
        for _ in range(250)
    ]
    # 250 runs have a standard error of 0.014; long runs give 0.955 to 0.967.
    assert 0.925 <= np.mean(hits) <= 0.985


def test_band_covers_at_the_corners_of_graded_scores():
    # Most rows share their score with others: the curve is a polygon, and the band must hold its
    # corners, where the directions before and after differ.
    rng = np.random.default_rng(3)
    cuts, shift, n = np.linspace(-1.0, 1.5, 4), 2.5, 1000
    y = np.repeat([0, 1], n // 2)
    below = norm.cdf(np.concatenate([[-np.inf], cuts, [np.inf]]) - np.array([[0], [shift]]))
    fpr, tpr = 1 - below[:, ::-1]
    hits = []
    for _ in range(600):
        s = np.digitize(rng.normal(size=n) + shift * y, cuts)
        band = roc_band(y, s, n_resamples=300)
        u = np.concatenate([fpr, band.fpr])  # a corner of the band may cut the curve, too
        u = u[(u > 0) & (u < 1)]
        hits.append(band_holds(band, u, np.interp(u, fpr, tpr)))
    assert 0.92 <= np.mean(hits) <= 0.98


def test_band_covers_with_weights():
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], 150)
    u = np.linspace(0.001, 0.999, 300)
    truth = norm.cdf(norm.ppf(u) + 1)
    hits = []
    for _ in range(200):
        w = rng.lognormal(size=300)
        band = roc_band(y, rng.normal(size=300) + y, sample_weight=w, n_resamples=300)
        hits.append(band_holds(band, u, truth))
    assert 0.92 <= np.mean(hits) <= 0.99


def test_band_holds_the_curve_of_its_sample_and_stays_in_the_square():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 90)
    s = np.round(rng.normal(size=90) + y, 1)
    band = roc_band(y, s)
    assert np.all((band.lower <= band.tpr) & (band.tpr <= band.upper))
    assert np.all((band.lower >= 0) & (band.upper <= 1))
    for values in (band.fpr, band.tpr, band.lower, band.upper):
        assert np.all(np.diff(values) >= 0)
    fpr, tpr, _ = roc_curve(y, s, drop_intermediate=False)
    assert roc_distance((fpr, tpr), (band.fpr, band.tpr)) < 1e-12


def test_band_shrinks_with_the_sample_and_grows_with_the_level():
    rng = np.random.default_rng(4)

    def width(n, level):
        y = np.repeat([0, 1], n)
        band = roc_band(y, rng.normal(size=2 * n) + y, level)
        return area(band.fpr, band.upper) - area(band.fpr, band.lower)

    assert width(4000, 0.95) < width(100, 0.95) / 4
    assert width(100, 0.8) < width(100, 0.99)


def test_band_of_a_perfect_score_is_not_certain():
    y = np.repeat([0, 1], 50)
    band = roc_band(y, y)
    assert np.interp(0.05, band.fpr, band.lower) < 0.95
    assert band.upper.max() == 1


def test_band_does_not_depend_on_the_scale_of_weights():
    rng = np.random.default_rng(6)
    y, s, w = np.repeat([0, 1], 40), rng.normal(size=80), rng.random(80)
    one, many = (roc_band(y, s, sample_weight=k * w, n_resamples=200) for k in (1, 64))
    np.testing.assert_allclose(one.lower, many.lower)


def test_band_of_a_million_scores_has_few_points():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000)
    s = rng.normal(size=y.size) + y
    band = roc_band(y, s)
    assert band.fpr.size < 5000
