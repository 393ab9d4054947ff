"""TreeRank: a ranking tree with pruning and shrinkage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from treerank._base import TreeRanker
from treerank._binning.binning import Coded
from treerank._device.choice import device_of
from treerank._growth.local import LocalRows, TrainingRows
from treerank._growth.soft_labels import LEAST_FOLDS, SoftRows, most_soft_rows, soften
from treerank._growth.trees import TreeRankOptions, check_monotonic
from treerank._input.focus import check_focus
from treerank._input.option_types import CategoricalFeatures, FocusLike, MonotonicCst
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_n_jobs
from treerank._input.stages import stage
from treerank._input.types import ClassWeight, Floats, LabelOrder, RandomStateLike, TableLike
from treerank._input.validation import TrainingData
from treerank._io.coded_fit import CodedFit
from treerank._plans.treerank import penalty_of, plan_tree, shrinkages_of, softens
from treerank._select.penalty import PenaltyPath, check_share_within, prune_by_penalty
from treerank._select.pruning import (
    NOISE_LIMIT,
    Chosen,
    PruningPath,
    choose_subtree,
    smaller_tree_slack,
)
from treerank._select.splitter_choice import (
    DEEPER_LIMIT,
    DEPTHS,
    RACE_ROWS,
    SplitterChoice,
    choose_depth,
    may_gain_by_depth,
    prefers_own_labels,
    simpler_slack,
)
from treerank._trees.ranking_tree import CellTree

# Number of folds that compare depths of LeafRank on a sample of the rows.
N_FOLDS = 5


@insert_shared_docs
class TreeRank(CodedFit, TreeRanker):
    """Learn to rank with a tree whose leaves are strata, best first.

    Cells are recursively split into a better and a worse part such that the AUC increases
    most [1]_; the parts are unions of boxes found by :class:`LeafRank` [2]_. Then the tree is
    pruned, and the scores of its leaves are shrunk along the path from the root; how much is
    chosen on held-out rows.

    With three or more ordered classes, the volume under the ROC surface (VUS) replaces the AUC:
    in each cell, the best splits of pairs of classes compete for the largest VUS gain [3]_.

    Parameters
    ----------
    splitter : LeafRank, classifier, DyadicGrid or function, optional
        How a cell is split. By default, ``LeafRank(max_depth=d)``, where d from 1 to 4 is chosen
        by the ranking of held-out rows (with ``pruning="cv"``; otherwise d is 1). With d = 1, a
        split is a single test; with more, it can depend on several features. A scikit-learn
        classifier splits by its predictions, with equal weights of both classes in every cell.
        A function chooses the splitter of each cell. See :mod:`treerank.splitters`.
    max_depth : int or None, default=10
        Maximum depth of the ranking tree; None means no limit.
    min_samples_leaf : int or float, default=5
        Minimum weight of a stratum; below 1, a proportion of all rows.
    min_samples_split : int or float, default=2
        Minimum weight of a cell to be split.
    min_auc_gain : float, default=0.0
        A split must increase the AUC (the VUS for more than two classes) by more than this.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features drawn for each cell.
    {tournament}
    {tournament_gain}
    {label_order}
    {class_weight}
    {focus}
    pruning : {"cv", "penalty"} or None, default="cv"
        "cv" chooses among the nested cost-complexity subtrees on held-out rows; a tree
        that ranks them no better than chance is pruned to its root. "penalty" chooses the subtree
        that maximizes the training AUC minus a penalty on the number of leaves, and needs no
        held-out rows [2]_.
    one_standard_error : bool, default=False
        With ``pruning="cv"``, choose the smallest subtree whose held-out AUC is within one
        standard error of the best: fewer strata at the cost of a little AUC.
    noise_limit : float, default=3.0
        With ``pruning="cv"``, a tree is kept only if its held-out AUC is more than this many
        standard errors of a random ranking above chance; otherwise it is pruned to its root. With
        0, it only has to be better than chance, as in the papers, which suits small samples whose
        features are known to matter. With soft labels, being better than chance is also enough if
        the forests that predict them rank rows they were not grown on above this limit.
    penalty_constant : float or "auto", default="auto"
        With ``pruning="penalty"``, the factor of the theorem's penalty: 1 gives the guarantee of
        the theorem, and prunes nearly everything. "auto" is about the smallest value that prunes
        trees of random labels to the root: 0.05 for LeafRank, and 0.4 for DyadicGrid, whose
        penalty has a smaller factor.
    penalty_bounds : tuple of two floats, optional
        With ``pruning="penalty"``, known lower and upper bounds of the share of positives. By
        default, both are the share in the training rows.
    shrinkage : "cv", float or None, default="cv"
        How many rows the parent's share of positives counts for in the score of a child; "cv"
        chooses the number on held-out rows. None scores the strata by their position in the tree.
    soft_labels : bool or "auto", default="auto"
        Grow the tree to soft labels, and use them to score its strata. The row's own label
        contributes one fifth to its soft label; the rest is predicted by small forests that were
        not grown on the row [4]_. The tree ranks better with about as many strata, but a fit takes
        about four times as long. "auto": with the default splitter and ``pruning="cv"``, unless a
        tree grown to the labels themselves ranks held-out rows clearly better. True: always, also
        with a LeafRank as the splitter. With more than 20,000 rows (10,000 with three classes, and
        fewer with more), labels are not softened. Counts and event rates of the strata are always
        those of the labels.
    cv : int or cross-validation splitter, default=5
        Folds for pruning and shrinkage. An integer means folds assigned by the content of the
        rows, so that the order of the rows does not matter.
    {categorical_features}
    {categories}
    {missing}
    {monotonic_cst}
    {max_bins}
    {n_jobs}
    {device}
    {random_state}
    {verbose}

    Attributes
    ----------
    partition_ : OrderedPartition
        The strata, best first: counts, ROC curve, AUC, rules.
    tree_ : RankTree or SplitterTree
        The pruned tree; a RankTree if LeafRank splits the cells, otherwise a SplitterTree.
    unpruned_tree_ : RankTree or SplitterTree
        The tree before pruning.
    pruning_path_ : PruningPath, PenaltyPath or None
        The nested subtrees with their training and held-out AUC; with ``pruning="penalty"``, the
        best subtree for every number of leaves.
    splitter_choice_ : SplitterChoice or None
        With the default splitter: the depths of LeafRank that were compared (on at most 20,000
        rows), their held-out AUC, and the chosen depth. With soft labels, these are the AUCs of
        trees grown to them.
    soft_labels_ : bool
        Whether the tree was grown to soft labels.
    shrinkage_ : float
        The amount of shrinkage used; NaN for none.
    feature_importances_ : array of shape (n_features,)
        Only available if LeafRank splits the cells.
    {classes}
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    References
    ----------
    .. [1] S. Clémençon, N. Vayatis, "Tree-structured ranking rules and approximation of
       the optimal ROC curve", 2008.
    .. [2] S. Clémençon, M. Depecker, N. Vayatis, "Adaptive partitioning schemes for
       bipartite ranking", Machine Learning 83, 2011.
    .. [3] S. Robbiano, S. Clémençon, "The TreeRank Tournament algorithm for multipartite
       ranking", 2013.
    .. [4] L. Breiman, N. Shang, "Born again trees", 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import TreeRank
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = TreeRank().fit(X_train, y_train)
    >>> print(f"{model.score(X_test, y_test):.3f}")
    0.989
    """

    def __init__(
        self,
        splitter: Any = None,
        *,
        max_depth: int | None = 10,
        min_samples_leaf: float = 5,
        min_samples_split: float = 2,
        min_auc_gain: float = 0.0,
        max_features: float | str | None = None,
        tournament: str = "all",
        tournament_gain: str = "vus",
        label_order: LabelOrder = None,
        class_weight: ClassWeight = None,
        focus: FocusLike = None,
        pruning: str | None = "cv",
        one_standard_error: bool = False,
        noise_limit: float = NOISE_LIMIT,
        penalty_constant: Any = "auto",
        penalty_bounds: Any = None,
        shrinkage: Any = "cv",
        soft_labels: bool | str = "auto",
        cv: Any = 5,
        categorical_features: CategoricalFeatures = "from_dtype",
        categories: str = "auto",
        missing: str = "learned",
        monotonic_cst: MonotonicCst = None,
        max_bins: int | str = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_auc_gain = min_auc_gain
        self.max_features = max_features
        self.tournament = tournament
        self.tournament_gain = tournament_gain
        self.label_order = label_order
        self.class_weight = class_weight
        self.focus = focus
        self.pruning = pruning
        self.one_standard_error = one_standard_error
        self.noise_limit = noise_limit
        self.penalty_constant = penalty_constant
        self.penalty_bounds = penalty_bounds
        self.shrinkage = shrinkage
        self.soft_labels = soft_labels
        self.cv = cv
        self.categorical_features = categorical_features
        self.categories = categories
        self.missing = missing
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    unpruned_tree_: CellTree
    pruning_path_: PruningPath | PenaltyPath | None
    shrinkage_: float
    splitter_choice_: SplitterChoice | None

    @property
    def soft_labels_(self) -> bool:
        """Whether the tree was grown to soft labels."""
        check_is_fitted(self)
        return self.tree_.shares is not None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune the tree.

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

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight)
        return self

    def _plan_fit(self, data: TrainingData) -> TreeRankOptions:
        check_focus(self.focus, len(data.classes))
        return plan_tree(self, data.table)

    def _fit_coded(self, data: TrainingData, coded: Coded, plan: TreeRankOptions) -> None:
        """Fit to encoded rows."""
        monotonic = check_monotonic(self.monotonic_cst, data.table.names, coded.binning)
        splitter = None if plan.leafrank is not None else self.splitter
        n_jobs = check_n_jobs(self.n_jobs)
        rows = LocalRows(
            data, coded, monotonic, splitter, n_jobs, self.verbose, device_of(self.device)
        )
        self._fit_rows(rows, plan)

    def _fit_rows(self, rows: TrainingRows, options: TreeRankOptions) -> None:
        """Grow and prune the tree, and set the fitted attributes, wherever the rows are."""
        shrinkages = shrinkages_of(self)
        few = rows.in_memory(most_soft_rows(len(rows.classes))) if softens(self) else None
        rows = few or rows
        folds = None
        if self.pruning == "cv" or len(shrinkages) > 1:
            with stage("assign folds"):
                folds = rows.folds(self.cv, options.seed)
        if few is not None and folds is not None and folds.n_folds >= LEAST_FOLDS:
            pruned = self._grow_softened(few, folds, options, shrinkages)
        else:
            pruned = self._grow_best(rows, folds, options, shrinkages, self.noise_limit)
        self.unpruned_tree_, self.tree_ = pruned.whole, pruned.tree
        self.pruning_path_, self.shrinkage_ = pruned.path, pruned.shrinkage
        self.splitter_choice_ = pruned.depth_choice
        with stage("order the cells"):
            self._keep(
                self.tree_, rows.binning, rows.names, rows.classes, pruned.shrinkage, rows.monotonic
            )
            self._drop_unused_thresholds()

    def _grow_softened(
        self, rows: LocalRows, folds: Any, options: TreeRankOptions, shrinkages: Floats
    ) -> _Pruned:
        """Grow to soft labels, or to the labels themselves if that is clearly better."""
        with stage("soften the labels"):
            soft_rows = soften(rows, folds, options)
        # Where the trees that soften the labels show that there is something to learn, the tree
        # only has to be better than chance.
        limit = 0.0 if soft_rows.evidence > self.noise_limit else self.noise_limit
        soft = self._grow_best(soft_rows, folds, options, shrinkages, limit)
        if self.soft_labels is True:
            return soft
        own = self._grow(rows, folds, soft.options, shrinkages, limit)
        if not prefers_own_labels(soft.chosen, own.chosen):
            return soft
        return own._replace(depth_choice=soft.depth_choice)

    def _grow_best(
        self,
        rows: TrainingRows,
        folds: Any,
        options: TreeRankOptions,
        shrinkages: Floats,
        noise_limit: float,
    ) -> _Pruned:
        """Grow and prune a tree; with the default splitter, with the depth that ranks best."""
        if self.splitter is not None or self.pruning != "cv" or folds is None:
            return self._grow(rows, folds, options, shrinkages, noise_limit)
        some = rows.sample(RACE_ROWS, options.seed)
        race_folds = folds if some is rows else some.folds(N_FOLDS, options.seed)
        if race_folds is None:
            return self._grow(rows, folds, options, shrinkages, noise_limit)
        assert options.leafrank is not None
        pruned: list[_Pruned] = []
        found: list[Chosen] = []
        for depth in DEPTHS:
            if not may_gain_by_depth(depth, found):
                break
            plan = replace(options, leafrank=replace(options.leafrank, max_depth=depth))
            limit = noise_limit + (DEEPER_LIMIT if depth > 1 else 0.0)
            grown = self._grow(some, race_folds, plan, shrinkages, limit if noise_limit else 0.0)
            assert grown.chosen is not None
            pruned.append(grown)
            found.append(grown.chosen)
        slack = simpler_slack(isinstance(rows, SoftRows), len(rows.classes))
        choice = choose_depth(found, 1.0 if self.one_standard_error else slack)
        chosen = pruned[choice.depths.index(choice.chosen)]
        if some is not rows:
            chosen = self._grow(rows, folds, chosen.options, shrinkages, noise_limit)
        return chosen._replace(depth_choice=choice)

    def _grow(
        self,
        rows: TrainingRows,
        folds: Any,
        options: TreeRankOptions,
        shrinkages: Floats,
        noise_limit: float,
    ) -> _Pruned:
        """Grow a tree, and choose a subtree and the amount of shrinkage."""
        with stage("grow"):
            whole, *fold_trees = rows.grow(options, folds)
        tree = whole
        path: PruningPath | PenaltyPath | None = None
        if self.pruning == "penalty":
            penalty = penalty_of(self, len(rows.names), len(rows.classes))
            check_share_within(penalty.bounds, tree)
            tree, path = prune_by_penalty(tree, penalty)
            fold_trees = [prune_by_penalty(fold_tree, penalty)[0] for fold_tree in fold_trees]
        if folds is None:
            return _Pruned(options, whole, tree, path, float(shrinkages[0]))
        with stage("count held-out rows"):
            held_out = rows.held_out(fold_trees, folds)
        with stage("prune"):
            slack = smaller_tree_slack(isinstance(rows, SoftRows), len(rows.classes))
            chosen = choose_subtree(
                tree, held_out, shrinkages, self.pruning == "cv",
                1.0 if self.one_standard_error else slack, noise_limit, check_n_jobs(self.n_jobs),
                check_focus(self.focus, len(rows.classes)),
            )  # fmt: skip
            tree = tree.subtree(tree.sequence[1] > chosen.path.chosen)
        return _Pruned(options, whole, tree, path or chosen.path, chosen.shrinkage, chosen)


class _Pruned(NamedTuple):
    """A tree before and after pruning, the pruning path, and the amount of shrinkage."""

    options: TreeRankOptions
    whole: CellTree
    tree: CellTree
    path: PruningPath | PenaltyPath | None
    shrinkage: float
    chosen: Chosen | None = None  # the choice of held-out rows, if any
    depth_choice: SplitterChoice | None = None
