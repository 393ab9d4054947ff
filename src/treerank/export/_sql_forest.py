"""A forest as SQL: a table of its tests, along which all rows walk at once.

The size of nested CASE expressions would grow with the number of paths, which is very large if
cells are merged and split again; a table grows with the number of tests. The query contains it as
text of a few bytes per test, which the query itself unpacks; the walk is a recursive join.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank.export._sql_pack import FAR, PackedWalks, pack_steps
from treerank.export._sql_ranks import rank_tables
from treerank.export._sql_scorecard import card_columns
from treerank.export._sql_streams import stream
from treerank.export._sql_tree import score_names, strata_table
from treerank.export._sql_walk import WalkNames, mask_columns, mask_tables, walk_tables
from treerank.export._sql_words import DIALECTS, Aliases, Columns, Dialect, probability_names
from treerank.export._walks import Walks
from treerank.scoring._scorecard import Scorecard

LARGEST_EXPONENT = 700.0  # exp() of this does not overflow in any database
MANTISSA = 1 << 23  # of a float


def forest_query(
    model: RankingForest | BoostedTreeRank,
    walks: Walks,
    table: str,
    words: Dialect,
    alias: Aliases,
    kept: list[str],
    card: Scorecard | None = None,
) -> str:
    """Write the query for a forest, or for boosted trees."""
    own = _Own(alias, kept)
    totals = ["total", *(f"above_{k}" for k in range(1, len(walks.layers) + 1))]
    order = " ORDER BY tree" if words.ordered_sum else ""
    divisor = words.digits(walks.divisor)

    def mean(total: str) -> str:
        return f"SUM(CAST({total} AS {words.double}){order}) / {divisor}"

    means = [f"{mean('total')} - {words.digits(walks.offset)} AS score"]
    means += [f"{mean(total)} AS {total}" for total in totals if total != "total"]
    scored = alias("scored")
    found = [f"{scored}.score"]
    if card is None or card.calibrator_ is None:
        found += _probabilities(model, words, scored)
    found += card_columns(card, f"{scored}.score", words)
    return (
        "WITH RECURSIVE\n" + ",\n".join(_walk(walks, table, words, own)) + "\n"
        f"SELECT {', '.join(own.returned + found)}\n"
        f"FROM {own.numbered}\n"
        f"JOIN (\n  SELECT row_id, {', '.join(means)}\n"
        f"  FROM {own.walk} WHERE slot IS NULL\n  GROUP BY row_id\n"
        f") AS {scored} ON {scored}.row_id = {own.numbered}.row_id"
    )


def deep_tree_query(
    model: TreeRanker,
    walks: Walks,
    table: str,
    words: Dialect,
    alias: Aliases,
    kept: list[str],
    card: Scorecard | None = None,
) -> str:
    """Write the query for one tree that is too deep for the database's CASE expressions."""
    own, strata = _Own(alias, kept), alias("strata")
    found = [f"{strata}.{name}" for name in ("stratum", *score_names(model, words, card))]
    parts = [
        strata_table(model, strata, words, card),
        *_walk(walks, table, words, own),
    ]
    return (
        "WITH RECURSIVE\n" + ",\n".join(parts) + "\n"
        f"SELECT {', '.join(own.returned + found)}\n"
        f"FROM {own.numbered}\n"
        f"JOIN {own.walk} ON {own.walk}.row_id = {own.numbered}.row_id AND "
        f"{own.walk}.slot IS NULL\n"
        f"JOIN {strata} ON {strata}.stratum = {own.walk}.total"
    )


