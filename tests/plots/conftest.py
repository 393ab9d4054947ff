"""Each test begins and ends without open figures."""

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    yield
    pyplot.close("all")
