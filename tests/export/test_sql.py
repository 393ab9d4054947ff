"""Models as SQL: the same scores as Python, in three databases."""

import csv
import io
import sqlite3

import numpy as np
import pandas as pd
import pytest
import saved_models
from exported_models import FORESTS, GRADES, N_ROWS, NASTY, ORDINAL, RENAMED, TREES, training

from treerank import RankingForest, TreeRank, baselines
from treerank.export import to_sql, to_text


def plain_rows(rows):
    """Rows as Python objects, None for missing, with a key."""
    return [
        (i, None if np.isnan(r[0]) else r[0], r[1], r[2] if isinstance(r[2], str) else None, r[3])
        for i, r in enumerate(rows.itertuples(index=False, name=None))
    ]


def table_definition(double, text, boolean):
    names = ['"' + name.replace('"', '""') + '"' for name in RENAMED.values()]
    types = [double, "integer", text, boolean]
    columns = ", ".join(f"{n} {t}" for n, t in zip(names, types, strict=True))
    return f'CREATE TABLE "my loans" (id integer, {columns})'


@pytest.fixture(scope="module")
def sqlite(rows):
    connection = sqlite3.connect(":memory:")
    connection.execute(table_definition("REAL", "TEXT COLLATE NOCASE", "INTEGER"))
    connection.executemany('INSERT INTO "my loans" VALUES (?, ?, ?, ?, ?)', plain_rows(rows))

    def ask(query):
        return connection.execute(query).fetchall()

    yield ask
    connection.close()


@pytest.fixture(scope="module")
def duck(rows):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pyarrow = pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(table_definition("double", "varchar", "boolean"))
    columns = [pyarrow.array(c) for c in zip(*plain_rows(rows), strict=True)]
    arrow = pyarrow.table(columns, names=["id", "a", "b", "c", "d"])
    connection.register("arrow", arrow)
    connection.execute('INSERT INTO "my loans" SELECT * FROM arrow')
    # Half of the missing numbers are NaN rather than NULL.
    column = '"' + NASTY.replace('"', '""') + '"'
    connection.execute(
        f"""UPDATE "my loans" SET {column} = 'NaN' WHERE {column} IS NULL AND id % 2 = 0"""
    )

    def ask(query):
        return connection.execute(query).fetchall()

    yield ask
    connection.close()


@pytest.fixture(scope="module")
def postgresql(rows, postgres_server):
    server = postgres_server
    server.ask(
        'DROP TABLE IF EXISTS "my loans";' + table_definition("double precision", "text", "boolean")
    )
    text = io.StringIO()
    csv.writer(text).writerows(plain_rows(rows))
    server.ask('COPY "my loans" FROM STDIN (FORMAT csv)', text.getvalue())
    column = '"' + NASTY.replace('"', '""') + '"'
    server.ask(f"""UPDATE "my loans" SET {column} = 'NaN' WHERE {column} IS NULL AND id % 2 = 0""")

    def ask(query):
        answer = server.ask(f"COPY ({query}) TO STDOUT (FORMAT csv)")
        return [tuple(map(float, row)) for row in csv.reader(io.StringIO(answer))]

    return ask


DATABASES = {"sqlite": "sqlite", "duckdb": "duck", "postgresql": "postgresql"}


def scores_in(ask, query):
    """Scores by id, whatever the order of the rows."""
    answer = np.array(sorted(ask(query)), dtype=np.float64)
    assert np.array_equal(answer[:, 0], np.arange(N_ROWS))
    return answer[:, 1:]


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", TREES)
def test_a_tree_scores_in_a_database_to_the_bit(request, models, rows, expected, dialect, name):
    ask = request.getfixturevalue(DATABASES[dialect])
    model = models[name]
    found = scores_in(ask, to_sql(model, "my loans", dialect, columns=["id"]))
    np.testing.assert_array_equal(found[:, 0], model.apply(rows))
    np.testing.assert_array_equal(found[:, 1], expected[name])
    np.testing.assert_array_equal(found[:, 2], model.predict_proba(rows)[:, 1])


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_scores_in_a_database(request, models, rows, expected, dialect, name):
    ask = request.getfixturevalue(DATABASES[dialect])
    found = scores_in(ask, to_sql(models[name], "my loans", dialect, columns=["id"]))
    wanted = expected[name][:, np.newaxis]
    if name != "mean ranks":
        wanted = np.column_stack([wanted, models[name].predict_proba(rows)[:, 1]])
    assert_alike(found, wanted, dialect, name)


def assert_alike(found, wanted, dialect, name):
    """Scores and probabilities are equal; as far as databases reckon as Python does."""
    if dialect == "sqlite" and name != "tree":  # which adds in double precision
        np.testing.assert_allclose(found, wanted, atol=1e-6, rtol=0)
    elif name == "boosted":  # whose exponentials may differ in the last bits
        np.testing.assert_array_equal(found[:, 0], wanted[:, 0])
        np.testing.assert_allclose(found, wanted, atol=1e-14, rtol=1e-14)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", ORDINAL)
