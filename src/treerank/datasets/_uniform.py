"""Mixtures of uniform distributions on equal cells of the unit square."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats, Indices, RandomStateLike

from ._roc_surface import RocSurface
from ._truth import BinaryTruth, OrdinalTruth, RocCurve, SimulatedSample, check_shares, two_shares

# Section 6.1 of Clémençon, Depecker and Vayatis (2011): quarters of the square, row by row from the
# bottom. The paper's X1, X2, X4, X3; it gives eta = 0.7 for the first, which is 2/3 rounded.
_QUARTERS = np.array(
    [
        # negatives, positives
        [0.2, 0.4],
        [0.1, 0.3],
        [0.4, 0.1],
        [0.3, 0.2],
    ]
)

# Table 1 of Clémençon and Robbiano (2013), worst cell first: odds of class 2 to 1 and of 3 to 2.
# Read as posterior odds with X uniform on the square, VUS* is 0.5930 (the paper gives 0.5926); read
# as ratios of class densities, no choice of masses would raise VUS* above 0.512.
_ODDS_2_1 = np.array([0.00001, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0, np.inf, np.inf])
_ODDS_3_2 = np.array([0.0, 0.0, 0.6, 0.8, 1.0, 1.0, 5 / 3, 2.5, 1000.0])

# Rank of the cells, row by row from the bottom; 0 is the worst. The paper's own figure is lost.
# With these ranks the best linear and the best additive score reach about 0.297, like the paper's
# linear methods.
_RANKS = np.array([0, 4, 2, 8, 3, 1, 6, 5, 7])


def _locate(X: Floats, side: int) -> Indices:
    """Return the cell of each row, numbered row by row from the bottom."""
    column, row = np.minimum((X * side).astype(np.int64), side - 1).T
    return np.asarray(column + side * row)


def _draw_in_cells(masses: Floats, side: int, size: int, random: np.random.RandomState) -> Floats:
    cell = random.choice(masses.size, size=size, p=masses)
    corner = np.column_stack([cell % side, cell // side])
    return np.asarray((corner + random.random_sample((size, 2))) / side)


@dataclass(frozen=True, eq=False)
class UniformMixture(BinaryTruth):
    """Two classes, uniform within each cell of a square grid: the ROC curve is a polygon.

    Attributes
    ----------
    class_shares : ndarray of shape (2,)
    masses : ndarray of shape (side * side, 2)
        Share of negatives and positives in each cell, row by row from the bottom.
    """

    class_shares: Floats
    masses: Floats
    side = 2
    n_features = 2
    on_unit_square = True

    @property
    def _ratios(self) -> Floats:
        return np.asarray(self.masses[:, 1] / self.masses[:, 0])

    def score(self, X: ArrayLike) -> Floats:
        """Return the log likelihood ratio of positives to negatives at given rows."""
        return np.asarray(np.log(self._ratios)[_locate(self._check_rows(X), self.side)])

    def rates(self, ratio: ArrayLike) -> tuple[Floats, Floats]:
        """Return false and true positive rate of the cells whose ratio is above `ratio`."""
        taken = self._ratios > np.asarray(ratio, dtype=np.float64)[..., np.newaxis]
        fpr, tpr = np.moveaxis(taken @ self.masses, -1, 0)
        return fpr, tpr

    @cached_property
    def roc(self) -> RocCurve:
        """The exact knots of the optimal ROC curve."""
        thresholds = np.append(np.sort(self._ratios)[::-1], 0.0)
        return RocCurve(*self.rates(thresholds), thresholds)

    @cached_property
    def auc(self) -> float:
        """The exact area under the optimal ROC curve."""
        fpr, tpr, _ = self.roc
        return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)

    def _draw(self, which: int, size: int, random: np.random.RandomState) -> Floats:
        return _draw_in_cells(self.masses[:, which], self.side, size, random)


@dataclass(frozen=True, eq=False)
class OrdinalUniform(OrdinalTruth):
    """Three ordered classes, uniform within each of nine cells of the unit square.

    The score is the rank of the cell, 0 (worst) to 8 (best).

    Attributes
    ----------
    class_shares : ndarray of shape (3,)
    masses : ndarray of shape (9, 3)
        Share of each class in each cell, worst cell first.
    """

    class_shares: Floats
    masses: Floats
    side = 3
    n_features = 2
    on_unit_square = True

    def score(self, X: ArrayLike) -> Floats:
        """Return the rank of each row's cell."""
        return _RANKS[_locate(self._check_rows(X), self.side)].astype(np.float64)

    def log_densities(self, X: ArrayLike) -> Floats:
        """Return the log density of every class at given rows; -inf if a class is absent."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses * len(self.masses))
        return np.asarray(logs[self.score(X).astype(np.int64)])

    def tails(self, level: ArrayLike) -> Floats:
        """Return, for each class, the share of the cells ranked above `level`."""
        taken = np.arange(len(self.masses)) > np.asarray(level, dtype=np.float64)[..., np.newaxis]
        return np.asarray(taken @ self.masses)

    def level(self, pair: int, ratio: ArrayLike) -> Floats:
        """Return the rank above which class ``pair + 1`` is over `ratio` times as likely."""
        with np.errstate(divide="ignore"):
            ratios = self.masses[:, pair] / self.masses[:, pair - 1]
        return np.asarray(np.searchsorted(ratios, ratio, side="right") - 0.5, dtype=np.float64)

    @cached_property
    def roc_surface(self) -> RocSurface:
        """The exact optimal ROC surface."""
        tails = np.vstack([np.zeros(3), np.cumsum(self.masses[::-1], axis=0)])
        return RocSurface(np.minimum(tails, 1.0))

    @property
    def vus(self) -> float:
        """The exact volume under the optimal ROC surface."""
        return self.roc_surface.vus

    def _draw(self, which: int, size: int, random: np.random.RandomState) -> Floats:
        return _draw_in_cells(self.masses[_RANKS, which], self.side, size, random)


def make_uniform_mixture(
    n_samples: int = 2000, *, positive_rate: float = 0.5, random_state: RandomStateLike = None
) -> SimulatedSample[UniformMixture]:
    """Draw from two mixtures of uniforms on the quarters of the unit square.

    The first example of Clémençon, Depecker and Vayatis (2011), section 6.1. The posterior has four
    values, which are 0.2, 0.4, 2/3 and 0.75 for classes of equal size; the optimal AUC is 0.735.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    positive_rate : float, default=0.5
        Probability of label 1. ROC curve and AUC do not depend on it.
    random_state : int, RandomState or None, default=None
        The same number gives the same sample.

    Returns
    -------
    SimulatedSample
        With a `BinaryTruth`.

    Examples
    --------
    >>> from treerank.datasets import make_uniform_mixture
    >>> sample = make_uniform_mixture(1000, random_state=0)
    >>> sample.X.shape, round(sample.truth.auc, 4)
    ((1000, 2), 0.735)
    """
    truth = UniformMixture(two_shares(positive_rate), _QUARTERS)
    return truth.sample(n_samples, random_state=random_state)


def make_ordinal_uniform(
    n_samples: int = 10_000,
    *,
    class_shares: ArrayLike | None = None,
    random_state: RandomStateLike = None,
) -> SimulatedSample[OrdinalUniform]:
    """Draw three ordered classes from mixtures of uniforms on nine cells of the unit square.

    The second example of Clémençon and Robbiano (2013), section 5.2, with the odds of its Table 1
    in cells of equal size. The optimal VUS is 0.5930.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of rows.
    class_shares : array-like of shape (3,), default=None
        Probability of each label; by default those for which X is uniform on the square, about
        0.337, 0.267 and 0.396. ROC surface and VUS do not depend on them.
    random_state : int, RandomState or None, default=None
        The same number gives the same sample.

    Returns
    -------
    SimulatedSample
        With an `OrdinalTruth`.

    Examples
    --------
    >>> from treerank.datasets import make_ordinal_uniform
    >>> sample = make_ordinal_uniform(1000, random_state=0)
    >>> sample.eta.shape, round(sample.truth.vus, 4)
    ((1000, 3), 0.593)
    """
    joint = np.column_stack([1 / _ODDS_2_1, np.ones(9), _ODDS_3_2])
    joint /= 9 * joint.sum(axis=1, keepdims=True)
    shares = joint.sum(axis=0)
    truth = OrdinalUniform(check_shares(class_shares, shares), joint / shares)
    return truth.sample(n_samples, random_state=random_state)
