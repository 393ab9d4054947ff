"""A check of constructor parameters, beside those that all estimators share."""

from __future__ import annotations

import math
from numbers import Real

from treerank._input.parameters import invalid_parameter


def check_positive(name: str, value: object) -> None:
    """Raise an error unless the value is a finite number > 0."""
    if not (isinstance(value, Real) and float(value) > 0 and math.isfinite(value)):
        raise invalid_parameter(name, value, "a finite number > 0")
