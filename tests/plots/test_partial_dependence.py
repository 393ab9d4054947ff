"""Pictures of partial dependence show the numbers that were computed."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from samples import frame

from treerank import TreeRank
from treerank.inspection import partial_dependence
from treerank.plots import PartialDependenceDisplay


@pytest.fixture(scope="module")
def fitted():
    x, y = frame(400, 0)
    x = x.rename(columns={"a": "a_$1"})
    return TreeRank().fit(x, y), x


def test_lines_bars_and_maps_hold_the_averages(fitted):
    model, x = fitted
    display = PartialDependenceDisplay.from_estimator(
        model, x, ["a_$1", "level", ("b", "c"), ("level", "b")], grid_resolution=12
    )
    display.figure_.canvas.draw()
    line, bars, square, mixed = display.axes_
    assert np.array_equal(line.lines[0].get_ydata(), partial_dependence(
        model, x, "a_$1", grid_resolution=12).average)  # fmt: skip
    assert line.get_xlabel() == "a_$1"
    tops = [path.vertices[-1, 1] for path in bars.collections[0].get_paths()]
    assert np.allclose(tops, partial_dependence(model, x, "level").average)
    assert [t.get_text() for t in bars.get_xticklabels()] == ["u", "v", "w"]
    expected = partial_dependence(model, x, ("b", "c"), grid_resolution=12).average
    assert np.array_equal(square.collections[0].get_array().reshape(12, 12), expected.T)
    assert (mixed.get_xlabel(), mixed.get_ylabel()) == ("level", "b")
    assert line.get_ylim() == bars.get_ylim()


def test_given_axes_are_drawn_on_and_a_display_can_be_drawn_again(fitted):
    model, x = fitted
    figure, axes = plt.subplots(1, 2)
    display = PartialDependenceDisplay.from_estimator(model, x, ["b", "c"], ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    assert display.plot().figure_ is not figure
    with pytest.raises(ValueError, match="Got 2 axes; expected 1"):
        PartialDependenceDisplay.from_estimator(model, x, ["b"], ax=axes)


def test_a_single_value_and_spare_places_are_no_trouble(fitted):
    _, x = fitted
    x = x.assign(still=1.0)
    model = TreeRank().fit(x, np.arange(400) % 2)
    display = PartialDependenceDisplay.from_estimator(
        model, x, ["still", "b", "c", ("still", "b")], response="probability"
    )
    display.figure_.canvas.draw()
    assert len(display.axes_) == 4
    assert display.axes_[0].get_ylabel() == "mean probability"


def test_bad_arguments_are_named(fitted):
    model, x = fitted
    with pytest.raises(ValueError, match="Got features='b'; expected a list of features"):
        PartialDependenceDisplay.from_estimator(model, x, "b")
    with pytest.raises(ValueError, match="Got no results"):
        PartialDependenceDisplay([])
