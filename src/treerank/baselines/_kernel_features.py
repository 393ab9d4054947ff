"""Features in which a kernel machine is linear: exact, or by Nystroem's approximation.

A kernel machine with penalty ``||f||^2`` is the linear one with penalty ``||coef||^2`` on
features whose inner products are the kernel. For the Gaussian kernel and few rows, these are
the rows of a Cholesky factor of the kernel matrix, which is exact. For many rows, they are
Nystroem's features for a random basis of rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from treerank._input.types import Floats

# "auto" uses the exact kernel up to this many rows: a 200 MB matrix.
MAX_EXACT_ROWS = 5_000
# A row whose squared distance in feature space to the span of the basis is below this (the
# diagonal of the kernel is 1) has no visible effect on a score.
RANK_TOLERANCE = 1e-10
# Kernel values computed at once when scoring: 64 MB.
BATCH_CELLS = 8_000_000


@dataclass(frozen=True)
class LinearScore:
    """The score ``X @ coef``."""

    coef: Floats

    def __call__(self, X: Floats) -> Floats:
        """Score rows."""
        return X @ self.coef


@dataclass(frozen=True)
class KernelScore:
    """The score ``sum_b dual_coef[b] * exp(-gamma * ||x - basis[b]||^2)``."""

    basis: Floats
    dual_coef: Floats
    gamma: float

    def __call__(self, X: Floats) -> Floats:
        """Score rows in batches, so that memory stays bounded."""
        scores = np.empty(len(X))
        for batch in gen_batches(len(X), max(1, BATCH_CELLS // len(self.basis))):
            kernel = rbf_kernel(X[batch], self.basis, gamma=self.gamma)
            scores[batch] = kernel @ self.dual_coef
        return scores


@dataclass(frozen=True)
class LinearFeatures:
    """The columns themselves."""

    values: Floats

    def score_of(self, coef: Floats) -> LinearScore:
        """Return the scoring rule with these coefficients."""
        return LinearScore(coef)


@dataclass(frozen=True)
class CholeskyFeatures:
    """Rows of the pivoted Cholesky factor of the kernel matrix; exact.

    With basis rows b and their lower factor T, a row has the features ``T^-1 k(b, x)``.
    """

    values: Floats
    basis: Floats
    triangle: Floats
    gamma: float

    def score_of(self, coef: Floats) -> KernelScore:
        """Return the scoring rule with these coefficients."""
        dual_coef = solve_triangular(self.triangle, coef, lower=True, trans="T")
        return KernelScore(self.basis, dual_coef, self.gamma)


@dataclass(frozen=True)
class NystroemFeatures:
    """Features spanned by a random basis of rows."""

    values: Floats
    basis: Floats
    normalization: Floats
    gamma: float

    def score_of(self, coef: Floats) -> KernelScore:
        """Return the scoring rule with these coefficients."""
        return KernelScore(self.basis, self.normalization.T @ coef, self.gamma)


def cholesky_features(X: Floats, gamma: float) -> CholeskyFeatures:
    """Factor the kernel matrix of all rows."""
    n_rows = len(X)
    check_memory(
        n_rows,
        n_rows,
        "Use approximation='nystroem' with n_components of about 1,000.",
    )
    kernel = np.asfortranarray(rbf_kernel(X, gamma=gamma))
    # Pivoting stops at the numerical rank, so repeated rows and smooth kernels need no jitter.
    factor, pivot, rank, _ = lapack.dpstrf(kernel, tol=RANK_TOLERANCE, lower=1, overwrite_a=1)
    order = pivot - 1
    lower = np.tril(factor[:, :rank])
    values = np.empty((n_rows, rank))
    values[order] = lower
    return CholeskyFeatures(values, X[order[:rank]], lower[:rank], gamma)


def nystroem_features(
    X: Floats, gamma: float, n_components: int, random_state: int | np.random.RandomState | None
) -> NystroemFeatures:
    """Map all rows to the features of a random basis."""
    n_components = min(n_components, len(X))
    check_memory(len(X), n_components, "Use a smaller n_components.")
    nystroem = Nystroem(gamma=gamma, n_components=n_components, random_state=random_state)
    values = nystroem.fit_transform(X)
    return NystroemFeatures(values, nystroem.components_, nystroem.normalization_, gamma)


def check_memory(n_rows: int, n_columns: int, remedy: str) -> None:
    """Raise an error if a matrix with one working copy takes over half of the memory."""
    needed = 2 * 8 * n_rows * n_columns
    memory = physical_memory()
    if needed > memory / 2:
        raise MemoryError(
            f"Got {n_rows:,} rows: a kernel matrix of {n_rows:,} x {n_columns:,} needs "
            f"{needed / 2**30:,.1f} GiB with its factor, over half of this machine's "
            f"{memory / 2**30:,.1f} GiB. {remedy}"
        )


def physical_memory() -> float:
    """Return the machine's memory in bytes; infinite if the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return np.inf
