"""Three ordered Gaussian classes, conditioned on the unit square."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from treerank._input.types import Floats, RandomStateLike

from ._roc_surface import RocSurface
from ._truth import OrdinalTruth, SimulatedSample, check_shares

_CENTRES = np.array([0.0, 0.5, 1.0])
_SPREAD = 0.5

# Gauss-Legendre nodes on [0, 1].
_gauss, _gauss_weights = np.polynomial.legendre.leggauss(24)
_NODES, _WEIGHTS = (1 + _gauss) / 2, _gauss_weights / 2


@dataclass(frozen=True, eq=False)
class OrdinalGaussians(OrdinalTruth):
    """Isotropic Gaussian classes centred on the diagonal of the square they are conditioned on.

    All likelihood ratios increase with the sum of the two features, which is the optimal score. Sum
    and difference of the features are independent except for the borders of the square, so the
    density of the sum is known in closed form.

    Attributes
    ----------
    class_shares : ndarray of shape (3,)
    centres : ndarray of shape (3,)
        Mean of both features in each class, before conditioning.
    spread : float
        Standard deviation of both features, before conditioning.
    """

    class_shares: Floats
    centres: Floats
    spread: float
    n_features = 2
    on_unit_square = True

    def score(self, X: ArrayLike) -> Floats:
        """Return the sum of the features."""
        return np.asarray(self._check_rows(X).sum(axis=1))

    def log_densities(self, X: ArrayLike) -> Floats:
        """Return the log density of every class at given rows."""
        rows = self._check_rows(X)[:, :, np.newaxis]
        squares = np.sum(((rows - self.centres) / self.spread) ** 2, axis=1)
        return np.asarray(-squares / 2 - np.log(2 * np.pi * self.spread**2 * self._square_masses))

    def tails(self, level: ArrayLike) -> Floats:
        """Return, for each class, the probability of a sum above `level`."""
        start = np.clip(np.asarray(level, dtype=np.float64), 0, 2)
        # The density has a kink at 1, the sum of the other two corners of the square.
        lower = self._integral(np.minimum(start, 1), 1.0)
        return np.clip(lower + self._integral(np.maximum(start, 1), 2.0), 0, 1)

    def level(self, pair: int, ratio: ArrayLike) -> Floats:
        """Return the sum above which class ``pair + 1`` is `ratio` times as likely as ``pair``."""
        below, above = self.centres[pair - 1], self.centres[pair]
        masses = self._square_masses
        with np.errstate(divide="ignore"):
            log_ratio = np.log(np.asarray(ratio) * masses[pair] / masses[pair - 1])
        level = below + above + log_ratio * self.spread**2 / (above - below)
        return np.asarray(np.clip(level, 0, 2))

    @cached_property
    def roc_surface(self) -> RocSurface:
        """The optimal ROC surface, from its exact values at 8,193 thresholds."""
        tails = self.tails(np.linspace(2, 0, 8193))
        tails[0], tails[-1] = 0.0, 1.0
        return RocSurface(np.maximum.accumulate(tails, axis=0))

    @cached_property
    def vus(self) -> float:
        """The volume under the optimal ROC surface.

        It is the probability that a case of class 2 lies between a worse one of class 1 and a
        better one of class 3, by Gauss-Legendre integration on both sides of the kink of the
        densities.
        """
        sums = np.concatenate([_NODES, 1 + _NODES])
        tails = self.tails(sums)
        chains = self._density(sums)[:, 1] * (1 - tails[:, 0]) * tails[:, 2]
        return float(np.sum(np.tile(_WEIGHTS, 2) * chains))

    @cached_property
    def _square_masses(self) -> Floats:
        """Mass of each unconditioned Gaussian in the square."""
        side = ndtr((1 - self.centres) / self.spread) - ndtr(-self.centres / self.spread)
        return np.asarray(side**2)

    def _density(self, total: Floats) -> Floats:
        """Return the density of the sum in each class, on a new last axis."""
        scale = np.sqrt(2) * self.spread
        z = (total[..., np.newaxis] - 2 * self.centres) / scale
        # Within the square, the absolute difference of the features is at most this.
        room = np.minimum(total, 2 - total)[..., np.newaxis]
        inside = ndtr(room / scale) - ndtr(-room / scale)
        height = np.exp(-0.5 * z**2) / (scale * np.sqrt(2 * np.pi) * self._square_masses)
        return np.asarray(height * inside)

    def _integral(self, start: Floats, end: float) -> Floats:
        """Return the mass of each class between `start` and `end`, on a new last axis."""
        width = (end - start)[..., np.newaxis]
        density = self._density(start[..., np.newaxis] + width * _NODES)
        return np.asarray(np.einsum("...nk,n->...k", density, _WEIGHTS) * width)

    def _draw(self, which: int, size: int, random: np.random.RandomState) -> Floats:
        low, high = ndtr((np.array([0.0, 1.0]) - self.centres[which]) / self.spread)
        normal = ndtri(random.uniform(low, high, size=(size, 2)))
        # Rounding of the normal quantile may exceed the border by a unit in the last place.
        return np.asarray(np.clip(self.centres[which] + self.spread * normal, 0, 1))


def make_ordinal_gaussians(
    n_samples: int = 3000,
    *,
    class_shares: ArrayLike | None = None,
    random_state: RandomStateLike = None,
) -> SimulatedSample[OrdinalGaussians]:
    """Draw three ordered Gaussian classes, conditioned on the unit square.

    The first example of Clémençon and Robbiano (2013), section 5.2. The optimal score is the sum of
    the features; the optimal VUS is 0.4370 (the paper gives 0.4342).

    Parameters
    ----------
    n_samples : int, default=3000
        Number of rows.
    class_shares : array-like of shape (3,), default=None
        Probability of each label; equal by default. ROC surface and VUS do not depend on them.
    random_state : int, RandomState or None, default=None
        The same number gives the same sample.

    Returns
    -------
    SimulatedSample
        With an `OrdinalTruth`.

    Examples
    --------
    >>> from treerank.datasets import make_ordinal_gaussians
    >>> sample = make_ordinal_gaussians(3000, random_state=0)
    >>> sample.eta.shape, round(sample.truth.vus, 4)
    ((3000, 3), 0.437)
    """
    shares = check_shares(class_shares, np.full(3, 1 / 3))
    truth = OrdinalGaussians(shares, _CENTRES, _SPREAD)
    return truth.sample(n_samples, random_state=random_state)
