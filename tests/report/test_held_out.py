"""Without new rows a report evaluates on held-out rows, never on rows the model was fitted to."""

import re

import numpy as np
import pandas as pd
import pytest
from report_data import grades, loans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from treerank import BoostedTreeRank, RankingForest, TreeRank, report
from treerank._report._cells import view_cells
from treerank._report._render import area
from treerank._report._sample import hold_out, read_sample
from treerank.metrics import auc_interval, gains_table, roc_auc_score
from treerank.scoring._held_out import held_out_scores

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def rows():
    return loans()


@pytest.fixture(scope="module")
def tree(rows):
    return TreeRank(max_depth=5).fit(*rows)


def header(text):
    part = text[text.index("<header>") : text.index("</header>")]
    return " ".join(re.sub("<[^>]+>", " ", part).split())


def test_the_headline_of_a_tree_comes_from_folds(rows, tree):
    x, y = rows
    scores = cross_val_predict(tree, x, y, cv=FOLDS, method="decision_function")
    expected = auc_interval(y, scores)
    said = header(report(tree, train=(x, y), out=None))
    assert f"AUC {area(expected.auc)} {area(expected.lower)} to {area(expected.upper)}" in said
    assert f"AUC on the training rows {area(tree.score(x, y))}" in said
    assert "held-out rows of 5 folds" in said
    assert expected.auc < tree.score(x, y)


def test_the_headline_of_a_forest_is_out_of_bag(rows):
    x, y = rows
    kept = RankingForest(n_estimators=60, oob_score=True).fit(x, y)
    again = RankingForest(n_estimators=60).fit(x, y)
    for forest in (kept, again):
        said = header(report(forest, train=(x, y), out=None))
        assert f"AUC {area(kept.oob_auc_)} " in said
        assert "out-of-bag rows" in said
        assert said.count(area(kept.oob_auc_)) == 1


def test_out_of_bag_scores_of_other_rows_are_not_taken(rows):
    x, y = rows
    forest = RankingForest(n_estimators=60, oob_score=True).fit(x, y)
    back = np.arange(len(y))[::-1]
    found = held_out_scores(forest, x.iloc[back], y.to_numpy()[back], None)
    assert found.n_folds == 0
    assert not np.array_equal(found.score, forest.oob_decision_function_)
    assert roc_auc_score(y.to_numpy()[back], found.score) > 0.6


def test_a_small_forest_without_out_of_bag_scores_is_judged_by_folds(rows):
    forest = RankingForest(n_estimators=5).fit(*rows)
    assert held_out_scores(forest, rows[0], rows[1].to_numpy(), None).n_folds == 5


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_boosting_and_other_models_are_judged_by_folds(rows, method):
    x, y = rows
    numbers = x[["noise"]].assign(a=x.iloc[:, 1])
    for model in (BoostedTreeRank(n_estimators=20), LogisticRegression()):
        model.fit(numbers, y)
        found = held_out_scores(model, numbers, y.to_numpy(), None)
        expected = cross_val_predict(model, numbers, y, cv=FOLDS, method=method)
        mine = found.score if method == "decision_function" else found.probability
        expected = expected if expected.ndim == 1 else expected[:, 1]
        np.testing.assert_array_equal(mine, expected)


def test_strata_hold_the_held_out_rows_of_their_places(rows, tree):
    training = read_sample(tree, *rows, None)
    sample, _ = hold_out(tree, training, 5, 0)
    view = view_cells(tree, sample, 0.95, is_held_out=True)
    step = view.steps[view.chosen]
    judged, before = view.judged[step.leaves], view.tree.counts[step.leaves]
    assert (judged == np.rint(judged)).all()
    np.testing.assert_array_equal(judged.sum(axis=0), before.sum(axis=0))
    np.testing.assert_allclose(judged.sum(axis=1), before.sum(axis=1), atol=2)
    np.testing.assert_array_equal(view.judged[0], judged.sum(axis=0))
    top = before[0].sum() / before.sum()
    bands = gains_table(sample.code, sample.score, n_bands=2000)
    expected = np.interp(top, bands["cumulative_rows"], bands["cumulative_events"])
    assert judged[0, 1] == pytest.approx(expected * judged[:, 1].sum(), abs=1)
    assert judged[0, 1] / judged[0].sum() < before[0, 1] / before[0].sum()


def test_weights_count_in_folds_and_figures(rows, tree):
    x, y = rows
    weight = 1.0 + np.arange(len(y)) % 3
    weight[:7] = 0.0
    model = TreeRank(max_depth=5).fit(x, y, sample_weight=weight)
    text = report(model, train=(x, y, weight), out=None)
    assert "Rows are counted by their weights" in text
    assert "evaluated on 593 held-out rows" in header(text)


def test_ordered_classes_are_held_out_in_their_own_order():
    x, y = grades()
    words = pd.Series(
        pd.Categorical.from_codes(y, ["mild", "grave", "fatal"], ordered=True), name="grade"
    )
    model = TreeRank(max_depth=3).fit(x, words)
    said = header(report(model, train=(x, words), out=None))
    assert "mild, grave, fatal" in said
    vus = float(re.search(r"VUS ([\d.]+)", said)[1])
    assert 0.35 < vus < model.score(x, words)


def test_training_rows_given_as_new_ones_are_found_out(rows, tree):
    assert "These are the training rows." in header(report(tree, *rows, out=None))
    half = [part.iloc[:300] for part in rows]
    assert "These are the training rows." not in header(report(tree, *half, out=None))


def test_what_cannot_be_held_out_is_said(rows, tree):
    x, y = rows
    with pytest.raises(ValueError, match="Got no X to evaluate the model on"):
        report(tree, out=None)
    with pytest.raises(ValueError, match="Got no X to evaluate the model on"):
        report(tree, None, y, train=(x, y), out=None)
    with pytest.raises(ValueError, match="Got cv=1; expected an integer >= 2"):
        report(tree, train=(x, y), cv=1, out=None)
    with pytest.raises(ValueError, match="hold every row just once"):
        report(tree, train=(x, y), cv=_Twice(), out=None)
    few = np.r_[np.flatnonzero(y == 0)[:50], np.flatnonzero(y == 1)[:1]]
    with pytest.raises(ValueError, match="Got 1 row of one of the classes"):
        report(tree, train=(x.iloc[few], y.iloc[few]), out=None)


class _Twice(KFold):
    def split(self, *arguments):
        return [*super().split(*arguments)] * 2
