"""The summary: five sentences written from the numbers; names that wrap; the sign-off."""

import html
import re

import numpy as np
import pytest
from report_data import NASTY, grades, loans
from sklearn.linear_model import RidgeClassifier

from treerank import RankingForest, TreeRank, report
from treerank._report._appendix import SIGNATURES
from treerank._report._render import area, breakable, percent
from treerank._report._summary import _features
from treerank.metrics import auc_interval


def sentences(text):
    start = text.index('<section class="panel summary"')
    items = re.findall(r"<li>(.*?)</li>", text[start : text.index("</section>", start)], re.DOTALL)
    return [html.unescape(item.replace("<wbr>", "")) for item in items]


@pytest.fixture(scope="module")
def data():
    x, y = loans(2000)
    return x[:1000], y[:1000], x[1000:], y[1000:]


def test_five_sentences_hold_the_numbers_of_the_page(data):
    x, y = data[2:]
    model = TreeRank(max_depth=3).fit(*data[:2])
    text = report(model, x, y, out=None, train=data[:2])
    said = sentences(text)
    assert len(said) == 5
    assert all(sentence.count(". ") == 0 and sentence.endswith(".") for sentence in said)
    assert f"1,000 rows that were given as new ones; {y.sum()} of them" in said[0]
    assert f"({percent(y.mean())}) have the outcome default = 1" in said[0]
    interval = auc_interval(y, model.score_samples(x))
    assert f"(AUC {interval.auc:.3f}, 95% limits {interval.lower:.3f} to " in said[1]
    gap = model.score(*data[:2]) - interval.auc
    assert f", {gap:.3f} less than on the training rows" in said[1]
    p = model.predict_proba(x)[:, 1]
    scores = model.score_samples(x)
    ends = np.unique(scores)
    top = scores >= ends[np.argmin([abs((scores >= end).mean() - 0.1) for end in ends])]
    assert said[2] == (
        f"The top {percent(top.mean())} of the ranking holds {percent(y[top].sum() / y.sum())} of "
        f"the events: {percent(y[top].mean())} of its rows are events, "
        f"{area(y[top].mean() / y.mean(), 1)} times the rate of all rows."
    )
    assert f"It predicts {percent(p.mean())} events on average where {percent(y.mean())}" in said[3]
    assert f"It depends most on {NASTY}: shuffling that column lowers the AUC by" in said[4]


def test_columns_that_matter_beyond_noise_follow_the_first():
    names = ["age", "income", "term", "home"]
    rows = [
        {"name": name, "value": value, "lower": lower, "upper": 0.2, "is_clear": lower > 0}
        for name, value, lower in zip(
            names, (0.1, 0.05, 0.04, 0.03), (0.08, 0.02, -0.01, 0.01), strict=True
        )
    ]
    page = {"importance": {"rows": rows, "measure": "AUC"}}
    assert _features(page).endswith(
        "(0.080 to 0.200), followed, among the columns whose effect is clearly above 0, "
        "by income and home."
    )
    page["importance"]["rows"] = rows[:2]
    assert _features(page).endswith("(0.080 to 0.200), followed by income.")


def test_a_model_no_better_than_chance_is_said_to_be_so(data):
    x = data[0][["noise"]]
    model = TreeRank(max_depth=1, pruning=None).fit(x, data[1])
    text = report(model, data[2][["noise"]], data[3], out=None)
    assert sentences(text)[1].startswith("Its ranking is not shown to be better than chance: AUC")
    assert sentences(text)[4].startswith("No single column matters beyond noise")


def test_extreme_probabilities_are_said_to_be_so(data):
    model = TreeRank(max_depth=9, pruning=None, shrinkage=None, min_samples_leaf=2).fit(*data[:2])
    text = report(model, *data[2:], out=None)
    assert "its probabilities are too extreme (calibration slope 0." in sentences(text)[3]


def test_a_model_without_probabilities_is_judged_by_its_order(data):
    numbers = ["noise", NASTY]
    model = RidgeClassifier().fit(data[0][numbers], data[1])
    text = report(model, data[2][numbers], data[3], out=None)
    assert "scores and no probabilities" in sentences(text)[3]


