"""Piecewise linear approximation of a known optimal ROC curve or surface.

TreeRank imitates, with data, a scheme that could be carried out exactly if the truth were known:
cut every cell where its own ROC curve is farthest from its chord. After `depth` rounds there are
``2 ** depth`` cells, and for a curve of bounded curvature the error is divided by about 4 in each
round (Clémençon and Vayatis 2008, Proposition 15; Clémençon and Robbiano 2013, Proposition 4.5).
If the curvature is not bounded, as at the ends of the curve of two Gaussians, the area between the
curves still falls by a factor of 4, the largest gap by less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats, Ints
from treerank.datasets._known_curves import Curve, as_curve, polygon_area

from .datasets import BinaryTruth, OrdinalTruth, RocSurface

# A knot that raises a piece by less than this, relative to its size, does so only by rounding.
_ROUNDING = 1e-9

__all__ = [
    "RocApproximation",
    "RocSurfaceApproximation",
    "approximate_roc",
    "approximate_roc_surface",
]


@dataclass(frozen=True, eq=False)
class RocApproximation:
    """Knots of an approximated ROC curve, the cells between them and the error.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_cells + 1,)
        The knots, from (0, 0) to (1, 1).
    thresholds : ndarray of shape (n_cells - 1,)
        Slope of the true curve at the inner knots, decreasing. It is a likelihood ratio: cell k
        contains the cases with ``thresholds[k] < ratio <= thresholds[k - 1]``.
    positive_rate : float
        Class share used to compute the levels of the posterior.
    sup_distance, l1_distance : float
        Largest vertical gap to the true curve, and area between the two.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    positive_rate: float
    sup_distance: float
    l1_distance: float

    @property
    def auc(self) -> float:
        """Area under the approximation."""
        return polygon_area(self.fpr, self.tpr)

    @property
    def levels(self) -> Floats:
        """Posterior probabilities that separate the cells, decreasing."""
        return self._posterior(self.thresholds, np.ones_like(self.thresholds))

    @property
    def cell_posteriors(self) -> Floats:
        """Posterior probability of label 1 within each cell, best cell first."""
        return self._posterior(np.diff(self.tpr), np.diff(self.fpr))

    def _posterior(self, positive: Floats, negative: Floats) -> Floats:
        joint = self.positive_rate * positive
        return np.asarray(joint / (joint + (1 - self.positive_rate) * negative))

    def apply(self, eta: ArrayLike) -> Ints:
        """Return the cell of cases with known posterior; 0 is the best."""
        return np.searchsorted(-self.levels, -np.asarray(eta, dtype=np.float64), side="right")


@dataclass(frozen=True, eq=False)
class RocSurfaceApproximation:
    """Knots of an approximated ROC surface, the cells between them and the error.

    Attributes
    ----------
    surface : RocSurface
        The approximation; ``surface.tails`` holds its knots.
    levels : ndarray of shape (n_cells - 1,)
        Optimal scores that separate the cells, decreasing: cell k contains the cases with
        ``levels[k] < score <= levels[k - 1]``.
    winners : ndarray of shape (n_cells - 1,)
        The pair of classes that won each cut: 1 for classes 1 and 2, 2 for classes 2 and 3.
    sup_distance, l1_distance : float
        Largest vertical gap to the true surface, and volume between the two.
    """

    surface: RocSurface
    levels: Floats
    winners: Ints
    sup_distance: float
    l1_distance: float

    @property
    def vus(self) -> float:
        """Volume under the approximation."""
        return self.surface.vus

    def apply(self, score: ArrayLike) -> Ints:
        """Return the cell of cases with known optimal score; 0 is the best."""
        return np.searchsorted(-self.levels, -np.asarray(score, dtype=np.float64), side="right")


