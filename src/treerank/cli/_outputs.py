"""Check the files to be written before any work, so that no input or other output is lost."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from treerank._io.atomic import find_target
from treerank._io.parquet_files import SUFFIXES
from treerank.cli._errors import BadInput


def check_outputs(
    outputs: Mapping[str, str | Path | None],
    inputs: Iterable[str | Path | None],
    *,
    stdout: bool = False,
    page: str | None = None,
) -> None:
    """Raise if a file cannot be written, is also read, or is written twice.

    `outputs` maps options to their files. With `stdout`, - is the standard output. `page` names the
    option whose file is an HTML page.
    """
    written = {
        option: Path(path)
        for option, path in outputs.items()
        if path is not None and not (stdout and str(path) == "-")
    }
    for path in written.values():
        _check_writable(path, stdout)
    read = [file for given in inputs if given is not None for file in _files(str(given))]
    for option, path in written.items():
        if any(_is_same(path, file) for file in read):
            raise BadInput(
                f"{path}: this file is an input and would be overwritten; give another {option}."
            )
    for (option, path), (other, second) in combinations(written.items(), 2):
        if _is_same(path, second):
            raise BadInput(
                f"{second}: got the same file for {option} and {other}; give each its own file."
            )
    if page in written:
        _check_page_name(page, written[page])


def _check_page_name(option: str, path: Path) -> None:
    from treerank._report._render import (  # noqa: PLC0415 (slow to import)
        PAGE_NAME,
        is_page_name,
    )

    if not is_page_name(path):
        raise BadInput(f"Got {option} {path}; expected {PAGE_NAME}.")


def _check_writable(path: Path, stdout: bool) -> None:
    if path.is_dir():
        raise BadInput(f"{path}: this is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {str(path.parent)!r}; create it first.")
    try:
        target = find_target(path)
    except ValueError:
        remedy = "name a file, or - for the standard output" if stdout else "name a file"
        raise BadInput(f"{path}: this is a device, a pipe or a socket; {remedy}.") from None
    if not os.access(target.parent, os.W_OK):
        raise BadInput(f"{path}: its folder cannot be written to; choose another.")


def _files(given: str) -> Iterator[Path]:
    """Files of an input, which may be a folder or a pattern; none for the standard input."""
    path = Path(given)
    if given == "-":
        return
    if path.is_dir():
        yield from (file for suffix in SUFFIXES for file in path.rglob(f"*{suffix}"))
    elif path.exists():
        yield path
    else:
        yield from map(Path, glob.glob(given, recursive=True))  # noqa: PTH207 (absolute ones too)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links or on a file system that ignores case."""
    if path.resolve() == other.resolve():
        return True
    return path.exists() and other.exists() and path.samefile(other)
