"""Classifiers and dyadic grids as splitting rules."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from treerank import LeafRank, TreeRank
from treerank._input.validation import validate_rows
from treerank.datasets import make_gaussians_20d
from treerank.splitters import Box, ClassifierSplit, DyadicGrid

CLASSIFIERS = {
    "linear svm": SVC(kernel="linear"),
    "gaussian svm": SVC(kernel="rbf"),
    "liblinear svm": LinearSVC(),
    "forest": RandomForestClassifier(5, min_samples_leaf=10),
    "neighbours": KNeighborsClassifier(15),
    "logistic": LogisticRegression(),
    "scaled svm": make_pipeline(StandardScaler(), SVC()),
    "scaled neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "grid": DyadicGrid(2),
}


@pytest.fixture(scope="module")
def ring():
    """Positives in a ring: no line parts them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    radius = np.hypot(*x.T)
    y = (rng.random(500) < np.where((radius > 0.7) & (radius < 1.5), 0.85, 0.15)).astype(int)
    return x, y


@pytest.fixture(scope="module")
def slope():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 3))
    y = (x[:, 0] - x[:, 1] + rng.normal(size=400) > 0.5).astype(int)
    return x, y


def encode(model, x):
    """The matrix that the splitters of a fitted model see, columns x rows."""
    is_categorical = model._binning.is_categorical.astype(bool).tolist()
    return model.tree_.encode(validate_rows(model, x, is_categorical), model._binning)


def delta(y, better, weight):
    """Gain of a split as in the definition: alpha(C) beta(L) - beta(C) alpha(L), at the root."""
    positive, negative = weight * (y == 1), weight * (y == 0)
    return positive[better].sum() / positive.sum() - negative[better].sum() / negative.sum()


@pytest.mark.parametrize("seed", range(6))
def test_a_grid_split_is_the_best_of_all_unions_of_cubes(seed):
    rng = np.random.default_rng(seed)
    n_features, resolution = [(1, 3), (2, 1), (3, 1), (1, 2), (2, 1), (1, 3)][seed]
    x = rng.random((60, n_features))
    x[:2] = [[0.0] * n_features, [1.0] * n_features]  # so that the cubes are known
    y, weight = rng.integers(0, 2, 60), rng.integers(1, 4, 60).astype(float)
    grid = DyadicGrid(resolution).fit(x, y, weight)
    side = 2**resolution
    cube = np.minimum((x * side).astype(int), side - 1) @ side ** np.arange(n_features)
    unions = product([False, True], repeat=side**n_features)
    best = max(delta(y, np.array(union)[cube], weight) for union in unions)
    assert delta(y, grid.better_side(x), weight) == pytest.approx(best, abs=1e-12)


def test_a_cube_that_changes_nothing_goes_to_the_larger_better_side():
    x = np.array([[0.0], [0.3], [0.3], [0.6], [0.6], [1.0]])
    y = np.array([1, 0, 1, 0, 1, 0])
    grid = DyadicGrid(2).fit(x, y)
    assert grid.better_side(x).tolist() == [True, True, True, True, True, False]


def test_rows_in_unseen_cubes_go_with_the_most_weight_and_rows_outside_to_the_nearest_cube():
    x, y = np.array([[0.0], [0.1], [1.0]]), np.array([1, 0, 0])
    for weight, elsewhere in (([1, 1, 9], False), ([9, 9, 1], True)):
        grid = DyadicGrid(3).fit(x, y, np.array(weight, dtype=float))
        assert grid.better_side(np.array([[0.5]])).tolist() == [elsewhere]
        assert grid.better_side(np.array([[-7.0], [7.0]])).tolist() == [True, False]


def test_a_fine_grid_stores_occupied_cubes_only():
    rng = np.random.default_rng(0)
    x, y = rng.random((500, 4)), rng.integers(0, 2, 500)
    grid = DyadicGrid(15).fit(x, y)
    assert len(grid.cubes_) <= 500
    assert grid.better_side(x).tolist() == (y == 1).tolist()  # a cube for every row


