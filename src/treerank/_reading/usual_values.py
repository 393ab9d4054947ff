"""Usual values of a column among the rows of a reference, as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import is_missing
from treerank._reading.rules import _number


@dataclass(frozen=True)
class UsualValues:
    """Summary of one column over the rows of a reference."""

    name: str
    rows: str  # what the rows are called: "the approved"
    median: float | None  # of a numeric column with any known value
    shares: dict[Any, float]  # by level of a category
    missing: float  # share of rows without a value

    def side(self, value: Any) -> int:
        """Whether a number is above (1) or below (-1) the median; 0 if equal or not known."""
        if self.median is None or is_missing(value):
            return 0
        return int(np.sign(float(value) - self.median))

    def words(self, value: Any) -> str:
        """Describe the value of a row and what is usual."""
        if is_missing(value):
            return f"{self.name} is missing, as for {self.missing:.0%} of {self.rows}"
        if self.median is not None:
            return self._number_in_words(float(value))
        if not self.shares:
            return f"{self.name} {format_value(value)}; it is missing for all of {self.rows}"
        said = f"{self.name} {format_value(value)}"
        most = max(self.shares, key=lambda level: self.shares[level])
        if value == most:
            return f"{said}, as for {self.shares[most]:.0%} of {self.rows}"
        return f"{said}; {self.shares[most]:.0%} of {self.rows} have {format_value(most)}"

    def _number_in_words(self, value: float) -> str:
        said = f"{self.name} {_number(value)}"
        side = self.side(value)
        if side == 0:
            return f"{said}, the median of {self.rows}"
        bound = "at most" if side > 0 else "at least"
        return f"{said}; half of {self.rows} have {bound} {_number(float(self.median or 0.0))}"


def usual_values(name: str, column: NDArray[Any], is_category: bool, rows: str) -> UsualValues:
    """Summarize the values of a column."""
    known = [value for value in column.tolist() if not is_missing(value)]
    missing = 1.0 - len(known) / len(column)
    if is_category:
        counts = Counter(known)
        shares = {level: n / len(column) for level, n in counts.most_common()}
        return UsualValues(name, rows, None, shares, missing)
    return UsualValues(name, rows, float(np.median(known)) if known else None, {}, missing)


def format_value(value: Any) -> str:
    """Format a value for reading."""
    if is_missing(value):
        return "is missing"
    if isinstance(value, float | np.floating):
        return _number(float(value))
    return str(value)
