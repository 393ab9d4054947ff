"""monitor: figures are those of the measures, drift is found, and odd periods are put in words."""

import json
import re

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from report_data import NASTY, loans
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank
from treerank.metrics import (
    auc_interval,
    calibration_slope,
    population_stability_index,
    wilson_interval,
)
from treerank.scoring import Scorecard, monitor
from treerank.scoring._distributions import count_levels
from treerank.scoring._period_order import read_periods

MONTHS = np.repeat(["2026-01", "2026-02", "2026-03"], 100)


@pytest.fixture(scope="module")
def rows():
    """Rows to learn from, a baseline and three months."""
    x, y = loans(900)
    x["purpose"] = x["purpose"].astype(object)
    return [(x.iloc[a:b].reset_index(drop=True), y.iloc[a:b].reset_index(drop=True))
            for a, b in ((0, 300), (300, 600), (600, 900))]  # fmt: skip


@pytest.fixture(scope="module")
def tree(rows):
    return TreeRank(max_depth=4).fit(*rows[0])


def checked_page(found):
    """Text of the page; no figure of it is unknown to HTML or to JSON."""
    text = found.to_html(None)
    words = re.sub("<[^>]+>", " ", text[text.index("<body") :])
    assert not re.search(r"\b(nan|NaN|inf|Infinity|None)\b", words)
    assert "NaN" not in re.sub("<style.*</style>", "", text, flags=re.S)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "nan" not in str(found)
    return words


@pytest.mark.parametrize("form", [
    lambda y, late: pd.Series(y).astype("Int64").mask(late),
    lambda y, late: pd.Series(y == 1).astype("boolean").mask(late),
    lambda y, late: pd.Series(pd.Categorical(y)).mask(late),
    lambda y, late: np.ma.masked_array(y, mask=late),
    lambda y, late: pl.Series(np.where(late, None, y).tolist()),
], ids=["Int64", "boolean", "categorical", "masked", "polars"])  # fmt: skip
def test_labels_that_are_not_known_yet_may_be_missing_in_any_form(rows, tree, form):
    x, y = rows[2]
    late = np.arange(len(y)) >= 200
    found = monitor(tree, rows[1], (x, form(y.to_numpy(), late)), MONTHS)
    expected = monitor(tree, rows[1], (x, y.astype(float).mask(late)), MONTHS)
    assert [period.labelled for period in found.periods] == [100, 100, 0]
    assert str(found) == str(expected)


def test_missing_values_of_nullable_columns_are_counted(rows):
    def with_nothing(x):
        seldom = np.arange(len(x)) % 5 == 0
        return x.assign(
            said=x["purpose"].astype("string").mask(seldom),
            is_high=(x["income"] > 50).astype("boolean").mask(seldom),
        )

    (x0, y0), (x1, y1), (x2, y2) = [(with_nothing(x), y) for x, y in rows]
    model = TreeRank(max_depth=3).fit(x0, y0)
    found = {c.name: c for c in monitor(model, (x1, y1), (x2, y2), MONTHS).columns}
    assert found["said"].missing_before == pytest.approx(0.2)
    assert found["is_high"].missing == pytest.approx([0.2] * 3)


@pytest.mark.parametrize("names", [
    [0, 1], pd.MultiIndex.from_tuples([("a", "x"), ("a", "z")]),
], ids=["numbers", "tuples"])  # fmt: skip
def test_columns_whose_names_are_no_text_are_watched_by_position(names):
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(600, 2)), columns=names)
    y = (x.iloc[:, 0] > 0).astype(int)
    model = TreeRank(max_depth=2).fit(x[:200], y[:200])
    tables = (x[200:400], y[200:400]), (x[400:], y[400:]), MONTHS[:200]
    found = monitor(model, *tables)
    assert {c.name for c in found.columns} == {str(name) for name in names}


def test_the_page_names_the_event_by_its_target(rows, tree):
    (x, y), new = rows[1], rows[2]
    unnamed = x, y.to_numpy()
    for baseline, target, event in (
        ((x, y.rename("default")), None, "default = 1"),
        (unnamed, None, "1"),
        (unnamed, "bad", "bad = 1"),
    ):
        found = monitor(tree, baseline, new, MONTHS, target=target)
        assert f"Event: <strong>{event}</strong>" in found.to_html(None)


