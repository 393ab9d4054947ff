"""Forests as SQL: numbers packed into text come back to the bit, and take little room."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_sql
from treerank.export._sql_pack import MOST_DELTA, PackedWalks, pack_steps
from treerank.export._sql_ranks import rank_tables
from treerank.export._sql_streams import ALPHABET, BASE, encode, stream, width_of
from treerank.export._sql_words import DIALECTS, Aliases
from treerank.export._walks import END, MISSING_GOES_LEFT, walks_of


def decode(text, width):
    """The slow twin of what the databases do."""
    digits = [ALPHABET.index(letter) for letter in text]
    groups = [digits[i : i + width] for i in range(0, len(digits), width)]
    return [sum(d * BASE ** (width - 1 - k) for k, d in enumerate(g)) for g in groups]


@given(st.lists(st.integers(0, BASE**5 - 1), max_size=30))
@settings(max_examples=50, deadline=None)
def test_numbers_come_back(numbers):
    array = np.array(numbers, dtype=np.int64)
    width = width_of(array)
    assert decode(encode(array, width), width) == numbers
    assert width == 1 or array.max() >= BASE ** (width - 1)


def test_the_text_means_nothing_to_databases_drivers_and_templates():
    assert len(set(ALPHABET)) == BASE
    assert not set(ALPHABET) & set("'\"\\%:;?$@#{}`&*/-")


NUMBERS = np.array([0, 1, 76, 77, 5928, 5929, 12345, BASE**4 + 3, BASE**5 - 1])


def ask_sqlite(query):
    return sqlite3.connect(":memory:").execute(query).fetchall()


def ask_duckdb(query):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.connect().execute(query).fetchall()


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgresql"])
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS[:3], NUMBERS[:0]], ids=["wide", "one", "no"])
def test_databases_read_the_numbers_back(dialect, numbers, request):
    table = stream("numbers", numbers, DIALECTS[dialect])
    query = f"WITH {table} SELECT place, number FROM numbers ORDER BY place"
    if dialect == "postgresql":
        server = request.getfixturevalue("postgres_server")
        answer = server.ask(f"COPY ({query}) TO STDOUT (FORMAT csv)")
        found = [tuple(map(int, line.split(","))) for line in answer.split()]
    else:
        found = {"sqlite": ask_sqlite, "duckdb": ask_duckdb}[dialect](query)
    assert found == list(enumerate(numbers.tolist()))


floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(floats, floats), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_steps_come_back_to_the_bit(pairs):
    steps = np.array(pairs, dtype=np.float32).ravel()
    packed = pack_steps(steps)
    assert packed.deltas.max() <= MOST_DELTA
    one = np.cumsum(packed.deltas)[packed.pairs]
    second = packed.seconds[packed.pairs]
    found = np.empty(len(steps))
    for side, magnitude, sign in ((0, one, second >> 1 & 1), (1, second >> 2, second & 1)):
        bits = np.where(magnitude > 0, magnitude + packed.lowest, 0).astype(np.uint32)
        found[side::2] = np.where(sign == 1, -1.0, 1.0) * bits.view(np.float32)
    np.testing.assert_array_equal(found, steps)


def sample(n=600):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n) > 0.5).astype(int)
    return X, y


@pytest.mark.parametrize(
    "model",
    [
        RankingForest(n_estimators=4),
        RankingForest(LeafRank(max_depth=None), n_estimators=4),
        BoostedTreeRank(n_estimators=4),
        TreeRank(LeafRank(max_depth=3), max_depth=4, pruning=None),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_walk_by_packed_numbers_ends_where_the_model_does(model):
    """The twin of the recursive query, one row at a time."""
    X, y = sample()
    walks = walks_of(model.fit(X, y))
    packed = PackedWalks(walks)
    hops, far, which = packed.hops, iter(packed.far.tolist()), iter(packed.tests.tolist())
    first = packed.first_tests
    asks = {}
    for place, hop in enumerate(hops.tolist()):
        if hop:
            follows = next(far) if hop == BASE - 1 else place // 2 + hop
            test = next(which)
            code = int(np.searchsorted(first, test, side="right")) - 1
            asks[place] = (code, test - first[code] + packed.lowest_cuts[code], follows)
    for row in X[:40]:
        codes = []
        for feature, missing in packed.codes:
            value, thresholds = row[feature], packed.thresholds[feature]
            absent = 0 if missing == "left" else packed.largest_cut + 1
            codes.append(absent if np.isnan(value) else 1 + int(np.sum(thresholds < value)))
        for at in zip(packed.roots.tolist(), walks.roots.tolist(), strict=True):
            place, slot = at
            while place in asks:
                code, cut, follows = asks[place]
                place = 2 * follows + (codes[code] > cut)
                value, kind = row[walks.feature[slot]], walks.kind[slot]
                left = kind == MISSING_GOES_LEFT if np.isnan(value) else value <= (
                    walks.threshold[slot])  # fmt: skip
                slot = walks.follows[slot] + (not left)
                assert packed.slots[place] == slot
            assert walks.kind[slot] == END


def test_a_forest_takes_few_bytes_for_each_test():
    X, y = sample(2000)
    forest = RankingForest(n_estimators=30, random_state=0).fit(X.round(1), y)
    n_slots = len(walks_of(forest).kind)
    for dialect in DIALECTS:
        assert len(to_sql(forest, "t", dialect, columns=["id"])) < 9 * n_slots


def test_a_long_query_comes_with_a_warning(monkeypatch):
    X, y = sample()
    forest = RankingForest(n_estimators=3).fit(X, y)
    query = to_sql(forest, "t", columns=["id"])
    monkeypatch.setattr("treerank.export._sql.LONG_QUERY", len(query) - 1)
    with pytest.warns(UserWarning, match=r"The query has 0\.\d MB"):
        assert to_sql(forest, "t", columns=["id"]) == query


ODD = [
    -1.7e308,
    -3.5,
    -5e-324,
    0.0,
    5e-324,
    2.2250738585072014e-308,
    0.1,
    np.nextafter(0.1, 1),
    1e300,
]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_ranks_count_the_thresholds_that_a_value_exceeds(dialect):
    """Thresholds come back to the bit: a value next to one is on the right side of it."""
    words = DIALECTS[dialect]
    thresholds = {0: np.array(ODD), 2: np.array([]), 3: np.array([-2.5, -1.25])}
    near = np.array(ODD + [v for t in ODD for v in (np.nextafter(t, -9e99), np.nextafter(t, 9e99))])
    rows = ", ".join(f"({i}, {words.digits(v)}, NULL, -1.25)" for i, v in enumerate(near.tolist()))
    tables, read = rank_tables(thresholds, "given", words, Aliases(words, "given", []))
    query = (
        f"WITH given(row_id, value_0, value_2, value_3) AS (VALUES {rows}, (999, NULL, 1, -1)),\n"
        + ",\n".join(tables)
        + f"\nSELECT row_id, rank_0, rank_2, rank_3 FROM {read} AS ranked ORDER BY row_id"
    )
    found = {"sqlite": ask_sqlite, "duckdb": ask_duckdb}[dialect](query)
    expected = [(i, 1 + sum(t < v for t in ODD), None, 2) for i, v in enumerate(near.tolist())]
    assert found == [*expected, (999, None, 1, 3)]


def test_sets_of_many_levels_come_back():
    """More levels than one whole number has bits for."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 200, 1000)
    frame = pd.DataFrame({"city": [f"c{k}" for k in level], "x": rng.normal(size=1000).round(2)})
    y = rng.random(1000) < (1 + level % 7) / 10
    forest = RankingForest(n_estimators=3, categories="levels").fit(frame, y)
    assert PackedWalks(walks_of(forest)).digits_of_a_set == 64
    new = pd.DataFrame({"city": [f"c{k}" for k in range(210)] + [None], "x": [0.1] * 211})
    new["id"] = range(len(new))
    with sqlite3.connect(":memory:") as database:
        new.to_sql("t", database, index=False)
        found = database.execute(to_sql(forest, "t", "sqlite", columns=["id"])).fetchall()
    expected = forest.score_samples(new[["city", "x"]])
    by_id = {row[0]: row[1] for row in found}  # SQLite adds in double precision
    np.testing.assert_allclose([by_id[k] for k in range(len(new))], expected, rtol=0, atol=1e-6)
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    connection.register("t", new)
    found = connection.execute(to_sql(forest, "t", "duckdb", columns=["id"])).fetchall()
    by_id = {row[0]: row[1] for row in found}
    np.testing.assert_array_equal([by_id[k] for k in range(len(new))], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_forest_that_learned_nothing_scores_all_rows_alike(dialect, n_classes):
    x, y = np.zeros((60, 1)), np.arange(60) % n_classes
    model = RankingForest(n_estimators=5, random_state=0).fit(x, y)
    table = "scored AS (SELECT 0.0 AS x0 UNION ALL SELECT NULL)"
    query = to_sql(model, "scored", dialect, columns=["x0"])
    assert query.startswith("WITH RECURSIVE\n")
    query = query.replace("WITH RECURSIVE\n", f"WITH RECURSIVE\n{table},\n", 1)
    answer = ask_sqlite(query) if dialect == "sqlite" else ask_duckdb(query)
    assert [row[1] for row in answer] == model.score_samples([[0.0], [np.nan]]).tolist()
