"""Classifiers given as splitting rules: validation, and how they accept sample weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils.validation import has_fit_parameter


def check_classifier(classifier: Any) -> None:
    """Raise if the object is not a classifier, or cannot weight the rows of a cell."""
    if not (hasattr(classifier, "fit") and is_classifier(classifier)):
        raise ValueError(
            f"Got splitter={classifier!r}; expected None, a LeafRank, a classifier, an object of "
            "treerank.splitters, or a function from a cell to one of these."
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


def weight_parameter(classifier: Any) -> str | None:
    """Name of the `fit` parameter for sample weights; None if there is none."""
    if isinstance(classifier, Pipeline):
        inside = weight_parameter(classifier[-1])
        return None if inside is None else f"{classifier.steps[-1][0]}__{inside}"
    if isinstance(classifier, GridSearchCV | RandomizedSearchCV):
        return weight_parameter(classifier.estimator)
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


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
