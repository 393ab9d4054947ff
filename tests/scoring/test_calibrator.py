"""Calibration: the ranking to the last tie, probabilities that hold, and another population."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank.metrics import calibration_slope, calibration_test, roc_auc_score
from treerank.scoring import Calibrator

METHODS = ["beta", "sigmoid", "isotonic"]


def sample(n=4000, seed=0, slope=2.0):
    """Probabilities that are too extreme by a factor, and outcomes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(-1, 1, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    return 1 / (1 + np.exp(-slope * logits)), y


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_hold_on_new_rows(method):
    p, y = sample(20_000)
    assert calibration_test(y[10_000:], p[10_000:]).p_value < 1e-6
    calibrated = Calibrator(method).fit(p[:10_000], y[:10_000]).predict(p[10_000:])
    fit = calibration_slope(y[10_000:], calibrated)
    assert abs(fit.slope - 1) < 0.1
    assert abs(fit.in_the_large) < 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "model",
    [
        TreeRank(),
        TreeRank(shrinkage=None),
        RankingForest(n_estimators=40),
        RankingForest(n_estimators=20, aggregation="mean_rank"),
        BoostedTreeRank(n_estimators=40),
    ],
    ids=["tree", "tree by place", "forest", "forest of ranks", "boosting"],
)
def test_the_auc_is_the_same_to_the_last_digit(method, model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (rng.random(3000) < 1 / (1 + np.exp(1 - X[:, 0] - X[:, 1] * X[:, 2]))).astype(int)
    scores = model.fit(X[:1000], y[:1000]).score_samples(X)
    for scale in ("score", "posterior"):
        calibrator = Calibrator(method, scale=scale).fit(scores[1000:2000], y[1000:2000])
        p = calibrator.predict(scores)
        assert roc_auc_score(y[2000:], p[2000:]) == roc_auc_score(y[2000:], scores[2000:])
        assert len(np.unique(p)) == len(np.unique(scores))
        assert ((p > 0) & (p < 1)).all()


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=2, max_size=30),
    st.sampled_from(METHODS),
)
@settings(deadline=None)
@pytest.mark.filterwarnings("ignore:The score does not rank")
def test_every_curve_rises_strictly_from_end_to_end(rows, method):
    p, y = np.array([row[0] for row in rows]) / 1000, np.array([row[1] for row in rows])
    if y.all() or not y.any():
        return
    calibrator = Calibrator(method).fit(p, y)
    assert (np.diff(calibrator.decision_function(np.linspace(0, 1, 301))) > 0).all()


def test_a_sigmoid_is_the_logistic_regression_of_the_log_odds():
    p, y = sample(20_000)
    calibrator = Calibrator("sigmoid").fit(p, y)
    line = LogisticRegression(C=np.inf).fit(np.log(p / (1 - p))[:, None], y)
    # Apart by Platt's targets, and by the log-odds of the rarest probabilities.
    assert calibrator.coefficients_[0] == pytest.approx(line.coef_[0, 0], rel=0.03)


def test_beta_calibration_finds_the_beta_distributions_that_the_scores_have():
    # p of the classes from beta distributions: log-odds are a ln p - b ln(1 - p) + c exactly.
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.5
    p = np.where(y, rng.beta(3, 1.5, 40_000), rng.beta(1.5, 2, 40_000))
    low, high, _ = Calibrator("beta").fit(p, y).coefficients_
    assert low == pytest.approx(1.5, abs=0.1)
    assert high == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_another_population_moves_the_log_odds_by_the_difference(method):
    p, y = sample()
    plain = Calibrator(method).fit(p, y)
    moved = Calibrator(method, population_rate=0.02).fit(p, y)
    apart = moved.decision_function(p) - plain.decision_function(p)
    rate = y.mean()
    expected = np.log(0.02 / 0.98) - np.log(rate / (1 - rate))
    assert np.allclose(apart, expected)


def test_a_stated_rate_is_met_in_a_population_of_that_rate():
    p, y = sample(60_000, slope=1.0)
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    rare = np.concatenate([others, events[: len(events) // 10]])  # the population
    even = np.concatenate([others[: len(events)], events])  # what was given
    rate = y[rare].mean()
    calibrated = Calibrator(population_rate=rate).fit(p[even], y[even]).predict(p[rare])
    assert calibrated.mean() == pytest.approx(rate, rel=0.05)
    assert abs(calibration_slope(y[rare], calibrated).slope - 1) < 0.1


def test_weights_count_as_repeated_rows():
    p, y = sample(300)
    weight = np.random.default_rng(0).integers(1, 4, 300)
    for method in METHODS:
        weighted = Calibrator(method).fit(p, y, weight)
        repeated = Calibrator(method).fit(np.repeat(p, weight), np.repeat(y, weight))
        if method == "isotonic":  # how sure a step without events is depends on the rows
            assert np.allclose(weighted.knots_[0], repeated.knots_[0])
            assert np.allclose(weighted.knots_[1, 1:-1], repeated.knots_[1, 1:-1])
        else:  # and so do Platt's targets
            assert np.allclose(weighted.predict(p), repeated.predict(p), atol=0.01)


def test_a_score_that_does_not_rank_is_said_to_be_flat():
    p, y = sample()
    with pytest.warns(UserWarning, match="does not rank these rows better than chance"):
        calibrator = Calibrator().fit(p, 1 - y)
    assert np.ptp(calibrator.predict(p)) < 0.01
    assert (np.diff(calibrator.predict(np.sort(np.unique(p)))) > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_rate": 0}, "Got population_rate=0; expected a share above 0 and below 1"),
        ({"population_rate": 1.0}, "Got population_rate=1.0"),
        ({"method": "platt"}, "Got method='platt'; expected one of 'beta'"),
        ({"scale": "logit"}, "Got scale='logit'"),
    ],
)
def test_what_cannot_be_done_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        Calibrator(**options).fit(*sample(50))


def test_scores_are_no_probabilities():
    _, y = sample(50)
    with pytest.raises(ValueError, match="expected probabilities"):
        Calibrator().fit(np.linspace(-1, 3, 50), y)