def test_figures_are_those_of_the_measures(rows, tree):
    found = monitor(tree, rows[1], rows[2], MONTHS, level=0.9)
    x, y = rows[2]
    before = tree.score_samples(rows[1][0])
    for k, period in enumerate(found.periods):
        part, label = x.iloc[100 * k : 100 * k + 100], y.iloc[100 * k : 100 * k + 100]
        s, p = tree.score_samples(part), tree.predict_proba(part)[:, 1]
        auc = auc_interval(label, s, level=0.9)
        assert (period.auc, *period.auc_limits) == (auc.auc, auc.lower, auc.upper)
        assert period.rate_limits == pytest.approx(wilson_interval(label.sum(), 100, 0.9))
        assert period.expected_rate == pytest.approx(p.mean())
        fit = calibration_slope(label, p, level=0.9)
        assert period.slope == pytest.approx(fit.slope, rel=0.01)
        index = population_stability_index(before, s)
        assert found.score.index[k] == pytest.approx(index)
        for column in found.columns:
            columns = rows[1][0][column.name], part[column.name]
            if column.name == "purpose":
                columns = [c.astype(str) for c in columns]
            expected = population_stability_index(*columns)
            assert column.index[k] == pytest.approx(expected), column.name
    assert found.baseline.auc == tree.score(*rows[1])
    assert found.baseline.shift == pytest.approx(0, abs=1e-3)
    assert [c.index[0] for c in found.columns] != []
    assert found.status in ("steady", "watch")


def test_every_kind_of_table_gives_the_same_figures(rows, tree):
    expected = monitor(tree, rows[1], rows[2], MONTHS).to_dict()
    for convert in (pl.from_pandas, pa.Table.from_pandas):
        parts = [(convert(x), y.to_numpy()) for x, y in rows[1:]]
        found = monitor(tree, *parts, MONTHS).to_dict()
        assert found["columns"] == expected["columns"]
        assert found["periods"] == expected["periods"]
    numbers = [(x[["income", "noise"]].to_numpy(), y) for x, y in rows]
    model = TreeRank(max_depth=3).fit(*numbers[0])
    found = monitor(model, numbers[1], numbers[2], MONTHS)
    index = {c.name: c.index for c in found.columns}
    assert index["x1"] == next(c for c in expected["columns"] if c["name"] == "noise")["index"]


def test_levels_of_arrays_are_counted_as_those_of_frames():
    values = np.array(["a", "b", None, "a", np.nan, "b"], dtype=object)
    weight, period = np.arange(1.0, 7.0), np.array([0, 0, 1, 1, 1, 1])
    expected = {(0, "a"): 1, (0, "b"): 2, (1, None): 8, (1, "a"): 4, (1, "b"): 6}
    assert count_levels(values, weight, period) == expected
    series = nw.from_native(pl.Series(["a", "b", None, "a", None, "b"]), series_only=True)
    assert count_levels(series, weight, period) == expected


def test_weights_are_rows_that_count_more(rows, tree):
    weight = np.ones(300)
    weight[:50] = 0
    found = monitor(tree, rows[1], (*rows[2], weight), MONTHS)
    kept = [part.iloc[50:] for part in rows[2]]
    expected = monitor(tree, rows[1], kept, MONTHS[50:])
    assert found.periods == expected.periods
    assert found.columns == expected.columns
    double = monitor(tree, (*rows[1], 2 * np.ones(300)), (*rows[2], np.full(300, 3.0)), MONTHS)
    plain = monitor(tree, rows[1], rows[2], MONTHS)
    for a, b in zip(double.periods, plain.periods, strict=True):
        assert a.auc == pytest.approx(b.auc)
        assert a.auc_limits == pytest.approx(b.auc_limits)
        assert a.shift_error == pytest.approx(b.shift_error)
        assert a.rows == 3 * b.rows


def test_new_levels_missing_values_and_moved_columns_are_named(rows, tree):
    x, y = rows[2]
    x = x.copy()
    x.loc[150:, "purpose"] = "spaceship <b>"
    x.loc[200:, "income"] = np.nan
    x.loc[100:, "noise"] += 3
    found = monitor(tree, rows[1], (x, y), MONTHS)
    assert found.status != "steady"
    said = "\n".join(found.watches)
    assert "column 'purpose' has new levels: 'spaceship <b>'" in said
    assert "column 'income' is missing in 100.0% of 2026-03" in said
    assert "column 'noise' has moved (PSI" in said
    purpose = next(c for c in found.columns if c.name == "purpose")
    assert purpose.new_levels == [{}, {"spaceship <b>": 50.0}, {"spaceship <b>": 100.0}]
    assert "spaceship &lt;b&gt;" in found.to_html(None)
    checked_page(found)