def test_ordered_classes_have_a_probability_each_in_a_database(request, rows, dialect, name):
    ask = request.getfixturevalue(DATABASES[dialect])
    X, y = training()
    grades = np.array(GRADES)[y + (X["Age"] > 50) + (X["Age"] > 65)]
    model = ORDINAL[name].fit(X, grades)
    query = to_sql(model, "my loans", dialect, columns=["id"])
    assert [f'"probability_{grade}"' in query for grade in GRADES] == [name != "mean ranks"] * 4
    found = scores_in(ask, query)
    skipped = 1 if name == "tree" else 0  # the stratum
    wanted = model.score_samples(rows)[:, np.newaxis]
    if name != "mean ranks":
        worst_first = [model.classes_.tolist().index(grade) for grade in GRADES]
        wanted = np.hstack([wanted, model.predict_proba(rows)[:, worst_first]])
    assert_alike(found[:, skipped:], wanted, dialect, name)


def test_probabilities_carry_the_names_of_the_classes(sqlite):
    X, y = training()
    model = TreeRank(max_depth=2, label_order=[3, 1, 2]).fit(
        X, np.array([3, 1, 2])[y + (X["Age"] > 50)]
    )
    query = to_sql(model, "my loans", "sqlite", columns=["id"])
    assert 'strata(stratum, score, "probability_3", "probability_1", "probability_2")' in query
    nasty = np.array(["low", 'mid"dle', "top"])[y + (X["Age"] > 50)]
    model = RankingForest(n_estimators=2, label_order=["low", 'mid"dle', "top"]).fit(X, nasty)
    query = to_sql(model, "my loans", "sqlite", columns=["id"])
    assert 'AS "probability_mid""dle"' in query
    assert len(sqlite(query)[0]) == 1 + 1 + 3


def test_all_columns_of_the_table_are_returned_by_default(sqlite, models, expected):
    answer = sqlite(to_sql(models["tree"], "my loans", "sqlite") + " ORDER BY id")
    assert len(answer[0]) == 5 + 3
    np.testing.assert_array_equal([row[6] for row in answer], expected["tree"])


@pytest.mark.parametrize("dialect", DATABASES)
def test_missing_parted_from_known_and_numeric_categories(request, dialect, tmp_path):
    ask = request.getfixturevalue(DATABASES[dialect])
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"a": rng.choice([1.0, np.nan], n), "b": rng.choice([1.0, 2.5, 7.0], n)})
    y = (X.a.isna() ^ (rng.random(n) < 0.2) ^ (X.b == 2.5)).astype(int)
    model = TreeRank(categorical_features=["b"], pruning=None, min_samples_leaf=1).fit(X, y)
    select = " UNION ALL ".join(
        f"SELECT {i} AS id, {a} AS a, {b} AS b"
        for i, (a, b) in enumerate(
            [("1.0", "1"), ("NULL", "1"), ("1.0", "2.5"), ("NULL", "NULL"), ("NULL", "3"),
             ("5", "7")]
        )
    )  # fmt: skip
    table = pd.DataFrame({"a": [1, np.nan, 1, np.nan, np.nan, 5], "b": [1, 1, 2.5, np.nan, 3, 7]})
    view = to_sql(model, "six", dialect, columns=["id"])
    query = view.replace('FROM "six"', f"FROM ({select})")
    answer = sorted(ask(query))
    assert [row[2] for row in answer] == model.score_samples(table).tolist()
    assert len({row[1] for row in answer}) > 2


def test_names_and_texts_are_quoted():
    X = pd.DataFrame({'a"b': [1.0, 2.0, 3.0, 4.0] * 10, "c": ["it's", 'x"y', "ok", "ok"] * 10})
    y = [0, 1, 0, 1] * 10
    query = to_sql(TreeRank(pruning=None).fit(X, y), 'my "own".loans', "postgresql")
    assert 'FROM "my ""own"""."loans" AS source' in query
    assert 'source."a""b"' in query
    X["c"] = ["it's", "its", "ok", "ok"] * 10
    model = TreeRank(pruning=None, categorical_features=["c"]).fit(X[["c"]], [0, 1, 0, 0] * 10)
    assert "'it''s'" in to_sql(model, "t", "sqlite") or "'its'" in to_sql(model, "t", "sqlite")
    with pytest.raises(ValueError, match="zero character"):
        to_sql(model, "t\0", "sqlite")


def test_what_cannot_be_exported_is_refused_with_the_reason(models):
    X, y = saved_models.numbers()
    with pytest.raises(TypeError, match="Got a RankBoost; expected a TreeRank"):
        to_sql(baselines.RankBoost(n_estimators=3).fit(X, y), "t")
    with pytest.raises(ValueError, match="Got dialect='oracle'"):
        to_sql(models["tree"], "t", "oracle")
    with pytest.raises(ValueError, match="not a sum over the trees"):
        to_sql(
            RankingForest(n_estimators=3, aggregation="median_rank").fit(X, y), "t", columns=["i"]
        )
    with pytest.raises(ValueError, match="expected the columns to return"):
        to_sql(models["forest"], "t")
    for columns in ("id", 3, [3], [None]):
        with pytest.raises(ValueError, match=r"Got columns=.*; expected None or a list of names"):
            to_sql(models["tree"], "t", columns=columns)
    for table in (None, 3, ["t"]):
        with pytest.raises(ValueError, match=r"Got table=.*; expected the name of a table"):
            to_sql(models["tree"], table)
    with pytest.raises(TypeError, match="no text that a person could read"):
        to_text(models["forest"])
    with pytest.raises(ValueError, match="not fitted"):
        to_text(TreeRank())
    mixed = pd.DataFrame({"a": np.array([1, "one"] * 20, dtype=object)})
    model = TreeRank(categorical_features=["a"], pruning=None).fit(mixed, [0, 1] * 20)
    with pytest.raises(ValueError, match="text and numbers among the levels of column 'a'"):
        to_sql(model, "t")
