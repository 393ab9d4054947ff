"""A tree as SQL: nested CASE expressions that find the stratum, and a table of the strata."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._input.label_order import by_rank
from treerank._trees.ranking_tree import RankTree
from treerank.export._sql_scorecard import card_names, card_of_scores
from treerank.export._sql_words import Aliases, Columns, Dialect, probability_names
from treerank.export._walks import Walks
from treerank.scoring._scorecard import Scorecard


def tree_query(
    model: TreeRanker,
    walks: Walks,
    table: str,
    words: Dialect,
    alias: Aliases,
    kept: list[str] | None,
    card: Scorecard | None = None,
) -> str:
    """Write the query for a TreeRank or LeafRank.

    The table is read under an alias, and nothing is computed next to its columns, so that none of
    them can be confused with a column of the query itself, whatever its name.
    """
    source, strata = alias("source"), alias("strata")
    case = _Cases(model, walks, Columns(walks, words, source)).stratum_of_row()
    passed = [f"{source}.*"] if kept is None else [f"{source}.{name}" for name in kept]
    found = [f"{strata}.{name}" for name in ("stratum", *score_names(model, words, card))]
    return (
        f"WITH {strata_table(model, strata, words, card)}\n"
        f"SELECT {', '.join(passed + found)}\n"
        f"FROM {table} AS {source}\n"
        f"JOIN {strata} ON {strata}.stratum =\n  {case}"
    )


def score_names(model: TreeRanker, words: Dialect, card: Scorecard | None = None) -> list[str]:
    """Columns with the score, the probabilities, the grade and the points of a stratum."""
    return ["score", *probability_names(model.label_order_, words), *card_names(card)]


def strata_table(
    model: TreeRanker, name: str, words: Dialect, card: Scorecard | None = None
) -> str:
    """Write scores, probabilities, grades and points of the strata as a table expression."""
    scores, shares = model.partition_.scores, model._posterior
    if card is not None and card.calibrator_ is not None:
        shares = by_rank(card.probabilities_of(scores), card)
    shares = shares[:, -len(probability_names(model.label_order_, words)) :]
    graded = [[] for _ in scores] if card is None else card_of_scores(card, scores, words)
    rows = ",\n".join(
        f"    ({', '.join([str(k), *map(words.digits, [score, *of_stratum]), *grade])})"
        for k, (score, of_stratum, grade) in enumerate(zip(scores, shares, graded, strict=True))
    )
    return (
        f"{name}(stratum, {', '.join(score_names(model, words, card))}) AS (\n  VALUES\n{rows}\n)"
    )


def nesting(tree: RankTree) -> int:
    """Nesting depth of the CASE expressions in the query of a tree."""
    below = _depths(tree.tests["left"], tree.tests["right"])
    splits = tree.cells[tree.is_split]
    # A single test is a plain condition; several tests are a CASE inside the condition.
    inner = below[splits["first_test"]]
    deepest = splits["depth"] + 1 + np.where(inner > 1, inner, 0)
    return int(deepest.max(initial=0))


def _depths(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
    """Levels of tests below each node. Children come after their parents."""
    depth = np.zeros(len(left), dtype=np.int64)
    for node in np.flatnonzero(left >= 0)[::-1]:
        depth[node] = 1 + max(depth[left[node]], depth[right[node]])
    return depth


class _Cases:
    """Cells of a ranking tree as nested CASE expressions.

    A split by several tests is a CASE of its own that gives 1 for the better side, so that the
    length of the query grows with the number of tests and not with the number of paths. Children
    come after their parents in the arrays, which are therefore processed from the end.
    """

    def __init__(self, model: TreeRanker, walks: Walks, columns: Columns) -> None:
        assert isinstance(model.tree_, RankTree)
        self.tree, self.stratum = model.tree_, model._stratum
        self.walks, self.columns = walks, columns
        sets = np.ascontiguousarray(self.tree.category_sets).view(np.uint8)
        bits = np.unpackbits(sets.reshape(-1, 32), axis=1, bitorder="little")
        self.members = bits.astype(bool)

    def stratum_of_row(self) -> str:
        """Expression for the stratum of a row."""
        said: dict[int, str] = {}
        for cell in range(self.tree.n_cells - 1, -1, -1):
            record = self.tree.cells[cell]
            if record["left"] < 0:
                said[cell] = str(int(self.stratum[cell]))
                continue
            better, worse = said.pop(int(record["left"])), said.pop(int(record["right"]))
            condition, turned = self.split(record)
            yes, no = (worse, better) if turned else (better, worse)
            pad = " " * (2 + 2 * int(record["depth"]))
            said[cell] = f"CASE WHEN {condition}\n{pad}  THEN {yes}\n{pad}  ELSE {no}\n{pad}END"
        return said[0]

    def split(self, record: Any) -> tuple[str, bool]:
        """Condition of a split, and whether true means the worse child."""
        test = self.tree.tests[record["first_test"]]
        ends = [self.tree.tests[test[side]] for side in ("left", "right")]
        if all(end["left"] < 0 for end in ends):  # a single test
            condition, turned = self.condition(test)
            return condition, bool(ends[0]["side"]) != turned
        return f"{self.side(int(record['first_test']), int(record['last_test']))} = 1", False

    def side(self, first: int, last: int) -> str:
        """Expression that is 1 if a row goes to the better child, otherwise 0."""
        said: dict[int, str] = {}
        for number in range(last - 1, first - 1, -1):
            test = self.tree.tests[number]
            if test["left"] < 0:
                said[number] = "1" if test["side"] == 0 else "0"
                continue
            condition, turned = self.condition(test)
            yes, no = said.pop(int(test["left"])), said.pop(int(test["right"]))
            if turned:
                yes, no = no, yes
            said[number] = yes if yes == no else f"CASE WHEN {condition} THEN {yes} ELSE {no} END"
        return said[first]

    def condition(self, test: Any) -> tuple[str, bool]:
        """Condition of a test, and whether true means right."""
        feature, cut = int(test["feature"]), int(test["cut"])
        if test["categorical"]:
            return self.columns.in_set(feature, self.members[cut])
        thresholds = self.walks.binning.thresholds[feature]
        inner = 1 <= cut <= len(thresholds)
        threshold = float(thresholds[cut - 1]) if inner else np.inf
        return self.columns.at_most(feature, threshold, bool(test["missing_left"]))
