"""The ROC surface of three ordered classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.parameters import check_integer
from treerank._input.types import Floats

from ._input import check_ordered
from ._parameter_docs import insert_shared_docs
from ._ties import class_weights


@dataclass(frozen=True, slots=True)
class RocSurface:
    """A ROC surface of three classes on a grid of pairs of cuts.

    Cut i separates the i best cells from the others. Class 3 is predicted above cut j, class 1
    below cut i, and class 2 between them.

    Attributes
    ----------
    low : ndarray of shape (cells + 1,)
        Share of class 1 below each cut i, from 1 down to 0.
    high : ndarray of shape (cells + 1,)
        Share of class 3 above each cut j, from 0 up to 1.
    middle : ndarray of shape (cells + 1, cells + 1)
        Entry [i, j] is the share of class 2 between the cuts; 0 if i <= j.
    thresholds : ndarray of shape (cells,)
        Lowest score of each cell, best first: cut i > 0 lies just below `thresholds[i - 1]`.

    See Also
    --------
    treerank.datasets.RocSurface : The surface of a simulated model, at any point.
    """

    low: Floats
    high: Floats
    middle: Floats
    thresholds: NDArray[Any]

    def volume(self) -> float:
        """Return the volume under the surface: the VUS of the order of the cells."""
        below, above = -np.diff(self.low), np.diff(self.high)
        corners = self.middle[:-1] + self.middle[1:]
        corners = (corners[:, :-1] + corners[:, 1:]) / 4
        # On the diagonal both cuts lie in the same cell: half of the square is a pyramid of height
        # c, the cell's share of class 2, and the other half is empty. So the mean height is c/6,
        # not the mean of the corners.
        np.fill_diagonal(corners, np.diagonal(self.middle[1:, :-1]) / 6)
        return float(below @ np.tril(corners) @ above)


@insert_shared_docs
def roc_surface(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Any = None,
    max_cells: int = 200,
) -> RocSurface:
    """ROC surface of three ordered classes: the performance of all pairs of cuts of the score.

    The three coordinates are the shares of class 1 below the lower cut, of class 2 between the
    cuts and of class 3 above the upper one. The volume under the surface is the VUS.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of three ordered classes.
    {s}
    {weights}
    labels : array-like of shape (3,), optional
        The classes, lowest first.
    max_cells : int, default=200
        A score with more distinct values is reduced to this many cells of neighbouring values with
        about equal shares of the classes; the surface is that of the coarser score.

    Returns
    -------
    RocSurface
        `low`, `high`, `middle`, `thresholds`; `volume()`.

    References
    ----------
    Clémençon and Robbiano (2013), "The TreeRank Tournament algorithm for multipartite ranking".

    Examples
    --------
    >>> from treerank.metrics import roc_surface
    >>> surface = roc_surface([1, 2, 3, 2], [1, 2, 3, 3])
    >>> surface.middle[2, 1], surface.volume()
    (np.float64(0.5), 0.75)
    """
    check_integer("max_cells", max_cells, 1)
    sample = check_ordered(y, s, sample_weight, labels)
    if sample.classes.size != 3:
        raise ValueError(
            f"Got y with {sample.classes.size} classes; a ROC surface needs three (see "
            "ordinal_vus_score and pairwise_auc_scores for other numbers)."
        )
    values, weights = class_weights(sample.score, sample.code, sample.weight, 3)
    values, shares = values[::-1], weights[:, ::-1] / weights.sum(axis=1, keepdims=True)
    return surface_of_shares(*_merge_cells(values, shares, max_cells))


def surface_of_shares(values: NDArray[Any], shares: Floats) -> RocSurface:
    """Return the ROC surface of an ordered partition from class shares (rows), best cell first."""
    above = np.zeros((3, values.size + 1))
    np.cumsum(shares, axis=1, out=above[:, 1:])
    above[:, -1] = 1.0
    middle = np.maximum(above[1][:, None] - above[1][None, :], 0.0)
    return RocSurface(1 - above[0], above[2], middle, values)


def _merge_cells(
    values: NDArray[Any], shares: Floats, max_cells: int
) -> tuple[NDArray[Any], Floats]:
    if values.size <= max_cells:
        return values, shares
    position = np.cumsum(shares.mean(axis=0))
    cell = np.minimum((position * max_cells).astype(np.intp), max_cells - 1)
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    ends = np.append(starts[1:], values.size) - 1
    return values[ends], np.add.reduceat(shares, starts, axis=1)
