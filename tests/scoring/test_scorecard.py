"""Scorecards: grades, points and probabilities of a model, the same in files and databases."""

import copy
import json
import pickle
import sqlite3
import warnings

import numpy as np
import pytest
import saved_models
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_sql, to_text
from treerank.metrics import calibration_slope, roc_auc_score
from treerank.scoring import Grades, Points, Scorecard
from treerank.scoring._scorecard import unwrap

MODELS = {
    "tree": TreeRank(),
    "tree by place": TreeRank(shrinkage=None),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=20, oob_score=True),
    "forest of ranks": RankingForest(n_estimators=10, aggregation="mean_rank"),
    "boosting": BoostedTreeRank(n_estimators=20),
}
GRADES = Grades(5, names=["AAA", "AA", "A", "B'", "C"], reverse=True)


def loans(n=1500):
    return saved_models.loans(n)


@pytest.fixture(scope="module")
def cards():
    X, y = loans()
    wanted = {"grades": GRADES, "points": Points(pdo=20, base_score=600, reverse=True)}
    return {name: Scorecard(model, **wanted).fit(X, y) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_changes_the_ranking(cards, name):
    X, y = loans()
    card = cards[name]
    scores = card.score_samples(X)
    assert np.array_equal(scores, card.estimator_.score_samples(X))
    assert roc_auc_score(y, card.predict_proba(X)[:, 1]) == roc_auc_score(y, scores)
    points = card.predict_points(X)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(points[order]) <= 0).all()
    assert (np.diff(card.grades_.apply(scores[order])) >= 0).all()


@pytest.mark.parametrize("name", ["tree", "tree by place", "leafrank"])
def test_strata_that_differ_in_score_differ_in_points(cards, name):
    table = cards[name].to_frame("stratum")
    assert (np.sign(np.diff(table["points"])) == -np.sign(np.diff(table["score"]))).all()
    exact = Points(reverse=True).exact(np.log(table["probability"] / (1 - table["probability"])))
    assert np.abs(table["points"] - exact).max() < max(1, len(table) / 2)


@pytest.mark.parametrize("name", MODELS)
def test_points_of_one_grade_lie_apart_from_those_of_the_next(cards, name):
    table = cards[name].to_frame()
    assert (table["points_from"] <= table["points_to"]).all()
    assert (table["points_from"].to_numpy()[:-1] > table["points_to"].to_numpy()[1:]).all()
    X, _ = loans()
    grade, points = cards[name].predict_grade(X), cards[name].predict_points(X)
    for row in table.to_dict("records"):
        of_grade = points[grade == row["grade"]]
        assert row["points_from"] <= of_grade.min()
        assert of_grade.max() <= row["points_to"]


def test_rows_are_held_out_and_the_grades_hold_for_new_ones(cards):
    card = cards["tree"]
    assert card.held_out_ == "held-out rows of 5 folds"
    assert cards["forest"].held_out_ == "out-of-bag rows"
    assert card.grades_.counts_.sum() == len(loans()[0])
    new_X, new_y = saved_models.loans(4000)
    new_X, new_y = new_X[1500:], new_y[1500:]
    table = card.grades_.to_frame(card.score_samples(new_X), new_y)
    rates = table["event_rate"].to_numpy()
    assert rates[0] < rates[-1]
    assert abs(calibration_slope(new_y, card.predict_proba(new_X)[:, 1]).slope - 1) < 0.3


def test_a_model_that_is_fitted_already_is_graded_on_the_rows_given():
    X, y = loans()
    model = TreeRank().fit(X[:800], y[:800])
    card = Scorecard(model, cv="prefit").fit(X[800:], y[800:])
    assert card.estimator_ is model
    assert card.grades_.counts_.sum() == 700
    with pytest.raises(NotFittedError):
        Scorecard(TreeRank(), cv="prefit").fit(X, y)


@pytest.mark.filterwarnings("ignore:The score does not rank", "ignore:No two ranges")
def test_a_model_without_differences_gives_the_same_points_to_all(tmp_path):
    x, y = np.zeros((60, 1)), np.arange(60) % 2
    card = Scorecard(RankingForest(n_estimators=5), points=Points(base_odds=1)).fit(x, y)
    assert card.predict_points(x).tolist() == [600] * 60
    assert card.to_frame()[["points_from", "points_to"]].to_numpy().tolist() == [[600, 600]]
    treerank.save(card, tmp_path / "card.json")
    assert treerank.load(tmp_path / "card.json").predict_points(x).tolist() == [600] * 60
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (x0 REAL)")
    database.execute("INSERT INTO rows VALUES (0)")
    [row] = database.execute(to_sql(card, "rows", "sqlite", columns=["x0"])).fetchall()
    assert 600 in row