def approximate_roc(
    roc: BinaryTruth | Callable[[Floats], Any] | Sequence[Any],
    depth: int,
    *,
    positive_rate: float | None = None,
) -> RocApproximation:
    """Approximate a concave ROC curve by at most ``2 ** depth`` chords.

    Between two knots, the point whose tangent is parallel to the chord is inserted: there the gap
    is largest, and the area grows most (Clémençon and Vayatis 2008, section 3.4).

    Parameters
    ----------
    roc : BinaryTruth, callable or (fpr, tpr)
        The true curve: the truth of a simulated sample; a vectorised function from the false to the
        true positive rate; or the corners of a polygon, as returned by `sklearn.metrics.roc_curve`.
        It must be concave, as optimal curves are.
    depth : int
        Number of rounds; 0 gives the diagonal.
    positive_rate : float, default=None
        Class share that converts slopes to posteriors. By default that of the truth, or 0.5.

    Returns
    -------
    RocApproximation

    Examples
    --------
    >>> from treerank.approximation import approximate_roc
    >>> from treerank.datasets import make_uniform_mixture
    >>> truth = make_uniform_mixture(random_state=0).truth
    >>> rough = approximate_roc(truth, depth=1)
    >>> rough.fpr.round(2).tolist(), rough.tpr.round(2).tolist()
    ([0.0, 0.3, 1.0], [0.0, 0.7, 1.0])
    >>> round(rough.l1_distance, 4), round(approximate_roc(truth, depth=2).l1_distance, 4)
    (0.035, 0.0)
    """
    _check_depth(depth)
    curve = as_curve(roc)
    if positive_rate is None:
        positive_rate = roc.positive_rate if isinstance(roc, BinaryTruth) else 0.5
    if not 0 < positive_rate < 1:
        raise ValueError(f"Got positive_rate={positive_rate}; expected a number between 0 and 1.")
    fpr, tpr, thresholds = np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.empty(0)
    for _ in range(depth):
        slopes, new_fpr, new_tpr, gaps = _farthest_points(curve, fpr, tpr)
        lifted = gaps > _ROUNDING * np.diff(tpr)
        after = np.flatnonzero(lifted)
        fpr = np.insert(fpr, after + 1, new_fpr[lifted])
        tpr = np.insert(tpr, after + 1, new_tpr[lifted])
        thresholds = np.insert(thresholds, after, slopes[lifted])
    gaps = _farthest_points(curve, fpr, tpr)[-1]
    l1 = max(curve.area(fpr) - polygon_area(fpr, tpr), 0.0)
    return RocApproximation(fpr, tpr, thresholds, positive_rate, float(gaps.max()), l1)


def approximate_roc_surface(
    truth: OrdinalTruth, depth: int, *, gain: str = "exact"
) -> RocSurfaceApproximation:
    """Approximate an optimal ROC surface of three classes with at most ``2 ** depth`` cells.

    In every cell two cuts compete, the best one for classes 1 and 2 and the best one for classes 2
    and 3; the cut that adds more volume wins (Clémençon and Robbiano 2013, section 4.2).

    Parameters
    ----------
    truth : OrdinalTruth
        Truth of a simulated sample with three ordered classes.
    depth : int
        Number of rounds; 0 gives one cell.
    gain : {"exact", "local"}, default="exact"
        What the tournament compares: the increase in the volume of the whole partition, or the
        paper's formula, which only considers the cell.

    Returns
    -------
    RocSurfaceApproximation

    Examples
    --------
    >>> from treerank.approximation import approximate_roc_surface
    >>> from treerank.datasets import make_ordinal_gaussians
    >>> truth = make_ordinal_gaussians(random_state=0).truth
    >>> rough = approximate_roc_surface(truth, depth=3)
    >>> len(rough.levels), round(rough.vus, 3), round(truth.vus, 3)
    (7, 0.429, 0.437)
    """
    _check_depth(depth)
    if not isinstance(truth, OrdinalTruth) or truth.classes.size != 3:
        raise ValueError(f"Got truth={truth!r}; expected the truth of three ordered classes.")
    if gain not in ("exact", "local"):
        raise ValueError(f"Got gain={gain!r}; expected 'exact' or 'local'.")
    tails, levels, winners = np.array([[0.0] * 3, [1.0] * 3]), np.empty(0), np.empty(0, np.int64)
    for _ in range(depth):
        cuts, new_levels, pairs, gains = _run_tournament(truth, tails, gain)
        lifted = gains > _rounding_of_volume(np.diff(tails, axis=0))
        after = np.flatnonzero(lifted)
        tails = np.insert(tails, after + 1, cuts[lifted], axis=0)
        levels = np.insert(levels, after, new_levels[lifted])
        winners = np.insert(winners, after, pairs[lifted])
    surface = RocSurface(tails)
    sup = _surface_gap(truth.roc_surface, surface)
    return RocSurfaceApproximation(surface, levels, winners, sup, max(truth.vus - surface.vus, 0.0))


