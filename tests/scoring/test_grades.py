"""Grades: the best of all ways to merge ranges, within the limits, and names for them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import best_grades

from treerank.metrics import roc_auc_score, wilson_interval
from treerank.scoring import Grades
from treerank.scoring._optimal_cuts import GradeLimits, best_cuts


@st.composite
def tables(draw):
    """Class counts of a few ranges, every class with a row."""
    n_classes = draw(st.integers(2, 3))
    n = draw(st.integers(1, 8))
    row = st.lists(st.integers(0, 12), min_size=n_classes, max_size=n_classes)
    counts = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    counts[0] += counts.sum(axis=0) == 0
    return counts


@given(
    tables(),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0.4, 0.7, 1.0]),
    st.sampled_from([0.0, 1.0, 1.96]),
)
@settings(max_examples=300, deadline=None)
def test_no_other_grades_within_the_limits_have_a_larger_auc(counts, k, least, most, z):
    found = best_cuts(counts, GradeLimits(k, least, most, z, 1.0))
    largest, cuts = best_grades(counts, k, least, most, z)
    if found is None:
        assert cuts is None
        return
    assert cuts is not None
    # Ways that differ by rounding alone are both right: compare what they are worth.
    assert best_grades(_merge(counts, found), k, least, most, z)[0] == pytest.approx(largest)
    assert len(found) < k


def _merge(counts, cuts):
    return np.array([part.sum(axis=0) for part in np.split(counts, cuts)])


def sample(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    return score, (rng.random(n) < 1 / (1 + np.exp(2 - score))).astype(int)


def test_grades_rise_differ_and_keep_to_their_sizes():
    score, y = sample()
    grades = Grades(6, min_share=0.08, max_share=0.4).fit(score, y)
    table = grades.to_frame()
    assert 3 <= len(table) <= 6
    assert (np.diff(table["event_rate"]) < 0).all()  # best first: the highest scores
    assert table["share_of_rows"].between(0.08, 0.4).all()
    for a, b in zip(table.index[:-1], table.index[1:], strict=True):
        n = table.loc[[a, b], "rows"].to_numpy()
        k = table.loc[[a, b], "n_1"].to_numpy()
        pooled = k.sum() / n.sum()
        z = (k[0] / n[0] - k[1] / n[1]) / np.sqrt(pooled * (1 - pooled) * (1 / n).sum())
        assert z >= 1.959


def test_grades_rise_on_rows_that_had_no_part_in_choosing_them():
    score, y = sample(20_000)
    grades = Grades(6).fit(score[:10_000], y[:10_000])
    table = grades.to_frame(score[10_000:], y[10_000:])
    assert len(table) >= 5
    assert (np.diff(table["event_rate"]) < 0).all()
    lower, upper = wilson_interval(table["n_1"], table["rows"])
    assert np.allclose(table["lower"], lower)
    assert np.allclose(table["upper"], upper)


def test_a_score_has_the_grade_of_the_range_it_is_in():
    score, y = sample()
    grades = Grades(5, names=list("ABCDE"), reverse=True).fit(score, y)
    number = grades.apply(score)
    assert number.min() == 0
    for k, (low, high) in enumerate(
        zip(grades.to_frame()["from_score"], grades.to_frame()["below_score"], strict=True)
    ):
        assert np.array_equal(number == k, (score >= low) & (score < high))
    assert grades.predict(score)[np.argmin(score)] == "A"
    # A cut belongs to the range above it.
    assert grades.apply(grades.cuts_).tolist() == list(range(1, len(grades.names_)))


def test_reverse_turns_names_and_table_round_and_nothing_else():
    score, y = sample()
    plain, turned = Grades().fit(score, y), Grades(reverse=True).fit(score, y)
    assert np.array_equal(plain.cuts_, turned.cuts_)
    assert np.array_equal(plain.counts_, turned.counts_[::-1])
    assert np.array_equal(plain.apply(score), len(plain.cuts_) - turned.apply(score))


def test_only_candidates_are_cuts():
    score, y = sample()
    borders = np.array([-1.5, -0.5, 0.0, 0.7, 1.4])
    grades = Grades().fit(score, y, candidates=borders)
    assert set(grades.cuts_) <= set(borders)


def test_grades_keep_nearly_all_of_the_auc():
    score, y = sample(20_000)
    grades = Grades(10).fit(score, y)
    lost = roc_auc_score(y, score) - roc_auc_score(y, -grades.apply(score))
    assert 0 < lost < 0.01


def test_more_classes_are_graded_by_the_mean_class():
    score, _ = sample()
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, len(score)))
    y = (score + noise[0] > 0).astype(int) + (score + noise[1] > 1)
    grades = Grades(5).fit(score, y)
    table = grades.to_frame()
    mean = table["share_1"] + 2 * table["share_2"]
    assert len(table) == 5
    assert (np.diff(mean) < 0).all()


def test_large_weights_change_nothing_and_uneven_ones_ask_for_more():
    score, y = sample(1500)
    same = Grades().fit(score, y, np.full(1500, 7.0))
    assert np.array_equal(same.cuts_, Grades().fit(score, y).cuts_)
    uneven = np.random.default_rng(0).exponential(size=1500) ** 3
    assert len(Grades().fit(score, y, uneven).names_) <= len(same.names_)


def test_given_cuts_are_kept():
    score, y = sample()
    grades = Grades(cuts=[-1.0, 1.0], names=["high", "middle", "low"]).fit(score, y)
    assert grades.predict([2.0, 0.0, -2.0]).tolist() == ["high", "middle", "low"]


def test_one_grade_comes_with_a_warning():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="there is one grade"):
        grades = Grades().fit(rng.normal(size=200), rng.integers(0, 2, 200))
    assert grades.predict([0.0]).tolist() == ["1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_grades": 1}, "Got max_grades=1; expected an integer >= 2"),
        ({"min_share": 0.6, "max_share": 0.5}, "min_share <= max_share"),
        ({"level": 1.5}, "Got level=1.5"),
        ({"names": ["A", "B"]}, "Got 2 names for up to 7 grades"),
        ({"names": ["A"] * 7}, "names that all differ"),
        ({"cuts": [1.0, 1.0]}, "numbers that rise"),
        ({"cuts": [0.0, 50.0, 60.0]}, "leave grade '1' without a row"),
        ({"min_share": 0.3, "max_share": 0.3}, "no way to cut the scores into grades"),
        ({"reverse": "yes"}, "Got reverse='yes'"),
    ],
)
def test_what_cannot_be_done_is_said(options, message):
    score, y = sample()
    grades = Grades(**options)
    with pytest.raises(ValueError, match=message):
        grades.fit(score, y)
    assert not hasattr(grades, "cuts_")
