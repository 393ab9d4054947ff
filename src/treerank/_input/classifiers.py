"""Classifiers of others: validation of those that split cells, and how they accept weights."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils.validation import has_fit_parameter


def check_classifier(classifier: Any) -> None:
    """Raise if the object is not a classifier, or cannot weight the rows of a cell."""
    if not (hasattr(classifier, "fit") and is_classifier(classifier)):
        named = (
            f" Pass numbers by name, such as n_estimators={classifier} or max_depth={classifier}."
        )
        raise ValueError(
            f"Got splitter={classifier!r}; expected None, a LeafRank, a classifier, an object of "
            "treerank.splitters, or a function from a cell to one of these."
            + named
            * isinstance(classifier, Integral)
        )
    if isinstance(last_step(classifier), KNeighborsClassifier):
        return
    if weight_parameter(classifier) is None:
        raise ValueError(
            f"Got splitter={classifier!r}, whose fit takes no sample_weight; expected a classifier "
            "that can weigh the classes alike in every cell."
        )
    for name, value in classifier.get_params().items():
        if name.endswith("class_weight") and isinstance(value, str):
            raise ValueError(
                f"Got a splitter with {name}={value!r}; expected None: the classes weigh the same "
                "in every cell already."
            )


def last_step(classifier: Any) -> Any:
    """Return the last step of a pipeline, or the classifier itself."""
    return classifier[-1] if isinstance(classifier, Pipeline) else classifier


def innermost(classifier: Any) -> Any:
    """Return the classifier inside pipelines and hyperparameter searches."""
    if isinstance(classifier, Pipeline):
        return innermost(classifier[-1])
    if isinstance(classifier, GridSearchCV | RandomizedSearchCV):
        return innermost(classifier.estimator)
    return classifier


def own_label_order(classifier: Any) -> list[Any] | None:
    """Return the `label_order` that was given to a classifier, also inside a pipeline."""
    ranker = innermost(classifier)
    parameters = ranker.get_params(deep=False) if hasattr(ranker, "get_params") else {}
    order = parameters.get("label_order")
    return None if order is None else list(order)


def with_label_order(classifier: Any, label_order: NDArray[Any]) -> Any:
    """Return an unfitted classifier that ranks the classes in this order, if it has a choice."""
    ranker = innermost(classifier)
    if "label_order" in ranker.get_params(deep=False):
        ranker.set_params(label_order=label_order.tolist())
    return classifier


def weight_parameter(classifier: Any) -> str | None:
    """Name of the `fit` parameter for sample weights; None if there is none."""
    if isinstance(classifier, Pipeline):
        inside = weight_parameter(classifier[-1])
        return None if inside is None else f"{classifier.steps[-1][0]}__{inside}"
    if isinstance(classifier, GridSearchCV | RandomizedSearchCV):
        return weight_parameter(classifier.estimator)
    if isinstance(classifier, StackingClassifier | VotingClassifier):
        # They hand a parameter of this name on to all their models.
        models = [model for _, model in classifier.estimators if model != "drop"]
        takes_it = all(weight_parameter(model) == "sample_weight" for model in models)
        return "sample_weight" if takes_it else None
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def fit_weighted(model: Any, X: Any, y: Any, weight: Any | None, **more: Any) -> Any:
    """Fit any classifier with sample weights, which a Pipeline hands on to its last step.

    scikit-learn's routing of metadata is off meanwhile: the user passes the weights to us, and has
    no model to request them from.
    """
    if weight is None:
        return model.fit(X, y, **more)
    name = weight_parameter(model)
    if name is None:
        raise ValueError(f"{type(model).__name__} takes no sample_weight; leave the weights out.")
    with config_context(enable_metadata_routing=False):
        return model.fit(X, y, **{name: weight}, **more)


def shares_generator(classifier: Any) -> bool:
    """Whether fits in several threads would share one random number generator."""
    return any(
        isinstance(part, LinearSVC)
        or (isinstance(part, LogisticRegression) and part.solver == "liblinear")
        or (isinstance(part, SVC | NuSVC) and part.probability is True)
        for part in _parts(classifier)
    )


def _parts(classifier: Any) -> Iterator[Any]:
    yield classifier
    yield from classifier.get_params().values()
