"""Rows and models that the reports share; a real browser for the pages, where there is one."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from report_data import loans

from treerank import RankingForest, TreeRank

NAMES = ("chromium", "chromium-browser", "google-chrome")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("TREERANK_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), ""
    )
    if not program:
        pytest.skip("no Chromium on this machine (TREERANK_CHROMIUM can name one)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture
def visit(browser, folder):
    """Open a report; in the end no error, no message and no request may have come up."""
    pages, troubles = [], []

    def look(name, width=1280, **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        pages.append(page)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        address = (folder / f"{name}.html").as_uri()
        page.on("request", lambda r: None if r.url == address else troubles.append(r.url))
        page.goto(address)
        return page

    yield look
    for page in pages:
        page.close()
    assert troubles == []


@pytest.fixture
def axe_violations():
    """What axe-core, named by TREERANK_AXE or inside axe-playwright-python, objects to."""
    found = importlib.util.find_spec("axe_playwright_python")
    axe = Path(found.origin).with_name("axe.min.js") if found else None
    axe = Path(os.environ["TREERANK_AXE"]) if "TREERANK_AXE" in os.environ else axe
    if axe is None:
        pytest.skip("axe-core is not here (TREERANK_AXE can name axe.min.js)")

    def look(page):
        page.evaluate(axe.read_text(encoding="utf-8"))
        found = page.evaluate("tags => axe.run(document, {runOnly: tags})", TAGS)
        assert len(found["passes"]) > 10
        return [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found["violations"]]

    return look


@pytest.fixture(scope="session")
def data():
    """Rows to fit to and rows to judge, each with their labels."""
    x, y = loans()
    return x.iloc[:300], y.iloc[:300], x.iloc[300:], y.iloc[300:]


@pytest.fixture(scope="session")
def rows():
    """As `data`, with more rows to judge."""
    x, y = loans(900)
    return x.iloc[:300], y.iloc[:300], x.iloc[300:], y.iloc[300:]


@pytest.fixture(scope="session")
def tree(data):
    return TreeRank(max_depth=5, random_state=1).fit(data[0], data[1])


@pytest.fixture(scope="session")
def forest(data):
    return RankingForest(n_estimators=20, random_state=1).fit(data[0], data[1])
