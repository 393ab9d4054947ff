"""RankSVM: a large margin between the scores of every pair of rows with different labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from treerank._input.parameters import check_integer
from treerank._input.types import Floats
from treerank._input.warn import warn
from treerank.baselines._kernel_ranker import KernelRanker
from treerank.baselines._pairwise_hinge import PairwiseHinge, pair_weight
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import TrainingRows

# Limits that only ill-posed problems reach (a Gaussian kernel with C of 1e6 and more).
MAX_CG = 500
LONGEST_STEP = 1e6


class RankSVM(KernelRanker):
    """Rank by a linear or Gaussian-kernel score with a margin on pairs of rows.

    Minimises ``||s||^2 / 2 + C n L``, where n is the number of rows (the sum of weights) and L
    the mean of ``max(0, 1 - (s(x_i) - s(x_j)))^2`` over all pairs whose first row has the
    higher label [1]_: the squared hinge, which is smooth, instead of the hinge. The solver is a
    truncated Newton method in the primal [2]_, with sorted running sums over the pairs: each
    pass costs O(n log n) plus one product with the features, for any number of classes.

    Features are standardised internally. With ``kernel="rbf"`` the model is linear in features
    that reproduce the kernel, exactly up to 5,000 rows and by Nystroem's method beyond.

    Parameters
    ----------
    C : float, default=0.1
        Weight of the loss relative to the norm of the score.
    kernel : {"linear", "rbf"}, default="linear"
        Whether the score is linear in the features, or a sum of Gaussians.
    gamma : float or "scale", default="scale"
        Gaussians are ``exp(-gamma ||x - x'||^2)`` on standardised features; "scale" is one
        over the number of features that vary.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        How the Gaussian kernel is computed; "auto" is exact up to 5,000 rows.
    n_components : int, default=1000
        Size of Nystroem's basis.
    tol : float, default=1e-8
        Norm of the gradient at which the solver stops, relative to the initial norm.
    max_iter : int, default=100
        Maximum number of Newton steps.
    random_state : int, RandomState or None, default=None
        Seed for Nystroem's basis.

    Attributes
    ----------
    scoring_rule_ : LinearScore or KernelScore
        `coef`, or `basis`, `dual_coef` and `gamma`, for standardised features.
    scaler_ : StandardScaler
        Standardises the features.
    loss_ : float
        The minimum, including the penalty.
    n_iter_ : int
        Number of Newton steps.
    classes_ : ndarray
        The labels, worst first.
    cut_offs_ : ndarray of shape (n_classes - 1,)
        Scores at which `predict` switches to the next class.

    References
    ----------
    .. [1] Herbrich, Graepel and Obermayer (2000), Large margin rank boundaries for ordinal
       regression, Advances in Large Margin Classifiers, 115-132.
    .. [2] Lee and Lin (2014), Large-scale linear RankSVM, Neural Computation 26, 781-817.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import RankSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankSVM().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    loss_: float
    n_iter_: int

    def __init__(
        self,
        C: float = 0.1,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        approximation: str = "auto",
        n_components: int = 1000,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.approximation = approximation
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_integer("max_iter", self.max_iter, 1)

    def _fit_linear(self, features: Floats, rows: TrainingRows) -> tuple[Floats, Floats]:
        objective = MarginObjective(features, rows, self.C)
        coef, self.n_iter_, converged = minimise_by_newton(objective, self.tol, self.max_iter)
        if not converged:
            warn(
                f"RankSVM stopped after {self.n_iter_} Newton steps short of tol={self.tol:g}; "
                f"raise max_iter={self.max_iter} or tol, or lower C={self.C:g}.",
                ConvergenceWarning,
            )
        self.loss_ = objective.value(coef)
        return coef, features @ coef


class MarginObjective:
    """The penalised mean squared hinge over pairs, as a function of the coefficients."""

    def __init__(self, features: Floats, rows: TrainingRows, C: float) -> None:
        self.features = features
        self._rows = rows
        pairs = pair_weight(rows.rank, rows.weight, rows.n_classes)
        self._factor = C * float(rows.weight.sum()) / pairs

    def pairs_at(self, scores: Floats) -> PairwiseHinge:
        """Return the loss over pairs at these scores, which takes one sort."""
        return PairwiseHinge(scores, self._rows.rank, self._rows.weight, self._rows.n_classes)

    def value(self, coef: Floats) -> float:
        """Return the objective."""
        loss = self.pairs_at(self.features @ coef).loss()
        return 0.5 * float(coef @ coef) + self._factor * loss

    def gradient(self, coef: Floats, pairs: PairwiseHinge) -> Floats:
        """Return the derivative with respect to the coefficients."""
        slope: Floats = coef + self._factor * (self.features.T @ pairs.gradient())
        return slope

    def hessian(self, pairs: PairwiseHinge) -> LinearOperator:
        """Return the (generalised) second derivative as an operator."""
        size = self.features.shape[1]

        def product(direction: Floats) -> Floats:
            curvature = pairs.product(self.features @ direction)
            result: Floats = direction + 2 * self._factor * (self.features.T @ curvature)
            return result

        return LinearOperator((size, size), matvec=product, dtype=np.float64)

    def slope_along(
        self, coef: Floats, direction: Floats, scores: Floats, change: Floats
    ) -> Callable[[float], float]:
        """Return the derivative of the objective along `direction`, as a function of the step."""
        along, squared = float(coef @ direction), float(direction @ direction)

        def slope(step: float) -> float:
            pull = self.pairs_at(scores + step * change).gradient()
            return along + step * squared + self._factor * float(change @ pull)

        return slope


def minimise_by_newton(
    objective: MarginObjective, tol: float, max_iter: int
) -> tuple[Floats, int, bool]:
    """Minimise the convex, piecewise quadratic objective; return (coef, steps, converged).

    Directions come from conjugate gradients, steps from a line search on the slope alone:
    differences of the objective would be lost in rounding long before the gradient is small.
    """
    coef = np.zeros(objective.features.shape[1])
    scores = np.zeros(objective.features.shape[0])
    pairs = objective.pairs_at(scores)
    gradient = objective.gradient(coef, pairs)
    first = float(np.linalg.norm(gradient))
    for iteration in range(max_iter):
        remaining = float(np.linalg.norm(gradient))
        if remaining <= tol * first:
            return coef, iteration, True
        # Directions get more exact towards the end, which gives superlinear convergence.
        accuracy = min(0.1, np.sqrt(remaining / first))
        direction, _ = cg(objective.hessian(pairs), -gradient, rtol=accuracy, maxiter=MAX_CG)
        change = objective.features @ direction
        slope = objective.slope_along(coef, direction, scores, change)
        step = best_step(slope, float(gradient @ direction))
        coef = coef + step * direction
        scores = scores + step * change
        pairs = objective.pairs_at(scores)
        gradient = objective.gradient(coef, pairs)
    return coef, max_iter, bool(np.linalg.norm(gradient) <= tol * first)


def best_step(slope: Callable[[float], float], at_zero: float) -> float:
    """Return a step at which an increasing slope, negative at zero, is close to zero.

    The full Newton step is exact once the set of active pairs no longer changes.
    """
    right, at_right = 1.0, slope(1.0)
    if abs(at_right) <= 0.1 * abs(at_zero):
        return right
    while at_right < 0 and right < LONGEST_STEP:
        right *= 4
        at_right = slope(right)
    # At the limit of precision the slope at zero may not be negative: nothing is left to search.
    if at_right < 0 or slope(0.0) >= 0:
        return right
    return float(brentq(slope, 0.0, right, xtol=1e-12, rtol=1e-3))