def test_a_grid_too_fine_to_number_its_cubes_is_refused():
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 9)), rng.integers(0, 2, 50)
    with pytest.raises(ValueError, match=r"Got resolution=8 .* 72 bits.* at most 7"):
        TreeRank(splitter=DyadicGrid(8)).fit(x, y)
    with pytest.raises(ValueError, match="Got resolution=0; expected an integer >= 1"):
        DyadicGrid(0).fit(x, y)
    with pytest.raises(ValueError, match="Got resolution=53; expected an integer from 1 to 52"):
        DyadicGrid(53).fit(x[:, :1], y)
    flags = np.column_stack([x[:, :6], (x[:, 6:] > 0.5)])
    DyadicGrid(10).fit(flags, y)  # a feature of two values takes one bit: 63 in all


@pytest.mark.parametrize("ends", [(-1.7e308, 1.7e308), (0.0, 1e-322), (1e16, 1e16 + 64)])
@pytest.mark.parametrize("resolution", [2, 52])
def test_a_grid_fits_the_widest_and_the_narrowest_box(ends, resolution):
    low, high = ends
    middle = low / 2 + high / 2
    x, y = np.array([[low], [middle], [high], [high]]), np.array([1, 1, 0, 1])
    grid = DyadicGrid(resolution).fit(x, y)
    assert len(grid.cubes_) == 3
    assert grid.better_side(x).tolist() == [True, True, False, False]
    assert grid.better_side(np.array([[-1.7e308], [1.7e308]])).tolist() == [True, False]


def test_a_grid_divides_the_box_of_all_training_rows(ring):
    x, y = ring
    model = TreeRank(splitter=DyadicGrid(2), pruning=None, shrinkage=None).fit(x, y)
    boxes = [split.splitter._box for split in model.tree_.splits]
    assert len(boxes) > 1
    for box in boxes:
        assert np.array_equal(box.low, x.min(axis=0))
        assert np.array_equal(box.high, x.max(axis=0))


def test_whole_weights_equal_repeated_rows_with_a_grid(ring):
    x, y = ring
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    model = TreeRank(splitter=DyadicGrid(3), pruning=None, shrinkage=2.0)
    weighted = clone(model).fit(x, y, weight)
    repeated = clone(model).fit(np.repeat(x, weight, 0), np.repeat(y, weight))
    assert np.array_equal(weighted.tree_.cells, repeated.tree_.cells)
    assert np.array_equal(weighted.tree_.counts, repeated.tree_.counts)
    assert np.array_equal(weighted.score_samples(x), repeated.score_samples(x))


class Recorder(ClassifierMixin, BaseEstimator):
    """Thresholds the first feature and keeps what it was given."""

    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        self.X_, self.y_, self.weight_ = X, y, sample_weight
        return self

    def predict(self, X):
        return (self.sign * (X[:, 0] - np.median(self.X_[:, 0])) > 0).astype(int)


def test_both_classes_weigh_the_same_in_every_cell(slope):
    x, y = slope
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = TreeRank(splitter=Recorder(), max_depth=3, pruning=None, shrinkage=None)
    model.fit(x, y, weight)
    assert len(model.tree_.splits) > 2
    inner = model.tree_.counts[model.tree_.is_split]
    for split, counts in zip(model.tree_.splits, inner, strict=True):
        seen = split.splitter.estimator_
        mass = np.bincount(seen.y_, seen.weight_)
        assert mass == pytest.approx([counts.sum() / 2] * 2)


