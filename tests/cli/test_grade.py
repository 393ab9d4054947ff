"""`treerank fit --grades` and `treerank grade`: grades and points from the command line."""

import csv
import json
import sqlite3

import numpy as np
import pytest
import saved_models
from command_line import run

import treerank
from treerank.cli._grading import CALIBRATIONS
from treerank.scoring import Scorecard
from treerank.scoring._calibrator import METHODS


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    X, y = saved_models.loans(2400)
    rows = X.assign(default=y)
    rows[:1600].to_csv(folder / "train.csv", index=False)
    rows[1600:].to_csv(folder / "new.csv", index=False)
    return folder


POINTS = ["--points", "--pdo", "40", "--base-score", "500", "--base-odds", "10", "--reverse"]


def test_fit_writes_grades_and_points_into_the_model_file(tables, tmp_path):
    done = run("fit", tables / "train.csv", "--target", "default", "--grades", "4",
               "--grade-names", "A,B,C,D", *POINTS, "--save", tmp_path / "m.json",
               "--report", tmp_path / "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Grades, best first; rates of held-out rows of 5 folds." in done.output
    card = treerank.load(tmp_path / "m.json")
    assert isinstance(card, Scorecard)
    assert set(card.grades_.names_) <= set("ABCD")
    assert (card.points.pdo, card.points.base_score, card.points.base_odds) == (40, 500, 10)
    assert 'id="grades"' in (tmp_path / "r.html").read_text()


def test_score_writes_grade_points_and_calibrated_probability(tables, tmp_path):
    model, out = tmp_path / "m.json", tmp_path / "scores.csv"
    run("fit", tables / "train.csv", "--target", "default", "--grades", "4", *POINTS,
        "--save", model)  # fmt: skip
    done = run("score", model, tables / "new.csv", "--probability", "--out", out)
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0])[:4] == ["score", "stratum", "grade", "points"]
    card = treerank.load(model)
    score = np.array([float(row["score"]) for row in rows])
    assert [row["grade"] for row in rows] == card.grades_.predict(score).tolist()
    assert [int(row["points"]) for row in rows] == card.points_of(score).tolist()
    p = np.array([float(row["probability_1"]) for row in rows])
    assert np.array_equal(p, card.probabilities_of(score)[:, 1])


def test_grade_says_of_training_rows_that_others_are_needed(tables, tmp_path):
    model, table = tmp_path / "m.json", tables / "train.csv"
    run("fit", table, "--target", "default", "--cv", 0, "--save", model)
    done = run("grade", model, table, "--target", "default", "--save", tmp_path / "g.json")
    assert done.exit_code == 0, done.output
    [line] = [line for line in done.stderr.splitlines() if "rows that the model was" in line]
    assert line.startswith("treerank: note: Got the rows that the model was fitted to; expected")
    assert line.endswith("too extreme. Give other rows.")


def test_grade_takes_rows_that_the_model_has_not_seen(tables, tmp_path):
    model, graded = tmp_path / "f.treerank", tmp_path / "g.treerank"
    run("fit", tables / "train.csv", "--target", "default", "--model", "forest", "--trees", "20",
        "--save", model)  # fmt: skip
    done = run("grade", model, tables / "new.csv", "--target", "default", "--grades", "3",
               "--calibration", "sigmoid", "--population-rate", "0.01", *POINTS,
               "--save", graded)  # fmt: skip
    assert done.exit_code == 0, done.output
    card = treerank.load(graded)
    assert card.grades_.counts_.sum() == 800
    assert card.calibrator_.method == "sigmoid"
    assert card.calibrator_.population_rate == 0.01
    # A model file with grades can be graded again, evaluated, reported and exported.
    assert run("grade", graded, tables / "new.csv", "--target", "default",
               "--save", tmp_path / "again.treerank").exit_code == 0  # fmt: skip
    judged = run("evaluate", graded, tables / "new.csv", "--target", "default", "--json")
    assert json.loads(judged.output)["metric"] == "AUC"
    assert run("report", graded, tables / "new.csv", "--target", "default",
               "--out", tmp_path / "r.html").exit_code == 0  # fmt: skip
    query = run("export", graded, "--to", "sql", "--dialect", "sqlite", "--column", "income")
    assert "AS points" in query.output
    assert sqlite3.complete_statement(query.output)


