"""Splits by classifiers, functions and splitters of one's own."""

import numpy as np
import pytest
from recorder import Recorder
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from treerank import LeafRank, TreeRank
from treerank.datasets import make_gaussians_20d
from treerank.splitters import ClassifierSplit, DyadicGrid

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
