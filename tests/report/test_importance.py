"""Importance in the report: what rows that the model does not know lose by shuffling a column."""

import re

import numpy as np
import pandas as pd
import pytest
from report_data import grades, loans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, report
from treerank._report import _importance
from treerank._report._importance import _scores_of, draw_of_every_class, importances
from treerank._report._judged import Judged
from treerank._report._sample import hold_out, read_sample
from treerank.baselines import RankBoost
from treerank.metrics import concordance_interval


def judged_on(model, x, y):
    sample = read_sample(model, x, y, None)
    return Judged(sample, sample, None, None)


@pytest.mark.parametrize(
    "model",
    [
        TreeRank(max_depth=4),
        RankingForest(n_estimators=5),
        RankingForest(n_estimators=5, aggregation="median_rank"),
        BoostedTreeRank(n_estimators=5),
        LogisticRegression(),
        RankBoost(n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shuffled_scores_are_those_of_shuffled_rows(model):
    x, y = loans()
    if isinstance(model, LogisticRegression | RankBoost):
        x = x[["noise"]].assign(other=np.arange(len(x)) % 7)
    model.fit(x[:300], y[:300])
    sample = read_sample(model, x[300:], y[300:], None)
    rows, order = np.arange(0, 300, 3), np.random.default_rng(0).permutation(100)
    score = _scores_of(model, sample, rows)
    np.testing.assert_array_equal(score([], None), sample.score[rows])
    for j in range(x.shape[1]):
        changed = x[300:].iloc[rows].reset_index(drop=True)
        changed.isetitem(j, changed.iloc[order, j].to_numpy())
        expected = read_sample(model, changed, y[300:].iloc[rows], None).score
        np.testing.assert_allclose(score([j], order), expected)


def test_a_column_learnt_by_heart_counts_in_gains_and_not_on_new_rows():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"real": rng.normal(size=1200), "noise": rng.normal(size=1200)})
    y = (x.real + rng.normal(size=1200) > 0).astype(int)
    model = RankingForest(n_estimators=30, max_depth=8).fit(x[:200], y[:200])
    assert model.feature_importances_[1] > 0.15
    found = importances(model, judged_on(model, x[200:], y[200:]), 0.95, 0)
    by_name = {row["name"]: row for row in found["rows"]}
    assert by_name["noise"]["value"] < 0.03
    assert by_name["real"]["lower"] > by_name["noise"]["upper"]
    text = report(model, x[200:], y[200:], out=None)
    assert "the mean of 5 shuffles" in text
    assert f"lowers the AUC by {by_name['real']['value']:.3f}" in text


def test_loss_of_auc_is_a_difference_of_aucs():
    x, y = loans(900)
    model = TreeRank(max_depth=4).fit(x[:300], y[:300])
    found = importances(model, judged_on(model, x[300:], y[300:]), 0.95, 0)
    whole = roc_auc_score(y[300:], model.score_samples(x[300:]))
    for row in found["rows"]:
        assert row["lower"] <= row["value"] <= row["upper"]
        assert abs(row["value"]) < whole
    name, lost, rng = found["rows"][0]["name"], [], np.random.default_rng(7)
    for _ in range(20):
        other = x[300:].assign(**{name: rng.permutation(x[name][300:])})
        lost.append(whole - roc_auc_score(y[300:], model.score_samples(other)))
    assert found["rows"][0]["value"] == pytest.approx(np.mean(lost), abs=0.02)


def test_grades_lose_concordance():
    x, y = grades(900, n_classes=4)
    model = TreeRank(LeafRank(), max_depth=4).fit(x[:400], y[:400])
    found = importances(model, judged_on(model, x[400:], y[400:]), 0.95, 0)
    assert found["measure"] == "concordance"
    first = found["rows"][0]
    assert first["name"] == "x0"
    assert first["lower"] > 0
    whole = concordance_interval(y[400:], model.score_samples(x[400:])).concordance
    lost, rng = [], np.random.default_rng(7)
    for _ in range(20):
        other = x[400:].copy()
        other[:, 0] = rng.permutation(other[:, 0])
        lost.append(whole - concordance_interval(y[400:], model.score_samples(other)).concordance)
    assert first["value"] == pytest.approx(np.mean(lost), abs=0.01)


@pytest.mark.parametrize("kind", ["tree", "forest", "kept"])
def test_training_rows_alone_are_shuffled_for_a_model_that_does_not_know_them(kind, monkeypatch):
    x, y = loans(600)
    model = {
        "tree": TreeRank(max_depth=3),
        "forest": RankingForest(n_estimators=60),
        "kept": RankingForest(n_estimators=60, oob_score=True),
    }[kind].fit(x, y)
    training = read_sample(model, x, y, None)
    sample, held_out = hold_out(model, training, 5, 0)
    seen = []

    def note(ranker, described, rows, *others):
        seen.append((ranker, rows))
        return losses(ranker, described, rows, *others)

    losses = _importance._losses
    monkeypatch.setattr(_importance, "_losses", note)
    found = importances(model, Judged(sample, training, None, held_out), 0.95, 0)
    [(ranker, rows)] = seen
    assert ranker is not model
    assert found["is_refitted"]
    assert len(rows) == 120
    scores = ranker.score_samples(x)
    if kind == "tree":  # the model of the first fold
        np.testing.assert_array_equal(scores[rows], held_out.score[rows])
    else:  # it ranks the rows that it has learned better
        known = np.setdiff1d(np.arange(600), rows)
        assert roc_auc_score(y[known], scores[known]) > roc_auc_score(y[rows], scores[rows]) + 0.02
        assert ranker.n_estimators == 50
    assert "by a model fitted without them" in report(model, train=(x, y), out=None)


def test_work_is_bounded(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 60))
    y = (x[:, :30].sum(axis=1) + rng.normal(size=6000) > 0).astype(int)
    model = RankingForest(n_estimators=5, max_depth=4).fit(x, y)
    assert (model.feature_importances_ > 0).sum() > 20
    scored = []
    ranking_scores = _importance.ranking_scores

    def count(ranker, rows):
        scored.append(rows.n_rows)
        return ranking_scores(ranker, rows)

    monkeypatch.setattr(_importance, "ranking_scores", count)
    found = importances(model, judged_on(model, x, y), 0.95, 0)
    assert max(scored) <= 2001
    assert len(scored) <= 61
    assert len(found["rows"]) == 20
    assert found["n_more"] + found["n_unused"] == 40


def test_rare_classes_are_drawn():
    code = np.zeros(50_000, dtype=np.intp)
    code[:30], code[30:1000] = 1, 2
    drawn = draw_of_every_class(code, np.arange(50_000), 2000, np.random.default_rng(0))
    assert np.bincount(code[drawn]).tolist() == [1960, 30, 100]
    assert len(np.unique(drawn)) == len(drawn)


def test_limits_are_shown_beside_the_values():
    x, y = loans(900)
    model = TreeRank(max_depth=4).fit(x[:300], y[:300])
    text = report(model, x[300:], y[300:], out=None)
    table = text[text.index('<table class="importance">') :]
    row = table[table.index("<tbody>") : table.index("</tr>", table.index("<tbody>"))]
    value, lower, upper = map(float, re.findall(r"-?\d\.\d{4}", row)[:3])
    assert lower < value < upper