class _Own:
    """Names of the tables that the query defines.

    Their columns have generated names, too: the columns to return are renamed when the table is
    read, and get their original names back at the end.
    """

    def __init__(self, alias: Aliases, kept: list[str]) -> None:
        self.alias, self.integer = alias, alias.words.integer
        self.source, self.numbered, self.coded = alias("source"), alias("numbered"), alias("coded")
        self.root, self.walk, self.node = alias("root"), alias("walk"), alias("node")
        self.kept = {f"kept_{i}": name for i, name in enumerate(kept)}

    @property
    def returned(self) -> list[str]:
        """Columns of the table to return."""
        return [f"{self.numbered}.{ours} AS {name}" for ours, name in self.kept.items()]

    def numbered_rows(self, values: dict[str, str], table: str) -> str:
        """Rows of the table with a row number, the columns to return, and values of features."""
        names = ", ".join(["row_id", *self.kept, *values])
        columns = [f"{self.source}.{name}" for name in self.kept.values()]
        read = ",\n    ".join(
            [f"CAST(row_number() OVER () AS {self.integer})", *columns, *values.values()]
        )
        return (
            f"{self.numbered}({names}) AS MATERIALIZED (\n"
            f"  SELECT {read}\n  FROM {table} AS {self.source}\n)"
        )


def _probabilities(
    model: RankingForest | BoostedTreeRank, words: Dialect, scored: str
) -> list[str]:
    """Class probabilities as in `predict_proba`; none for a consensus of ranks."""
    n_cuts = len(model.label_order_) - 1
    if isinstance(model, BoostedTreeRank):
        above = [
            _logistic(*line, words, scored)
            for line in zip(model._slopes, model._intercepts, strict=True)
        ]
    elif model._ranks is not None:
        return []
    elif n_cuts == 1:
        above = [f"{scored}.score + {words.digits(0.5)}"]
    else:
        above = [f"{scored}.above_{k}" for k in range(1, n_cuts + 1)]
    zero, one = words.digits(0), words.digits(1)
    clipped = [f"{words.least}({words.greatest}({share}, {zero}), {one})" for share in above]
    # The share above a class cannot exceed the share above a lower class.
    falling = [clipped[0]]
    falling += [f"{words.least}({', '.join(clipped[: k + 1])})" for k in range(1, n_cuts)]
    edges = [one, *falling, zero]
    shares = [f"{a} - {b}" for a, b in pairwise(edges)]
    names = probability_names(model.label_order_, words)
    return [f"{share} AS {n}" for share, n in zip(shares[-len(names) :], names, strict=True)]


def _logistic(slope: float, intercept: float, words: Dialect, scored: str) -> str:
    """Probability whose log-odds are linear in the score, clipped so that EXP does not overflow."""
    odds = f"{words.digits(-slope)} * {scored}.score - {words.digits(intercept)}"
    largest = words.digits(LARGEST_EXPONENT)
    least = words.digits(-LARGEST_EXPONENT)
    one = words.digits(1)
    clipped = f"{words.least}({words.greatest}({odds}, {least}), {largest})"
    return f"{one} / ({one} + EXP({clipped}))"


def _row_tables(
    walks: Walks, packed: PackedWalks, table: str, words: Dialect, own: _Own
) -> list[str]:
    """Tables of the rows with a row number, and of their codes."""
    columns = Columns(walks, words, own.source)
    values = {}
    for j in sorted({feature for feature, _ in packed.codes}):
        known = walks.binning.levels[j] is None
        read = columns.number(j) if known else columns.code(j)
        values[f"value_{j}"] = f"CAST({read} AS {words.double})"
    tables, ranked = rank_tables(packed.thresholds, own.numbered, words, own.alias)
    codes = [_code(packed, feature, missing, words) for feature, missing in packed.codes]
    if words is DIALECTS["sqlite"]:  # which has no arrays
        names = [f"code_{i}" for i in range(len(codes))]
    else:
        names, codes = ["codes"], [f"ARRAY[{', '.join(codes)}]"]
    return [
        own.numbered_rows(values, table),
        *tables,
        f"{own.coded}(row_id, {', '.join(names)}) AS MATERIALIZED (\n"
        f"  SELECT row_id, {', '.join(codes)}\n  FROM {ranked} AS {own.alias('ranked')}\n)",
    ]


