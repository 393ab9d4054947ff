"""A forest as SQL: its tests as a table, down which all rows walk at once.

Nested CASE expressions would grow with the number of paths, which cells that are merged and
split again make very large; a table grows with the number of tests. PostgreSQL and DuckDB hold
its columns as arrays, looked up by the number of a slot; SQLite has no arrays, and joins. Either
way they stand in the query as text, which a database reads faster than a list of rows.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from treerank._base import TreeRanker
from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank.export._sql_scorecard import card_columns
from treerank.export._sql_tree import score_names, strata_table
from treerank.export._sql_words import DIALECTS, Aliases, Columns, Dialect, probability_names
from treerank.export._walks import END, IN_SET, MISSING_GOES_LEFT, Walks
from treerank.scoring._scorecard import Scorecard

LARGEST_EXPONENT = 700.0  # e to this is a double, in every database


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
    totals = _totals(walks, words)
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
        "WITH RECURSIVE\n" + ",\n".join(_walk(walks, table, words, own, totals)) + "\n"
        f"SELECT {', '.join(own.returned + found)}\n"
        f"FROM {own.numbered}\n"
        f"JOIN (\n  SELECT row_id, {', '.join(means)}\n"
        f"  FROM {own.walk} WHERE kind = {END}\n  GROUP BY row_id\n"
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
    """Write the query for one tree whose CASE expressions a database would not read."""
    own, strata = _Own(alias, kept), alias("strata")
    found = [f"{strata}.{name}" for name in ("stratum", *score_names(model, words, card))]
    parts = [
        strata_table(model, strata, words, card),
        *_walk(walks, table, words, own, _totals(walks, words)),
    ]
    return (
        "WITH RECURSIVE\n" + ",\n".join(parts) + "\n"
        f"SELECT {', '.join(own.returned + found)}\n"
        f"FROM {own.numbered}\n"
        f"JOIN {own.walk} ON {own.walk}.row_id = {own.numbered}.row_id AND "
        f"{own.walk}.kind = {END}\n"
        f"JOIN {strata} ON {strata}.stratum = {own.walk}.total"
    )


class _Own:
    """Tables of the query's own.

    Their columns have names of its own, too: those to return are renamed where the table is
    read, and get their names back at the end.
    """

    def __init__(self, alias: Aliases, kept: list[str]) -> None:
        self.source, self.numbered, self.root = alias("source"), alias("numbered"), alias("root")
        self.walk, self.node, self.member = alias("walk"), alias("node"), alias("member")
        self.known, self.asked, self.arrived = alias("known"), alias("asked"), alias("arrived")
        self.kept = {f"kept_{i}": name for i, name in enumerate(kept)}

    @property
    def returned(self) -> list[str]:
        """Columns of the table to return."""
        return [f"{self.numbered}.{ours} AS {name}" for ours, name in self.kept.items()]

    def numbered_rows(self, values: dict[str, str], table: str) -> str:
        """Rows of the table with a number, the columns to return, and values of features."""
        names = ", ".join(["row_id", *self.kept, *values])
        columns = [f"{self.source}.{name}" for name in self.kept.values()]
        read = ",\n    ".join(["row_number() OVER ()", *columns, *values.values()])
        return (
            f"{self.numbered}({names}) AS MATERIALIZED (\n"
            f"  SELECT {read}\n  FROM {table} AS {self.source}\n)"
        )


def _walk(
    walks: Walks, table: str, words: Dialect, own: _Own, totals: dict[str, _Total]
) -> list[str]:
    """Common table expressions down to the walk of all rows."""
    by = _joined_walk if words is DIALECTS["sqlite"] else _array_walk
    return by(walks, table, words, own, totals)


def _probabilities(
    model: RankingForest | BoostedTreeRank, words: Dialect, scored: str
) -> list[str]:
    """Class probabilities as `predict_proba` has them; a consensus of ranks has none in SQL."""
    n_cuts = len(model.classes_) - 1
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
    # What is above a class cannot be more than what is above a lower one.
    falling = [clipped[0]]
    falling += [f"{words.least}({', '.join(clipped[: k + 1])})" for k in range(1, n_cuts)]
    edges = [one, *falling, zero]
    shares = [f"{a} - {b}" for a, b in pairwise(edges)]
    names = probability_names(model.classes_, words)
    return [f"{share} AS {n}" for share, n in zip(shares[-len(names) :], names, strict=True)]


def _logistic(slope: float, intercept: float, words: Dialect, scored: str) -> str:
    """Probability whose log-odds are a line in the score; within what a database can raise e to."""
    odds = f"{words.digits(-slope)} * {scored}.score - {words.digits(intercept)}"
    largest = words.digits(LARGEST_EXPONENT)
    least = words.digits(-LARGEST_EXPONENT)
    one = words.digits(1)
    clipped = f"{words.least}({words.greatest}({odds}, {least}), {largest})"
    return f"{one} / ({one} + EXP({clipped}))"


class _Total(NamedTuple):
    """What arriving at each slot adds, and the type in which it is added."""

    steps: list[Any]
    type: str


def _totals(walks: Walks, words: Dialect) -> dict[str, _Total]:
    """Add up the score, and the share above each class; of a tree, the stratum at the end."""
    if walks.target is not None:
        return {"total": _Total(np.maximum(walks.target, 0).tolist(), words.integer)}
    layers = {f"above_{k}": layer for k, layer in enumerate(walks.layers, start=1)}
    return {
        name: _Total(step.astype(np.float64).tolist(), words.single)
        for name, step in {"total": walks.step, **layers}.items()
    }


def _nodes(walks: Walks) -> dict[str, list[Any]]:
    """Columns of the table of tests; a test on missing alone compares with a huge number."""
    largest = float(np.finfo(np.float64).max)
    return {
        "kind": walks.kind.tolist(),
        "feature": walks.feature.tolist(),
        "threshold": np.clip(walks.threshold, -largest, largest).tolist(),
        "follows": walks.follows.tolist(),
        "set_number": walks.set_of.tolist(),
    }


def _values(walks: Walks, words: Dialect, source: str) -> dict[int, str]:
    """Each feature that is asked for, as a double: a number, or the code of a category."""
    columns = Columns(walks, words, source)
    return {
        j: f"CAST({columns.number(j)} AS {words.double})"
        if walks.binning.levels[j] is None
        else f"CAST({columns.code(j)} AS {words.double})"
        for j in walks.used_features.tolist() or [0]
    }


# --- PostgreSQL and DuckDB: arrays that are looked up, counted from 1 ---


def _array_walk(
    walks: Walks, table: str, words: Dialect, own: _Own, totals: dict[str, _Total]
) -> list[str]:
    """Common table expressions down to the walk, by arrays."""
    values = _values(walks, words, own.source)
    place = {feature: i for i, feature in enumerate(values)}
    nodes = _nodes(walks)
    nodes["feature"] = [place.get(feature, 0) + 1 for feature in nodes["feature"]]
    kind, feature, follows = (
        _array(nodes[name], words.integer, words) for name in ("kind", "feature", "follows")
    )
    steps = {
        name: f"{_array(total.steps, total.type, words)}[slot + 1]"
        for name, total in totals.items()
    }
    names = ", ".join(steps)
    added = [f"CAST({name} + {step} AS {totals[name].type})" for name, step in steps.items()]
    roots = ", ".join(f"({t}, {slot})" for t, slot in enumerate(walks.roots.tolist()))
    return [
        own.numbered_rows({"features": f"ARRAY[{', '.join(values.values())}]"}, table),
        f"{own.root}(tree, slot) AS (VALUES {roots})",
        f"{own.walk}(row_id, tree, slot, kind, {names}, features) AS (\n"
        f"  SELECT row_id, tree, slot, {kind}[slot + 1], {', '.join(steps.values())}, features\n"
        f"  FROM {own.numbered} CROSS JOIN {own.root}\n"
        "  UNION ALL\n"
        f"  SELECT row_id, tree, slot, {kind}[slot + 1],\n"
        f"    {', '.join(added)}, features\n"
        "  FROM (\n"
        f"    SELECT row_id, tree, {names}, features,\n"
        f"      {follows}[slot + 1] + {_goes_right(walks, nodes, words)} AS slot\n"
        "    FROM (\n"
        f"      SELECT *, features[{feature}[slot + 1]] AS value\n"
        f"      FROM {own.walk} WHERE kind <> {END}\n"
        f"    ) AS {own.asked}\n"
        f"  ) AS {own.arrived}\n)",
    ]


def _goes_right(walks: Walks, nodes: dict[str, list[Any]], words: Dialect) -> str:
    """Give 1 where a row goes right from its slot, by arrays."""
    threshold = _array(nodes["threshold"], words.double, words)
    goes_right = f"CASE WHEN value <= {threshold}[slot + 1] THEN 0 "
    if (walks.kind == IN_SET).any():
        set_number = _array(nodes["set_number"], words.integer, words)
        members = _array(walks.members.ravel().astype(int).tolist(), words.integer, words)
        code = f"CAST(value AS {words.integer})"
        in_set = f"{members}[{set_number}[slot + 1] * {walks.members.shape[1]} + {code} + 1] = 1"
        goes_right = f"CASE WHEN kind = {IN_SET} THEN CASE WHEN {in_set} THEN 0 ELSE 1 END "
        goes_right += f"WHEN value <= {threshold}[slot + 1] THEN 0 "
    return goes_right + f"WHEN value IS NULL AND kind = {MISSING_GOES_LEFT} THEN 0 ELSE 1 END"


def _array(values: list[Any], element: str, words: Dialect) -> str:
    """Write a constant array."""
    text = ",".join(map(repr, values))
    brackets = "[]" if words is DIALECTS["duckdb"] else "{}"
    return f"(CAST('{brackets[0]}{text}{brackets[1]}' AS {element}[]))"


# --- SQLite: joins ---


def _joined_walk(
    walks: Walks, table: str, words: Dialect, own: _Own, totals: dict[str, _Total]
) -> list[str]:
    """Common table expressions down to the walk, by joins."""
    sets, codes = np.nonzero(walks.members)
    member = {"set_number": [-2, *sets.tolist()], "code": [0, *codes.tolist()]}
    steps = {name: total.steps for name, total in totals.items()}
    values = _values(walks, words, own.source)
    known = "\n  UNION ALL ".join(
        f"SELECT row_id, {j}, value_{j} FROM {own.numbered}" for j in values
    )
    return [
        own.numbered_rows({f"value_{j}": value for j, value in values.items()}, table),
        _table(own.node, {"slot": list(range(len(walks.kind)))} | _nodes(walks) | steps),
        _table(own.root, {"tree": list(range(walks.n_trees)), "slot": walks.roots.tolist()}),
        _table(own.member, member),
        f"{own.known}(row_id, feature, value) AS MATERIALIZED (\n  {known}\n)",
        f"{own.walk}(row_id, tree, slot, kind, {', '.join(steps)}) AS (\n"
        + _joined_step(own, list(steps))
        + "\n)",
    ]


def _joined_step(own: _Own, totals: list[str]) -> str:
    """Begin at the roots, and go on from where the walk has got to."""
    numbered, root, node, walk, known = own.numbered, own.root, own.node, own.walk, own.known
    asked, arrived, member = own.asked, own.arrived, own.member
    begun = ", ".join(f"{node}.{name}" for name in totals)
    added = ", ".join(f"{walk}.{name} + {arrived}.{name}" for name in totals)
    return f"""\
  SELECT {numbered}.row_id, {root}.tree, {root}.slot, {node}.kind, {begun}
  FROM {numbered} CROSS JOIN {root} JOIN {node} ON {node}.slot = {root}.slot
  UNION ALL
  SELECT {walk}.row_id, {walk}.tree, {arrived}.slot, {arrived}.kind, {added}
  FROM {walk}
  JOIN {node} AS {asked} ON {asked}.slot = {walk}.slot AND {walk}.kind <> {END}
  JOIN {known} ON {known}.row_id = {walk}.row_id AND {known}.feature = {asked}.feature
  LEFT JOIN {member}
    ON {member}.set_number = {asked}.set_number AND {member}.code = {known}.value
  JOIN {node} AS {arrived} ON {arrived}.slot = {asked}.follows + CASE
    WHEN {asked}.kind = {IN_SET} THEN CASE WHEN {member}.code IS NULL THEN 1 ELSE 0 END
    WHEN {known}.value <= {asked}.threshold THEN 0
    WHEN {known}.value IS NULL AND {asked}.kind = {MISSING_GOES_LEFT} THEN 0
    ELSE 1 END"""


def _table(name: str, columns: dict[str, list[Any]]) -> str:
    """Write a table as a common table expression that reads it from JSON."""
    rows = json.dumps(list(zip(*columns.values(), strict=True)), separators=(",", ":"))
    read = ", ".join(f"json_extract(value, '$[{i}]')" for i in range(len(columns)))
    head = f"{name}({', '.join(columns)}) AS MATERIALIZED"
    return f"{head} (\n  SELECT {read} FROM json_each('{rows}')\n)"
