"""The two containers of a model: one JSON text, or a zip of JSON and raw arrays.

Files are not trusted: sizes are checked before anything is read or unpacked, the nesting of the
JSON is measured before it is parsed, and a zip must be plain, without encryption, duplicate
names, 64-bit extensions, or members that claim to unpack to more than deflate allows.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._nodes import Node, format_not_finite

Array = NDArray[Any]

# If all arrays together exceed this many bytes, the file is a zip. In a zip, each array with more
# than this many values is a member of its own.
MOST_JSON_BYTES = 200_000
MOST_INLINE_VALUES = 64
DOCUMENT = "model.json"
MAX_DEPTH = 32  # of nested lists and objects
MAX_MEMBERS = 65_000  # there may be some per feature; a zip without ZIP64 has up to 65,535
MAX_DIRECTORY = 128 * MAX_MEMBERS  # bytes
# Parsed JSON takes up to this many times the bytes of its text.
JSON_GROWTH = 32
# Largest ratio by which a deflate stream can expand.
DEFLATE_RATIO = 1_032
END_RECORD = 22  # bytes that end a zip without a comment
ZIP64_LOCATOR = 20
EPOCH = (1980, 1, 1, 0, 0, 0)  # constant, so that the same model gives the same bytes
SCAN_BYTES = 1 << 20  # bytes of JSON whose nesting is measured at once
STRING_OR_NUMBERS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|\[[^\[\]{}"]*\]')


def write_container(path: str | os.PathLike[str], document: dict[str, Any], zipped: bool) -> None:
    """Write the document. Its arrays become lists, or members of a zip."""
    arrays = list(_arrays(document))
    zipped = zipped or sum(array.nbytes for array in arrays) > MOST_JSON_BYTES
    members: dict[str, Array] = {}
    plain = _plain(document, "", _most_inline(arrays) if zipped else math.inf, members)
    try:
        raw = _text(plain, zipped, ascii_only=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which must be escaped in JSON
        raw = _text(plain, zipped, ascii_only=True).encode()
    if not zipped:
        Path(path).write_bytes(raw + b"\n")
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
        archive.writestr(_member(DOCUMENT), raw)
        for name, array in members.items():
            archive.writestr(_member(name), array.tobytes())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _text(plain: Any, zipped: bool, ascii_only: bool) -> str:
    """Return JSON. Outside a zip it is readable: indented, with each list of numbers on a line."""
    indent = None if zipped else 1
    text = json.dumps(plain, allow_nan=False, ensure_ascii=ascii_only, indent=indent)
    return text if zipped else STRING_OR_NUMBERS.sub(_on_one_line, text)


def _on_one_line(match: re.Match[str]) -> str:
    """Put a list of numbers on one line. Strings stay as they are, even with brackets in them."""
    return match[0] if match[0].startswith('"') else " ".join(match[0].split())


def _arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _arrays(inner)


def _most_inline(arrays: list[Array]) -> int:
    """Number of values up to which an array of a zip is stored in the document.

    Chosen so that the zip has at most `MAX_MEMBERS` members, including the document.
    """
    sizes = sorted((array.size for array in arrays), reverse=True)
    return max([MOST_INLINE_VALUES, *sizes[MAX_MEMBERS - 1 : MAX_MEMBERS]])


def _plain(value: Any, path: str, most_inline: float, members: dict[str, Array]) -> Any:
    """Replace arrays by JSON objects; collect the arrays that become members."""
    if isinstance(value, dict):
        return {
            k: _plain(v, f"{path}.{k}" if path else k, most_inline, members)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_plain(v, f"{path}.{i}", most_inline, members) for i, v in enumerate(value)]
    if not isinstance(value, np.ndarray):
        return value
    array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    described = {"dtype": array.dtype.str, "shape": list(value.shape)}
    if array.size > most_inline:
        name = f"{path}.bin"
        members[name] = array
        return described | {"member": name}
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        values = [v if math.isfinite(v) else format_not_finite(v) for v in values]
    return described | {"values": values}


def read_container(path: str | os.PathLike[str], max_bytes: int, stack: ExitStack) -> Node:
    """Open a file and parse its document. Arrays can be read while the stack is open."""
    about = Path(path).stat()
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        raise ModelFileError("Got a device, a pipe or a socket; expected a file.")
    size = about.st_size
    if size > max_bytes:
        raise ModelFileError(
            f"Got a file of {size:,} bytes; expected at most {max_bytes:,}. If you trust it, "
            "pass a larger max_bytes."
        )
    with Path(path).open("rb") as file:
        head = file.read(4)
        if head == b"PK\x03\x04":
            return _read_zip(path, max_bytes, stack)
        _check_json_size(size, max_bytes)
        raw = head + file.read(size)

    def no_member(name: str, dtype: np.dtype[Any], shape: list[int]) -> Array:
        raise ModelFileError(f"Got the member {name!r} of a zip; this file is plain JSON.")

    return Node(_parse(raw), "", no_member, max_bytes)


def _check_json_size(size: int, max_bytes: int) -> None:
    if size > max_bytes // JSON_GROWTH:
        raise ModelFileError(
            f"Got {size:,} bytes of JSON; expected at most {max_bytes // JSON_GROWTH:,}. If you "
            "trust the file, pass a larger max_bytes."
        )


def _parse(raw: bytes) -> Any:
    """Parse JSON of limited depth, without repeated names."""
    if raw.lstrip()[:1] != b"{":
        raise ModelFileError("Got something else than JSON or a zip; expected a model file.")
    if _depth(raw) > MAX_DEPTH:
        raise ModelFileError(f"Got lists nested deeper than {MAX_DEPTH}; expected a model file.")
    try:
        return json.loads(raw, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"Got JSON that cannot be parsed: {error}.") from error


def _depth(raw: bytes) -> int:
    """Nesting depth of lists and objects, in one pass whose time is linear for any text.

    Correct up to the first syntax error, where the parser stops: within strings, every other
    backslash of a run escapes the next character, and an escaped quote does not end the string.
    """
    signs = np.frombuffer(raw.replace(rb"\\", b"").replace(rb"\"", b""), dtype=np.uint8)
    deepest = depth = quotes = 0
    for start in range(0, len(signs), SCAN_BYTES):
        part = signs[start : start + SCAN_BYTES]
        upto = quotes + np.cumsum(part == ord('"'), dtype=np.int64)
        step = np.isin(part, [ord("["), ord("{")]).astype(np.int64)
        step -= np.isin(part, [ord("]"), ord("}")])
        at = depth + np.cumsum(np.where(upto % 2 == 0, step, 0))
        deepest, depth, quotes = max(deepest, int(at.max())), int(at[-1]), int(upto[-1])
    return deepest


def _no_constant(name: str) -> float:
    raise ModelFileError(f"Got {name}, which is no number of JSON.")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ModelFileError("Got a field twice in one object.")
    return fields


# Exceptions that zipfile raises on damaged files.
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError,
    ValueError, KeyError, IndexError, OverflowError,
)  # fmt: skip


@contextmanager
def _checked_zip() -> Iterator[None]:
    """Turn errors of a damaged zip into a ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except ZIP_ERRORS as error:
        raise ModelFileError(f"Got a damaged zip: {error}.") from error


