"""`treerank fit --grades` and `treerank grade`: grades and points from the command line."""

import csv
import json
import sqlite3

import numpy as np
import pytest
import saved_models
from command_line import run

import treerank
from treerank.scoring import Scorecard


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grades", "3", "--cv", "0"], "without held-out rows; expected --cv 2 or more"),
        (["--grades", "1"], "Got max_grades=1"),
        (["--grades", "5", "--grade-names", "A,B"], "Got 2 names for up to 5 grades"),
        (["--points", "--pdo", "0"], "Got pdo=0"),
        (["--population-rate", "1"], "Got population_rate=1.0"),
        (["--calibration", "platt"], "Got calibration='platt'"),
    ],
)
def test_bad_options_are_one_line_and_leave_no_file(tables, tmp_path, words, message):
    done = run("fit", tables / "train.csv", "--target", "default", *words,
               "--save", tmp_path / "m.json")  # fmt: skip
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "m.json").exists()


def test_fit_says_optimism_and_instability(tables, tmp_path):
    done = run("fit", tables / "train.csv", "--target", "default", "--max-depth", "3",
               "--bootstrap", "3", "--report", tmp_path / "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "3 bootstrap samples" in done.output
    assert 'id="validation"' in (tmp_path / "r.html").read_text()
