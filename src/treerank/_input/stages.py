"""Measures the time spent in each stage of a fit, for `verbose=2`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from treerank._input.parameters import check_verbose

# Seconds spent in each stage of the current fit so far, in order; and whether it is in a stage now.
_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)
_in_stage: ContextVar[bool] = ContextVar("in_stage", default=False)


@contextmanager
def record_stages(verbose: Any) -> Iterator[dict[str, float]]:
    """Measure the stages of a fit; if `verbose` is at least 2, print a table of them at the end."""
    verbose = check_verbose(verbose)
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
    """Add the time that the block takes to this stage of the current fit.

    A stage inside another one is part of that one.
    """
    seconds = _seconds.get()
    if seconds is None or _in_stage.get():
        yield
        return
    token, start = _in_stage.set(True), time.perf_counter()
    try:
        yield
    finally:
        _in_stage.reset(token)
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start


def _table(seconds: dict[str, float], total: float) -> str:
    """Format one line per stage; "other" is the time outside all stages."""
    rest = total - sum(seconds.values())
    rows = {**seconds, "other": rest, "total": total}
    lines = [f"  {name:<24}{value:>9.3f}{value / total:>7.0%}" for name, value in rows.items()]
    return "\n".join(["treerank: seconds by stage", *lines])
