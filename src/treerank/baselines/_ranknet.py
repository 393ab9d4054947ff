"""RankNet: a small network trained on the logistic loss of pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from treerank._growth.pairwise_logistic import pairwise_logistic
from treerank._input.parameters import check_integer, check_number
from treerank._input.types import Floats
from treerank.baselines._pairwise_hinge import pair_weight
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import RankingClassifier, TrainingRows, fit_scaler


class RankNet(RankingClassifier):
    """Rank by a network with one hidden layer, trained on pairs of rows.

    Minimises the mean of ``log(1 + exp(-(s(x_i) - s(x_j))))`` over all pairs whose first row
    has the higher label [1]_, plus ``alpha / 2`` times the squared weights, with
    ``s(x) = v' tanh(W x + b)``. The loss and its gradient use all pairs in every pass and
    yet cost only O(n log n): sums of a smooth function of score differences are interpolated in
    boxes of scores, with a relative error of about 1e-13, so the gradient is exact for all
    practical purposes. The weights are found by L-BFGS. Features are standardised internally.

    Parameters
    ----------
    hidden_units : int, default=10
        Size of the hidden layer.
    alpha : float, default=1e-2
        Penalty on the squared weights (not on the biases).
    tol : float, default=1e-6
        L-BFGS stops if no entry of the gradient is larger.
    max_iter : int, default=200
        Maximum number of L-BFGS steps. Reaching it is common and harmless: early stopping also
        guards against overfitting.
    random_state : int, RandomState or None, default=None
        Seed for the initial weights.

    Attributes
    ----------
    network_ : Network
        `hidden`, `bias` and `output`, for standardised features.
    loss_ : float
        The minimum found, including the penalty.
    n_iter_ : int
        Number of L-BFGS steps.
    scaler_ : StandardScaler
        Standardises the features.
    classes_ : ndarray
        The labels, worst first.
    cut_offs_ : ndarray of shape (n_classes - 1,)
        Scores at which `predict` switches to the next class.

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005), Learning to
       rank using gradient descent, Proceedings of ICML, 89-96.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import RankNet
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankNet(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    network_: Network
    loss_: float
    n_iter_: int
    scaler_: StandardScaler

    def __init__(
        self,
        hidden_units: int = 10,
        *,
        alpha: float = 1e-2,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("hidden_units", self.hidden_units, 1)
        check_number("alpha", self.alpha, 0)
        check_positive("tol", self.tol)
        check_integer("max_iter", self.max_iter, 1)

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        self.scaler_ = fit_scaler(rows)
        scaled = rows._replace(X=self.scaler_.transform(rows.X))
        start = draw_network(
            scaled.X.shape[1], self.hidden_units, check_random_state(self.random_state)
        )
        found = minimize(
            penalised_loss,
            start.flatten(),
            args=(scaled, self.alpha),
            jac=True,
            method="L-BFGS-B",
            options={"gtol": self.tol, "ftol": 0.0, "maxiter": self.max_iter},
        )
        if not np.isfinite(found.fun):
            raise FloatingPointError("the loss is not finite")
        self.network_ = unflatten(found.x, scaled.X.shape[1])
        self.loss_ = float(found.fun)
        self.n_iter_ = int(found.nit)
        return self.network_(scaled.X)

    def _raw_scores(self, X: Floats) -> Floats:
        return self.network_(self.scaler_.transform(X))


class Network(NamedTuple):
    """The score ``tanh(X @ hidden + bias) @ output``."""

    hidden: Floats
    bias: Floats
    output: Floats

    def __call__(self, X: Floats) -> Floats:
        """Score rows."""
        return self.activate(X) @ self.output

    def activate(self, X: Floats) -> Floats:
        """Return the values of the hidden units."""
        return np.tanh(X @ self.hidden + self.bias)

    def flatten(self) -> Floats:
        """Return all weights as one vector."""
        return np.concatenate([self.hidden.ravel(), self.bias, self.output])


def unflatten(weights: Floats, n_features: int) -> Network:
    """Return the network with the given flattened weights."""
    n_units = len(weights) // (n_features + 2)
    hidden, bias, output = np.split(weights, [n_features * n_units, (n_features + 1) * n_units])
    return Network(hidden.reshape(n_features, n_units), bias, output)


def draw_network(n_features: int, n_units: int, rng: np.random.RandomState) -> Network:
    """Draw weights that keep the units in the steep part of tanh (Glorot and Bengio, 2010)."""
    bound = np.sqrt(6 / (n_features + n_units))
    hidden = rng.uniform(-bound, bound, size=(n_features, n_units))
    bias = rng.uniform(-bound, bound, size=n_units)
    bound = np.sqrt(6 / (n_units + 1))
    return Network(hidden, bias, rng.uniform(-bound, bound, size=n_units))


def penalised_loss(weights: Floats, rows: TrainingRows, alpha: float) -> tuple[float, Floats]:
    """Return the mean logistic loss over pairs, including the penalty, and its gradient."""
    network = unflatten(weights, rows.X.shape[1])
    units = network.activate(rows.X)
    scores = units @ network.output
    loss, slope = pairwise_logistic(scores, rows.rank, rows.weight, rows.n_classes)
    pairs = pair_weight(rows.rank, rows.weight, rows.n_classes)

    into_units = (slope / pairs)[:, None] * network.output * (1 - units**2)
    gradient = Network(
        hidden=rows.X.T @ into_units + alpha * network.hidden,
        bias=into_units.sum(axis=0),
        output=units.T @ (slope / pairs) + alpha * network.output,
    )
    squares = float(np.sum(network.hidden**2) + np.sum(network.output**2))
    return loss / pairs + 0.5 * alpha * squares, gradient.flatten()
