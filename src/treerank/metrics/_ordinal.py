"""The volume under the ROC surface (VUS) for any number of ordered classes.

VUS here is the probability that random rows, one from each class, are ranked in the order of the
classes. (In anomaly detection for time series, VUS also denotes the volume under a surface that
averages ROC curves over buffer lengths, a different measure.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.label_order import label_order_of
from treerank._input.types import Floats, Indices, TableLike

from ._input import OrderedSample, check_level, check_ordered
from ._parameter_docs import insert_shared_docs
from ._structural import interval_within_unit, spread_of_mean
from ._ties import class_weights, group_weights, tie_groups


@dataclass(frozen=True, slots=True)
class VusInterval:
    """A VUS with its confidence interval."""

    vus: float
    lower: float
    upper: float
    standard_error: float
    level: float


@insert_shared_docs
def ordinal_vus_score(
    y: ArrayLike,
    s: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    labels: Any = None,
) -> float:
    """Volume under the ROC surface (VUS) of ordered classes.

    It is P(s(X_1) < ... < s(X_K)) for one row of each class.

    Ties are broken at random, so m consecutive tied classes count `1 / m!`. A random order has a
    VUS of `1 / K!`; with two classes VUS is the AUC. The computation is exact and takes
    O(n log n + V K^2) for V distinct scores.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of K >= 2 ordered classes: numbers, an ordered categorical, or any labels whose order
        is given by `labels`.
    {s}
    {weights}
    {labels}

    Returns
    -------
    float

    References
    ----------
    Clémençon and Robbiano (2013), "The TreeRank Tournament algorithm for multipartite ranking".

    Examples
    --------
    >>> from treerank.metrics import ordinal_vus_score
    >>> ordinal_vus_score([1, 2, 3, 1, 2, 3], [1, 2, 3, 1.5, 2.5, 3.5])
    1.0
    >>> round(ordinal_vus_score([1, 2, 3], [7, 7, 7]), 4)
    0.1667
    """
    sample = check_ordered(y, s, sample_weight, labels)
    _, weights = class_weights(sample.score, sample.code, sample.weight, sample.classes.size)
    return vus_of_weights(weights)


def vus_of_weights(weights: Floats) -> float:
    """Return the VUS of an ordered partition from class weights (rows) by cell, **worst first**."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    growth = np.empty_like(shares)
    _chains(shares, growth, _tied_cells(shares))
    return float(min(growth[-1].sum(), 1.0))


@insert_shared_docs
def vus_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    labels: Any = None,
) -> VusInterval:
    """VUS with a confidence interval, in O(n log n + V K^2) plus O(K) per tied score.

    This extends DeLong's argument to any number of classes: a row's placement is the share of the
    tuples containing it that are in order, and the spread of the placements within the classes
    gives the variance. For two classes it is `auc_interval`; as there, the interval is built on the
    logit scale, weights are *sampling* weights, and a bound replaces the variance if the placements
    have no spread.

    Parameters
    ----------
    {ordered_y}
    {s}
    sample_weight : array-like of shape (n,), optional
        Sampling weights: how many cases of the population a row stands for.
    {level}
    {labels}

    Returns
    -------
    VusInterval
        `vus`, `lower`, `upper`, `standard_error`, `level`.

    Examples
    --------
    >>> from treerank.metrics import vus_interval
    >>> found = vus_interval([1, 1, 1, 2, 2, 2, 3, 3, 3], [1, 2, 4, 3, 5, 6, 2, 7, 8])
    >>> round(found.vus, 3), round(found.lower, 3), round(found.upper, 3)
    (0.593, 0.014, 0.993)
    """
    level = check_level(level)
    sample = check_ordered(y, s, sample_weight, labels)
    placement = _placements(sample)
    top = sample.code == sample.classes.size - 1
    vus = float(np.clip(np.average(placement[top], weights=sample.weight[top]), 0.0, 1.0))
    spread = spread_of_mean(placement - vus, sample.code, sample.weight)
    lower, upper, error = interval_within_unit(vus, spread, level)
    return VusInterval(vus, lower, upper, error, level)


@insert_shared_docs
def pairwise_auc_scores(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Any = None,
) -> Floats:
    """AUC of every pair of classes.

    Parameters
    ----------
    {ordered_y}
    {s}
    {weights}
    {labels}

    Returns
    -------
    ndarray of shape (K, K)
        Entry [i, j] is the probability that a row of class j scores above a row of class i, with
        ties counted as 1/2: the AUCs above the diagonal, 1 minus the AUCs below it, 1/2 on it.

    Examples
    --------
    >>> from treerank.metrics import pairwise_auc_scores
    >>> pairwise_auc_scores([1, 2, 3, 3], [1, 2, 1.5, 4])
    array([[0.5, 1. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 0.5, 0.5]])
    """
    sample = check_ordered(y, s, sample_weight, labels)
    _, weights = class_weights(sample.score, sample.code, sample.weight, sample.classes.size)
    below = np.cumsum(weights, axis=1)
    total = below[:, -1].copy()
    below -= weights / 2
    auc: Floats = (below @ weights.T) / np.outer(total, total)
    return auc


