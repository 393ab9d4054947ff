"""Find a quote that is not closed, which would swallow the lines after it."""

from __future__ import annotations

import csv
import io

# What the module csv says of a value that does not end, and of one that goes on for very long.
ENDLESS = ("unexpected end of data", "field larger than field limit")


def unclosed_quote(text: bytes, encoding: str, delimiter: str) -> int | None:
    """Line of the row whose last quote is not closed in the whole text; None if all are."""
    if text.count(b'"') % 2 == 0:
        return None
    try:
        lines = io.StringIO(text.decode(encoding, errors="replace"), newline="")
    except LookupError:  # no such encoding, which is reported elsewhere
        return None
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    first = 1
    try:
        for _ in reader:
            first = reader.line_num + 1
    except csv.Error as error:
        return first if str(error).startswith(ENDLESS) else None
    return None
