"""Trees of other splitters: features, categories, refusals, pickles."""

import pickle

import numpy as np
import pandas as pd
import pytest
from recorder import Recorder
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from treerank import LeafRank, TreeRank
from treerank._input.validation import validate_rows
from treerank.splitters import Box, DyadicGrid


def encode(model, x):
    """The matrix that the splitters of a fitted model see, columns x rows."""
    is_categorical = model._binning.is_categorical
    return model.tree_.encode(validate_rows(model, x, is_categorical), model._binning)


def test_features_are_drawn_anew_in_every_cell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6))
    y = (x.sum(axis=1) + rng.normal(size=400) > 0).astype(int)
    model = TreeRank(splitter=LogisticRegression(), max_features=2, pruning=None, shrinkage=None)
    model.set_params(max_depth=3).fit(x, y)
    drawn = [tuple(split.columns) for split in model.tree_.splits]
    assert all(len(columns) == 2 for columns in drawn)
    assert len(set(drawn)) > 1


def test_a_drawn_feature_that_is_constant_ends_the_branch(slope):
    x, y = slope
    x = np.column_stack([x[:, 0], np.zeros((len(y), 5))])
    model = TreeRank(splitter=LogisticRegression(), max_features=1, pruning=None, shrinkage=None)
    model.set_params(max_depth=1)
    sizes = [len(model.set_params(random_state=s).fit(x, y).partition_) for s in range(12)]
    assert set(sizes) == {1, 2}


def test_categories_and_missing_values_become_numbers():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "length": rng.normal(size=n),
        }
    )
    high = (frame["colour"] == "red") * 1.0 + frame["size"].isna() + frame["length"] > 1
    y = np.where(high ^ (rng.random(n) < 0.1), "yes", "no")
    model = TreeRank(splitter=LogisticRegression(), max_depth=2).fit(frame, y)
    encoding = model.tree_.encoding
    assert encoding.feature.tolist() == [0, 0, 0, 1, 1, 2]
    known = np.sort(frame["size"].dropna())
    assert encoding.median[1] == known[(len(known) - 1) // 2]
    assert model.score(frame, y) > 0.85
    new = frame.head(2).assign(colour=["violet", None], length=[np.nan, 0.0])
    matrix = encode(model, new)
    assert matrix[:3].tolist() == [[0, 0]] * 3
    assert matrix[5].tolist() == [encoding.median[2], 0.0]


def test_degenerate_splits_end_the_branch():
    x = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    y = np.array([0, 1, 0, 1] * 10)  # both values have as many of each class
    for splitter in (DyadicGrid(1), lambda cell: LeafRank()):
        model = TreeRank(splitter=splitter, pruning=None, shrinkage=None).fit(x, y)
        assert len(model.partition_) == 1
    separable = np.array([0, 0, 1, 1] * 10)
    for splitter in (DyadicGrid(1), SVC(), KNeighborsClassifier(25)):
        model = TreeRank(splitter=splitter, pruning=None, shrinkage=None).fit(x, separable)
        assert model.partition_.counts.tolist() == [[0, 20], [20, 0]]
    small = TreeRank(splitter=SVC(), min_samples_leaf=21, pruning=None).fit(x, separable)
    assert len(small.partition_) == 1


def test_rows_that_do_not_differ_give_one_stratum():
    x, y = np.ones((30, 2)), np.array([0, 1] * 15)
    for splitter in (LogisticRegression(), DyadicGrid(2)):
        assert len(TreeRank(splitter=splitter).fit(x, y).partition_) == 1


@pytest.mark.parametrize(
    ("splitter", "message"),
    [
        (LinearDiscriminantAnalysis(), "fit takes no sample_weight"),
        (make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()), "takes no sample_weight"),
        (DummyClassifier(strategy="most_frequent"), "puts all training rows into one class"),
        (SVC(class_weight="balanced"), "Got a splitter with class_weight='balanced'"),
        (SVC, r"Got splitter=SVC, a class; expected an instance, such as SVC\(\)"),
        (LinearRegression(), r"Got splitter=LinearRegression\(\); expected None, a LeafRank"),
        ("gini", "Got splitter='gini'; expected None, a LeafRank"),
        (lambda cell: "svm", "Got splitter='svm'; expected None, a LeafRank"),
    ],
)
def test_what_cannot_split_is_refused(splitter, message, slope):
    x, y = slope
    with pytest.raises(ValueError, match=message):
        TreeRank(splitter=splitter).fit(x, y)


