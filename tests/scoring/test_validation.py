"""Optimism and instability: what the bootstrap finds, against its definition and the truth."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import LeafRank, RankingForest, TreeRank
from treerank.metrics import calibration_slope, ordinal_vus_score
from treerank.scoring import Scorecard, Validation, validate


def sample(n=300, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))).astype(int)


def test_the_figures_are_those_of_the_definition():
    X, y = sample(120, 3)
    found = validate(LogisticRegression(), X, y, n_boot=4)
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    slope = calibration_slope(y, p).slope
    assert found.apparent == pytest.approx([roc_auc_score(y, p), brier_score_loss(y, p), slope])
    for b in range(4):
        rng = np.random.default_rng((0, b))
        drawn = rng.integers(0, 120, 120)
        again = LogisticRegression().fit(X[np.sort(drawn)], y[np.sort(drawn)])
        p_b = again.predict_proba(X)[:, 1]
        out = np.setdiff1d(np.arange(120), drawn)
        assert found.predictions[b] == pytest.approx(p_b, abs=1e-6)
        for part, rows in (("training", drawn), ("test", np.arange(120)), ("out_of_bag", out)):
            auc, brier, _ = getattr(found, part)[b]
            assert auc == pytest.approx(roc_auc_score(y[rows], p_b[rows]))
            assert brier == pytest.approx(brier_score_loss(y[rows], p_b[rows]))
    assert found.optimism == pytest.approx((found.training - found.test).mean(axis=0))
    assert found.corrected == pytest.approx(found.apparent - found.optimism)


def test_632plus_is_that_of_efron_and_tibshirani():
    def estimate(apparent, out, none):
        zeros = np.zeros((2, 1))
        parts = [np.array([apparent]), zeros, zeros, np.full((2, 1), out), np.array([none])]
        found = Validation(["AUC"], *parts, np.zeros(1), np.zeros((2, 1)), True, np.zeros(1))
        return found.corrected_632plus[0]

    assert estimate(0.8, 0.8, 0.5) == pytest.approx(0.8)  # nothing is lost
    overfitting = (0.9 - 0.7) / (0.9 - 0.5)
    weight = 0.632 / (1 - 0.368 * overfitting)
    assert estimate(0.9, 0.7, 0.5) == pytest.approx((1 - weight) * 0.9 + weight * 0.7)
    assert estimate(0.9, 0.4, 0.5) == pytest.approx(0.5)  # no worse than nothing
    assert estimate(0.7, 0.8, 0.5) == pytest.approx(0.368 * 0.7 + 0.632 * 0.8)
    # Brier: less is better.
    weight = 0.632 / (1 - 0.368 * 0.5)
    assert estimate(0.1, 0.2, 0.3) == pytest.approx((1 - weight) * 0.1 + weight * 0.2)


def test_corrected_figures_are_near_the_truth():
    gaps = []
    rng = np.random.default_rng(99)
    model = LinearDiscriminantAnalysis()
    for seed in range(16):
        X, y = sample(150, 12, seed)
        found = validate(model, X, y, n_boot=20, random_state=seed)
        new = rng.normal(size=(4000, 12))
        truth = rng.random(4000) < 1 / (1 + np.exp(-new[:, 0] - new[:, 1]))
        auc = roc_auc_score(truth, model.fit(X, y).decision_function(new))
        gaps.append([found.apparent[0] - auc, found.corrected[0] - auc,
                     found.corrected_632plus[0] - auc])  # fmt: skip
    apparent, corrected, plus = np.mean(gaps, axis=0)
    assert apparent > 0.04
    assert abs(corrected) < 0.02
    assert abs(plus) < 0.02


@pytest.mark.parametrize(
    "model", [TreeRank(), RankingForest(n_estimators=5)], ids=["tree", "forest"]
)
def test_the_number_of_threads_does_not_matter(model):
    X, y = sample()
    one, two = (validate(model, X, y, n_boot=5, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.training, two.training)
    assert np.array_equal(one.predictions, two.predictions)


def test_trees_of_bootstrap_samples_are_those_of_repeated_rows():
    X, y = sample()
    found = validate(TreeRank(pruning=None, shrinkage=1.0), X, y, n_boot=2)
    drawn = np.random.default_rng((0, 1)).integers(0, len(y), len(y))
    again = TreeRank(pruning=None, shrinkage=1.0).fit(X[drawn], y[drawn])
    assert np.allclose(found.predictions[1], again.predict_proba(X)[:, 1])


class Spy(ClassifierMixin, BaseEstimator):
    """Notes which rows are fitted and scored together."""

    seen: ClassVar = []

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = set(X[:, 0].tolist())
        return self

    def decision_function(self, X):
        if len(X) < 100:
            Spy.seen.append(not self.rows_ & set(X[:, 0].tolist()))
        return X[:, 0]


def test_copies_of_a_row_are_never_parted_by_the_folds_of_a_search():
    X, y = sample(150)
    Spy.seen.clear()
    validate(GridSearchCV(Spy(), {"depth": [1, 2]}, cv=3, scoring="roc_auc"), X, y, n_boot=3)
    assert len(Spy.seen) > 10
    assert all(Spy.seen)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_copies_of_a_row_are_weights_to_a_search_over_our_models(in_pipeline, monkeypatch):
    X, y = sample(150)
    seen = []
    fit = LeafRank.fit

    def record(self, rows, labels, sample_weight=None):
        seen.append((rows, sample_weight))
        return fit(self, rows, labels, sample_weight)

    monkeypatch.setattr(LeafRank, "fit", record)
    model = make_pipeline(StandardScaler(), LeafRank()) if in_pipeline else LeafRank()
    name = "leafrank__max_depth" if in_pipeline else "max_depth"
    found = validate(GridSearchCV(model, {name: [1, 2]}, cv=2), X, y, n_boot=2)
    assert np.isfinite(found.corrected).all()
    weighted = [(rows, weight) for rows, weight in seen if weight is not None]
    assert len(weighted) == 2 * (2 * 2 + 1)  # two samples: two folds and two depths, then all rows
    for rows, weight in weighted:
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert weight.max() > 1


def test_pipelines_searches_and_scorecards_are_procedures():
    X, y = sample(200)
    for procedure in (
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(TreeRank(), {"max_depth": [1, 3]}, cv=2),
        Scorecard(TreeRank(), grades=None),
    ):
        found = validate(procedure, X, y, n_boot=3)
        assert found.names == ["AUC", "Brier score", "calibration slope"]
        assert np.isfinite(found.corrected[:2]).all()


def test_ordered_classes_have_a_vus():
    X, _ = sample()
    y = np.digitize(X[:, 0] + np.random.default_rng(0).normal(size=300), [-0.5, 0.5])
    found = validate(TreeRank(), X, y, n_boot=3)
    assert found.names == ["VUS"]
    model = TreeRank().fit(X, y)
    assert found.apparent[0] == pytest.approx(ordinal_vus_score(y, model.score_samples(X)))
    assert not found.is_probability


def test_held_out_figures_stand_beside_the_corrected_ones():
    X, y = sample()
    found = validate(TreeRank(), X, y, n_boot=2)
    assert 0.5 < found.held_out[0] < found.apparent[0]
    forest = validate(RankingForest(n_estimators=20, oob_score=True), X, y, n_boot=2)
    fitted = RankingForest(n_estimators=20, oob_score=True).fit(X, y)
    assert forest.held_out[0] == pytest.approx(fitted.oob_auc_)


def test_weights_count_in_every_measure():
    X, y = sample()
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    found = validate(LogisticRegression(), X, y, sample_weight=weight, n_boot=2)
    p = LogisticRegression().fit(X, y, sample_weight=weight).predict_proba(X)[:, 1]
    assert found.apparent[0] == pytest.approx(roc_auc_score(y, p, sample_weight=weight))


def test_instability_is_that_of_riley_and_collins():
    original = np.array([0.2, 0.6, 0.9])
    predictions = np.array([[0.1, 0.4, 0.8], [0.3, 0.7, 0.9]])
    one = np.zeros((2, 1))
    none = np.zeros(1)
    found = Validation(["AUC"], none, one, one, one, none, original, predictions, True, none)
    assert found.mape == pytest.approx([0.1, 0.15, 0.05])
    assert found.classification_instability(0.5) == pytest.approx([0, 0.5, 0])
    lower, upper = found.limits(0.5)
    assert lower == pytest.approx([0.15, 0.475, 0.825])
    assert upper == pytest.approx([0.25, 0.625, 0.875])
    with pytest.raises(ValueError, match=r"Got cutoff=1\.5"):
        found.classification_instability(1.5)


def test_the_printed_table_holds_the_figures():
    found = validate(TreeRank(), *sample(), n_boot=3)
    assert f"{found.corrected[0]:.4f}" in str(found)
    assert "3 bootstrap samples" in str(found)
    assert found.to_frame()["corrected"].tolist() == found.corrected.tolist()


def test_what_cannot_be_done_is_said():
    X, y = sample()
    with pytest.raises(ValueError, match="Got n_boot=1; expected an integer >= 2"):
        validate(TreeRank(), X, y, n_boot=1)
    lonely = np.zeros(300, dtype=int)
    lonely[0] = 1
    with pytest.raises(ValueError, match="Got 1 row of one of the classes"):
        validate(LogisticRegression(), X, lonely)


@pytest.mark.parametrize("kind", ["prediction", "mape", "classification"])
def test_displays_draw_what_was_found(kind):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    from treerank.plots import InstabilityDisplay

    found = validate(TreeRank(), *sample(), n_boot=5)
    display = InstabilityDisplay.from_validation(found, kind=kind)
    offsets = display.ax_.collections[0].get_offsets()
    if kind == "mape":
        assert np.allclose(offsets[:, 1], found.mape)
    elif kind == "classification":
        assert np.allclose(offsets[:, 1], found.classification_instability(0.5))
    else:
        assert len(offsets) == 5 * 300
    with pytest.raises(ValueError, match="Got kind='all'"):
        InstabilityDisplay(found, kind="all")
    plt.close("all")


def test_grades_are_drawn_with_their_intervals():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    from treerank.plots import GradesDisplay
    from treerank.scoring import Grades, Scorecard

    X, y = sample(2000)
    grades = Grades(3).fit(X[:, 0], y)
    display = GradesDisplay.from_grades(grades)
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert heights == pytest.approx(grades.to_frame()["share_of_rows"].tolist())
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == grades.names_
    with pytest.raises(TypeError, match="Got grades of type Scorecard; expected fitted Grades"):
        GradesDisplay.from_grades(Scorecard(TreeRank()))
    plt.close("all")
