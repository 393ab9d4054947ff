"""A tree as SQL: nested CASE expressions that find the stratum."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._base import TreeRanker
from treerank._trees.ranking_tree import RankTree
from treerank.export._sql_words import Columns, Dialect, probability_names
from treerank.export._walks import Walks, walks_of


def tree_query(model: TreeRanker, table: str, words: Dialect, kept: list[str] | None) -> str:
    """Write the query for a TreeRank or LeafRank."""
    walks = walks_of(model)
    case = _Cases(model, walks, Columns(walks, words, "source")).cell(0, 4)
    names = probability_names(model.classes_, words)
    shares = model._posterior[:, -len(names) :]
    strata = ",\n".join(
        f"    ({', '.join([str(k), *map(words.digits, [score, *of_stratum])])})"
        for k, (score, of_stratum) in enumerate(zip(model.partition_.scores, shares, strict=True))
    )
    passed = "placed.*" if kept is None else ", ".join(f"placed.{name}" for name in kept)
    stratum = "" if kept is None else " placed.stratum,"
    found = ", ".join(f"strata.{name}" for name in ("score", *names))
    return (
        f"WITH strata(stratum, score, {', '.join(names)}) AS (\n  VALUES\n{strata}\n)\n"
        f"SELECT {passed},{stratum} {found}\n"
        f"FROM (\n  SELECT source.*,\n    {case} AS stratum\n  FROM {table} AS source\n"
        f") AS placed\nJOIN strata ON strata.stratum = placed.stratum"
    )


class _Cases:
    """Cells of a ranking tree as nested CASE expressions.

    A split by several tests is a CASE of its own that gives 1 for the better side, so that the
    length of the query grows with the number of tests and not with the number of paths.
    """

    def __init__(self, model: TreeRanker, walks: Walks, columns: Columns) -> None:
        assert isinstance(model.tree_, RankTree)
        self.tree, self.stratum = model.tree_, model._stratum
        self.walks, self.columns = walks, columns
        sets = np.ascontiguousarray(self.tree.category_sets).view(np.uint8)
        bits = np.unpackbits(sets.reshape(-1, 32), axis=1, bitorder="little")
        self.members = bits.astype(bool)

    def cell(self, cell: int, indent: int) -> str:
        """Stratum of the rows in a cell."""
        record = self.tree.cells[cell]
        if record["left"] < 0:
            return str(int(self.stratum[cell]))
        test = self.tree.tests[record["first_test"]]
        children = int(record["left"]), int(record["right"])
        ends = [self.tree.tests[test[side]] for side in ("left", "right")]
        if all(end["left"] < 0 for end in ends):  # a single test
            condition, turned = self.condition(test)
            if bool(ends[0]["side"]) != turned:
                children = children[::-1]
        else:
            condition = f"{self.side(int(record['first_test']))} = 1"
        pad = " " * indent
        yes, no = (self.cell(child, indent + 2) for child in children)
        return f"CASE WHEN {condition}\n{pad}  THEN {yes}\n{pad}  ELSE {no}\n{pad}END"

    def side(self, number: int) -> str:
        """Give 1 where a row goes to the better child."""
        test = self.tree.tests[number]
        if test["left"] < 0:
            return "1" if test["side"] == 0 else "0"
        condition, turned = self.condition(test)
        yes, no = self.side(int(test["left"])), self.side(int(test["right"]))
        if turned:
            yes, no = no, yes
        return yes if yes == no else f"CASE WHEN {condition} THEN {yes} ELSE {no} END"

    def condition(self, test: Any) -> tuple[str, bool]:
        """What a test asks, and whether yes means right."""
        feature, cut = int(test["feature"]), int(test["cut"])
        if test["categorical"]:
            return self.columns.in_set(feature, self.members[cut])
        thresholds = self.walks.binning.thresholds[feature]
        inner = 1 <= cut <= len(thresholds)
        threshold = float(thresholds[cut - 1]) if inner else np.inf
        return self.columns.at_most(feature, threshold, bool(test["missing_left"]))
