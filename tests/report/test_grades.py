"""Grades in a report: those of a scorecard, or the best for the evaluation rows; strata on "
"demand."""

import numpy as np
import pytest
import saved_models

from treerank import RankingForest, TreeRank, report
from treerank._report._grades import grades
from treerank._report._sample import read_sample
from treerank.scoring import Points, Scorecard

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def data():
    X, y = saved_models.loans(3000)
    return (X[:1500], y[:1500]), (X[1500:], y[1500:])


def test_grades_of_a_scorecard_are_counted_on_the_rows_judged(data):
    train, new = data
    card = Scorecard(TreeRank(), grades=5, points=Points(reverse=True)).fit(*train)
    sample = read_sample(card, *new, None)
    shown = grades(card.estimator_, card, sample, 0.95)
    table = card.grades_.to_frame(card.score_samples(new[0]), new[1])
    assert [row["rows"] for row in shown["rows"]] == table["rows"].tolist()
    assert [row["shares"][1] for row in shown["rows"]] == table["event_rate"].tolist()
    assert not shown["same_rows"]
    assert shown["rows"][0]["points"][0] > shown["rows"][-1]["points"][1]
    # Calibrated probabilities are those of the page.
    assert np.array_equal(sample.probability, card.predict_proba(new[0]))
    text = report(card, *new, out=None)
    assert "The grades of the model, on the evaluation rows" in text
    assert "TreeRank report" in text


def test_models_without_grades_get_the_best_for_the_rows_judged(data):
    train, new = data
    for model in (TreeRank(), RankingForest(n_estimators=30)):
        model.fit(*train)
        text = report(model, *new, out=None)
        assert "The model itself has no grades" in text
        shown = grades(model, None, read_sample(model, *new, None), 0.95)
        rates = [row["shares"][1] for row in shown["rows"]]
        assert rates == sorted(rates, reverse=True)
        assert shown["has_rules"] == hasattr(model, "partition_")


def test_rows_that_the_grades_were_chosen_on_are_said_to_be_those(data):
    train, _ = data
    card = Scorecard(TreeRank(), grades=5).fit(*train)
    text = report(card, train=train, out=None)
    assert "on the rows that they were chosen on" in text
    assert "at the fit" not in text


def test_a_model_that_ranks_nothing_has_no_grades(data):
    _, (X, _) = data
    y = np.random.default_rng(0).integers(0, 2, len(X))
    model = TreeRank().fit(X[:500], y[:500])
    assert 'id="grades"' not in report(model, X[500:], y[500:], out=None)


def test_many_strata_are_folded_below_the_grades(data):
    train, new = data
    small = TreeRank(max_depth=2).fit(*train)
    large = TreeRank(max_depth=8, pruning=None).fit(*train)
    assert '<details class="on-demand" open>' in report(small, *new, out=None)
    assert '<details class="on-demand">' in report(large, *new, out=None)
