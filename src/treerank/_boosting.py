"""BoostedTreeRank: shallow ranking trees added up, each correcting those before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from treerank import _core
from treerank._base import TreeEnsemble, check_max_bins
from treerank._binning.binning import code_table
from treerank._growth.boosting import Boosted, BoostingPlan, BoostingRows, boost, boosting_units
from treerank._growth.progress import progress_bar
from treerank._growth.trees import check_monotonic
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import (
    check_choice,
    check_integer,
    check_max_features,
    check_n_jobs,
    check_number,
    invalid_parameter,
    is_whole,
)
from treerank._input.seed import seed_of
from treerank._input.stages import record_stages, stage
from treerank._input.validation import TrainingData, all_or_nothing, validate_training_data
from treerank._select.quality import class_shares
from treerank._trees.packed_forest import ForestArrays

MAX_DEPTH = 20
# From so many rows on the trees are deeper, and from so many held-out rows choose their number.
DEEP_ROWS, MANY_ROWS = 20_000, 5_000
# Where nothing is said: so many trees and such steps of few rows; of many rows larger steps, and as
# many trees as rows held out ask for, up to a limit.
FEW_ROWS_TREES, FEW_ROWS_RATE = 200, 0.05
MOST_TREES, MANY_ROWS_RATE = 1_500, 0.1
CHOOSING_SHARE = 0.2
# Of the rarest class, or the rows held out would say too little.
LEAST_OF_CLASS = 50
# A score that ranks no better than chance still needs a cut-off.
LEAST_SLOPE = 1e-6
# That all rows together can have.
LARGEST_WEIGHT = 2**52


@insert_shared_docs
class BoostedTreeRank(TreeEnsemble):
    """Rank by a sum of shallow ranking trees, each grown to correct those before it.

    Ranking trees as the weak learners of boosting, as proposed in [1]_. Each round takes the
    gradient and the curvature of a loss by the scores, grows a ranking tree on them (a cell is
    parted by a small LeafRank tree, whose leaves are ordered and merged into a better and a worse
    half) and adds a part of the Newton step of each leaf to the score [2]_.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees; the most of them with early stopping. "auto": 200 below 5,000 rows. From
        there on a fifth of the rows is held out, the number of trees with the highest AUC (VUS)
        on them is found, up to 1,500, and all rows are fitted again with that number, scaled to
        the number of rows.
    learning_rate : float or "auto", default="auto"
        Share of the Newton step that is taken. Smaller ones need more trees. "auto": 0.1 where
        the number of trees is chosen on rows held out, else 0.05.
    loss : {"auto", "logistic", "pairwise", "rankboost"}, default="auto"
        "logistic": minus the log-likelihood of two classes. "pairwise": ``log(1 + exp(s_j -
        s_i))`` over the pairs of rows with label i above label j, which is smooth in the AUC's
        place and ranks ordered classes too. "rankboost": ``exp(s_j - s_i)`` over the same pairs,
        RankBoost's weights. "auto": logistic for two classes, pairwise beyond.
    max_depth : int, default=2
        Depth of the ranking trees, in splits of cells.
    leafrank_depth : int or "auto", default="auto"
        Depth of the tree inside a split. With 1 a ranking tree is an ordinary one. "auto": 2,
        and 3 from 20,000 rows on.
    min_samples_leaf : int or float, default=5
        Least weight of a leaf; below 1 a share of all rows.
    l2_regularization : float, default=5.0
        Added to the curvature of a leaf: leaves of few rows move less.
    subsample : float, default=1.0
        Share of the rows, drawn anew for each tree.
    max_features : int, float, "sqrt", "log2" or None, default=0.5
        Features drawn anew for each tree; None: all.
    leaf_values : {"stratum", "leaf"}, default="leaf"
        One value for each stratum of a ranking tree, or one for each leaf of the LeafRank trees
        that make it up, which is finer.
    early_stopping : bool, default=False
        Keep the number of trees that has the highest AUC (VUS) on rows held out.
    validation_fraction : float, default=0.1
        Share of the rows held out for that.
    n_iter_no_change : int, default=50
        Stop after so many trees that brought nothing better.
    {label_order}
    {class_weight}
    {categorical_features}
    {monotonic_cst}
    max_bins : int, default=255
        Bins for each numeric feature.
    {n_jobs}
    {random_state}
    {verbose}

    Attributes
    ----------
    n_estimators_ : int
        Number of trees kept.
    validation_scores_ : array
        Where rows were held out: AUC (VUS) on them, after each tree.
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
        max_depth: int = 2,
        leafrank_depth: Any = "auto",
        min_samples_leaf: Any = 5,
        l2_regularization: float = 5.0,
        subsample: float = 1.0,
        max_features: Any = 0.5,
        leaf_values: str = "leaf",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        label_order: Any = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.leaf_values = leaf_values
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.label_order = label_order
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    n_estimators_: int
    loss_: str
    validation_scores_: NDArray[np.float64]
    feature_importances_: NDArray[np.float64]
    _trees: ForestArrays | None
    _start: float
    _slopes: NDArray[np.float64]  # of the log-odds of "above class k", by the score
    _intercepts: NDArray[np.float64]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss != "logistic"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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

        Returns
        -------
        self
        """
        with all_or_nothing(self), record_stages(self.verbose):
            with stage("validate"):
                check_choice("loss", self.loss, ["auto", "logistic", "pairwise", "rankboost"])
                data = validate_training_data(
                    self, X, y, sample_weight, self.categorical_features,
                    label_order=self.label_order,
                    max_classes=2 if self.loss == "logistic" else _core.MAX_CLASSES,
                )  # fmt: skip
                n_jobs = check_n_jobs(self.n_jobs)
                max_bins = check_max_bins(self.max_bins, data.table.n_rows)
            with stage("bin"):
                coded = code_table(data.table, data.weights, max_bins, n_jobs)
            self._binning, codes = coded.binning, coded.codes
            plan = self._plan(data)
            units, scale = boosting_units(data.weights)
            rank = data.labels.astype(np.intp)
            effect = data.weights.design_effect
            rows = BoostingRows(codes, rank, units, scale, effect, len(data.classes))
            scores = None
            if plan.is_refitted:
                with stage("choose the number of trees"):
                    plan, scores = self._choose_rounds(rows, plan)
            rows, validation = self._hold_out(rows, plan, float(self.validation_fraction))
            with progress_bar("boosting", self.verbose) as report:
                boosted = boost(rows, validation, self._binning, plan, report)
            if scores is not None:
                boosted = boosted._replace(validation_scores=scores)
            self.loss_ = plan.loss
            self.classes_ = data.classes
            self._keep(boosted, rows)
        return self

    def _plan(self, data: TrainingData) -> BoostingPlan:
        """Check the parameters."""
        two_classes = len(data.classes) == 2
        loss = self.loss if self.loss != "auto" else "logistic" if two_classes else "pairwise"
        check_choice("early_stopping", self.early_stopping, [True, False])
        check_choice("leaf_values", self.leaf_values, ["stratum", "leaf"])
        patience = check_integer("n_iter_no_change", self.n_iter_no_change, 1)
        n_rounds, rate, chooses = self._rounds(data)
        leafrank_depth = 3 if data.table.n_rows >= DEEP_ROWS else 2
        if not (isinstance(self.leafrank_depth, str) and self.leafrank_depth == "auto"):
            leafrank_depth = _check_depth("leafrank_depth", self.leafrank_depth)
        assert patience is not None
        for name in ("min_samples_leaf", "subsample", "validation_fraction"):
            if check_number(name, getattr(self, name)) == 0:
                raise invalid_parameter(name, getattr(self, name), "a number > 0")
        if self.subsample > 1:
            raise invalid_parameter("subsample", self.subsample, "a share in (0, 1]")
        if self.validation_fraction >= 1:
            raise invalid_parameter(
                "validation_fraction", self.validation_fraction, "a share in (0, 1)"
            )
        least = float(self.min_samples_leaf)
        if least > LARGEST_WEIGHT:
            raise invalid_parameter("min_samples_leaf", self.min_samples_leaf, "at most 2**52")
        return BoostingPlan(
            loss=loss,
            n_rounds=n_rounds,
            learning_rate=rate,
            max_depth=_check_depth("max_depth", self.max_depth),
            leafrank_depth=leafrank_depth,
            min_samples_leaf=least if least >= 1 else least * _total_weight(data),
            l2=check_number("l2_regularization", self.l2_regularization),
            subsample=float(self.subsample),
            n_chosen=check_max_features("max_features", self.max_features, data.table.n_features),
            monotonic=check_monotonic(self.monotonic_cst, data.table.names, self._binning),
            by_stratum=self.leaf_values == "stratum",
            patience=patience if self.early_stopping or chooses else 0,
            is_refitted=chooses,
            seed=seed_of(self.random_state),
            n_jobs=check_n_jobs(self.n_jobs),
        )

    def _rounds(self, data: TrainingData) -> tuple[int, float, bool]:
        """Trees at most, the learning rate, and whether rows held out choose the number."""
        given, rate = self.n_estimators, self.learning_rate
        chooses = False
        if isinstance(given, str):
            check_choice("n_estimators", given, ["auto"])
            enough = np.bincount(data.labels).min() >= LEAST_OF_CLASS
            chooses = data.table.n_rows >= MANY_ROWS and bool(enough) and not self.early_stopping
            given = MOST_TREES if chooses or self.early_stopping else FEW_ROWS_TREES
        if isinstance(rate, str):
            check_choice("learning_rate", rate, ["auto"])
            rate = MANY_ROWS_RATE if chooses else FEW_ROWS_RATE
        n_rounds = check_integer("n_estimators", given, 1)
        assert n_rounds is not None
        if check_number("learning_rate", rate) == 0:
            raise invalid_parameter("learning_rate", rate, "a number > 0")
        return n_rounds, float(rate), chooses

    def _choose_rounds(
        self, rows: BoostingRows, plan: BoostingPlan
    ) -> tuple[BoostingPlan, NDArray[np.float64]]:
        """Plan with the number of trees that is best on rows held out, scaled to all rows."""
        learned, held_out = self._hold_out(rows, plan, CHOOSING_SHARE)
        with progress_bar("choosing", self.verbose) as report:
            tried = boost(learned, held_out, self._binning, plan, report)
        found = 1 if tried.trees is None else tried.trees.n_trees
        n_rounds = max(1, round(found / (1 - CHOOSING_SHARE)))
        return replace(plan, n_rounds=n_rounds, patience=0), tried.validation_scores

    def _hold_out(
        self, rows: BoostingRows, plan: BoostingPlan, share: float
    ) -> tuple[BoostingRows, BoostingRows | None]:
        """Rows to learn from, and rows that say when to stop."""
        if not plan.patience:
            return rows, None
        counts = np.bincount(rows.rank)
        n_held = max(round(share * len(rows.rank)), len(counts))
        if counts.min() < 2 or len(rows.rank) - n_held < len(counts):
            raise ValueError(
                f"Got early_stopping=True and {counts.min()} rows of the rarest class; expected "
                "at least 2, to learn from and to hold out."
            )
        learn, held = train_test_split(
            np.arange(len(rows.rank)), test_size=n_held, stratify=rows.rank, random_state=plan.seed
        )
        return rows.take(np.sort(learn)), rows.take(np.sort(held))

    def _keep(self, boosted: Boosted, rows: BoostingRows) -> None:
        """Set the fitted attributes."""
        self._trees, self._start = boosted.trees, boosted.start
        self.n_estimators_ = 0 if boosted.trees is None else boosted.trees.n_trees
        if hasattr(self, "validation_scores_"):
            del self.validation_scores_
        if len(boosted.validation_scores):
            self.validation_scores_ = boosted.validation_scores
        gains = np.zeros(self.n_features_in_)
        if boosted.trees is not None:
            gains = boosted.trees.importance.sum(axis=0)
        self.feature_importances_ = gains / gains.sum() if gains.any() else gains
        self._slopes, self._intercepts = np.ones(1), np.zeros(1)
        if self.loss_ != "logistic":
            self._slopes, self._intercepts = _log_odds(boosted.scores, rows)
            if rows.n_classes == 2:  # the score is known up to a constant: 0 is to be even odds
                self._start += self._intercepts[0] / self._slopes[0]
                self._intercepts = np.zeros(1)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
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
        codes, n_jobs = self._codes(X)
        if self._trees is None:
            return np.full(codes.shape[1], self._start)
        return self._start + self._trees.total(codes, n_jobs)

    def staged_score_samples(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the ranking scores after each tree, one array of shape (n_samples,) at a time.

        The last is that of `score_samples`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        """
        codes, n_jobs = self._codes(X)
        summed = np.zeros(codes.shape[1])
        for number in range(self.n_estimators_):
            assert self._trees is not None
            summed += self._trees.tree(number).each(codes, n_jobs)[0]
            yield self._start + summed

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of `classes_`.

        For a pairwise loss, which knows no probabilities, those of a logistic regression of
        the labels on the score.
        """
        scores = self.score_samples(X)
        return class_shares(expit(np.multiply.outer(scores, self._slopes) + self._intercepts))


def _check_depth(name: str, depth: Any) -> int:
    """Return the depth of a weak learner, which is shallow by its nature."""
    whole = is_whole(depth) and 1 <= depth <= MAX_DEPTH
    if not whole:
        raise invalid_parameter(name, depth, f"an integer from 1 to {MAX_DEPTH}")
    return int(depth)


def _total_weight(data: TrainingData) -> float:
    units = data.weights.as_units
    return float(data.table.n_rows if units is None else units.sum() / data.weights.scale)


def _log_odds(
    scores: NDArray[np.float64], rows: BoostingRows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-odds of being above each class as a line in the score: slopes and intercepts."""
    weight = rows.weight
    centred = scores - np.average(scores, weights=weight)
    spread = float(np.sqrt(np.average(centred**2, weights=weight))) or 1.0
    lines = []
    for k in range(rows.n_classes - 1):
        line = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(
            scores[:, np.newaxis] / spread, rows.rank > k, sample_weight=weight
        )
        lines.append((max(line.coef_[0, 0] / spread, LEAST_SLOPE), line.intercept_[0]))
    slopes, intercepts = np.array(lines).T
    return slopes, intercepts
