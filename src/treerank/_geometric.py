"""Geometric ranking: orders cases by their distance to the decision boundary of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from treerank._input.label_order import by_class, class_order
from treerank._input.labels import check_known_labels, number_of_label
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_choice, check_n_jobs
from treerank._input.readable import open_readable
from treerank._input.types import TableLike
from treerank._input.validation import all_or_nothing
from treerank._input.weights import check_weights, scale_weights
from treerank._io.foreign_trees import (
    check_has_boundary,
    read_estimator,
    split_off_front,
    takes_missing,
)
from treerank._io.j48 import read_j48
from treerank._io.node_arrays import ArraySource, TreeSource, read_arrays
from treerank._reading.boundary import BoundaryPoints, project, with_levels
from treerank._reading.distances import check_distances, feature_scale
from treerank._select.leaf_shares import dense_rank, smooth_shares


@insert_shared_docs
class GeometricRanker(ClassifierMixin, BaseEstimator):
    """Rank with a decision tree, which is left unchanged.

    All cases in a leaf have the same class shares, so that a tree alone leaves many ties.
    Geometric ranking distinguishes cases by their distance to the decision boundary, that is, to
    the nearest box with the other decision. The distance is positive on the side of the class of
    interest and negative on the other. Errors tend to lie near the boundary, so that cases far from
    it are ranked first or last [1]_.

    Parameters
    ----------
    tree : estimator, mapping or str
        A `DecisionTreeClassifier`, `TreeRank` or `LeafRank`, or a Pipeline that ends in one. If
        it is fitted, it is used as it is, otherwise `fit` fits a copy. (A clone, as made by
        cross-validation, is not fitted: wrap the tree in `sklearn.frozen.FrozenEstimator` to keep
        it fitted there, too.) Also a tree as plain arrays, named as in scikit-learn:
        ``children_left``, ``children_right`` (-1: a leaf), ``feature``, ``threshold``, ``value``
        (class counts, or shares if ``weighted_n_node_samples`` is given), and ``n_features`` or
        ``feature_names``; optionally ``missing_go_to_left``, ``classes``, ``input_dtype``. Or the
        text that Weka prints for a J48 tree.
    ranking : {"global", "local"} or None, default="global"
        "global": by the signed distance. "local": by the smoothed share of the leaf; on ties, by
        the signed distance. None: by the smoothed share only.
    metric : {"minmax", "standard"} or array-like, default="minmax"
        What each feature is divided by: its range or its standard deviation in the rows given to
        `fit`, or a given number per feature. The distance in a category is 0 if its level is
        allowed, otherwise 1.
    smoothing : {"laplace", "m"} or None, default="laplace"
        How the share of the class of interest is estimated in a leaf with n cases, k of which
        belong to this class. "laplace": ``(k + 1) / (n + C)`` with C classes. "m":
        ``(k + m p) / (n + m)`` with prior p and ``m p = 10``. None: ``k / n``.
    class_of_interest : label, optional
        The class that is ranked first; by default, the last.
    {n_jobs}

    Attributes
    ----------
    tree_ : estimator, mapping or str
        The fitted tree.
    classes_ : array of shape (n_classes,)
        The classes in the order of their values.
    label_order_ : array of shape (n_classes,)
        The classes of the tree in its order, but the class of interest last.
    class_of_interest_ : label
    scale_ : array of shape (n_features,)
        The divisor of each feature of the tree.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Notes
    -----
    The tree determines the leaf of a row with missing values; features that are missing do not
    contribute to the distance. Trees of scikit-learn convert rows to float32, and so does the
    distance.

    References
    ----------
    .. [1] I. Alvarez, S. Bernard, "Ranking cases with decision trees: a geometric method that
       preserves intelligibility", IJCAI, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from treerank import GeometricRanker
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X_train, y_train)
    >>> print(f"{roc_auc_score(y_test, tree.predict_proba(X_test)[:, 1]):.3f}")
    0.956
    >>> ranker = GeometricRanker(tree).fit(X_train)
    >>> print(f"{ranker.score(X_test, y_test):.3f}")
    0.996
    """

    def __init__(
        self,
        tree: Any,
        *,
        ranking: str | None = "global",
        metric: Any = "minmax",
        smoothing: str | None = "laplace",
        class_of_interest: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tree = tree
        self.ranking = ranking
        self.metric = metric
        self.smoothing = smoothing
        self.class_of_interest = class_of_interest
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self.tree)
        if isinstance(self.tree, BaseEstimator):
            inner = get_tags(self.tree).classifier_tags
            tags.classifier_tags.multi_class = inner is None or inner.multi_class
        return tags

    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Compute the metric from the rows, and fit the tree if it is not fitted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Only needed if the tree is not fitted.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_parameters()
            weight = check_weights(sample_weight, self._check_table(X, reset=True))
            weight = None if weight is None else scale_weights(weight)
            self._take_tree(*self._open_tree(X, y, weight))
            tree = self._source.tree
            seen = tree.see(self._source.read(X))
            self.scale_ = feature_scale(self.metric, seen, tree, weight)
            if self.ranking is not None:
                check_distances(seen, self.scale_, self._source.names)
        return self

    def _check_parameters(self) -> None:
        check_choice("ranking", self.ranking, ["global", "local", None])
        check_choice("smoothing", self.smoothing, ["laplace", "m", None])
        check_n_jobs(self.n_jobs)

    def _take_tree(self, tree: Any, source: TreeSource) -> None:
        """Set the attributes that depend only on the tree."""
        self.tree_, self._source = tree, source
        order = source.tree.classes
        self.classes_ = np.sort(order)
        self._interest = number_of_label("class_of_interest", self.class_of_interest, order)
        self.class_of_interest_ = order[self._interest]
        others = [number for number in range(len(order)) if number != self._interest]
        self.label_order_ = order[[*others, self._interest]]
        self._leaf_proba = smooth_shares(source.tree, self.smoothing, self._interest)
        if self.ranking != "global":
            self._known_counts()
        if self.ranking is not None:
            self._check_boundary(self._interest)

    def _open_tree(
        self, X: TableLike, y: ArrayLike | None, weight: NDArray[np.float64] | None
    ) -> tuple[Any, TreeSource]:
        """Return the tree, which is fitted if necessary, and how to read it."""
        tree = self.tree
        if isinstance(tree, str):
            return tree, ArraySource(*read_j48(tree), ordered=False)
        if isinstance(tree, Mapping):
            return tree, read_arrays(tree)
        check_has_boundary(split_off_front(tree)[1])
        try:
            check_is_fitted(tree)
        except NotFittedError:
            if y is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None: "
                    "the tree is not fitted."
                ) from None
            y = column_or_1d(y, warn=True)
            tree = clone(tree).fit(X, y, **_weights_for(tree, weight))
        return tree, read_estimator(tree)

    def _known_counts(self) -> NDArray[np.float64]:
        if self._leaf_proba is None:
            raise ValueError(
                "Got the text of a tree of more than two classes, which does not say of which "
                "class the errors in a leaf are; expected ranking='global'."
            )
        return self._leaf_proba

    def _check_boundary(self, interest: int) -> None:
        """Raise if there is no boundary: no distance would be right, not even infinity."""
        tree = self._source.tree
        predicted = np.unique(tree.predicted[tree.reached_leaves()])
        if len(predicted) == 1:
            [only] = tree.classes[predicted].tolist()
            raise ValueError(
                f"Got a tree that predicts one class only, {only!r}, in all of its leaves: it has "
                "no decision boundary to measure a distance to. Grow or prune it otherwise, or "
                "rank by ranking=None."
            )
        if interest not in predicted:
            raise ValueError(
                f"Got class_of_interest={tree.classes[interest]!r}, which no leaf of the tree "
                f"predicts; expected one of {tree.classes[predicted].tolist()!r}."
            )

    def _rows(self, X: TableLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        self._check_table(X, reset=False)
        return self._source.read(X)

    def _check_table(self, X: TableLike, *, reset: bool) -> int:
        """Check the names and the number of columns; return the number of rows.

        The tree checks their content.
        """
        is_frame = open_readable(X) is not None
        options = {} if is_frame else {"dtype": None, "ensure_all_finite": False}
        return len(validate_data(self, X, reset=reset, skip_check_array=is_frame, **options))

    def _boundary(
        self, seen: NDArray[np.float64], interest: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        tree = self._source.tree
        found = tree.find_boundary(
            seen, self.scale_, tree.predicted == interest, check_n_jobs(self.n_jobs)
        )
        if (found[2] < 0).any():
            raise ValueError(
                "Got rows whose distance to the boundary is beyond the largest double; expected a "
                "metric of larger units."
            )
        return found

    def _leaves(self, X: TableLike) -> NDArray[np.int32]:
        rows = self._rows(X)
        tree = self._source.tree
        return tree.apply(tree.see(rows), check_n_jobs(self.n_jobs))

    def distance(self, X: TableLike) -> NDArray[np.float64]:
        """Return the distance of each row to the decision boundary, in units of the metric.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        rows = self._rows(X)
        self._check_boundary(self._interest)
        return self._boundary(self._source.tree.see(rows), self._interest)[1]

    def boundary_point(self, X: TableLike) -> BoundaryPoints:
        """Find the nearest point at which the decision of the tree changes, for each row.

        It shows which features would have to change, and by how much, to flip the decision. In a
        Pipeline, these are the features after all transformers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        BoundaryPoints
        """
        rows = self._rows(X)
        self._check_boundary(self._interest)
        tree = self._source.tree
        seen = tree.see(rows)
        _, distance, nearest = self._boundary(seen, self._interest)
        points, changed = project(tree, seen, nearest)
        leaf = tree.apply(points, check_n_jobs(self.n_jobs))
        changes = np.where(changed, points - rows, 0.0)
        changes[:, [known is not None for known in tree.levels]] *= np.nan
        return BoundaryPoints(
            points=with_levels(np.where(changed, points, rows), tree),
            changed=changed,
            changes=np.where(changed, changes, 0.0),
            distance=distance,
            decision=tree.classes[tree.predicted[leaf]],
            feature_names=self._source.names,
        )

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the score of each row, shape (n_samples,); the class of interest is ranked first.

        With ``ranking="global"``, it is the signed distance, which is positive if and only if the
        class of interest is predicted. With "local", it is a number that orders rows by the share
        of their leaf, then by the signed distance. With None, it is the share minus 1/2.
        """
        return self._score(X, self._interest_or_fail())

    def decision_function(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row, as scikit-learn expects it.

        With two classes, it is higher for ``classes_[1]``, whichever class is of interest. With
        more, it is `score_samples` if `class_of_interest` is given; otherwise there is a column for
        each class, which ranks this class first.
        """
        interest = self._interest_or_fail()
        numbers = class_order(self._source.tree.classes)
        if len(numbers) == 2:
            return self._score(X, numbers[1])
        if self.class_of_interest is not None:
            return self._score(X, interest)
        return np.column_stack([self._score(X, number) for number in numbers])

    def _interest_or_fail(self) -> int:
        check_is_fitted(self)
        return self._interest

    def _score(self, X: TableLike, interest: int) -> NDArray[np.float64]:
        """Return the ranking score with respect to one class."""
        tree = self._source.tree
        if self.ranking is None:
            return np.asarray(self._known_counts()[self._leaves(X), interest] - 0.5)
        self._check_boundary(interest)
        leaf, distance, _ = self._boundary(tree.see(self._rows(X)), interest)
        positive = tree.predicted == interest
        # On the boundary itself, the sign must still tell the side of the row.
        tiny = np.finfo(np.float64).tiny
        signed = np.where(positive[leaf], np.maximum(distance, tiny), -distance)
        if self.ranking == "global":
            return signed
        place = dense_rank(self._known_counts()[:, interest])
        reached = tree.reached_leaves()
        place = place - place[reached][~positive[reached]].max()
        return np.asarray(place[leaf] + 0.5 * signed / (1.0 + np.abs(signed)))

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the class that the tree predicts for each row: shape (n_samples,)."""
        leaf = self._leaves(X)
        tree = self._source.tree
        return np.asarray(tree.classes[tree.predicted[leaf]])

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the smoothed class shares of each row's leaf, in the order of `classes_`."""
        leaf = self._leaves(X)
        return by_class(self._known_counts()[leaf], self._source.tree.classes)

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC of the class of interest against the others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        """
        scores = self.score_samples(X)
        y = check_known_labels(y, self.classes_)
        is_interest = y == self.class_of_interest_
        return float(roc_auc_score(is_interest, scores, sample_weight=sample_weight))


def _weights_for(tree: Any, weight: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return the weights as a keyword argument of `fit`, for a tree or the last Pipeline step."""
    if weight is None:
        return {}
    steps = getattr(tree, "steps", None)
    return {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": weight}
