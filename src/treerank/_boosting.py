"""BoostedTreeRank: gradient boosting of shallow ranking trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from treerank._base import TreeEnsemble
from treerank._binning.binning import Coded
from treerank._binning.category_statistics import CategoryPlan
from treerank._device.choice import device_of
from treerank._growth.boosting import BoostingPlan, BoostingRows, boosting_units
from treerank._growth.boosting_bags import boost_bags
from treerank._growth.boosting_choice import BoostingChoice, choose_trees
from treerank._growth.boosting_fit import (
    Boosted,
    RowsToBoost,
    boost,
    hold_out,
    trees_before,
)
from treerank._growth.boosting_validation import check_validation, validation_rows
from treerank._growth.losses import LOSS_NAMES
from treerank._growth.progress import progress_bar
from treerank._input.label_order import by_class
from treerank._input.option_types import CategoricalFeatures, FocusLike, MonotonicCst
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_choice, check_n_jobs
from treerank._input.stages import stage
from treerank._input.types import ClassWeight, LabelOrder, RandomStateLike, TableLike
from treerank._input.validation import TrainingData, validate_rows
from treerank._io.coded_fit import CodedFit
from treerank._plans.boosting import plan_boosting, plan_categories, size_of
from treerank._select.log_odds import log_odds_lines
from treerank._select.quality import class_shares
from treerank._trees.packed_forest import ForestArrays


@insert_shared_docs
class BoostedTreeRank(CodedFit, TreeEnsemble):
    """Learn to rank by gradient boosting of shallow ranking trees.

    Uses ranking trees as weak learners, as proposed in [1]_. Each round computes the gradients and
    hessians of a loss with respect to the scores, grows a ranking tree on them (a cell is split by
    a small LeafRank tree, whose leaves are ordered and merged into a better and a worse half) and
    adds a fraction of the Newton step of each leaf to the scores [2]_.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees; with early stopping, the maximum number. "auto": with two classes and the
        logistic loss, the number (up to 1,500) and the size of the trees are chosen by the loss on
        held-out rows; then the final model is fitted. With fewer than 5,000 rows, each of five
        folds is held out in turn; with fewer than 50,000, three of them; with more, one. With a
        `focus`, the loss is chosen as well, see `loss`. Without a focus, other losses and more
        classes only choose the number, by the AUC (VUS), from 5,000 rows on; otherwise it is 200.
        With fewer than 50 rows of a class nothing is chosen, and for two classes with the logistic
        loss there are 100 smaller trees. With early stopping, "auto" means 1,500.
    learning_rate : float or "auto", default="auto"
        Fraction of the Newton step that is added. A smaller one needs more trees. "auto": 0.1 if
        the number of trees is chosen and there are at least 5,000 rows, otherwise 0.05.
    loss : {"auto", "logistic", "pairwise", "rankboost"}, default="auto"
        "logistic": the log-loss of two classes; with more classes, of all cuts of the ordered
        classes into two groups, with a common score (proportional odds). "pairwise":
        ``log(1 + exp(s_j - s_i))`` over the pairs of rows with label i above label j, a smooth
        surrogate of the AUC; with a `focus`, over pairs of rows near the top, so that rows far
        below it have almost no weight. "rankboost": ``exp(s_j - s_i)`` over the same pairs, as in
        RankBoost. "auto": logistic without a `focus`. With a `focus` and held-out rows, pairwise
        if its local (partial) AUC on them is higher, with the best number of trees for it,
        otherwise logistic. With a `focus` and no held-out rows, pairwise.
    max_depth : int or "auto", default="auto"
        Maximum depth of the ranking trees, in splits of cells. "auto": 1 to 4 if held-out rows
        choose both depths, 1 for the 100 small trees of few rows, otherwise 2.
    max_leaf_nodes : int or None, default=None
        Maximum number of strata of trees that are grown leaf-wise: the cell with the largest
        Newton gain is split first; on ties, the oldest. ``leafrank_depth="auto"`` then means 1, and
        `max_depth` limits the depth only if it is given. None: trees are grown depth-wise.
    leafrank_depth : int or "auto", default="auto"
        Depth of the LeafRank tree inside a cell. With 1, a ranking tree is an ordinary tree.
        "auto": 1 to 4 if held-out rows choose both depths; otherwise 2, or 3 from 20,000 rows on
        and with more than two classes.
    min_samples_leaf : int or float, default=5
        Minimum weight of a leaf; below 1, a proportion of all rows.
    l2_regularization : float or "auto", default="auto"
        L2 regularization, added to the hessian of a leaf. "auto": 5 for two classes (2 with bags),
        1 for more classes.
    subsample : float or "auto", default="auto"
        Share of rows drawn for each tree. "auto": 1; with bags 0.7, from 5,000 rows on 0.85.
    max_features : int, float, "sqrt", "log2" or None, default=0.5
        Number or proportion of features drawn at random for each tree; None means all.
    leaf_values : {"stratum", "leaf"}, default="leaf"
        Whether each stratum of a ranking tree has one value, or each leaf of the LeafRank trees
        that it consists of, which is finer.
    n_bags : int or "auto", default="auto"
        Number of models, each trained on four fifths of the rows; the score is their mean, which
        ranks better. "auto": 10 for two classes, fewer than 50,000 rows and at least 10 rows of
        each class, if `n_estimators` is "auto", too, and there is no early stopping; otherwise 1.
        Below 50,000 rows, each bag orders the levels of large categories by other folds.
    early_stopping : bool, default=False
        Keep the number of trees with the highest AUC (VUS) on held-out rows.
    validation_fraction : float, default=0.1
        Proportion of the rows held out for early stopping.
    n_iter_no_change : int, default=50
        Stop after this many trees without improvement.
    warm_start : bool, default=False
        Keep the trees of the last fit to the same data, and add more, up to `n_estimators`.
    {label_order}
    {class_weight}
    {focus}
    {categorical_features}
    {categories}
    {monotonic_cst}
    max_bins : int, default=255
        Maximum number of bins of each numeric feature.
    {n_jobs}
    device : {"cpu", "cuda"}, default="cpu"
        Where trees are grown and rows are scored. "cuda" requires an NVIDIA GPU and
        ``pip install 'treerank-ml[cuda]'``. The model is the same.
    {random_state}
    {verbose}

    Attributes
    ----------
    n_estimators_ : int
        Number of trees kept in each bag.
    n_bags_ : int
        Number of bags.
    plan_ : BoostingChoice
        The chosen trees: `max_depth`, `leafrank_depth`, `max_leaf_nodes`. `held_out_loss` and
        `n_trees` list what was tried; with a focus, `held_out_top_loss` compares the losses.
    validation_scores_ : array
        With early stopping or `X_val`: AUC (VUS) on the held-out rows after each tree.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the Newton gains.
    loss_ : str
        The loss used.
    {classes}
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Adaptive partitioning schemes for bipartite
       ranking", Machine Learning 83, 2011.
    .. [2] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression", Annals of
       Statistics 28, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import BoostedTreeRank
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = BoostedTreeRank().fit(X_train, y_train)
    >>> print(f"{model.score(X_test, y_test):.2f}")
    1.00
    """

    def __init__(
        self,
        n_estimators: Any = "auto",
        *,
        learning_rate: Any = "auto",
        loss: str = "auto",
        max_depth: Any = "auto",
        max_leaf_nodes: int | None = None,
        leafrank_depth: Any = "auto",
        min_samples_leaf: Any = 5,
        l2_regularization: Any = "auto",
        subsample: Any = "auto",
        max_features: Any = 0.5,
        leaf_values: str = "leaf",
        n_bags: Any = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        warm_start: bool = False,
        label_order: LabelOrder = None,
        class_weight: ClassWeight = None,
        focus: FocusLike = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        categories: str = "auto",
        monotonic_cst: MonotonicCst = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.leafrank_depth = leafrank_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.leaf_values = leaf_values
        self.n_bags = n_bags
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.label_order = label_order
        self.class_weight = class_weight
        self.focus = focus
        self.categorical_features = categorical_features
        self.categories = categories
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    n_estimators_: int
    n_bags_: int
    _bag_sizes: NDArray[np.int64]
    plan_: BoostingChoice
    loss_: str
    validation_scores_: NDArray[np.float64]
    feature_importances_: NDArray[np.float64]
    _trees: ForestArrays | None
    _start: float
    _slopes: NDArray[np.float64]  # of the log-odds of "above class k" as a function of the score
    _intercepts: NDArray[np.float64]

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: TableLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing; text, boolean and category columns of a data
            frame are categories.
        y : array-like of shape (n_samples,)
            Labels of two or more ordered classes; the largest one is ranked on top.
        sample_weight : array-like of shape (n_samples,), optional
            Only their ratios matter. Small integers are treated as repeated rows; other
            weights are rescaled to a mean of 1.
        X_val, y_val : array-like, optional
            Validation rows for early stopping, instead of a proportion of the training rows: the
            number of trees with the highest AUC (VUS) on them is kept.
        sample_weight_val : array-like, optional
            Weights of the validation rows.

        Returns
        -------
        self
        """
        check_validation(X_val, y_val, sample_weight_val)
        self._fit_table(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))
        return self

    def _plan_fit(self, data: TrainingData) -> None:
        check_choice("loss", self.loss, ["auto", *LOSS_NAMES])
        device_of(self.device)  # raises early if there is no GPU

    def _category_plan(
        self, class_rows: NDArray[np.int64], validation: Any = (None, None, None)
    ) -> CategoryPlan:
        return plan_categories(self, class_rows, validation[0] is not None)

    def _fit_coded(
        self, data: TrainingData, coded: Coded, plan: None, validation: Any = (None, None, None)
    ) -> None:
        """Fit to encoded rows."""
        units, scale = boosting_units(data.weights)
        rank, effect = data.labels.astype(np.intp), data.weights.design_effect
        rows = BoostingRows(coded.made, rank, units, scale, effect, len(data.classes))
        settings = plan_boosting(self, size_of(data), coded.binning, validation[0] is not None)
        before = trees_before(self, data.classes, coded.binning)
        self._binning, self.label_order_ = coded.binning, data.classes
        given = self._validation_rows(*validation)
        self._keep(self._boost(rows, given, settings, before))

    def _boost(
        self,
        rows: RowsToBoost,
        validation: RowsToBoost | None,
        plan: BoostingPlan,
        before: Boosted | None,
    ) -> Boosted:
        """Choose the trees, if requested, and grow them on the rows that are not held out."""
        self.plan_ = BoostingChoice(
            plan.max_depth, plan.leafrank_depth, {}, {}, max_leaf_nodes=plan.max_leaf_nodes or None
        )
        if plan.orders_rows:
            rows = rows.in_memory().in_order(plan.n_jobs)
        if plan.choice is not None:
            with stage("choose the trees"), progress_bar("choosing", self.verbose) as report:
                first = rows.with_coding(self._binning, 0)
                plan, self.plan_ = choose_trees(first, self._binning, plan, report)
        self.loss_, self.n_bags_ = plan.loss, plan.n_bags
        if validation is None:
            rows, validation = hold_out(rows, plan, float(self.validation_fraction))
        with progress_bar("boosting", self.verbose) as report:
            if plan.n_bags > 1:
                return boost_bags(rows, self._binning, plan, report)
            return boost(rows, validation, self._binning, plan, report, before)

    def _validation_rows(
        self, X: TableLike | None, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> BoostingRows | None:
        """Return the validation rows given by the user, if any."""
        if X is None or y is None:
            return None
        table = validate_rows(self, X, self._binning.is_categorical)
        codes = self._binning.transform(table, check_n_jobs(self.n_jobs))
        codes = self._binning.column_codes(codes)
        return validation_rows(codes, y, sample_weight, self.label_order_)

    def _keep(self, boosted: Boosted) -> None:
        """Set the fitted attributes."""
        self._before_sets = boosted.trees if self.warm_start else None
        boosted = boosted.of_features(self._binning)
        self._trees, self._start = boosted.trees, boosted.start
        self._bag_sizes = np.array(boosted.bag_sizes or [boosted.n_trees], dtype=np.int64)
        self.n_estimators_ = int(self._bag_sizes.max())
        self.__dict__.pop("validation_scores_", None)
        if len(boosted.validation_scores):
            self.validation_scores_ = boosted.validation_scores
        self.feature_importances_ = boosted.importances(self.n_features_in_)
        self._slopes, self._intercepts = np.ones(1), np.zeros(1)
        n_classes = len(self.label_order_)
        if self.loss_ != "logistic" or n_classes > 2:
            assert boosted.scored is not None
            self._slopes, self._intercepts = log_odds_lines(*boosted.scored.arrays(), n_classes)
            if n_classes == 2:  # shift the score so that 0 means even odds
                self._start += self._intercepts[0] / self._slopes[0]
                self._intercepts = np.zeros(1)

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row; higher is better.

        With two classes, it is positive if and only if `predict` returns the positive class; for
        the logistic loss, it is the log-odds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        codes, n_jobs = self._codes_to_score(X)
        if self._trees is None:
            return np.full(codes.shape[1], self._start)
        return self._start + self._trees.total(codes, n_jobs, device_of(self.device))

    def staged_score_samples(self, X: TableLike) -> Iterator[NDArray[np.float64]]:
        """Yield the ranking scores after each round.

        A round is one tree of each bag. The last scores are those of `score_samples`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        codes, n_jobs = self._codes(X)
        summed = np.zeros(codes.shape[1])
        if self._trees is None:
            return
        # The trees of a bag are contiguous; a bag has none for a round without a split.
        first = np.cumsum(self._bag_sizes) - self._bag_sizes
        for number in range(self.n_estimators_):
            for tree in (first + number)[self._bag_sizes > number]:
                summed += self._trees.tree(int(tree)).each(codes, n_jobs)[0]
            yield self._start + summed

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the class probabilities: shape (n_samples, n_classes), in the order of `classes_`.

        With two classes and the logistic loss, they follow from the log-odds. Otherwise they are
        those of a logistic regression of the labels on the score, for each cut of the classes into
        two groups.
        """
        scores = self.score_samples(X)
        upper = expit(np.multiply.outer(scores, self._slopes) + self._intercepts)
        return by_class(class_shares(upper), self.label_order_)
