"""Byte streams: read fully, line by line, or again from their start."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any


def lines(stream: Any) -> Iterable[bytes]:
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
