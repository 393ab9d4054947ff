"""The focus of a ranking: all of it, or its top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treerank._input.option_types import FocusLike
from treerank._input.parameters import invalid_parameter, is_number

EXPECTED = (
    "None, a share of the rows in (0, 1), or a range of false positive rates (low, high) with "
    "0 <= low < high <= 1"
)
CoreFocus = tuple[str, float, float]
# No focus, in the form that the core takes: the whole ranking counts.
WHOLE: CoreFocus = ("all", 0.0, 1.0)


@dataclass(frozen=True)
class Focus:
    """The top of a ranking, given as a proportion of the rows or as false positive rates.

    If `counts` is "rows", rankings are measured by their local AUC at the rate `high`; if it is
    "negatives", by their partial AUC between the false positive rates `low` and `high`, divided by
    ``high - low``.
    """

    counts: str
    low: float
    high: float

    @property
    def for_core(self) -> CoreFocus:
        """The focus in the form that the core takes."""
        return (self.counts, self.low, self.high)


def check_focus(focus: FocusLike, n_classes: int) -> Focus | None:
    """Check the focus parameter; None stands for the whole ranking."""
    if focus is None:
        return None
    found = _by_rates(focus) if isinstance(focus, tuple | list) else _by_rows(focus)
    if n_classes > 2:
        raise ValueError(
            f"Got focus={focus!r} with {n_classes} classes; expected None: local and partial AUC "
            "are measures of two classes."
        )
    return found


def _by_rows(focus: Any) -> Focus:
    if not is_number(focus) or not 0 < focus < 1:
        raise invalid_parameter("focus", focus, EXPECTED)
    return Focus("rows", 0.0, float(focus))


def _by_rates(focus: Any) -> Focus:
    if len(focus) != 2 or not all(map(is_number, focus)) or not 0 <= focus[0] < focus[1] <= 1:
        raise invalid_parameter("focus", focus, EXPECTED)
    return Focus("negatives", float(focus[0]), float(focus[1]))
