"""Checks of constructor parameters, with messages that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np


def check_number(
    name: str, value: object, *, above: float, below: float = np.inf, closed: bool = False
) -> None:
    """Refuse a value that is not a number in (above, below), or [above, below) if `closed`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and (above <= float(value) if closed else above < float(value)) and value < below:  # type: ignore[arg-type,operator]
        return
    lower = f"{'>=' if closed else '>'} {above:g}"
    upper = "" if below == np.inf else f" and < {below:g}"
    raise ValueError(f"Got {name}={value!r}; expected a number {lower}{upper}.")


def check_integer(name: str, value: object, *, least: int) -> None:
    """Refuse a value that is not an integer of at least `least`."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return
    raise ValueError(f"Got {name}={value!r}; expected an integer >= {least}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of `choices`."""
    allowed = list(choices)
    if isinstance(value, str) and value in allowed:
        return
    listing = " or ".join(repr(choice) for choice in allowed)
    raise ValueError(f"Got {name}={value!r}; expected {listing}.")
