"""What the estimators of a cluster have in common: parameters, lazy scores, a local copy."""

from __future__ import annotations

import inspect
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from treerank._classes import has_two_classes
from treerank.dask._collections import is_collection
from treerank.dask._scoring import lazily

EXTRA = ("client", "log")


def takes_parameters_of(local: type) -> Any:
    """Decorate an estimator: its constructor is that of the local one, with a client and a log."""

    def decorate(cls: Any) -> Any:
        signature = inspect.signature(local.__init__)  # type: ignore[misc]
        extra = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                 for name in EXTRA]  # fmt: skip
        parameters = [*signature.parameters.values(), *extra]

        def start(
            self: Any, splitter: Any = None, *, client: Any = None, log: Any = None, **given: Any
        ) -> None:
            local.__init__(self, splitter, **given)  # type: ignore[misc]
            self.client = client
            self.log = log

        start.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        start.__name__ = "__init__"
        cls.__init__ = start
        return cls

    return decorate


class OnCluster:
    """Mixin for estimators whose training rows are on a Dask cluster."""

    _local: type  # the estimator that does the same in memory
    client: Any
    log: Any

    def to_local(self) -> Any:
        """Return the fitted model as an estimator that needs no cluster."""
        parameters = {name: value for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
                      if name not in EXTRA}  # fmt: skip
        local = self._local(**parameters)
        fitted = {k: v for k, v in vars(self).items() if k not in parameters and k not in EXTRA}
        vars(local).update(fitted)
        return local

    def __getstate__(self) -> dict[str, Any]:
        """A client belongs to its process: it is not pickled."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state | {"client": None}

    def __sklearn_clone__(self) -> Self:
        parameters = {name: value if name == "client" else clone(value, safe=False)
                      for name, value in self.get_params(deep=False).items()}  # type: ignore[attr-defined]  # fmt: skip
        return type(self)(**parameters)

    def _call(self, method: str, X: Any) -> Any:
        if is_collection(X):
            return lazily(self.to_local(), method, X)
        return getattr(super(), method)(X)

    def apply(self, X: Any) -> Any:
        """Cell or leaves of each row, as the local estimator gives them; lazy for Dask."""
        return self._call("apply", X)

    def score_samples(self, X: Any) -> Any:
        """Ranking score of each row, higher is better; lazy for a Dask collection."""
        return self._call("score_samples", X)

    @available_if(has_two_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Ranking score of each row, as `score_samples` gives it; two classes only."""
        return self.score_samples(X)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of each row; lazy for a Dask collection."""
        return self._call("predict_proba", X)

    def predict(self, X: Any) -> Any:
        """Most probable class of each row; lazy for a Dask collection."""
        return self._call("predict", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC of the score on the given rows; VUS beyond two classes.

        For Dask collections, the scores and labels are brought to this process.
        """
        X, y, sample_weight = (
            part.compute() if is_collection(part) else part
            for part in (self.score_samples(X), y, sample_weight)
        )
        return self._quality(y, X, sample_weight)

    def _quality(self, y: Any, scores: Any, sample_weight: Any) -> float:
        import numpy as np  # noqa: PLC0415

        from treerank._classes import ranking_quality  # noqa: PLC0415

        return ranking_quality(y, np.asarray(scores), self.classes_, sample_weight)  # type: ignore[attr-defined]
