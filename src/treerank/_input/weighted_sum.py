"""Weighted sums that have the same bits on every processor.

`weights @ values` is computed by BLAS, which adds in an order that depends on the processor and on
the number of its threads, so that the last bit of a fitted value would depend on them, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def weighted_sum(
    values: NDArray[np.floating], weights: NDArray[np.float64], axis: int = 0
) -> NDArray[np.float64]:
    """Return the sum of the values along an axis, each multiplied by its weight.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 2.0]))
    array([6.5, 9. ])
    """
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.asarray((values * weights.reshape(shape)).sum(axis=axis))
