"""How a text file is written: its encoding and what separates its columns, found in its bytes."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# Lines that are split to see which separator fits.
MOST_LINES = 20


def find_encoding(blocks: Iterable[bytes]) -> str:
    """Encoding of a text of which some blocks are given, from its beginning on, in whole lines.

    UTF-8 if they are valid UTF-8, which other text hardly ever is by chance; else what Windows
    writes in western Europe and America.
    """
    decoder = codecs.getincrementaldecoder("utf8")()
    found = "utf8"
    for number, block in enumerate(blocks):
        if number == 0 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if found == "utf8" and not _can_decode(decoder, block):
            found = "cp1252"
        if found == "cp1252" and not _can_decode(codecs.getincrementaldecoder(found)(), block):
            return "latin-1"  # which gives every byte a character
    return found if found != "utf8" or _can_decode(decoder, b"", True) else "cp1252"


def _can_decode(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def decode_start(start: bytes, encoding: str) -> str:
    """Text of the first bytes of a file, whose last character may be cut."""
    name = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
    return codecs.getincrementaldecoder(name)().decode(start)


def first_line(text: str) -> str:
    """First line, which goes on where a name in quotes has a line break."""
    end = text.find("\n")
    while end >= 0 and text.count('"', 0, end) % 2:
        end = text.find("\n", end + 1)
    return text if end < 0 else text[:end]


def find_delimiter(text: str) -> str:
    """Separator that splits the first lines into the same number of columns, and into most."""
    header = first_line(text)
    rest = text[len(header) + 1 :].split("\n")[:-1][:MOST_LINES]
    best, best_fit = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        width = _n_fields(header, delimiter)
        if width < 2:
            continue
        agree = sum(_n_fields(line, delimiter) == width for line in rest)
        fit = (agree / len(rest) if rest else 1.0, width)
        if fit > best_fit:
            best, best_fit = delimiter, fit
    return best


def _n_fields(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line.rstrip("\r")], delimiter=delimiter), []))
    except csv.Error:
        return 0
