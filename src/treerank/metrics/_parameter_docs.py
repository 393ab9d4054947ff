"""Descriptions of parameters that several metrics share."""

from __future__ import annotations

from treerank._input.parameter_docs import Documented, insert_docs

SHARED = {
    "y": """\
y : array-like of shape (n,)
    Labels of two classes; the higher one is positive.""",
    "ordered_y": """\
y : array-like of shape (n,)
    Labels of K >= 2 ordered classes.""",
    "s": """\
s : array-like of shape (n,)
    Scores, higher is better.""",
    "p": """\
p : array-like of shape (n,)
    Predicted probabilities of the positive class.""",
    "rate": """\
rate : float in (0, 1], default=0.1
    Share of rows that counts as the top.""",
    "weights": """\
sample_weight : array-like of shape (n,), optional
    Weights; integer weights are equivalent to repeated rows.""",
    "sampling_weights": """\
sample_weight : array-like of shape (n,), optional
    Sampling weights, as in `auc_interval`.""",
    "level": """\
level : float, default=0.95
    Confidence level.""",
    "pos_label": """\
pos_label : label, optional
    The positive class, if it is not the higher one.""",
    "labels": """\
labels : array-like of shape (K,), optional
    The classes, lowest first.""",
}


def insert_shared_docs(documented: Documented) -> Documented:
    """Replace lines ``{name}`` in the docstring of a function by the shared descriptions."""
    return insert_docs(documented, SHARED)
