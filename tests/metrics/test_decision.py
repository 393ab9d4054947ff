"""Cut-offs and decision curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank.metrics import choose_cutoff, decision_curve, operating_point, wilson_interval


@st.composite
def scored(draw):
    y = np.array([0, 1, *draw(st.lists(st.integers(0, 1), max_size=18))])
    s = np.array(draw(st.lists(st.integers(0, 8), min_size=y.size, max_size=y.size)), dtype=float)
    w = np.array(draw(st.lists(st.integers(1, 3), min_size=y.size, max_size=y.size)))
    return y, s, w


def all_cutoffs(y, s, w):
    """Slow twin: (threshold, tpr, fpr, share) of every cut-off, the highest first."""
    for t in [np.inf, *np.unique(s)[::-1]]:
        called = s >= t
        yield (
            t,
            w[called & (y == 1)].sum() / w[y == 1].sum(),
            w[called & (y == 0)].sum() / w[y == 0].sum(),
            w[called].sum() / w.sum(),
        )


@examples(120)
@given(scored(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
def test_every_rule_finds_the_best_of_all_cutoffs(data, rate):
    y, s, w = data
    points = list(all_cutoffs(y, s, w))
    p = w[y == 1].sum() / w.sum()
    goals = {
        "youden": lambda q: q[1] - q[2],
        "cost": lambda q: -(3 * (1 - p) * q[2] + p * (1 - q[1])),
        "fpr": lambda q: q[1] if q[2] <= rate + 1e-9 else -1,
        "share": lambda q: q[3] if q[3] <= rate + 1e-9 else -1,
    }
    for rule, goal in goals.items():
        found = choose_cutoff(y, s, rule=rule, rate=rate, false_positive_cost=3, sample_weight=w)
        best = max(map(goal, points))
        expected = next(q for q in points if goal(q) > best - 1e-9)
        chosen = next(q for q in points if q[0] == found.threshold)
        assert goal(chosen) == pytest.approx(best, abs=1e-9)
        assert (found.tpr, found.fpr, found.share) == pytest.approx(chosen[1:])
        if rule in ("fpr", "share"):
            assert found.threshold == expected[0]
        again = operating_point(y, s, found.threshold, sample_weight=w)
        assert again.tpr_limits == pytest.approx(found.tpr_limits)
        assert again.fpr == pytest.approx(found.fpr)


def test_intervals_are_wilsons():
    y = np.repeat([0, 1], [60, 40])
    s = np.concatenate([np.arange(60), np.arange(30, 70)])
    point = operating_point(y, s, 50)
    assert (point.tpr, point.fpr) == (20 / 40, 10 / 60)
    assert point.precision == 20 / 30
    assert point.tpr_limits == pytest.approx(wilson_interval(20, 40))
    assert point.fpr_limits == pytest.approx(wilson_interval(10, 60))
    assert point.precision_limits == pytest.approx(wilson_interval(20, 30))
    assert point.share_limits == pytest.approx(wilson_interval(30, 100))


def test_nobody_is_called_where_that_is_best():
    point = choose_cutoff([0, 1], [2, 1], rule="fpr", rate=0.0)
    assert point.threshold == np.inf
    assert point.tpr == point.share == 0
    assert np.isnan(point.precision)
    assert point.precision_limits == (0, 1)


def test_scale_of_weights_does_not_change_the_intervals():
    y, s = np.array([0, 1, 0, 1, 1]), np.arange(5)
    small, large = (choose_cutoff(y, s, sample_weight=np.full(5, k)) for k in (0.01, 100))
    assert small.tpr_limits == pytest.approx(large.tpr_limits)


def test_decision_curve_equals_its_formula():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(300), 2)
    y, w = rng.random(300) < p, rng.integers(1, 4, 300)
    curve = decision_curve(y, p, sample_weight=w)
    assert curve.threshold.size == 99
    for i in (0, 9, 49, 98):
        t = curve.threshold[i]
        tp, fp = w[(p >= t) & y].sum(), w[(p >= t) & ~y].sum()
        assert curve.model[i] == pytest.approx((tp - fp * t / (1 - t)) / w.sum())
        everyone = (w[y].sum() - w[~y].sum() * t / (1 - t)) / w.sum()
        assert curve.call_all[i] == pytest.approx(everyone)
    assert not curve.call_none.any()


def test_at_threshold_0_the_model_calls_all():
    curve = decision_curve([0, 1, 1], [0.2, 0.0, 0.9], thresholds=[0.0])
    assert curve.model[0] == curve.call_all[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "Got rule='best'"),
        ({"rule": "fpr"}, "Got rate=None; rule='fpr' needs"),
        ({"rule": "share", "rate": 2}, "Got rate=2"),
        ({"rule": "cost", "false_positive_cost": -1}, "Got costs"),
        ({"level": 95}, "Got level=95"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_cutoff([0, 1], [1, 2], **arguments)


def test_bad_thresholds_are_named():
    with pytest.raises(ValueError, match="Got thresholds="):
        decision_curve([0, 1], [0.1, 0.2], thresholds=[1.0])
    with pytest.raises(ValueError, match="Got threshold=nan"):
        operating_point([0, 1], [0.1, 0.2], np.nan)
