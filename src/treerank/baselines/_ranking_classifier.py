"""Base class of the baselines: checked input, cut-offs, `predict` and `score`."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_X_y
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from treerank._input.frames import check_numeric
from treerank._input.labels import SEVERAL_TYPES
from treerank._input.readable import open_readable
from treerank._input.types import Floats, Indices
from treerank._input.validation import all_or_nothing
from treerank._input.weights import check_weights, scale_weights
from treerank.baselines._cut_offs import best_cut_offs

# About the largest single-precision number, as used by scikit-learn's trees; its square, summed
# over rows and features, fits a double.
LARGEST_VALUE = 1e38


class TrainingRows(NamedTuple):
    """Rows of positive weight; `rank` 0 is the worst class."""

    X: Floats
    rank: Indices
    weight: Floats
    n_classes: int


def fit_scaler(rows: TrainingRows) -> StandardScaler:
    """Fit a scaler with weighted means and variances, which rounding must not make negative."""
    scaler = StandardScaler().fit(rows.X, sample_weight=rows.weight)
    scaler.var_ = np.maximum(scaler.var_, 0.0)
    return scaler


def _check_two_classes(model: Any) -> bool:
    """Raise unless a model is fitted to two classes, since scikit-learn expects one score of each.

    Before `fit`, the number of classes is not known.
    """
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes != 2:
        raise AttributeError(
            f"decision_function needs a fit to two classes, got {n_classes or 'none'}; "
            "score_samples ranks any number of them."
        )
    return True


class RankingClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the baselines; subclasses implement `_fit_rows` and `_raw_scores`.

    Pairwise methods determine the score only up to a shift, so labels need cut-offs:
    `_set_cut_offs` chooses those with the fewest training errors. For two classes the score
    is shifted so that the cut-off is 0.
    """

    classes_: NDArray[Any]
    cut_offs_: Floats
    offset_: float

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            Labels; the sorted classes are treated as ordered, and the last is the best.
        sample_weight : array-like of shape (n_rows,), default=None
            Non-negative weights. A row of integer weight w counts as w equal rows.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            rows = self._validate_rows(X, y, sample_weight)
            self._check_parameters()
            with np.errstate(all="ignore"):
                scores = self._finite_scores(rows)
            self._set_cut_offs(scores, rows)
        return self

    def score_samples(self, X: ArrayLike) -> Floats:
        """Return the ranking score of each row; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self._raw_scores(self._validate_numbers(X, reset=False)) - self.offset_

    @available_if(_check_two_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the ranking score of each row; positive means the second class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.score_samples(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class whose range of scores contains the score of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self.score_samples(X)
        return self.classes_[np.searchsorted(self.cut_offs_, scores, side="left")]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC of the score, or the VUS for more than two classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        float
        """
        scores = self.score_samples(X)
        if len(self.classes_) == 2:
            return float(roc_auc_score(y, scores, sample_weight=sample_weight))
        from treerank.metrics import ordinal_vus_score  # noqa: PLC0415

        weight, classes = sample_weight, self.classes_
        return float(ordinal_vus_score(y, scores, sample_weight=weight, labels=classes))

    def _check_parameters(self) -> None:
        """Raise an error for invalid constructor parameters."""

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        """Learn the score; return it for the training rows, to set the cut-offs."""
        raise NotImplementedError

    def _raw_scores(self, X: Floats) -> Floats:
        """Score checked rows, without the shift."""
        raise NotImplementedError

    def _finite_scores(self, rows: TrainingRows) -> Floats:
        """Learn the score; raise an error if it leaves the range of doubles."""
        trouble: Exception | None = None
        try:
            scores = self._fit_rows(rows)
        except (ArithmeticError, ValueError) as error:  # from a solver that met infinity or NaN
            trouble = error
        if trouble is None and np.isfinite(scores).all():
            return scores
        largest = rows.X.flat[np.argmax(np.abs(rows.X))]
        raise ValueError(
            f"Got X with values up to {largest:g}, with which {self!r} leaves the range of doubles"
            f"{f' ({trouble})' if trouble else ''}; expected less extreme values. Scale the "
            "columns (StandardScaler), or change the parameters."
        ) from trouble

    def _validate_numbers(self, X: ArrayLike, *, reset: bool) -> Floats:
        """Return X as numbers of moderate size."""
        open_readable(X)
        check_numeric(X, type(self).__name__)
        rows: Floats = validate_data(self, X, dtype=np.float64, reset=reset)
        beyond = np.abs(rows) > LARGEST_VALUE
        if beyond.any():
            row, column = np.argwhere(beyond)[0].tolist()
            raise ValueError(
                f"Got X[{row}, {column}]={rows[row, column]:g}; expected numbers from "
                f"-{LARGEST_VALUE:g} to {LARGEST_VALUE:g}. Take logarithms, or scale the column."
            )
        return rows

    def _validate_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> TrainingRows:
        rows = self._validate_numbers(X, reset=True)
        labels: NDArray[Any]
        try:
            _, labels = check_X_y(rows, y, dtype=None)
            np.unique(labels)
        except TypeError:
            raise SEVERAL_TYPES from None
        check_classification_targets(labels)
        checked = check_weights(sample_weight, len(rows))
        weight = np.ones(len(rows)) if checked is None else scale_weights(checked)
        keep = weight > 0
        if not keep.all():
            rows, labels, weight = rows[keep], labels[keep], weight[keep]
        self.classes_, rank = np.unique(labels, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"Got {n_classes} class with rows of positive weight; expected at least 2 classes."
            )
        if n_classes > 2 and not self.__sklearn_tags__().classifier_tags.multi_class:
            raise ValueError(
                "Only binary classification is supported. "
                f"Got {n_classes} classes; {type(self).__name__} ranks two."
            )
        return TrainingRows(rows, rank, weight, n_classes)

    def _set_cut_offs(self, scores: Floats, rows: TrainingRows) -> None:
        cuts = best_cut_offs(scores, rows.rank, rows.weight, rows.n_classes)
        self.offset_ = float(cuts[0]) if rows.n_classes == 2 else 0.0
        self.cut_offs_ = cuts - self.offset_
