"""The two containers of a model: one JSON text, or a zip of JSON and raw arrays.

Reading trusts nothing: sizes are compared before memory is asked for, the nesting of the JSON
is measured before it is parsed, and a zip must be plain: no encryption, no second copy of a
name, no 64-bit extension, and members that cannot have grown more than deflate allows.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._atomic import written_whole
from treerank._model_file._errors import ModelFileError
from treerank._model_file._nodes import Node, say_not_finite

Array = NDArray[Any]

# Arrays above this many bytes in all make the file a zip; there, arrays above this many values
# are members of their own.
MOST_JSON_BYTES = 200_000
MOST_INLINE_VALUES = 64
DOCUMENT = "model.json"
MAX_DEPTH = 32  # of nested lists and objects
MAX_MEMBERS = 1_000
# A parsed JSON text takes up to this many times its own bytes.
JSON_GROWTH = 32
# No stream of deflate grows more when it is read.
DEFLATE_RATIO = 1_032
END_RECORD = 22  # bytes that end a zip without a comment
ZIP64_LOCATOR = 20
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


# --- writing ---


def write_container(path: str | os.PathLike[str], document: dict[str, Any], zipped: bool) -> None:
    """Write the document; its arrays become lists, or members of a zip."""
    zipped = zipped or _bytes_of_arrays(document) > MOST_JSON_BYTES
    members: dict[str, Array] = {}
    plain = _plain(document, "", members if zipped else None)
    try:
        raw = _text(plain, zipped, ascii_only=False).encode()
    except UnicodeEncodeError:  # half a character, which JSON can only escape
        raw = _text(plain, zipped, ascii_only=True).encode()
    with written_whole(path) as temporary:
        if not zipped:
            temporary.write_bytes(raw + b"\n")
            return
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
            archive.writestr(_member(DOCUMENT), raw)
            for name, array in members.items():
                archive.writestr(_member(name), array.tobytes())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _text(plain: Any, zipped: bool, ascii_only: bool) -> str:
    """JSON; on its own with a list of numbers to a line, so that a person can read it."""
    indent = None if zipped else 1
    text = json.dumps(plain, allow_nan=False, ensure_ascii=ascii_only, indent=indent)
    return (
        text if zipped else re.sub(r"\[[^\[\]{}\"]*\]", lambda m: re.sub(r"\s+", " ", m[0]), text)
    )


def _bytes_of_arrays(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes_of_arrays, value.values()))
    return sum(map(_bytes_of_arrays, value)) if isinstance(value, list) else 0


def _plain(value: Any, path: str, members: dict[str, Array] | None) -> Any:
    """Replace arrays by objects of JSON; collect those that become members."""
    if isinstance(value, dict):
        return {k: _plain(v, f"{path}.{k}" if path else k, members) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, f"{path}.{i}", members) for i, v in enumerate(value)]
    if not isinstance(value, np.ndarray):
        return value
    array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    described = {"dtype": array.dtype.str, "shape": list(value.shape)}
    if members is not None and array.size > MOST_INLINE_VALUES:
        name = f"{path}.bin"
        members[name] = array
        return described | {"member": name}
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        values = [v if math.isfinite(v) else say_not_finite(v) for v in values]
    return described | {"values": values}


# --- reading ---


def read_container(path: str | os.PathLike[str], max_bytes: int, stack: ExitStack) -> Node:
    """Open a file and parse its document; arrays are read while the stack is open."""
    size = Path(path).stat().st_size
    if size > max_bytes:
        raise ModelFileError(
            f"Got a file of {size:,} bytes; expected at most {max_bytes:,}. If you trust it, "
            "pass a larger max_bytes."
        )
    with Path(path).open("rb") as file:
        head = file.read(4)
    if head == b"PK\x03\x04":
        return _read_zip(path, max_bytes, stack)
    raw = Path(path).read_bytes()

    def no_member(name: str, dtype: np.dtype[Any], shape: list[int]) -> Array:
        raise ModelFileError(f"Got the member {name!r} of a zip; this file is plain JSON.")

    return Node(_parse(raw, max_bytes), "", no_member, max_bytes)


def _parse(raw: bytes, max_bytes: int) -> Any:
    """Parse JSON of limited size and depth, without repeated names."""
    if len(raw) > max_bytes // JSON_GROWTH:
        raise ModelFileError(
            f"Got {len(raw):,} bytes of JSON; expected at most {max_bytes // JSON_GROWTH:,}. If "
            "you trust the file, pass a larger max_bytes."
        )
    if raw.lstrip()[:1] != b"{":
        raise ModelFileError("Got something else than JSON or a zip; expected a model file.")
    outside = re.sub(rb'"[^"\\]*(?:\\.[^"\\]*)*"', b"", raw, flags=re.DOTALL)
    signs = np.frombuffer(outside, dtype=np.uint8)
    opened = ((signs == ord("[")) | (signs == ord("{"))).astype(np.int32)
    closed = ((signs == ord("]")) | (signs == ord("}"))).astype(np.int32)
    if np.cumsum(opened - closed).max(initial=0) > MAX_DEPTH:
        raise ModelFileError(f"Got lists nested deeper than {MAX_DEPTH}; expected a model file.")
    try:
        return json.loads(raw, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"Got JSON that cannot be parsed: {error}.") from error


def _no_constant(name: str) -> float:
    raise ModelFileError(f"Got {name}, which is no number of JSON.")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ModelFileError("Got a field twice in one object.")
    return fields


# What zipfile raises when it meets a damaged file.
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError,
    ValueError, KeyError, IndexError, OverflowError,
)  # fmt: skip


def _read_zip(path: str | os.PathLike[str], max_bytes: int, stack: ExitStack) -> Node:
    try:
        _check_end(path)
        archive = stack.enter_context(zipfile.ZipFile(path))
        infos = _check_members(archive, max_bytes)
        raw = _read(archive, infos, DOCUMENT)
    except ModelFileError:
        raise
    except ZIP_ERRORS as error:
        raise ModelFileError(f"Got a damaged zip: {error}.") from error

    def read_member(name: str, dtype: np.dtype[Any], shape: list[int]) -> Array:
        expected = math.prod(shape) * dtype.itemsize
        if name not in infos or infos[name].file_size != expected:
            raise ModelFileError(f"Got no unread member {name!r} of {expected:,} bytes in the zip.")
        try:
            data = _read(archive, infos, name)
            del infos[name]  # once only, so that memory stays within the limit
            return np.frombuffer(data, dtype=dtype).reshape(shape)
        except ModelFileError:
            raise
        except ZIP_ERRORS as error:
            raise ModelFileError(f"Got a damaged zip: {error}.") from error

    return Node(_parse(bytes(raw), max_bytes), "", read_member, max_bytes)


def _check_end(path: str | os.PathLike[str]) -> None:
    """Refuse a directory that would take more memory than a model's: before it is read."""
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - END_RECORD - ZIP64_LOCATOR))
        end = file.read()
    record, before = end[-END_RECORD:], end[:-END_RECORD]
    if record[:4] != b"PK\x05\x06" or record[20:22] != b"\0\0":
        raise ModelFileError("Got a zip that does not end as one; it may be cut off.")
    entries = int.from_bytes(record[10:12], "little")
    if entries > MAX_MEMBERS or before[:4] == b"PK\x06\x07":
        raise ModelFileError(f"Got a zip of over {MAX_MEMBERS} members, or a 64-bit one.")
    if int.from_bytes(record[12:16], "little") > MAX_MEMBERS * 1_000:
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
    """Read a member that is just as long as it says."""
    size = infos[name].file_size
    data = bytearray()
    with archive.open(infos[name]) as member:
        while len(data) <= size and (block := member.read(1 << 20)):
            data += block
    if len(data) != size:
        raise ModelFileError(f"Got {len(data):,} bytes in the member {name!r}, not {size:,}.")
    return data
