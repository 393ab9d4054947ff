"""SQL in tables whose columns have the names that a query uses, and SQL of deep trees."""

import csv
import io
import sqlite3
from functools import cache

import numpy as np
import pandas as pd
import pytest

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_dict, to_onnx, to_sql, to_text

# Names that the queries use, reserved words, and columns of an earlier scoring.
FEATURES = ["score", "tree", "true", "Stratum", "source", "strata", "slot", 'walk"s', "numbered"]
EXTRA = ["stratum_", "kind", "probability", "row_id", "features", "value", "total", "root", "node"]
DIALECTS = ["sqlite", "duckdb", "postgresql"]
N_ROWS = 120


@cache
def sample():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, len(FEATURES))).round(3), columns=FEATURES)
    y = (X.to_numpy() @ np.arange(1, len(FEATURES) + 1) + rng.normal(size=N_ROWS) > 0).astype(int)
    X["true"] = np.where(X["true"] > 0, "yes", "no")
    return X, y


MODELS = {
    "tree": TreeRank(LeafRank(max_depth=2), max_depth=4, pruning=None),
    "deep tree": TreeRank(max_depth=None, min_samples_leaf=1, pruning=None),
    "forest": RankingForest(n_estimators=3),
    "boosted": BoostedTreeRank(n_estimators=3),
}


@cache
def fitted(name):
    return MODELS[name].fit(*sample())


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def definition(table, names):
    types = ["text" if name == "true" else "double precision" for name in names]
    columns = ", ".join(f"{quoted(n)} {t}" for n, t in zip(names, types, strict=True))
    return f"CREATE TABLE {quoted(table)} (id integer, {columns})"


class Sqlite:
    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def fill(self, table, names, rows):
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        self.connection.execute(definition(table, names))
        marks = ", ".join("?" * (len(names) + 1))
        self.connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)

    def ask(self, query):
        return self.connection.execute(query).fetchall()


class Duckdb(Sqlite):
    def __init__(self):
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")


class Postgresql:
    def __init__(self, server):
        self.server = server

    def fill(self, table, names, rows):
        self.server.ask(f"DROP TABLE IF EXISTS {quoted(table)}; {definition(table, names)}")
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        self.server.ask(f"COPY {quoted(table)} FROM STDIN (FORMAT csv)", text.getvalue())

    def ask(self, query):
        answer = self.server.ask(f"COPY ({query}) TO STDOUT (FORMAT csv)")
        return list(csv.reader(io.StringIO(answer)))


@pytest.fixture(params=DIALECTS, scope="module")
def database(request):
    if request.param == "postgresql":
        return request.param, Postgresql(request.getfixturevalue("postgres_server"))
    return request.param, Sqlite() if request.param == "sqlite" else Duckdb()


def rows_of(X, extra):
    """Rows with a key and further columns of numbers that mean nothing."""
    noise = np.random.default_rng(1).integers(0, 4, size=(len(X), extra)).tolist()
    return [(i, *row, *noise[i]) for i, row in enumerate(X.to_numpy(dtype=object).tolist())]


def assert_scores(answer, model, X, place):
    """Scores, at a place in the rows of an answer that begin with the key."""
    answer = sorted(answer, key=lambda row: int(row[0]))
    assert [int(row[0]) for row in answer] == list(range(len(X)))
    found = np.array([float(row[place]) for row in answer])
    np.testing.assert_allclose(found, model.score_samples(X), atol=1e-6, rtol=0)


@pytest.mark.parametrize("table", ["t", "strata", "Walk", "source", "numbered"])
@pytest.mark.parametrize("name", MODELS)
def test_names_of_columns_and_tables_do_not_meet_those_of_the_query(database, name, table):
    dialect, base = database
    X, _ = sample()
    model = fitted(name)
    base.fill(table, FEATURES + EXTRA, rows_of(X, len(EXTRA)))
    query = to_sql(model, table, dialect, columns=["id", "tree", "kind"])
    answer = base.ask(query)
    assert_scores(answer, model, X, 4 if "tree" in name else 3)
    np.testing.assert_array_equal(
        sorted((int(row[0]), float(row[1])) for row in answer), list(enumerate(X["tree"]))
    )


