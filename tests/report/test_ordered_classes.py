"""Three and more classes: mean grade, concordance, and a VUS whose limits say something."""

import re

import numpy as np
import pytest
from report_data import grades

from treerank import TreeRank, report
from treerank._report._ordinal import ordinal_summary
from treerank._report._sample import read_sample
from treerank.metrics import concordance_interval, vus_interval


def rare(n_rare, n=400, seed=0):
    """Four classes, the lowest of them with few rows."""
    x, y = grades(n, seed, n_classes=3)
    y = y + 1
    y[np.flatnonzero(y == 1)[:n_rare]] = 0
    return x, y


@pytest.fixture(scope="module")
def model():
    x, y = rare(40, seed=1)
    return TreeRank(max_depth=4).fit(x, y)


def summary_of(model, n_rare):
    x, y = rare(n_rare)
    return ordinal_summary(read_sample(model, x, y, None), model.label_order_, 0.95), x, y


@pytest.mark.parametrize("n_rare", [3, 5, 9])
def test_a_rare_class_does_not_blow_the_limits_of_the_vus_up(model, n_rare):
    found, x, y = summary_of(model, n_rare)
    plain = vus_interval(y, model.score_samples(x))
    lower, upper = found["vus_limits"]
    assert plain.lower <= lower < found["vus"] < upper <= plain.upper
    assert upper - lower < 0.5
    assert found["is_rough"]
    text = report(model, x, y, out=None)
    assert f"The class 0 has {n_rare} rows here, so that the limits of the VUS are rough" in text


@pytest.mark.parametrize("n_rare", [1, 2])
def test_one_or_two_rows_of_a_class_give_no_limits(model, n_rare):
    found, x, y = summary_of(model, n_rare)
    assert found["vus_limits"] is None
    lower, upper = found["concordance_limits"]
    assert upper - lower < 0.1
    text = report(model, x, y, out=None)
    assert "too few for limits of the VUS" in text


def test_enough_rows_have_the_usual_limits(model):
    found, x, y = summary_of(model, 10)
    plain = vus_interval(y, model.score_samples(x))
    assert found["vus_limits"] == (plain.lower, plain.upper)
    assert not found["is_rough"]


def test_mean_grades_are_those_of_the_rows(model):
    found, x, y = summary_of(model, 40)
    assert found["mean"][0] == pytest.approx(y.mean())
    assert found["mean"][1] < y.mean() < found["mean"][2]
    order = np.argsort(-model.score_samples(x), kind="stable")
    assert found["ends"][0][0] == pytest.approx(y[order[:40]].mean())
    concordance = concordance_interval(y, model.score_samples(x))
    assert found["concordance"] == concordance.concordance
    text = report(model, x, y, out=None)
    assert f'id="concordance">{concordance.concordance:.4f}<' in text


def test_strata_show_mean_grade_and_the_rate_of_each_grade(model):
    x, y = rare(40)
    text = report(model, x, y, out=None)
    start = text.index('<tbody id="strata-rows">')
    rows = re.findall(r'<tr data-cell="\d+">(.*?)</tr>', text[start:], re.DOTALL)
    stratum = model.apply(x)
    assert len(rows) == len(model.partition_)
    for k, row in enumerate(rows):
        inside = y[stratum == k]
        if len(inside) == 0:
            assert "no row" in row
            continue
        assert f'data-label="mean grade">{inside.mean():.2f} ' in row
        bars = re.findall(r'<rect class="bar" x="([\d.]+)" width="([\d.]+)"', row)
        shares = np.bincount(inside, minlength=4) / len(inside)
        assert [float(width) for _, width in bars] == pytest.approx(100 * shares, abs=0.01)
        starts = np.append(0, np.cumsum(shares)[:-1])
        assert [float(x0) for x0, _ in bars] == pytest.approx(100 * starts, abs=0.01)


def test_words_are_averaged_on_a_scale_that_is_named():
    x, y = grades()
    words = np.array(["mild", "grave", "fatal"])[y]
    model = TreeRank(max_depth=3, label_order=["mild", "grave", "fatal"]).fit(x[:225], words[:225])
    text = report(model, x[225:], words[225:], out=None)
    assert f"mean grade is {y[225:].mean():.2f} (" in text
    assert "on a scale from 0, mild, to 2, fatal" in text
