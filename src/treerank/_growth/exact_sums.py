"""Exact weighted sums that do not depend on the order or the division of the rows.

Values are rounded to fixed point, with as many bits as their sum allows in 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class ExactSums:
    """Sums as integers, over rows of a given total weight in units or over part of them.

    Values are clipped to ``[-largest, largest]``; `largest` must be a power of two.
    """

    def __init__(self, total_units: int, largest: float = 1.0) -> None:
        self.largest = largest
        self.unit = largest * 2.0 ** (total_units.bit_length() - 62)

    def of(self, values: NDArray[np.float64], units: NDArray[np.int64] | None) -> np.int64:
        """Sum over some rows; if `units` is None, each row has weight 1."""
        limited = np.clip(values, -self.largest, self.largest)
        whole = np.rint(limited / self.unit).astype(np.int64)
        return np.int64(whole.sum() if units is None else whole @ units)

    def number(self, total: np.int64) -> float:
        """Convert a sum to a float."""
        return float(total) * self.unit
