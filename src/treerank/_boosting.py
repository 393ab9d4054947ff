"""BoostedTreeRank: shallow ranking trees added up, each correcting those before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from treerank._base import TreeEnsemble
from treerank._binning.binning import Binning, Coded
from treerank._device.choice import device_of
from treerank._growth.boosting import BoostingPlan, BoostingRows, boosting_units
from treerank._growth.boosting_choice import BoostingChoice, choose_trees
from treerank._growth.boosting_fit import Boosted, RowsToBoost, boost, boost_bags, hold_out
from treerank._growth.boosting_validation import validation_rows
from treerank._growth.progress import progress_bar
from treerank._input.option_types import CategoricalFeatures, FocusLike, MonotonicCst
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_choice, check_n_jobs
from treerank._input.stages import stage
from treerank._input.types import ClassWeight, LabelOrder, RandomStateLike, TableLike
from treerank._input.validation import TrainingData, validate_rows
from treerank._io.parquet import CodedFit
from treerank._plans.boosting import plan_boosting, size_of
from treerank._select.log_odds import log_odds_lines
from treerank._select.quality import class_shares
from treerank._trees.packed_forest import ForestArrays


@insert_shared_docs
class BoostedTreeRank(CodedFit, TreeEnsemble):
    """Rank by a sum of shallow ranking trees, each grown to correct those before it.

    Ranking trees as the weak learners of boosting, as proposed in [1]_. Each round takes the
    gradient and the curvature of a loss by the scores, grows a ranking tree on them (a cell is
    split by a small LeafRank tree, whose leaves are ordered and merged into a better and a worse
    half) and adds a part of the Newton step of each leaf to the score [2]_.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees; with early stopping, the maximum. "auto": with two classes and the logistic
        loss, the number (up to 1,500) and the size of the trees are those with the smallest loss on
        held-out rows; then the model is fitted. Below 5,000 rows each fifth is held out in turn,
        below 50,000 three of the fifths, above that one. With a `focus` the loss is chosen as
        well, see there. Other losses, and more classes, choose the number by the AUC (VUS) from
        5,000 rows on; below, and with fewer than 50 rows of the rarest class: 200 trees.
    learning_rate : float or "auto", default="auto"
        Share of the Newton step that is taken. Smaller ones need more trees. "auto": 0.1 where
        the number of trees is chosen for 5,000 rows and more, else 0.05.
    loss : {"auto", "logistic", "pairwise", "rankboost"}, default="auto"
        "logistic": minus the log-likelihood of two classes; beyond, of all ways to cut the
        classes in two, with one score for all of them (proportional odds). "pairwise":
        ``log(1 + exp(s_j - s_i))`` over the pairs of rows with label i above label j, a smooth
        substitute for the AUC; with a `focus`, over pairs of rows near the top, so that rows far
        below it have almost no weight. "rankboost": ``exp(s_j - s_i)`` over the same pairs,
        RankBoost's weights. "auto": logistic. With a `focus` and held-out rows: pairwise if it has
        the higher local (partial) AUC on them, with the number of trees that is best there;
        otherwise the plain fit. With a `focus` and no held-out rows: pairwise.
    max_depth : int or "auto", default="auto"
        Depth of the ranking trees, in splits of cells. "auto": 1 to 4, where held-out rows choose
        both depths, else 2.
    max_leaf_nodes : int or None, default=None
        Number of strata at which a tree that grows leaf-wise stops: the cell with the highest
        Newton gain is split first, of equal gains the oldest. ``leafrank_depth="auto"`` then means
        1, and `max_depth` limits the depth only if it is given. None: trees grow depth-wise.
    leafrank_depth : int or "auto", default="auto"
        Depth of the tree inside a split. With 1 a ranking tree is an ordinary one. "auto": 1 to 4,
        where held-out rows choose both depths; else 2, and 3 from 20,000 rows on or beyond two
        classes.
    min_samples_leaf : int or float, default=5
        Minimum weight of a leaf; below 1, a share of all rows.
    l2_regularization : float or "auto", default="auto"
        Added to the curvature of a leaf: leaves of few rows move less. "auto": 5 for two classes
        (2 with bags), 1 beyond.
    subsample : float or "auto", default="auto"
        Share of the rows, drawn at random for each tree. "auto": 0.7 with bags, else 1.
    max_features : int, float, "sqrt", "log2" or None, default=0.5
        Features drawn at random for each tree; None: all.
    leaf_values : {"stratum", "leaf"}, default="leaf"
        One value for each stratum of a ranking tree, or one for each leaf of the LeafRank trees
        that make it up, which is finer.
    n_bags : int or "auto", default="auto"
        Boost this many times, each on four fifths of the rows; the score is the mean, which ranks
        better on small tables. "auto": 5 for two classes, fewer than 5,000 rows and ten or more of
        each class, where `n_estimators` is "auto" too and no validation rows stop the fit; else 1.
    early_stopping : bool, default=False
        Keep the number of trees with the highest AUC (VUS) on held-out rows.
    validation_fraction : float, default=0.1
        Share of the rows held out for that.
    n_iter_no_change : int, default=50
        Stop after this many trees without improvement.
    warm_start : bool, default=False
        Keep the trees of the last fit, to the same data, and add more, up to `n_estimators`.
    {label_order}
    {class_weight}
    {focus}
    {categorical_features}
    {categories}
    {monotonic_cst}
    max_bins : int, default=255
        Bins for each numeric feature.
    {n_jobs}
    device : {"cpu", "cuda"}, default="cpu"
        Where trees are grown and rows are scored: "cuda" needs an NVIDIA GPU and
        ``pip install 'treerank-ml[cuda]'``. The model is the same.
    {random_state}
    {verbose}

    Attributes
    ----------
    n_estimators_ : int
        Number of trees kept, in each bag.
    n_bags_ : int
        Number of bags.
    plan_ : BoostingChoice
        Trees chosen: `max_depth`, `leafrank_depth`, `max_leaf_nodes`; `held_out_loss` and
        `n_trees` say what was tried; with a focus, `held_out_top_loss` has how each loss did.
    validation_scores_ : array
        With early stopping or `X_val`: AUC (VUS) on the held-out rows after each tree.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the Newton gains.
    loss_ : str
        The loss used.
    classes_ : array of shape (n_classes,)
        The last class is ranked first.
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
    plan_: BoostingChoice
    loss_: str
    validation_scores_: NDArray[np.float64]
    feature_importances_: NDArray[np.float64]
    _trees: ForestArrays | None
    _start: float
    _slopes: NDArray[np.float64]  # of the log-odds of "above class k", by the score
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
            Labels of two or more ordered classes; the last is ranked first.
        sample_weight : array-like of shape (n_samples,), optional
            Only their ratios count. Small whole numbers stand for repeated rows; other
            weights are rescaled to average 1.
        X_val, y_val : array-like, optional
            Validation rows that decide when to stop, instead of a share of the training rows: the
            number of trees with the highest AUC (VUS) on them is kept.
        sample_weight_val : array-like, optional
            Their weights.

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight, validation=(X_val, y_val, sample_weight_val))
        return self

    def _plan_fit(self, data: TrainingData) -> None:
        check_choice("loss", self.loss, ["auto", "logistic", "pairwise", "rankboost"])
        device_of(self.device)  # a GPU that is not there is said at once

    def _fit_coded(
        self, data: TrainingData, coded: Coded, plan: None, validation: Any = (None, None, None)
    ) -> None:
        """Fit to rows that are coded already."""
        units, scale = boosting_units(data.weights)
        rank, effect = data.labels.astype(np.intp), data.weights.design_effect
        rows = BoostingRows(coded.made, rank, units, scale, effect, len(data.classes))
        settings = plan_boosting(self, size_of(data), coded.binning, validation[0] is not None)
        before = self._before(data, coded.binning)
        self._binning, self.classes_ = coded.binning, data.classes
        given = self._validation_rows(*validation)
        self._keep(self._boost(rows, given, settings, before))

    def _boost(
        self,
        rows: RowsToBoost,
        validation: RowsToBoost | None,
        plan: BoostingPlan,
        before: Boosted | None,
    ) -> Boosted:
        """Choose the trees, if that is asked for, and grow them on rows not held out."""
        self.plan_ = BoostingChoice(
            plan.max_depth, plan.leafrank_depth, {}, {}, max_leaf_nodes=plan.max_leaf_nodes or None
        )
        if plan.orders_rows:
            rows = rows.in_memory().in_order(plan.n_jobs)
        if plan.choice is not None:
            with stage("choose the trees"), progress_bar("choosing", self.verbose) as report:
                plan, self.plan_ = choose_trees(rows, self._binning, plan, report)
        self.loss_, self.n_bags_ = plan.loss, plan.n_bags
        if validation is None:
            rows, validation = hold_out(rows, plan, float(self.validation_fraction))
        with progress_bar("boosting", self.verbose) as report:
            if plan.n_bags > 1:
                return boost_bags(rows, self._binning, plan, report)
            return boost(rows, validation, self._binning, plan, report, before)

    def _before(self, data: TrainingData, binning: Binning) -> Boosted | None:
        """Trees of the last fit to go on from, with a warm start."""
        if not self.warm_start or not hasattr(self, "_trees"):
            return None
        if not (binning.equals(self._binning) and np.array_equal(data.classes, self.classes_)):
            raise ValueError(
                "Got other data with warm_start=True; expected the rows and classes of the first "
                "fit."
            )
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"Got n_estimators={self.n_estimators} with warm_start=True; expected at least the "
                f"{self.n_estimators_} trees that there are."
            )
        return Boosted(self._trees, self._start, None, np.empty(0))

    def _validation_rows(
        self, X: TableLike | None, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> BoostingRows | None:
        """Validation rows that the user gave, if any."""
        if (X is None) != (y is None) or (X is None and sample_weight is not None):
            raise ValueError("Got one of X_val and y_val alone; expected both, or neither.")
        if X is None or y is None:
            return None
        table = validate_rows(self, X, self._binning.is_categorical.astype(bool).tolist())
        codes = self._binning.transform(table, check_n_jobs(self.n_jobs))
        return validation_rows(codes, y, sample_weight, self.classes_)

    def _keep(self, boosted: Boosted) -> None:
        """Set the fitted attributes."""
        self._trees, self._start = boosted.trees, boosted.start
        self.n_estimators_ = -(-boosted.n_trees // self.n_bags_)
        self.__dict__.pop("validation_scores_", None)
        if len(boosted.validation_scores):
            self.validation_scores_ = boosted.validation_scores
        self.feature_importances_ = boosted.importances(self.n_features_in_)
        self._slopes, self._intercepts = np.ones(1), np.zeros(1)
        n_classes = len(self.classes_)
        if self.loss_ != "logistic" or n_classes > 2:
            assert boosted.scored is not None
            self._slopes, self._intercepts = log_odds_lines(*boosted.scored.arrays(), n_classes)
            if n_classes == 2:  # the score is known up to a constant: 0 is to be even odds
                self._start += self._intercepts[0] / self._slopes[0]
                self._intercepts = np.zeros(1)

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row; higher is better.

        With two classes it is positive exactly where `predict` gives the positive class; for
        the logistic loss it is the log-odds.

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
        """Give the ranking scores after each round, one array of shape (n_samples,) at a time.

        A round is a tree of each bag. The last scores are those of `score_samples`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        """
        codes, n_jobs = self._codes(X)
        summed = np.zeros(codes.shape[1])
        if self._trees is None:
            return
        # The trees of a bag follow each other; rounds without a split leave some bags shorter.
        for number in range(self.n_estimators_):
            for tree in range(number, self._trees.n_trees, self.n_estimators_):
                summed += self._trees.tree(tree).each(codes, n_jobs)[0]
            yield self._start + summed

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of `classes_`.

        Two classes of the logistic loss: those of the log-odds. Else those of a logistic
        regression of the labels on the score, for each way to cut the classes in two.
        """
        scores = self.score_samples(X)
        return class_shares(expit(np.multiply.outer(scores, self._slopes) + self._intercepts))
