"""Converts the `splitter` parameter to an object with the two methods of a splitter."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from treerank._input.classifiers import check_classifier
from treerank.splitters import ClassifierSplit, Splitter


def as_splitter(splitter: Any) -> Any:
    """Return a splitter; classifiers are wrapped, and anything else raises an error."""
    if isinstance(splitter, type):
        raise ValueError(
            f"Got splitter={splitter.__name__}, a class; expected an instance, such as "
            f"{splitter.__name__}()."
        )
    if isinstance(splitter, ClassifierSplit):
        check_classifier(splitter.estimator)
    elif not isinstance(splitter, Splitter):
        check_classifier(splitter)
        return ClassifierSplit(splitter)
    return splitter


def with_max_features(splitter: Any, max_features: Any) -> Any:
    """Return a copy that draws `max_features` features in each of its nodes; None means all."""
    if callable(splitter) and not hasattr(splitter, "get_params"):  # a function of the cell
        copy, name = splitter, None
    else:
        copy = clone(splitter, safe=False)
        names = copy.get_params() if hasattr(copy, "get_params") else {}
        last = f"{copy.steps[-1][0]}__" if isinstance(copy, Pipeline) else ""
        name = f"{last}max_features" if f"{last}max_features" in names else None
    if name is not None:
        return copy.set_params(**{name: max_features})
    if max_features is not None:
        raise ValueError(
            f"Got splitter={splitter!r} for a preset that draws features inside the splitter; "
            "expected a splitter with max_features, or one of the presets 'bagging', 'rf1' and "
            "'rf2'."
        )
    return copy
