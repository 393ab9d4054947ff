"""compare: the same folds for all, honest intervals, errors that name the model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from treerank import Comparison, TreeRank, compare
from treerank._comparison.result import holm_factors
from treerank.metrics import ordinal_vus_score


def sample(n=300, n_classes=2, seed=0):
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=seed
    )


RIVALS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "ranking tree": TreeRank(pruning=None),
}


def test_fold_scores_are_those_of_cross_validation():
    X, y = sample()
    found = compare(RIVALS, X, y, cv=StratifiedKFold(4))
    for k, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        np.testing.assert_array_equal(found.folds[k], test)
        model = RIVALS["logistic"].fit(X[train], y[train])
        wanted = roc_auc_score(y[test], model.decision_function(X[test]))
        assert found.fold_scores[0, k] == pytest.approx(wanted, abs=1e-12)
        again = roc_auc_score(y[test], found.held_out["tree"][k])
        assert found.fold_scores[1, k] == pytest.approx(again, abs=1e-12)


def test_difference_has_the_corrected_t_of_nadeau_and_bengio():
    X, y = sample()
    found = compare(RIVALS, X, y, cv=5, n_repeats=2, level=0.9)
    assert found.fold_scores.shape == (3, 10)
    gaps = found.fold_scores[1] - found.fold_scores[0]
    error = np.sqrt(gaps.var(ddof=1) * (1 / 10 + 1 / 4))
    table = found.columns()
    half = student.ppf(0.95, 9) * error
    assert table["difference"][1] == pytest.approx(gaps.mean())
    assert table["difference_lower"][1] == pytest.approx(gaps.mean() - half)
    assert table["difference_upper"][1] == pytest.approx(gaps.mean() + half)
    assert table["p_value"][1] == pytest.approx(2 * student.sf(abs(gaps.mean()) / error, 9))
    assert np.isnan(table["p_value"][0])


def test_true_differences_are_covered_at_the_level_claimed():
    # Two features of equal worth: their true difference is 0 whatever is drawn.
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(60):
        y = np.repeat([0, 1], 60)
        X = rng.normal(size=(120, 2)) + 0.8 * y[:, np.newaxis]
        found = compare({"a": Column(0), "b": Column(1)}, X, y, cv=5).columns()
        covered.append(found["difference_lower"][1] <= 0 <= found["difference_upper"][1])
    assert np.mean(covered) >= 0.9


class Column(ClassifierMixin, BaseEstimator):
    """Scores by one column; learns nothing."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score_samples(self, X):
        return np.asarray(X)[:, self.number]


def test_more_classes_are_measured_by_vus():
    X, y = sample(n_classes=3)
    names = np.array(["low", "mid", "top"])[y]
    models = [("tree", TreeRank(pruning=None)), ("ridge", Ridge()), ("nb", KNeighborsClassifier())]
    found = compare(models, X, names, cv=3, label_order=["low", "mid", "top"])
    assert found.metric == "VUS"
    for k, test in enumerate(found.folds):
        for i, name in enumerate(found.names):
            wanted = ordinal_vus_score(y[test], found.held_out[name][k])
            assert found.fold_scores[i, k] == pytest.approx(wanted, abs=1e-12)


def test_label_order_says_which_class_is_ranked_first():
    X, y = sample()
    up = compare({"tree": TreeRank(pruning=None)}, X, y, cv=3)
    names = np.where(y == 1, "a", "b")  # the positive class is first in the alphabet
    down = compare({"tree": TreeRank(pruning=None)}, X, names, cv=3, label_order=["b", "a"])
    np.testing.assert_array_equal(up.fold_scores, down.fold_scores)


def test_the_label_order_of_a_model_is_that_of_the_comparison():
    X, y = sample()
    expected = compare(RIVALS, X, y, cv=3).fold_scores
    for names in (np.array(["good", "bad"]), np.array([1, 0])):
        turned = TreeRank(pruning=None, label_order=names.tolist())
        for own in (turned, make_pipeline(StandardScaler(), turned)):
            found = compare({**RIVALS, "ranking tree": own}, X, names[y], cv=3)
            assert found.fold_scores == pytest.approx(expected, abs=0.02)
            assert (found.fold_scores > 0.6).all()
        given = compare({"a": turned}, X, names[y], cv=3, label_order=names[::-1])
        assert (given.fold_scores > 0.6).all()
    other = TreeRank(label_order=["bad", "good"])
    first = TreeRank(label_order=["good", "bad"])
    with pytest.raises(ValueError, match=r"in the model 'a' and .* in 'b'; expected one order"):
        compare({"a": first, "b": other}, X, np.array(["good", "bad"])[y])


def test_data_frames_give_what_arrays_give():
    X, y = sample(150)
    wanted = compare(RIVALS, X, y, cv=3).fold_scores
    names = [f"f{j}" for j in range(6)]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        np.testing.assert_allclose(compare(RIVALS, frame, y, cv=3).fold_scores, wanted)
    np.testing.assert_allclose(compare(RIVALS, X.tolist(), y, cv=3).fold_scores, wanted)


