"""The test of calibration: its level, its power, and no groups to choose."""

import numpy as np
import pytest

from treerank.metrics import calibration_slope, calibration_test


def test_the_level_is_kept():
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(400):
        p = 1 / (1 + np.exp(-rng.normal(-1, 1, 300)))
        rejected += calibration_test(rng.random(300) < p, p).p_value < 0.05
    assert 0.02 < rejected / 400 < 0.08


def test_the_level_is_kept_with_few_strata():
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(200):
        p = rng.choice([0.05, 0.1, 0.3, 0.6], 400)
        rejected += calibration_test(rng.random(400) < p, p).p_value < 0.05
    assert 0.01 < rejected / 200 < 0.1


def test_each_kind_of_fault_is_seen_where_it_lies():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-logits))
    too_low = calibration_test(y, 1 / (1 + np.exp(0.5 - logits)))
    assert too_low.mean > 3
    too_sure = calibration_test(y, 1 / (1 + np.exp(-2 * logits)))
    assert too_sure.shape_p_value < 1e-6
    assert too_sure.mean_p_value > 0.01
    assert too_sure.p_value < 1e-6


def test_the_order_of_the_rows_and_of_ties_does_not_matter():
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.2, 0.5], 200)
    y = rng.random(200) < p
    order = rng.permutation(200)
    assert calibration_test(y, p) == pytest.approx(calibration_test(y[order], p[order])) or (
        calibration_test(y, p).p_value == calibration_test(y[order], p[order]).p_value
    )


def test_one_probability_for_all_is_tested_in_the_large():
    y = np.repeat([0, 1], [80, 20])
    found = calibration_test(y, np.full(100, 0.5))
    assert found.p_value == found.mean_p_value < 1e-6


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.0, 0.5, 1.0, 0.0], "what was said to be certain did not happen"),
        ([0.0, 0.0, 1.0, 1.0], "expected some in between"),
        ([0.1, 0.2, 1.2, 0.3], "expected probabilities"),
    ],
)
def test_certain_probabilities_are_refused(p, message):
    with pytest.raises(ValueError, match=message):
        calibration_test([0, 0, 1, 1], p)


def test_the_intercept_has_limits_that_hold_the_truth():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        logits = rng.normal(-1, 1, 400)
        y = rng.random(400) < 1 / (1 + np.exp(-logits))
        low, high = calibration_slope(y, 1 / (1 + np.exp(-logits))).intercept_limits
        held += low <= 0 <= high
    assert 0.91 < held / 300 < 0.985
