"""What all rivals share: scikit-learn's contract, weights, cut-offs and messages."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank.baselines import (
    KernelLogisticRegression,
    LogitBoost,
    PNormPush,
    RankBoost,
    RankNet,
    RankRLS,
    RankSVM,
)
from treerank.baselines._cut_offs import best_cut_offs

TWO_CLASS = [
    PNormPush(n_estimators=20),
    KernelLogisticRegression(),
    KernelLogisticRegression(kernel="linear"),
    LogitBoost(n_estimators=10, random_state=0),
]
ORDINAL = [
    RankBoost(n_estimators=20),
    RankSVM(),
    RankSVM(kernel="rbf"),
    RankRLS(),
    RankRLS(kernel="rbf"),
    RankNet(max_iter=30, random_state=0),
]


def name(estimator):
    return f"{type(estimator).__name__}-{getattr(estimator, 'kernel', '')}".strip("-")


@pytest.fixture(scope="module")
def binary():
    return make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=1)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*TWO_CLASS, *ORDINAL])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*TWO_CLASS, *ORDINAL], ids=name)
def test_score_is_the_auc_of_a_score_that_ranks(estimator, binary):
    X, y = binary
    model = clone(estimator).fit(X[:200], y[:200])
    auc = roc_auc_score(y[200:], model.decision_function(X[200:]))
    assert model.score(X[200:], y[200:]) == auc
    assert auc > 0.8


@pytest.mark.parametrize("estimator", [*TWO_CLASS, *ORDINAL], ids=name)
def test_labels_of_any_kind_are_ordered_by_their_sort(estimator, binary):
    X, y = binary
    model = clone(estimator).fit(X, np.array(["bad", "good"])[y])
    assert list(model.classes_) == ["bad", "good"]
    np.testing.assert_array_equal(model.predict(X) == "good", model.decision_function(X) > 0)
    np.testing.assert_allclose(
        model.score_samples(X), clone(estimator).fit(X, y).score_samples(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("estimator", ORDINAL, ids=name)
def test_ordered_classes_get_one_score_that_rises_with_them(estimator):
    X, y = load_iris(return_X_y=True)
    model = clone(estimator).fit(X, y)
    assert model.cut_offs_.shape == (2,)
    assert np.all(np.diff(model.cut_offs_) >= 0)
    assert accuracy_score(y, model.predict(X)) > 0.93
    # Chance is 1/6.
    assert model.score(X, y) > 0.9
    with pytest.raises(AttributeError) as refusal:
        model.decision_function(X)
    assert "got 3; score_samples" in str(refusal.value.__cause__)


def test_text_classes_are_scored_in_the_order_of_the_model():
    X, y = load_iris(return_X_y=True)
    estimator = ORDINAL[0]
    numbers, text = clone(estimator).fit(X, y), clone(estimator).fit(X, np.array(list("abc"))[y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text.score(X, np.array(list("abc"))[y]) == numbers.score(X, y)


@pytest.mark.parametrize("estimator", TWO_CLASS, ids=name)
def test_three_classes_are_refused_where_only_two_make_sense(estimator):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"Got 3 classes; \w+ ranks two"):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", [*TWO_CLASS, *ORDINAL], ids=name)
def test_integer_weights_equal_repeated_rows(estimator, binary):
    X, y = binary[0][:80], binary[1][:80]
    times = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = clone(estimator).fit(X, y, sample_weight=times)
    repeated = clone(estimator).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(
        weighted.score_samples(X), repeated.score_samples(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RankBoost(n_estimators=0), "Got n_estimators=0; expected an integer >= 1"),
        (RankBoost(max_bins=1), "Got max_bins=1; expected an integer >= 2"),
        (RankBoost(smoothing=0), "Got smoothing=0; expected a finite number > 0"),
        (PNormPush(p=0.5), "Got p=0.5; expected a finite number >= 1"),
        (PNormPush(learning_rate="a"), "Got learning_rate='a'; expected a finite number > 0"),
        (RankSVM(C=-1), "Got C=-1; expected a finite number > 0"),
        (RankSVM(C=np.inf), "Got C=inf; expected a finite number > 0"),
        (RankSVM(kernel="poly"), "Got kernel='poly'; expected one of 'linear', 'rbf'"),
        (RankSVM(gamma="auto"), "Got gamma='auto'; expected a number > 0 or 'scale'"),
        (RankRLS(alphas=[]), r"Got alphas=\[\]; expected a sequence of numbers > 0"),
        (RankRLS(alphas=[1, 0]), r"Got alphas\[1\]=0; expected a finite number > 0"),
        (RankRLS(alphas=1.0), r"Got alphas=1.0; expected a sequence"),
        (KernelLogisticRegression(n_components=0), "Got n_components=0; expected an integer"),
        (LogitBoost(max_depth=1.5), "Got max_depth=1.5; expected an integer >= 1"),
        (RankNet(hidden_units=0), "Got hidden_units=0; expected an integer >= 1"),
        (RankNet(alpha=-1), "Got alpha=-1; expected a finite number >= 0"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_with_the_remedy(estimator, message, binary):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*binary)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            [1.0, -2.0, 1.0, 1.0],
            r"Got sample_weight\[1\]=-2; expected weights that are not negative",
        ),
        ([1.0, 1.0], r"sample_weight.shape == \(2,\), expected \(4,\)"),
        ([0.0] * 4, "Got sample_weight of zeros only"),
        ([1.0, 0.0, 1.0, 0.0], "Got 1 class with rows of positive weight"),
        ([1.0, np.nan, 1.0, 1.0], "sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        RankRLS().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], sample_weight=weight)


@pytest.mark.parametrize("estimator", [*TWO_CLASS, *ORDINAL], ids=name)
def test_constant_features_give_a_constant_score(estimator):
    X, y = np.ones((20, 2)), np.arange(20) % 2
    model = clone(estimator).fit(X, y)
    assert np.ptp(model.score_samples(X)) == 0
    assert model.score(X, y) == 0.5


@examples(60)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=12
    )
)
def test_cut_offs_make_the_fewest_errors_of_all(rows):
    scores, rank, weight = np.array(rows, dtype=float).T
    rank = rank.astype(np.intp)

    def right(cuts):
        return weight[np.searchsorted(cuts, scores, side="left") == rank].sum()

    places = np.arange(-1, 8) + 0.5
    best = max(right([a, b]) for a in places for b in places if a <= b)
    assert right(best_cut_offs(scores, rank, weight, 3)) == best
