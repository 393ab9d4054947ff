"""Integers as text that a database decodes: a model of a million nodes takes a few megabytes.

A list of decimal numbers takes six to nine bytes per number, and every database parses it slowly.
Here each number has the same few characters, digits to base 77: letters, digits and symbols that
have no special meaning to a database, to the parameters of a driver or to a template.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank.export._sql_words import DIALECTS, Dialect

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!()+,.<=>[]^_|~"
BASE = len(ALPHABET)
_LETTERS = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)


def width_of(numbers: NDArray[Any]) -> int:
    """Number of characters of the largest number."""
    largest, width = int(numbers.max(initial=0)), 1
    while BASE**width <= largest:
        width += 1
    return width


def encode(numbers: NDArray[Any], width: int) -> str:
    """Encode non-negative integers, the highest digit first."""
    rest = np.asarray(numbers, dtype=np.int64)
    digits = np.empty((len(rest), width), dtype=np.uint8)
    for k in range(width - 1, -1, -1):
        rest, digit = np.divmod(rest, BASE)
        digits[:, k] = _LETTERS[digit]
    return digits.tobytes().decode("ascii")


def stream(name: str, numbers: NDArray[Any], words: Dialect) -> str:
    """Write numbers as a common table expression with their positions, from 0, and values."""
    width = width_of(numbers)
    text = encode(numbers, width)
    read = _READERS[words](text, width, len(numbers))
    return f"{name}(place, number) AS MATERIALIZED (\n  {read}\n)"


def _horner(digits: list[str]) -> str:
    number = digits[0]
    for digit in digits[1:]:
        number = f"({number}) * {BASE} + {digit}"
    return number


def _read_duckdb(text: str, width: int, size: int) -> str:
    digits = [f"CAST(instr('{ALPHABET}', token[{k + 1}]) - 1 AS BIGINT)" for k in range(width)]
    tokens = f"regexp_extract_all('{text}', '.{{{width}}}')"
    return (
        f"SELECT place - 1, {_horner(digits)} FROM (\n"
        "    SELECT generate_subscripts(tokens, 1) AS place, unnest(tokens) AS token\n"
        f"    FROM (SELECT {tokens} AS tokens) AS whole\n  ) AS split"
    )


def _read_postgresql(text: str, width: int, size: int) -> str:
    lookup = np.zeros(128, dtype=np.uint8)
    lookup[_LETTERS] = np.arange(BASE)
    digit_of = f"'\\x{lookup.tobytes().hex()}'::bytea"
    digits = [
        f"get_byte({digit_of}, get_byte(text, place * {width} + {k}))::bigint" for k in range(width)
    ]
    return (
        f"SELECT place, {_horner(digits)}\n"
        f"  FROM (SELECT convert_to('{text}', 'UTF8') AS text) AS whole,\n"
        f"    generate_series(0, {size - 1}) AS place"
    )


def _read_sqlite(text: str, width: int, size: int) -> str:
    digits = [
        f"(instr('{ALPHABET}', CAST(substr(text, place * {width} + {k + 1}, 1) AS TEXT)) - 1)"
        for k in range(width)
    ]
    return (
        "WITH RECURSIVE count(place) AS (\n"
        f"    SELECT 0 WHERE {size} > 0 UNION ALL SELECT place + 1 FROM count "
        f"WHERE place + 1 < {size}\n  )\n"
        f"  SELECT place, {_horner(digits)}\n"
        f"  FROM (SELECT CAST('{text}' AS BLOB) AS text) AS whole CROSS JOIN count"
    )


_READERS = {
    DIALECTS["duckdb"]: _read_duckdb,
    DIALECTS["postgresql"]: _read_postgresql,
    DIALECTS["sqlite"]: _read_sqlite,
}