def test_a_decline_and_a_shift_raise_alarms(rows):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 2))
    y = (rng.random(6000) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(int)
    model = LogisticRegression().fit(x[:1000], y[:1000])
    month = np.repeat(np.arange(8), 500)
    steady = monitor(model, (x[1000:2000], y[1000:2000]), (x[2000:], y[2000:]), month)
    assert (steady.status, steady.alarms) == ("steady", [])
    worse = y[2000:].copy()
    worse[2000:] = rng.integers(0, 2, 2000)
    found = monitor(model, (x[1000:2000], y[1000:2000]), (x[2000:], worse), month)
    auc = next(t for t in found.tests if t.name == "AUC")
    assert auc.raised_in == "4"
    assert found.status == "alarm"
    assert np.isfinite(auc.evidence).all()
    more = np.where(rng.random(4000) < 0.2, 1, y[2000:])
    found = monitor(model, (x[1000:2000], y[1000:2000]), (x[2000:], more), month)
    assert "the probabilities no longer fit the events" in "\n".join(found.alarms)
    moved = x[2000:] + np.array([1.5, 0])
    found = monitor(model, (x[1000:2000], y[1000:2000]), (moved,), month)
    assert found.alarms == ["the distribution of the score has moved (first certain in 0)"]


def test_odd_periods_are_put_in_words(rows, tree):
    x, y = rows[2]
    labels = y.astype(float).to_numpy(copy=True)
    labels[:100] = 0  # no events
    labels[200:] = np.nan  # not known yet
    found = monitor(tree, rows[1], (x, labels), MONTHS)
    assert [p.note for p in found.periods] == [
        "no events, so that there is no AUC", "", "no labels yet",
    ]  # fmt: skip
    assert [p.auc is None for p in found.periods] == [True, False, True]
    words = checked_page(found)
    assert "no events, so that there is no AUC" in words
    assert NASTY.replace("<", "&lt;").replace(">", "&gt;") in found.to_html(None)
    single = monitor(tree, rows[1], (x.iloc[:2], y.iloc[:2]), ["a", "b"])
    assert [p.rows for p in single.periods] == [1, 1]
    checked_page(single)
    none = monitor(tree, rows[1], (x,), MONTHS)
    assert all(p.note == "no labels yet" for p in none.periods)
    assert "No row has a label yet" in checked_page(none)
    words = monitor(tree, rows[1], (x, np.where(np.isnan(labels), None, labels)), MONTHS)
    assert words.periods == found.periods


def test_a_perfect_or_tiny_baseline_does_not_make_certain(rows):
    x = np.array([[0.0], [1.0]] * 5)
    y = np.array([0, 1] * 5)
    model = LogisticRegression().fit(x, y)
    wrong = np.where(np.arange(10) == 0, 1, y)
    found = monitor(model, (x, y), (x, wrong), np.zeros(10))
    assert found.baseline.auc == 1.0
    assert not any(t.name == "AUC" and t.raised_in for t in found.tests)
    checked_page(found)


def test_columns_without_any_value_are_compared(rows, tree):
    before, after = (part[0].assign(income=np.nan) for part in rows[1:])
    found = monitor(tree, (before, rows[1][1]), (after, rows[2][1]), MONTHS)
    income = next(c for c in found.columns if c.name == "income")
    assert income.index == [0.0] * 3
    assert income.missing_before == 1.0
    checked_page(found)


def test_models_without_probabilities_are_watched_by_rate(rows):
    numbers = [(x[["noise"]].assign(a=x.iloc[:, 1]), y) for x, y in rows]
    model = LinearSVC().fit(*numbers[0])
    found = monitor(model, numbers[1], numbers[2], MONTHS)
    assert found.baseline.expected_rate is None
    assert found.baseline.shift == pytest.approx(0, abs=1e-9)
    checked_page(found)


def test_forests_are_watched(rows):
    model = RankingForest(n_estimators=10).fit(*rows[0])
    assert monitor(model, rows[1], rows[2], MONTHS).model == "RankingForest"


def test_a_baseline_of_training_rows_is_warned_of(rows, tree):
    forest = RankingForest(n_estimators=10, random_state=0).fit(*rows[0])
    card = Scorecard(tree, cv="prefit").fit(*rows[1])
    for model in (tree, forest, card):
        with pytest.warns(UserWarning, match="a baseline of the rows that the model was fitted to"):
            monitor(model, rows[0], rows[2], MONTHS)


def test_bad_input_is_named(rows, tree):
    cases = [
        ((rows[1][0], rows[2], MONTHS), "Got baseline='DataFrame'; expected a tuple"),
        ((rows[1], rows[2], MONTHS[:5]), "Got periods of shape .5,. for 300 new rows"),
        ((rows[1], rows[2], np.where(MONTHS == "2026-01", None, MONTHS)), "Got no period in row 0"),
        ((rows[1], (rows[2][0], rows[2][1][:9]), MONTHS), "Got labels of shape"),
        ((rows[1], (rows[2][0], rows[2][1] + 5), MONTHS), "label"),
        (((rows[1][0], np.zeros(300)), rows[2], MONTHS), "Got a baseline with labels of one class"),
        (((rows[1][0], np.where(np.arange(300) < 2, np.nan, rows[1][1])), rows[2], MONTHS),
         "Got a baseline of 300 rows, 2 of them without a label"),
    ]  # fmt: skip
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            monitor(tree, *arguments)
    with pytest.raises(ValueError, match="Got alpha=0; expected"):
        monitor(tree, rows[1], rows[2], MONTHS, alpha=0)
    x = np.random.default_rng(0).normal(size=(30, 1))
    three = TreeRank(max_depth=2).fit(x, np.arange(30) % 3)
    with pytest.raises(ValueError, match="of 3 classes; expected two"):
        monitor(three, (x, np.arange(30) % 3), (x,), np.zeros(30))


def test_periods_that_are_days_are_named_without_a_time(rows, tree):
    days = np.repeat(np.array(["2026-01-31", "2026-02-28"], "M8[ns]"), [100, len(MONTHS) - 100])
    named = [p.name for p in monitor(tree, rows[1], rows[2], days).periods]
    assert named == ["2026-01-31", "2026-02-28"]
    hours = (days + np.timedelta64(1, "h")).astype("M8[s]")
    assert monitor(tree, rows[1], rows[2], hours).periods[0].name == "2026-01-31T01:00:00"
    months = days.astype("M8[M]")
    assert monitor(tree, rows[1], rows[2], months).periods[0].name == "2026-01"


@pytest.mark.parametrize(
    "names",
    [
        ["2", "10", "100"],
        [2, 10, 100],
        ["-1", "0", "1.5", "1e2"],
        ["2025-9", "2025-10", "2026-1"],
        ["2025-W9", "2025-W10"],
        ["week 2", "week 10"],
        ["1.2.9", "1.2.10"],
        ["24-01-31", "24-02-01"],
        ["Jan", "Feb", "Apr", "Dec"],
        ["january", "february", "sept.", "OCTOBER"],
        ["Dec 2024", "Jan 2025", "Feb 2025"],
        ["2024-Dec", "2025-Jan", "2025-Feb"],
        ["Q4 2024", "Q1 2025", "Q2/2025"],
        ["2024Q4", "2025Q1"],
        ["12/2024", "01/2025", "02/2025"],
        ["2024.9", "2024.10", "2025.1"],
        ["12.2024", "01.2025"],
        ["202412", "202501"],
        ["Apr", "Jan", "may be"],  # not all of them are months
        ["2024", "2025", "Jan"],
    ],
)
def test_periods_follow_each_other_in_time(names):
    shuffled = names[1:] + names[:1]
    found, number = read_periods(np.array(shuffled), len(names))
    assert found == [str(name) for name in names]
    assert number.tolist() == [*range(1, len(names)), 0]


@pytest.mark.parametrize(
    "names",
    [
        ["Apr 25", "Dec 24"],
        ["Jan-24", "Feb-24"],
        ["Mar'24", "May'24"],
        ["01.02.2024", "02.01.2024"],
        ["1/2/24", "2/1/24"],
        ["3 Jan 2024", "4 Dec 2023"],
        ["Jan 3, 2024", "Dec 4, 2023"],
    ],
)
def test_dates_as_text_whose_year_is_not_first_are_refused(names):
    with pytest.raises(ValueError, match="whose order is not known; expected dates"):
        read_periods(np.array(names), 2)
    assert read_periods(np.array(names[:1]), 1)[0] == names[:1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_periods_keep_the_order_of_an_ordered_categorical(library):
    order, values = ["third", "second", "never", "first"], ["first", "second", "third", "first"]
    if library == "pandas":
        several = [pd.Categorical(values, categories=order, ordered=True)]
        several.append(pd.Series(several[0], index=[7, 7, 7, 7]))
    else:
        several = [pl.Series(values, dtype=pl.Enum(order))]
    for periods in several:
        found, number = read_periods(periods, 4)
        assert found == ["third", "second", "first"]
        assert number.tolist() == [2, 1, 0, 2]
    if library == "pandas":
        unordered = pd.Categorical(values, categories=order)
        assert read_periods(unordered, 4)[0] == ["first", "second", "third"]
        numbers = pd.Categorical([2, 10, 2], categories=[10, 2], ordered=True)
        assert read_periods(numbers, 3)[0] == ["10", "2"]
        with pytest.raises(ValueError, match="Got no period in row 1"):
            read_periods(pd.Categorical(["a", None], ordered=True), 2)


def test_periods_of_several_types_are_refused():
    with pytest.raises(ValueError, match="Got periods of several types"):
        read_periods(np.array(["a", 1], dtype=object), 2)
