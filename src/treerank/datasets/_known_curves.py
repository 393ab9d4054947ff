"""Known ROC curves: of a model, of a function, or a polygon."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from treerank._input.types import Floats
from treerank.datasets._truth import BinaryTruth


class Curve(Protocol):
    """A concave curve, as the approximation scheme needs it."""

    def touch(self, slope: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the points between `left` and `right` where the curve has the given slopes."""

    def area(self, knots: Floats) -> float:
        """Return the area under the curve; `knots` are where the integral may be split."""


class TruthCurve:
    """The curve of a known model: the slope is the likelihood ratio, so no search is needed."""

    def __init__(self, truth: BinaryTruth) -> None:
        self.truth = truth

    def touch(self, slope: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        return self.truth.rates(slope)

    def area(self, knots: Floats) -> float:
        return self.truth.auc


class FunctionCurve:
    """A concave function: the point with the largest gap is found by golden-section search."""

    def __init__(self, function: Callable[[Floats], Any]) -> None:
        self.function = function

    def _at(self, fpr: Floats) -> Floats:
        return np.asarray(self.function(fpr), dtype=np.float64)

    def touch(self, slope: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        golden = (np.sqrt(5) - 1) / 2
        low, high = left, right
        # 45 rounds reduce the width below 1e-9 of the piece; the gap is then exact up to rounding.
        for _ in range(45):
            inner, outer = high - golden * (high - low), low + golden * (high - low)
            rising = self._at(inner) - slope * inner < self._at(outer) - slope * outer
            low, high = np.where(rising, inner, low), np.where(rising, high, outer)
        middle = (low + high) / 2
        return middle, self._at(middle)

    def area(self, knots: Floats) -> float:
        nodes, weights = np.polynomial.legendre.leggauss(32)
        # Denser at both ends, so that an infinite slope at 0 does little harm.
        u = (nodes + 1) / 2
        x = knots[:-1, np.newaxis] + np.diff(knots)[:, np.newaxis] * u**2 * (3 - 2 * u)
        pieces = self._at(x) @ (weights * 3 * u * (1 - u))
        return float(np.sum(pieces * np.diff(knots)))


class PolygonCurve:
    """A concave polygon: the point with the largest gap is a corner."""

    def __init__(self, fpr: Floats, tpr: Floats) -> None:
        self.fpr, self.tpr = fpr, tpr
        with np.errstate(divide="ignore", invalid="ignore"):
            self.falling_slopes = -np.diff(tpr) / np.diff(fpr)

    def touch(self, slope: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        corner = np.searchsorted(self.falling_slopes, -slope)
        return self.fpr[corner], self.tpr[corner]

    def area(self, knots: Floats) -> float:
        return polygon_area(self.fpr, self.tpr)


def as_curve(roc: Any) -> Curve:
    if isinstance(roc, BinaryTruth):
        return TruthCurve(roc)
    if callable(roc):
        ends = np.asarray(roc(np.array([0.0, 1.0])), dtype=np.float64)
        if not np.allclose(ends, [0, 1]):
            raise ValueError(f"Got a curve from {ends[0]} to {ends[1]}; expected one from 0 to 1.")
        return FunctionCurve(roc)
    return PolygonCurve(*_check_polygon(roc))


def _check_polygon(roc: Sequence[Any]) -> tuple[Floats, Floats]:
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


def polygon_area(fpr: Floats, tpr: Floats) -> float:
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)
