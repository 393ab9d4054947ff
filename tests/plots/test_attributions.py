"""Displays of attributions."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import samples

from treerank import RankingForest, TreeRank
from treerank.inspection import attributions
from treerank.plots import AttributionDependenceDisplay, BeeswarmDisplay, WaterfallDisplay

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture(scope="module")
def table():
    return samples.frame(200, 1)


@pytest.fixture(scope="module")
def found(table):
    x, y = table
    return attributions(TreeRank(pruning=None).fit(x, y), x, interactions=True)


def test_a_waterfall_leads_from_the_expected_value_to_the_score(found):
    display = WaterfallDisplay.from_attributions(found, 7, max_bars=3)
    assert len(display.names) == 3
    assert display.names[-1] == "2 other features"
    assert display.expected_value + display.values.sum() == pytest.approx(found.scores[7])
    bars = display.ax_.patches
    assert bars[0].get_x() == pytest.approx(found.expected_value)
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(found.scores[7])
    for below, above in pairwise(bars):
        assert below.get_x() + below.get_width() == pytest.approx(above.get_x())


def test_a_beeswarm_gives_categories_no_colours_of_low_and_high(found):
    display = BeeswarmDisplay.from_attributions(found)
    coloured = display.ax_.collections[1::2]  # grey dots come before the coloured ones of a line
    names = [found.feature_names[j] for j in display.order[::-1]]
    n_coloured = {name: len(dots.get_offsets()) for name, dots in zip(names, coloured, strict=True)}
    assert n_coloured["level"] == 0
    assert n_coloured["a"] == np.isfinite(found.data[:, 0].astype(float)).sum()


def test_colours_of_a_category_are_named_by_its_levels(found):
    display = AttributionDependenceDisplay.from_attributions(found, "a", color_by="level")
    labels = [label.get_text() for label in display.figure_.axes[1].get_yticklabels()]
    levels = {value for value in found.data[:, 3] if isinstance(value, str)}
    assert labels == sorted(levels)


def test_a_beeswarm_shows_the_most_important_features_first(found):
    display = BeeswarmDisplay.from_attributions(found, max_features=3)
    size = np.abs(found.values).mean(axis=0)
    assert size[display.order].tolist() == sorted(size, reverse=True)[:3]
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [found.feature_names[j] for j in display.order[::-1]]
    drawn = sum(len(dots.get_offsets()) for dots in display.ax_.collections)
    assert drawn == 3 * len(found)


@pytest.mark.parametrize("feature", ["a", "level", 2])
def test_dependence_is_coloured_by_the_strongest_interaction(found, feature):
    display = AttributionDependenceDisplay.from_attributions(found, feature)
    j = display.feature
    size = np.abs(found.interactions[:, j]).mean(axis=0)
    assert display.color_by == max((k for k in range(4) if k != j), key=lambda k: size[k])
    y = np.concatenate([dots.get_offsets()[:, 1] for dots in display.ax_.collections])
    np.testing.assert_allclose(np.sort(y), np.sort(found.values[:, j]))


def test_dependence_of_a_model_and_without_interactions(table, found):
    x, y = table
    model = RankingForest(n_estimators=5).fit(x, y)
    display = AttributionDependenceDisplay.from_estimator(model, x, "a", baseline=x.iloc[:30])
    assert display.color_by in (1, 2, 3)
    plain = attributions(model, x)
    assert AttributionDependenceDisplay.from_attributions(plain, "a").color_by is None
    chosen = AttributionDependenceDisplay.from_attributions(plain, "a", color_by="c")
    assert chosen.color_by == 2


def test_bad_input_gets_one_clear_error(found):
    with pytest.raises(ValueError, match="Got row=200"):
        WaterfallDisplay.from_attributions(found, 200)
    with pytest.raises(ValueError, match="Got max_bars=0"):
        WaterfallDisplay.from_attributions(found, 0, max_bars=0)
    with pytest.raises(ValueError, match="Got feature 'z'"):
        AttributionDependenceDisplay.from_attributions(found, "z")
    with pytest.raises(ValueError, match="one value for each name"):
        WaterfallDisplay(["a"], [1.0, 2.0], 0.0)


def test_shap_explanations_hold_the_same_numbers(found):
    shap = pytest.importorskip("shap")
    made = found.to_shap()
    assert isinstance(made, shap.Explanation)
    np.testing.assert_array_equal(made.values, found.values)
    np.testing.assert_allclose(made.base_values + made.values.sum(axis=1), found.scores)
    assert list(made.feature_names) == found.feature_names


def test_names_of_many_levels_are_slanted_so_that_they_do_not_overlap(found):
    data = found.data.copy()
    data[:, 3] = [f"a long level {k % 9}" for k in range(len(data))]
    many = replace(found, data=data)
    for given, slanted in ((found, False), (many, True)):
        display = AttributionDependenceDisplay.from_attributions(given, "level")
        angles = {label.get_rotation() for label in display.ax_.get_xticklabels()}
        assert angles == {45.0 if slanted else 0.0}
