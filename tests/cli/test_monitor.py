"""`treerank monitor`: page, JSON, exit status; dates, files, labels that are not there yet."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import run
from saved_models import loans

import treerank
from treerank import TreeRank
from treerank.scoring import monitor

pytest.importorskip("jinja2", reason="jinja2 is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    X, y = loans(1500)
    X["member"] = X["member"].map({True: "true", False: "false"})
    table = X.assign(default=np.where(y == 1, "yes", "no"), w=2)
    table["when"] = np.repeat(
        ["2025-11-30", "2025-12-31", "2026-01-05", "2026-02-11", "2026-03-31"], 300
    )
    model = TreeRank(max_depth=3).fit(X[:600], table["default"][:600])
    treerank.save(model, folder / "model.json")
    table[600:900].to_csv(folder / "baseline.csv", index=False)
    for name, rows in (("a", table[900:1200]), ("b", table[1200:])):
        rows.to_csv(folder / f"new-2026-{name}.csv", index=False)
    table[900:].to_parquet(folder / "new.parquet")
    late = table[900:].copy()
    late.loc[late["when"] > "2026-03", "default"] = None
    late.to_csv(folder / "late.csv", index=False)
    moved = table[900:].assign(income=lambda t: t["income"] * 30, home="tent")
    moved.drop(columns="default").to_csv(folder / "moved.csv", index=False)
    return folder, model, table


def watch(folder, *arguments, new="new-2026-*.csv", out="page.html"):
    return run("monitor", folder / "model.json", folder / "baseline.csv", folder / new,
               "--target", "default", "--out", folder / out, *arguments)  # fmt: skip


def test_the_command_writes_what_python_finds(folder):
    folder, model, table = folder
    columns = list(model.feature_names_in_)
    expected = monitor(
        model,
        (table[columns][600:900], table["default"][600:900]),
        (table[columns][900:], table["default"][900:]),
        table["when"][900:].str[:7],
    )
    for new in ("new-2026-*.csv", "new.parquet"):
        result = watch(folder, "--date", "when", new=new)
        assert result.exit_code == {"alarm": 3}.get(expected.status, 0), result.output
        assert result.stdout == f"{expected}\n"
        found = json.loads((folder / "page.json").read_text())
        assert found == json.loads(json.dumps(expected.to_dict()))
        text = (folder / "page.html").read_text()
        assert "2026-02" in text
        assert "Event: <strong>default = yes</strong>" in text
        assert "</html>" in text


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("day", ["2026-02-11", "2026-03-31"]),
        ("week", ["2026-W07", "2026-W14"]),
        ("quarter", ["2026-Q1"]),
        ("year", ["2026"]),
        ("value", ["2026-02-11", "2026-03-31"]),
    ],
)
def test_periods_are_as_long_as_asked(folder, by, names):
    watch(folder[0], "--date", "when", "--by", by, "--fail-on", "never")
    found = json.loads((folder[0] / "page.json").read_text())
    assert [period["name"] for period in found["periods"]] == names


def test_without_dates_each_file_is_a_period(folder):
    result = watch(folder[0], "--weight", "w", "--fail-on", "never")
    found = json.loads((folder[0] / "page.json").read_text())
    assert [period["name"] for period in found["periods"]] == ["new-2026-a", "new-2026-b"]
    assert [period["rows"] for period in found["periods"]] == [600, 600]
    assert result.exit_code == 0


def test_labels_may_come_later_or_not_at_all(folder):
    assert watch(folder[0], "--date", "when", new="late.csv").exit_code == 0
    found = json.loads((folder[0] / "page.json").read_text())
    assert [period["note"] for period in found["periods"]] == ["", "no labels yet"]
    assert found["periods"][1]["auc"] is None


def test_one_label_against_all_others_is_read_as_it_was_fitted(folder, tmp_path):
    folder, _, table = folder
    text = table.assign(
        default=np.where(table["default"] == "yes", "bad", table["home"].fillna("none"))
    )
    text[:900].to_csv(tmp_path / "baseline.csv", index=False)
    text[900:].to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "model.json"
    fitted = run("fit", tmp_path / "baseline.csv", "--target", "default", "--positive", "bad",
                 "--drop", "when", "--drop", "w", "--save", model)  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    watched = [model, tmp_path / "baseline.csv", tmp_path / "new.csv", "--target", "default",
               "--out", tmp_path / "page.html"]  # fmt: skip
    result = run("monitor", *watched)
    assert result.exit_code in (0, 3), result.output
    found = json.loads((tmp_path / "page.json").read_text())
    assert found["periods"][0]["events"] == (table["default"][900:] == "yes").sum()
    result = run("monitor", *watched, "--positive", "good")
    assert result.exit_code == 2
    assert "the model ranks the label bad first" in result.stderr


def test_the_exit_status_says_what_was_found(folder):
    result = watch(folder[0], "--date", "when", new="moved.csv")
    assert result.exit_code == 3
    assert "alarm: the distribution of the score has moved" in result.stdout
    assert "column 'home' has new levels: 'tent'" in result.stdout
    assert watch(folder[0], "--fail-on", "never", new="moved.csv").exit_code == 0
    assert watch(folder[0], "--fail-on", "watch", new="moved.csv").exit_code == 3


def test_what_is_wrong_is_said_in_one_line(folder, tmp_path):
    folder, _, table = folder
    bad = tmp_path / "bad.csv"
    cases = [
        ({"when": "31.13.2026"}, ["--date", "when"], "has '31.13.2026' in line 2; expected dates"),
        ({"when": "01/02/2026"}, ["--date", "when"], "give their order: --date-order dmy"),
        ({"when": "2026-02-31"}, ["--date", "when"], "expected dates such as 2026-03-31"),
        ({"when": None}, ["--date", "when"], "has no value in line 2"),
        ({"default": "perhaps"}, [], "has the label 'perhaps' in line 2; expected one of no, yes"),
        ({}, ["--date", "nope"], "there is no column 'nope' (--date)"),
        ({}, ["--target", "age"], "is one that the model ranks by"),
        ({}, ["--alpha", "2"], "Got --alpha 2.0; expected"),
    ]
    for changed, options, message in cases:
        table[900:910].assign(**changed).to_csv(bad, index=False)
        result = run("monitor", folder / "model.json", folder / "baseline.csv", bad, "--target",
                     "default", "--out", tmp_path / "page.html", *options)  # fmt: skip
        assert result.exit_code == 2, result.output
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert not (tmp_path / "page.html").exists()
        assert not (tmp_path / "page.json").exists()
    before = (folder / "model.json").read_bytes()
    result = watch(folder, out="model.html")
    assert result.exit_code == 2
    assert "model.json: this file is an input and would be overwritten" in result.stderr
    assert (folder / "model.json").read_bytes() == before
    result = watch(folder, new="none-*.csv")
    assert "no file matches" in result.stderr
    assert re.search("there is no such file", watch(folder, new="none.csv").stderr)
    pd.DataFrame(columns=table.columns).to_csv(bad, index=False)
    result = run("monitor", folder / "model.json", folder / "baseline.csv", bad, "--target",
                 "default", "--out", tmp_path / "page.html")  # fmt: skip
    assert "there are column names but no rows" in result.stderr


@pytest.mark.parametrize("option", ["--date", "--group", "--id"])
def test_a_date_that_the_model_ranks_by_may_be_named_by_an_option(tmp_path, option):
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2026-01-13") + pd.to_timedelta(rng.integers(0, 40, 400), unit="D")
    y = np.where(rng.random(400) < (days.month == 1) * 0.5 + 0.2, "yes", "no")
    table = pd.DataFrame({"x": rng.normal(size=400), "when": days.strftime("%d/%m/%Y"), "y": y})
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.json"
    assert run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0, "-o", model).exit_code == 0
    assert "when.days" in treerank.load(model).feature_names_in_
    rows, command = [tmp_path / "t.csv"], {"--date": "monitor", "--group": "evaluate"}
    if option == "--date":
        rows *= 2
    out = [] if option == "--group" else ["--out", tmp_path / "page.html"]
    result = run(command.get(option, "report"), model, *rows, "--target", "y", option, "when", *out)
    assert result.exit_code in (0, 3), result.output
    if option == "--date":
        periods = json.loads((tmp_path / "page.json").read_text())["periods"]
        assert "2026-01" in str(periods)
