"""The squared hinge loss over pairs of rows, in O(n log n + n K) for K ordered classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treerank._input.types import Floats, Indices


class _Block(NamedTuple):
    """The active pairs whose better row is of one class, with both sides sorted by score.

    The better row ``upper[a]`` is active with ``lower[first[a]:]``, the worse row ``lower[b]``
    with ``upper[:last[b]]``.
    """

    upper: Indices
    lower: Indices
    first: Indices
    last: Indices


class PairwiseHinge:
    """The sum of ``w_i w_j max(0, 1 - (s_i - s_j))^2`` over pairs with rank i above rank j.

    A pair is active if ``s_i - s_j < 1``. In the order of the scores, the rows active with a
    given row are a head or a tail, so each sum over them is read from a running sum (Lee and
    Lin, 2014, Large-scale linear RankSVM, Neural Computation 26, 781-817). On the active pairs
    the loss is the quadratic ``s'As - 2 b's + c``.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    rank : ndarray of shape (n_rows,)
        Class of each row; 0 is the worst.
    weight : ndarray of shape (n_rows,)
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> pairs = PairwiseHinge(np.array([0.0, 0.5]), np.array([0, 1]), np.ones(2), 2)
    >>> pairs.loss()
    0.25
    >>> pairs.gradient()
    array([ 1., -1.])
    """

    def __init__(self, scores: Floats, rank: Indices, weight: Floats, n_classes: int) -> None:
        # Pairs depend on differences only; a centred score keeps the quadratic form accurate.
        self._scores = scores - scores.mean()
        self._weight = weight
        self._blocks = _active_blocks(self._scores, rank, n_classes)
        self._degree = np.zeros(len(scores))
        self._margin = np.zeros(len(scores))
        self._pair_weight = 0.0
        for block in self._blocks:
            of_upper = weight[block.upper] * _tail_sums(weight[block.lower])[block.first]
            of_lower = weight[block.lower] * _head_sums(weight[block.upper])[block.last]
            self._degree[block.upper] += of_upper
            self._degree[block.lower] += of_lower
            self._margin[block.upper] += of_upper
            self._margin[block.lower] -= of_lower
            self._pair_weight += float(of_upper.sum())
        self._pull = self.product(self._scores)

    def loss(self) -> float:
        """Return the loss."""
        return float(self._scores @ (self._pull - 2 * self._margin)) + self._pair_weight

    def gradient(self) -> Floats:
        """Return the derivative of the loss with respect to the scores."""
        return 2 * (self._pull - self._margin)

    def product(self, direction: Floats) -> Floats:
        """Return half the Hessian with respect to the scores times `direction`."""
        weighted = self._weight * direction
        crossed = np.zeros(len(direction))
        for block in self._blocks:
            crossed[block.upper] += _tail_sums(weighted[block.lower])[block.first]
            crossed[block.lower] += _head_sums(weighted[block.upper])[block.last]
        return self._degree * direction - self._weight * crossed


def pair_weight(rank: Indices, weight: Floats, n_classes: int) -> float:
    """Return the sum of ``w_i w_j`` over pairs with rank i above rank j."""
    of_class = np.bincount(rank, weight, n_classes)
    return float(of_class[1:] @ np.cumsum(of_class)[:-1])


def _active_blocks(scores: Floats, rank: Indices, n_classes: int) -> list[_Block]:
    order = np.argsort(scores, kind="stable")
    rank_in_order = rank[order]
    blocks = []
    for k in range(1, n_classes):
        upper = order[rank_in_order == k]
        lower = order[rank_in_order < k]
        first = np.searchsorted(scores[lower], scores[upper] - 1, side="right")
        last = np.searchsorted(scores[upper], scores[lower] + 1, side="left")
        blocks.append(_Block(upper, lower, first, last))
    return blocks


def _head_sums(values: Floats) -> Floats:
    """Return sums of ``values[:i]`` for i = 0 .. len(values)."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _tail_sums(values: Floats) -> Floats:
    """Return sums of ``values[i:]`` for i = 0 .. len(values)."""
    return _head_sums(values[::-1])[::-1]
