"""LeafRank: the splitting rule of TreeRank, and a two-level scorer on its own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank import _core
from treerank._base import TreeRanker, check_max_bins
from treerank._binning.category_statistics import code_training_data
from treerank._growth.trees import LeafRankOptions, TreeRankOptions, check_monotonic, grow_trees
from treerank._input.option_types import CategoricalFeatures, MonotonicCst
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import (
    check_choice,
    check_count_or_share,
    check_integer,
    check_max_features,
    check_n_jobs,
)
from treerank._input.seed import seed_of
from treerank._input.types import ClassWeight, RandomStateLike, TableLike
from treerank._input.validation import all_or_nothing, validate_training_data

# Parameters of LeafRank on its own; as a splitter, it uses those of its TreeRank.
DATA_PARAMETERS = (
    "categorical_features", "categories", "missing", "monotonic_cst", "class_weight", "max_bins",
    "n_jobs", "random_state",
)  # fmt: skip


@insert_shared_docs
class LeafRank(TreeRanker):
    """Split the feature space into a better (left) and a worse (right) part.

    Grows a small axis-parallel tree with equal total weights of both classes, orders its leaves
    by the ratio of positives to negatives, and divides this order where the AUC of the two parts
    is largest. The left part is thus a union of boxes, not a single box [1]_. LeafRank is the
    default splitting rule of :class:`TreeRank`, and a two-level scorer on its own.

    Parameters
    ----------
    criterion : {"gini", "entropy", "auc", "hellinger"}, default="gini"
        The criterion that a test of the inner tree maximizes. "auc" is the AUC gain of the test
        alone, as in the first version of TreeRank; "hellinger" is the Hellinger distance
        between the two classes.
    max_depth : int or None, default=1
        Depth of the inner tree. With 1, a split is a single test and strata are boxes; with 2 or
        more, strata are unions of boxes, and a forest of such trees ranks better.
    max_leaf_nodes : int, optional
        Grow the inner tree best-first up to this many leaves. By default, it is grown depth-first.
    min_samples_leaf : int or float, default=1
        Minimum weight of a leaf of the inner tree; below 1, a proportion of all rows.
    min_samples_split : int or float, default=2
        Minimum weight of a node to be split.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features drawn at each node of the inner tree.
    pruning : {"cv", None}, default=None
        "cv" prunes the inner tree by five-fold cross-validation inside the cell. A cell in which
        no test survives is not split. Growth takes up to three times as long.
    {class_weight}
        If LeafRank is used as a splitter, those of the tree or forest are used instead.
    {categorical_features}
    {categories}
    {missing}
    {monotonic_cst}
    {max_bins}
    {n_jobs}
    {random_state}

    Attributes
    ----------
    partition_ : OrderedPartition
        The two cells.
    tree_ : RankTree
    {classes}
    feature_importances_ : array of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Adaptive partitioning schemes for
       bipartite ranking", Machine Learning 83, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import LeafRank
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LeafRank().fit(X, y)
    >>> print(model.partition_)
    OrderedPartition(2 cells, 569 rows, auc=0.9193)
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = 1,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        max_features: float | str | None = None,
        pruning: str | None = None,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        categories: str = "auto",
        missing: str = "learned",
        monotonic_cst: MonotonicCst = None,
        max_bins: int | str = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.pruning = pruning
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.categories = categories
        self.missing = missing
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _options(self, n_rows: int, n_features: int) -> LeafRankOptions:
        check_choice("criterion", self.criterion, _core.CRITERIA)
        depth = check_integer("max_depth", self.max_depth, 1, none=True)
        leaves = check_integer("max_leaf_nodes", self.max_leaf_nodes, 2, none=True)
        return LeafRankOptions(
            criterion=self.criterion,
            max_depth=-1 if depth is None else depth,
            max_leaf_nodes=-1 if leaves is None else leaves,
            min_weight_leaf=check_count_or_share("min_samples_leaf", self.min_samples_leaf, n_rows),
            min_weight_split=check_count_or_share(
                "min_samples_split", self.min_samples_split, n_rows
            ),
            max_features=check_max_features(self.max_features, n_features),
            pruning=check_choice("pruning", self.pruning, ["cv", None]) == "cv",
        )

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the better part of the feature space.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger one is ranked first.
        sample_weight : array-like of shape (n_samples,), optional
            Only their ratios matter. Small integers are treated as repeated rows; other
            weights are rescaled to a mean of 1.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            data = validate_training_data(
                self, X, y, sample_weight, self.categorical_features, max_classes=2
            )
            table, n_jobs = data.table, check_n_jobs(self.n_jobs)
            options = TreeRankOptions(
                leafrank=self._options(table.n_rows, table.n_features),
                max_depth=1,
                min_weight_leaf=1.0,
                min_weight_split=2.0,
                min_auc_gain=0.0,
                max_features=-1,
                seed=seed_of(self.random_state),
                missing=check_choice("missing", self.missing, ["learned", "cell_mean"]),
            )
            max_bins = check_max_bins(self.max_bins, table.n_rows)
            coded = code_training_data(data, max_bins, self.categories, n_jobs)
            monotonic = check_monotonic(self.monotonic_cst, table.names, coded.binning)
            [tree] = grow_trees(coded, data, monotonic, options, None, n_jobs, verbose=0)
            self._keep(tree, coded.binning, table.names, data.classes, np.nan, monotonic)
            self._drop_unused_thresholds()
        return self

    def better_side(self, X: TableLike) -> NDArray[np.bool_]:
        """Return whether each row is in the better of the two cells.

        This allows LeafRank to split some cells of a tree alongside other splitters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.asarray(self.apply(X) == 0)
