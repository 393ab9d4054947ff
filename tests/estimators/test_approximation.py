"""The approximation scheme against its theory and against brute force."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import truncexpon

from treerank.approximation import approximate_roc, approximate_roc_surface
from treerank.datasets import (
    RocSurface,
    make_gaussians_20d,
    make_ordinal_gaussians,
    make_ordinal_uniform,
    make_truncated_gaussians,
    make_uniform_mixture,
)

TRUTHS = {
    "pair": make_truncated_gaussians(10, random_state=0).truth,
    "tough": make_truncated_gaussians(10, variant="tough", random_state=0).truth,
    "easy": make_gaussians_20d(10, "easy", random_state=0).truth,
    "hard": make_gaussians_20d(10, "hard", random_state=0).truth,
}
every_truth = pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
UNIFORM = make_uniform_mixture(10, random_state=0).truth
ORDINAL = make_ordinal_gaussians(10, random_state=0).truth
NINE_CELLS = make_ordinal_uniform(10, random_state=0).truth


def exponential_curve(fpr):
    """ROC curve of an exponential density on [0, 1] against the uniform: curvature is bounded."""
    return truncexpon.cdf(3 * np.asarray(fpr), b=3)


def errors_by_depth(approximate, known, deepest):
    results = [approximate(known, depth) for depth in range(deepest + 1)]
    return np.array([[result.sup_distance, result.l1_distance] for result in results])


def test_both_errors_fall_by_four_a_level():
    errors = errors_by_depth(approximate_roc, exponential_curve, 8)
    ratios = errors[:-1] / errors[1:]
    assert np.all(ratios[3:] > 3.9)
    assert np.all(ratios[3:] < 4.1)
    assert np.all(errors[8] < 1e-5)


@every_truth
def test_area_between_the_curves_falls_by_four_a_level(truth):
    errors = errors_by_depth(approximate_roc, truth, 8)[:, 1]
    np.testing.assert_allclose(errors[4:-1] / errors[5:], 4, atol=0.06)


def test_gap_falls_by_less_where_the_curvature_is_not_bounded():
    # At the corners of the square ROC* behaves like x + x^1.5: the first chord then keeps 4/9 of
    # its length in each round, and its gap (4/9)^1.5 of its size.
    gaps = errors_by_depth(approximate_roc, TRUTHS["pair"], 8)[:, 0]
    assert gaps[7] / gaps[8] == pytest.approx((9 / 4) ** 1.5, abs=0.1)


def test_first_cut_is_at_the_positive_rate():
    # Proposition 19 of Clémençon and Vayatis (2008)
    for p in (0.5, 0.1):
        truth = make_truncated_gaussians(10, positive_rate=p, random_state=0).truth
        rough = approximate_roc(truth, 1)
        assert rough.levels == pytest.approx([p])
        assert rough.thresholds == pytest.approx([1.0])


@every_truth
def test_knots_lie_on_the_curve_and_interleave(truth):
    coarse, fine = approximate_roc(truth, 4), approximate_roc(truth, 5)
    assert fine.fpr.size == 33
    np.testing.assert_array_equal(fine.fpr[::2], coarse.fpr)
    np.testing.assert_array_equal(fine.thresholds[1::2], coarse.thresholds)
    # A new knot has the slope of the chord it replaces, and all slopes fall.
    chords = np.diff(coarse.tpr) / np.diff(coarse.fpr)
    np.testing.assert_allclose(fine.thresholds[::2], chords)
    assert np.all(np.diff(fine.thresholds) < 0)
    fpr, tpr = truth.rates(fine.thresholds)
    np.testing.assert_allclose(fine.fpr[1:-1], fpr, atol=1e-14)
    np.testing.assert_allclose(fine.tpr[1:-1], tpr, atol=1e-14)


@every_truth
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_distances_agree_with_brute_force(truth, depth):
    rough = approximate_roc(truth, depth)
    fpr, tpr, _ = truth.roc
    gap = tpr - np.interp(fpr, rough.fpr, rough.tpr)
    assert rough.sup_distance == pytest.approx(gap.max(), abs=2e-5)
    area = np.sum(np.diff(fpr) * (gap[1:] + gap[:-1]) / 2)
    assert rough.l1_distance == pytest.approx(area, abs=2e-6)
    assert rough.auc + rough.l1_distance == pytest.approx(truth.auc, abs=1e-14)


def test_function_polygon_and_truth_give_the_same_knots():
    truth = TRUTHS["hard"]
    by_truth = approximate_roc(truth, 5)
    by_function = approximate_roc(lambda fpr: ndtr(ndtri(fpr) + 0.4), 5)
    by_polygon = approximate_roc(truth.roc, 5)
    np.testing.assert_allclose(by_function.fpr, by_truth.fpr, atol=1e-7)
    np.testing.assert_allclose(by_polygon.fpr, by_truth.fpr, atol=2e-3)
    for other, tolerance in ((by_function, 1e-6), (by_polygon, 0.02)):
        np.testing.assert_allclose(other.tpr, by_truth.tpr, atol=2e-3)
        assert other.sup_distance == pytest.approx(by_truth.sup_distance, rel=tolerance)
        assert other.l1_distance == pytest.approx(by_truth.l1_distance, rel=tolerance)


@pytest.mark.parametrize("roc", [UNIFORM, UNIFORM.roc], ids=["truth", "polygon"])
def test_polygon_is_recovered_and_then_left_alone(roc):
    for depth in (2, 5):
        exact = approximate_roc(roc, depth)
        np.testing.assert_allclose(exact.fpr, UNIFORM.roc.fpr)
        np.testing.assert_allclose(exact.tpr, UNIFORM.roc.tpr)
        assert exact.sup_distance == pytest.approx(0, abs=1e-15)
        assert exact.l1_distance == pytest.approx(0, abs=1e-15)
        np.testing.assert_allclose(exact.cell_posteriors, [0.75, 2 / 3, 0.4, 0.2])


def test_vertical_and_flat_pieces_are_kept():
    exact = approximate_roc(([0, 0, 0.5, 1], [0, 0.4, 1, 1]), 3)
    np.testing.assert_allclose(exact.fpr, [0, 0, 0.5, 1])
    np.testing.assert_allclose(exact.tpr, [0, 0.4, 1, 1])
    assert exact.l1_distance == 0


@pytest.mark.parametrize("positive_rate", [0.5, 0.2])
def test_cells_hold_the_weight_between_their_knots(positive_rate):
    sample = make_truncated_gaussians(60_000, positive_rate=positive_rate, random_state=1)
    rough = approximate_roc(sample.truth, 3)
    cell = rough.apply(sample.eta)
    for label, rate in ((0, rough.fpr), (1, rough.tpr)):
        share = np.bincount(cell[sample.y == label], minlength=8) / np.sum(sample.y == label)
        np.testing.assert_allclose(share, np.diff(rate), atol=0.012)
    # The posterior of a cell lies between its levels.
    edges = np.concatenate([[1.0], rough.levels, [0.0]])
    assert np.all(rough.cell_posteriors < edges[:-1])
    assert np.all(rough.cell_posteriors > edges[1:])


def test_depth_zero_is_the_diagonal():
    rough = approximate_roc(UNIFORM, 0)
    assert (rough.fpr.tolist(), rough.tpr.tolist()) == ([0, 1], [0, 1])
    assert rough.auc == 0.5
    assert rough.apply([0.1, 0.9]).tolist() == [0, 0]


def test_surface_errors_fall_by_four_a_level():
    errors = errors_by_depth(approximate_roc_surface, ORDINAL, 8)
    ratios = errors[:-1] / errors[1:]
    assert np.all(ratios[4:] > 3.8)
    assert np.all(ratios[4:] < 4.1)


@pytest.mark.parametrize("truth", [ORDINAL, NINE_CELLS], ids=["gaussians", "cells"])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_surface_distances_agree_with_brute_force(truth, depth):
    rough = approximate_roc_surface(truth, depth)
    alpha, gamma, height = truth.roc_surface.grid(801)
    gap = height - rough.surface(alpha, gamma)
    assert gap.min() > -1e-7
    assert gap.max() <= rough.sup_distance + 1e-7
    assert rough.sup_distance == pytest.approx(gap.max(), abs=1e-3)
    assert rough.l1_distance == pytest.approx(gap.mean(), abs=1e-3)
    assert rough.vus + rough.l1_distance == pytest.approx(truth.vus, abs=1e-14)


def best_cut_by_brute_force(truth, tails, cell):
    """Try both pairs in one cell and compare the volumes of the whole partitions."""
    candidates = []
    for pair in (1, 2):
        weights = np.diff(tails, axis=0)[cell]
        level = truth.level(pair, weights[pair] / weights[pair - 1])
        refined = np.insert(tails, cell + 1, truth.tails(level), axis=0)
        candidates.append((RocSurface(refined).vus, pair, float(level)))
    return max(candidates)


def test_tournament_is_won_by_the_larger_volume():
    coarse, fine = approximate_roc_surface(ORDINAL, 3), approximate_roc_surface(ORDINAL, 4)
    for cell in range(8):
        _, pair, level = best_cut_by_brute_force(ORDINAL, coarse.surface.tails, cell)
        assert fine.winners[2 * cell] == pair
        assert fine.levels[2 * cell] == pytest.approx(level)
    assert set(fine.winners) == {1, 2}


def test_each_candidate_is_farthest_from_its_chord():
    # The cut for a pair of classes is the one that TreeRank would make on those two alone.
    for pair in (1, 2):
        levels = np.linspace(0, 2, 20_001)
        tails = ORDINAL.tails(levels)
        best = levels[np.argmax(tails[:, pair] - tails[:, pair - 1])]
        assert ORDINAL.level(pair, 1.0) == pytest.approx(best, abs=1e-3)


def test_local_gain_is_the_formula_of_the_paper_and_no_better():
    exact, local = (approximate_roc_surface(ORDINAL, 5, gain=gain) for gain in ("exact", "local"))
    assert not np.array_equal(exact.winners, local.winners)
    assert local.vus < exact.vus


@pytest.mark.parametrize("gain", ["exact", "local"])
def test_nine_cells_are_recovered_and_then_left_alone(gain):
    for depth in (4, 6):
        exact = approximate_roc_surface(NINE_CELLS, depth, gain=gain)
        np.testing.assert_allclose(exact.surface.tails, NINE_CELLS.roc_surface.tails, atol=1e-14)
        assert exact.sup_distance == pytest.approx(0, abs=1e-14)
        assert exact.apply(np.arange(9)).tolist() == list(range(8, -1, -1))


def test_one_cell_has_the_volume_of_chance():
    assert approximate_roc_surface(ORDINAL, 0).vus == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: approximate_roc(UNIFORM, -1), "Got depth=-1"),
        (lambda: approximate_roc(UNIFORM, 2.0), "Got depth=2.0"),
        (lambda: approximate_roc(UNIFORM, 2, positive_rate=0), "Got positive_rate=0"),
        (lambda: approximate_roc(5, 2), "expected a truth, a function or a pair"),
        (lambda: approximate_roc(([0, 1], [0, 0.5, 1]), 2), "expected one size"),
        (lambda: approximate_roc(([0, 1], [0.1, 1]), 2), "does not rise from"),
        (lambda: approximate_roc(([0, 0.5, 1], [0, 0.2, 1]), 2), "not concave, at fpr=0.5"),
        (lambda: approximate_roc(lambda x: x / 2, 2), "expected one from 0 to 1"),
        (lambda: approximate_roc_surface(UNIFORM, 2), "truth of three ordered classes"),
        (lambda: approximate_roc_surface(ORDINAL, 2, gain="best"), "Got gain='best'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
