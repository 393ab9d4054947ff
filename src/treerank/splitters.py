"""Splitting rules other than LeafRank: any classifier, and a dyadic grid.

`TreeRank` accepts as its `splitter`

- a :class:`~treerank.LeafRank` (the default),
- a classifier of scikit-learn, or one with the same interface, which is wrapped in a
  :class:`ClassifierSplit`,
- a :class:`DyadicGrid`, or anything else with the two methods of a :class:`Splitter`,
- a function that receives a :class:`Cell` and returns one of these, or None for a cell that is
  not to be split.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from treerank._input.classifiers import (
    check_classifier,
    fit_weighted,
    last_step,
    shares_generator,
)
from treerank._input.parameters import check_integer, invalid_parameter

__all__ = ["Box", "Cell", "ClassifierSplit", "DyadicGrid", "Splitter"]

# Maximum bits of a cube's number, a signed 64-bit integer, and of one coordinate, which a double
# must represent.
KEY_BITS = 63
COORDINATE_BITS = 52
# liblinear, and libsvm if it draws folds, share one random generator per process: their fits take
# turns, so that the result does not depend on the threads.
_SHARED_GENERATOR = Lock()


@dataclass(frozen=True)
class Cell:
    """Description of a cell, passed to a function that chooses splitters.

    Attributes
    ----------
    depth : int
        Depth of the cell; 0 at the root.
    path : str
        Path from the root: "L" to the better side, "R" to the worse.
    n_rows : int
        Number of rows in the cell.
    counts : array of shape (2,)
        Weight of the rows by class; the last class is ranked first.
    """

    depth: int
    path: str
    n_rows: int
    counts: NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """The smallest box around some rows, column by column.

    Attributes
    ----------
    low, high : arrays of shape (n_columns,)
    two_valued : array of shape (n_columns,)
        Whether the column has no values other than these two.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    two_valued: NDArray[np.bool_]

    @classmethod
    def around(cls, rows: NDArray[np.float64]) -> Self:
        """Return the box of the given rows."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        return cls(low, high, ((rows == low) | (rows == high)).all(axis=0))

    def columns(self, chosen: NDArray[np.intp]) -> Box:
        """Return the box in some of the columns."""
        return Box(self.low[chosen], self.high[chosen], self.two_valued[chosen])


@runtime_checkable
class Splitter(Protocol):
    """The two methods that a custom rule needs to split the cells of a tree.

    A copy is fitted to every cell. If `fit` also has a parameter `box`, it receives the
    :class:`Box` of all training rows.
    """

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: ArrayLike | None = None) -> Any:
        """Learn from the rows of a cell; y is 1 for the class that is ranked first, otherwise 0."""

    def better_side(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each row belongs to the better side of the cell."""


class ClassifierSplit(BaseEstimator):
    """Split a cell by a classifier: its positive predictions are the better side.

    The gain in AUC of a split is a cost-sensitive classification error, in which the cost of a
    positive is the weight of the negatives in the cell and vice versa [1]_. So the classifier is
    fitted with weights that give both classes the same total weight within the cell. With SVMs
    this is the splitting rule of [2]_.

    Parameters
    ----------
    estimator : classifier
        Its `fit` must accept `sample_weight`; a `Pipeline` or a `GridSearchCV` passes it on to the
        classifier inside. `KNeighborsClassifier` does not accept it: there the votes of the
        neighbours are weighted. If its `random_state` is None, `TreeRank` sets it from its own for
        every cell.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted with classes 0 and 1.

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Adaptive partitioning schemes for bipartite
       ranking", Machine Learning 83, 2011, section 3.
    .. [2] S. Clémençon, M. Depecker, N. Vayatis, "An empirical comparison of learning algorithms
       for nonparametric scoring", 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from treerank import TreeRank
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> svm = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    >>> model = TreeRank(splitter=svm, max_depth=2).fit(X, y)
    >>> model.partition_.rules()[0]
    'better side of the SVC, then better side of the SVC'
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    estimator_: Any
    _weight: NDArray[np.float64]  # of the rows fitted to, negative for class 0; for neighbours only

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier with the same total weight for both classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            0 or 1, both present.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_classifier(self.estimator)
        labels = np.asarray(y).astype(np.intp)
        weight = _balanced_weights(labels, sample_weight)
        classifier = clone(self.estimator)
        if isinstance(last_step(classifier), KNeighborsClassifier):
            neighbours = last_step(classifier)
            neighbours.set_params(n_neighbors=min(neighbours.n_neighbors, len(labels)))
            self.estimator_ = classifier.fit(X, labels)
            self._weight = np.where(labels == 1, weight, -weight)
            return self
        if shares_generator(classifier):
            with _SHARED_GENERATOR:
                self.estimator_ = fit_weighted(classifier, X, labels, weight)
        else:
            self.estimator_ = fit_weighted(classifier, X, labels, weight)
        return self

    def better_side(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether the classifier predicts each row as positive."""
        check_is_fitted(self)
        neighbours = last_step(self.estimator_)
        if not isinstance(neighbours, KNeighborsClassifier):
            return np.asarray(self.estimator_.predict(X) == 1)
        if isinstance(self.estimator_, Pipeline):
            X = self.estimator_[:-1].transform(X)
        distance, number = neighbours.kneighbors(X)
        votes = _votes(distance, neighbours.weights) * self._weight[number]
        return np.asarray(votes.sum(axis=1) > 0)


