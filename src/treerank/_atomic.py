"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside the path; rename it if the block ends well, else remove it."""
    target = Path(path)
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(number)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp is private to its owner; a new file has the rights that the user has set.
        mask = os.umask(0)
        os.umask(mask)
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~mask
        temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
