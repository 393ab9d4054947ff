"""ROC surface of three ordered classes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats


@dataclass(frozen=True, eq=False)
class RocSurface:
    """A piecewise planar ROC surface of three ordered classes.

    Two thresholds assign scores below the first to class 1, above the second to class 3, and
    between them to class 2. If `alpha` of class 1 and `gamma` of class 3 are assigned correctly,
    the surface is the correctly assigned share of class 2. It is the positive part of a function of
    `alpha` minus a function of `gamma`, so one table along the score describes it.

    Attributes
    ----------
    tails : ndarray of shape (n_cells + 1, 3)
        Share of each class above a decreasing threshold: from 0 to 1, best cell first. Within a
        cell, ties are broken at random, which joins the knots by planes.

    See Also
    --------
    treerank.metrics.RocSurface : The surface of scores and labels.

    Examples
    --------
    >>> from treerank.datasets import RocSurface
    >>> chance = RocSurface([[0, 0, 0], [1, 1, 1]])
    >>> float(chance(0.25, 0.25)), round(chance.vus, 4)
    (0.5, 0.1667)
    """

    tails: Floats

    def __post_init__(self) -> None:
        tails = np.asarray(self.tails, dtype=np.float64)
        if tails.ndim != 2 or tails.shape[1] != 3:
            raise ValueError(f"Got tails of shape {tails.shape}; expected (n_cells + 1, 3).")
        whole = np.all(tails[0] == 0) and np.allclose(tails[-1], 1)
        if not whole or np.any(np.diff(tails, axis=0) < 0):
            raise ValueError("Got tails that do not rise from 0 to 1 in every column.")
        object.__setattr__(self, "tails", tails)

    def __call__(self, alpha: ArrayLike, gamma: ArrayLike) -> Floats:
        """Return the correctly assigned share of class 2, given those of class 1 and class 3."""
        height: Floats = self.above_first(alpha) - self.above_second(gamma)
        return np.maximum(height, 0.0)

    def above_first(self, alpha: ArrayLike) -> Floats:
        """Return the share of class 2 above the threshold that keeps `alpha` of class 1 below."""
        first, second, _ = self.tails.T
        # For equal abscissas numpy.interp takes the last: the largest share of class 2.
        return np.asarray(np.interp(1 - np.asarray(alpha), first, second))

    def above_second(self, gamma: ArrayLike) -> Floats:
        """Return the share of class 2 above the threshold that keeps `gamma` of class 3 above."""
        _, second, third = self.tails[::-1].T
        # Read backwards, so that for equal abscissas the smallest share of class 2 is taken.
        return np.asarray(np.interp(1 - np.asarray(gamma), 1 - third, second))

    @cached_property
    def vus(self) -> float:
        """Volume under the surface: the probability that cases of each class are in order."""
        return partition_vus(np.diff(self.tails, axis=0))

    def grid(self, n_points: int = 101) -> tuple[Floats, Floats, Floats]:
        """Return `alpha`, `gamma` and the surface on a square grid, ready to be plotted."""
        axis = np.linspace(0, 1, n_points)
        alpha, gamma = np.meshgrid(axis, axis, indexing="ij")
        return alpha, gamma, self(alpha, gamma)


def partition_vus(masses: Floats) -> float:
    """Return the VUS of ordered cells, best first, from their share of each of three classes.

    Ties of two classes count 1/2, of three 1/6 (formula (1) of Clémençon and Robbiano 2013).
    """
    first, second, third = masses.T
    better_third = np.cumsum(third) - third
    worse_first = first.sum() - np.cumsum(first)
    chains = (
        second * worse_first * better_third
        + first * second * better_third / 2
        + second * third * worse_first / 2
        + first * second * third / 6
    )
    return float(chains.sum())
