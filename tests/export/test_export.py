"""Exported models: the same scores as Python, in databases, in ONNX and in SHAP."""

import csv
import io
import sqlite3

import numpy as np
import pandas as pd
import pytest
import saved_models
from onnx_scores import run_onnx

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, baselines
from treerank.export import to_dict, to_matrix, to_onnx, to_sql, to_text
from treerank.export._onnx_ensemble import Expanded, _adds_exactly

N_ROWS = 10_000
NASTY = "we\"ird 'name'; DROP TABLE loans; --"
RENAMED = {"income": NASTY, "age": "Age", "home": "Größe", "member": "select"}


def training():
    X, y = saved_models.loans(800)
    return X.rename(columns=RENAMED), y


def to_score(n=N_ROWS):
    return saved_models.new_rows(n).rename(columns=RENAMED)


MODELS = {
    "tree": TreeRank(),
    "deep tree": TreeRank(LeafRank(max_depth=3), max_depth=5, pruning=None),
    "cell mean": TreeRank(missing="cell_mean", pruning=None, max_depth=4),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=3),
    "whole forest": RankingForest(LeafRank(max_depth=None), n_estimators=4),
    "mean ranks": RankingForest.preset("rf5", n_estimators=3, max_depth=4),
    "boosted": BoostedTreeRank(n_estimators=4),
    "bagged": BoostedTreeRank(n_estimators=2, n_bags=3),
}
GRADES = ["bad", "fair", "good", "it's best"]
ORDINAL = {
    "tree": TreeRank(LeafRank(max_depth=2), label_order=GRADES),
    "forest": RankingForest(n_estimators=3, label_order=GRADES),
    "mean ranks": RankingForest(n_estimators=2, aggregation="mean_rank", label_order=GRADES),
    "boosted": BoostedTreeRank(n_estimators=3, label_order=GRADES),
}
TREES = ["tree", "deep tree", "cell mean", "leafrank"]
FORESTS = ["forest", "whole forest", "mean ranks", "boosted", "bagged"]


@pytest.fixture(scope="module")
def models():
    X, y = training()
    return {name: model.fit(X, y) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def rows():
    return to_score()


@pytest.fixture(scope="module")
def expected(models, rows):
    return {name: model.score_samples(rows) for name, model in models.items()}


# --- databases ---


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
        wanted = np.hstack([wanted, model.predict_proba(rows)])
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
    with pytest.raises(TypeError, match="no text that a person could read"):
        to_text(models["forest"])
    with pytest.raises(ValueError, match="not fitted"):
        to_text(TreeRank())
    mixed = pd.DataFrame({"a": np.array([1, "one"] * 20, dtype=object)})
    model = TreeRank(categorical_features=["a"], pruning=None).fit(mixed, [0, 1] * 20)
    with pytest.raises(ValueError, match="text and numbers among the levels of column 'a'"):
        to_sql(model, "t")


# --- ONNX ---


@pytest.mark.parametrize("name", MODELS)
def test_onnx_gives_the_scores_to_the_bit(models, rows, expected, name):
    [scores] = run_onnx(models[name], rows)
    np.testing.assert_array_equal(scores, expected[name])


@pytest.mark.parametrize("name", MODELS)
def test_onnx_gives_the_probabilities(models, rows, name):
    if name == "mean ranks":
        pytest.skip("a consensus of ranks has no probabilities in ONNX")
    [found] = run_onnx(models[name], rows, ["probability"])
    np.testing.assert_allclose(found, models[name].predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ORDINAL if name != "mean ranks"])
def test_onnx_gives_a_probability_of_each_ordered_class(rows, name):
    X, y = training()
    grades = np.array(GRADES)[(y + (X["Age"] > 40) + (X["Age"] > 60)).astype(int)]
    model = ORDINAL[name].fit(X, grades)
    [found] = run_onnx(model, rows, ["probability"])
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=0, atol=1e-12)


def operators(model):
    pytest.importorskip("onnx", reason="onnx is not installed")
    return [node.op_type for node in to_onnx(model).graph.node]


@pytest.mark.parametrize("name", ["tree", "deep tree", "leafrank", "whole forest", "boosted"])
def test_onnx_uses_the_operator_for_trees(models, name):
    assert operators(models[name]).count("TreeEnsemble") == 1
    assert "Loop" not in operators(models[name])


def test_onnx_walks_where_there_are_more_ways_than_nodes(monkeypatch, models, rows, expected):
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_NODES", 10)
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_COPIES", 0)
    for name in ("forest", "deep tree", "boosted"):
        assert "Loop" in operators(models[name])
        [scores] = run_onnx(models[name], rows)
        np.testing.assert_array_equal(scores, expected[name])


@pytest.mark.parametrize("exact", [True, False])
def test_onnx_gives_few_trees_to_each_operator_and_the_same_bits(monkeypatch, rows, exact):
    forest = RankingForest(LeafRank(max_depth=None), n_estimators=12).fit(*training())
    n_slots = len(forest._trees.slots)
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_TOGETHER", n_slots // 4)
    monkeypatch.setattr("treerank.export._onnx_ensemble._adds_exactly", lambda _: exact)
    used = operators(forest).count("TreeEnsemble")
    assert (4 <= used <= 6) if exact else used == 12
    [scores] = run_onnx(forest, rows)
    np.testing.assert_array_equal(scores, forest.score_samples(rows))