def _code(packed: PackedWalks, feature: int, missing: str, words: Dialect) -> str:
    """Code of a level, or rank of a number; 0, or above all cuts, if it is missing."""
    if missing == "set":
        return f"CAST(value_{feature} AS {words.integer})"
    if feature not in packed.thresholds:  # the trees have no tests
        return "0"
    return f"COALESCE(rank_{feature}, {0 if missing == 'left' else packed.largest_cut + 1})"


def _node_tables(walks: Walks, packed: PackedWalks, words: Dialect, own: _Own) -> list[str]:
    """Tables of the slots with their tests, the pairs that follow, and the steps on arrival."""
    alias, node = own.alias, own.node
    hop, far, test, asked = alias("hop"), alias("far"), alias("test"), alias("asked")
    numbered = alias("numbered_slot")
    totals, masks = _totals(walks, packed, words, own), mask_columns(packed, words)
    mask, bits = alias("mask"), alias("mask_bits")
    names = ", ".join([*totals, *masks])
    with_masks = f"\n  LEFT JOIN {mask} ON {mask}.cut = test_number + shift" if masks else ""
    follows = f"CASE hop WHEN 0 THEN NULL WHEN {FAR} THEN {far}.number ELSE (slot >> 1) + hop END"
    first = packed.first_tests.tolist()
    shifts = [
        lowest - begin for lowest, begin in zip(packed.lowest_cuts.tolist(), first, strict=False)
    ]
    rows = ", ".join(f"({code}, {shift})" for code, shift in enumerate(shifts))
    codes = " ".join(f"WHEN number < {end} THEN {code}" for code, end in enumerate(first[1:-1]))
    code = f"CASE {codes} ELSE {len(shifts) - 1} END" if codes else "0"

    def integer(number: str) -> str:
        return f"CAST({number} AS {words.integer})"

    return [
        stream(hop, packed.hops, words),
        stream(far, packed.far, words),
        stream(test, packed.tests, words),
        f"{asked}(code, shift) AS (VALUES {rows})",
        *(mask_tables(packed, words, bits, mask) if masks else []),
        *(part for total in totals.values() for part in total.tables),
        f"{numbered}(slot, hop, test_place, far_place) AS MATERIALIZED (\n"
        "  SELECT place, number,\n"
        "    SUM(CASE WHEN number > 0 THEN 1 ELSE 0 END) OVER (ORDER BY place) - 1,\n"
        f"    SUM(CASE WHEN number = {FAR} THEN 1 ELSE 0 END) OVER (ORDER BY place) - 1\n"
        f"  FROM {hop}\n)",
        f"{node}(slot, place, cut, first, {names}) AS MATERIALIZED (\n"
        f"  SELECT {integer('slot')}, {asked}.code, {integer('test_number + shift')},\n"
        f"    {integer(f'2 * {follows}')},\n"
        f"    {', '.join([*(total.value for total in totals.values()), *masks])}\n"
        f"  FROM {numbered}\n"
        f"  LEFT JOIN (SELECT place AS place_of_test, number AS test_number,\n"
        f"    {code} AS code_of_test FROM {test}) AS {alias('coded_test')}\n"
        f"    ON place_of_test = test_place AND hop > 0\n"
        f"  LEFT JOIN {asked} ON {asked}.code = code_of_test{with_masks}\n"
        f"  LEFT JOIN {far} ON {far}.place = far_place AND hop = {FAR}\n"
        f"  {' '.join(total.join for total in totals.values())}\n)",
    ]


@dataclass(frozen=True)
class _Total:
    """A number that is added on arrival at a slot: its tables, how to join them, its value."""

    tables: list[str]
    join: str
    value: str


