"""The P-norm push: boosting that concentrates on the top of the list."""

from __future__ import annotations

import numpy as np

from treerank._input.parameters import check_integer, check_number
from treerank._input.types import Floats
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import RankingClassifier, TrainingRows
from treerank.baselines._stumps import StumpSum, StumpTable, boost_stumps


class PNormPush(RankingClassifier):
    """Rank by a sum of stumps that pushes highly ranked negatives down.

    The loss is ``sum_j (sum_i exp(-(s(x_i) - s(x_j))))^p`` over negatives j and positives i:
    the larger p, the more a negative near the top of the list costs [1]_. It is the product
    ``(sum_i exp(-s(x_i)))^p (sum_j exp(p s(x_j)))``, so no pairs are formed. If a and b are the
    shares of the two sums above a threshold, the best step of that stump is
    ``log(a (1-b) / (b (1-a))) / (p + 1)``; each round adds the stump that lowers the loss the
    most. With p = 1 it is `RankBoost` for two classes.

    Parameters
    ----------
    p : float, default=4.0
        Power of the push, at least 1.
    n_estimators : int, default=100
        Number of stumps.
    learning_rate : float, default=0.3
        Factor applied to every step; 1.0 is the original method, smaller values overfit less.
    smoothing : float, default=1e-3
        Weight added to both sides of the ratio in the step, which bounds it if a stump makes
        no error.
    max_bins : int, default=1024
        A feature with more distinct values than this is only cut at this many quantiles.

    Attributes
    ----------
    stumps_ : StumpSum
        `feature`, `threshold` and `step` of each stump, in the order of the rounds.
    classes_ : ndarray of shape (2,)
        The labels, with the positive one last.

    References
    ----------
    .. [1] Rudin (2009), The P-norm push: a simple convex ranking algorithm that concentrates
       at the top of the list, Journal of Machine Learning Research 10, 2233-2271.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import PNormPush
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PNormPush().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    stumps_: StumpSum

    def __init__(
        self,
        p: float = 4.0,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        smoothing: float = 1e-3,
        max_bins: int = 1024,
    ) -> None:
        self.p = p
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.smoothing = smoothing
        self.max_bins = max_bins

    def __sklearn_tags__(self):  # type: ignore[no-untyped-def]
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_parameters(self) -> None:
        check_number("p", self.p, 1)
        check_integer("n_estimators", self.n_estimators, 1)
        check_positive("learning_rate", self.learning_rate)
        check_positive("smoothing", self.smoothing)
        check_integer("max_bins", self.max_bins, 2)

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        self.stumps_ = boost_stumps(
            StumpTable(rows.X, rows.weight, self.max_bins),
            lambda scores: push_weights(scores, rows, self.p),
            lambda above, below: weigh_push(above, below, self.p, self.smoothing),
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
        )
        return self.stumps_(rows.X)

    def _raw_scores(self, X: Floats) -> Floats:
        return self.stumps_(X)


def push_weights(scores: Floats, rows: TrainingRows, p: float) -> Floats:
    """Return ``w exp(-s)`` for positives and ``w exp(p s)`` for negatives, both rescaled."""
    weights = np.zeros((len(scores), 2))
    positive = rows.rank == 1
    shrink = np.exp(scores[positive].min() - scores[positive])
    weights[positive, 0] = rows.weight[positive] * shrink
    shrink = np.exp(p * (scores[~positive] - scores[~positive].max()))
    weights[~positive, 1] = rows.weight[~positive] * shrink
    return weights


def weigh_push(above: Floats, below: Floats, p: float, smoothing: float) -> tuple[Floats, Floats]:
    """Return the gain of each stump, which grows as its best step lowers the loss, and the step.

    With q = 1 / (p + 1), the best step multiplies the loss by
    ``((a^p b)^q + ((1-a)^p (1-b))^q)^(p+1)``; the inner sum is at most 1 (Hoelder).
    """
    (a, b), (not_a, not_b) = (above / (above + below)).T, (below / (above + below)).T
    q = 1 / (p + 1)
    left = a ** (p * q) * b**q + not_a ** (p * q) * not_b**q
    step = q * np.log((a * not_b + smoothing) / (b * not_a + smoothing))
    return 1 - left, step
