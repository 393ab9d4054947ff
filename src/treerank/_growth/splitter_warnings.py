"""Warnings of the classifiers that split cells: once for a fit, not once for every cell."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from treerank._input.warn import warn
from treerank.splitters import ClassifierSplit

# In several threads, scikit-learn may see the filters while another of its threads sets them, and
# then warns of a cause that is not there.
FALSE_ALARM = "`sklearn.utils.parallel.delayed` should be used with"


class Caught(NamedTuple):
    """A warning, in a form that one process can send to another."""

    text: str
    category: type[Warning]
    filename: str
    line: int


@contextmanager
def warn_once(splitter: Any) -> Iterator[list[Caught]]:
    """Gather what the fits of a splitter warn of, and say it at the end, each thing once.

    The caller adds what other processes have gathered to the list. The user's filters decide what
    is gathered; a warning that they turn into an error is raised where it occurs.
    """
    sent: list[Caught] = []
    try:
        # Entered before threads start, which share the filters with this one.
        with warnings.catch_warnings(record=True) as seen:
            yield sent
    finally:
        _say([*_plain(seen), *sent], splitter)


@contextmanager
def gather_in_worker(parent: int) -> Iterator[list[Caught]]:
    """Gather the warnings of a task if it runs in a process of its own.

    In the process `parent`, and in a thread of a worker, whose filters others use at the same
    time, nothing is changed.
    """
    caught: list[Caught] = []
    if os.getpid() == parent or threading.current_thread() is not threading.main_thread():
        yield caught
        return
    with warnings.catch_warnings(record=True) as seen:
        yield caught
    # The same text for many cells is sent once.
    caught += dict.fromkeys(_plain(seen))


def _plain(seen: Iterable[warnings.WarningMessage]) -> Iterator[Caught]:
    for one in seen:
        yield Caught(str(one.message), one.category, one.filename, one.lineno)


def _say(caught: list[Caught], splitter: Any) -> None:
    caught = [one for one in caught if not one.text.startswith(FALSE_ALARM)]
    stopped = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    if stopped:
        warn(_not_converged(splitter, stopped[0].text), stopped[0].category)
    # Texts that differ in their numbers only are one.
    others = {
        one._replace(text=re.sub(r"\d+", "", one.text)): one
        for one in reversed(caught)
        if not issubclass(one.category, ConvergenceWarning)
    }
    for one in reversed(others.values()):
        warnings.warn_explicit(one.text, one.category, one.filename, one.line)


def _not_converged(splitter: Any, text: str) -> str:
    classifier = splitter.estimator if isinstance(splitter, ClassifierSplit) else splitter
    got = f"splitter={classifier!r}" if hasattr(classifier, "fit") else "a splitter"
    first_line = text.strip().partition("\n")[0].rstrip(".:")
    said = f'Got {got}, which did not converge in some cells ("{first_line}")'
    if isinstance(classifier, Pipeline) or not hasattr(classifier, "fit"):
        return (
            f"{said}; expected one that does: scale the columns in a Pipeline with a "
            "StandardScaler, or, if they are scaled, raise max_iter."
        )
    return (
        f"{said}; expected columns of similar scale: put a StandardScaler before it, "
        f"splitter=make_pipeline(StandardScaler(), {classifier!r}), or raise max_iter."
    )
