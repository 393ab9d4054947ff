"""A check of constructor parameters, beside those that all estimators share."""

from __future__ import annotations

import math
from numbers import Real

from treerank._input.parameters import invalid_parameter


def check_above(name: str, value: object, bound: float) -> None:
    """Raise an error unless the value is a finite number > `bound`."""
    if not (isinstance(value, Real) and bound < float(value) and math.isfinite(value)):
        raise invalid_parameter(name, value, f"a finite number > {bound:g}")