def test_rules_say_the_grades_first(tables, tmp_path):
    run("fit", tables / "train.csv", "--target", "default", "--grades", "3",
        "--save", tmp_path / "m.json")  # fmt: skip
    assert run("rules", tmp_path / "m.json").output.startswith("3 grades, best first")
    found = json.loads(run("rules", tmp_path / "m.json", "--json").output)
    assert [grade["grade"] for grade in found["grades"]] == ["1", "2", "3"]
    tree = treerank.load(tmp_path / "m.json").estimator_
    assert [stratum["rule"] for stratum in found["strata"]] == tree.partition_.rules()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grades", "3", "--cv", "0"], "without held-out rows; expected --cv 2 or more"),
        (["--grades", "1"], "Got --grades 1; expected 2 or more."),
        (["--grades", "0"], "Got --grades 0; expected 2 or more."),
        (["--grades", "5", "--grade-names", "A,B"], "Got 2 names in --grade-names for up to 5"),
        (["--grade-names", "A,A"], "Got --grade-names A,A; expected two or more names that all"),
        (["--grade-names", "A"], "Got --grade-names A; expected two or more names"),
        (["--points", "--pdo", "0"], "Got --pdo 0; expected a number above 0."),
        (["--points", "--pdo", "-5"], "Got --pdo -5; expected a number above 0."),
        (["--points", "--base-odds", "inf"], "Got --base-odds inf; expected a number above 0."),
        (["--points", "--base-score", "nan"], "Got --base-score nan; expected a finite number."),
        (["--population-rate", "2"], "Got --population-rate 2; expected a share above 0 and"),
        (["--population-rate", "0"], "Got --population-rate 0; expected a share above 0 and"),
        (["--calibration", "platt"], "Got --calibration platt; expected beta, sigmoid or isotonic"),
        (["--bootstrap", "-1"], "Got --bootstrap -1; expected 2 samples or more, such as 200, or"),
        (["--bootstrap", "1"], "Got --bootstrap 1; expected 2 samples or more"),
    ],
)
def test_bad_options_are_refused_before_any_work(tables, tmp_path, monkeypatch, words, message):
    monkeypatch.setattr(treerank.TreeRank, "fit", None)
    done = run("fit", tables / "train.csv", "--target", "default", *words,
               "--save", tmp_path / "m.json")  # fmt: skip
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "m.json").exists()


def test_bad_options_of_grade_are_refused_before_any_work(tmp_path):
    done = run("grade", "no.model", "no.csv", "--target", "default", "--grade-names", "A,B",
               "--save", tmp_path / "m.json")  # fmt: skip
    assert done.exit_code == 2
    assert "Got 2 names in --grade-names for up to 7 grades; expected a name for" in done.stderr


@pytest.mark.parametrize("words", [["--points"], ["--calibration", "beta"]])
def test_points_of_three_classes_are_refused_before_the_fit(tmp_path, monkeypatch, words):
    monkeypatch.setattr(treerank.TreeRank, "fit", None)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(60)))
    done = run("fit", path, "--target", "y", *words)
    assert done.exit_code == 2
    assert f"Got {words[0]} for 3 classes; expected two" in done.stderr


def test_the_command_line_knows_every_calibration():
    assert CALIBRATIONS == METHODS


def test_fit_says_optimism_and_instability(tables, tmp_path):
    done = run("fit", tables / "train.csv", "--target", "default", "--max-depth", "3",
               "--bootstrap", "3", "--report", tmp_path / "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "3 bootstrap samples" in done.output
    assert 'id="validation"' in (tmp_path / "r.html").read_text()
