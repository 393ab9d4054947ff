"""Measures the time spent in each stage of a fit, for `verbose=2`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Seconds spent in each stage of the current fit so far, in order.
_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)


@contextmanager
def record_stages(verbose: int) -> Iterator[dict[str, float]]:
    """Measure the stages of a fit; if `verbose` is at least 2, print a table of them at the end."""
    seconds: dict[str, float] = {}
    token = _seconds.set(seconds)
    start = time.perf_counter()
    try:
        yield seconds
    finally:
        _seconds.reset(token)
    if verbose >= 2:
        print(_table(seconds, time.perf_counter() - start), file=sys.stderr, flush=True)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the time that the block takes to this stage of the current fit."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds = _seconds.get()
        if seconds is not None:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start


def _table(seconds: dict[str, float], total: float) -> str:
    """Format one line per stage. Stages are not nested; "other" is the time outside all stages."""
    rest = total - sum(seconds.values())
    rows = {**seconds, "other": rest, "total": total}
    lines = [f"  {name:<24}{value:>9.3f}{value / total:>7.0%}" for name, value in rows.items()]
    return "\n".join(["treerank: seconds by stage", *lines])
