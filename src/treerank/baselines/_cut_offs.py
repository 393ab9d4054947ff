"""Cut-offs that turn a ranking score into labels: those with the fewest training errors."""

from __future__ import annotations

import numpy as np

from treerank._input.types import Floats, Indices


def best_cut_offs(scores: Floats, rank: Indices, weight: Floats, n_classes: int) -> Floats:
    """Return the ascending cut-offs that put the largest weight of rows in their own class.

    Rows between cut-off k-1 and cut-off k are assigned to class k. Dynamic programming over the
    V distinct scores finds the optimum for any number of classes in O(V K): if S_k is the
    running weight of class k, the best prefix that ends in class k is
    ``f_k[i] = S_k[i] + max_{j <= i} (f_{k-1}[j] - S_k[j])``.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        The ranking score; higher is better.
    rank : ndarray of shape (n_rows,)
        Class of each row; 0 is the worst.
    weight : ndarray of shape (n_rows,)
        Positive weights.
    n_classes : int
        Number of classes K.

    Returns
    -------
    ndarray of shape (n_classes - 1,)

    Examples
    --------
    >>> import numpy as np
    >>> best_cut_offs(np.array([0.0, 1.0, 2.0, 4.0]), np.array([0, 0, 1, 2]), np.ones(4), 3)
    array([1.5, 3. ])
    """
    values, place = np.unique(scores, return_inverse=True)
    weight_sum = np.bincount(place * n_classes + rank, weight, len(values) * n_classes)
    running = np.zeros((len(values) + 1, n_classes))
    np.cumsum(weight_sum.reshape(-1, n_classes), axis=0, out=running[1:])

    best = running[:, 0]
    start_of_class = []
    for k in range(1, n_classes):
        gain = best - running[:, k]
        leading = np.maximum.accumulate(gain)
        positions = np.where(gain == leading, np.arange(len(gain)), 0)
        start_of_class.append(np.maximum.accumulate(positions))
        best = running[:, k] + leading

    cuts = np.empty(n_classes - 1, dtype=np.intp)
    end = len(values)
    for k in range(n_classes - 1, 0, -1):
        end = start_of_class[k - 1][end]
        cuts[k - 1] = end
    return _between(values)[cuts]


def _between(values: Floats) -> Floats:
    """Return the V + 1 positions at which V ascending values can be cut, including the ends."""
    margin = max(1.0, float(abs(values[0])), float(abs(values[-1])))
    middle = values[:-1] / 2 + values[1:] / 2
    # A midpoint that is rounded up to the larger neighbour would put it on the wrong side, as a
    # row is above a cut if "score > cut".
    middle = np.where(middle < values[1:], middle, values[:-1])
    return np.concatenate([[values[0] - margin], middle, [values[-1] + margin]])
