"""Forests as SQL: numbers packed into text come back to the bit, and take little room."""

import sqlite3

import numpy as np
import postgres
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_sql
from treerank.export._sql_pack import MOST_DELTA, PackedWalks, pack_steps
from treerank.export._sql_streams import ALPHABET, BASE, encode, stream, width_of
from treerank.export._sql_words import DIALECTS
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
def test_databases_read_the_numbers_back(dialect, numbers):
    table = stream("numbers", numbers, DIALECTS[dialect])
    query = f"WITH {table} SELECT place, number FROM numbers ORDER BY place"
    if dialect == "postgresql":
        reason = postgres.why_not()
        if reason is not None:
            pytest.skip(reason)
        with postgres.running_server() as server:
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
    (tests, number), hops, far = packed.tests, packed.hops, iter(packed.far.tolist())
    which = iter(number.tolist())
    asks = {}
    for place, hop in enumerate(hops.tolist()):
        if hop:
            follows = next(far) if hop == BASE - 1 else place // 2 + hop
            asks[place] = (*tests[next(which)].tolist(), follows)
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
