"""RankingForest: an ensemble of randomized ranking trees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._base import TreeEnsemble
from treerank._binning.binning import Coded
from treerank._binning.category_statistics import CategoryPlan
from treerank._binning.encoding import Encoding, fit_encoding
from treerank._device.choice import device_of
from treerank._growth.forest import ForestPlan, Trees
from treerank._growth.forest_measures import other_data_error, set_measures, warm_trees
from treerank._growth.forest_rows import ForestRows, LocalForestRows
from treerank._growth.trees import check_monotonic
from treerank._input.label_order import by_class
from treerank._input.option_types import CategoricalFeatures, FocusLike, MonotonicCst
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_n_jobs
from treerank._input.stages import stage
from treerank._input.types import ClassWeight, LabelOrder, RandomStateLike, TableLike
from treerank._input.validation import Table, TrainingData
from treerank._io.coded_fit import CodedFit
from treerank._plans.forest import plan_categories, plan_forest, weighs_features
from treerank._plans.presets import preset_settings
from treerank._select.plan_race import ForestChoice, race
from treerank._select.quality import class_shares
from treerank._select.rank_aggregation import RankAggregation
from treerank._select.shrinkage import ShrinkageChoice, choose_shrinkage
from treerank._trees.compact import keep_used_in_forest
from treerank._trees.forest_tree import ForestTree
from treerank._trees.level_sets import forest_with_sets
from treerank._trees.packed_forest import ForestArrays
from treerank.metrics import AucInterval, VusInterval


@insert_shared_docs
class RankingForest(CodedFit, TreeEnsemble):
    """Learn to rank with many randomized ranking trees.

    Each tree is grown on a bootstrap sample with features drawn at random, for the cells of
    the ranking tree and for the nodes of the LeafRank trees inside them [1]_. Some of the trees
    use random thresholds: the two kinds make different errors, and a mixture ranks better than
    either. The value of a row in a tree is the share of positives along its path, where small
    nodes are trusted less; how much less is chosen on out-of-bag rows.

    Parameters
    ----------
    splitter : LeafRank, classifier, DyadicGrid or function, optional
        How a cell is split. The default depends on the size of the data. It is
        ``LeafRank(max_depth=3, min_samples_leaf=3, max_features="sqrt")``, and cells are split
        recursively. From 20,000 rows of two classes on, it is a single LeafRank tree in the root
        cell, grown until its leaves hold 3 rows, which is as good there and faster. From 10,000
        rows of two classes on, out-of-bag rows choose between this and two other kinds of trees
        (see `plan_`), unless a parameter of the trees is given. With any other splitter
        (see :class:`TreeRank`), trees are grown in Python, one joblib task per tree.
    n_estimators : int, default=200
        Number of trees.
    max_depth : int, None or "auto", default="auto"
        Maximum depth of the ranking trees, in splits of cells. "auto": 1 if the LeafRank trees
        inside the cells are unlimited, otherwise None (no limit); 10 with other splitters.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features drawn for each cell. If the splitter has a `max_features` of its own,
        each node of its tree draws from these.
    min_samples_leaf : int or float, optional
        Minimum weight of a stratum, and of a leaf of the default splitter; below 1, a proportion
        of all rows. By default, 1 for strata, and 3 for leaves (1 in some of the plans that large
        tables compare); 5 with other splitters.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement; otherwise without.
    max_samples : int, float or None, default=None
        Number or proportion of rows to draw for each tree; None means as many as there are.
    aggregation : {"posterior", "mean_rank", "median_rank", "kendall"}, default="posterior"
        "posterior": the mean over the trees of the share of positives along the path. The others
        are a consensus of the rankings of the trees, as in the paper. In each tree, a row is
        ranked against the training rows of the tree, so that its score does not depend on the
        other rows that are scored with it. "kendall" orders 256 training rows and inserts the
        others among them; if that has a higher cost than the mean rank (on at most 20,000 training
        rows), the mean rank is used. See :mod:`treerank.consensus`.
    shrinkage : "oob", float or None, default="oob"
        How many rows the share of positives of a node counts for in that of its children. "oob"
        chooses it by the AUC on out-of-bag rows, and rescales the shares to fit the labels of these
        rows. With two classes, fewer than 10,000 rows and up to 200 features, the same rows also
        determine a weight of each feature by ridge regression, by which its steps along the paths
        are multiplied. None means 0. Only used for "posterior".
    {tournament}
    {tournament_gain}
    {label_order}
    {class_weight}
    {focus}
    oob_score : bool, default=False
        Score every training row with the trees for which it is out of bag, and compute the AUC.
    random_cut_share : float or "auto", default="auto"
        Proportion of trees that use one random cut per feature instead of the best one. "auto":
        0.5 up to 10,000 rows, beyond that 5,000 divided by the number of rows.
    warm_start : bool, default=False
        Keep the trees of the last fit to the same data, and add more, up to `n_estimators`.
    {categorical_features}
    {categories}
    {monotonic_cst}
    {max_bins}
    n_jobs : int, optional
        Number of threads, or of joblib processes with other splitters than LeafRank; None means 1
        and -1 means all cores. The result does not depend on it.
    {device}
    {random_state}
    {verbose}

    Attributes
    ----------
    estimators_ : list of ForestTree
        The trees, as lightweight views with `apply` and `score_samples`.
    plan_ : ForestChoice
        How the trees were grown: `name`, and in `oob_auc` the plans that were compared.
    shrinkage_ : float
        The amount of shrinkage used.
    oob_decision_function_ : array of shape (n_samples,)
        With ``oob_score=True``: the out-of-bag score of each training row; NaN for a row that all
        trees have drawn, or whose weight is 0.
    oob_auc_ : float
        With ``oob_score=True``: the AUC of these scores, an estimate for new rows. If the
        shrinkage is chosen on out-of-bag rows, each half of the rows is scored with the choice of
        the other half, so that the estimate is unbiased.
    oob_auc_interval_ : AucInterval
        The same with a confidence interval.
    oob_vus_, oob_vus_interval_ : float, VusInterval
        The same for more than two classes.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the squared AUC gains, averaged over the trees. Only available if
        LeafRank splits the cells; scikit-learn's `permutation_importance` works for all splitters.
    feature_importances_std_ : array of shape (n_features,)
        Standard deviation of these shares over the trees.
    n_bytes_ : int
        Size of the trees in memory; the pickled size if they are split in Python.
    {classes}
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    References
    ----------
    .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Ranking forests", Journal of Machine
       Learning Research 14, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import RankingForest
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = RankingForest().fit(X_train, y_train)
    >>> print(f"{model.score(X_test, y_test):.2f}")
    1.00
    """

    def __init__(
        self,
        splitter: Any = None,
        *,
        n_estimators: int = 200,
        max_depth: Any = "auto",
        max_features: float | str | None = None,
        min_samples_leaf: Any = None,
        bootstrap: bool = True,
        max_samples: Any = None,
        aggregation: str = "posterior",
        shrinkage: Any = "oob",
        tournament: str = "all",
        tournament_gain: str = "vus",
        label_order: LabelOrder = None,
        class_weight: ClassWeight = None,
        focus: FocusLike = None,
        oob_score: bool = False,
        random_cut_share: Any = "auto",
        warm_start: bool = False,
        categorical_features: CategoricalFeatures = "from_dtype",
        categories: str = "auto",
        monotonic_cst: MonotonicCst = None,
        max_bins: int | str = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.splitter = splitter
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.aggregation = aggregation
        self.shrinkage = shrinkage
        self.tournament = tournament
        self.tournament_gain = tournament_gain
        self.label_order = label_order
        self.class_weight = class_weight
        self.focus = focus
        self.oob_score = oob_score
        self.random_cut_share = random_cut_share
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.categories = categories
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    plan_: ForestChoice
    shrinkage_: float
    feature_importances_: NDArray[np.float64]
    feature_importances_std_: NDArray[np.float64]
    oob_decision_function_: NDArray[np.float64]
    oob_auc_: float
    oob_auc_interval_: AucInterval
    oob_vus_: float
    oob_vus_interval_: VusInterval
    _encoding: Encoding | None  # for splitters other than LeafRank
    _trees: Trees  # with the shrinkage baked in: one number per slot or cell
    _before_shrinkage: Trees | None  # kept for a warm start
    _plan: ForestPlan
    _ranks: RankAggregation | None

    @classmethod
    def preset(cls, name: str, splitter: Any = None, **parameters: Any) -> RankingForest:
        """Return an unfitted forest as in [1]_: 50 trees and the consensus of ranks.

        ======== ======================= ===========================
        name     features for a cell     features for an inner node
        ======== ======================= ===========================
        bagging  all                     all
        rf1      a quarter               all
        rf2      1                       all
        rf3      all                     a quarter
        rf4      all                     1
        rf5      a half                  a quarter
        rf6      a quarter               1
        ======== ======================= ===========================

        Parameters
        ----------
        name : str
            One of the names above.
        splitter : LeafRank, classifier, DyadicGrid or function, optional
            By default, ``LeafRank(max_depth=6)``, in ranking trees of depth 8. Its
            `max_features`, or that of the last step of a pipeline, is replaced; "rf3" to "rf6"
            require a splitter that has this parameter.
        **parameters
            Any other parameters of the forest.

        Returns
        -------
        RankingForest

        References
        ----------
        .. [1] S. Clémençon, M. Depecker, N. Vayatis, "Ranking forests", Journal of Machine
           Learning Research 14, 2013.

        Examples
        --------
        >>> from treerank import RankingForest
        >>> RankingForest.preset("rf3").splitter
        LeafRank(max_depth=6, max_features=0.25)
        """
        splitter, settings = preset_settings(name, splitter)
        return cls(splitter, **(settings | parameters))

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers, with NaN for missing; text, boolean and category columns are categories.
        y : array-like of shape (n_samples,)
            Labels of two or more ordered classes; the largest one is ranked on top.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of a row is multiplied by the number of times it is drawn.

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight)
        return self

    def _plan_fit(self, data: TrainingData) -> Trees | None:
        return warm_trees(self, data)

    def _category_plan(self, class_rows: NDArray[np.int64]) -> CategoryPlan:
        return plan_categories(self, class_rows)

    def _fit_coded(self, data: TrainingData, coded: Coded, before: Trees | None) -> None:
        """Fit to encoded rows; `before` are the trees to continue from."""
        if before is not None and not coded.binning.equals(self._binning):
            raise other_data_error()
        self._binning, self._encoding = coded.binning, None
        n_jobs = check_n_jobs(self.n_jobs)
        monotonic = self._binning.columns.signs(
            check_monotonic(self.monotonic_cst, data.table.names, self._binning)
        )
        plans = plan_forest(self, data, monotonic, self._plan.sampling.seed if before else None)
        rows: NDArray[Any] = coded.codes
        if plans[0].splitter is not None:
            self._encoding, rows = fit_encoding(data.table, self._binning, data.weights)
        local = LocalForestRows(
            rows, coded.made, data, self._binning, self._encoding, monotonic, n_jobs,
            device_of(self.device),
        )  # fmt: skip
        self._fit_rows(local, plans, before)

    def _fit_rows(self, rows: ForestRows, plans: list[ForestPlan], before: Trees | None) -> None:
        """Choose a plan, grow its trees, and store them, wherever the rows are."""
        plan, choice = plans[0], ForestChoice(plans[0].name, {}, 0)
        if len(plans) > 1:
            with stage("choose a plan"):
                plan, before, choice = race(plans, rows)
        self._plan, self.plan_ = plan, choice
        self.label_order_ = rows.classes
        with stage("grow"):
            trees = rows.grow(plan, before)
        with stage("score out-of-bag rows"):
            self._keep(trees, rows)
        if not self.warm_start and isinstance(self._trees, ForestArrays):
            # With warm_start, further trees would need all thresholds.
            used = keep_used_in_forest(self._binning, self._trees, rows.n_jobs)
            self._binning, self._trees = used

    def _keep(self, trees: Trees, rows: ForestRows) -> None:
        """Choose the shrinkage, bake it in, and set the fitted attributes."""
        plan, out_of_bag = self._plan, None
        choice = ShrinkageChoice(plan.shrinkages[0], 1.0, trees, None)
        if len(plan.shrinkages) > 1 or (self.oob_score and plan.by_value):
            weighs = weighs_features(plan, self._binning)
            choice = choose_shrinkage(trees, rows, plan, self.oob_score, weighs)
            out_of_bag = choice.out_of_bag
        self.shrinkage_ = choice.shrinkage
        self._before_shrinkage = trees if self.warm_start else None
        baked = choice.trees.bake_shrinkage(choice.shrinkage, choice.scale, rows.n_jobs)
        self._ranks = None
        if not plan.by_value:
            self._ranks, out_of_bag = rows.rank_aggregation(self.aggregation, baked, plan.sampling)
        self._trees = baked
        if isinstance(baked, ForestArrays):
            self._trees = forest_with_sets(baked, self._binning)
        set_measures(self, out_of_bag, rows)

    @property
    def estimators_(self) -> list[ForestTree]:
        """The trees, as lightweight views."""
        check_is_fitted(self, "_trees")
        return [ForestTree(self, number) for number in range(self._trees.n_trees)]

    @property
    def n_bytes_(self) -> int:
        """Size of the trees in bytes."""
        check_is_fitted(self, "_trees")
        return self._trees.nbytes

    def _encode(self, table: Table, n_jobs: int) -> NDArray[Any]:
        if self._encoding is not None:  # a matrix for Python splitters
            return self._encoding.transform(table, self._binning)
        return super()._encode(table, n_jobs)

    @property
    def _scores_there(self) -> bool:
        return self._ranks is None and isinstance(self._trees, ForestArrays)

    def _mean(self, codes: NDArray[Any], n_jobs: int) -> NDArray[np.float64]:
        if isinstance(self._trees, ForestArrays):
            return self._trees.mean(codes, n_jobs, device_of(self.device))
        return self._trees.mean(codes, n_jobs)

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Return the ranking score of each row, as array of shape (n_samples,); higher is better.

        With two classes, it is positive if and only if `predict` returns the positive class;
        with more, 0 is the middle between the worst and the best class.
        """
        codes, n_jobs = self._codes_to_score(X)
        if self._ranks is None:
            return self._mean(codes, n_jobs) - 0.5
        return self._ranks.scores(self._trees, codes, n_jobs)

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Return the class probabilities: shape (n_samples, n_classes), in the order of `classes_`.

        For "posterior", they are means over the trees. For a consensus of ranks, they are the
        class shares of training rows with that score, estimated by isotonic regression.
        """
        check_is_fitted(self, "_trees")
        if self._ranks is not None:
            upper = self._ranks.upper_shares(self.score_samples(X))
        elif len(self.label_order_) == 2:
            upper = (self.score_samples(X) + 0.5)[:, np.newaxis]
        else:
            upper = self._trees.upper_shares(*self._codes(X))
        return by_class(class_shares(np.clip(upper, 0.0, 1.0)), self.label_order_)
