"""evaluate_groups and weak_segments: by the definition, corrected, and in words for odd groups."""

import json

import numpy as np
import pandas as pd
import pytest
from oracles import auc as slow_auc
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank
from treerank._comparison.result import holm
from treerank.metrics import auc_interval, roc_auc_score, wilson_interval
from treerank.scoring import evaluate_groups, weak_segments
from treerank.scoring._recalibration import fit_recalibration, recalibrated
from treerank.scoring._rows import read_rows
from treerank.scoring.segments import _model_auc


def make_rows(n=3000, seed=0, strength=(1.5, 1.5, 1.5), shift=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    group = rng.integers(0, 3, n)
    x["region"] = np.array(["north", "south", "west"])[group]
    logit = np.array(strength)[group] * x["a"] + np.array(shift)[group] - 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return x, y


@pytest.fixture(scope="module")
def model():
    x, y = make_rows(seed=9)
    return LogisticRegression().fit(x[["a", "b"]], y)


@pytest.fixture(scope="module")
def found(model):
    x, y = make_rows(600)
    return evaluate_groups(model, x[["a", "b"]], y, x["region"], threshold=0.2, level=0.9), x, y


def test_figures_are_those_of_the_definitions(found, model):
    found, x, y = found
    s = model.decision_function(x[["a", "b"]])
    for i, g in enumerate(found.groups):
        mask = (x["region"] == g.name).to_numpy()
        expected = auc_interval(y[mask], s[mask], level=0.9)
        assert g.auc == pytest.approx(expected.auc)
        assert g.auc_limits == pytest.approx((expected.lower, expected.upper))
        assert g.difference == pytest.approx(
            roc_auc_score(y[mask], s[mask]) - roc_auc_score(y[~mask], s[~mask])
        )
        assert g.rate_limits == pytest.approx(wilson_interval(y[mask].sum(), mask.sum(), 0.9))
        assert g.flagged == pytest.approx((s[mask] >= 0.2).mean())
        assert g.tpr == pytest.approx((s[mask & (y == 1)] >= 0.2).mean())
        assert g.fpr == pytest.approx((s[mask & (y == 0)] >= 0.2).mean())
        for j, other in enumerate(found.groups):
            part = (mask & (y == 1)) | ((x["region"] == other.name).to_numpy() & (y == 0))
            assert found.cross_auc[i][j][0] == pytest.approx(slow_auc(y[part], s[part]))
        over = (mask & (y == 1)) | (~mask & (y == 0))
        under = (~mask & (y == 1)) | (mask & (y == 0))
        gap = roc_auc_score(y[over], s[over]) - roc_auc_score(y[under], s[under])
        assert g.cross_gap == pytest.approx(gap)
        fpr, tpr = found.curves[g.name]
        assert np.trapezoid(tpr, fpr) == pytest.approx(g.auc)
    p = [g.p_value for g in found.groups]
    np.testing.assert_allclose([g.p_adjusted for g in found.groups], holm(np.array(p)))
    sizes = [g.rows for g in found.groups]
    assert sizes == sorted(sizes, reverse=True)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "cross gap" in str(found)


def test_a_group_that_is_ranked_worse_is_found(model):
    x, y = make_rows(3000, strength=(1.5, 0.2, 1.5))
    found = evaluate_groups(model, x[["a", "b"]], y, x["region"])
    p = {g.name: g.p_adjusted for g in found.groups}
    assert p["south"] < 0.001
    south = next(g for g in found.groups if g.name == "south")
    assert south.difference_limits[1] < 0


def test_a_group_that_is_placed_too_low_is_found_across_groups(model):
    x, y = make_rows(3000)
    shifted = x[["a", "b"]].copy()
    shifted.loc[x["region"] == "west", "a"] -= 1.0  # as good within, but placed below the others
    found = evaluate_groups(model, shifted, y, x["region"])
    west = next(g for g in found.groups if g.name == "west")
    assert west.p_adjusted > 0.05
    assert west.cross_p_adjusted < 0.001
    assert west.cross_gap < -0.2


def test_equal_groups_are_told_apart_as_often_as_the_level_allows(model):
    wrong = 0
    for seed in range(60):
        x, y = make_rows(240, seed=100 + seed)
        groups = evaluate_groups(model, x[["a", "b"]], y, x["region"]).groups
        wrong += any(g.p_adjusted < 0.05 for g in groups)
    assert wrong <= 7  # P(8 or more) is 0.9 % at the level itself


def test_odd_groups_are_put_in_words(model):
    x, y = make_rows(300)
    group = x["region"].to_numpy().astype(object)
    group[0], group[1], group[2] = "one row", None, np.nan
    y[group == "south"] = 0
    found = evaluate_groups(model, x[["a", "b"]], y, group, threshold=0.0)
    by_name = {g.name: g for g in found.groups}
    assert by_name["one row"].rows == 1
    assert by_name["(missing)"].rows == 2
    assert by_name["south"].auc is None
    assert by_name["south"].note == "no events, so that there is no AUC"
    assert by_name["south"].tpr is None
    assert "nan" not in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    alone = evaluate_groups(model, x[["a", "b"]], y, np.zeros(300))
    assert alone.groups[0].difference is None
    assert "nan" not in str(alone)


def test_weights_count_and_rows_without_are_dropped(model):
    x, y = make_rows(600)
    weight = 1.0 + np.arange(600) % 2
    weight[:100] = 0
    found = evaluate_groups(model, x[["a", "b"]], y, x["region"], sample_weight=weight)
    expected = evaluate_groups(
        model, x[["a", "b"]][100:], y[100:], x["region"][100:], sample_weight=weight[100:]
    )
    assert found.groups == expected.groups
    assert sum(g.rows for g in found.groups) == weight.sum()


def test_bad_groups_are_named(model):
    x, y = make_rows(300)
    with pytest.raises(ValueError, match="Got groups of shape"):
        evaluate_groups(model, x[["a", "b"]], y, x["region"][:5])
    with pytest.raises(ValueError, match="Got 300 groups; expected at most 50"):
        evaluate_groups(model, x[["a", "b"]], y, x["a"])
    with pytest.raises(ValueError, match="Got threshold='high'"):
        evaluate_groups(model, x[["a", "b"]], y, x["region"], threshold="high")


def test_a_weak_segment_is_found_and_confirmed():
    x, y = make_rows(8000, strength=(1.5, 0.0, 1.5))
    tree = TreeRank(max_depth=3).fit(x[["a", "b"]][:2000], y[:2000])
    new = x[2000:]
    found = weak_segments(tree, new[["a", "b"]], y[2000:], features=new, max_depth=1)
    worst = found.segments[0]
    assert worst.is_weak
    assert "south" in worst.rule
    assert "north" not in worst.rule
    assert worst.auc < 0.6 < worst.expected
    assert not found.segments[1].is_weak
    assert found.n_rows == 3000
    assert sum(s.rows for s in found.segments) == 3000
    assert "weak" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_segment_without_signal_that_the_model_knows_is_not_weak():
    x, y = make_rows(12000, strength=(1.5, 0.0, 1.5))
    forest = RankingForest(n_estimators=50).fit(x[:6000], y[:6000])
    found = weak_segments(forest, x[6000:], y[6000:])
    assert not any(s.is_weak for s in found.segments)


def test_segments_of_a_right_model_are_called_weak_as_often_as_the_level_allows(model):
    wrong = 0
    for seed in range(30):
        x, y = make_rows(800, seed=seed)
        x["noise"] = np.random.default_rng(seed).choice(list("abcdefgh"), 800)
        found = weak_segments(model, x[["a", "b"]], y, features=x, random_state=seed)
        wrong += any(s.is_weak for s in found.segments)
    assert wrong <= 4  # P(5 or more) is 1.6 % at the level itself


def test_a_misfit_that_is_everywhere_makes_no_segment_weak():
    rng = np.random.default_rng(0)
    x = 4 * rng.normal(size=(45_000, 2))
    y = (rng.random(45_000) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    model = LogisticRegression().fit(x[:5000], y[:5000])
    x, y = x[5000:], y[5000:]
    y = np.where(np.abs(x[:, 0]) < 4, rng.integers(0, 2, 40_000), y)  # no order in the middle
    rows = read_rows(model, x, y)
    p = recalibrated(rows.probability, fit_recalibration(rows), 0.0, len(rows.code))
    found = auc_interval(y, rows.score)
    assert found.upper < _model_auc(rows.score, p, rows.weight)
    segments = weak_segments(model, x, y, features=x[:, 1:]).segments
    assert len(segments) > 1
    assert not any(s.is_weak for s in segments)


def test_segments_of_arrays_and_of_other_models():
    x, y = make_rows(2000)
    numbers = x[["a", "b"]].to_numpy()
    model = LinearSVC().fit(numbers[:500], y[:500])
    weight = np.ones(1500)
    weight[:200] = 0
    found = weak_segments(model, numbers[500:], y[500:], sample_weight=weight, max_depth=1)
    assert found.n_rows == 650
    assert len(found.segments) == 2


def test_too_few_rows_to_search_and_check_are_named(model):
    x, y = make_rows(60)
    with pytest.raises(ValueError, match="expected at least 20 of each, both to search"):
        weak_segments(model, x[["a", "b"]], y)
    with pytest.raises(ValueError, match=r"Got test_share=1\.0"):
        weak_segments(model, x[["a", "b"]], y, test_share=1.0)
