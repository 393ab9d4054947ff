"""Piecewise linear approximation of an optimal ROC curve or surface that is known.

TreeRank copies, from data, a scheme that could be carried out exactly if the truth were known: cut
every cell where its own ROC curve is farthest from its chord. After `depth` rounds there are
``2 ** depth`` cells, and for a curve of bounded curvature the error is divided by about 4 in each
round (Clémençon and Vayatis 2008, Proposition 15; Clémençon and Robbiano 2013, Proposition 4.5).
Where the curvature is not bounded, as at the ends of the curve of two Gaussians, the area between
the curves still falls by 4, the largest gap by less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .datasets import BinaryTruth, OrdinalTruth, RocSurface

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A knot that lifts a piece by less than this, relative to its size, lifts it by rounding alone.
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
        Slope of the true curve at the inner knots, falling. It is a likelihood ratio: cell k holds
        the cases with ``thresholds[k] < ratio <= thresholds[k - 1]``.
    positive_rate : float
        Class share behind the levels of the posterior.
    sup_distance, l1_distance : float
        Largest vertical gap to the true curve, and area between the two.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    positive_rate: float
    sup_distance: float
    l1_distance: float

    @property
    def auc(self) -> float:
        """Area under the approximation."""
        return _polygon_area(self.fpr, self.tpr)

    @property
    def levels(self) -> FloatArray:
        """Posterior probabilities that part the cells, falling."""
        return self._posterior(self.thresholds, np.ones_like(self.thresholds))

    @property
    def cell_posteriors(self) -> FloatArray:
        """Posterior probability of label 1 within each cell, best cell first."""
        return self._posterior(np.diff(self.tpr), np.diff(self.fpr))

    def _posterior(self, positive: FloatArray, negative: FloatArray) -> FloatArray:
        joint = self.positive_rate * positive
        return np.asarray(joint / (joint + (1 - self.positive_rate) * negative))

    def apply(self, eta: ArrayLike) -> IntArray:
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
        Best scores that part the cells, falling: cell k holds the cases with
        ``levels[k] < score <= levels[k - 1]``.
    winners : ndarray of shape (n_cells - 1,)
        Which pair of classes cut there: 1 for classes 1 and 2, 2 for classes 2 and 3.
    sup_distance, l1_distance : float
        Largest vertical gap to the true surface, and volume between the two.
    """

    surface: RocSurface
    levels: FloatArray
    winners: IntArray
    sup_distance: float
    l1_distance: float

    @property
    def vus(self) -> float:
        """Volume under the approximation."""
        return self.surface.vus

    def apply(self, score: ArrayLike) -> IntArray:
        """Return the cell of cases with known best score; 0 is the best."""
        return np.searchsorted(-self.levels, -np.asarray(score, dtype=np.float64), side="right")


def approximate_roc(
    roc: BinaryTruth | Callable[[FloatArray], Any] | Sequence[Any],
    depth: int,
    *,
    positive_rate: float | None = None,
) -> RocApproximation:
    """Approximate a concave ROC curve by at most ``2 ** depth`` chords.

    Between two knots the point is inserted whose tangent is parallel to the chord; there the gap is
    largest, and the area grows most (Clémençon and Vayatis 2008, section 3.4).

    Parameters
    ----------
    roc : BinaryTruth, callable or (fpr, tpr)
        The true curve: the truth of a simulated sample; a vectorised function from the false to the
        true positive rate; or the corners of a polygon, as `sklearn.metrics.roc_curve` returns
        them. It must be concave, as optimal curves are.
    depth : int
        Number of rounds, 0 for the diagonal.
    positive_rate : float, default=None
        Class share with which slopes become posteriors. By default that of the truth, else 0.5.

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
    curve = _as_curve(roc)
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
    l1 = max(curve.area(fpr) - _polygon_area(fpr, tpr), 0.0)
    return RocApproximation(fpr, tpr, thresholds, positive_rate, float(gaps.max()), l1)


def approximate_roc_surface(
    truth: OrdinalTruth, depth: int, *, gain: str = "exact"
) -> RocSurfaceApproximation:
    """Approximate an optimal ROC surface of three classes with at most ``2 ** depth`` cells.

    In every cell two cuts compete, the best one for classes 1 and 2 and the best one for classes 2
    and 3; the one that adds more volume wins (Clémençon and Robbiano 2013, section 4.2).

    Parameters
    ----------
    truth : OrdinalTruth
        Truth of a simulated sample with three ordered classes.
    depth : int
        Number of rounds, 0 for one cell.
    gain : {"exact", "local"}, default="exact"
        What the tournament compares: the increase of the volume of the whole partition, or the
        paper's formula, which looks at the cell alone.

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


