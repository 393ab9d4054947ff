"""Stamps of files, which show whether a file has changed since it was read."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A Parquet file ends with its footer (schema, row groups, statistics), the length of the footer in
# four bytes, and four letters.
MAGIC, TAIL_BYTES = b"PAR1", 8
MOST_FOOTER_BYTES = 1 << 26


@dataclass(frozen=True)
class FileStamp:
    """The state of a file at one time.

    `changed_ns`, the time of the last status change, cannot be set back by a program, unlike
    `modified_ns`, the time of the last change of the content.
    """

    path: Path
    place: tuple[int, int]  # device and inode
    size: int
    modified_ns: int
    changed_ns: int
    footer: str  # digest

    @property
    def in_words(self) -> list[Any]:
        """The properties that decide whether cached codes are still those of the file."""
        path = str(self.path.resolve())
        return [path, self.size, self.modified_ns, self.changed_ns, self.footer]

    def check_unchanged(self, elsewhere: bool = False) -> None:
        """Raise if the file has changed or was replaced.

        On another machine (`elsewhere`), the inode numbers of a shared disk may differ.
        """
        try:
            now = self.path.stat()
        except FileNotFoundError:
            raise _changed(self.path, "it is gone") from None
        same = (now.st_size, now.st_mtime_ns) == (self.size, self.modified_ns)
        if not elsewhere:
            same &= (now.st_dev, now.st_ino) == self.place and now.st_ctime_ns == self.changed_ns
        if not same:
            how = f"it had {self.size:,} bytes, and has {now.st_size:,}"
            raise _changed(self.path, how) from None


def _changed(path: Path, how: str) -> ValueError:
    return ValueError(
        f"Got {str(path)!r}, which has changed while it was read ({how}); expected files that stay "
        "as they are during a fit. Fit again when nobody writes to them."
    )


def take_stamp(path: Path) -> FileStamp:
    """Return the stamp of a file in its present state."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        file.seek(max(about.st_size - TAIL_BYTES, 0))
        tail = file.read(TAIL_BYTES)
        length = TAIL_BYTES
        if tail.endswith(MAGIC):  # other files are rejected later, when opened as Parquet
            length += min(int.from_bytes(tail[:4], "little"), MOST_FOOTER_BYTES)
        file.seek(max(about.st_size - length, 0))
        digest = hashlib.blake2b(file.read(length), digest_size=16)
    return FileStamp(
        path=path,
        place=(about.st_dev, about.st_ino),
        size=about.st_size,
        modified_ns=about.st_mtime_ns,
        changed_ns=about.st_ctime_ns,
        footer=digest.hexdigest(),
    )
