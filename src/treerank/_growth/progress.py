"""Progress of a long fit, shown by rich or tqdm if one of them is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float], None]


@contextmanager
def progress_bar(what: str, verbose: int) -> Iterator[Report | None]:
    """Yield a function that takes the completed fraction, or None if nothing is to be shown."""
    if not verbose:
        yield None
        return
    for make in (_rich_bar, _tqdm_bar, _plain_lines):
        try:
            bar = make(what)
        except ModuleNotFoundError:
            continue
        with bar as report:
            yield report
            report(1.0)
        return


def part_of(report: Report | None, done: int, then: int, total: int) -> Report | None:
    """Return a function that reports the part of a task that leads from `done` to `then`."""
    if report is None:
        return None
    return lambda share: report((done + share * (then - done)) / max(total, 1))


@contextmanager
def _rich_bar(what: str) -> Iterator[Report]:
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(transient=False) as progress:
        task = progress.add_task(f"treerank: {what}", total=1.0)
        yield lambda done: progress.update(task, completed=min(done, 1.0))


@contextmanager
def _tqdm_bar(what: str) -> Iterator[Report]:
    from tqdm.auto import tqdm  # noqa: PLC0415

    with tqdm(total=100, desc=f"treerank: {what}", unit="%") as bar:

        def report(done: float) -> None:
            bar.n = round(100 * min(done, 1.0))
            bar.refresh()

        yield report


@contextmanager
def _plain_lines(what: str) -> Iterator[Report]:
    shown = -10

    def report(done: float) -> None:
        nonlocal shown
        percent = int(100 * min(done, 1.0))
        if percent >= shown + 10:
            shown = percent
            print(f"treerank: {what} {percent}%", file=sys.stderr, flush=True)

    yield report
