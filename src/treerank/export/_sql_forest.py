"""A forest as SQL: its tests as a table, down which all rows walk at once.

Nested CASE expressions would grow with the number of paths, which cells that are merged and
split again make very large; a table grows with the number of tests. PostgreSQL and DuckDB hold
its columns as arrays, looked up by the number of a slot; SQLite has no arrays, and joins. Either
way they stand in the query as text, which a database reads faster than a list of rows.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank.export._sql_words import DIALECTS, Columns, Dialect, probability_names
from treerank.export._walks import END, IN_SET, MISSING_GOES_LEFT, Walks, walks_of

LARGEST_EXPONENT = 700.0  # e to this is a double, in every database


def forest_query(
    model: RankingForest | BoostedTreeRank, table: str, words: Dialect, kept: list[str]
) -> str:
    """Write the query for a forest, or for boosted trees."""
    walks = walks_of(model)
    joins = words is DIALECTS["sqlite"]
    parts = _joined_walk(walks, table, words) if joins else _array_walk(walks, table, words)
    names = ", ".join(f"numbered.{name}" for name in kept)
    order = " ORDER BY tree" if words.ordered_sum else ""
    divisor = words.digits(walks.divisor)

    def mean(total: str) -> str:
        return f"SUM(CAST({total} AS {words.double}){order}) / {divisor}"

    totals = _totals(walks)
    means = [f"{mean('total')} - {words.digits(walks.offset)} AS score"]
    means += [f"{mean(total)} AS {total}" for total in totals if total != "total"]
    found = ", ".join(["scored.score", *_probabilities(model, words)])
    return (
        "WITH RECURSIVE\n" + ",\n".join(parts) + "\n"
        f"SELECT {names}, {found}\n"
        "FROM numbered\n"
        f"JOIN (\n  SELECT treerank_row, {', '.join(means)}\n"
        f"  FROM walk WHERE kind = {END}\n  GROUP BY treerank_row\n"
        ") AS scored ON scored.treerank_row = numbered.treerank_row"
    )


def _probabilities(model: RankingForest | BoostedTreeRank, words: Dialect) -> list[str]:
    """Class probabilities as `predict_proba` has them; a consensus of ranks has none in SQL."""
    n_cuts = len(model.classes_) - 1
    if isinstance(model, BoostedTreeRank):
        above = [
            _logistic(*line, words) for line in zip(model._slopes, model._intercepts, strict=True)
        ]
    elif model._ranks is not None:
        return []
    elif n_cuts == 1:
        above = [f"scored.score + {words.digits(0.5)}"]
    else:
        above = [f"scored.above_{k}" for k in range(1, n_cuts + 1)]
    zero, one = words.digits(0), words.digits(1)
    clipped = [f"{words.least}({words.greatest}({share}, {zero}), {one})" for share in above]
    # What is above a class cannot be more than what is above a lower one.
    falling = [clipped[0]]
    falling += [f"{words.least}({', '.join(clipped[: k + 1])})" for k in range(1, n_cuts)]
    edges = [one, *falling, zero]
    shares = [f"{a} - {b}" for a, b in pairwise(edges)]
    names = probability_names(model.classes_, words)
    return [f"{share} AS {n}" for share, n in zip(shares[-len(names) :], names, strict=True)]


def _logistic(slope: float, intercept: float, words: Dialect) -> str:
    """Probability whose log-odds are a line in the score; within what a database can raise e to."""
    odds = f"{words.digits(-slope)} * scored.score - {words.digits(intercept)}"
    largest = words.digits(LARGEST_EXPONENT)
    least = words.digits(-LARGEST_EXPONENT)
    one = words.digits(1)
    clipped = f"{words.least}({words.greatest}({odds}, {least}), {largest})"
    return f"{one} / ({one} + EXP({clipped}))"


def _totals(walks: Walks) -> dict[str, list[float]]:
    """What arriving at a slot adds: to the score, and to the share above each class."""
    layers = {f"above_{k}": layer for k, layer in enumerate(walks.layers, start=1)}
    return {
        name: step.astype(np.float64).tolist()
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


def _array_walk(walks: Walks, table: str, words: Dialect) -> list[str]:
    """Common table expressions down to `walk`, by arrays."""
    values = _values(walks, words, "source")
    place = {feature: i for i, feature in enumerate(values)}
    nodes = _nodes(walks)
    nodes["feature"] = [place.get(feature, 0) + 1 for feature in nodes["feature"]]
    kind, feature, follows, set_number = (
        _array(nodes[name], words.integer, words)
        for name in ("kind", "feature", "follows", "set_number")
    )
    threshold = _array(nodes["threshold"], words.double, words)
    steps = {
        name: f"{_array(step, words.single, words)}[slot + 1]"
        for name, step in _totals(walks).items()
    }
    totals = ", ".join(steps)
    added = ", ".join(f"CAST({name} + {step} AS {words.single})" for name, step in steps.items())
    code = f"CAST(value AS {words.integer})"
    members = _array(walks.members.ravel().astype(int).tolist(), words.integer, words)
    in_set = f"{members}[{set_number}[slot + 1] * {walks.members.shape[1]} + {code} + 1] = 1"
    goes_right = f"CASE WHEN value <= {threshold}[slot + 1] THEN 0 "
    if (walks.kind == IN_SET).any():
        goes_right = f"CASE WHEN kind = {IN_SET} THEN CASE WHEN {in_set} THEN 0 ELSE 1 END "
        goes_right += f"WHEN value <= {threshold}[slot + 1] THEN 0 "
    goes_right += f"WHEN value IS NULL AND kind = {MISSING_GOES_LEFT} THEN 0 ELSE 1 END"
    roots = ", ".join(f"({t}, {slot})" for t, slot in enumerate(walks.roots.tolist()))
    return [
        "numbered AS MATERIALIZED (\n"
        f"  SELECT row_number() OVER () AS treerank_row, source.*,\n"
        f"    ARRAY[{', '.join(values.values())}] AS treerank_values\n  FROM {table} AS source\n)",
        f"root(tree, slot) AS (VALUES {roots})",
        f"walk(treerank_row, tree, slot, kind, {totals}, treerank_values) AS (\n"
        f"  SELECT treerank_row, tree, slot, {kind}[slot + 1], {', '.join(steps.values())}, "
        "treerank_values\n"
        "  FROM numbered CROSS JOIN root\n"
        "  UNION ALL\n"
        f"  SELECT treerank_row, tree, slot, {kind}[slot + 1],\n"
        f"    {added}, treerank_values\n"
        "  FROM (\n"
        f"    SELECT treerank_row, tree, {totals}, treerank_values,\n"
        f"      {follows}[slot + 1] + {goes_right} AS slot\n"
        "    FROM (\n"
        f"      SELECT *, treerank_values[{feature}[slot + 1]] AS value\n"
        f"      FROM walk WHERE kind <> {END}\n"
        "    ) AS asked\n"
        "  ) AS arrived\n)",
    ]


def _array(values: list[Any], element: str, words: Dialect) -> str:
    """Write a constant array."""
    text = ",".join(map(repr, values))
    brackets = "[]" if words is DIALECTS["duckdb"] else "{}"
    return f"(CAST('{brackets[0]}{text}{brackets[1]}' AS {element}[]))"


# --- SQLite: joins ---


def _joined_walk(walks: Walks, table: str, words: Dialect) -> list[str]:
    """Common table expressions down to `walk`, by joins."""
    sets, codes = np.nonzero(walks.members)
    member = {"set_number": [-2, *sets.tolist()], "code": [0, *codes.tolist()]}
    totals = _totals(walks)
    known = "\n  UNION ALL ".join(
        f"SELECT treerank_row, {j}, {value} FROM numbered"
        for j, value in _values(walks, words, "numbered").items()
    )
    return [
        "numbered AS MATERIALIZED (\n"
        f"  SELECT row_number() OVER () AS treerank_row, source.* FROM {table} AS source\n)",
        _table("node", {"slot": list(range(len(walks.kind)))} | _nodes(walks) | totals),
        _table("root", {"tree": list(range(walks.n_trees)), "slot": walks.roots.tolist()}),
        _table("member", member),
        f"known(treerank_row, feature, value) AS MATERIALIZED (\n  {known}\n)",
        f"walk(treerank_row, tree, slot, kind, {', '.join(totals)}) AS (\n"
        + _JOINED_STEP.format(
            begun=", ".join(f"node.{name}" for name in totals),
            added=", ".join(f"walk.{name} + arrived.{name}" for name in totals),
        )
        + "\n)",
    ]


def _table(name: str, columns: dict[str, list[Any]]) -> str:
    """Write a table as a common table expression that reads it from JSON."""
    rows = json.dumps(list(zip(*columns.values(), strict=True)), separators=(",", ":"))
    read = ", ".join(f"json_extract(value, '$[{i}]')" for i in range(len(columns)))
    head = f"{name}({', '.join(columns)}) AS MATERIALIZED"
    return f"{head} (\n  SELECT {read} FROM json_each('{rows}')\n)"


_JOINED_STEP = f"""\
  SELECT numbered.treerank_row, root.tree, root.slot, node.kind, {{begun}}
  FROM numbered CROSS JOIN root JOIN node ON node.slot = root.slot
  UNION ALL
  SELECT walk.treerank_row, walk.tree, arrived.slot, arrived.kind, {{added}}
  FROM walk
  JOIN node AS asked ON asked.slot = walk.slot AND walk.kind <> {END}
  JOIN known ON known.treerank_row = walk.treerank_row AND known.feature = asked.feature
  LEFT JOIN member ON member.set_number = asked.set_number AND member.code = known.value
  JOIN node AS arrived ON arrived.slot = asked.follows + CASE
    WHEN asked.kind = {IN_SET} THEN CASE WHEN member.code IS NULL THEN 1 ELSE 0 END
    WHEN known.value <= asked.threshold THEN 0
    WHEN known.value IS NULL AND asked.kind = {MISSING_GOES_LEFT} THEN 0
    ELSE 1 END"""
