"""Kernel logistic regression: the log-odds as a sum of Gaussians."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from treerank._input.parameters import check_integer
from treerank._input.types import Floats
from treerank.baselines._kernel_ranker import KernelRanker
from treerank.baselines._parameters import check_positive
from treerank.baselines._probabilistic import ProbabilisticRanker
from treerank.baselines._ranking_classifier import TrainingRows


class KernelLogisticRegression(ProbabilisticRanker, KernelRanker):
    """Rank two classes by the log-odds of a Gaussian-kernel logistic model.

    Minimises ``||f||^2 / 2 + C sum_i log(1 + exp(-y_i (f(x_i) + b)))`` over the kernel's
    space [1]_, by scikit-learn's logistic regression on features that reproduce the kernel:
    exactly up to 5,000 rows, and by Nystroem's method beyond. Features are standardised
    internally.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss relative to the norm of the score.
    kernel : {"rbf", "linear"}, default="rbf"
        Whether the score is a sum of Gaussians, or linear in the features.
    gamma : float or "scale", default="scale"
        Gaussians are ``exp(-gamma ||x - x'||^2)`` on standardised features; "scale" is one
        over the number of features that vary.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        How the Gaussian kernel is computed; "auto" is exact up to 5,000 rows.
    n_components : int, default=1000
        Size of Nystroem's basis.
    tol : float, default=1e-8
        Tolerance of the solver.
    max_iter : int, default=1000
        Maximum number of steps of the solver.
    random_state : int, RandomState or None, default=None
        Seed for Nystroem's basis.

    Attributes
    ----------
    scoring_rule_ : LinearScore or KernelScore
        `coef`, or `basis`, `dual_coef` and `gamma`, for standardised features.
    intercept_ : float
        Added to the scoring rule.
    n_iter_ : int
        Number of steps of the solver.
    scaler_ : StandardScaler
        Standardises the features.
    classes_ : ndarray of shape (2,)
        The labels, with the positive one last.

    References
    ----------
    .. [1] Zhu and Hastie (2005), Kernel logistic regression and the import vector machine,
       Journal of Computational and Graphical Statistics 14, 185-205.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import KernelLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelLogisticRegression().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    intercept_: float
    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        approximation: str = "auto",
        n_components: int = 1000,
        tol: float = 1e-8,
        max_iter: int = 1000,
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
        model = LogisticRegression(
            C=self.C, tol=self.tol, max_iter=self.max_iter, solver="newton-cg"
        )
        model.fit(features, rows.rank, sample_weight=rows.weight)
        self.intercept_ = float(model.intercept_[0])
        self.n_iter_ = int(model.n_iter_[0])
        return model.coef_[0], model.decision_function(features)

    def _raw_scores(self, X: Floats) -> Floats:
        return super()._raw_scores(X) + self.intercept_
