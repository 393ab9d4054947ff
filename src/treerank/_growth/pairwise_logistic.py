"""The logistic loss over pairs of rows, in O(n log n) time and double precision.

Unlike the hinge loss, the loss of a pair, ``log(1 + exp(-(s_i - s_j)))``, cannot be computed from
running sums over sorted scores. But it is analytic in the score, up to a distance of pi from the
real line. So scores are put into boxes of width 1, and the rows of a box are replaced by weights at
its Chebyshev nodes with the same interpolating polynomial. With 12 nodes, the error is about
``(2 pi + sqrt(4 pi^2 + 1))^-12``, 1e-13 of the weight. Sums between the nodes of near boxes are
small matrix products. Between boxes further apart than 40, the loss equals ``max(0, s_j - s_i)`` in
double precision, and is computed from running sums. This is a fast multipole method in one
dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import sparse
from scipy.special import expit

from treerank._input.types import Floats, Indices

N_NODES = 12
# Between boxes further apart than this, exp(-distance) is below double precision.
REACH = 40
NODES = (chebyshev.chebpts1(N_NODES) + 1) / 2
# Lagrange polynomials of the nodes, as combinations of Chebyshev polynomials.
TO_LAGRANGE = np.linalg.inv(chebyshev.chebvander(2 * NODES - 1, N_NODES - 1))
# Score differences between nodes: [distance of the boxes + REACH, source node, target node].
NEAR = np.arange(-REACH, REACH + 1)[:, None, None] + NODES[:, None] - NODES
NEAR_SOFTPLUS: Floats = np.logaddexp(0, NEAR)
NEAR_EXPIT: Floats = expit(NEAR)
NEAR_BELL: Floats = NEAR_EXPIT * expit(-NEAR)


class _Boxes(NamedTuple):
    """Rows in boxes of width 1; only boxes with rows are listed, in ascending order."""

    corner: Floats
    of_row: Indices
    interpolation: Floats


class _Weights(NamedTuple):
    """Weights at the nodes, their sum and their first moment, for each class and box."""

    at_nodes: Floats
    total: Floats
    moment: Floats


def pairwise_logistic(
    scores: Floats, rank: Indices, weight: Floats, n_classes: int
) -> tuple[float, Floats]:
    """Return the sum of ``w_i w_j log(1 + exp(s_j - s_i))`` over pairs, and its gradient.

    The pairs are those with rank i above rank j.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    rank : ndarray of shape (n_rows,)
        Class of each row, 0 is the worst.
    weight : ndarray of shape (n_rows,)
    n_classes : int

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_rows,)
        Derivative of the loss by the scores.

    Examples
    --------
    >>> import numpy as np
    >>> loss, gradient = pairwise_logistic(np.zeros(2), np.array([0, 1]), np.ones(2), 2)
    >>> round(loss, 12)
    0.69314718056
    >>> gradient.round(12)
    array([ 0.5, -0.5])
    """
    boxes = _put_in_boxes(scores)
    weights = _collect(boxes, scores, rank, weight, n_classes)
    worse = _Weights(*(np.cumsum(values, axis=0) - values for values in weights))
    loss_at_nodes = _near_sums(boxes, worse, NEAR_SOFTPLUS) + _far_differences(boxes, worse)
    slope_at_nodes = _slopes(
        boxes, _others(weights), np.bincount(rank, weight, n_classes).astype(np.float64)
    )
    loss = float(weight @ _at_rows(loss_at_nodes, boxes, rank))
    return loss, weight * _at_rows(slope_at_nodes, boxes, rank)


def pairwise_logistic_newton(
    scores: Floats, rank: Indices, weight: Floats, n_classes: int
) -> tuple[Floats, Floats]:
    """Return the derivatives of that loss by each score, without the weight of the row itself.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    rank : ndarray of shape (n_rows,)
        Class of each row, 0 is the worst.
    weight : ndarray of shape (n_rows,)
    n_classes : int

    Returns
    -------
    first, second : ndarray of shape (n_rows,)
        Multiplied by the weight of the row, they are the gradient and the diagonal of the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = pairwise_logistic_newton(np.zeros(2), np.array([0, 1]), np.ones(2), 2)
    >>> first.round(12), second.round(12)
    (array([ 0.5, -0.5]), array([0.25, 0.25]))
    """
    boxes = _put_in_boxes(scores)
    other = _others(_collect(boxes, scores, rank, weight, n_classes))
    slope_at_nodes = _slopes(boxes, other, np.bincount(rank, weight, n_classes).astype(np.float64))
    bend_at_nodes = _near_sums(boxes, other, NEAR_BELL)  # zero beyond REACH
    bend = np.maximum(_at_rows(bend_at_nodes, boxes, rank), 0.0)
    return _at_rows(slope_at_nodes, boxes, rank), bend


def _others(weights: _Weights) -> _Weights:
    """Return the weights of all other classes."""
    return _Weights(*(values.sum(axis=0) - values for values in weights))


def _slopes(boxes: _Boxes, other: _Weights, of_class: Floats) -> Floats:
    """Return the derivative of the loss at each node, for a row of each class.

    A worse row j pushes row i up by ``expit(s_j - s_i)``, a better one pushes it down by
    ``1 - expit(s_j - s_i)``.
    """
    above = _near_sums(boxes, other, NEAR_EXPIT) + _far_totals(boxes, other)
    better = of_class.sum() - np.cumsum(of_class)
    slopes: Floats = better[:, None, None] - above
    return slopes


def _at_rows(at_nodes: Floats, boxes: _Boxes, rank: Indices) -> Floats:
    values: Floats = np.einsum("ij,ij->i", at_nodes[rank, boxes.of_row], boxes.interpolation)
    return values


def _put_in_boxes(scores: Floats) -> _Boxes:
    floor = np.floor(scores)
    corner, of_row = np.unique(floor, return_inverse=True)
    inside = 2 * (scores - floor) - 1
    return _Boxes(corner, of_row, chebyshev.chebvander(inside, N_NODES - 1) @ TO_LAGRANGE)


def _collect(
    boxes: _Boxes, scores: Floats, rank: Indices, weight: Floats, n_classes: int
) -> _Weights:
    n_boxes = len(boxes.corner)
    cell = rank * n_boxes + boxes.of_row
    rows_of_cell = sparse.csr_array(
        (weight, (cell, np.arange(len(cell)))), shape=(n_classes * n_boxes, len(cell))
    )
    columns = np.column_stack([boxes.interpolation, np.ones(len(cell)), scores])
    sums = (rows_of_cell @ columns).reshape(n_classes, n_boxes, N_NODES + 2)
    return _Weights(sums[..., :N_NODES], sums[..., N_NODES], sums[..., N_NODES + 1])


def _near_sums(boxes: _Boxes, weights: _Weights, kernel: Floats) -> Floats:
    """Return at each node t the sum of weight * kernel(s - t) over the nodes s of near boxes."""
    corner = boxes.corner
    sums = np.zeros_like(weights.at_nodes)
    reach = int(min(REACH, corner[-1] - corner[0]))
    for distance in range(-reach, reach + 1):
        place = np.searchsorted(corner, corner + distance)
        found = corner[np.minimum(place, len(corner) - 1)] == corner + distance
        sums[:, found] += weights.at_nodes[:, place[found]] @ kernel[distance + REACH]
    return sums


def _far_totals(boxes: _Boxes, weights: _Weights) -> Floats:
    """Return at each node the weight in boxes above REACH, where expit is 1."""
    return _tails(weights.total)[:, _out_of_reach(boxes), None]


def _far_differences(boxes: _Boxes, weights: _Weights) -> Floats:
    """Return at each node t the sum of weight * (s - t) in boxes above REACH.

    The softplus of a difference is the difference itself there.
    """
    moment = _tails(weights.moment)[:, _out_of_reach(boxes), None]
    return moment - _far_totals(boxes, weights) * (boxes.corner[:, None] + NODES)


def _out_of_reach(boxes: _Boxes) -> Indices:
    return np.searchsorted(boxes.corner, boxes.corner + REACH, side="right")


def _tails(values: Floats) -> Floats:
    """Return sums of ``values[:, i:]`` for i = 0 .. values.shape[1]."""
    sums = np.zeros((values.shape[0], values.shape[1] + 1))
    sums[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return sums
