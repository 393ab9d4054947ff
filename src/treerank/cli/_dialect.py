"""Detect the encoding and the column separator of a text file."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Sequence

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# Lines that are split to find the separator.
MOST_LINES = 20
# First bytes of files that are sometimes mistaken for text, and what to do about them.
_NO_TABLES = {
    rb"PK\x03\x04": "this is a zip or a workbook of a spreadsheet; save the sheet as CSV.",
    rb"\xd0\xcf\x11\xe0": "this is a workbook of a spreadsheet; save the sheet as CSV.",
    rb"PAR1": "this is Parquet; give it as a file whose name ends in .parquet.",
    rb"ARROW1|ORC[\x00-\x1f]": "this is Arrow, Feather or ORC; write it as Parquet.",
    rb"SQLite format 3": "this is a database; write the table as CSV.",
    rb"\x89PNG": "this is a picture; expected CSV, TSV or Parquet.",
    rb"%PDF": "this is a PDF; expected CSV, TSV or Parquet.",
    rb"sep=": "the first line is a separator for Excel; remove it.",
    rb"\s*(?:\[\s*)?\{\s*\"": "this is JSON; write the table as CSV or Parquet.",
    rb"(?i:\s*<(?:\?xml|!doctype|html|table|stata_dta))": (
        "this is XML or HTML, whatever its name ends in; save the table as CSV."
    ),
}
# Control characters that text does not have, not even as separators.
_BINARY = re.compile(rb"[\x00\x02-\x08\x0e-\x1b]")


def no_table(start: bytes, encoding: str | None) -> str | None:
    """What is wrong with a file that is not a table of text, and the remedy; None if it may be."""
    without_mark = start.removeprefix(codecs.BOM_UTF8)
    for begin, said in _NO_TABLES.items():
        if re.match(begin, without_mark):
            return said
    first = without_mark[: max(64, without_mark.find(b"\n"))]
    if encoding is None and _utf_16(start) is None and _BINARY.search(first):
        return "this is no text; expected CSV, TSV or Parquet."
    return None


def _utf_16(block: bytes) -> str | None:
    """Encoding of a text in UTF-16, with or without a mark; None for anything else."""
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    first, second = block[::2].count(0), block[1::2].count(0)
    if 3 * (first + second) <= len(block) or 9 * min(first, second) > max(first, second):
        return None
    return "utf-16-le" if second > first else "utf-16-be"  # of each pair, in Latin script


def find_encoding(blocks: Iterable[bytes]) -> str:
    """Detect the encoding of a text from its first blocks, which consist of whole lines.

    UTF-8 if they are valid UTF-8, which text in other encodings rarely is by chance. Otherwise,
    the encoding of Windows in western Europe and America.
    """
    decoder = codecs.getincrementaldecoder("utf8")()
    found = "utf8"
    for number, block in enumerate(blocks):
        if number == 0 and (wide := _utf_16(block)) is not None:
            return wide
        if found == "utf8" and not _can_decode(decoder, block):
            found = "cp1252"
        if found == "cp1252" and not _can_decode(codecs.getincrementaldecoder(found)(), block):
            return "latin-1"  # decodes any byte
    return found if found != "utf8" or _can_decode(decoder, b"", True) else "cp1252"


def _can_decode(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def decode_start(start: bytes, encoding: str) -> str:
    """Decode the first bytes of a file, whose last character may be incomplete."""
    name = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
    return codecs.getincrementaldecoder(name)().decode(start)


def first_line(text: str) -> str:
    """First line, which may include line breaks in quoted names."""
    end = text.find("\n")
    while end >= 0 and text.count('"', 0, end) % 2:
        end = text.find("\n", end + 1)
    return text if end < 0 else text[:end]


def split_names(line: str, delimiter: str, bad: Callable[[str], Exception]) -> list[str]:
    """Split the first line into the names of the columns; `bad` makes an error for the table."""
    if not line.strip():
        raise bad(
            "the first line is empty; expected the names of the columns. Remove the empty lines "
            "at the top."
        )
    try:
        [names] = csv.reader([line], delimiter=delimiter)
    except csv.Error:
        raise bad(
            "the lines end in a carriage return alone; save it with the line ends of Unix or "
            "Windows."
        ) from None
    others = [d for d in DELIMITERS if d != delimiter and d in line]
    if len(names) == 1 and others:
        wrong = DELIMITERS.get(delimiter, repr(delimiter))
        likely = max(others, key=line.count)
        option = "tab" if likely == "\t" else f"'{likely}'"
        raise bad(
            f"there is only one column when lines are split at every {wrong}; the separator "
            f"seems to be a {DELIMITERS[likely]}: use --delimiter {option}."
        )
    return names


def check_title(names: Sequence[str], bad: Callable[[str], Exception]) -> None:
    """Raise if the first line is a title above the table; `bad` makes an error for the table."""
    n_empty = sum(not name.strip() for name in names)
    if len(names) > 2 and n_empty == len(names) - 1 and names[0].strip():
        raise bad(
            f"the first line has {names[0]!r} alone; expected the names of the columns. Remove "
            "the title and empty lines at the top."
        )


def find_delimiter(text: str) -> str:
    """Separator that splits most of the first lines like the header; on ties, into most columns."""
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
