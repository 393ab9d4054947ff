"""Where a row of a table stands in its file: the line on which it starts."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable
from typing import Any

# Says where a data row, counted from 0, is to be found: "line 62".
Place = Callable[[int], str]


def line_of_row(stream: Any, encoding: str, delimiter: str, row: int) -> int | None:
    """Return the line on which a data row starts; None if the stream does not show it.

    Blank lines are no rows, and a row has several lines if it has line breaks between quotes.
    """
    text = io.TextIOWrapper(stream, encoding=_without_mark(encoding), errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    left, start = row + 1, 1  # the names are the first row
    try:
        for values in reader:
            if values and left == 0:
                return start
            left -= bool(values)
            start = reader.line_num + 1
    except csv.Error:  # such as a value that is far too long
        return None
    return None


def _without_mark(encoding: str) -> str:
    """Return the encoding that skips a byte order mark, which would hide a quote after it."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
