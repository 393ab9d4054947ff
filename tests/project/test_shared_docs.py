"""Descriptions of shared parameters are inserted where a docstring names them."""

import inspect

import pytest

import treerank
from treerank import metrics, plots
from treerank._input.parameter_docs import SHARED as OF_ESTIMATORS
from treerank.metrics._parameter_docs import SHARED as OF_MEASURES
from treerank.plots._parameter_docs import SHARED as OF_DISPLAYS

ROOMS = {
    "estimators": (treerank, OF_ESTIMATORS),
    "measures": (metrics, OF_MEASURES),
    "displays": (plots, OF_DISPLAYS),
}
ONLY_ON_CLUSTERS = {"client", "checkpoint"}


def documented(room):
    """Functions, classes and methods of a room."""
    for name in room.__all__:
        found = getattr(room, name)
        yield found
        if inspect.isclass(found):
            yield from (getattr(found, n) for n in vars(found) if not n.startswith("_"))


@pytest.mark.parametrize("room", ROOMS)
def test_help_shows_descriptions_and_no_placeholder(room):
    found, shared = ROOMS[room]
    docs = [inspect.getdoc(item) or "" for item in documented(found)]
    lines = [line.strip() for doc in docs for line in doc.split("\n")]
    assert not [line for line in lines if line.startswith("{") and line.endswith("}")]
    for name, description in shared.items():
        if name not in ONLY_ON_CLUSTERS:
            n_uses = sum(description in doc for doc in docs)
            assert n_uses >= 2, f"{name} is shared by {n_uses}"
