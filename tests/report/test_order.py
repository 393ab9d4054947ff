"""Marks for strata: beyond noise only, with the difference and its limits beside them."""

import re

import numpy as np
import pytest
from report_data import loans

from treerank import TreeRank, report
from treerank._report._order import class_values, format_break, rank_breaks, rate_difference
from treerank.scoring import Grades, Scorecard

TWO = np.arange(2.0)


def test_strata_out_of_order_by_noise_are_not_marked():
    counts = np.array([[1, 9], [0, 0], [5, 5], [4, 6], [0, 0], [9, 1.0]])
    assert rank_breaks(counts, TWO) == [None] * 6


def test_strata_out_of_order_beyond_noise_are_marked_and_empty_ones_passed_over():
    counts = np.array([[10, 90], [0, 0], [90, 10], [50, 50], [95, 5.0]])
    breaks = rank_breaks(counts, TWO)
    assert [found is not None for found in breaks] == [False, False, False, True, False]
    assert breaks[3].above == 2
    assert breaks[3].by.value == pytest.approx(0.4)
    assert 0 < breaks[3].by.lower < 0.4 < breaks[3].by.upper
    names = [f"stratum {k}" for k in range(5)]
    said = format_break(breaks[3], names, two_classes=True)
    assert re.fullmatch(
        r"breaks the order: 40\.0 points above stratum 2 \([\d.]+ to [\d.]+\)", said
    )


def test_ten_equal_strata_are_marked_in_at_most_one_report_of_twenty():
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(400):
        events = rng.binomial(80, 0.3, size=10)
        counts = np.column_stack([80 - events, events]).astype(float)
        marked += any(found is not None for found in rank_breaks(counts, TWO))
    assert marked <= 400 * 0.05
    rises = np.diff(rng.binomial(80, 0.3, size=(400, 10)), axis=1) > 0
    assert rises.any(axis=1).all()  # what would be marked without a test


def test_limits_of_a_difference_are_those_of_newcombe():
    # Newcombe (1998), Statistics in Medicine 17, example (a) of table II: 56/70 and 48/80.
    found = rate_difference(np.array([14.0, 56]), np.array([32.0, 48]), 0.95, TWO)
    assert (found.value, found.lower, found.upper) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_a_stratum_of_few_rows_of_one_class_is_not_certain():
    values = np.arange(3.0)
    low, high = np.array([2.0, 0, 0]), np.array([0.0, 1, 0])
    assert rank_breaks(np.array([low, high]), values) == [None, None]
    assert rank_breaks(np.array([100 * low, 100 * high]), values)[1] is not None


def test_classes_that_are_no_rising_numbers_are_counted():
    assert class_values(np.array([1, 2, 5])).tolist() == [1, 2, 5]
    assert class_values(np.array([3, 1, 2])).tolist() == [0, 1, 2]
    assert class_values(np.array(["mild", "fatal"])).tolist() == [0, 1]


@pytest.fixture(scope="module")
def tree():
    x, y = loans(3000)
    return TreeRank(max_depth=3, pruning=None).fit(x, y)


def strata_rows(text):
    body = text[text.index('<tbody id="strata-rows">') :]
    return re.findall(r'<tr data-cell="\d+">(.*?)</tr>', body[: body.index("</tbody>")], re.DOTALL)


def test_strata_are_numbered_as_apply_numbers_them(tree):
    x, y = loans(900, seed=3)
    text = report(tree, x, y, out=None)
    shown = [
        (int(re.search(r'class="place">(\d+)<', row)[1]),
         int(re.search(r'data-label="rows">([\d,]+)', row)[1].replace(",", "")))
        for row in strata_rows(text)
    ]  # fmt: skip
    n_strata = len(tree.partition_)
    rows = np.bincount(tree.apply(x), minlength=n_strata)
    assert shown == list(zip(range(n_strata), rows.tolist(), strict=True))
    assert f"stratum 0 of 0 to {n_strata - 1}" in text


def test_the_page_marks_an_order_that_is_turned_round(tree):
    x, y = loans(3000, seed=3)
    assert "breaks the order: " not in report(tree, x, y, out=None)
    text = report(tree, x, 1 - y, out=None)
    marks = re.findall(r'<strong class="break">([^<]+)</strong>', text)
    assert marks
    assert all(re.match(r"breaks the order: [\d.]+ points above ", mark) for mark in marks)
    assert "“Apart”" in text
    assert re.search(r'class="apart">apart: [+-][\d.]+ points \(', text)


def test_grades_that_break_the_order_name_the_grade_before(tree):
    card = Scorecard(tree, grades=Grades(4, names=list("ABCD")), cv="prefit").fit(*loans(2000))
    x, y = loans(3000, seed=3)
    text = report(card, x, 1 - y, out=None)
    start = text.index('<section id="grades"')
    section = text[start : text.index("</section>", start)]
    assert re.search(r"breaks the order: [\d.]+ points above grade [ABC] \(", section)