@pytest.mark.parametrize(
    ("totals", "exact"),
    [([1, 2.5, 2.0**-40], True), ([1, 2.0**-60], False), ([0, 0], True), ([0.1, 0.2], False),
     ([np.float32(0.1), np.float32(0.2)], True)],
)  # fmt: skip
def test_sums_without_rounding_are_told_from_others(totals, exact):
    leaves = np.full(len(totals), -1)
    trees = Expanded(leaves, leaves, np.arange(len(totals)), np.array(totals, dtype=np.float64))
    assert _adds_exactly(trees) == exact


def test_onnx_takes_trees_of_a_single_leaf():
    X = np.zeros((20, 1))
    model = TreeRank().fit(X, [0, 1] * 10)
    scores, strata = run_onnx(model, X, ("score", "stratum"))
    np.testing.assert_array_equal(scores, model.score_samples(X))
    assert not strata.any()


def test_onnx_takes_a_matrix_where_there_are_no_categories():
    X, y = saved_models.numbers(500)
    X[::7, 0] = np.nan
    model = TreeRank().fit(X, y)
    new = saved_models.numbers(N_ROWS, seed=2)[0]
    new[::5, 1] = np.nan
    scores, strata = run_onnx(model, new, ("score", "stratum"))
    np.testing.assert_array_equal(scores, model.score_samples(new))
    np.testing.assert_array_equal(strata, model.apply(new))
    forest = RankingForest(n_estimators=30).fit(X, y)
    np.testing.assert_array_equal(run_onnx(forest, new)[0], forest.score_samples(new))


def test_onnx_compares_in_double_precision():
    X = np.array([[1.0], [1.0 + 2**-40]] * 50)
    model = LeafRank().fit(X, [0, 1] * 50)
    [scores] = run_onnx(model, X)
    np.testing.assert_array_equal(scores, model.score_samples(X))
    assert len(set(scores.tolist())) == 2


def test_onnx_refuses_a_column_named_like_an_output():
    pytest.importorskip("onnx", reason="onnx is not installed")
    X = pd.DataFrame({"score": ["a", "b"] * 20})
    with pytest.raises(ValueError, match="Got a column named 'score'"):
        to_onnx(TreeRank(pruning=None).fit(X, [0, 1] * 20))


# --- text and SHAP ---


def test_text_has_every_stratum_and_rule(models):
    text = to_text(models["tree"])
    for k, rule in enumerate(models["tree"].partition_.rules()):
        assert f"\n{k}: score" in text
        assert rule in text


def walk(tree, row):
    """Value of one row: the slow twin of what reads the dict."""
    at = 0
    while tree["children_left"][at] >= 0:
        value = row[tree["feature"][at]]
        side = "left" if value <= tree["threshold"][at] else "right"
        at = tree[f"children_{'default' if np.isnan(value) else side}"][at]
    return tree["value"][at, 0]


@pytest.mark.parametrize("name", MODELS)
def test_the_dict_holds_the_model(models, rows, expected, name):
    X, _ = training()
    model = models[name]
    if name in ("forest", "mean ranks"):  # smaller ones: every way is written out
        small = RankingForest(LeafRank(max_depth=2), n_estimators=2, max_depth=3)
        model = small.set_params(aggregation=model.aggregation).fit(*training())
        expected = {name: model.score_samples(rows)}
    found = to_dict(model, None if name in TREES else X)
    matrix = to_matrix(model, rows)[:200]
    sums = [sum(walk(t, row) for t in found["trees"]) + found["base_offset"] for row in matrix]
    np.testing.assert_allclose(sums, expected[name][:200], atol=1e-7)
    for tree in found["trees"]:
        split = tree["children_left"] >= 0
        weight = tree["node_sample_weight"]
        assert weight[0] == len(X)
        if name != "deep tree":
            below = weight[tree["children_left"][split]] + weight[tree["children_right"][split]]
            is_number = np.isin(tree["feature"][split], [0, 1])
            np.testing.assert_allclose(below[is_number], weight[split][is_number], atol=1e-8)


def test_counting_the_training_rows_gives_the_training_counts():
    X, y = saved_models.numbers(500)
    X[::9, 0] = np.nan
    for splitter in (LeafRank(), LeafRank(max_depth=None, max_leaf_nodes=6)):
        model = TreeRank(splitter, max_depth=1 if splitter.max_leaf_nodes else 5).fit(X, y)
        [kept], [counted] = to_dict(model)["trees"], to_dict(model, X)["trees"]
        assert len(kept["value"]) > 5
        np.testing.assert_allclose(kept["node_sample_weight"], counted["node_sample_weight"])


def test_the_dict_needs_rows_for_a_forest_and_has_a_limit(models):
    X, _ = training()
    with pytest.raises(ValueError, match="expected rows to be counted"):
        to_dict(models["forest"])
    with pytest.raises(ValueError, match="Got a model of more than 500 nodes"):
        to_dict(models["forest"], X, max_nodes=500)


@pytest.mark.parametrize("name", ["tree", "deep tree", "whole forest"])
def test_shap_values_sum_to_the_score(models, rows, expected, name):
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, _ = training()
    model = models[name]
    explainer = shap.TreeExplainer(to_dict(model, X))
    values = explainer.shap_values(to_matrix(model, rows)[:100], check_additivity=False)
    total = np.asarray(values).reshape(100, -1).sum(axis=1) + np.ravel(explainer.expected_value)[0]
    np.testing.assert_allclose(total, expected[name][:100], atol=1e-6)
