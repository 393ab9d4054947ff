"""Distributions: scores of each class, and values below the curves of partial dependence."""

import re

import numpy as np
import pytest
from report_data import grades, loans

from treerank import RankingForest, TreeRank, report
from treerank._report._dependence import (
    DENSITY_BINS,
    GRID,
    _places_of_grid,
    dependence_pictures,
)
from treerank._report._histogram import N_BINS, score_histogram
from treerank._report._sample import read_sample


def bars(picture, kind):
    return np.array(
        [
            [float(mark[k]) for k in ("x", "y", "width", "height")]
            for mark in picture.marks
            if mark["kind"] == kind
        ]
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_bars_of_a_class_count_its_rows(n_classes):
    x, y = grades(800, n_classes=n_classes)
    model = RankingForest(n_estimators=10).fit(x[:400], y[:400])
    sample = read_sample(model, x[400:], y[400:], None)
    picture = score_histogram(sample, [str(k) for k in range(n_classes)])
    assert [text for _, text in picture.y_ticks] == [str(k) for k in range(n_classes)]
    found = bars(picture, "bar")
    base = picture.y(np.arange(n_classes))
    edges = np.linspace(sample.score.min(), sample.score.max(), N_BINS + 1)
    for k in range(n_classes):
        strip = found[np.abs(found[:, 1] + found[:, 3] - base[k]) < 0.2]
        expected = np.histogram(sample.score[y[400:] == k], edges)[0]
        assert len(strip) == (expected > 0).sum()
        unit = (base[0] - base[1]) * 0.94 / expected.max()
        assert strip[:, 3] / unit == pytest.approx(expected[expected > 0], abs=0.2 / unit)


def test_the_page_names_the_classes_of_the_histogram():
    x, y = loans()
    text = report(TreeRank(max_depth=3).fit(x, y), x, y, out=None)
    start = text.index('id="histogram"')
    svg = text[start : text.index("</svg>", start)]
    assert ">default = 1<" in svg
    assert ">default = 0<" in svg


@pytest.mark.parametrize("share", [0.0, 0.5, 0.97])
def test_a_column_with_one_frequent_value_has_a_curve(share):
    rng = np.random.default_rng(0)
    column = np.where(rng.random(2000) < share, 0.0, rng.lognormal(size=2000))
    places = _places_of_grid(column)
    assert len(places) == GRID
    grid = column[places]
    assert (np.diff(grid) > 0).all()
    others = column[column > 0]
    assert grid[-1] > np.quantile(others, 0.8)
    assert (grid[0] == 0) == (share > 0)
    few = np.where(rng.random(2000) < 0.99, 0.0, rng.integers(1, 4, 2000))
    assert few[_places_of_grid(few)].tolist() == [0, 1, 2, 3]


def test_values_are_counted_below_the_curve():
    x, y = loans(1000)
    model = TreeRank(max_depth=4).fit(x, y)
    sample = read_sample(model, x, y, None)
    [found] = dependence_pictures(model, sample, [0], 0)
    picture = found["picture"]
    density = bars(picture, "density")
    known = x.income.dropna().to_numpy()
    counts, _ = np.histogram(known, np.linspace(*picture.x_range, DENSITY_BINS + 1))
    assert density[:, 3] / density[:, 3].max() == pytest.approx(
        counts[counts > 0] / counts.max(), abs=0.05
    )
    assert found["missing"] == pytest.approx(x.income.isna().mean())
    curve = next(mark["d"] for mark in picture.marks if mark["kind"] == "curve")
    lowest = max(float(v) for v in re.findall(r" ([\d.]+)", curve))
    assert lowest < density[:, 1].min()  # pixels from the top: the curve is above the bars


@pytest.mark.parametrize("model", [TreeRank(max_depth=4), RankingForest(n_estimators=10)])
def test_levels_have_their_names_on_the_axis(model):
    x, y = loans(1000)
    x["purpose"] = x.purpose.where(x.index % 10 > 0, "a very long purpose that no axis can hold")
    model.fit(x, y)
    sample = read_sample(model, x, y, None)
    [found] = dependence_pictures(model, sample, [2], 0)
    picture = found["picture"]
    names = [picture.full_names[text] for _, text in picture.y_ticks]
    assert sorted(names) == sorted(x.purpose.unique())
    assert all(len(text) <= 20 for _, text in picture.y_ticks)
    density = bars(picture, "density")
    share = x.purpose.value_counts()[names].to_numpy()
    assert density[:, 2] / density[:, 2].max() == pytest.approx(share / share.max(), abs=0.02)
    dots = [float(mark["cx"]) for mark in picture.marks if mark["kind"] == "dot"]
    assert dots == sorted(dots, reverse=True)
    text = report(model, x, y, out=None)
    assert "<title>a very long purpose that no axis can hold</title>" in text
    assert ">&lt;b&gt;boat&lt;/b&gt;<" in text


def test_of_many_levels_the_most_frequent_are_drawn():
    rng = np.random.default_rng(0)
    x, y = loans(2000)
    x["purpose"] = [f"level {int(k)}" for k in rng.geometric(0.15, 2000)]
    x["purpose"] = x.purpose.where(rng.random(2000) < 0.8, x.purpose + " and others")
    y = (y + x.purpose.str.contains("1") > 0).astype(int)
    model = TreeRank(max_depth=4).fit(x, y)
    [found] = dependence_pictures(model, read_sample(model, x, y, None), [2], 0)
    names = set(found["picture"].full_names.values())
    assert names == set(x.purpose.value_counts().index[:12])
    assert found["n_more"] == x.purpose.nunique() - 12
