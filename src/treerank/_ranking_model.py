"""What every model offers that ranks by one score, and what those of many trees share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treerank._binning import Binning
from treerank._classes import has_two_classes, ranking_quality
from treerank._params import check_n_jobs
from treerank._validate import Table, validate_rows

ROWS_AT_ONCE = 4096


class RankingModel(ClassifierMixin, BaseEstimator, ABC):
    """Base of the models that rank by one score, which is 0 at even odds of two classes."""

    classes_: NDArray[Any]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the ranking score of each row; higher is better."""

    @abstractmethod
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of `classes_`."""

    @available_if(has_two_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the ranking score of each row, as `score_samples` does; two classes only."""
        return self.score_samples(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        if has_two_classes(self):
            return np.asarray(self.classes_[(self.score_samples(X) > 0).astype(np.intp)])
        shares = self.predict_proba(X)  # checks that the model is fitted
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the AUC of the score on the given rows; VUS beyond two classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        """
        return ranking_quality(y, self.score_samples(X), self.classes_, sample_weight)


class TreeEnsemble(RankingModel):
    """Base of the models of many trees."""

    n_jobs: int | None
    _binning: Binning
    _trees: Any  # None: nothing could be learned

    def _codes(self, X: Any) -> tuple[NDArray[Any], int]:
        """Rows as the trees want them, and the number of threads."""
        check_is_fitted(self, "_trees")
        table = validate_rows(self, X, self._binning.is_categorical.astype(bool).tolist())
        n_jobs = check_n_jobs(self.n_jobs)
        return self._encode(table, n_jobs), n_jobs

    def _encode(self, table: Table, n_jobs: int) -> NDArray[Any]:
        return self._binning.transform(table, n_jobs)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the leaf in which each row ends, in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_trees)
        """
        codes, n_jobs = self._codes(X)
        if self._trees is None:
            return np.empty((codes.shape[1], 0), dtype=np.int32)
        leaves = self._trees.apply(codes, n_jobs)
        by_row = np.empty(leaves.shape[::-1], dtype=np.int32)
        # A block of rows at a time, so that Ctrl-C does not have to wait for all of them.
        for first in range(0, len(by_row), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            by_row[rows] = leaves[:, rows].T
        return by_row