def test_the_better_side_is_the_one_with_more_positives_whatever_the_classifier_says(slope):
    x, y = slope
    upright, inverted = (
        TreeRank(splitter=Recorder(sign), pruning=None, shrinkage=None).fit(x, y)
        for sign in (1, -1)
    )
    assert (inverted.tree_.cells["auc_gain"][inverted.tree_.is_split] > 0).all()
    assert any(split.turned for split in inverted.tree_.splits)
    root_left = inverted.tree_.counts[1]
    assert np.array_equal(root_left, upright.tree_.counts[1])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_grows_a_tree_that_ranks(name, slope):
    x, y = slope
    model = TreeRank(splitter=CLASSIFIERS[name], max_depth=2)
    model.fit(x[::2], y[::2])
    assert model.score(x[1::2], y[1::2]) > 0.7
    strata = model.apply(x[::2])
    counts = [np.bincount(y[::2][strata == s], minlength=2) for s in range(len(model.partition_))]
    assert np.array_equal(counts, model.partition_.counts)
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert len(model.partition_.columns()["rule"]) == len(model.partition_)


@pytest.mark.parametrize("name", ["linear svm", "forest", "grid"])
def test_auc_is_half_plus_the_gains_of_the_splits(name, ring):
    x, y = ring
    model = TreeRank(splitter=CLASSIFIERS[name], pruning=None, shrinkage=None).fit(x, y)
    assert len(model.tree_.splits) > 1
    gains = model.tree_.cells["auc_gain"].sum()
    assert model.partition_.auc() == pytest.approx(0.5 + gains, abs=1e-12)
    assert model.score(x, y) == pytest.approx(0.5 + gains, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_gaussian_svm_splits_beat_leafrank_in_twenty_dimensions(seed):
    train = make_gaussians_20d(500, "easy", random_state=seed)
    test = make_gaussians_20d(3000, "easy", random_state=100 + seed)
    svm, leafrank = (
        TreeRank(splitter=splitter).fit(train.X, train.y).score(test.X, test.y)
        for splitter in (SVC(kernel="rbf"), None)
    )
    assert svm > leafrank + 0.02


def test_noise_is_pruned_to_the_root():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    for splitter in (LogisticRegression(), DyadicGrid(2)):
        model = TreeRank(splitter=splitter, max_depth=3).fit(x, y)
        assert len(model.partition_) == 1
        assert len(model.unpruned_tree_.leaves) > 1


def test_neighbours_vote_with_the_weight_of_their_class_and_row(slope):
    x, y = slope
    weight = np.random.default_rng(2).uniform(0.2, 3, len(y))
    mass = np.bincount(y, weight)
    for votes in ("uniform", "distance", lambda d: np.exp(-d)):
        split = ClassifierSplit(KNeighborsClassifier(9, weights=votes)).fit(x, y, weight)
        new = np.random.default_rng(3).normal(size=(40, 3))
        distance = np.linalg.norm(new[:, None] - x, axis=2)
        near = np.argsort(distance, axis=1)[:, :9]
        far = np.take_along_axis(distance, near, axis=1)
        vote = {"uniform": np.ones_like(far), "distance": 1 / far}.get(votes, np.exp(-far))
        vote = vote * weight[near] / mass[y[near]]
        expected = (vote * (y[near] == 1)).sum(axis=1) > (vote * (y[near] == 0)).sum(axis=1)
        assert np.array_equal(split.better_side(new), expected)


def test_a_pipeline_passes_the_weights_to_its_classifier(slope):
    x, y = slope
    weight = np.random.default_rng(2).uniform(0.2, 3, len(y))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    split = ClassifierSplit(pipeline).fit(x, y, weight)
    balanced = weight / np.bincount(y, weight)[y] * weight.sum() / 2
    scaled = StandardScaler().fit_transform(x)
    alone = LogisticRegression().fit(scaled, y, sample_weight=balanced)
    assert np.array_equal(split.better_side(x), alone.predict(scaled) == 1)
    assert split.estimator_[-1].coef_ == pytest.approx(alone.coef_)


def test_a_function_mixes_splitters(slope):
    x, y = slope
    told = []

    def choose(cell):
        told.append(cell)
        if cell.depth == 0:
            return LeafRank(max_depth=2)
        return DyadicGrid(1) if cell.path == "L" else None

    model = TreeRank(splitter=choose, pruning=None, shrinkage=None).fit(x, y)
    assert {cell.path for cell in told} == {"", "L", "R", "LL", "LR"}
    assert told[0].n_rows == len(y)
    assert told[0].counts.tolist() == np.bincount(y).tolist()
    assert model.partition_.rules() == [
        "better side of the LeafRank, then better side of the DyadicGrid",
        "better side of the LeafRank, then worse side of the DyadicGrid",
        "worse side of the LeafRank",
    ]
    alone = LeafRank(max_depth=2).fit(x, y)
    assert np.array_equal(alone.apply(x) == 1, model.apply(x) == 2)


def test_parameters_of_the_classifier_can_be_searched(slope):
    x, y = slope
    model = TreeRank(splitter=SVC(kernel="linear"), max_depth=1)
    search = GridSearchCV(model, {"splitter__C": [0.1, 1.0]}, cv=2).fit(x, y)
    split = search.best_estimator_.tree_.splits[0]
    assert search.best_params_["splitter__C"] == split.splitter.estimator_.C


def test_progress_is_shown(slope, capfd):
    TreeRank(splitter=DyadicGrid(2), verbose=1).fit(*slope)
    shown = "".join(capfd.readouterr())
    assert "growing" in shown
    assert "100" in shown


def test_a_splitter_of_ones_own_needs_two_methods(slope):
    class AboveMean:
        def fit(self, X, y, sample_weight=None):
            self.mean = np.average(X[:, 0], weights=sample_weight)
            return self

        def better_side(self, X):
            return X[:, 0] > self.mean

    x, y = slope
    model = TreeRank(splitter=AboveMean(), max_depth=1, pruning=None, shrinkage=None).fit(x, y)
    assert np.array_equal(model.apply(x) == 0, x[:, 0] > x[:, 0].mean())


@pytest.mark.parametrize("name", ["forest", "liblinear svm", "gaussian svm", "grid"])
def test_threads_and_row_order_do_not_matter(name, ring):
    x, y = ring
    unfitted = TreeRank(splitter=CLASSIFIERS[name], max_depth=3, cv=2, random_state=3)
    model = clone(unfitted).fit(x, y)
    again = clone(unfitted).set_params(n_jobs=3).fit(x, y)
    order = np.random.default_rng(0).permutation(len(y))
    moved = clone(unfitted).fit(x[order], y[order])
    for other in (again, moved):
        assert np.array_equal(model.unpruned_tree_.cells, other.unpruned_tree_.cells)
        assert np.array_equal(model.unpruned_tree_.counts, other.unpruned_tree_.counts)
        assert np.array_equal(model.score_samples(x), other.score_samples(x))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_do_not_mix_the_draws_of_liblinear(ring):
    x, y = ring
    svm = LinearSVC(dual=True, max_iter=20, tol=1e-9)  # stopped early, so that every draw shows

    def coefficients(n_jobs):
        model = TreeRank(splitter=svm, max_depth=3, cv=3, n_jobs=n_jobs).fit(x, y)
        return [split.splitter.estimator_.coef_.tolist() for split in model.unpruned_tree_.splits]

    alone = coefficients(1)
    assert len(alone) > 1
    assert all(coefficients(4) == alone for _ in range(5))


def test_seeds_of_a_classifier_follow_from_the_tree_and_the_cell(ring):
    x, y = ring

    def seeds(splitter, random_state):
        model = TreeRank(splitter=splitter, max_depth=2, pruning=None, shrinkage=None)
        splits = model.set_params(random_state=random_state).fit(x, y).tree_.splits
        return [split.splitter.estimator.random_state for split in splits]

    forest = RandomForestClassifier(2, max_depth=2)
    first = seeds(forest, 1)
    assert len(set(first)) == len(first) > 2
    assert seeds(forest, 1) == first
    assert seeds(forest, 2)[0] != first[0]
    assert set(seeds(RandomForestClassifier(2, random_state=7), 1)) == {7}


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
