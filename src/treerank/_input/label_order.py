"""The order in which models rank classes, which need not be that of scikit-learn's `classes_`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import FittedClassifier

Floats = NDArray[np.float64]


def label_order_of(model: FittedClassifier) -> NDArray[Any]:
    """Return the classes of any fitted classifier, worst first.

    This is the `label_order_` of a model of this library, also inside a pipeline, a search, a
    calibration or a similar model; otherwise, the last of `classes_` is the best.
    """
    classes = np.asarray(model.classes_)
    order = _declared_order(model)
    # A model inside may have been fitted to labels that the model around it has encoded.
    same = order is not None and set(order.tolist()) == set(classes.tolist())
    return order if order is not None and same else classes


def _declared_order(model: Any) -> NDArray[Any] | None:
    order = getattr(model, "label_order_", None)
    if order is not None:
        return np.asarray(order)
    found = (_declared_order(inner) for inner in _inner_models(model))
    return next((order for order in found if order is not None), None)


def _inner_models(model: Any) -> Iterator[Any]:
    """Yield the fitted model inside a model of scikit-learn, if it keeps it where they usually do.

    By attributes, since the command line must not import scikit-learn before it loads a model.
    """
    if hasattr(model, "steps"):  # a Pipeline
        yield model.steps[-1][1]
    for name in ("best_estimator_", "estimator_"):
        if hasattr(model, name):
            yield getattr(model, name)
    for calibrated in getattr(model, "calibrated_classifiers_", [])[:1]:
        yield calibrated.estimator


def class_order(label_order: NDArray[Any]) -> NDArray[np.intp]:
    """Return the places in `label_order` of the sorted classes."""
    return np.argsort(label_order)


def by_class(shares: Floats, label_order: NDArray[Any]) -> Floats:
    """Put columns that are in the label order into the order of the sorted classes."""
    order = class_order(label_order)
    return shares if _is_rising(order) else np.ascontiguousarray(shares[:, order])


def by_rank(shares: Floats, model: FittedClassifier) -> Floats:
    """Put columns that are in the order of the model's `classes_` into its label order."""
    place = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    order = np.array([place[label] for label in label_order_of(model).tolist()], dtype=np.intp)
    return shares if _is_rising(order) else np.ascontiguousarray(shares[:, order])


def check_decision_function(model: Any) -> bool:
    """Raise if `decision_function` would not have scikit-learn's meaning.

    scikit-learn takes one score per row to be that of the second of two sorted classes; with more
    classes, it expects a score of each. Before `fit`, the classes are not known.
    """
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes != 2:
        raise AttributeError(
            f"decision_function needs a fit to two classes, got {n_classes or 'none'}; "
            "score_samples ranks any number of them."
        )
    worst, best = label_order_of(model).tolist()
    if model.classes_.tolist() != [worst, best]:
        raise AttributeError(
            f"decision_function would be positive for {worst!r}, the second of the sorted classes, "
            f"and this model ranks {best!r} on top; use score_samples."
        )
    return True


def _is_rising(order: NDArray[np.intp]) -> bool:
    return bool((np.diff(order) > 0).all())
