"""Rows that can be looked up in the page, by id or number."""

import json
import re

import numpy as np
import pytest
from report_data import NASTY, grades, loans

from treerank import BoostedTreeRank, RankingForest, TreeRank, report
from treerank.baselines import RankBoost
from treerank.inspection import reasons


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def data():
    x, y = loans(1300)
    return x[:300], y[:300], x[300:], y[300:]


def test_rows_have_their_score_place_stratum_and_reasons(data):
    x, y = data[2:]
    model = TreeRank(max_depth=4).fit(*data[:2])
    ids = [f"L-{k}" for k in range(1000)]
    found = data_of(report(model, x, y, out=None, ids=ids, rows=[17, 4]))["lookup"]
    scores, strata = model.score_samples(x), model.apply(x)
    assert 300 <= len(found["rows"]) <= 302
    assert (found["total"], found["has_ids"], found["n_strata"]) == (1000, True, max(strata) + 1)
    assert {4, 17} <= {row["row"] for row in found["rows"]}
    for row in found["rows"][::20]:
        k = row["row"]
        assert row["id"] == ids[k]
        assert row["score"] == scores[k]
        assert row["rank"] == 1 + (scores > scores[k]).sum()
        assert row["stratum"] == strata[k]
        assert row["label"] == str(y.iloc[k])
    some = found["rows"][:10]
    down = reasons(model, x.iloc[[row["row"] for row in some]], 3, baseline=x, direction="down")
    assert any(down)
    for row, said in zip(some, down, strict=True):
        assert row["down"] == [f"{r.attribution:+.3g}: {r.text}" for r in said]
        assert len(row["up"]) + len(row["down"]) > 0


def test_small_tables_are_held_as_a_whole(data):
    model = BoostedTreeRank(n_estimators=5).fit(*data[:2])
    text = report(model, data[2][:50], data[3][:50], out=None)
    found = data_of(text)["lookup"]
    assert [row["row"] for row in found["rows"]] == list(range(50))
    assert not any("id" in row or "stratum" in row for row in found["rows"])
    assert all("up" in row for row in found["rows"])
    assert "This file holds all 50 rows." in text


def test_forests_have_reasons_for_the_rows_explained_alone(data):
    model = RankingForest(n_estimators=5).fit(*data[:2])
    text = report(model, *data[2:], out=None, rows=[3, 9])
    found = data_of(text)["lookup"]
    assert [row["row"] for row in found["rows"] if "up" in row] == [3, 9]
    assert "reasons are there for 2 of them" in text


def test_models_without_reasons_have_rows(data):
    x = data[0][["noise", NASTY]]
    model = RankBoost(n_estimators=5).fit(x, data[1])
    text = report(model, data[2][["noise", NASTY]], data[3], out=None)
    assert not any("up" in row for row in data_of(text)["lookup"]["rows"])
    assert "reasons are there" not in text


def test_no_row_is_held_where_none_is_wanted(data):
    model = TreeRank(max_depth=3).fit(*data[:2])
    text = report(model, *data[2:], out=None, rows=0, ids=np.arange(1000))
    assert data_of(text)["lookup"] is None
    assert 'id="lookup"' not in text


def test_ids_belong_to_the_rows_as_they_were_given(data):
    model = TreeRank(max_depth=3).fit(*data[:2])
    x, y = data[2:]
    weight = np.arange(1000) % 2
    found = data_of(report(model, x, y, out=None, ids=range(5000, 6000), sample_weight=weight))
    assert all(row["id"] == str(5000 + row["row"]) for row in found["lookup"]["rows"])
    assert all(row["row"] % 2 == 1 for row in found["lookup"]["rows"])
    with pytest.raises(ValueError, match="Got 2 ids for 1000 rows; expected one for each row"):
        report(model, x, y, out=None, ids=["a", "b"])


def test_a_row_is_looked_up_in_the_browser(data, folder, visit):
    x, y = data[2:]
    model = TreeRank(max_depth=4).fit(*data[:2])
    ids = [f"L-{k}" for k in range(1000)]
    ids[7] = NASTY
    report(model, x, y, out=folder / "lookup.html", ids=ids, rows=[7, 20])
    page = visit("lookup")
    found = page.locator("#lookup-found")
    assert found.inner_text() == ""

    def ask(key):
        page.locator("#lookup-key").fill(key)
        page.locator("#lookup-key").press("Enter")
        return found.inner_text()

    score, place = model.score_samples(x), model.apply(x)
    said = ask("L-20")
    assert said.startswith("L-20 (row 20)")
    rank = 1 + (score > score[20]).sum()
    assert f"place {rank} of 1,000, stratum {place[20]} of 0 to {place.max()}" in said
    assert f"actual: {y.iloc[20]}." in said
    assert "What moved it " in said
    assert ask("20").startswith("L-20 (row 20)")
    assert ask(f" {NASTY} ").startswith(NASTY)
    assert "is not among the 30" in ask("no such id")
    assert ask("") == ""


def test_without_scripts_nothing_pretends_to_look_up(folder, visit):
    x, y = grades()
    report(TreeRank(max_depth=2).fit(x, y), x, y, out=folder / "plain.html")
    page = visit("plain", java_script_enabled=False)
    assert not page.locator("#lookup").is_visible()
    assert page.locator("#summary").is_visible()
    assert page.locator(".drawn-tree").is_visible()
    assert visit("plain").locator("#lookup").is_visible()
