"""LogitBoost: an additive logistic model by weighted regressions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from treerank._input.parameters import check_integer
from treerank._input.types import Floats
from treerank.baselines._parameters import check_positive
from treerank.baselines._probabilistic import ProbabilisticRanker
from treerank.baselines._ranking_classifier import TrainingRows
from treerank.baselines._regression_tree import RegressionTree

# The working response of a badly misclassified row grows without bound; Friedman, Hastie and
# Tibshirani clip it at a value between 2 and 4.
LARGEST_RESPONSE = 4.0
SMALLEST_WEIGHT = 1e-10


class LogitBoost(ProbabilisticRanker):
    """Rank two classes by an additive log-odds built from small regression trees.

    Each round makes a Newton step on the binomial likelihood: if p is the current probability,
    a regression tree is fitted to the working response ``(y - p) / (p (1 - p))`` with
    weights ``p (1 - p)`` and added to the log-odds [1]_.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    learning_rate : float, default=0.5
        Factor applied to every tree; 1.0 is the original method, smaller values overfit less.
    max_depth : int, default=1
        Depth of the trees; 1 gives stumps.
    random_state : int, RandomState or None, default=None
        Seed for breaking ties between features in the trees.

    Attributes
    ----------
    estimators_ : list of RegressionTree
        The trees, in the order of the rounds: plain arrays with a `predict` method.
    classes_ : ndarray of shape (2,)
        The labels, with the positive one last.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2000), Additive logistic regression: a statistical
       view of boosting, Annals of Statistics 28, 337-407.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import LogitBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogitBoost(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    estimators_: list[RegressionTree]

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.5,
        max_depth: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)
        check_positive("learning_rate", self.learning_rate)
        check_integer("max_depth", self.max_depth, 1)

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        rng = check_random_state(self.random_state)
        # Trees break ties by rounding; with a fixed order of rows, equal tables give equal trees.
        rows = merge_equal_rows(rows)
        log_odds = np.zeros(len(rows.X))
        self.estimators_ = []
        for _ in range(self.n_estimators):
            response, curvature = working_response(log_odds, rows.rank)
            tree = DecisionTreeRegressor(
                max_depth=self.max_depth, random_state=rng.randint(np.iinfo(np.int32).max)
            )
            tree.fit(rows.X, response, sample_weight=rows.weight * curvature)
            log_odds += self.learning_rate * tree.predict(rows.X)
            self.estimators_.append(RegressionTree.of(tree))
        return log_odds

    def _raw_scores(self, X: Floats) -> Floats:
        log_odds = np.zeros(len(X))
        for tree in self.estimators_:
            log_odds += self.learning_rate * tree.predict(X)
        return log_odds


def merge_equal_rows(rows: TrainingRows) -> TrainingRows:
    """Sort the rows and add up the weights of equal rows."""
    table = np.column_stack([rows.X, rows.rank])
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    weight: Floats = np.bincount(place.ravel(), rows.weight).astype(np.float64)
    return TrainingRows(distinct[:, :-1], distinct[:, -1].astype(np.intp), weight, rows.n_classes)


def working_response(log_odds: Floats, rank: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the Newton step of the log-odds of each row by itself, and its weight."""
    curvature = np.maximum(expit(log_odds) * expit(-log_odds), SMALLEST_WEIGHT)
    # (y - p) / (p (1 - p)) is 1/p for a positive row and -1/(1-p) for a negative one.
    sign = 2.0 * rank - 1.0
    response = sign * np.minimum(1 / expit(sign * log_odds), LARGEST_RESPONSE)
    return response, curvature
