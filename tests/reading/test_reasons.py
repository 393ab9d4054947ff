"""Reasons: the strongest attributions against a reference, in words."""

import numpy as np
import pandas as pd
import pytest
import samples
from sklearn.linear_model import LogisticRegression

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank._reading import reasons as reasons_module
from treerank.inspection import attributions, reasons


@pytest.fixture(scope="module")
def table():
    return samples.frame(300, 1)


@pytest.fixture(scope="module")
def forest(table):
    return RankingForest(n_estimators=10).fit(*table)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_reasons_are_the_largest_attributions_that_count_against_a_row(table, forest, direction):
    x, _ = table
    found = reasons(forest, x.iloc[:20], n=2, direction=direction)
    values = attributions(forest, x.iloc[:20]).values * (-1 if direction == "down" else 1)
    assert len(found) == 20
    for row, listed in enumerate(found):
        order = [j for j in np.argsort(-values[row]) if values[row, j] > 0][:2]
        assert [r.feature for r in listed] == [x.columns[j] for j in order]
        np.testing.assert_allclose(
            [abs(r.attribution) for r in listed], values[row, order], atol=1e-12
        )
        assert all(r.attribution < 0 for r in listed) == (direction == "down") or not listed


@pytest.mark.parametrize("model", [TreeRank(), BoostedTreeRank(n_estimators=10)])
@pytest.mark.parametrize("reference", ["population", "approved", "best"])
def test_every_model_gives_reasons_against_every_reference(table, model, reference):
    x, y = table
    model.fit(x, y)
    found = reasons(model, x.iloc[:5], baseline=x, reference=reference, cutoff=-0.1)
    called = {"population": "the population", "approved": "the approved", "best": "the best"}
    texts = [r.text for listed in found for r in listed]
    assert texts
    assert all(called[reference] in text for text in texts)


def test_the_approved_are_the_rows_on_the_better_side_of_the_cutoff(table, forest):
    x, _ = table
    score = forest.score_samples(x)
    for direction, better in (("down", score >= 0.1), ("up", score <= 0.1)):
        options = {"direction": direction, "cutoff": 0.1, "reference": "approved"}
        found = reasons(forest, x.iloc[:10], baseline=x, **options)
        # Few enough to be all used: the attributions are those against them.
        same = reasons(forest, x.iloc[:10], baseline=x[better], direction=direction)
        assert [[r.feature for r in row] for row in found] == [
            [r.feature for r in row] for row in same
        ]


def test_words_say_the_value_and_what_is_usual():
    x = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0] * 10, "k": ["u", "v", "v", None] * 10})
    y = np.array([0, 1, 1, 1] * 10)
    model = RankingForest(n_estimators=5, random_state=0).fit(x, y)
    low = pd.DataFrame({"a": [0.0, np.nan, 0.0], "k": ["u", "u", None]})
    said = [{r.feature: r.text for r in row} for row in reasons(model, low, baseline=x)]
    assert said[0]["a"] == "a 0; half of the population have at least 1.5"
    assert said[0]["k"] == "k u; 50% of the population have v"
    if "k" in said[2]:
        assert said[2]["k"] == "k is missing, as for 25% of the population"
    plain = [{r.feature: r.text for r in row} for row in reasons(model, low)]
    assert plain[0]["a"] == "a 0"
    assert plain[0]["k"] == "k u"


def test_groups_add_up_and_codes_come_from_the_table(table, forest):
    x, _ = table
    rows = x.iloc[:20]
    groups = {"numbers": ["a", 1], "rest": ["c"]}
    codes = {"numbers": ("R1", "The numbers"), "level": 7, "rest": ["R3", None]}
    found = reasons(forest, rows, baseline=x.iloc[:100], groups=groups, codes=codes)
    values = attributions(forest, rows, baseline=x.iloc[:100]).values
    names = set()
    for row, listed in enumerate(found):
        for reason in listed:
            names.add(reason.feature)
            if reason.feature == "numbers":
                assert reason.attribution == pytest.approx(values[row, :2].sum())
                assert str(reason) == "R1 The numbers"
            elif reason.feature == "level":
                assert reason.code == "7"
            else:
                assert str(reason).startswith("R3 c ")
    assert names == {"numbers", "rest", "level"}