class _Curve(Protocol):
    """What the scheme asks of a concave curve."""

    def touch(
        self, slope: FloatArray, left: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the points between `left` and `right` where the curve has the given slopes."""

    def area(self, knots: FloatArray) -> float:
        """Return the area under the curve; `knots` says where it may be cut for that."""


class _TruthCurve:
    """The curve of a known model: the slope is the likelihood ratio, nothing has to be searched."""

    def __init__(self, truth: BinaryTruth) -> None:
        self.truth = truth

    def touch(
        self, slope: FloatArray, left: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return self.truth.rates(slope)

    def area(self, knots: FloatArray) -> float:
        return self.truth.auc


class _FunctionCurve:
    """A concave function: the point wanted has the largest gap, found by golden section."""

    def __init__(self, function: Callable[[FloatArray], Any]) -> None:
        self.function = function

    def _at(self, fpr: FloatArray) -> FloatArray:
        return np.asarray(self.function(fpr), dtype=np.float64)

    def touch(
        self, slope: FloatArray, left: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        golden = (np.sqrt(5) - 1) / 2
        low, high = left, right
        # 45 rounds bring the width below 1e-9 of the piece; the gap is then exact to rounding.
        for _ in range(45):
            inner, outer = high - golden * (high - low), low + golden * (high - low)
            rising = self._at(inner) - slope * inner < self._at(outer) - slope * outer
            low, high = np.where(rising, inner, low), np.where(rising, high, outer)
        middle = (low + high) / 2
        return middle, self._at(middle)

    def area(self, knots: FloatArray) -> float:
        nodes, weights = np.polynomial.legendre.leggauss(32)
        # Crowded at both ends, so that an infinite slope at 0 does little harm.
        u = (nodes + 1) / 2
        x = knots[:-1, np.newaxis] + np.diff(knots)[:, np.newaxis] * u**2 * (3 - 2 * u)
        pieces = self._at(x) @ (weights * 3 * u * (1 - u))
        return float(np.sum(pieces * np.diff(knots)))


class _PolygonCurve:
    """A concave polygon: the point wanted is a corner."""

    def __init__(self, fpr: FloatArray, tpr: FloatArray) -> None:
        self.fpr, self.tpr = fpr, tpr
        with np.errstate(divide="ignore", invalid="ignore"):
            self.falling_slopes = -np.diff(tpr) / np.diff(fpr)

    def touch(
        self, slope: FloatArray, left: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        corner = np.searchsorted(self.falling_slopes, -slope)
        return self.fpr[corner], self.tpr[corner]

    def area(self, knots: FloatArray) -> float:
        return _polygon_area(self.fpr, self.tpr)


def _as_curve(roc: Any) -> _Curve:
    if isinstance(roc, BinaryTruth):
        return _TruthCurve(roc)
    if callable(roc):
        ends = np.asarray(roc(np.array([0.0, 1.0])), dtype=np.float64)
        if not np.allclose(ends, [0, 1]):
            raise ValueError(f"Got a curve from {ends[0]} to {ends[1]}; expected one from 0 to 1.")
        return _FunctionCurve(roc)
    return _PolygonCurve(*_check_polygon(roc))


def _check_polygon(roc: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    if not isinstance(roc, Sequence) or len(roc) not in (2, 3):
        raise ValueError("Got no ROC curve; expected a truth, a function or a pair (fpr, tpr).")
    fpr, tpr = (np.asarray(values, dtype=np.float64) for values in roc[:2])
    if fpr.ndim != 1 or fpr.shape != tpr.shape or fpr.size < 2:
        raise ValueError(f"Got fpr of shape {fpr.shape} and tpr of {tpr.shape}; expected one size.")
    ends = [fpr[0], tpr[0], fpr[-1], tpr[-1]]
    if not np.allclose(ends, [0, 0, 1, 1]) or np.any(np.diff(fpr) < 0) or np.any(np.diff(tpr) < 0):
        raise ValueError("Got a curve that does not rise from (0, 0) to (1, 1).")
    moved = np.append(True, (np.diff(fpr) > 0) | (np.diff(tpr) > 0))
    fpr, tpr = fpr[moved], tpr[moved]
    turns = np.diff(tpr)[1:] * np.diff(fpr)[:-1] - np.diff(tpr)[:-1] * np.diff(fpr)[1:]
    if np.any(turns > 1e-12):
        corner = int(np.argmax(turns)) + 1
        raise ValueError(
            f"Got a curve that is not concave, at fpr={fpr[corner]:.4g}; take its upper hull first."
        )
    return fpr, tpr


def _check_depth(depth: Any) -> None:
    if not isinstance(depth, int | np.integer) or not 0 <= depth <= 20:
        raise ValueError(f"Got depth={depth!r}; expected an integer from 0 to 20.")


def _polygon_area(fpr: FloatArray, tpr: FloatArray) -> float:
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)


def _farthest_points(
    curve: _Curve, fpr: FloatArray, tpr: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return, for each piece, its slope, the point of the curve farthest above it, and the gap."""
    with np.errstate(divide="ignore"):
        slopes = np.diff(tpr) / np.diff(fpr)
    new_fpr, new_tpr = curve.touch(slopes, fpr[:-1], fpr[1:])
    run = new_fpr - fpr[:-1]
    # A vertical piece has no gap; elsewhere the gap is negative by rounding at most.
    tilted = np.isfinite(slopes)
    gaps = new_tpr - tpr[:-1] - np.where(tilted, slopes, 0.0) * run
    return slopes, new_fpr, new_tpr, np.where(tilted, np.maximum(gaps, 0.0), 0.0)


def _run_tournament(
    truth: OrdinalTruth, tails: FloatArray, gain: str
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Return, for each cell, the winning knot, its level, its pair of classes and its gain."""
    weights = np.diff(tails, axis=0)
    # A class absent from a cell leaves an infinite ratio: nothing is above it, nothing is cut.
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


def _rounding_of_volume(weights: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(_ROUNDING * weights.prod(axis=1), 1e-15))


def _vus_gain(
    left: FloatArray, right: FloatArray, better_third: FloatArray, worse_first: FloatArray
) -> FloatArray:
    """Return the increase of the VUS when cells are split, the left part being the better one."""
    (l1, l2, l3), (r1, r2, r3) = left.T, right.T
    split = r1 * l3 * (l2 + r2) / 2 + (l1 * l2 * l3 + r1 * r2 * r3) / 6
    whole = (l1 + r1) * (l2 + r2) * (l3 + r3) / 6
    outside = better_third * (r1 * l2 - l1 * r2) + worse_first * (r2 * l3 - l2 * r3)
    return np.asarray(outside / 2 + split - whole)


def _local_vus(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return what the tournament compares in the paper, as printed."""
    return np.asarray(right[:, 0] * left[:, 2] / 2 + (left.prod(axis=1) + right.prod(axis=1)) / 6)


def _surface_gap(true: RocSurface, rough: RocSurface) -> float:
    """Return the largest vertical distance between a surface and a lower one inscribed in it.

    Both are ``(u(alpha) - w(gamma))+``. Where the lower one is positive the gap is the error of u
    plus that of w, elsewhere it is less. Read along the share v of class 2 above a threshold of the
    lower surface, the gap is the largest ``error_u(v) + error_w(v')`` with ``v' <= v``; both are
    piecewise linear, so the corners of the two surfaces are all that has to be looked at.
    """
    first, second, third = rough.tails.T
    corners = (rough.above_first(1 - true.tails[:, 0]), rough.above_second(true.tails[:, 2]))
    v = np.unique(np.concatenate([second, *corners]))
    alpha, gamma = 1 - np.interp(v, second, first), np.interp(v, second, third)
    error_u = true.above_first(alpha) - rough.above_first(alpha)
    error_w = rough.above_second(gamma) - true.above_second(gamma)
    return float(max(np.max(error_u + np.maximum.accumulate(error_w)), 0.0))