class DyadicGrid(BaseEstimator):
    """Split a cell by cubes of side 2^-j, into the best of all unions of cubes and the rest.

    The box of the training rows is divided into ``2**resolution`` intervals per feature. Cubes are
    ordered by the ratio of positives to negatives, and the order is cut where the AUC of the two
    parts is largest: no other union of cubes is better [1]_. Only occupied cubes take memory.

    Parameters
    ----------
    resolution : int, default=2
        The exponent j, at most 52. Features with only two values are always cut in two. The number
        of a cube must fit into 63 bits, with `resolution` bits per feature.

    Attributes
    ----------
    cubes_ : array of shape (n_occupied,)
        Numbers of the occupied cubes, ascending.
    is_better_ : array of shape (n_occupied,)
        Whether each of them belongs to the better side.
    elsewhere_ : bool
        Whether a row in a cube without training rows goes to the better side: it goes to the side
        with the larger weight. A row outside the box belongs to the nearest cube.

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Adaptive partitioning schemes for bipartite
       ranking", Machine Learning 83, 2011, section 3.

    Examples
    --------
    A finer grid at every level of the tree:

    >>> from treerank import TreeRank
    >>> from treerank.datasets import make_uniform_mixture
    >>> from treerank.splitters import DyadicGrid
    >>> sample = make_uniform_mixture(1000, random_state=0)
    >>> model = TreeRank(splitter=lambda cell: DyadicGrid(cell.depth + 1)).fit(sample.X, sample.y)
    >>> print(model.partition_)
    OrderedPartition(11 cells, 1000 rows, auc=0.7780)
    """

    def __init__(self, resolution: int = 2) -> None:
        self.resolution = resolution

    cubes_: NDArray[np.int64]
    is_better_: NDArray[np.bool_]
    elsewhere_: bool
    _box: Box
    _bits: NDArray[np.int64]

    def fit(
        self,
        X: NDArray[Any],
        y: NDArray[Any],
        sample_weight: ArrayLike | None = None,
        box: Box | None = None,
    ) -> Self:
        """Find the best union of cubes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            0 or 1, both present.
        sample_weight : array of shape (n_samples,), optional
        box : Box, optional
            The box that the grid divides; by default that of the given rows.

        Returns
        -------
        self
        """
        X = np.asarray(X, dtype=np.float64)
        self._box = Box.around(X) if box is None else box
        self._bits = self._bits_of(self._box)
        self.cubes_, cube = np.unique(self._number(X), return_inverse=True)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        positive = np.bincount(cube, weight * (y == 1))
        negative = np.bincount(cube, weight * (y == 0))
        # beta - alpha of a union is a sum over its cubes, so the order by beta / alpha is best cut
        # after the last cube with beta >= alpha: no sorting is needed.
        self.is_better_ = positive * negative.sum() >= negative * positive.sum()
        weight_sum = positive + negative
        self.elsewhere_ = bool(2 * weight_sum[self.is_better_].sum() >= weight_sum.sum())
        return self

    def better_side(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether the cube of each row belongs to the better side."""
        check_is_fitted(self)
        number = self._number(np.asarray(X, dtype=np.float64))
        place = np.minimum(np.searchsorted(self.cubes_, number), len(self.cubes_) - 1)
        known = self.cubes_[place] == number
        return np.where(known, self.is_better_[place], self.elsewhere_)

    def _bits_of(self, box: Box) -> NDArray[np.int64]:
        """Return the bits that the number of a cube spends on each column."""
        resolution = check_integer("resolution", self.resolution, 1)
        if resolution > COORDINATE_BITS:
            raise invalid_parameter(
                "resolution", resolution, f"an integer from 1 to {COORDINATE_BITS}"
            )
        bits = np.where(box.two_valued, 1, resolution) * (box.high > box.low)
        if bits.sum() > KEY_BITS:
            n_flags = int(np.sum(bits[box.two_valued]))
            n_other = int(np.sum((bits > 0) & ~box.two_valued))
            largest = max(0, KEY_BITS - n_flags) // max(n_other, 1)
            expected = f"at most {largest}" if n_other and largest else "a classifier"
            raise ValueError(
                f"Got resolution={resolution} for {n_other + n_flags} columns that vary: the "
                f"number of a cube would take {bits.sum()} bits, and {KEY_BITS} is the limit; "
                f"expected {expected} for this number of columns."
            )
        return bits.astype(np.int64)

    def _number(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of each row's cube: the bits of its coordinates, concatenated."""
        number = np.zeros(len(X), dtype=np.int64)
        for j in np.flatnonzero(self._bits):
            low, high, bits = self._box.low[j], self._box.high[j], self._bits[j]
            # Halved near the largest doubles, so that the width does not overflow.
            unit = 0.5 if max(-low, high) > 1e300 else 1.0
            inside = np.clip(X[:, j], low, high) * unit
            scaled = (inside - low * unit) / (high * unit - low * unit)
            coordinate = np.minimum(np.floor(scaled * 2.0**bits), 2.0**bits - 1)
            number = (number << bits) | coordinate.astype(np.int64)
        return number


def _balanced_weights(y: NDArray[Any], sample_weight: ArrayLike | None) -> NDArray[np.float64]:
    """Return weights rescaled such that both classes weigh the same, with the total unchanged."""
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    weight_sum = np.bincount(y, weight, minlength=2)
    return np.asarray(weight * (weight_sum.sum() / 2 / weight_sum)[y])


def _votes(distance: NDArray[np.float64], weights: Any) -> NDArray[np.float64]:
    """Return the weight of each neighbour by its distance, as in `KNeighborsClassifier`."""
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return np.ones_like(distance)
    if callable(weights):
        return np.asarray(weights(distance))
    same = distance == 0
    inverse = 1.0 / np.where(same, 1.0, distance)
    return np.where(same.any(axis=1, keepdims=True), same, inverse)
