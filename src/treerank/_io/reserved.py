"""Reserve disk space before it is used.

A memory-mapped file takes no disk space until it is written to. If the disk is full by then, the
system can only kill the process; reserving the space first raises an error instead.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from treerank._io.atomic import NO_ROOM

ZEROS = bytes(1 << 20)
# Errors of file systems that cannot reserve space.
CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def reserved_file(path: Path, n_bytes: int) -> Iterator[BinaryIO]:
    """Open a new file for its header, and reserve `n_bytes` zero bytes after it."""
    with named_errors(path, n_bytes), path.open("wb") as file:
        yield file
        file.flush()
        _reserve(file, file.tell(), n_bytes)


def _reserve(file: BinaryIO, start: int, n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            if n_bytes:
                os.posix_fallocate(file.fileno(), start, n_bytes)
        except OSError as error:
            if error.errno not in CANNOT:
                raise
        else:
            return
    while n_bytes > 0:
        n_bytes -= file.write(ZEROS[:n_bytes])


@contextmanager
def named_errors(path: Path, n_bytes: int) -> Iterator[None]:
    """Add the file and the space it needs to the system's error if there is no space left."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        said = (
            f"{error.strerror}: {n_bytes:,} bytes are needed. Make room, or name a folder "
            "elsewhere (cache_dir, or TMPDIR in the environment)"
        )
        raise OSError(error.errno, said, str(path)) from None
