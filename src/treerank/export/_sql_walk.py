"""The walk of all rows down all trees: a recursive query; one that has ended is at slot NULL."""

from __future__ import annotations

from dataclasses import dataclass

from treerank.export._sql_pack import PackedWalks
from treerank.export._sql_streams import stream
from treerank.export._sql_words import DIALECTS, Aliases, Dialect
from treerank.export._walks import Walks


def walk_tables(
    walks: Walks, packed: PackedWalks, words: Dialect, alias: Aliases, names: WalkNames
) -> list[str]:
    """Common table expressions from the tables of slots and of codes to the walk."""
    member = alias("member")
    roots = ", ".join(f"({t}, {slot})" for t, slot in enumerate(packed.roots.tolist()))
    parts = [f"{names.root}(tree, slot) AS (VALUES {roots})"]
    if packed.has_sets:
        parts.append(stream(member, packed.members, words))
    kind = words.integer if walks.target is not None else words.single
    if words is DIALECTS["postgresql"]:
        return parts + _by_arrays(walks, packed, names, alias, member, kind)
    return [*parts, _by_joins(walks, packed, words, names, member, kind)]


@dataclass(frozen=True)
class WalkNames:
    """Names of the tables, and of what is added up."""

    numbered: str
    coded: str
    node: str
    root: str
    walk: str
    totals: list[str]


def _by_joins(
    walks: Walks, packed: PackedWalks, words: Dialect, names: WalkNames, member: str, kind: str
) -> str:
    """Write the walk as joins, for databases that keep the index of a joined table."""
    node, walk, coded = names.node, names.walk, names.coded
    code = _code_at(packed, f"{node}.place", coded, words)
    right = f"CASE WHEN {code} > {node}.cut THEN 1 ELSE 0 END"
    joined = ""
    if packed.has_sets:
        width = walks.members.shape[1]
        is_set = f"{node}.cut > {packed.largest_cut}"
        joined = (
            f"\n  LEFT JOIN {member} ON {is_set} "
            f"AND {member}.number = {node}.cut * {width} + {code}"
        )
        missing = f"CASE WHEN {member}.number IS NULL THEN 1 ELSE 0 END"
        right = f"CASE WHEN {is_set} THEN {missing} ELSE {right} END"
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
        f"  JOIN {coded} ON {coded}.row_id = {walk}.row_id{joined}\n)"
    )


def _code_at(packed: PackedWalks, place: str, coded: str, words: Dialect) -> str:
    """Code that a test asks for."""
    if words is not DIALECTS["sqlite"]:
        return f"{coded}.codes[{place} + 1]"
    cases = [f"WHEN {i} THEN {coded}.code_{i}" for i in range(len(packed.codes))]
    return f"CASE {place} {' '.join(cases)} END"


def _by_arrays(
    walks: Walks, packed: PackedWalks, names: WalkNames, alias: Aliases, member: str, kind: str
) -> list[str]:
    """Write the walk by arrays, for PostgreSQL, which would hash a joined table at every step."""
    arrays, asked = alias("arrays"), alias("asked")
    columns = ["place", "cut", "first", *names.totals]
    # An array with NULL in it is searched from its start.
    collected = ", ".join(f"array_agg(COALESCE({name}, -1) ORDER BY slot)" for name in columns)
    parts = [
        f"{arrays}({', '.join(columns)}) AS MATERIALIZED (\n"
        f"  SELECT {collected} FROM {names.node}\n)"
    ]

    def look_up(name: str, place: str = "slot") -> str:
        return f"(SELECT {arrays}.{name} FROM {arrays})[{place} + 1]"

    right = "CASE WHEN codes[place + 1] > cut THEN 1 ELSE 0 END"
    if packed.has_sets:
        sets, first = alias("sets"), (packed.largest_cut + 1) * walks.members.shape[1]
        size = len(packed.different_sets) * walks.members.shape[1]
        parts.append(
            f"{sets}(goes_left) AS MATERIALIZED (\n"
            f"  SELECT array_agg({member}.number IS NOT NULL ORDER BY place_in_sets)\n"
            f"  FROM generate_series({first}, {first + size - 1}) AS place_in_sets\n"
            f"  LEFT JOIN {member} ON {member}.number = place_in_sets\n)"
        )
        at = f"cut * {walks.members.shape[1]} + codes[place + 1] - {first} + 1"
        in_set = f"CASE WHEN (SELECT goes_left FROM {sets})[{at}] THEN 0 ELSE 1 END"
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
