"""Median rankings: combine several rankings of the same points into one.

Rankings are given by scores, or by ranks that grow with the score: only their order
counts. The consensus is returned as mid-ranks: 1 for the lowest, and tied points share theirs.
The median depends on the distance whose total it minimises: it is the mean rank for Spearman's,
the median rank for the footrule, and a Kemeny median for Kendall's (see
:func:`treerank.metrics.ranking_distance`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from treerank._input.types import Floats
from treerank.metrics._discordance import discordance

__all__ = ["kendall", "kendall_cost", "mean_rank", "median_rank"]

# Up to this many cells, all ordered partitions are searched.
EXACT_CELLS = 8

Order = list[list[int]]  # cells by rank, lowest first; cells in the same list are tied


def mean_rank(rankings: ArrayLike) -> Floats:
    """Consensus with the smallest total Spearman distance: points by their mean rank.

    Parameters
    ----------
    rankings : array-like of shape (n_rankings, n_points)

    Returns
    -------
    array of shape (n_points,)
        Mid-ranks of the consensus.

    Examples
    --------
    >>> from treerank.consensus import mean_rank
    >>> print(mean_rank([[1, 2, 3], [1, 3, 2], [1, 2, 3]]))
    [1. 2. 3.]
    """
    return np.asarray(rankdata(_mean_of_ranks(_check(rankings))))


def median_rank(rankings: ArrayLike) -> Floats:
    """Consensus for the footrule: points by their median rank.

    Parameters
    ----------
    rankings : array-like of shape (n_rankings, n_points)

    Returns
    -------
    array of shape (n_points,)
        Mid-ranks of the consensus.

    Examples
    --------
    >>> from treerank.consensus import median_rank
    >>> print(median_rank([[1, 2, 3], [3, 1, 2], [1, 2, 3]]))
    [1. 2. 3.]
    """
    return np.asarray(rankdata(np.median(rankdata(_check(rankings), axis=1), axis=0)))


def kendall(rankings: ArrayLike) -> Floats:
    """Kemeny median: small total Kendall distance to the given rankings, with ties allowed.

    Points that no ranking distinguishes form one cell. With up to 8 cells, all ordered partitions
    are searched (by dynamic programming over sets of cells), and the result is exact. With more,
    the mean rank is improved by moving one cell at a time to its best place, until no move
    helps; the result is never worse than the mean rank. Time and memory grow with the square of
    the number of cells.

    Parameters
    ----------
    rankings : array-like of shape (n_rankings, n_points)

    Returns
    -------
    array of shape (n_points,)
        Mid-ranks of the consensus.

    References
    ----------
    J. G. Kemeny, "Mathematics without numbers", Daedalus 88, 1959.

    Examples
    --------
    >>> from treerank.consensus import kendall
    >>> print(kendall([[1, 2, 3], [2, 3, 1], [1, 2, 3]]))
    [1. 2. 3.]
    """
    scores = _check(rankings)
    ranks = rankdata(scores, axis=1, method="dense")
    cells, cell_of, size = np.unique(ranks, axis=1, return_inverse=True, return_counts=True)
    cell_of = np.asarray(cell_of).ravel()
    below, apart = _pair_costs(cells, size)
    if cells.shape[1] <= EXACT_CELLS:
        order = _exact_order(below, apart)
    else:
        first = np.argsort(cell_of, kind="stable")[np.cumsum(size) - size]
        order = _improve(_order_of(_mean_of_ranks(scores)[first]), below, apart)
    place = np.empty(cells.shape[1])
    for position, tied in enumerate(order):
        place[tied] = position
    return np.asarray(rankdata(place[cell_of]))


def kendall_cost(consensus: ArrayLike, rankings: ArrayLike) -> float:
    """Total Kendall distance from a consensus to the rankings, in pairs of points.

    A pair in opposite order counts 1, a pair tied in only one of the two counts 1/2.

    Parameters
    ----------
    consensus : array-like of shape (n_points,)
    rankings : array-like of shape (n_rankings, n_points)

    Returns
    -------
    float

    Examples
    --------
    >>> from treerank.consensus import kendall_cost
    >>> print(kendall_cost([1, 2, 3], [[1, 3, 2], [1, 1, 3]]))
    1.5
    """
    scores = _check(rankings)
    place = _check([consensus])[0]
    if len(place) != scores.shape[1]:
        raise ValueError(
            f"Got a consensus of {len(place)} points; expected {scores.shape[1]}, as ranked."
        )
    return sum(discordance(place, row) for row in scores)


def _check(rankings: Any) -> Floats:
    scores = np.asarray(rankings, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] < 1 or scores.shape[1] < 1:
        raise ValueError(
            f"Got rankings of shape {scores.shape}; expected (n_rankings >= 1, n_points >= 1)."
        )
    if not np.isfinite(scores).all():
        raise ValueError("Got rankings with NaN or infinity; expected finite scores or ranks.")
    return scores


def _mean_of_ranks(scores: Floats) -> Floats:
    # Rounded, so that equal means are ties whatever the order of summation.
    return np.asarray(rankdata(scores, axis=1).mean(axis=0).round(9))


def _pair_costs(cells: NDArray[Any], size: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the cost of ranking cell i below cell j, and that of tying them, for all pairs."""
    n = cells.shape[1]
    higher, tied = np.zeros((n, n)), np.zeros((n, n))
    for row in cells:
        higher += row[:, np.newaxis] > row
        tied += row[:, np.newaxis] == row
    pairs = np.outer(size, size).astype(np.float64)
    np.fill_diagonal(pairs, 0.0)
    return (higher + tied / 2) * pairs, (len(cells) - tied) / 2 * pairs