def _check_depth(depth: Any) -> None:
    if not isinstance(depth, int | np.integer) or not 0 <= depth <= 20:
        raise ValueError(f"Got depth={depth!r}; expected an integer from 0 to 20.")


def _farthest_points(
    curve: Curve, fpr: Floats, tpr: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return, for each piece, its slope, the point of the curve farthest above it, and the gap."""
    with np.errstate(divide="ignore"):
        slopes = np.diff(tpr) / np.diff(fpr)
    new_fpr, new_tpr = curve.touch(slopes, fpr[:-1], fpr[1:])
    run = new_fpr - fpr[:-1]
    # A vertical piece has no gap; elsewhere the gap can be negative only by rounding.
    tilted = np.isfinite(slopes)
    gaps = new_tpr - tpr[:-1] - np.where(tilted, slopes, 0.0) * run
    return slopes, new_fpr, new_tpr, np.where(tilted, np.maximum(gaps, 0.0), 0.0)


def _run_tournament(
    truth: OrdinalTruth, tails: Floats, gain: str
) -> tuple[Floats, Floats, Ints, Floats]:
    """Return, for each cell, the winning knot, its level, its pair of classes and its gain."""
    weights = np.diff(tails, axis=0)
    # A class absent from a cell gives an infinite ratio: nothing is above it, so nothing is cut.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(weights[:, 1:] / weights[:, :-1], nan=np.inf, posinf=np.inf)
    knots, levels, gains, merits = [], [], [], []
    for pair in (1, 2):
        level = truth.level(pair, ratios[:, pair - 1])
        knot = np.clip(truth.tails(level), tails[:-1], tails[1:])
        left, right = knot - tails[:-1], tails[1:] - knot
        exact = _vus_gain(left, right, tails[:-1, 2], 1 - tails[1:, 0])
        merit = exact if gain == "exact" else _local_vus(left, right)
        # A cut that leaves one side empty does not compete.
        merits.append(np.where(exact > _rounding_of_volume(weights), merit, -np.inf))
        gains.append(exact)
        knots.append(knot)
        levels.append(level)
    second = (merits[1] > merits[0]).astype(np.int64)
    cell = np.arange(len(weights))
    knot, level, lift = (np.stack(values)[second, cell] for values in (knots, levels, gains))
    return knot, level, second + 1, lift


def _rounding_of_volume(weights: Floats) -> Floats:
    return np.asarray(np.maximum(_ROUNDING * weights.prod(axis=1), 1e-15))


def _vus_gain(left: Floats, right: Floats, better_third: Floats, worse_first: Floats) -> Floats:
    """Return the increase in VUS if cells are split and the left part is the better one."""
    (l1, l2, l3), (r1, r2, r3) = left.T, right.T
    split = r1 * l3 * (l2 + r2) / 2 + (l1 * l2 * l3 + r1 * r2 * r3) / 6
    whole = (l1 + r1) * (l2 + r2) * (l3 + r3) / 6
    outside = better_third * (r1 * l2 - l1 * r2) + worse_first * (r2 * l3 - l2 * r3)
    return np.asarray(outside / 2 + split - whole)


def _local_vus(left: Floats, right: Floats) -> Floats:
    """Return the quantity that the tournament compares in the paper, as printed."""
    return np.asarray(right[:, 0] * left[:, 2] / 2 + (left.prod(axis=1) + right.prod(axis=1)) / 6)


def _surface_gap(true: RocSurface, rough: RocSurface) -> float:
    """Return the largest vertical distance between a surface and a lower one inscribed in it.

    Both are ``(u(alpha) - w(gamma))+``. If the lower one is positive, the gap is the error of u
    plus that of w; otherwise it is less. As a function of the share v of class 2 above a threshold
    of the lower surface, the gap is the largest ``error_u(v) + error_w(v')`` with ``v' <= v``. Both
    errors are piecewise linear, so only the corners of the two surfaces need to be considered.
    """
    first, second, third = rough.tails.T
    corners = (rough.above_first(1 - true.tails[:, 0]), rough.above_second(true.tails[:, 2]))
    v = np.unique(np.concatenate([second, *corners]))
    alpha, gamma = 1 - np.interp(v, second, first), np.interp(v, second, third)
    error_u = true.above_first(alpha) - rough.above_first(alpha)
    error_w = rough.above_second(gamma) - true.above_second(gamma)
    return float(max(np.max(error_u + np.maximum.accumulate(error_w)), 0.0))
