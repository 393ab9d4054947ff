"""The order in which models rank classes, which need not be that of scikit-learn's `classes_`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import FittedClassifier, Floats


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


def class_codes(labels: NDArray[Any], label_order: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place in `label_order` of each label, which must be in it."""
    order = class_order(label_order)
    return np.asarray(order[np.searchsorted(label_order[order], labels)])


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
    """Raise if a positive score would not mean the second of two sorted classes.

    That is what scikit-learn takes it to mean. It looks at models before `fit`, too, so their
    parameter counts as long as there is no fitted attribute.
    """
    order = getattr(model, "label_order_", getattr(model, "label_order", None))
    try:
        worst, best = [] if order is None else np.asarray(order, dtype=object).tolist()
        is_turned = bool(worst > best)
    except (TypeError, ValueError):  # not two classes, or no order: `fit` will say so
        return True
    if is_turned:
        raise AttributeError(
            f"decision_function would be positive for {worst!r}, the second of the sorted classes, "
            f"and this model ranks {best!r} on top; use score_samples."
        )
    return True


def _is_rising(order: NDArray[np.intp]) -> bool:
    return bool((np.diff(order) > 0).all())