def test_no_reason_contradicts_a_monotone_constraint():
    x, y = samples.frame(300, 2, missing=0.0)
    x = x[["a", "b", "c"]]
    for model in (
        TreeRank(monotonic_cst={"c": 1}),
        RankingForest(n_estimators=10, monotonic_cst={"c": 1}),
        BoostedTreeRank(n_estimators=20, monotonic_cst={"c": 1}),
    ):
        model.fit(x, y)
        median = x["c"].median()
        for direction, wrong in (("down", x["c"] >= median), ("up", x["c"] <= median)):
            found = reasons(model, x[wrong], baseline=x, direction=direction)
            assert all(r.feature != "c" for row in found for r in row)
            found = reasons(model, x[~wrong], baseline=x, direction=direction)
            assert any(r.feature == "c" for row in found for r in row)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "Got n=0"),
        ({"reference": "mean"}, "Got reference='mean'"),
        ({"direction": "left"}, "Got direction='left'"),
        ({"cutoff": "low"}, "Got cutoff='low'"),
        ({"reference": "best"}, "without a baseline"),
        ({"groups": {"g": ["nothing"]}}, "Got feature 'nothing' in group 'g'"),
        ({"groups": {"g": [9]}}, "position from 0 to 3"),
        ({"groups": {"g": ["a"], "h": ["a"]}}, "in groups 'g' and 'h'"),
        ({"groups": {"g": []}}, "without a feature"),
        ({"groups": {"g": 9}}, "position from 0 to 3"),
        ({"groups": {"g": 0.5}}, "Got feature 0.5 in group 'g'"),
        ({"groups": {"b": ["a"]}}, "another name for the group"),
        ({"groups": ["a"]}, "expected a mapping"),
        ({"codes": {"nothing": "R1"}}, "Got a code for 'nothing'"),
        ({"codes": {"a": ("R1", "x", "y")}}, "a pair of code and text"),
        ({"codes": ["R1"]}, "expected a mapping"),
    ],
)
def test_bad_input_gets_one_clear_error(table, forest, options, message):
    with pytest.raises(ValueError, match=message):
        reasons(forest, table[0].iloc[:2], **options)


def test_rows_and_baselines_of_other_columns_are_an_error(table, forest):
    x, _ = table
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- b"):
        reasons(forest, x[["a", "c", "level"]])
    with pytest.raises(ValueError, match="Got a baseline that does not fit the model"):
        reasons(forest, x.iloc[:2], baseline=x.rename(columns={"a": "other"}))


def test_groups_and_models_are_checked_before_anything_is_computed(table, forest, monkeypatch):
    x, y = table

    def compute(*_):
        raise AssertionError("attributions were computed")

    monkeypatch.setattr(reasons_module, "attributions", compute)
    with pytest.raises(ValueError, match="Got feature 'nothing' in group 'g'"):
        reasons(forest, x.iloc[:2], groups={"g": ["nothing"]})
    plain = x[["a", "b"]].fillna(0)
    with pytest.raises(ValueError, match="Got a LogisticRegression; expected"):
        reasons(LogisticRegression().fit(plain, y), plain, baseline=plain)


def test_a_baseline_without_approved_rows_is_an_error(table, forest):
    x, _ = table
    with pytest.raises(ValueError, match="without a row at or above cutoff=9"):
        reasons(forest, x.iloc[:2], baseline=x, reference="approved", cutoff=9)


@pytest.mark.parametrize("kind", ["boolean", "string"])
def test_missing_values_of_nullable_columns_have_words(kind):
    rng = np.random.default_rng(0)
    signal = rng.normal(size=200)
    column = pd.Series(signal > 0).astype("boolean").mask(np.arange(200) % 4 == 0)
    column = column.map({True: "y", False: "n"}).astype("string") if kind == "string" else column
    rows = pd.DataFrame({"c": column, "z": rng.normal(size=200)})
    model = BoostedTreeRank(3, n_bags=1).fit(rows, signal + rng.normal(size=200) > 0)
    said = {r.text for row in reasons(model, rows, baseline=rows) for r in row if r.feature == "c"}
    assert "c is missing, as for 25% of the population" in said
    assert len(said) > 1
