"""Descriptions of parameters that several displays share."""

from __future__ import annotations

from treerank._input.parameter_docs import Documented, insert_docs

SHARED = {
    "y": """\
y : array-like of shape (n_samples,)
    Labels of two classes.""",
    "score": """\
score : array-like of shape (n_samples,)
    Scores; higher is better.""",
    "pos_label": """\
pos_label : label, optional
    The positive class; by default the larger label.""",
    "name": """\
name : str, optional
    Name shown in the legend.""",
    "ax": """\
ax : matplotlib axes, optional
    By default the axes of a new figure.""",
}


def insert_shared_docs(documented: Documented) -> Documented:
    """Replace lines ``{name}`` in a docstring by the shared descriptions."""
    return insert_docs(documented, SHARED)
