"""ROC curves: areas, legends, weights, refusals."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from treerank import OrderedPartition, TreeRank
from treerank.metrics import auc_interval
from treerank.plots import RocDisplay


@pytest.mark.parametrize("weighted", [False, True])
def test_area_under_the_drawn_curve_is_the_auc_with_ties(weighted):
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 300), rng.integers(0, 6, 300)
    weight = rng.integers(0, 4, 300) if weighted else None
    display = RocDisplay.from_predictions(y, score, sample_weight=weight)
    x, up = display.line_.get_data()
    expected = roc_auc_score(y, score, sample_weight=weight)
    assert np.sum(np.diff(x) * (up[1:] + up[:-1]) / 2) == pytest.approx(expected, abs=1e-12)
    assert display.auc == pytest.approx(expected, abs=1e-12)
    assert len(x) == 6 + 1


def test_curve_on_the_training_rows_is_that_of_the_partition(cancer, cancer_tree):
    display = RocDisplay.from_estimator(cancer_tree, *cancer, training=True)
    knots = cancer_tree.partition_.roc()
    np.testing.assert_allclose(display.line_.get_data(), knots, atol=1e-12)
    np.testing.assert_allclose(display.training, knots)
    assert display.line_.get_marker() == "o"
    drawn = RocDisplay.from_partition(cancer_tree.partition_)
    np.testing.assert_array_equal(drawn.line_.get_data(), knots)
    assert drawn.auc == pytest.approx(cancer_tree.partition_.auc())


def test_several_models_share_axes_and_legend(cancer, cancer_tree):
    X, y = cancer
    first = RocDisplay.from_estimator(cancer_tree, X, y)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    second = RocDisplay.from_estimator(forest, X, y, ax=first.ax_, name="_forest $1_2$")
    cart = DecisionTreeClassifier(max_depth=3).fit(X, y)
    third = RocDisplay.from_estimator(cart, X, y, ax=first.ax_, optimal=([0, 0, 1], [0, 1, 1]))
    assert first.figure_ is second.figure_ is third.figure_
    assert third.auc == pytest.approx(roc_auc_score(y, cart.predict_proba(X)[:, 1]))
    labels = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    starts = [
        "TreeRank: AUC",
        "_forest $1_2$: AUC",
        "DecisionTreeClassifier: AUC",
        "optimal: AUC 1.000",
    ]
    assert all(label.startswith(start) for label, start in zip(labels, starts, strict=True))
    assert not any(text.get_parse_math() for text in first.ax_.get_legend().get_texts())
    diagonals = [line for line in first.ax_.get_lines() if list(line.get_xdata()) == [0, 1]]
    assert len(diagonals) == 1
    assert len({line.get_color() for line in (first.line_, second.line_, third.line_)}) == 3


def test_legend_has_the_interval():
    y, score = [0, 0, 1, 1], [1, 3, 2, 4]
    display = RocDisplay.from_predictions(y, score, level=0.9)
    expected = auc_interval(y, score, level=0.9)
    assert display.interval == (expected.lower, expected.upper)
    said = f"AUC 0.750, 90% interval {expected.lower:.3f} to {expected.upper:.3f}"
    assert said in display.line_.get_label()


def test_positive_class_is_the_larger_label_or_the_one_named():
    y, score = np.array(["no", "yes", "yes", "no", "yes"]), [1, 2, 3, 2.5, 4]
    up = RocDisplay.from_predictions(y, score)
    down = RocDisplay.from_predictions(y, score, pos_label="no")
    assert up.auc == pytest.approx(roc_auc_score(y == "yes", score))
    assert down.auc == pytest.approx(1 - up.auc)


def test_scores_may_come_from_a_decision_function(plane):
    model = LogisticRegression().fit(*plane)
    display = RocDisplay.from_estimator(model, *plane)
    assert display.auc == pytest.approx(roc_auc_score(plane[1], model.decision_function(plane[0])))
    assert display.line_.get_marker() == "None"


def test_rows_of_weight_zero_do_not_count():
    y, score = np.array([0, 1, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    weight = np.array([1, 2, 1, 1, 0])
    kept = weight > 0
    a = RocDisplay.from_predictions(y, score, sample_weight=weight)
    b = RocDisplay.from_predictions(y[kept], score[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(a.fpr, b.fpr)
    np.testing.assert_array_equal(a.tpr, b.tpr)


@pytest.mark.parametrize(
    ("y", "score", "options", "match"),
    [
        ([1, 1, 1], [1, 2, 3], {}, "expected labels of two classes"),
        ([0, 1, 2], [1, 2, 3], {}, "expected labels of two classes"),
        ([0, 1], [1, np.nan], {}, "NaN or infinite"),
        ([0, 1], [[1], [2]], {}, "one score per row"),
        ([0, 1], [1, 2, 3], {}, "inconsistent"),
        ([0, 1], [1, 2], {"sample_weight": [1, -1]}, "negative"),
        ([0, 1], [1, 2], {"sample_weight": [1, 0]}, "one class only"),
        ([0, 1], [1, 2], {"pos_label": 7}, "Got pos_label=7"),
        ([0, 1], [1, 2], {"optimal": ([0, 1], [0, 0.5])}, "no ROC curve"),
        ([0, 1], [1, 2], {"optimal": ([0, 0.6, 0.5, 1], [0, 0.5, 0.6, 1])}, "no ROC curve"),
        ([0, 1], [1, 2], {"optimal": 3}, "no ROC curve"),
    ],
)
def test_roc_refuses_bad_input_before_it_opens_a_figure(y, score, options, match):
    with pytest.raises(ValueError, match=match):
        RocDisplay.from_predictions(y, score, **options)
    assert plt.get_fignums() == []


def test_roc_refuses_models_that_do_not_fit(cancer, cancer_tree):
    X, y = cancer
    with pytest.raises(NotFittedError):
        RocDisplay.from_estimator(TreeRank(), X, y)
    with pytest.raises(ValueError, match="unknown to the model"):
        RocDisplay.from_estimator(cancer_tree, X, y + 1)
    cart = DecisionTreeClassifier(max_depth=2)
    with pytest.raises(ValueError, match="keeps no curve of its training rows"):
        RocDisplay.from_estimator(clone(cart).fit(X, y), X, y, training=True)
    with pytest.raises(ValueError, match="3 classes"):
        RocDisplay.from_estimator(cart.fit(X, np.arange(len(y)) % 3), X, y)
    with pytest.raises(ValueError, match="expected an OrderedPartition"):
        RocDisplay.from_partition(cancer_tree)
    with pytest.raises(ValueError, match="needs two"):
        RocDisplay.from_partition(OrderedPartition([[1, 2, 3], [3, 2, 1]]))
