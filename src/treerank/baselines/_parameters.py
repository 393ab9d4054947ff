"""Checks of constructor parameters, with messages that say what was given and expected."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real


def check_number(name: str, value: object, *, above: float, closed: bool = False) -> None:
    """Raise an error unless the value is a finite number > `above`, or >= it if `closed`."""
    if isinstance(value, Real):
        number = float(value)
        if above < number < float("inf") or (closed and number == above):
            return
    sign = ">=" if closed else ">"
    raise ValueError(f"Got {name}={value!r}; expected a finite number {sign} {above:g}.")


def check_integer(name: str, value: object, *, least: int) -> None:
    """Raise an error unless the value is an integer of at least `least`."""
    if not (isinstance(value, Integral) and int(value) >= least):
        raise ValueError(f"Got {name}={value!r}; expected an integer >= {least}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise an error unless the value is one of `choices`."""
    allowed = list(choices)
    if not (isinstance(value, str) and value in allowed):
        listing = " or ".join(repr(choice) for choice in allowed)
        raise ValueError(f"Got {name}={value!r}; expected {listing}.")
