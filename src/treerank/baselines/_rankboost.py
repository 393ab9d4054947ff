"""RankBoost: boosting on pairs of rows, without forming the pairs."""

from __future__ import annotations

import numpy as np

from treerank._input.parameters import check_integer
from treerank._input.types import Floats
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import RankingClassifier, TrainingRows
from treerank.baselines._stumps import StumpSum, StumpTable, boost_stumps


class RankBoost(RankingClassifier):
    """Rank by a sum of stumps that minimises the exponential loss over pairs of rows.

    The loss is the weighted mean of ``exp(-(s(x_i) - s(x_j)))`` over all pairs whose first
    row has the higher label. For a stump h with values 0 and 1, let W+ be the weight of pairs
    that h orders correctly and W- of those it orders wrongly; the step
    ``log(W+ / W-) / 2`` leaves the fraction ``1 - (sqrt W+ - sqrt W-)^2`` of the loss, and
    each round adds the stump that leaves the least [1]_. The weight of a pair is the product of
    two row weights, so W+ and W- follow from class sums on both sides of the threshold: a round
    costs O(rows x features x (classes - 1)), and pairs are never formed.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of stumps.
    learning_rate : float, default=0.3
        Factor applied to every step; 1.0 is the original method, smaller values overfit less.
    smoothing : float, default=1e-3
        Weight added to W+ and W- in the step, which bounds it if a stump makes no error.
    max_bins : int, default=1024
        A feature with more distinct values than this is only cut at this many quantiles.

    Attributes
    ----------
    stumps_ : StumpSum
        `feature`, `threshold` and `step` of each stump, in the order of the rounds.
    classes_ : ndarray
        The labels, worst first.
    cut_offs_ : ndarray of shape (n_classes - 1,)
        Scores at which `predict` switches to the next class.

    References
    ----------
    .. [1] Freund, Iyer, Schapire and Singer (2003), An efficient boosting algorithm for
       combining preferences, Journal of Machine Learning Research 4, 933-969.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import RankBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankBoost(n_estimators=30).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    stumps_: StumpSum

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.3,
        smoothing: float = 1e-3,
        max_bins: int = 1024,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.smoothing = smoothing
        self.max_bins = max_bins

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)
        check_positive("learning_rate", self.learning_rate)
        check_positive("smoothing", self.smoothing)
        check_integer("max_bins", self.max_bins, 2)

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        def weigh(above: Floats, below: Floats) -> tuple[Floats, Floats]:
            right, wrong = pair_weights(above, below)
            gain = np.square(np.sqrt(right) - np.sqrt(wrong))
            step = 0.5 * np.log((right + self.smoothing) / (wrong + self.smoothing))
            return gain, step

        self.stumps_ = boost_stumps(
            StumpTable(rows.X, rows.weight, self.max_bins),
            lambda scores: row_weights(scores, rows),
            weigh,
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
        )
        return self.stumps_(rows.X)

    def _raw_scores(self, X: Floats) -> Floats:
        return self.stumps_(X)


def row_weights(scores: Floats, rows: TrainingRows) -> Floats:
    """Return each row's weight as the better and as the worse member of its pairs.

    Column k-1 holds ``w exp(-s)`` for rows of class k >= 1, column K-1+k holds ``w exp(s)``
    for rows of class k <= K-2: the weight of a pair is a product of one of each kind. Both are
    scaled by their largest value, which cancels out and prevents overflow.
    """
    weights = np.zeros((len(scores), 2 * (rows.n_classes - 1)))
    better = np.flatnonzero(rows.rank > 0)
    shrink = np.exp(scores[better].min() - scores[better])
    weights[better, rows.rank[better] - 1] = rows.weight[better] * shrink
    worse = np.flatnonzero(rows.rank < rows.n_classes - 1)
    shrink = np.exp(scores[worse] - scores[worse].max())
    weights[worse, rows.n_classes - 1 + rows.rank[worse]] = rows.weight[worse] * shrink
    return weights


def pair_weights(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return the shares of pair weight that each stump orders correctly and wrongly."""
    n_levels = above.shape[1] // 2
    # Column k: all worse classes 0..k, which are paired with the better class k + 1.
    worse_above = np.cumsum(above[:, n_levels:], axis=1)
    worse_below = np.cumsum(below[:, n_levels:], axis=1)
    better_above, better_below = above[:, :n_levels], below[:, :n_levels]
    right = np.sum(better_above * worse_below, axis=1)
    wrong = np.sum(better_below * worse_above, axis=1)
    tied = np.sum(better_above * worse_above + better_below * worse_below, axis=1)
    # Products of weights vanish if all pairs are ordered by a gap of hundreds: no gain is left.
    everything = np.maximum(right + wrong + tied, np.finfo(np.float64).tiny)
    return right / everything, wrong / everything