@insert_shared_docs
def vus_scorer(
    estimator: Any, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """VUS of a fitted ranker's `score_samples`, for `cross_val_score` and similar functions.

    This is a plain callable, because `make_scorer` does not support `score_samples`. The classes
    are ordered as in the estimator's `label_order_`, or else as in `classes_`.

    Parameters
    ----------
    estimator : fitted estimator
        An estimator with `score_samples` and `classes_`.
    X : array-like of shape (n, n_features)
        Rows to score.
    y : array-like of shape (n,)
        Labels of ordered classes.
    {weights}

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, ClassifierMixin
    >>> from treerank.metrics import vus_scorer
    >>> class FirstFeature(ClassifierMixin, BaseEstimator):
    ...     def fit(self, X, y):
    ...         self.classes_ = np.unique(y)
    ...         return self
    ...     def score_samples(self, X):
    ...         return X[:, 0]
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2])
    >>> vus_scorer(FirstFeature().fit(X, y), X, y)
    1.0
    """
    scores = estimator.score_samples(X)
    labels = label_order_of(estimator) if hasattr(estimator, "classes_") else None
    return ordinal_vus_score(y, scores, sample_weight=sample_weight, labels=labels)


def _tied_cells(shares: Floats) -> Indices:
    """Return the cells with more than one class: classes can only be tied there."""
    classes_in_cell = np.add.reduce(shares > 0, axis=0, dtype=np.intp)
    return np.flatnonzero(classes_in_cell > 1)


def _runs(shares: Floats, first: int) -> Iterator[tuple[int, Indices, Floats]]:
    """Yield the runs of two or more classes tied in one cell that start at class `first` (0-based).

    Each is (last, cells, `c_{first+1} ... c_last / (last - first)!`), for the cells where the
    product is not zero. There are fewer and fewer of them, so that long runs cost little.
    """
    cells = np.flatnonzero(shares[first])
    product = shares[first, cells]
    for last in range(first + 2, shares.shape[0] + 1):
        share = shares[last - 1, cells]
        there = share > 0
        cells = cells[there]
        if not cells.size:
            return
        product = product[there] * share[there] / (last - first)
        yield last, cells, product


def _chains(shares: Floats, growth: Floats, tied: Indices) -> Floats:
    """Return the mass of the chains of the first j classes that end below each cell, j < K.

    `f[j]` grows at a cell by `sum_{i < j} f[i] c_{i+1} ... c_j / (j - i)!`, all from the values
    below the cell. So once the levels i < j are known in all cells, level j is a cumulative sum,
    without a loop over cells. Terms with i < j - 1 are zero except in tied cells. The growth of
    level j is written to `growth[j - 1]`.
    """
    below = np.empty_like(shares)
    below[0] = 1.0
    from_runs = np.zeros((shares.shape[0] + 1, tied.size))
    shares_tied = shares[:, tied]
    for level in range(shares.shape[0]):
        if level > 0:
            below[level, 0] = 0.0
            np.cumsum(growth[level - 1, :-1], out=below[level, 1:])
        np.multiply(below[level], shares[level], out=growth[level])
        growth[level, tied] += from_runs[level + 1]
        below_tied = below[level, tied]
        for last, cells, product in _runs(shares_tied, level):
            from_runs[last, cells] += below_tied[cells] * product
    return below


def _placements(sample: OrderedSample) -> Floats:
    """Return the share of the tuples containing each row in order, with ties broken at random."""
    order, group = tie_groups(sample.score)
    code = sample.code[order]
    weights = group_weights(group, code, sample.weight[order], sample.classes.size)
    shares = weights / weights.sum(axis=1, keepdims=True)
    tied = _tied_cells(shares)
    growth = np.empty_like(shares)
    below = _chains(shares, growth, tied)
    # The chains of the last classes above a cell: the same computation from the other end.
    above = _chains(shares[::-1, ::-1], growth, shares.shape[1] - 1 - tied)[::-1, ::-1]
    value = below * above
    value[:, tied] += _tied_placements(below[:, tied], shares[:, tied], above[:, tied])
    placement = np.empty(order.size)
    placement[order] = value[code, group]
    return placement


def _tied_placements(below: Floats, shares: Floats, above: Floats) -> Floats:
    """Return the placements through runs of two or more tied classes.

    A run of the classes i+1 ... j in one cell adds `below[i] * c_{i+1} ... c_j / (j-i)! * above[j]`
    to the VUS; for a row of class k in the run, the term without the factor c_k is added.
    """
    added = np.zeros_like(shares)
    for first in range(shares.shape[0] - 1):
        for last, cells, product in _runs(shares, first):
            through = below[first, cells] * product * above[last - 1, cells]
            added[first:last, cells] += through / shares[first:last, cells]
    return added
