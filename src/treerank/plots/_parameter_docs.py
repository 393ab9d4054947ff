"""Descriptions of parameters that several displays share, written once and inserted."""

from __future__ import annotations

from treerank._input.parameter_docs import Documented, insert_docs

SHARED = {
    "y": """\
y : array-like of shape (n_samples,)
    Labels of two classes.""",
    "score": """\
score : array-like of shape (n_samples,)
    Higher is better.""",
    "pos_label": """\
pos_label : label, optional
    The positive class; by default the larger label.""",
    "name": """\
name : str, optional
    Name in the legend.""",
    "ax": """\
ax : matplotlib axes, optional
    By default those of a new figure.""",
}


def insert_shared_docs(documented: Documented) -> Documented:
    """Decorate a function: a line ``{name}`` of its docstring becomes the shared description."""
    return insert_docs(documented, SHARED)