def test_result_does_not_depend_on_the_number_of_jobs():
    X, y = sample(150)
    one, two = (compare(RIVALS, X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.fold_scores, two.fold_scores)


def test_weights_reach_fit_and_measure():
    X, y = sample()
    weight = np.where(X[:, 0] > 0, 1.0, 3.0)
    found = compare(RIVALS, X, y, cv=StratifiedKFold(3), sample_weight=weight)
    train, test = next(StratifiedKFold(3).split(X, y))
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(X[train], y[train], sample_weight=weight[train])
    wanted = roc_auc_score(y[test], model.predict_proba(X[test])[:, 1], sample_weight=weight[test])
    assert found.fold_scores[1, 0] == pytest.approx(wanted)
    with pytest.raises(ValueError, match=r"'knn' failed in fold 1 of 3: .*takes no sample_weight"):
        compare({"knn": KNeighborsClassifier()}, X, y, cv=3, sample_weight=weight)


def test_a_model_that_fails_is_named():
    X, y = sample()
    broken = {"good": TreeRank(), "broken": TreeRank(max_depth=0)}
    with pytest.raises(ValueError, match=r"Model 'broken' failed in fold 1 of 3: .*max_depth=0"):
        compare(broken, X, y, cv=3)


def test_perfect_and_equal_models_do_not_claim_certainty():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X, y])
    found = compare({"a": TreeRank(), "b": TreeRank()}, X, y, cv=3).columns()
    assert found["auc"][0] == 1.0
    assert found["lower"][0] < 1.0
    assert found["difference_lower"][1] < 0 < found["difference_upper"][1]
    assert found["p_value"][1] == 1.0


def test_baseline_is_the_first_the_named_or_the_best():
    X, y = sample()
    models = {"guess": DummyClassifier(), **RIVALS}
    assert compare(models, X, y, cv=3).reference == "guess"
    assert compare(models, X, y, cv=3, baseline="tree").reference == "tree"
    best = compare(models, X, y, cv=3, baseline="best")
    assert best.mean[best.names.index(best.reference)] == best.mean.max()
    assert best.columns()["difference"].max() == 0.0


def test_table_prints_best_first_and_makes_frames():
    X, y = sample()
    found = compare({"guess": DummyClassifier(), **RIVALS}, X, y, cv=3)
    assert isinstance(found, Comparison)
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["model", "AUC", "interval", "-"]
    assert lines[4].startswith("guess")
    assert lines[5].startswith("3 folds; 95% intervals")
    assert found.to_frame().shape == (4, 11)
    assert found.to_frame("polars")["model"].to_list() == found.names


def test_holm_adjusts_step_by_step():
    found, times = holm_factors(np.array([0.01, np.nan, 0.04, 0.03]))
    np.testing.assert_allclose(found, [0.03, np.nan, 0.06, 0.06])
    np.testing.assert_allclose(times, [3, 1, 1.5, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimators": {}}, "Got no estimators; expected a dict"),
        ({"estimators": [("a", TreeRank()), ("a", TreeRank())]}, "expected each name once"),
        ({"estimators": [TreeRank()]}, "a dict"),
        ({"estimators": {"a": TreeRank}}, "a dict"),
        ({"cv": 1}, "Got cv=1; expected an integer >= 2"),
        ({"cv": "many"}, "cross-validation splitter"),
        ({"cv": 200}, "Got cv=200 and 149 rows of class"),
        ({"cv": ShuffleSplit(1)}, "expected at least 2"),
        ({"cv": ShuffleSplit(3), "n_repeats": 2}, "1 where cv is a splitter"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"baseline": "nobody"}, "Got baseline='nobody'"),
        ({"level": 1.5}, "level"),
    ],
)
def test_bad_input_is_refused(change, message):
    X, y = sample()
    arguments = {"estimators": RIVALS, **change}
    with pytest.raises(ValueError, match=message):
        compare(arguments.pop("estimators"), X, y, **arguments)


def test_intervals_of_differences_are_adjusted_as_the_p_values_are():
    rng = np.random.default_rng(3)
    n_disagreements = 0
    for seed in range(40):
        gaps = np.random.default_rng(seed).uniform(-0.01, 0.03, size=5)
        found = Comparison(
            names=list("abcde"),
            metric="AUC",
            fold_scores=0.7 + gaps[:, np.newaxis] + rng.normal(0, 0.01, size=(5, 10)),
            fit_times=np.ones((5, 10)),
            score_times=np.ones((5, 10)),
            folds=[],
            held_out={},
            overlap=0.1,
            smallest_class=200.0,
            baseline=None,
            level=0.95,
        )
        table = found.columns()
        others = slice(1, None)
        outside = (table["difference_lower"] > 0) | (table["difference_upper"] < 0)
        np.testing.assert_array_equal(outside[others], table["p_adjusted"][others] < 0.05)
        n_disagreements += np.sum((table["p_value"] < 0.05)[others] != outside[others])
    assert n_disagreements > 5  # the adjustment matters
