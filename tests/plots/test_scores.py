"""Displays of gains, lift, KS, calibration, decision curves and ROC bands."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest
from report_data import loans
from sklearn.metrics import precision_recall_curve
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank
from treerank.metrics import (
    calibration_table,
    decision_curve,
    gains_table,
    gini_score,
    ks_score,
    roc_band,
)
from treerank.plots import (
    CalibrationDisplay,
    DecisionCurveDisplay,
    GainsDisplay,
    KsDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
)

DISPLAYS = [
    GainsDisplay, KsDisplay, CalibrationDisplay, DecisionCurveDisplay, PrecisionRecallDisplay,
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return loans(400)


@pytest.fixture(scope="module")
def tree(data):
    return TreeRank(max_depth=4).fit(*data)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(500).round(2)
    return (rng.random(500) < p).astype(int), p, rng.integers(0, 4, 500)


@pytest.mark.parametrize("display", DISPLAYS)
def test_models_and_their_predictions_draw_the_same(display, data, tree):
    x, y = data
    one = display.from_estimator(tree, x, y)
    values = tree.predict_proba(x)[:, 1] if display.needs_probabilities else tree.score_samples(x)
    two = display.from_predictions(y, values, name="TreeRank")
    first, second = (getattr(d, "line_", None) or d.lines_[0] for d in (one, two))
    np.testing.assert_array_equal(first.get_xydata(), second.get_xydata())
    assert first.get_label() == second.get_label()


@pytest.mark.parametrize("display", DISPLAYS)
def test_integer_weights_equal_repeated_rows(display, sample):
    y, p, times = sample
    one = display.from_predictions(y, p, sample_weight=times)
    two = display.from_predictions(np.repeat(y, times), np.repeat(p, times))
    first, second = (getattr(d, "line_", None) or d.lines_[0] for d in (one, two))
    np.testing.assert_allclose(first.get_xydata(), second.get_xydata())


@pytest.mark.parametrize("display", DISPLAYS)
def test_several_models_share_axes(display, data, tree):
    x, y = data
    first = display.from_estimator(tree, x, y)
    forest = RankingForest(n_estimators=5).fit(x, y)
    second = display.from_estimator(forest, x, y, ax=first.ax_, name="a $forest_")
    assert second.ax_ is first.ax_
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert any("TreeRank" in text for text in texts)
    assert any("a $forest_" in text for text in texts)
    assert second.plot().ax_ is not first.ax_


def test_gains_go_through_the_bands_of_the_table(sample):
    y, p, _ = sample
    display = GainsDisplay.from_predictions(y, p)
    table = gains_table(y, p, n_bands=5)
    found = np.interp(table["cumulative_rows"], display.rows, display.found)
    np.testing.assert_allclose(found, table["cumulative_events"])
    assert display.gini == pytest.approx(gini_score(y, p))
    lift = GainsDisplay.from_predictions(y, p, kind="lift").line_
    at_the_end = lift.get_ydata()[-1]
    assert at_the_end == pytest.approx(1)
    assert lift.get_ydata()[0] == pytest.approx(table["lift"].max(), rel=0.5)


@pytest.mark.parametrize("display", [GainsDisplay, DecisionCurveDisplay])
def test_no_curve_leaves_the_axes_at_the_top(display, sample):
    y = sample[0]
    options = {"kind": "lift"} if display is GainsDisplay else {}
    flat, steep = np.full(500, 0.5), y * 0.9 + 0.05
    ax, drawn = None, []
    for values in (flat, steep, flat):
        drawn.append(display.from_predictions(y, values, ax=ax, **options))
        ax = drawn[0].ax_
        assert max(d.line_.get_ydata().max() for d in drawn) < ax.get_ylim()[1]


def test_precision_and_recall_are_those_of_scikit_learn(sample):
    y, p, w = sample
    for weight in (None, w):
        display = PrecisionRecallDisplay.from_predictions(y, p, sample_weight=weight)
        precision, recall, _ = precision_recall_curve(y, p, sample_weight=weight)
        np.testing.assert_allclose(display.recall, recall[:-1][::-1])
        np.testing.assert_allclose(display.precision, precision[:-1][::-1])
        assert display.rate == pytest.approx(np.average(y, weights=weight))


def test_the_left_of_the_curves_can_be_shown_alone(sample):
    y, p, _ = sample
    display = PrecisionRecallDisplay.from_predictions(y, p, max_recall=0.2)
    assert display.ax_.get_xlim() == (0, 0.2)
    assert display.plot().ax_.get_xlim() == (0, 1)
    roc = RocDisplay.from_predictions(y, p, max_fpr=0.1)
    assert roc.ax_.get_xlim() == (0, 0.1)
    assert roc.line_.get_clip_on()
    again = roc.plot()
    assert again.ax_.get_xlim() == (0, 1)
    assert not again.line_.get_clip_on()
    with pytest.raises(ValueError, match="Got max_fpr=0; expected"):
        roc.plot(max_fpr=0)
    with pytest.raises(ValueError, match="Got max_recall=2; expected"):
        display.plot(max_recall=2)


def test_ks_is_the_distance_drawn(sample):
    y, p, _ = sample
    display = KsDisplay.from_predictions(y, p)
    assert display.ks == pytest.approx(ks_score(y, p))
    below = [np.mean(p[y == k] <= display.threshold) for k in (0, 1)]
    assert below[0] - below[1] == pytest.approx(display.ks)
    for k, shares in enumerate((display.negative, display.positive)):
        wanted = [np.mean(p[y == k] <= score) for score in display.score]
        np.testing.assert_allclose(shares, wanted, atol=1e-12)


def test_calibration_table_keeps_equal_probabilities_together(sample):
    y, p, _ = sample
    table = calibration_table(y, p, n_groups=10)
    assert isinstance(table, pd.DataFrame)
    drawn = CalibrationDisplay(table).plot()
    np.testing.assert_array_equal(drawn.line_.get_ydata(), table["observed"])
    assert len(table["rows"]) == 10
    assert table["rows"].sum() == 500
    assert table["rows"].max() < 75
    assert table["rows"] @ table["predicted"] == pytest.approx(p.sum())
    assert table["rows"] @ table["observed"] == pytest.approx(y.sum())
    coarse = calibration_table(y, p.round(), n_groups=10)
    assert coarse["predicted"].tolist() == [0, 1]
    assert coarse["observed"].tolist() == [y[p.round() == k].mean() for k in (0, 1)]
    with pytest.raises(ValueError, match="n_groups=0"):
        calibration_table(y, p, n_groups=0)


def test_a_stratum_is_a_point_of_calibration(data, tree):
    display = CalibrationDisplay.from_estimator(tree, *data, n_groups=50)
    assert len(display.table["rows"]) == len(np.unique(tree.predict_proba(data[0])[:, 1]))


def test_decision_curve_is_that_of_the_measure(sample):
    y, p, _ = sample
    display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.1, 0.3, 0.5])
    wanted = decision_curve(y, p, thresholds=[0.1, 0.3, 0.5])
    np.testing.assert_array_equal(display.line_.get_ydata(), wanted.model)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["act on everyone", "act on no one", "model"]


def test_roc_band_is_shaded_where_asked_for(sample):
    y, p, _ = sample
    assert RocDisplay.from_predictions(y, p).ax_.collections[:] == []
    display = RocDisplay.from_predictions(y, p, band=True, level=0.9)
    band = roc_band(y, p, 0.9)
    np.testing.assert_array_equal(display.band.upper, band.upper)
    [shade] = display.ax_.collections
    corners = shade.get_paths()[0].vertices
    assert corners[:, 1].max() == band.upper.max()


def test_models_without_probabilities_are_refused(sample):
    y, p, _ = sample
    model = LinearSVC().fit(p[:, np.newaxis], y)
    assert KsDisplay.from_estimator(model, p[:, np.newaxis], y).ks > 0
    with pytest.raises(ValueError, match="LinearSVC, which gives no probabilities"):
        CalibrationDisplay.from_estimator(model, p[:, np.newaxis], y)
    with pytest.raises(ValueError, match="kind='area'"):
        GainsDisplay.from_predictions(y, p, kind="area")
    with pytest.raises(ValueError, match="unknown to the model"):
        GainsDisplay.from_estimator(model, p[:, np.newaxis], y + 1)


def covered_points(display):
    """Number of points of curves that lie under the legend."""
    display.figure_.draw_without_rendering()
    box = display.ax_.get_legend().get_window_extent()
    lines = [line for line in display.ax_.get_lines() if line.get_gid() is not None]
    at = [line.get_transform().transform(np.column_stack(line.get_data())) for line in lines]
    left, bottom, right, top = display.ax_.bbox.extents  # what lies beyond is not drawn
    drawn = [p[((p >= [left, bottom]) & (p <= [right, top])).all(axis=1)] for p in at]
    return sum(box.count_contains(points) for points in drawn if len(points))


@pytest.mark.parametrize(
    ("display", "options"),
    [(RocDisplay, {}), (GainsDisplay, {}), (GainsDisplay, {"kind": "lift"}), (KsDisplay, {}),
     (CalibrationDisplay, {}), (DecisionCurveDisplay, {})],
)  # fmt: skip
def test_legends_cover_no_curve_however_many_there_are(display, options):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    drawn = None
    for strength in (0.0, 0.02, 0.05, 0.2):
        p = np.clip(0.5 + strength * (y - 0.5) + rng.normal(0, 0.1, 400), 0.01, 0.99)
        ax = None if drawn is None else drawn.ax_
        name = f"a model with a name, and strength {strength}"
        drawn = display.from_predictions(y, p, name=name, ax=ax, **options)
    assert covered_points(drawn) == 0
    x_label = drawn.ax_.xaxis.label.get_window_extent()
    assert not drawn.ax_.get_legend().get_window_extent().overlaps(x_label)


def test_calibration_is_drawn_as_large_as_its_probabilities_allow(sample):
    y, p, _ = sample
    rare = y * (np.arange(len(y)) % 10 == 0)
    small = CalibrationDisplay.from_predictions(rare, p / 10)
    assert small.ax_.get_xlim() == small.ax_.get_ylim()
    assert small.ax_.get_ylim()[1] < 0.7
    assert small.ax_.get_ylim()[1] >= small.table["upper"].max()
    both = CalibrationDisplay.from_predictions(y, p, ax=small.ax_)
    assert both.ax_.get_xlim()[1] >= p.max()
    again = CalibrationDisplay.from_predictions(rare, p / 10, ax=both.ax_)
    assert again.ax_.get_xlim()[1] >= p.max()
