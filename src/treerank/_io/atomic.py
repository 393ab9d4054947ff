"""Atomic writes: files and folders that appear complete or not at all.

Temporary files and folders have hidden names and stay locked while their writer lives. What a
killed run has left behind is not locked, and the next write to the same target removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

AnyPath = str | os.PathLike[str]

SUFFIX = ".tmp"
MAX_LINKS = 40  # the limit of Linux
# Folders of open file descriptors. Links in them lead to streams, even if to a file at present.
STREAMS = re.compile(r"/proc/\d+(/task/\d+)?/fd|/dev/fd")
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # no room on the disk, or not for this user
# Without locks (on Windows), only the age shows that the writer is gone.
OLD_SECONDS = 24 * 3600


@contextmanager
def atomic_write(path: AnyPath) -> Iterator[Path]:
    """Yield a temporary file beside the path. Rename it on success, remove it on an exception.

    A symbolic link is kept, and the file that it points to is replaced. An error that the disk is
    full names the path, which not all writers do.
    """
    target = find_target(path)
    # Every write to this target has the same prefix, which is short even if the name is long.
    digest = hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()
    prefix = f".treerank-{digest}-"
    _remove_abandoned(target.parent, prefix, SUFFIX)
    temporary, lock = _new_file(target.parent, prefix)
    try:
        yield temporary
        # mkstemp creates private files; a new file should have the permissions of the umask.
        mask = os.umask(0)
        os.umask(mask)
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~mask
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
        _close(lock)


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder and remove it at the end; first remove those left by killed runs."""
    _remove_abandoned(parent, prefix, "")
    folder, lock = _new_folder(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _close(lock)


def find_target(path: AnyPath) -> Path:
    """Follow symbolic links to a file, which need not exist. Raise if it cannot be replaced."""
    found = Path(path)
    for _ in range(MAX_LINKS):
        if STREAMS.fullmatch(os.path.realpath(found.parent)):
            raise _no_file(path)
        if not found.is_symlink():
            break
        found = found.parent / found.readlink()
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if not found.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    if found.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if found.exists() and not stat.S_ISREG(found.stat().st_mode):
        raise _no_file(path)
    return found


def _no_file(path: AnyPath) -> ValueError:
    return ValueError(
        f"Got {os.fspath(path)!r}, a device, a pipe or a socket; expected the path of a file, "
        "which is written under another name and then renamed."
    )


def _new_file(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        number, name = tempfile.mkstemp(dir=parent, prefix=prefix, suffix=SUFFIX)
        if sys.platform == "win32":  # an open file cannot be renamed
            os.close(number)
            return Path(name), -1
        if _lock_new(Path(name), number):
            return Path(name), number


def _new_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        if sys.platform == "win32":
            return folder, -1
        with suppress(FileNotFoundError):  # another process has removed it as abandoned
            number = os.open(folder, os.O_RDONLY)
            if _lock_new(folder, number):
                return folder, number


def _lock_new(path: Path, number: int) -> bool:
    """Lock a new file or folder; False if another process has removed it as abandoned before."""
    if sys.platform != "win32":
        with suppress(OSError):  # without locks in the file system, nothing is removed as abandoned
            fcntl.flock(number, fcntl.LOCK_EX)
    if path.exists():
        return True
    os.close(number)
    return False


def _close(number: int) -> None:
    if number >= 0:
        os.close(number)


def _remove_abandoned(parent: Path, prefix: str, suffix: str) -> None:
    """Remove what killed runs have left, as far as possible.

    A lock ends with its process, however that ends, so whatever can be locked has no writer. A
    process id in the name would not do: ids are reused, and differ between hosts.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            ours = entry.name.startswith(prefix) and entry.name.endswith(suffix)
            if ours and not entry.is_symlink():
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path), entry.is_dir())


def _remove_if_abandoned(path: Path, is_folder: bool) -> None:
    number = -1
    try:
        if sys.platform == "win32":
            if time.time() - path.stat().st_mtime < OLD_SECONDS:
                return
        else:
            number = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_folder:
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        _close(number)
