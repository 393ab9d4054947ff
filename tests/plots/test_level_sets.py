"""Maps of the score over two features."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from treerank import TreeRank
from treerank.plots import LevelSetDisplay


def test_scores_of_the_map_are_those_of_the_model_everywhere(plane, plane_tree):
    X, y = plane
    display = LevelSetDisplay.from_estimator(plane_tree, X, y=y, grid_resolution=20)
    rng = np.random.default_rng(0)
    low = [display.x.edges[0], display.y.edges[0]]
    high = [display.x.edges[-1], display.y.edges[-1]]
    points = rng.uniform(low, high, size=(5000, 2))
    # The thresholds are edges of the grid, so that the boundaries are exact.
    column = np.searchsorted(display.x.edges, points[:, 0]) - 1
    row = np.searchsorted(display.y.edges, points[:, 1]) - 1
    np.testing.assert_array_equal(display.score[row, column], plane_tree.score_samples(points))
    np.testing.assert_array_equal(display.mesh_.get_array(), display.score)
    assert len(np.unique(display.score)) > 5


def test_outlines_lie_where_the_score_changes(plane, plane_tree):
    def segments(display):
        return sum(len(c.get_segments()) for c in display.ax_.collections
                   if hasattr(c, "get_segments"))  # fmt: skip

    shown = LevelSetDisplay.from_estimator(plane_tree, plane[0])
    changes = sum(np.count_nonzero(np.diff(shown.score, axis=axis)) for axis in (0, 1))
    assert segments(shown) == changes > 0
    assert segments(shown.plot(outlines=False)) == 0


def test_other_features_are_held_at_median_and_most_frequent_level(customers, customer_tree):
    X, _ = customers
    features = ("a_rather_long_feature_name_1", "income $ 0")
    display = LevelSetDisplay.from_estimator(customer_tree, X, features, grid_resolution=7)
    x, up = np.meshgrid(display.x.centres, display.y.centres)
    grid = pd.DataFrame(index=range(x.size))
    for name in X.columns:
        if name in features:
            grid[name] = (x if name == features[0] else up).ravel()
        elif name in ("region", "job"):
            grid[name] = X[name].mode()[0]
        else:
            grid[name] = X[name].quantile(0.5, interpolation="lower")
    expected = customer_tree.score_samples(grid).reshape(x.shape)
    np.testing.assert_array_equal(display.score, expected)
    assert display.ax_.get_title(loc="left").startswith("8 other features")


def test_frames_of_all_kinds_give_the_same_map(customers, customer_tree):
    X, _ = customers
    shuffled = X.sample(frac=1, random_state=0)  # an index out of order
    a = LevelSetDisplay.from_estimator(customer_tree, X, ("region", 0), grid_resolution=9)
    b = LevelSetDisplay.from_estimator(customer_tree, shuffled, ("region", 0), grid_resolution=9)
    as_polars = pl.DataFrame({name: X[name].tolist() for name in X.columns})
    c = LevelSetDisplay.from_estimator(customer_tree, as_polars, ("region", 0), grid_resolution=9)
    np.testing.assert_array_equal(a.score, b.score)
    np.testing.assert_array_equal(a.score, c.score)
    assert a.x.levels == ["east", "north", "south", "west"]
    assert [label.get_text() for label in a.ax_.get_xticklabels()] == a.x.levels


def test_categories_of_an_array_are_levels(plane):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300)])
    y = ((X[:, 0] % 2) + X[:, 1] + rng.normal(size=300) > 0.5).astype(int)
    model = TreeRank(categorical_features=[0]).fit(X, y)
    display = LevelSetDisplay.from_estimator(model, X, y=y)
    assert display.x.levels == ["0.0", "1.0", "2.0", "3.0"]
    assert display.x.name == "x0"


def test_rows_are_marked_by_class_and_missing_values_left_out(plane, plane_tree):
    X, y = plane[0].copy(), np.where(plane[1] == 1, "good", "bad")
    X[:50, 0] = np.nan
    display = LevelSetDisplay.from_estimator(plane_tree, X, y=y)
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["bad", "good"]
    drawn = [c for c in display.ax_.collections if isinstance(c, mpl.collections.PathCollection)]
    shown = sum(int((~np.ma.getmaskarray(c.get_offsets()).any(axis=1)).sum()) for c in drawn)
    assert shown == 350
    assert LevelSetDisplay.from_estimator(plane_tree, X).ax_.get_legend() is None


def test_classes_are_shaded_in_the_order_of_the_model(plane):
    X, y = plane
    y = np.array(["low", "middle", "high"])[y + (X[:, 0] > 0)]
    model = TreeRank(max_depth=2, label_order=["low", "middle", "high"]).fit(X, y)
    legend = LevelSetDisplay.from_estimator(model, X, y=y).ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["low", "middle", "high"]


def test_level_sets_of_other_models(plane):
    X, y = plane
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    display = LevelSetDisplay.from_estimator(model, X, grid_resolution=10)
    x, up = np.meshgrid(display.x.centres, display.y.centres)
    expected = model.predict_proba(np.column_stack([x.ravel(), up.ravel()]))[:, 1]
    np.testing.assert_allclose(display.score, expected.reshape(10, 10))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"features": (0,)}, "expected two columns, by name or position"),
        ({"features": 3}, "expected two columns, by name or position"),
        ({"features": (1, 1)}, "two different columns"),
        ({"features": (0, 2)}, "Got feature 2; expected a column name, or a position from 0 to 1"),
        ({"features": (0, "nothing")}, "Got feature 'nothing'"),
        ({"grid_resolution": 1}, "Got grid_resolution=1; expected an integer >= 2."),
        ({"X": np.zeros((0, 2))}, "expected some rows"),
        ({"X": [1, 2]}, "no table"),
        ({"X": np.full((3, 2), np.nan)}, "without a known value"),
        ({"y": [0, 1]}, "inconsistent"),
        ({"cmap": "no such map"}, "no such map"),
    ],
)
def test_level_sets_refuse_bad_input_before_they_open_a_figure(plane, plane_tree, options, match):
    with pytest.raises(ValueError, match=match):
        LevelSetDisplay.from_estimator(plane_tree, **{"X": plane[0], **options})
    assert plt.get_fignums() == []
