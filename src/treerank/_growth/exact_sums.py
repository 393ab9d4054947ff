"""Sums of numbers times whole weights that do not depend on their order, nor on parts of the rows.

Numbers are rounded to as many binary digits as their sum leaves room for in 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class ExactSums:
    """Integers that stand for sums over rows of a given weight, in units, and their parts.

    Numbers beyond `largest`, which must be a power of two, count as that.
    """

    def __init__(self, total_units: int, largest: float = 1.0) -> None:
        self.largest = largest
        self.unit = largest * 2.0 ** (total_units.bit_length() - 62)

    def of(self, values: NDArray[np.float64], units: NDArray[np.int64] | None) -> np.int64:
        """Sum over some rows; `units` None: each counts once."""
        limited = np.clip(values, -self.largest, self.largest)
        whole = np.rint(limited / self.unit).astype(np.int64)
        return np.int64(whole.sum() if units is None else whole @ units)

    def number(self, total: np.int64) -> float:
        """Return the number that a sum stands for."""
        return float(total) * self.unit