def _order_of(values: Floats) -> Order:
    places = rankdata(values, method="dense") - 1
    order: Order = [[] for _ in range(int(places.max()) + 1)]
    for cell, place in enumerate(places):
        order[int(place)].append(cell)
    return order


def _exact_order(below: Floats, apart: Floats) -> Order:
    """Return the best ordered partition, from the best one of every set of cells."""
    n = len(below)
    best = {0: 0.0}
    last: dict[int, int] = {}
    within = [_cost_within(apart, s) for s in range(1 << n)]
    for placed in range(1, 1 << n):
        top = placed  # the cells ranked highest among those placed: each subset is tried
        while top:
            rest = placed ^ top
            cost = best[rest] + within[top] + _cost_between(below, rest, top)
            if placed not in best or cost < best[placed] - 1e-9:
                best[placed], last[placed] = cost, top
            top = (top - 1) & placed
    order: Order = []
    placed = (1 << n) - 1
    while placed:
        order.append(_members(last[placed]))
        placed ^= last[placed]
    return order[::-1]


def _members(cells: int) -> list[int]:
    return [i for i in range(cells.bit_length()) if cells >> i & 1]


def _cost_within(apart: Floats, cells: int) -> float:
    at = _members(cells)
    return float(apart[np.ix_(at, at)].sum()) / 2


def _cost_between(below: Floats, low: int, high: int) -> float:
    return float(below[np.ix_(_members(low), _members(high))].sum()) if low else 0.0


def _improve(order: Order, below: Floats, apart: Floats) -> Order:
    """Move one cell at a time, into a tie or between two, until no move helps."""
    n = len(below)
    place = np.empty(n)  # tied cells share a place
    for position, tied in enumerate(order):
        place[tied] = position
    improved = True
    while improved:
        improved = False
        for cell in range(n):
            moved = _best_place(cell, place, below, apart)
            if moved is not None:
                place[cell] = moved
                place = rankdata(place, method="dense") - 1.0
                improved = True
    return _order_of(place)


def _best_place(cell: int, place: Floats, below: Floats, apart: Floats) -> float | None:
    """Return the cheapest place of a cell among the others; None if it is already there.

    Integer places mean a tie, half-integer places lie between two.
    """
    n_places = int(place.max()) + 1
    others = np.arange(len(place)) != cell
    at = place[others].astype(np.intp)
    up = np.bincount(at, weights=below[cell][others], minlength=n_places)  # below these
    down = np.bincount(at, weights=below[:, cell][others], minlength=n_places)  # above these
    tie = np.bincount(at, weights=apart[cell][others], minlength=n_places)
    above_all = np.concatenate([[0.0], np.cumsum(down)])
    below_all = np.concatenate([np.cumsum(up[::-1])[::-1], [0.0]])
    between = above_all + below_all  # between place k - 1 and place k
    tied = above_all[:-1] + tie + below_all[1:]
    alone = not (at == int(place[cell])).any()
    own = int(place[cell])
    now = between[own] if alone else tied[own]
    best = min(float(between.min()), float(tied.min()))
    if best >= now - 1e-9:
        return None
    if tied.min() <= between.min():
        return float(np.argmin(tied))
    return float(np.argmin(between)) - 0.5
