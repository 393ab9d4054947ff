"""The page of a model that is watched, in a real browser: wide, narrow, light, dark, on paper."""

import numpy as np
import pytest
from report_data import NASTY, loans

from treerank import TreeRank
from treerank.scoring import monitor


@pytest.fixture(scope="module")
def pages(folder):
    """A steady page, and one with alarms, hostile names and periods that lack something."""
    x, y = loans(1200)
    model = TreeRank(max_depth=4).fit(x[:400], y[:400])
    months = np.repeat([f"2026-{k:02d}" for k in range(1, 9)], 50)
    new = x[800:].copy()
    steady = monitor(model, (x[400:800], y[400:800]), (new, y[800:]), months)
    steady.to_html(folder / "steady.html")
    new.iloc[150:, new.columns.get_loc("purpose")] = NASTY
    new.iloc[250:, new.columns.get_loc("income")] = 9000.0
    labels = y[800:].astype(float).to_numpy(copy=True)
    labels[100:150] = 0
    labels[350:] = np.nan
    moved = monitor(model, (x[400:800], y[400:800]), (new, labels), months)
    moved.to_html(folder / "moved.html", title=f"Watched {NASTY}")
    return {"steady": steady, "moved": moved}


@pytest.mark.parametrize("name", ["steady", "moved"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_accessible_and_fits(pages, visit, axe_violations, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#status").inner_text().lower() == pages[name].status
    assert axe_violations(page) == []


def test_the_page_runs_nothing_and_shows_hostile_names(pages, visit):
    page = visit("moved")
    assert page.locator("script").count() == 0
    assert NASTY in page.locator("h1").inner_text()
    assert page.locator("#columns-title").is_visible()
    text = page.locator("body").inner_text()
    assert "no events, so that there is no AUC" in text
    assert "no labels yet" in text
    assert NASTY in page.locator(".drift").inner_text()
    for word in ("NaN", "nan", "undefined", "Infinity"):
        assert word not in text.replace("undefined classes", "")


def test_a_break_in_the_curve_is_a_break(pages, visit):
    page = visit("moved")
    lines = page.locator("#auc path.curve")
    assert lines.count() == 2
    assert page.locator("#auc circle.dot").count() == 6


def test_it_prints(pages, visit):
    page = visit("moved")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert len(page.pdf(format="A4")) > 20_000
