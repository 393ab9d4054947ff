"""Base classes of the models, with the methods of fitted models: scores, classes, cells, AUC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treerank._binning.binning import UINT8_BINS, UINT16_BINS, Binning
from treerank._input.label_order import by_class, by_rank, check_decision_function
from treerank._input.parameters import check_n_jobs, invalid_parameter, is_whole, threads_to_score
from treerank._input.types import TableLike
from treerank._input.validation import DeviceRowsTable, Table, validate_rows
from treerank._input.weighted_sum import weighted_sum
from treerank._reading.partition import OrderedPartition
from treerank._reading.rules import cell_rules
from treerank._select.monotone import check_monotone_splits, falling, monotone_values
from treerank._select.quality import class_shares, ranking_quality
from treerank._trees.compact import keep_used_in_trees
from treerank._trees.ranking_tree import CellTree, RankTree
from treerank._trees.splitter_tree import SplitterTree

# Up to this many rows, every distinct value has its own bin; beyond, 255 quantiles are sufficient.
EXACT_ROWS = 10_000
ROWS_AT_ONCE = 4096
# Shrinkage of the probabilities if the scores are not shrunk: one row, so that no probability is 0
# or 1. Unlike adding a row to each cell, this keeps the mean.
SMOOTHING = 1.0


class RankingModel(ClassifierMixin, BaseEstimator, ABC):
    """Base class of models that rank by one score, which is 0 at even odds of two classes."""

    label_order_: NDArray[Any]
    n_features_in_: int

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the order of their values, as scikit-learn expects them."""
        return np.sort(self.label_order_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row; higher is better."""

    @abstractmethod
    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of `classes_`."""

    @available_if(check_decision_function)  # type: ignore[untyped-decorator]
    def decision_function(self, X: TableLike) -> NDArray[np.float64]:
        """Return what scikit-learn takes for scores: of two classes, those of `score_samples`.

        The method does not exist if ``classes_[0]`` of two classes is ranked on top, since
        scikit-learn takes positive scores to mean ``classes_[1]``. With more classes, it expects a
        column for each of them: these are the probabilities.
        """
        check_is_fitted(self)
        return self.score_samples(X) if len(self.label_order_) == 2 else self.predict_proba(X)

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        if len(self.label_order_) == 2:
            return np.asarray(self.label_order_[(self.score_samples(X) > 0).astype(np.intp)])
        shares = by_rank(self.predict_proba(X), self)  # of equal ones, that of the worst class
        return np.asarray(self.label_order_[np.argmax(shares, axis=1)])

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC of the score on the given rows, or the VUS for more than two classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return ranking_quality(y, self.score_samples(X), self.label_order_, sample_weight)


class TreeEnsemble(RankingModel):
    """Base class of tree ensembles."""

    n_jobs: int | None
    _binning: Binning
    _trees: Any  # None: nothing could be learned

    def _codes(self, X: TableLike | Table) -> tuple[NDArray[Any], int]:
        """Return the rows in the form that the trees take, and the number of threads."""
        check_is_fitted(self, "_trees")
        table = validate_rows(self, X, self._binning.is_categorical)
        n_jobs = threads_to_score(self.n_jobs, table.n_rows)
        return self._encode(table, n_jobs), n_jobs

    def _encode(self, table: Table, n_jobs: int) -> NDArray[Any]:
        return self._binning.transform(table, n_jobs)

    def _codes_to_score(self, X: TableLike) -> tuple[Any, int]:
        """Return the rows encoded for scoring; those on a device are encoded and stay there."""
        check_is_fitted(self, "_trees")
        table = validate_rows(self, X, self._binning.is_categorical)
        if isinstance(table, DeviceRowsTable) and self._scores_there:
            return self._binning.encode_there(table), check_n_jobs(self.n_jobs)
        return self._codes(table)

    @property
    def _scores_there(self) -> bool:
        """Whether a device can score rows by their codes."""
        return True

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the index of the leaf in which each row ends in each tree.

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
        # Transposed in blocks, so that Ctrl-C does not have to wait for all rows.
        for first in range(0, len(by_row), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            by_row[rows] = leaves[:, rows].T
        return by_row


class TreeRanker(RankingModel):
    """Base class of estimators that are a single ranking tree."""

    tree_: CellTree
    partition_: OrderedPartition
    n_jobs: int | None
    _binning: Binning
    _stratum: NDArray[np.int32]
    _posterior: NDArray[np.float64]  # columns in the order of `label_order_`

    def _keep(
        self,
        tree: CellTree,
        binning: Binning,
        names: list[str],
        label_order: NDArray[Any],
        shrinkage: float,
        monotonic: NDArray[np.int8],
    ) -> None:
        """Order the leaf cells of the tree and set the fitted attributes."""
        if monotonic.any():
            assert isinstance(tree, RankTree)
            check_monotone_splits(tree, binning, monotonic)
        leaves, scores, upper = rank_leaves(tree, binning, shrinkage, monotonic)
        stratum = np.full(tree.n_cells, -1, dtype=np.int32)
        stratum[leaves] = np.arange(len(leaves))
        self.label_order_ = label_order
        self.tree_ = tree
        self._binning = binning
        self._stratum = stratum
        self._posterior = class_shares(upper)
        self.partition_ = OrderedPartition(
            tree.counts[leaves],
            classes=label_order,
            scores=scores,
            rules=_Rules(tree, binning, names, leaves),
        )

    def _drop_unused_thresholds(self) -> None:
        """Drop thresholds that no test uses; called after `_keep`, which needs all codes."""
        names = [
            n for n in ("tree_", "unpruned_tree_") if isinstance(getattr(self, n, None), RankTree)
        ]
        if not names:
            return
        self._binning, trees = keep_used_in_trees(self._binning, [getattr(self, n) for n in names])
        for name, tree in zip(names, trees, strict=True):
            setattr(self, name, tree)
        rules = self.partition_._rules
        assert isinstance(rules, _Rules)
        rules.tree, rules.binning = self.tree_, self._binning

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of the LeafRank tests; the shares sum to 1."""
        check_is_fitted(self)
        if not isinstance(self.tree_, RankTree):
            raise AttributeError(
                "feature_importances_ is read off LeafRank tests, which this tree does not have; "
                "use sklearn.inspection.permutation_importance."
            )
        return _importances(self.tree_, self.n_features_in_)

    def apply(self, X: TableLike) -> NDArray[np.int32]:
        """Return the cell of each row; cell 0 is the best.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        table = validate_rows(self, X, self._binning.is_categorical)
        n_jobs = threads_to_score(self.n_jobs, table.n_rows)
        cells = self.tree_.apply(self.tree_.encode(table, self._binning, n_jobs), n_jobs)
        return np.asarray(self._stratum[cells])

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row; higher is better.

        With two classes, it is positive if and only if `predict` returns the positive class;
        with more, 0 is the middle between the worst and the best class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        cells = self.apply(X)
        return np.asarray(self.partition_.scores[cells])

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the class shares of the cell of each row, in the order of `classes_`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        cells = self.apply(X)
        return np.asarray(by_class(self._posterior, self.label_order_)[cells])

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self.label_order_[self._class_of_cell[self.apply(X)]])

    @property
    def _class_of_cell(self) -> NDArray[np.intp]:
        if len(self.label_order_) == 2:
            return (self.partition_.scores > 0).astype(np.intp)
        return np.asarray(np.argmax(self._posterior, axis=1))


def rank_leaves(
    tree: CellTree, binning: Binning, shrinkage: float, monotonic: NDArray[np.int8]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Order the leaf cells of a tree, best first.

    Returns their indices, their scores, and their shares above each class but the last. If the
    shrinkage is NaN, the order of the tree is kept.
    """
    leaves = tree.leaves
    if np.isnan(shrinkage):
        upper = falling(tree.shrunken_shares(SMOOTHING)[leaves], tree.counts[leaves].sum(axis=1))
        scores = _position_scores(tree)[leaves]
        if tree.n_classes == 2:
            scores = scores - _cut(scores, upper[:, 0])
        return leaves, scores, upper
    # Rounding may push the sum of the steps along a path slightly out of [0, 1].
    upper = tree.shrunken_shares(shrinkage)[leaves].clip(0.0, 1.0)
    if monotonic.any():
        assert isinstance(tree, RankTree)
        upper = monotone_values(tree, binning, monotonic, leaves, upper)
    scores = weighted_sum(upper, tree.cut_weights, axis=1) - 0.5
    order = np.argsort(-scores, kind="stable")
    return leaves[order], scores[order], upper[order]


class _Rules:
    """Describes the rule of each cell when called; a class, so that it can be pickled."""

    def __init__(
        self, tree: CellTree, binning: Binning, names: list[str], leaves: NDArray[np.intp]
    ) -> None:
        self.tree, self.binning, self.names, self.leaves = tree, binning, names, leaves

    def __call__(self) -> list[str]:
        if isinstance(self.tree, SplitterTree):
            return self.tree.rules(self.leaves)
        assert isinstance(self.tree, RankTree)
        return cell_rules(self.tree, self.binning, self.names, self.leaves)


def check_max_bins(max_bins: Any, n_rows: int) -> int:
    """Return the number of bins; "auto" depends on the number of rows."""
    if isinstance(max_bins, str) and max_bins == "auto":
        return UINT16_BINS if n_rows <= EXACT_ROWS else UINT8_BINS
    if not is_whole(max_bins) or not 2 <= max_bins <= UINT16_BINS:
        raise invalid_parameter(
            "max_bins", max_bins, f"'auto' or an integer from 2 to {UINT16_BINS}"
        )
    return int(max_bins)


def _position_scores(tree: CellTree) -> NDArray[np.float64]:
    """Score of each cell by its position in the tree: 1 - k / 2^d at depth d and position k.

    In trees too deep for doubles to distinguish positions, leaves are scored by rank instead.
    """
    depth = tree.cells["depth"]
    if depth.max() > 50:
        scores = np.zeros(tree.n_cells)
        scores[tree.leaves] = np.arange(len(tree.leaves), 0, -1) / len(tree.leaves)
        return scores
    scores = np.ones(tree.n_cells)
    for cell in np.flatnonzero(tree.is_split):
        left, right = tree.cells["left"][cell], tree.cells["right"][cell]
        scores[left] = scores[cell]
        scores[right] = scores[cell] - 2.0 ** -(depth[cell] + 1)
    return scores


def _cut(scores: NDArray[np.float64], posterior: NDArray[np.float64]) -> float:
    """Return a score between the cells predicted positive and the others."""
    n_positive = int(np.sum(posterior > 0.5))
    if n_positive == 0:
        return float(scores[0])
    if n_positive == len(scores):
        return 0.0
    return float(scores[n_positive - 1] + scores[n_positive]) / 2


def _importances(tree: RankTree, n_features: int) -> NDArray[np.float64]:
    """Share of each feature in the sum of (Delta / 2)^2 over LeafRank nodes.

    Delta is defined in "Tree-structured ranking rules" (Clémençon and Vayatis). Here it is relative
    to the whole sample, and refers to the pair of classes that the split separates.
    """
    tests = tree.tests
    is_inner = tests["left"] >= 0
    inner = tests[is_inner]
    left = tests[inner["left"]]
    splits = tree.cells[tree.is_split]
    first: NDArray[np.int32] = splits["first_test"]
    last: NDArray[np.int32] = splits["last_test"]
    cell_of = np.repeat(np.arange(len(splits)), last - first)
    pair = splits[cell_of[is_inner]]
    total = tree.counts[0][pair["worse_class"]] * tree.counts[0][pair["better_class"]]
    delta = (inner["negative"] * left["positive"] - inner["positive"] * left["negative"]) / total
    importance = np.bincount(inner["feature"], weights=(delta / 2) ** 2, minlength=n_features)
    return np.asarray(importance / max(importance.sum(), 1e-300))