def _totals(walks: Walks, packed: PackedWalks, words: Dialect, own: _Own) -> dict[str, _Total]:
    """Totals for the score, and for the share above each class; for a tree, the stratum."""
    is_slot = packed.slots >= 0
    if walks.target is not None:
        stratum = own.alias("stratum_number")
        target = np.where(is_slot, np.maximum(walks.target[packed.slots], 0), 0)
        table = stream(stratum, target, words)
        join = f"JOIN {stratum} ON {stratum}.place = slot"
        return {"total": _Total([table], join, f"{stratum}.number")}
    layers = {f"above_{k}": layer for k, layer in enumerate(walks.layers, start=1)}
    return {
        name: _steps(name, np.where(is_slot, step[packed.slots], np.float32(0)), words, own)
        for name, step in {"total": walks.step.astype(np.float32), **layers}.items()
    }


def _steps(name: str, steps: NDArray[np.float32], words: Dialect, own: _Own) -> _Total:
    """Steps in single precision, bitwise equal."""
    packed = pack_steps(steps)
    pair, delta, second, step, scale = (
        own.alias(f"{word}_{name}") for word in ("pair", "delta", "second", "step", "scale")
    )
    magnitudes = f"{step}_magnitudes"
    tables = [
        stream(pair, packed.pairs, words),
        stream(delta, packed.deltas, words),
        stream(second, packed.seconds, words),
        _scale(scale, steps, words),
        f"{magnitudes}(place, one, other, signs) AS (\n"
        f"  SELECT {delta}.place, CAST(SUM({delta}.number) OVER (ORDER BY {delta}.place) "
        f"AS {words.bigint}),\n"
        f"    {second}.number >> 2, {second}.number & 3\n"
        f"  FROM {delta} JOIN {second} ON {second}.place = {delta}.place\n)",
        f"{step}(place, one, other) AS MATERIALIZED (\n"
        f"  SELECT {magnitudes}.place, {_float('one', 'a', 2, packed.lowest, words)},\n"
        f"    {_float('other', 'b', 1, packed.lowest, words)}\n"
        f"  FROM {magnitudes}\n"
        f"  LEFT JOIN {scale} AS a ON a.exponent = (one + {packed.lowest}) >> 23\n"
        f"  LEFT JOIN {scale} AS b ON b.exponent = (other + {packed.lowest}) >> 23\n)",
    ]
    join = (
        f"JOIN {pair} ON {pair}.place = (slot >> 1)\n  JOIN {step} ON {step}.place = {pair}.number"
    )
    value = f"CASE WHEN (slot & 1) = 0 THEN {step}.one ELSE {step}.other END"
    return _Total(tables, join, value)


def _float(column: str, scale: str, sign: int, lowest: int, words: Dialect) -> str:
    """Expression for the float with a magnitude: its mantissa times a power of two."""
    mantissa = f"{scale}.hidden + (({column} + {lowest}) & {MANTISSA - 1})"
    value = f"CAST({mantissa} AS {words.double}) * {scale}.factor"
    signed = f"CASE WHEN {column} = 0 THEN 0 WHEN (signs & {sign}) > 0 THEN -({value}) ELSE {value}"
    return f"CAST({signed} END AS {words.single})"


def _scale(name: str, steps: NDArray[np.float32], words: Dialect) -> str:
    """Powers of two for the exponents that occur; subnormal floats have no hidden bit."""
    bits = np.ascontiguousarray(steps).view(np.uint32)
    exponents = np.unique((bits & 0x7FFFFFFF) >> 23).tolist()
    rows = ", ".join(
        f"({e}, {MANTISSA if e else 0}, {words.digits(2.0 ** (max(e, 1) - 150))})"
        for e in exponents
    )
    return f"{name}(exponent, hidden, factor) AS (VALUES {rows})"


def _walk(walks: Walks, table: str, words: Dialect, own: _Own) -> list[str]:
    """Common table expressions down to the walk of all rows."""
    packed = PackedWalks(walks)
    totals = ["total", *(f"above_{k}" for k in range(1, len(walks.layers) + 1))]
    names = WalkNames(own.numbered, own.coded, own.node, own.root, own.walk, totals)
    return [
        *_row_tables(walks, packed, table, words, own),
        *_node_tables(walks, packed, words, own),
        *walk_tables(walks, packed, words, own.alias, names),
    ]
