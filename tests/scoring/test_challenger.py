"""challenge: swap sets by the definition, paired tests, net benefit; compare by groups and time."""

import json

import numpy as np
import pandas as pd
import pytest
from report_data import grades, loans
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank, compare, report
from treerank._comparison.folds import make_folds
from treerank.metrics import brier_score_loss, compare_auc, decision_curve
from treerank.scoring import challenge


@pytest.fixture(scope="module")
def rows():
    x, y = loans(1500)
    return x.iloc[:500], y.iloc[:500], x.iloc[500:], y.iloc[500:]


@pytest.fixture(scope="module")
def models(rows):
    return TreeRank(max_depth=3).fit(*rows[:2]), RankingForest(n_estimators=20).fit(*rows[:2])


def test_figures_are_those_of_the_measures(rows, models):
    x, y = rows[2:]
    found = challenge(*models, x, y, share=0.2, level=0.9, thresholds=[0.1, 0.4])
    s = [m.score_samples(x) for m in models]
    p = [m.predict_proba(x)[:, 1] for m in models]
    assert found.auc == compare_auc(y, s[1], s[0], level=0.9)
    assert found.brier == pytest.approx([brier_score_loss(y, part) for part in p])
    curves = [decision_curve(y, part, thresholds=[0.1, 0.4]) for part in p]
    assert [b.champion for b in found.net_benefit] == pytest.approx(curves[0].model)
    assert [b.challenger for b in found.net_benefit] == pytest.approx(curves[1].model)
    assert [b.call_all for b in found.net_benefit] == pytest.approx(curves[0].call_all)
    assert found.names == ["TreeRank", "RankingForest"]
    json.dumps(found.to_dict(), allow_nan=False)
    assert "swapped in less swapped out" in str(found)


def test_swap_sets_without_ties_are_sets_of_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    models = [LogisticRegression().fit(x[:, :k], y) for k in (1, 2)]
    found = challenge(models[0], models[1], x[:, :1], y, X_challenger=x, share=0.25)
    flags = []
    for model, part in zip(models, (x[:, :1], x), strict=True):
        s = model.decision_function(part)
        flags.append(s >= np.sort(s)[300])
    a, b = flags
    for part, mask in zip(found.swap_sets, (a & b, a & ~b, ~a & b, ~a & ~b), strict=True):
        assert part.rows == pytest.approx(mask.sum())
        assert part.events == pytest.approx(y[mask].sum())
    assert found.found == pytest.approx((y[a].sum() / y.sum(), y[b].sum() / y.sum()))
    assert found.swap_sets[1].rows == pytest.approx(found.swap_sets[2].rows)


def test_ties_across_the_cut_share_the_places(rows, models):
    found = challenge(*models, *rows[2:], share=0.137)
    total = found.rows
    both, out, swapped_in, _ = (part.rows for part in found.swap_sets)
    assert both + out == pytest.approx(0.137 * total)
    assert both + swapped_in == pytest.approx(0.137 * total)
    same = challenge(models[0], models[0], *rows[2:], share=1.0)
    assert same.swap_difference is None
    assert same.names == ["champion", "challenger"]
    assert "nan" not in str(same)
    json.dumps(same.to_dict(), allow_nan=False)


def test_models_of_the_same_ranking_have_no_swaps(rows, models):
    weight = np.random.default_rng(0).random(len(rows[3]))
    for share in (0.1, 0.137, 0.5):
        found = challenge(models[0], models[0], *rows[2:], share=share, sample_weight=weight)
        assert [part.rows for part in found.swap_sets[1:3]] == [0, 0]
        assert found.swap_sets[0].rows == pytest.approx(share * found.rows)
        assert found.swap_difference is None


def test_ties_are_broken_by_one_order_for_both_models():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(3000, 2)).astype(float)
    y = np.arange(3000) % 2
    models = [LogisticRegression().fit(x[:, :k], x[:, 0] + x[:, k - 1] > 2) for k in (1, 2)]
    found = challenge(*models, x[:, :1], y > 0, X_challenger=x, share=0.2)
    rows = []
    for _ in range(50):
        order = rng.permutation(3000)  # the same for both
        a, b = (
            np.isin(order, order[np.lexsort((order, -model.decision_function(part)))[:600]])
            for model, part in zip(models, (x[:, :1], x), strict=True)
        )
        rows.append([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()])
    assert [part.rows for part in found.swap_sets] == pytest.approx(np.mean(rows, axis=0), abs=15)


def test_weights_are_sampling_weights(rows, models):
    x, y = rows[2:]
    weight = np.where(np.arange(len(y)) % 4 == 0, 0.0, 2.0)
    found = challenge(*models, x, y, sample_weight=weight)
    kept = weight > 0
    plain = challenge(*models, x[kept], y[kept])
    assert found.auc.difference == pytest.approx(plain.auc.difference)
    assert found.swap_limits == pytest.approx(plain.swap_limits)
    assert found.net_benefit[1].difference_limits == pytest.approx(
        plain.net_benefit[1].difference_limits
    )
    assert found.rows == 2 * plain.rows


def test_the_limits_of_net_benefit_hold():
    rng = np.random.default_rng(1)

    def draw(n):
        x = rng.normal(size=(n, 2))
        return x, (rng.random(n) < 1 / (1 + np.exp(-x[:, 0] - 0.7 * x[:, 1]))).astype(int)

    x, y = draw(5000)
    models = [LogisticRegression().fit(x[:, [k]], y) for k in (0, 1)]

    def difference(n):
        x, y = draw(n)
        found = challenge(*models, x[:, [0]], y, X_challenger=x[:, [1]], thresholds=[0.45])
        return found.net_benefit[0]

    truth = difference(400_000).difference
    limits = np.array([difference(300).difference_limits for _ in range(200)])
    assert 0.91 <= np.mean((limits[:, 0] <= truth) & (truth <= limits[:, 1])) <= 0.99


