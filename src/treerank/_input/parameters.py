"""Validation of constructor parameters."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

# The largest integer that the core takes; as a limit on a tree, it means no limit.
LARGEST_INTEGER = 2**31 - 1
# More threads than this would only wait for each other.
MAX_THREADS = 256
# Fewer rows than this do not get a thread of their own to be scored.
ROWS_PER_THREAD = 32


def invalid_parameter(name: str, value: object, expected: str) -> ValueError:
    """Build the error for an invalid parameter."""
    return ValueError(f"Got {name}={value!r}; expected {expected}.")


def listed(names: Sequence[Any]) -> str:
    """Quote the first names, and say how many there are if not all are shown."""
    shown = ", ".join(repr(str(name)) for name in names[:6])
    return shown + (f", … ({len(names)} in all)" if len(names) > 6 else "")


def is_whole(value: Any) -> bool:
    """Whether a parameter is an integer and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Whether a parameter is a real number and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


@overload
def check_integer(name: str, value: Any, minimum: int, *, none: Literal[False] = False) -> int: ...


@overload
def check_integer(name: str, value: Any, minimum: int, *, none: Literal[True]) -> int | None: ...


def check_integer(name: str, value: Any, minimum: int, *, none: bool = False) -> int | None:
    """Return an integer >= minimum, or None if that is allowed."""
    if value is None and none:
        return None
    if not is_whole(value) or value < minimum:
        raise invalid_parameter(
            name, value, f"an integer >= {minimum}" + (" or None" if none else "")
        )
    return min(int(value), LARGEST_INTEGER)


def check_verbose(verbose: Any) -> int:
    """Return how much a fit prints; True means 1."""
    return check_integer("verbose", int(verbose) if isinstance(verbose, bool) else verbose, 0)


def check_number(name: str, value: Any, minimum: float = 0.0) -> float:
    """Return a finite number >= minimum."""
    if not is_number(value) or not math.isfinite(value) or value < minimum:
        bound = f" >= {minimum:g}" if math.isfinite(minimum) else ""
        raise invalid_parameter(name, value, f"a finite number{bound}")
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value if it is one of the choices."""
    value = bool(value) if isinstance(value, np.bool_) else value
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise invalid_parameter(name, value, "one of " + ", ".join(map(repr, choices)))
    return value


def check_word(name: str, value: str, word: str, otherwise: str) -> None:
    """Check the one word that a parameter may be, where it may be something else than text."""
    if value != word:
        raise invalid_parameter(name, value, f"{word!r}, {otherwise}")


def check_count_or_share(name: str, value: Any, total: int) -> int:
    """Convert a count or a proportion of `total` to a count of at least 1."""
    if isinstance(value, float | np.floating):
        if not 0 < float(value) < 1:
            raise invalid_parameter(name, value, "an integer >= 1 or a share in (0, 1)")
        return max(1, math.ceil(float(value) * total))
    if not is_whole(value) or value < 1:
        raise invalid_parameter(name, value, "an integer >= 1 or a share in (0, 1)")
    return min(int(value), LARGEST_INTEGER)


def check_max_features(value: Any, n_features: int) -> int:
    """Convert a max_features parameter to a count; -1 stands for all features."""
    if value is None:
        return -1
    if isinstance(value, str):
        if value not in ("sqrt", "log2"):
            raise invalid_parameter(
                "max_features", value, "an integer >= 1, a share in (0, 1], 'sqrt', 'log2' or None"
            )
        count = math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)
        return max(1, int(count))
    if isinstance(value, float | np.floating) and value == 1.0:
        return -1
    count = check_count_or_share("max_features", value, n_features)
    if count > n_features:
        raise invalid_parameter(
            "max_features", value, f"at most the number of features, {n_features}"
        )
    return count


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads: None means 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not is_whole(n_jobs) or n_jobs == 0:
        raise invalid_parameter(
            "n_jobs", n_jobs, "None, an integer >= 1, or a negative one (-1: all cores)"
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(int(n_jobs), MAX_THREADS) if n_jobs > 0 else max(1, (cores or 1) + 1 + int(n_jobs))


def threads_to_score(n_jobs: Any, n_rows: int) -> int:
    """Return the number of threads to score rows; few rows are scored before a thread starts."""
    return min(check_n_jobs(n_jobs), 1 + n_rows // ROWS_PER_THREAD)
