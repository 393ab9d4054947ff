"""RankSVM: a large margin between the scores of every pair of rows with different labels."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from treerank.baselines._kernel_ranker import KernelRanker
from treerank.baselines._pairwise_hinge import PairwiseHinge, pair_mass
from treerank.baselines._parameters import check_integer, check_number
from treerank.baselines._ranking_classifier import TrainingRows

FloatArray = NDArray[np.float64]


class RankSVM(KernelRanker):
    """Rank by a linear or Gaussian-kernel score with a margin on pairs of rows.

    Minimises ``||s||^2 / 2 + C n L``, with n the number of rows (the sum of weights) and L
    the mean of ``max(0, 1 - (s(x_i) - s(x_j)))^2`` over all pairs whose first row has the
    higher label [1]_: the squared hinge, which is smooth, in place of the hinge. A truncated
    Newton method in the primal [2]_, with sorted running sums for the pairs: each pass costs
    O(n log n) plus one product with the features, for two classes or more.

    Features are standardised inside. With ``kernel="rbf"`` the machine is linear in features
    that reproduce the kernel, exactly up to 5,000 rows and by Nystroem's method beyond.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the norm of the score.
    kernel : {"linear", "rbf"}, default="linear"
        The score is linear in the features, or a sum of Gaussians.
    gamma : float or "scale", default="scale"
        Gaussians are ``exp(-gamma ||x - x'||^2)`` on standardised features; "scale" is one
        over the number of features.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        How the Gaussian kernel is treated; "auto" is exact up to 5,000 rows.
    n_components : int, default=1000
        Size of Nystroem's basis.
    tol : float, default=1e-8
        The gradient's norm at the end, relative to its norm at the start.
    max_iter : int, default=200
        Largest number of Newton steps.
    random_state : int, RandomState or None, default=None
        Draws Nystroem's basis.

    Attributes
    ----------
    scoring_rule_ : LinearScore or KernelScore
        `coef`, or `basis`, `dual_coef` and `gamma`, for standardised features.
    scaler_ : StandardScaler
        Standardises the features.
    n_iter_ : int
        Newton steps taken.
    classes_ : ndarray
        The labels, worst first.
    cut_offs_ : ndarray of shape (n_classes - 1,)
        Scores at which `predict` passes to the next class.

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
    >>> model = RankSVM(C=0.1).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.99
    """

    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        approximation: str = "auto",
        n_components: int = 1000,
        tol: float = 1e-8,
        max_iter: int = 200,
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
        check_number("C", self.C, above=0)
        check_number("tol", self.tol, above=0)
        check_integer("max_iter", self.max_iter, least=1)

    def _fit_linear(
        self, features: FloatArray, rows: TrainingRows
    ) -> tuple[FloatArray, FloatArray]:
        objective = MarginObjective(features, rows, self.C)
        start = np.zeros(features.shape[1])
        _, slope = objective.value_and_gradient(start)
        found = minimize(
            objective.value_and_gradient,
            start,
            jac=True,
            hessp=objective.hessian_product,
            method="trust-ncg",
            options={
                "gtol": self.tol * float(np.linalg.norm(slope)),
                "maxiter": self.max_iter,
            },
        )
        self.n_iter_ = int(found.nit)
        if not found.success:
            warnings.warn(
                f"RankSVM stopped after {found.nit} Newton steps; raise max_iter={self.max_iter} "
                f"or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found.x, features @ found.x


class MarginObjective:
    """The penalised mean squared hinge over pairs, as a function of the coefficients."""

    def __init__(self, features: FloatArray, rows: TrainingRows, C: float) -> None:
        self._features = features
        self._rows = rows
        self._factor = C * rows.weight.sum() / pair_mass(rows.rank, rows.weight, rows.n_classes)
        self._coef: FloatArray | None = None
        self._pairs: PairwiseHinge

    def value_and_gradient(self, coef: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its derivative."""
        pairs = self._pairs_at(coef)
        value = 0.5 * float(coef @ coef) + self._factor * pairs.loss()
        return value, coef + self._factor * (self._features.T @ pairs.gradient())

    def hessian_product(self, coef: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the (generalised) second derivative at `coef` times `direction`."""
        curvature = self._pairs_at(coef).product(self._features @ direction)
        return direction + 2 * self._factor * (self._features.T @ curvature)

    def _pairs_at(self, coef: FloatArray) -> PairwiseHinge:
        # One sort serves the value and all Hessian products of a Newton step.
        if self._coef is None or not np.array_equal(coef, self._coef):
            rank, weight, n_classes = self._rows.rank, self._rows.weight, self._rows.n_classes
            self._pairs = PairwiseHinge(self._features @ coef, rank, weight, n_classes)
            self._coef = coef.copy()
        return self._pairs
