"""Errors for bad input: one line, exit status 2."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

STATUS = 2


# Parameters of the library that occur in messages, and the options that set them.
OPTIONS = {
    "alpha": "--alpha", "baseline": "--baseline", "cache_dir": "--cache-dir",
    "checkpoint": "--checkpoint", "columns": "--column", "cutoff": "--cutoff", "cv": "--cv",
    "direction": "--direction", "focus": "--focus", "label_order": "--order", "level": "--level",
    "max_depth": "--max-depth", "n_estimators": "--trees", "n_jobs": "--threads",
    "random_state": "--seed", "rate": "--rate", "reference": "--reference",
    "sample_weight": "--weight", "share": "--share", "table": "--table",
}  # fmt: skip
_GIVEN = re.compile(rf"\b({'|'.join(OPTIONS)})=(?:(None\b)|(?=\S))")

OS_REMEDIES = {
    errno.EACCES: "; ask for the right to open it",
    errno.ENOSPC: "; free some, or write elsewhere",
}

# Values of Python in messages about options, and how the command line says them.
_PYTHON = [
    (re.compile(r"(Got (--[\w-]+)[^;]*); expected None: "), r"\1; leave out \2: "),
    (re.compile(r"(Got --[^;]*; expected )None, "), r"\1"),
    (re.compile(r"(Got (--[\w-]+)[^;]*; expected .*?) or None\."), r"\1, or leave out \2."),
    (re.compile(r"Got --cv 'prefit' with the rows"), "Got the rows"),
    (re.compile(r"Got groups and time; expected"), "Got --group and --time; expected"),
    (re.compile(r"Leave out cv, or pass other rows\."), "Give other rows."),
    (re.compile(r", or a numpy\.random\.RandomState"), ""),
]


class BadInput(Exception):  # noqa: N818 - it is the user's, not the program's
    """A problem of the user's input, and what to do about it."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print errors that the user can fix as one line, and warnings as notes."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except _user_errors() as e:
        for warning in caught:
            note(str(warning.message))
        print(f"treerank: {_one_line(speak_of_options(_format(e)))}", file=sys.stderr)
        raise typer.Exit(STATUS) from None
    for warning in caught:
        note(str(warning.message))


def note(text: str) -> None:
    """Print a note to the standard error, apart from the result."""
    print(f"treerank: note: {_one_line(speak_of_options(text))}", file=sys.stderr)


def speak_of_options(text: str) -> str:
    """Replace the parameters of the library by the options of the command line."""
    text = _GIVEN.sub(lambda m: f"no {OPTIONS[m[1]]}" if m[2] else f"{OPTIONS[m[1]]} ", text)
    for said_in_python, said_here in _PYTHON:
        text = said_in_python.sub(said_here, text)
    return (
        text.replace("name the column in categorical_features", "use --type COLUMN=category")
        .replace("categorical_features", "--type")
        .replace(
            "Pass label_order, an ordered categorical or numbers to say the order.",
            "Say the order by treerank fit --order, or write numbers.",
        )
    )


def _user_errors() -> tuple[type[Exception], ...]:
    """Exceptions that the user can fix, including those of pyarrow if it has been imported."""
    arrow: Any = sys.modules.get("pyarrow")
    of_arrow = () if arrow is None else (arrow.ArrowException,)
    return (BadInput, ValueError, TypeError, OSError, ModuleNotFoundError, *of_arrow)


def _format(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"{error.filename}: there is no such file."
    if isinstance(error, OSError) and error.errno is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        # pyarrow says in place of the cause what it was doing.
        cause = error.strerror if error.filename is not None else os.strerror(error.errno)
        return f"{where}{cause}{OS_REMEDIES.get(error.errno, '')}."
    return str(error)


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip())
