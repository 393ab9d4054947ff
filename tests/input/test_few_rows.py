"""One row at a time, as a service scores them, gives the scores of the whole table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank._input import frames
from treerank._input.frames import few_rows
from treerank._input.parameters import threads_to_score

N = 400
rng = np.random.default_rng(0)
SIGNAL = rng.normal(size=N)
Y = (SIGNAL + rng.normal(size=N) > 0).astype(int)
TABLE = pd.DataFrame(
    {
        "number": np.where(rng.random(N) < 0.1, np.nan, SIGNAL),
        "single": SIGNAL.astype(np.float32),
        "whole": rng.integers(0, 9, N),
        "nullable": pd.array(rng.integers(0, 9, N), dtype="Int64"),
        "yes": rng.random(N) < 0.5,
        "text": np.where(SIGNAL > 0, "a", "b"),
        "level": pd.Categorical(rng.integers(10**17, 10**17 + 4, N)),
    }
)
TABLE.loc[5, ["nullable", "text", "level"]] = None
MODELS = [TreeRank(), RankingForest(n_estimators=5), BoostedTreeRank(n_estimators=5)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_rows_one_by_one_have_the_scores_of_the_table(model, library):
    table = TABLE if library is pd else pl.from_pandas(TABLE.astype({"level": str}))
    rows = [table[i : i + 1] for i in range(40)]
    assert all(few_rows(row) is not None for row in rows)
    model.fit(table, Y)
    together = model.score_samples(table)
    assert np.array_equal(np.concatenate([model.score_samples(row) for row in rows]), together[:40])


def test_long_tables_and_other_containers_are_not_few_rows():
    assert few_rows(TABLE) is None
    assert few_rows(TABLE[:0]) is None
    assert few_rows(TABLE[:1].to_numpy()) is None
    assert few_rows(pl.from_pandas(TABLE[["number"]])) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.assign(number="high"), "'number' has text values; expected numbers"),
        (lambda row: row.assign(number=np.inf), "'number' contains infinity in 1 of 1 rows"),
        (lambda row: row.assign(text=1.0), "'text' has values such as 1.0; expected text"),
        (lambda row: row.assign(number=pd.Timestamp("2020-01-01")), "'number' has "),
        (lambda row: row.drop(columns="text"), "feature names"),
        (lambda row: row[row.columns[::-1]], "feature names"),
    ],
)
def test_a_bad_row_is_refused_as_a_bad_table_is(monkeypatch, change, message):
    model = TreeRank().fit(TABLE, Y)
    row = change(TABLE[:1])
    with pytest.raises(ValueError, match=message):
        model.score_samples(row)
    monkeypatch.setattr(frames, "FEW_ROWS", 0)
    with pytest.raises(ValueError, match=message.replace("text values", "(text|String) values")):
        model.score_samples(row)


def test_few_rows_are_scored_by_one_thread_and_many_by_all() -> None:
    assert [threads_to_score(8, n_rows) for n_rows in (1, 31, 64, 10_000)] == [1, 1, 3, 8]
    assert threads_to_score(None, 10_000) == 1
