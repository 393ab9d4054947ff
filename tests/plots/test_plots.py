"""What all displays have in common."""

import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from treerank.plots import LevelSetDisplay, RocDisplay, RocSurfaceDisplay, TreeDisplay


@pytest.mark.parametrize("kind", ["roc", "tree", "level sets"])
def test_given_axes_are_used_and_figures_left_open(kind, plane, plane_tree):
    _, ax = plt.subplots()
    before = plt.get_fignums()
    display = {
        "roc": lambda: RocDisplay.from_estimator(plane_tree, *plane, ax=ax),
        "tree": lambda: TreeDisplay.from_estimator(plane_tree, ax=ax),
        "level sets": lambda: LevelSetDisplay.from_estimator(plane_tree, plane[0], ax=ax),
    }[kind]()
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == before
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
    assert len(plt.get_fignums()) == len(before) + 1
    display.figure_.canvas.draw()


def test_matplotlib_is_imported_only_to_draw(monkeypatch, cancer_tree):
    code = "import sys, treerank.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: RocDisplay.from_partition(cancer_tree.partition_),
        lambda: TreeDisplay.from_estimator(cancer_tree),
    ):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'treerank-ml\[plot\]'"):
            draw()


def test_axes_of_a_surface_are_named_in_the_order_of_the_classes():
    levels = ["low", "medium", "high"]
    y = pd.Series(pd.Categorical.from_codes(np.arange(30) % 3, levels, ordered=True))
    display = RocSurfaceDisplay.from_predictions(y, np.arange(30) % 3)
    assert list(display.classes) == levels
    plt.close(display.figure_)
