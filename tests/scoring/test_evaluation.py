"""evaluate: every figure is that of the metrics, and what is unknown is marked as unknown."""

import json

import numpy as np
import pytest
from report_data import grades, loans
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank
from treerank.metrics import (
    auc_interval,
    brier_score_loss,
    calibration_slope,
    gains_table,
    ks_score,
    local_auc_interval,
    local_auc_score,
    pairwise_auc_scores,
    top_measures,
    vus_interval,
)
from treerank.scoring import evaluate


@pytest.fixture(scope="module")
def rows():
    x, y = loans()
    return x.iloc[:300], y.iloc[:300], x.iloc[300:], y.iloc[300:]


@pytest.mark.parametrize("kind", [TreeRank, RankingForest])
def test_figures_are_those_of_the_measures(rows, kind):
    model = kind(random_state=0).fit(*rows[:2])
    x, y = rows[2:]
    weight = 1.0 + np.arange(len(y)) % 2
    found = evaluate(model, x, y, sample_weight=weight, rate=0.2, level=0.9)
    s, p = model.score_samples(x), model.predict_proba(x)[:, 1]
    auc = auc_interval(y, s, sample_weight=weight, level=0.9)
    assert (found.value, found.lower, found.upper) == (auc.auc, auc.lower, auc.upper)
    assert found.local_auc == local_auc_score(y, s, rate=0.2, sample_weight=weight)
    assert found.ks == ks_score(y, s, sample_weight=weight)
    assert found.brier == pytest.approx(brier_score_loss(y, p, sample_weight=weight))
    fit = calibration_slope(y, p, sample_weight=weight, level=0.9)
    assert found.slope == pytest.approx(fit.slope)
    assert found.intercept == pytest.approx(fit.in_the_large)
    assert found.intercept_limits == pytest.approx(fit.in_the_large_limits)
    expected = gains_table(y, s, sample_weight=weight, level=0.9)
    np.testing.assert_array_equal(found.gains["events"], expected["events"])
    assert found.rows == [weight[y == 0].sum(), weight[y == 1].sum()]


def test_ordered_classes_are_measured_by_vus():
    x, y = grades()
    model = TreeRank(max_depth=3).fit(x[:225], y[:225])
    found = evaluate(model, x[225:], y[225:])
    s = model.score_samples(x[225:])
    assert found.metric == "VUS"
    assert found.value == vus_interval(y[225:], s).vus
    assert [p["auc"] for p in found.pairs] == [
        pairwise_auc_scores(y[225:], s)[a, b] for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    assert "ranked above" in str(found)
    assert found.ks is None


def test_a_model_without_probabilities_has_no_calibration():
    x, y = grades(n_classes=2)
    model = LinearSVC().fit(x[:225], y[:225])
    found = evaluate(model, x[225:], y[225:])
    assert found.brier is None
    assert "no probabilities" in str(found)


def test_nothing_that_is_not_a_number_gets_into_the_json():
    x = np.array([[0.0], [1.0]] * 20)
    y = np.array([0, 1] * 20)
    model = LogisticRegression().fit(x, y)
    found = evaluate(model, x, y)  # the probabilities separate the classes
    assert found.slope is None
    assert "not defined" in str(found)
    assert "nan" not in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    few = evaluate(model, x[:2], y[:2])
    assert len(few.gains["band"]) == 2


def test_bad_rows_are_named(rows):
    model = TreeRank(max_depth=2).fit(*rows[:2])
    x, y = rows[2:]
    with pytest.raises(ValueError, match=r"Got no row of \[1\] in y"):
        evaluate(model, x[y == 0], y[y == 0])
    with pytest.raises(ValueError, match="labels for 300 rows"):
        evaluate(model, x, y[:10])
    with pytest.raises(ValueError, match="rate=0"):
        evaluate(model, x, y, rate=0)


def test_the_top_is_that_of_the_metrics():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 1).astype(int)
    model = TreeRank().fit(X[:200], y[:200])
    found = evaluate(model, X[200:], y[200:], rate=0.2)
    scores = model.score_samples(X[200:])
    local = local_auc_interval(y[200:], scores, rate=0.2)
    assert (found.local_auc, *found.local_auc_limits) == (local.auc, local.lower, local.upper)
    top = top_measures(y[200:], scores, rate=0.2)
    for name in ("precision", "recall", "lift"):
        measure = getattr(top, name)
        assert found.top[name] == [measure.value, measure.lower, measure.upper]
        assert f"{name}, top 20%" in str(found)