def test_monotone_constraints_need_leafrank(slope):
    x, y = slope
    with pytest.raises(ValueError, match="only LeafRank can keep monotone constraints"):
        TreeRank(splitter=LogisticRegression(), monotonic_cst=[1, 0, 0]).fit(x, y)


class Breaks(Recorder):
    def fit(self, X, y, sample_weight):
        super().fit(X, y, sample_weight)
        if len(y) < 300:
            raise self.sign
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_an_error_of_the_classifier_names_the_cell(slope):
    x, y = slope
    model = TreeRank(splitter=Breaks(ZeroDivisionError("by zero")), pruning=None, shrinkage=None)
    with pytest.raises(ZeroDivisionError) as caught:
        model.fit(x, y)
    assert "was splitting the cell 'L' with" in caught.value.__notes__[0]


def test_an_interrupted_fit_leaves_the_model_as_it_was(slope):
    x, y = slope
    model = TreeRank(splitter=LogisticRegression(), max_depth=2).fit(x, y)
    before = model.score_samples(x)
    model.set_params(splitter=Breaks(KeyboardInterrupt()))
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs)
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, y)
        assert np.array_equal(model.score_samples(x), before)


def test_importance_is_by_permutation_only(slope):
    x, y = slope
    model = TreeRank(splitter=LogisticRegression(), max_depth=2).fit(x, y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="permutation_importance"):
        model.feature_importances_
    importance = permutation_importance(model, x, y, n_repeats=2, random_state=0)
    assert importance.importances_mean[2] < importance.importances_mean[:2].min()


def test_a_fitted_tree_survives_pickling_and_pruning(ring):
    x, y = ring
    model = TreeRank(splitter=SVC(), max_depth=4).fit(x, y)
    assert np.array_equal(
        pickle.loads(pickle.dumps(model)).score_samples(x), model.score_samples(x)
    )
    tree = model.unpruned_tree_
    matrix = encode(model, x)
    keep = tree.sequence[1] > len(tree.sequence[0]) // 2
    pruned = tree.subtree(keep)
    assert 1 < len(pruned.leaves) < len(tree.leaves)
    cells = pruned.apply(matrix)
    counts = np.array([np.bincount(y[cells == c], minlength=2) for c in pruned.leaves])
    assert np.array_equal(counts, pruned.counts[pruned.leaves])


def test_such_a_tree_can_be_drawn(ring):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from treerank.plots import LevelSetDisplay, TreeDisplay

    x, y = ring
    model = TreeRank(splitter=SVC(), max_depth=2).fit(x, y)
    display = TreeDisplay.from_estimator(model)
    assert display.rules[0] == [("better side of the SVC",)]
    LevelSetDisplay.from_estimator(model, x)


def test_a_box_is_as_wide_as_its_rows():
    box = Box.around(np.array([[0.0, 1.0, 5.0], [2.0, 1.0, 6.0], [1.0, 1.0, 5.0]]))
    assert box.low.tolist() == [0, 1, 5]
    assert box.high.tolist() == [2, 1, 6]
    assert box.two_valued.tolist() == [False, True, True]
    assert box.columns(np.array([0, 2])).high.tolist() == [2, 6]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda x: np.full(len(x), "better"), "expected True or False for each row"),
        (lambda x: np.full(len(x), np.nan), "expected True or False for each row"),
        (lambda x: np.ones(3, dtype=bool), "expected one answer for each of 60 rows"),
    ],
)
def test_answers_of_a_rule_that_cannot_be_used_are_refused(answer, complaint):
    class Rule:
        def fit(self, x, y, sample_weight):
            return self

        def better_side(self, x):
            return answer(x)

    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=complaint):
        TreeRank(Rule()).fit(rng.random((60, 2)), rng.integers(0, 2, size=60))
