"""Points: the scale, whole numbers in the order of the score, and steps to the last double."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.scoring import Calibrator, Points
from treerank.scoring._point_steps import steps_of_range
from treerank.scoring._points import distinct_points
from treerank.scoring._steps import step_of


def test_the_scale_is_that_of_the_textbooks():
    scale = Points(pdo=20, base_score=600, base_odds=50, reverse=True)
    assert scale.transform([1 / 51]).tolist() == [600]  # 50 good to 1 bad
    assert scale.transform([1 / 101]).tolist() == [620]
    assert scale.transform([1 / 26]).tolist() == [580]
    assert scale.probability(620) == pytest.approx(1 / 101)
    assert Points(base_odds=1).transform([0.5, 2 / 3]).tolist() == [600, 620]


def test_points_fall_as_the_event_grows_likelier_only_where_it_is_bad():
    p = np.linspace(0.01, 0.99, 50)
    assert (np.diff(Points().transform(p)) >= 0).all()
    assert (np.diff(Points(reverse=True).transform(p)) <= 0).all()


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.booleans())
def test_points_of_strata_differ_as_their_scores_do(values, falls):
    exact = np.sort(values)[::-1] if falls else np.sort(values)
    points = distinct_points(exact)
    assert np.array_equal(np.sign(np.diff(points)), np.sign(np.diff(exact)))


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_points_of_strata_are_the_nearest_that_differ(tenths):
    exact = np.unique(tenths) / 5
    points = distinct_points(exact)
    apart = np.abs(exact - points).sum() - np.abs(exact - _nearest(exact)).sum()
    squared = np.sum((exact - points) ** 2) - np.sum((exact - _nearest(exact)) ** 2)
    assert min(apart, squared) < 1 + 1e-9  # rounding the pooled level costs less than one point


def _nearest(exact):
    """Rising whole numbers of the least squared distance, by trying them from the left."""
    best = {(): 0.0}
    for x in exact:
        new = {}
        for line, cost in best.items():
            low = line[-1] + 1 if line else -20
            for whole in range(max(low, int(np.floor(x)) - 8), int(np.ceil(x)) + 9):
                key = (*line[:-1], *line[-1:], whole)
                new[key] = cost + (x - whole) ** 2
        kept = {}
        for line, cost in new.items():  # the last number is all that matters for those to come
            if line[-1] not in kept or cost < kept[line[-1]][1]:
                kept[line[-1]] = line, cost
        best = dict(kept.values())
    return np.array(min(best, key=best.get))


def test_steps_of_a_range_round_to_the_nearest_point_and_their_cuts_are_exact():
    rng = np.random.default_rng(0)
    score = rng.normal(size=3000)
    y = rng.random(3000) < 1 / (1 + np.exp(1 - score))
    for reverse in (False, True):
        scale = Points(reverse=reverse)
        calibrator = Calibrator("beta", scale="score").fit(score, y)
        cuts, values = steps_of_range(scale, calibrator, -6.0, 6.0)
        exact = scale.exact(calibrator.decision_function(score))
        assert np.abs(values[step_of(cuts, score)] - exact).max() <= 0.5 + 1e-9
        assert np.array_equal(np.abs(np.diff(values)), np.ones(len(cuts)))
        assert (np.diff(cuts) > 0).all()
        # At a cut the next point is reached, and just below it not yet.
        assert np.array_equal(values[step_of(cuts, cuts)], values[1:])
        assert np.array_equal(values[step_of(cuts, np.nextafter(cuts, -np.inf))], values[:-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pdo": 0}, "Got pdo=0; expected a number above 0"),
        ({"base_odds": -1}, "Got base_odds=-1"),
        ({"base_score": np.inf}, "Got base_score=inf"),
        ({"reverse": 1}, "Got reverse=1"),
    ],
)
def test_scales_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Points(**options)


def test_certainty_has_no_points():
    with pytest.raises(ValueError, match=r"Got p=0 in row 1; expected probabilities above 0"):
        Points().transform([0.5, 0.0])