def test_held_out_and_training_rows_are_named(data):
    model = TreeRank(max_depth=2).fit(*data[:2])
    held_out = sentences(report(model, train=data[:2], out=None))
    assert "1,000 training rows, each scored by a model that had not seen it" in held_out[0]
    own = sentences(report(model, *data[:2], out=None))
    assert "so that every figure is too good" in own[0]
    assert "training rows" not in own[1]


def test_grades_have_five_sentences_of_their_own():
    x, y = grades(900, n_classes=4)
    model = RankingForest(n_estimators=20).fit(x[:450], y[:450])
    text = report(model, x[450:], y[450:], out=None)
    assert all(f">{cut}<" in text for cut in ("3", "2 and above", "1 and above"))
    assert "3 and above" not in text
    said = sentences(text)
    assert len(said) == 5
    assert f"mean grade is {area(y[450:].mean(), 2)} (" in said[0]
    assert "the one of the higher grade is ranked higher" in said[1]
    order = np.argsort(-model.score_samples(x[450:]), kind="stable")
    top, bottom = y[450:][order[:45]].mean(), y[450:][order[-45:]].mean()
    assert f"is {area(top, 2)} in the top tenth" in said[2]
    assert f"{area(bottom, 2)} in the bottom tenth" in said[2]
    assert re.search(r"best at (3|[12] and above) against .* at (3|[12] and above) \(", said[3])
    assert "lowers the concordance by" in said[4]


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("TotalCreditUtilized", "Total|Credit|Utilized"),
        ("accounts_opened_24m", "accounts_|opened_|24m"),
        ("months2Pay", "months2|Pay"),
        ("mean.texture", "mean.|texture"),
        ("x <= 0.5", "x <= 0.5"),
        ("ABC", "ABC"),
        ("a & b_c", "a & b_|c"),
    ],
)
def test_names_can_be_broken_at_underscores_and_capitals(name, broken):
    assert str(breakable(name)) == html.escape(broken).replace("|", "<wbr>")


def test_names_in_tables_and_rules_can_be_broken(data):
    x, y = data[0].rename(columns={"income": "annual_incomeOfApplicant"}), data[1]
    model = TreeRank(max_depth=4, pruning=None).fit(x, y)
    text = report(model, x, y, out=None)
    wrapped = "annual_<wbr>income<wbr>Of<wbr>Applicant"
    for part in ("importance", "strata", "reasons"):
        start = text.index(f'class="{part}"' if part == "importance" else f'<section id="{part}"')
        assert wrapped in text[start : start + 40_000]


@pytest.mark.parametrize("appendix", [False, True])
def test_the_sign_off_is_the_end_of_every_report(data, appendix):
    model = TreeRank(max_depth=2).fit(*data[:2])
    text = report(model, *data[2:], out=None, appendix=appendix)
    start = text.index('<section id="sign-off"')
    assert "<section" not in text[start + 1 :]
    end = text[start:]
    for who in SIGNATURES:
        assert f'<th scope="row">{who}</th>' in end
    for field in ("name", "role", "date", "signature"):
        assert end.count(f'data-label="{field}"') == len(SIGNATURES)
    assert text.count("Sign-off</h") == 1


def test_a_name_for_the_labels_takes_the_place_of_their_own(data):
    x, y = data[2:]
    model = TreeRank(max_depth=1, pruning=None).fit(*data[:2])
    for labels, name, shown in [
        (y, None, "default = 1"),
        (y, "bad loan", "bad loan = 1"),
        (y.to_numpy(), "default", "default = 1"),
        (y.to_numpy(), None, "1"),
    ]:
        text = report(model, x, labels, out=None, target=name, rows=0)
        assert sentences(text)[0].endswith(f"have the outcome {shown}.")
    held_out = report(model, train=(x, y.to_numpy()), cv=2, out=None, target="default", rows=0)
    assert sentences(held_out)[0].endswith("have the outcome default = 1.")
