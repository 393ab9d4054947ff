"""A recursive query in which all rows walk down all trees. Ended walks have slot NULL."""

from __future__ import annotations

from dataclasses import dataclass

from treerank.export._sql_pack import SET_BITS, PackedWalks
from treerank.export._sql_streams import stream
from treerank.export._sql_words import DIALECTS, Aliases, Dialect
from treerank.export._walks import Walks

WORD_DIGITS = 10  # digits of a set per integer, which has 60 bits
WORD_BITS = WORD_DIGITS * SET_BITS


def walk_tables(
    walks: Walks, packed: PackedWalks, words: Dialect, alias: Aliases, names: WalkNames
) -> list[str]:
    """Common table expressions for the walk, given those of slots and codes."""
    roots = ", ".join(f"({t}, {slot})" for t, slot in enumerate(packed.roots.tolist()))
    parts = [f"{names.root}(tree, slot) AS (VALUES {roots})"]
    kind = words.integer if walks.target is not None else words.single
    if words is DIALECTS["postgresql"]:
        return parts + _by_arrays(walks, packed, names, alias, kind)
    return [*parts, _by_joins(packed, words, names, kind)]


def mask_columns(packed: PackedWalks, words: Dialect) -> list[str]:
    """Columns of a slot with the bits of its set; none in PostgreSQL, which uses an array."""
    if not packed.has_sets or words is DIALECTS["postgresql"]:
        return []
    return [f"mask_{k}" for k in range(-(-packed.digits_of_a_set // WORD_DIGITS))]


def mask_tables(packed: PackedWalks, words: Dialect, bits: str, mask: str) -> list[str]:
    """Tables of the sets by cut number, with 60 codes in each column, the lowest bit first."""
    size = packed.digits_of_a_set
    digit = f"(place & {size - 1})"
    columns = mask_columns(packed, words)
    sums = []
    for k in range(len(columns)):
        first = k * WORD_DIGITS
        shifted = f"number << CAST({SET_BITS} * ({digit} - {first}) AS {words.integer})"
        here = f"{digit} >= {first} AND {digit} < {first + WORD_DIGITS}"
        sums.append(f"CAST(SUM(CASE WHEN {here} THEN {shifted} ELSE 0 END) AS {words.bigint})")
    cut = f"(place >> {size.bit_length() - 1}) + {packed.largest_cut + 1}"
    return [
        stream(bits, packed.members, words),
        f"{mask}(cut, {', '.join(columns)}) AS MATERIALIZED (\n"
        f"  SELECT {cut}, {', '.join(sums)}\n  FROM {bits} GROUP BY {cut}\n)",
    ]


@dataclass(frozen=True)
class WalkNames:
    """Names of the tables, and of the totals."""

    numbered: str
    coded: str
    node: str
    root: str
    walk: str
    totals: list[str]


def _by_joins(packed: PackedWalks, words: Dialect, names: WalkNames, kind: str) -> str:
    """Write the walk with joins, for databases that keep the index of a joined table."""
    node, walk, coded = names.node, names.walk, names.coded
    code = _code_at(packed, f"{node}.place", coded, words)
    right = f"CASE WHEN {code} > {node}.cut THEN 1 ELSE 0 END"
    columns = mask_columns(packed, words)
    if columns:
        ends = [(k + 1) * WORD_BITS for k in range(len(columns))]
        cases = " ".join(
            f"WHEN {code} < {end} THEN {node}.{column} >> ({code} - {end - WORD_BITS})"
            for end, column in zip(ends, columns, strict=True)
        )
        outside = f"1 - CAST((CASE {cases} ELSE 0 END) & 1 AS {words.integer})"
        right = f"CASE WHEN {node}.cut > {packed.largest_cut} THEN {outside} ELSE {right} END"
    begun = ", ".join(f"CAST(0 AS {kind})" for _ in names.totals)
    added = ", ".join(f"CAST({walk}.{name} + {node}.{name} AS {kind})" for name in names.totals)
    return (
        f"{walk}(row_id, tree, slot, {', '.join(names.totals)}) AS (\n"
        f"  SELECT row_id, tree, CAST(slot AS {words.integer}), {begun}\n"
        f"  FROM {names.numbered} CROSS JOIN {names.root}\n"
        "  UNION ALL\n"
        f"  SELECT {walk}.row_id, {walk}.tree,\n"
        f"    {node}.first + {right}, {added}\n"
        f"  FROM {walk}\n"
        f"  JOIN {node} ON {node}.slot = {walk}.slot\n"
        f"  JOIN {coded} ON {coded}.row_id = {walk}.row_id\n)"
    )


def _code_at(packed: PackedWalks, place: str, coded: str, words: Dialect) -> str:
    """Expression for the code that a test uses."""
    if words is not DIALECTS["sqlite"]:
        return f"{coded}.codes[{place} + 1]"
    cases = [f"WHEN {i} THEN {coded}.code_{i}" for i in range(len(packed.codes))]
    return f"CASE {place} {' '.join(cases)} END"


def _by_arrays(
    walks: Walks, packed: PackedWalks, names: WalkNames, alias: Aliases, kind: str
) -> list[str]:
    """Write the walk with arrays, for PostgreSQL, which would hash a joined table at every step."""
    arrays, asked = alias("arrays"), alias("asked")
    columns = ["place", "cut", "first", *names.totals]
    # PostgreSQL scans an array that contains NULL from its start.
    collected = ", ".join(f"array_agg(COALESCE({name}, -1) ORDER BY slot)" for name in columns)
    parts = [
        f"{arrays}({', '.join(columns)}) AS MATERIALIZED (\n"
        f"  SELECT {collected} FROM {names.node}\n)"
    ]

    def look_up(name: str, place: str = "slot") -> str:
        return f"(SELECT {arrays}.{name} FROM {arrays})[{place} + 1]"

    right = "CASE WHEN codes[place + 1] > cut THEN 1 ELSE 0 END"
    if packed.has_sets:
        sets, bits, size = alias("sets"), alias("member_bits"), packed.digits_of_a_set
        parts += [
            stream(bits, packed.members, DIALECTS["postgresql"]),
            f"{sets}(digits) AS MATERIALIZED (\n"
            f"  SELECT array_agg(number::integer ORDER BY place) FROM {bits}\n)",
        ]
        # A digit has six codes. Codes beyond the last digit are in no set.
        code = "codes[place + 1]"
        at = f"(cut - {packed.largest_cut + 1}) * {size} + {code} / {SET_BITS} + 1"
        bit = f"((SELECT digits FROM {sets})[{at}] >> ({code} % {SET_BITS})) & 1"
        in_set = f"CASE WHEN {code} < {size * SET_BITS} THEN 1 - ({bit}) ELSE 1 END"
        right = f"CASE WHEN cut > {packed.largest_cut} THEN {in_set} ELSE {right} END"
    totals = ", ".join(names.totals)
    begun = ", ".join(f"CAST(0 AS {kind})" for _ in names.totals)
    added = ", ".join(f"CAST({name} + {look_up(name)} AS {kind})" for name in names.totals)
    found = ", ".join(f"{look_up(name)} AS {name}" for name in ("place", "cut", "first"))
    parts.append(
        f"{names.walk}(row_id, tree, slot, {totals}, codes) AS (\n"
        f"  SELECT row_id, tree, slot, {begun}, codes\n"
        f"  FROM {names.coded} CROSS JOIN {names.root}\n"
        "  UNION ALL\n"
        f"  SELECT row_id, tree, NULLIF(first, -1) + {right}, {added}, codes\n"
        f"  FROM (\n    SELECT *, {found}\n"
        f"    FROM {names.walk} WHERE slot IS NOT NULL\n  ) AS {asked}\n)"
    )
    return parts