WEIGHTS = {
    "none": lambda n: None,
    "fractions": lambda n: np.random.default_rng(0).uniform(0.5, 2, n),
    "some zero": lambda n: np.arange(n) % 3.0,
}
SEEN = {
    "tree": TreeRank(random_state=0),
    "balanced tree": TreeRank(random_state=0, class_weight="balanced"),
    "forest": RankingForest(n_estimators=10, random_state=0),
    "balanced forest": RankingForest(n_estimators=10, random_state=0, class_weight="balanced"),
    "half of the rows": RankingForest(n_estimators=10, max_samples=0.5, random_state=0),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", SEEN)
def test_a_model_that_is_fitted_already_warns_of_its_training_rows(name, weights):
    X, y = loans()
    X, new_X, y, new_y = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    weight = WEIGHTS[weights](len(y))
    model = clone(SEEN[name]).fit(X, y, sample_weight=weight)
    card = Scorecard(model, cv="prefit")
    with pytest.warns(UserWarning, match="Got cv='prefit' with the rows that the model was fitted"):
        card.fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        card.fit(new_X, new_y, weight)  # as many of each class


def test_grades_of_a_tree_are_unions_of_its_strata(cards):
    card = cards["tree"]
    X, _ = loans()
    stratum, grade = card.estimator_.apply(X), card.predict_grade(X)
    for k in np.unique(stratum):
        assert len(set(grade[stratum == k])) == 1
    assert len(card.rules()) == len(card.grades_.names_)
    text = to_text(card)
    assert text.startswith(f"{len(card.grades_.names_)} grades, best first")
    assert card.rules()[0] in text


def test_a_rule_of_a_grade_lets_in_just_its_rows():
    rng = np.random.default_rng(0)
    import pandas as pd

    X = pd.DataFrame({"a": rng.integers(0, 5, 3000), "b": rng.integers(0, 5, 3000)})
    y = (rng.random(3000) < 0.1 + 0.1 * X["a"] + 0.05 * X["b"]).astype(int)
    card = Scorecard(TreeRank(max_depth=4), grades=3, calibration=None).fit(X, y)
    grade = card.predict_grade(X)
    for name, rule in zip(card.grades_.names_, card.rules(), strict=True):
        condition = rule.replace(" and ", " & ").replace(" or ", " | ")
        for column in "ab":
            condition = condition.replace(f"< {column} <=", f"< {column} & {column} <=")
        assert np.array_equal(grade == name, X.eval(_bracketed(condition)))


def _bracketed(condition):
    """Comparisons bind tighter than & and | only in brackets."""
    import re

    return re.sub(r"([\d.]+ < \w+|\w+ (?:<=|>) [\d.]+)", r"(\1)", condition)


def test_ordered_classes_have_grades_and_no_points():
    X, _ = loans()
    score = TreeRank().fit(*loans()).score_samples(X)
    y = np.digitize(score + np.random.default_rng(0).normal(0, 0.2, len(score)), [-0.3, 0.0])
    card = Scorecard(TreeRank(), grades=4).fit(X, y)
    assert card.calibrator_ is None
    assert np.array_equal(card.predict_proba(X), card.estimator_.predict_proba(X))
    table = card.to_frame()
    assert (np.diff(table["share_1"] + 2 * table["share_2"]) < 0).all()
    with pytest.raises(ValueError, match="Got 3 classes with points or a calibration"):
        Scorecard(TreeRank(), points=Points()).fit(X, y)


def test_labels_in_an_order_of_their_own():
    X, y = loans()
    named = np.where(np.asarray(y) == 1, "bad", "good")
    card = Scorecard(TreeRank(label_order=["good", "bad"]), points=Points()).fit(X, named)
    same = Scorecard(TreeRank(), points=Points()).fit(X, y)
    assert np.array_equal(card.predict_points(X), same.predict_points(X))
    assert np.array_equal(card.grades_.counts_, same.grades_.counts_)


def test_other_classifiers_can_be_graded():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = (rng.random(1000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    card = Scorecard(LogisticRegression(), points=Points()).fit(X, y)
    assert len(set(card.predict_grade(X))) > 2
    with pytest.raises(TypeError, match="Got a LogisticRegression"):
        treerank.save(card, "never.json")


def test_another_population_moves_probabilities_and_points(cards):
    X, y = loans()
    card = Scorecard(TreeRank(), points=Points(reverse=True), population_rate=0.01).fit(X, y)
    assert card.predict_proba(X)[:, 1].mean() < 0.05
    assert (card.predict_points(X) > cards["tree"].predict_points(X)).all()
    assert np.array_equal(card.score_samples(X), cards["tree"].score_samples(X))


@pytest.mark.parametrize("name", MODELS)
def test_model_files_carry_grades_points_and_calibration(cards, name, tmp_path):
    X, _ = loans()
    card = cards[name]
    treerank.save(card, tmp_path / "card.json")
    again = treerank.load(tmp_path / "card.json")
    assert isinstance(again, Scorecard)
    assert np.array_equal(again.predict_points(X), card.predict_points(X))
    assert np.array_equal(again.predict_grade(X), card.predict_grade(X))
    assert np.array_equal(again.predict_proba(X), card.predict_proba(X))
    assert again.to_frame().equals(card.to_frame())
    treerank.save(again, tmp_path / "again.json")
    assert (tmp_path / "card.json").read_bytes() == (tmp_path / "again.json").read_bytes()


@pytest.mark.parametrize("calibration", ["beta", "sigmoid", "isotonic"])
def test_files_of_every_calibration_follow_the_schema(calibration, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    from pathlib import Path

    X, y = loans(600)
    card = Scorecard(TreeRank(), calibration=calibration, points=Points()).fit(X, y)
    treerank.save(card, tmp_path / "card.json")
    schema = Path(treerank.__file__).parent / "_io" / "model_file" / "model-1.schema.json"
    jsonschema.validate(
        json.loads((tmp_path / "card.json").read_text()), json.loads(schema.read_text())
    )
    again = treerank.load(tmp_path / "card.json")
    assert np.array_equal(again.predict_proba(X), card.predict_proba(X))


BREAKS = [
    (["grades", "cuts", "values"], [2.0, 1.0], "numbers that rise"),
    (["grades", "names"], ["A", "A", "B"], "names, all different"),
    (["points", "pdo"], 0, "pdo"),
    (["points", "values", "values"], None, "points in the order of the score"),
    (["calibration", "coefficients", "values"], [-1.0, 1.0, 0.0], "slopes above 0"),
    (["calibration"], None, "a calibration where there are points"),
    (["calibration", "parameters", "method"], "magic", "method"),
    (["held_out"], 3, "text"),
    (["more"], 3, "unknown field"),
]


@pytest.fixture(scope="module")
def saved_card(tmp_path_factory):
    path = tmp_path_factory.mktemp("card") / "card.json"
    treerank.save(Scorecard(TreeRank(), points=Points()).fit(*loans(600)), path)
    return path.read_text()


@pytest.mark.parametrize(("path", "value", "message"), BREAKS)
def test_damaged_scorecards_are_refused(saved_card, path, value, message, tmp_path):
    document = json.loads(saved_card)
    at = document["scorecard"]
    for step in path[:-1]:
        at = at[step]
    if path[-1] == "values" and value is None:
        value = at["values"][::-1]
    if path[-1] == "values":
        at["shape"] = [len(value)]
    at[path[-1]] = value
    (tmp_path / "broken.json").write_text(json.dumps(document))
    with pytest.raises(treerank.ModelFileError, match=message):
        treerank.load(tmp_path / "broken.json")


def in_sqlite(card, rows):
    with sqlite3.connect(":memory:") as connection:
        frame = rows.assign(key=np.arange(len(rows)))
        frame.to_sql("loans", connection, index=False)
        query = to_sql(card, "loans", "sqlite", columns=["key"])
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        found = sorted(cursor.fetchall())
    return {name: np.array([row[k] for row in found]) for k, name in enumerate(names)}


def in_duckdb(card, rows):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("loans", rows.assign(key=np.arange(len(rows))))
        query = to_sql(card, "loans", "duckdb", columns=["key"])
        found = connection.execute(f"SELECT * FROM ({query}) ORDER BY key").fetchnumpy()
    return {name: np.asarray(column) for name, column in found.items()}


@pytest.mark.parametrize("name", ["tree", "tree by place", "leafrank", "forest", "boosting"])
def test_databases_give_the_grades_and_points_of_python(cards, name):
    card = cards[name]
    rows = saved_models.new_rows(2000 if hasattr(card.estimator_, "partition_") else 150)
    databases = [in_duckdb] if name in ("forest",) else [in_duckdb, in_sqlite]
    for database in databases:  # SQLite adds a forest up in double precision
        found = database(card, rows)
        assert found["grade"].tolist() == card.predict_grade(rows).tolist()
        assert found["points"].tolist() == card.predict_points(rows).tolist()
        if hasattr(card.estimator_, "partition_"):
            assert np.allclose(found["probability"], card.predict_proba(rows)[:, 1], rtol=1e-15)
        else:
            assert "probability" not in found


def test_columns_of_the_scorecard_cannot_be_returned_twice(cards):
    with pytest.raises(ValueError, match="Got 'points' among columns"):
        to_sql(cards["tree"], "loans", columns=["points"])
    assert "points" in to_sql(unwrap(cards["tree"])[0], "loans", columns=["points"])


def test_pickles_and_copies_are_the_same(cards):
    X, _ = loans(300)
    for again in (pickle.loads(pickle.dumps(cards["tree"])), copy.deepcopy(cards["forest"])):
        name = "tree" if isinstance(again.estimator_, TreeRank) else "forest"
        assert np.array_equal(again.predict_points(X), cards[name].predict_points(X))
        assert np.array_equal(again.decision_function(X), cards[name].score_samples(X))


def test_a_failed_fit_leaves_the_scorecard_as_it_was():
    X, y = loans(600)
    card = Scorecard(TreeRank(), points=Points()).fit(X, y)
    before = card.to_frame()
    card.set_params(grades=Grades(min_share=0.3, max_share=0.3))
    with pytest.raises(ValueError, match="no way to cut"):
        card.fit(X, y)
    assert card.to_frame().equals(before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grades": 1}, "Got max_grades=1"),
        ({"grades": "seven"}, "Got grades='seven'; expected an integer >= 2, Grades"),
        ({"points": 20}, "Got points=20; expected Points"),
        ({"calibration": "platt"}, "Got calibration='platt'"),
        ({"calibration": None, "points": Points()}, "Got calibration=None with points"),
        ({"calibration": None, "population_rate": 0.1}, "Got calibration=None with points or"),
        ({"population_rate": 0.0}, "Got population_rate=0.0"),
        ({"cv": 1}, "Got cv=1"),
        ({"cv": "folds"}, "Got cv='folds'"),
    ],
)
def test_what_cannot_be_done_is_said(options, message):
    card = Scorecard(TreeRank(), **options)
    with pytest.raises(ValueError, match=message):
        card.fit(*loans(300))
    assert clone(card).get_params()["cv"] == card.cv


def test_what_was_not_asked_for_is_not_there():
    X, y = loans(600)
    card = Scorecard(RankingForest(n_estimators=10), grades=None).fit(X, y)
    with pytest.raises(ValueError, match="without grades; expected one fitted with grades="):
        card.predict_grade(X)
    with pytest.raises(ValueError, match="without points"):
        card.predict_points(X)
    with pytest.raises(ValueError, match="many trees have no strata"):
        card.to_frame("stratum")
    with pytest.raises(NotFittedError):
        Scorecard(TreeRank()).predict_points(X)


def test_postgresql_gives_the_grades_and_points_of_python(cards, postgres_server):
    rows = saved_models.new_rows(100)
    kinds = ", ".join(
        f'"{name}" {"text" if rows[name].dtype.kind not in "fib" else "float8"}'
        for name in rows
        if name != "member"
    )
    ask = postgres_server.ask
    ask(
        f'DROP TABLE IF EXISTS graded; CREATE TABLE graded (key integer, {kinds}, "member" boolean)'
    )
    order = [name for name in rows if name != "member"]
    table = rows.assign(key=np.arange(len(rows)))[["key", *order, "member"]]
    ask("COPY graded FROM STDIN WITH (FORMAT csv)", table.to_csv(index=False, header=False))
    for name in ("tree", "forest"):
        query = to_sql(cards[name], "graded", columns=["key"])
        asked = f"COPY (SELECT grade, points FROM ({query}) AS s ORDER BY key) TO STDOUT CSV"
        found = [line.split(",") for line in ask(asked).splitlines()]
        assert [line[0] for line in found] == cards[name].predict_grade(rows).tolist()
        assert [int(line[1]) for line in found] == cards[name].predict_points(rows).tolist()
