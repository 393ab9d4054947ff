"""Descriptions of parameters that several estimators share, written once and inserted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

SHARED = {
    "class_weight": """\
class_weight : "balanced", dict or None, default=None
    Weights of the classes, which multiply those of the rows: a weight for each label, 1 for
    those that are not named, or "balanced" for the number of rows over the number of classes
    times the rows of the class.""",
    "focus": """\
focus : float, tuple of two floats or None, default=None
    The top of the ranking that counts, for two classes: a float is the share of the rows at the
    top, as for mailing the first tenth, and rankings are measured by their local AUC; a tuple
    ``(low, high)`` is a range of false positive rates, and they are measured by their partial AUC.
    None: all of the ranking counts.""",
    "label_order": """\
label_order : array-like of shape (n_classes,), optional
    The classes, worst first. By default the order of an ordered categorical, else that
    of the values.""",
    "tournament": """\
tournament : {"all", "adjacent"}, default="all"
    Beyond two classes, whether all pairs of classes compete for each split, or only
    neighbours (among the classes that the cell has), which is quicker.""",
    "tournament_gain": """\
tournament_gain : {"vus", "local"}, default="vus"
    Beyond two classes, what a candidate must add most to: the VUS of the whole ordered
    partition, or that of the cell alone, as in the paper on the tournament.""",
    "categorical_features": """\
categorical_features : "from_dtype", array-like or None, default="from_dtype"
    Which columns hold categories. By default the text, boolean and category columns
    of a data frame.""",
    "categories": """\
categories : {"auto", "levels", "statistics"}, default="auto"
    How categories are split. "levels": a test may send any set of levels to the left; beyond
    255 levels the rarest count as one. "statistics": levels are put in the order of the labels
    of their rows and cut like numbers, each training row being coded by rows of other folds.
    "auto": statistics for columns of more than 255 levels.""",
    "missing": """\
missing : {"learned", "cell_mean"}, default="learned"
    Where a test sends missing values: to the side where they do better, or to the side
    of the cell's mean (of the cell's most frequent level, for a category).""",
    "monotonic_cst": """\
monotonic_cst : array-like or dict, optional
    1, 0 or -1 for each feature: the score may only rise, do anything, or only fall
    with it, between any two rows that differ in that feature only. A dict names the
    features that are constrained.""",
    "max_bins": """\
max_bins : int or "auto", default="auto"
    Bins for each numeric feature. By default every distinct value up to 10,000 rows, and 255
    quantiles above.""",
    "n_jobs": """\
n_jobs : int, optional
    Threads; None means 1, -1 all cores. The result does not depend on it.""",
    "device": """\
device : {"cpu", "cuda"}, default="cpu"
    Where trees are grown and rows are scored: "cuda" needs an NVIDIA GPU and
    ``pip install 'treerank-ml[cuda]'``, and gives the same model, bit for bit. Small tables,
    and options that the GPU does not support, stay on the processor.""",
    "random_state": """\
random_state : int, RandomState or None, default=None
    Random seed; None means 0, so that a fit can be repeated.""",
    "verbose": """\
verbose : int, default=0
    1: show progress. 2: also print the seconds of each stage.""",
    "client": """\
client : distributed.Client, optional
    By default the client that is in use.""",
    "checkpoint": """\
checkpoint : str or path, optional
    File in which the trees are kept while they grow. An interrupted fit continues from it when
    repeated; it is removed at the end.""",
}


def insert_shared_docs(cls: Documented) -> Documented:
    """Decorate an estimator: a line ``{name}`` of its docstring becomes the shared description."""
    return insert_docs(cls, SHARED)


def insert_docs(documented: Documented, shared: Mapping[str, str]) -> Documented:
    """Replace each line ``{name}`` of a docstring by the description of that name."""
    if documented.__doc__ is not None:  # python -OO drops docstrings
        lines = documented.__doc__.split("\n")
        documented.__doc__ = "\n".join(_inserted(line, shared) for line in lines)
    return documented


def _inserted(line: str, shared: Mapping[str, str]) -> str:
    stripped = line.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(indent + part for part in shared[stripped[1:-1]].split("\n"))
