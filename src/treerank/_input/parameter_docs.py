"""Descriptions of parameters that several estimators share, inserted into their docstrings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

SHARED = {
    "class_weight": """\
class_weight : "balanced", dict or None, default=None
    Class weights, which are multiplied with the sample weights. A dict maps labels to weights;
    labels that are not in it have weight 1. "balanced" uses
    ``n_samples / (n_classes * n_samples_of_class)``.""",
    "focus": """\
focus : float, tuple of two floats or None, default=None
    The part of the ranking to optimize, for two classes only. A float is the proportion of rows at
    the top that matter, e.g. 0.1 for a mailing to the best 10%; rankings are then measured by
    their local AUC. A tuple ``(low, high)`` is a range of false positive rates; rankings are then
    measured by their partial AUC. None: the whole ranking counts.""",
    "label_order": """\
label_order : array-like of shape (n_classes,), optional
    The classes, worst first. By default, the order of an ordered categorical, else the order
    of the values.""",
    "classes": """\
classes_ : array of shape (n_classes,)
    The classes in the order of their values, as scikit-learn expects; that of the columns of
    `predict_proba`.
label_order_ : array of shape (n_classes,)
    The classes, worst first; the last one is ranked on top.""",
    "tournament": """\
tournament : {"all", "adjacent"}, default="all"
    With more than two classes, whether all pairs of classes propose a candidate for each split,
    or only adjacent ones (among the classes present in the cell), which is faster.""",
    "tournament_gain": """\
tournament_gain : {"vus", "local"}, default="vus"
    With more than two classes, the criterion by which the best candidate is chosen: the gain in
    VUS of the whole ordered partition, or of the cell alone, as in the tournament paper.""",
    "categorical_features": """\
categorical_features : "from_dtype", array-like or None, default="from_dtype"
    Names, indices or a boolean mask of the categorical columns. Text, boolean and category columns
    of a data frame are always categorical.""",
    "categories": """\
categories : {"auto", "levels", "statistics"}, default="auto"
    How categories are split. "levels": a split may send any set of levels to the left; with more
    than 255 levels, the rarest ones are merged into one. "statistics": levels are ordered by the
    labels of their rows and split like numbers; each training row is encoded with the rows of the
    other folds only. "auto": "statistics" for columns with more than 255 levels, otherwise
    "levels"; forests and boosting may also put the most frequent of more than 255 levels into
    sets.""",
    "missing": """\
missing : {"learned", "cell_mean"}, default="learned"
    Where a split sends missing values. "learned": to the side that gives the larger gain.
    "cell_mean": to the side of the mean of the cell (for a category, of its most frequent
    level).""",
    "monotonic_cst": """\
monotonic_cst : array-like or dict, optional
    Monotonic constraint of each feature: 1 (the score must not decrease with the feature), 0 (no
    constraint) or -1 (the score must not increase), between any two rows that differ only in that
    feature. A dict maps feature names to constraints; all other features are unconstrained.""",
    "max_bins": """\
max_bins : int or "auto", default="auto"
    Maximum number of bins of each numeric feature. By default, every distinct value has its own
    bin up to 10,000 rows; with more rows, there are 255 quantile bins.""",
    "n_jobs": """\
n_jobs : int, optional
    Number of threads; None means 1 and -1 means all cores. The result does not depend on it.""",
    "device": """\
device : {"cpu", "cuda"}, default="cpu"
    Where trees are grown and rows are scored. "cuda" requires an NVIDIA GPU and
    ``pip install 'treerank-ml[cuda]'``, and gives the same model, bit for bit. Small tables and
    options that the GPU code does not support are processed on the CPU.""",
    "random_state": """\
random_state : int, RandomState or None, default=None
    Random seed; None means 0, so that results are reproducible.""",
    "verbose": """\
verbose : int, default=0
    1: show progress. 2: also print the time spent in each stage.""",
    "client": """\
client : distributed.Client, optional
    By default, the current client.""",
    "checkpoint": """\
checkpoint : str or path, optional
    File in which the trees are saved as they grow. An interrupted fit resumes from it when run
    again; it is removed at the end.""",
}


def insert_shared_docs(cls: Documented) -> Documented:
    """Class decorator: replaces each line ``{name}`` of a docstring by the shared description."""
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
