"""`treerank fit --report` and `--test-share`: which rows evaluate the model, as the output says."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import run
from saved_models import loans

import treerank
from treerank.metrics import auc_interval


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    X, y = loans(600)
    path = tmp_path_factory.mktemp("fit") / "train.csv"
    X.assign(default=np.where(y == 1, "yes", "no")).to_csv(path, index=False)
    return path


def header(path):
    text = path.read_text()
    text = text[text.index("<header>") : text.index("</header>")]
    return " ".join(re.sub("<[^>]+>", " ", text).split())


def said_auc(output, rows):
    return re.search(rf"AUC on {rows}: ([\d.]+) \(95% interval ([\d.]+) to ([\d.]+)", output)


@pytest.mark.parametrize(
    ("options", "rows", "judged_on"),
    [
        (["--cv", 3], "held-out rows", "600 held-out rows of 3 folds"),
        (["--model", "forest", "--trees", 60], "rows a tree has not seen", "out-of-bag rows"),
        (["--model", "boosting", "--trees", 9], "held-out rows", "600 held-out rows of 5 folds"),
    ],
)
def test_print_and_report_have_the_same_held_out_auc(train, tmp_path, options, rows, judged_on):
    page = tmp_path / "page.html"
    result = run("fit", train, "--target", "default", *options, "--report", page)
    assert result.exit_code == 0, result.output
    said = said_auc(result.output, rows)
    own = float(re.search(r"AUC on the rows it was fitted to: ([\d.]+)\.\n", result.output)[1])
    shown = re.search(r"AUC ([\d.]+) ([\d.]+) to ([\d.]+)", header(page))
    shown, printed = ([float(a) for a in found.groups()] for found in (shown, said))
    assert shown == pytest.approx(printed, abs=0.0006)  # four digits against three
    assert judged_on in header(page)
    beside = re.search(r"AUC on the training rows ([\d.]+)", header(page))
    assert float(beside[1]) == pytest.approx(own, abs=0.0006)
    assert own > float(said[1])


def test_rows_that_are_kept_back_judge_the_model(train, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "model"
    result = run("fit", train, "--target", "default", "--test-share", 0.3, "--report", page,
                 "--save", model)  # fmt: skip
    assert result.exit_code == 0, result.output
    said = said_auc(result.output, "the 180 rows held back")
    assert "420 rows:" in result.output
    loaded = treerank.load(model)
    assert loaded.partition_.counts.sum() == 420
    shown = float(re.search(r"AUC ([\d.]+)", header(page))[1])
    assert shown == pytest.approx(float(said[1]), abs=0.0006)
    assert "evaluated on 180 rows" in header(page)
    table = pd.read_csv(train)
    share = (table["default"] == "yes").mean()
    kept = loaded.partition_.counts.sum(axis=0)
    assert kept[1] / kept.sum() == pytest.approx(share, abs=0.003)
    scores = loaded.score_samples(table[loaded.feature_names_in_].astype({"member": str}))
    assert auc_interval(table["default"], scores).auc > float(said[1])


def test_what_cannot_be_kept_back_is_said_in_one_line(train, tmp_path):
    cases = [
        (["--test-share", 1.2], "expected a share between 0 and 1"),
        (["--test-share", 0.0005], "leaves some of them on both sides"),
        (["--cv", 0, "--report", tmp_path / "r.html"], "Got --report with --cv 0"),
    ]
    for options, message in cases:
        result = run("fit", train, "--target", "default", *options)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    single = tmp_path / "single.csv"
    single.write_text("a,y\n" + "".join(f"{i % 7},{int(i == 3)}\n" for i in range(40)))
    result = run("fit", single, "--target", "y", "--report", tmp_path / "r.html")
    assert result.exit_code == 2
    assert "one of the classes has a single row" in result.stderr


@pytest.mark.parametrize(("text", "focus"), [("0.1", 0.1), ("0,0.05", (0.0, 0.05))])
def test_a_focus_on_the_command_line_is_that_of_the_model(train, tmp_path, text, focus):
    path = tmp_path / "model.treerank"
    done = run("fit", train, "--target", "default", "--focus", text, "--cv", 0, "--save", path)
    assert done.exit_code == 0, done.output
    assert treerank.load(path).focus == focus


@pytest.mark.parametrize("text", ["ten", "2", "0.2,0.1", ""])
def test_what_is_no_focus_is_one_line(train, text):
    done = run("fit", train, "--target", "default", "--focus", text)
    assert done.exit_code == 2
    assert "focus" in done.output
    said = " ".join(done.output.split())
    assert f"Got --focus {text}; expected a share of the rows" in said
    assert "leave out --focus" in said


@pytest.mark.parametrize("options", [["--cv", 3], ["--test-share", 0.3]])
def test_rows_of_the_report_are_looked_up_by_their_ids(train, tmp_path, options):
    table = pd.read_csv(train)
    table.insert(0, "branch", np.where(np.arange(len(table)) % 2, "north", "south"))
    table.insert(0, "customer", [f"c{1000 + k}" for k in range(len(table))])
    table.to_csv(tmp_path / "named.csv", index=False)
    page, model = tmp_path / "page.html", tmp_path / "model"
    result = run("fit", tmp_path / "named.csv", "--target", "default", "--id", "customer", "--id",
                 "branch", *options, "--save", model, "--report", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert not {"customer", "branch"} & set(treerank.load(model).feature_names_in_)
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>',
                                page.read_text(), re.DOTALL)[1])  # fmt: skip
    rows = data["lookup"]["rows"]
    assert len(rows) >= 100
    named = dict(zip(table["customer"] + ", " + table["branch"], table["default"], strict=True))
    assert all(named[row["id"]] == row["label"] for row in rows)
    if "--cv" in options:  # every row was scored, so that its number is its place in the file
        assert all(row["id"].startswith(f"c{1000 + row['row']},") for row in rows)