def _read_zip(path: str | os.PathLike[str], max_bytes: int, stack: ExitStack) -> Node:
    with _checked_zip():
        _check_end(path)
        archive = stack.enter_context(zipfile.ZipFile(path))
        infos = _check_members(archive, max_bytes)
        _check_json_size(infos[DOCUMENT].file_size, max_bytes)
        raw = bytes(_read(archive, infos, DOCUMENT))

    def read_member(name: str, dtype: np.dtype[Any], shape: list[int]) -> Array:
        expected = math.prod(shape) * dtype.itemsize
        if name not in infos or infos[name].file_size != expected:
            raise ModelFileError(f"Got no unread member {name!r} of {expected:,} bytes in the zip.")
        with _checked_zip():
            data = _read(archive, infos, name)
            del infos[name]  # each member is read once, so that memory stays within the limit
            return np.frombuffer(data, dtype=dtype).reshape(shape)

    return Node(_parse(raw), "", read_member, max_bytes)


def _check_end(path: str | os.PathLike[str]) -> None:
    """Check the end of a zip, and that its directory is not oversized, before that is read."""
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - END_RECORD - ZIP64_LOCATOR))
        end = file.read()
    record, before = end[-END_RECORD:], end[:-END_RECORD]
    if record[:4] != b"PK\x05\x06" or record[20:22] != b"\0\0":
        raise ModelFileError("Got a zip that does not end as one; it may be cut off.")
    entries = int.from_bytes(record[10:12], "little")
    if entries > MAX_MEMBERS or before[:4] == b"PK\x06\x07":
        raise ModelFileError(f"Got a zip of over {MAX_MEMBERS:,} members, or a 64-bit one.")
    if int.from_bytes(record[12:16], "little") > MAX_DIRECTORY:
        raise ModelFileError("Got a zip with an oversized directory.")


def _check_members(archive: zipfile.ZipFile, max_bytes: int) -> dict[str, zipfile.ZipInfo]:
    infos: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in archive.infolist():
        if info.filename in infos:
            raise ModelFileError(f"Got the member {info.filename!r} twice.")
        plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not plain or info.flag_bits & 0x1:
            raise ModelFileError(f"Got the member {info.filename!r} encrypted or oddly packed.")
        total += info.file_size
        grown = info.file_size > DEFLATE_RATIO * info.compress_size + DEFLATE_RATIO
        if total > max_bytes or grown:
            raise ModelFileError(
                f"Got members that unpack to over {max_bytes:,} bytes, or more than they can hold. "
                "If you trust the file, pass a larger max_bytes."
            )
        infos[info.filename] = info
    if DOCUMENT not in infos:
        raise ModelFileError(f"Got a zip without {DOCUMENT}; expected a model file.")
    return infos


def _read(archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], name: str) -> bytearray:
    """Read a member; raise unless it has the size given in the directory."""
    size = infos[name].file_size
    data = bytearray()
    with archive.open(infos[name]) as member:
        while len(data) <= size and (block := member.read(1 << 20)):
            data += block
    if len(data) != size:
        raise ModelFileError(f"Got {len(data):,} bytes in the member {name!r}, not {size:,}.")
    return data
