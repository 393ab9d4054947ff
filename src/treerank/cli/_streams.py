"""Byte streams: read fully, line by line, or again from their start."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

# How the first bytes say that a file is compressed.
_PACKINGS = {rb"\x1f\x8b": "gzip", rb"BZh[1-9]1AY&SY": "bz2", rb"\x28\xb5\x2f\xfd": "zstd"}


def open_unpacked(path: str) -> Any:
    """Open a file as a stream of decompressed bytes, compressed as its content or name says."""
    with Path(path).open("rb") as file:
        start = file.read(16)
    found = (packing for begin, packing in _PACKINGS.items() if re.match(begin, start))
    return pa.input_stream(path, compression=next(found, "detect"))


def first_undecodable(stream: Any, encoding: str) -> int | None:
    """Return the number of the first line that is not text in an encoding, if there is one."""
    for number, line in enumerate(_lines(stream), start=1):
        try:
            line.decode(encoding)
        except UnicodeDecodeError:
            return number
    return None


def _lines(stream: Any) -> Iterable[bytes]:
    """Yield the lines of a binary stream, without reading all of it at once."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + bytes(block)).split(b"\n")
        yield from whole
    yield rest


def read_full(stream: Any, n: int) -> bytes:
    """Read the first n bytes of a stream, which may return fewer per call."""
    parts: list[bytes] = []
    while n > 0 and (part := stream.read(n)):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def whole_lines(start: bytes, limit: int) -> bytes:
    """Drop the last line if `start` was cut at `limit` bytes."""
    return start if len(start) < limit else start[: start.rfind(b"\n") + 1]


def whole_rows(start: bytes, limit: int) -> bytes:
    """Drop the last line, and those before it that lie between quotes, if `start` was cut."""
    whole = whole_lines(start, limit)
    if len(start) < limit:
        return whole
    end, quotes = len(whole), whole.count(b'"')
    while quotes % 2 and end > 0:
        begin = whole.rfind(b"\n", 0, end - 1) + 1
        quotes -= whole.count(b'"', begin, end)
        end = begin
    return whole[:end] or whole


def first_blocks(stream: Any, limit: int, size: int) -> Iterable[bytes]:
    """Yield the first `limit` bytes of a stream in blocks, cut after the last whole line."""
    while limit > 0 and (block := bytes(stream.read(min(limit, size)))):
        limit -= len(block)
        yield block if limit > 0 else whole_lines(block, len(block))


class Prefixed(io.RawIOBase):
    """A stream whose first bytes have already been read."""

    def __init__(self, prefix: bytes, stream: Any) -> None:
        self._prefix, self._rest = prefix, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._prefix:
            n = min(len(buffer), len(self._prefix))
            buffer[:n] = self._prefix[:n]
            self._prefix = self._prefix[n:]
            return n
        data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
