"""RankRLS: least squares on the differences of all pairs, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from treerank._input.types import Floats
from treerank.baselines._kernel_ranker import KernelRanker
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import TrainingRows

DEFAULT_ALPHAS = tuple(float(alpha) for alpha in np.logspace(-4, 6, 21))


class RankRLS(KernelRanker):
    """Rank by a linear or Gaussian-kernel score whose differences fit those of the labels.

    Minimises ``sum_{i<j} ((y_i - y_j) - (s(x_i) - s(x_j)))^2 / n + alpha ||s||^2`` over all
    pairs of the n rows, with labels numbered 0, 1, ..., K-1 [1]_. The mean over pairs is the
    variance of the residuals, so the minimiser is a ridge regression about the means: one
    eigendecomposition serves every `alpha`, and leaving one row out needs no refit [2]_.
    `alpha` is chosen by the leave-one-out squared error.

    Features are standardised internally. With ``kernel="rbf"`` the model is linear in features
    that reproduce the kernel, exactly up to 5,000 rows and by Nystroem's method beyond.

    Parameters
    ----------
    alphas : sequence of float, default=21 values from 1e-4 to 1e6
        Regularisation strengths to choose from; a single one is used as it is.
    kernel : {"linear", "rbf"}, default="linear"
        Whether the score is linear in the features, or a sum of Gaussians.
    gamma : float or "scale", default="scale"
        Gaussians are ``exp(-gamma ||x - x'||^2)`` on standardised features; "scale" is one
        over the number of features that vary.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        How the Gaussian kernel is computed; "auto" is exact up to 5,000 rows.
    n_components : int, default=1000
        Size of Nystroem's basis.
    random_state : int, RandomState or None, default=None
        Seed for Nystroem's basis.

    Attributes
    ----------
    alpha_ : float
        The chosen regularisation strength.
    loo_errors_ : ndarray of shape (n_alphas,)
        Mean squared leave-one-out error for each of `alphas`.
    loo_scores_ : ndarray of shape (n_rows,)
        Score of each training row of positive weight by the model fitted without it, on the
        scale 0 .. K-1 of the labels. A row of weight w > 1 counts as w rows, one of which is
        left out.
    scoring_rule_ : LinearScore or KernelScore
        `coef`, or `basis`, `dual_coef` and `gamma`, for standardised features.
    scaler_ : StandardScaler
        Standardises the features.
    classes_ : ndarray
        The labels, worst first.
    cut_offs_ : ndarray of shape (n_classes - 1,)
        Scores at which `predict` switches to the next class, set by `loo_scores_`.

    References
    ----------
    .. [1] Pahikkala, Tsivtsivadze, Airola, Jarvinen and Boberg (2009), An efficient algorithm
       for learning to rank from preference graphs, Machine Learning 75, 129-165.
    .. [2] Rifkin and Lippert (2007), Notes on regularized least squares, MIT technical report.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank.baselines import RankRLS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankRLS(kernel="rbf").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.98
    True
    """

    alpha_: float
    loo_errors_: Floats
    loo_scores_: Floats

    def __init__(
        self,
        alphas: Sequence[float] = DEFAULT_ALPHAS,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        approximation: str = "auto",
        n_components: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.ndim(self.alphas) != 1 or len(self.alphas) == 0:
            raise ValueError(f"Got alphas={self.alphas!r}; expected a sequence of numbers > 0.")
        for i, alpha in enumerate(self.alphas):
            check_positive(f"alphas[{i}]", alpha)

    def _fit_linear(self, features: Floats, rows: TrainingRows) -> tuple[Floats, Floats]:
        alphas = np.asarray(self.alphas, dtype=np.float64)
        path = ridge_path(features, rows.rank.astype(np.float64), rows.weight, alphas)
        best = int(np.argmin(path.loo_errors))
        self.alpha_ = float(alphas[best])
        self.loo_errors_ = path.loo_errors
        self.loo_scores_ = path.loo_scores[:, best]
        # The ridge scores include the intercept; the scoring rule does not.
        return path.coefs[:, best], self.loo_scores_ - path.intercepts[best]


class RidgePath(NamedTuple):
    """Ridge regressions and their leave-one-out predictions, one column per alpha."""

    coefs: Floats
    intercepts: Floats
    loo_scores: Floats
    loo_errors: Floats


def ridge_path(features: Floats, target: Floats, weight: Floats, alphas: Floats) -> RidgePath:
    """Fit ``sum_i w_i (target_i - b - features_i coef)^2 + alpha ||coef||^2`` for all alphas.

    With centred features ``Z = U S V'``, a left-out row has the residual ``e / (1 - d g)``,
    where e is its residual, g its leverage per unit of weight and d the weight left out: 1,
    or the whole weight of a lighter row.
    """
    share = weight / weight.sum()
    centre, middle = share @ features, float(share @ target)
    root = np.sqrt(weight)
    centred = (features - centre) * root[:, None]
    spectrum, basis = eigh(centred.T @ centred)
    shrink = 1 / (np.maximum(spectrum, 0)[:, None] + alphas)

    rotated = centred @ basis
    in_basis = shrink * (rotated.T @ (root * (target - middle)))[:, None]
    coefs = basis @ in_basis
    fitted = middle + (rotated @ in_basis) / root[:, None]
    # In place: on kernel features this is the largest array of the fit.
    leverage = np.square(rotated, out=rotated) @ shrink / weight[:, None] + 1 / weight.sum()
    left_out = np.minimum(weight, 1)[:, None]
    residual = (target[:, None] - fitted) / (1 - left_out * leverage)
    return RidgePath(
        coefs=coefs,
        intercepts=middle - centre @ coefs,
        loo_scores=target[:, None] - residual,
        loo_errors=share @ np.square(residual),
    )