def test_models_without_probabilities_have_no_net_benefit(rows):
    numbers = [part[["noise"]].assign(a=part.iloc[:, 1]) for part in (rows[0], rows[2])]
    model = LinearSVC().fit(numbers[0], rows[1])
    found = challenge(model, TreeRank(max_depth=2).fit(numbers[0], rows[1]), numbers[1], rows[3])
    assert found.brier is None
    assert found.net_benefit == []


def test_bad_challenges_are_named(rows, models):
    x, y = grades()
    three = TreeRank(max_depth=2).fit(x, y)
    with pytest.raises(ValueError, match="of 3 classes; expected two"):
        challenge(three, three, x, y)
    other = TreeRank(max_depth=2).fit(rows[0], np.where(rows[1] == 1, "bad", "good"))
    with pytest.raises(ValueError, match="Got models of the classes"):
        challenge(models[0], other, *rows[2:])
    with pytest.raises(ValueError, match="Got share=0"):
        challenge(*models, *rows[2:], share=0)
    with pytest.raises(ValueError, match=r"Got thresholds=\[2\]"):
        challenge(*models, *rows[2:], thresholds=[2])
    quiet = rows[3] == 0
    with pytest.raises(ValueError, match="Got rows of one class alone"):
        challenge(*models, rows[2][quiet], rows[3][quiet])


def test_the_report_shows_the_swap_sets(rows, models):
    found = challenge(*models, *rows[2:])
    text = report(models[1], *rows[2:], out=None, champion=models[0])
    assert 'id="challenge"' in text
    assert f"{found.auc.difference:.4f}" in text
    assert f"{found.swap_sets[2].rate:.1%}" in text
    same = report(models[1], *rows[2:], out=None, champion=(models[0], rows[2]))
    part = [page[page.index('id="challenge"') :][:5000] for page in (text, same)]
    assert part[0] == part[1]
    with pytest.raises(ValueError, match="Got a champion and no new rows"):
        report(models[1], train=rows[:2], out=None, champion=models[0])


def labels_of(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2, n).astype(np.intp)


def test_groups_stay_in_one_fold():
    labels = labels_of(300)
    groups = np.random.default_rng(1).integers(0, 40, 300).astype(str)
    folds = make_folds(labels, np.array([0, 1]), 5, 1, 0, groups=groups)
    assert len(folds) == 5
    judged = np.concatenate([test for _, test in folds])
    assert sorted(judged) == list(range(300))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


def test_time_runs_forward_and_equal_times_stay_together():
    labels = labels_of(500)
    when = np.random.default_rng(1).integers(0, 30, 500)
    folds = make_folds(labels, np.array([0, 1]), 4, 1, 0, time=when)
    assert len(folds) == 4
    for train, test in folds:
        assert when[train].max() < when[test].min()
        assert 60 <= len(test) <= 140
    first = folds[0][0]
    assert sorted(np.concatenate([first, *[test for _, test in folds]])) == list(range(500))
    skewed = np.where(np.arange(500) < 480, 0, np.arange(500))  # most rows at one time
    labels[480:] = np.arange(20) % 2
    folds = make_folds(labels, np.array([0, 1]), 2, 1, 0, time=skewed)
    assert [(len(train), len(test)) for train, test in folds] == [(480, 10), (490, 10)]


def test_compare_takes_groups_and_time(rows):
    x, y = rows[2:]
    models = {"tree": TreeRank(max_depth=2), "stump": TreeRank(max_depth=1)}
    customer = np.arange(len(y)) // 5
    found = compare(models, x, y, cv=4, groups=customer)
    assert found.fold_scores.shape == (2, 4)
    for k, test in enumerate(found.folds):
        others = np.setdiff1d(np.arange(len(y)), test)
        assert not set(customer[test]) & set(customer[others]), k
    forward = compare(models, x, y, cv=3, time=np.arange(len(y)))
    assert [len(test) for test in forward.folds] == [250, 250, 250]
    month = np.arange(len(y)) // 84
    named = np.array(["Jan", "Feb", "Mar", *"456789", "Oct", "Nov", "Dec"])[month]
    ordered = pd.Categorical(named, list(dict.fromkeys(named)), ordered=True)
    for same in (ordered, [f"2024-{k + 1:02d}" for k in month]):
        folds = compare(models, x, y, cv=3, time=same).folds
        of_numbers = compare(models, x, y, cv=3, time=month).folds
        assert all(map(np.array_equal, folds, of_numbers))
    for arguments, message in (
        ({"groups": customer, "time": customer}, "Got groups and time"),
        ({"groups": customer[:5]}, "Got groups of shape"),
        ({"time": np.zeros(len(y))}, "1 different times; expected at least 4"),
        ({"groups": np.zeros(len(y))}, "Got cv=3 and 1 groups"),
        ({"time": np.full(len(y), np.nan)}, "Got no value of time in row 0"),
        ({"time": customer, "n_repeats": 2}, "Got n_repeats=2; expected 1 with time"),
        ({"time": [f"{k % 28 + 1}.01.2024" for k in range(len(y))]}, "Got time as text such as '1"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(models, x, y, cv=3, **arguments)
