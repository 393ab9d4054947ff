"""Common part of the Dask estimators: parameters, lazy scores, conversion to a local model."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treerank._input.label_order import check_decision_function
from treerank._input.option_types import Paths
from treerank._input.parameters import invalid_parameter
from treerank._input.validation import all_or_nothing
from treerank._select.quality import ranking_quality
from treerank.dask._checkpoint import check_checkpoint
from treerank.dask._client import start_cluster
from treerank.dask._cluster import Cluster
from treerank.dask._collections import Blocks, is_collection, open_collections
from treerank.dask._parquet import open_files
from treerank.dask._scoring import lazily

EXTRA = ("client", "checkpoint")


def takes_parameters_of(local: type) -> Any:
    """Decorator: adds the parameters of the local estimator, a client and a checkpoint."""

    def decorate(cls: Any) -> Any:
        signature = inspect.signature(local.__init__)  # type: ignore[misc]
        extra = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                 for name in EXTRA]  # fmt: skip
        parameters = [*signature.parameters.values(), *extra]

        def start(
            self: Any, *first: Any, client: Any = None, checkpoint: Any = None, **given: Any
        ) -> None:
            local.__init__(self, *first, **given)  # type: ignore[misc]
            self.client = client
            self.checkpoint = checkpoint

        start.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        start.__name__ = "__init__"
        cls.__init__ = start
        return cls

    return decorate


class OnCluster:
    """Mixin for estimators whose training rows are on a Dask cluster."""

    _local: type  # the corresponding estimator for data in memory
    client: Any
    checkpoint: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on the cluster.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
        y : Dask Series or Array of shape (n_samples,)
            Must have the partitions of X.
        sample_weight : Dask Series or Array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._fit_collections(X, y, sample_weight)
        return self

    def _fit_collections(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        """Fit to collections; `more` is passed to `_fit_blocks`."""
        with all_or_nothing(self):
            self._check_distributable()
            check_checkpoint(self.checkpoint)
            cluster = start_cluster(self.client)
            self._fit_blocks(cluster, open_collections(self, X, y, sample_weight), **more)

    def fit_parquet(
        self,
        path: Paths,
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        cache_dir: None = None,
    ) -> Self:
        """Fit to Parquet files that the workers read from a shared disk.

        The model is the same as with `fit_parquet` of the local estimator, or `fit` in memory.

        Parameters
        ----------
        path : str, path or list of these
            A file, a folder (with its subfolders) or a pattern such as ``"data/*.parquet"``,
            read in sorted order; or a list, read in its order.
        target : str
            Column with the labels.
        sample_weight : str, optional
            Column with the weights.
        columns : sequence of str, optional
            Features. By default all other columns.
        cache_dir : None
            Not supported: the workers keep the codes for the duration of the fit.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_distributable()
            check_checkpoint(self.checkpoint)
            if cache_dir is not None:
                raise invalid_parameter(
                    "cache_dir", cache_dir, "None: on a cluster the workers keep them"
                )
            cluster = start_cluster(self.client)
            blocks = open_files(self, path, target, sample_weight, columns, cluster.n_workers)
            self._fit_blocks(cluster, blocks)
        return self

    def _check_distributable(self) -> None:
        raise NotImplementedError

    def _fit_blocks(self, cluster: Cluster, blocks: Blocks) -> None:
        raise NotImplementedError

    def to_local(self) -> Any:
        """Return the fitted model as an estimator that needs no cluster."""
        parameters = {name: value for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
                      if name not in EXTRA}  # fmt: skip
        local = self._local(**parameters)
        fitted = {k: v for k, v in vars(self).items() if k not in parameters and k not in EXTRA}
        vars(local).update(fitted)
        return local

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the client, which belongs to its process."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state | {"client": None}

    def __sklearn_clone__(self) -> Self:
        parameters = {name: value if name == "client" else clone(value, safe=False)
                      for name, value in self.get_params(deep=False).items()}  # type: ignore[attr-defined]  # fmt: skip
        return type(self)(**parameters)

    def _call(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        if is_collection(X):
            return lazily(self.to_local(), method, X)
        return getattr(super(), method)(X)

    def apply(self, X: Any) -> Any:
        """Cell or leaves of each row, as for the local estimator; lazy for a Dask collection."""
        return self._call("apply", X)

    def score_samples(self, X: Any) -> Any:
        """Ranking score of each row, higher is better; lazy for a Dask collection."""
        return self._call("score_samples", X)

    @available_if(check_decision_function)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Ranking score, or with more than two classes probabilities, as of the local estimator."""
        check_is_fitted(self)
        has_two = len(self.label_order_) == 2  # type: ignore[attr-defined]
        return self.score_samples(X) if has_two else self.predict_proba(X)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of each row; lazy for a Dask collection."""
        return self._call("predict_proba", X)

    def predict(self, X: Any) -> Any:
        """Most probable class of each row; lazy for a Dask collection."""
        return self._call("predict", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC of the score on the given rows; VUS for more than two classes.

        For Dask collections, the scores and labels are copied to this process.
        """
        X, y, sample_weight = (
            part.compute() if is_collection(part) else part
            for part in (self.score_samples(X), y, sample_weight)
        )
        order = self.label_order_  # type: ignore[attr-defined]
        return ranking_quality(y, np.asarray(X), order, sample_weight)