@pytest.mark.parametrize("earlier", [["stratum"], ["score"], ["STRATUM", "Score", "probability"]])
def test_columns_of_an_earlier_scoring_do_not_change_the_scores(database, earlier):
    dialect, base = database
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    model = TreeRank(pruning=None).fit(X, X.a + rng.normal(size=500) > 0)
    base.fill("t", ["a", "b", *earlier], rows_of(X, len(earlier)))
    answer = base.ask(to_sql(model, "t", dialect))
    assert {len(row) for row in answer} == {3 + len(earlier) + 3}
    assert_scores(answer, model, X, -2)
    strata = {int(row[0]): int(row[-3]) for row in answer}
    np.testing.assert_array_equal([strata[i] for i in range(len(X))], model.apply(X))


@pytest.mark.parametrize("name", ["tree", "forest"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_column_to_return_may_not_have_the_name_of_one_that_is_added(dialect, name):
    with pytest.raises(ValueError, match="Got 'score' among columns, which is also the name"):
        to_sql(fitted(name), "t", dialect, columns=["id", "score"])


def test_columns_that_a_database_takes_for_one_are_refused():
    rng = np.random.default_rng(0)
    far = "x" * 63
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "A", far + "1", far + "2"])
    model = TreeRank(pruning=None).fit(X, X.sum(axis=1) + rng.normal(size=300) > 0)
    for dialect in ("sqlite", "duckdb"):
        with pytest.raises(ValueError, match="columns 'a' and 'A', which are the same name"):
            to_sql(model, "t", dialect)
    with pytest.raises(ValueError, match=f"columns '{far}1' and '{far}2', which are the same"):
        to_sql(model, "t", "postgresql")
    short = X.rename(columns={far + "1": "b", far + "2": "B"})
    assert '"A"' in to_sql(model.fit(short, X["a"] + X["A"] > 0), "t", "postgresql")


@pytest.mark.parametrize("name", ["a\0", "\ud800", ""])
def test_names_that_no_database_can_have_are_refused(name):
    X, y = sample()
    X = pd.DataFrame(X[["score"]].to_numpy(), columns=pd.Index([name], dtype=object))
    model = TreeRank(pruning=None).fit(X, y)
    for dialect in DIALECTS:
        with pytest.raises(ValueError, match="Got the name"):
            to_sql(model, "t", dialect, columns=["id"])
        with pytest.raises(ValueError, match="Got the name"):
            to_sql(fitted("tree"), "t" + name if name else "", dialect, columns=["id"])


def staircase(n_steps):
    """A table whose tree takes one row off at every split."""
    x = np.arange(n_steps, dtype=np.float64)
    return pd.DataFrame({"x": x}), x % 2


@cache
def staircase_tree(n_steps):
    X, y = staircase(n_steps)
    model = TreeRank(max_depth=None, min_samples_leaf=1, pruning=None, max_bins=65_535)
    return model.fit(X, y)


def test_a_tree_of_a_thousand_levels_scores_in_a_database(database):
    dialect, base = database
    X, _ = staircase(3_000)
    model = staircase_tree(3_000)
    assert model.tree_.cells["depth"].max() > 1_000  # deeper than Python can recurse
    few = X.iloc[::30].reset_index(drop=True)
    base.fill("t", ["x"], rows_of(few, 0))
    assert_scores(base.ask(to_sql(model, "t", dialect, columns=["id"])), model, few, 2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tree_too_deep_for_nested_cases_wants_columns_to_be_named(dialect):
    with pytest.raises(ValueError, match="CASE expressions inside one another; expected the col"):
        to_sql(staircase_tree(3_000), "t", dialect)


def test_other_exports_take_deep_trees():
    model = staircase_tree(3_000)
    assert len(to_text(model).splitlines()) > 3_000
    assert len(to_dict(model)["trees"]) == 1
    pytest.importorskip("onnx", reason="onnx is not installed")
    to_onnx(model)
