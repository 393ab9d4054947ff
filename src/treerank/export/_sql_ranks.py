"""Ranks of values among the thresholds of a model, in SQL.

A CASE expression for each of a hundred thousand thresholds would take a database longer to parse
than scoring all rows. Instead, thresholds are packed as the bits of doubles. Values and thresholds
are sorted together, and the rank of a value is 1 plus the number of thresholds before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treerank.export._sql_streams import stream
from treerank.export._sql_words import DIALECTS, Aliases, Dialect

MANTISSA = 1 << 52  # of a double


def rank_tables(
    thresholds: dict[int, NDArray[np.float64]], rows: str, words: Dialect, alias: Aliases
) -> tuple[list[str], str]:
    """Return common table expressions, and the table expression with values and their ranks.

    The rank of `value_j` is `rank_j`: 1 plus the number of thresholds of feature j that it
    exceeds; NULL for NULL.
    """
    if not thresholds:
        return [], rows
    if words is DIALECTS["postgresql"]:
        ranks = ",\n      ".join(
            f"{_bucket(values, f'value_{j}', words)} AS rank_{j}"
            for j, values in thresholds.items()
        )
        return [], f"(\n    SELECT *,\n      {ranks}\n    FROM {rows}\n  )"
    threshold, place = alias("threshold"), alias("place_among")
    parts = [
        f"  SELECT row_id, {j} AS feature, value_{j} AS value, 0 AS is_cut FROM {rows} "
        f"WHERE value_{j} IS NOT NULL\n  UNION ALL\n"
        for j in thresholds
    ]
    before = (
        "SUM(is_cut) OVER (PARTITION BY feature ORDER BY value, is_cut ROWS UNBOUNDED PRECEDING)"
    )
    number = f"CAST({before} AS {words.integer}) + 1"
    ranks = ", ".join(
        f"MAX(CASE WHEN feature = {j} THEN number END) AS rank_{j}" for j in thresholds
    )
    tables = [
        *_threshold_tables(thresholds, threshold, words, alias),
        f"{place}(row_id, feature, number) AS MATERIALIZED (\n"
        f"  SELECT row_id, feature, {number}\n  FROM (\n{''.join(parts)}"
        f"  SELECT NULL, feature, value, 1 FROM {threshold}\n  ) AS {alias('sorted')}\n)",
    ]
    pivoted = (
        f"(SELECT row_id AS place_id, {ranks}\n    FROM {place} WHERE row_id IS NOT NULL "
        "GROUP BY row_id)"
    )
    found = alias("ranks")
    read = (
        f"(\n    SELECT * FROM {rows}\n"
        f"    LEFT JOIN {pivoted} AS {found} ON {found}.place_id = {rows}.row_id\n  )"
    )
    return tables, read


def _threshold_tables(
    thresholds: dict[int, NDArray[np.float64]], name: str, words: Dialect, alias: Aliases
) -> list[str]:
    """Tables of the thresholds of all features as doubles, bitwise equal."""
    bits, span, scale = alias("threshold_bits"), alias("threshold_span"), alias("threshold_scale")
    every = np.concatenate(list(thresholds.values()))
    magnitudes = np.abs(every).view(np.int64)  # not negative, since the sign bit is 0
    exponents = np.unique(magnitudes // MANTISSA).tolist() or [0]
    scales = ", ".join(
        f"({e}, {MANTISSA if e else 0}, {words.digits(2.0 ** (max(e, 1) - 1075))})"
        for e in exponents
    )
    spans, first = [], 0
    for j, values in thresholds.items():
        positive = first + int(np.sum(values < 0))
        spans.append(f"({j}, {first}, {positive}, {first + len(values)})")
        first += len(values)
    mantissa = f"{scale}.hidden + ({bits}.number & {MANTISSA - 1})"
    value = f"CAST({mantissa} AS {words.double}) * {scale}.factor"
    return [
        stream(bits, magnitudes, words),
        f"{scale}(exponent, hidden, factor) AS (VALUES {scales})",
        f"{span}(feature, first, positive, behind) AS (VALUES {', '.join(spans)})",
        f"{name}(feature, value) AS MATERIALIZED (\n"
        f"  SELECT {span}.feature,\n"
        f"    CASE WHEN {bits}.place < {span}.positive THEN -({value}) ELSE {value} END\n"
        f"  FROM {bits}\n"
        f"  JOIN {scale} ON {scale}.exponent = ({bits}.number >> 52)\n"
        f"  JOIN {span} ON {bits}.place >= {span}.first AND {bits}.place < {span}.behind\n)",
    ]


def _bucket(thresholds: NDArray[np.float64], value: str, words: Dialect) -> str:
    """Rank by PostgreSQL's function width_bucket."""
    if not len(thresholds):
        return f"CASE WHEN {value} IS NOT NULL THEN 1 END"
    negative = ",".join(repr(-t) for t in thresholds[::-1].tolist())
    bucket = f"width_bucket(-{value}, '{{{negative}}}'::{words.double}[])"
    return f"{len(thresholds) + 1} - {bucket}"
