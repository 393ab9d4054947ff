"""Explanations: which tests put a row into its stratum, and what would move it to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Codes
from treerank._input.categories import SharedLevels
from treerank._input.parameters import check_n_jobs
from treerank._input.types import TableLike
from treerank._input.validation import Table, validate_rows
from treerank._reading.dependence import check_has_tests
from treerank._reading.rules import _format_box, _number
from treerank._trees.boxes import Box
from treerank._trees.cell_boxes import all_codes, left_codes
from treerank._trees.ranking_tree import RankTree

if TYPE_CHECKING:
    from treerank._base import TreeRanker


@dataclass(frozen=True)
class Step:
    """One split of the ranking tree on the path of a row.

    Attributes
    ----------
    conditions : tuple of str
        The conditions of the split's tests that the row fulfils.
    better : bool
        Whether they put the row on the better side.
    """

    conditions: tuple[str, ...]
    better: bool


@dataclass(frozen=True)
class Move:
    """The smallest change of one feature that moves a row up, or down.

    Attributes
    ----------
    feature : str
    condition : str
        The condition that the feature would have to fulfil. Any value that fulfils it puts the
        row into `stratum`.
    value : float, level or None
        The nearest value that fulfils the condition; None if any known value does.
    change : float or None
        `value` minus the present value; None for a category, and if the present value is
        missing.
    stratum : int
        The stratum that the row would be in.
    score : float
        The score of that stratum.
    """

    feature: str
    condition: str
    value: Any
    change: float | None
    stratum: int
    score: float


@dataclass(frozen=True)
class Explanation:
    """Why a row is in its stratum, and which changes of one feature would move it.

    Attributes
    ----------
    stratum : int
        Stratum of the row; 0 is the best.
    n_strata : int
    score : float
    reasons : tuple of str
        The conditions of all steps, combined by feature. Any row that fulfils them is in the
        same stratum.
    steps : tuple of Step
        The splits on the path of the row, starting at the root.
    up, down : tuple of Move
        For each feature that can move the row by itself, the smallest change that puts it into
        a better (up) or worse (down) stratum.
    """

    stratum: int
    n_strata: int
    score: float
    reasons: tuple[str, ...]
    steps: tuple[Step, ...]
    up: tuple[Move, ...]
    down: tuple[Move, ...]

    def __repr__(self) -> str:
        place = f"stratum {self.stratum} of 0 to {self.n_strata - 1}, score {self.score:.4g}"
        lines = [place, "because " + (" and ".join(self.reasons) or "all rows are in it")]
        for word, moves in (("up", self.up), ("down", self.down)):
            lines += [f"{word} to {move.stratum} if {move.condition}" for move in moves]
        return "\n".join(lines)


def explain(model: Any, X: TableLike) -> list[Explanation]:
    """Explain which tests put each row into its stratum, and what would move it to another.

    A move changes one feature and leaves the others as they are. For a number, it is the
    smallest change; for a category or a missing value, the change to the nearest stratum.
    No move makes a value missing.

    Parameters
    ----------
    model : TreeRank or LeafRank
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        The rows to explain, usually few.

    Returns
    -------
    list of Explanation
        One for each row; ``print`` shows it as text.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.inspection import explain
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["worst perimeter", "worst texture"]]
    >>> model = TreeRank(max_depth=2, pruning=None, shrinkage=None).fit(X, y)
    >>> [explanation] = explain(model, X.iloc[[0]])
    >>> print(explanation)
    stratum 3 of 0 to 3, score -0.375
    because worst perimeter > 117.45
    up to 2 if 105.95 < worst perimeter <= 117.45
    """
    check_has_tests(model, " For forests and boosting see treerank.inspection.reasons.")
    binning, tree = model._binning, model.tree_
    table = validate_rows(model, X, binning.is_categorical)
    n_jobs = check_n_jobs(model.n_jobs)
    codes = binning.transform(table, n_jobs)
    strata = model._stratum[tree.apply(codes, n_jobs)]
    inner = tree.tests[tree.tests["left"] >= 0]
    ladders = [_Ladder(model, table, codes, int(j), n_jobs) for j in np.unique(inner["feature"])]
    explanations = []
    for row, stratum in enumerate(strata):
        steps, box = _walk(tree, binning, table.names, codes[:, row])
        moves = {
            word: tuple(
                move for ladder in ladders if (move := ladder.move(row, int(stratum), word == "up"))
            )
            for word in ("up", "down")
        }
        explanations.append(
            Explanation(
                stratum=int(stratum),
                n_strata=len(model.partition_),
                score=float(model.partition_.scores[stratum]),
                reasons=tuple(_format_box(box, binning, table.names)),
                steps=tuple(steps),
                **moves,
            )
        )
    return explanations


def _walk(
    tree: RankTree, binning: Binning, names: list[str], codes: NDArray[Any]
) -> tuple[list[Step], Box]:
    """Follow a row down the tree. Return its splits, and the box of all conditions it fulfils."""
    steps, everywhere = [], Box()
    cell = 0
    while tree.is_split[cell]:
        box = Box()
        at = int(tree.cells["first_test"][cell])
        while tree.tests["left"][at] >= 0:
            test = tree.tests[at]
            feature, code = int(test["feature"]), int(codes[int(test["feature"])])
            left = left_codes(tree, test, int(binning.n_codes[feature]))
            goes_left = bool(left >> code & 1)
            allowed = left if goes_left else all_codes(binning)[feature] & ~left
            # The value of a row is either missing or known: a condition need not allow both.
            _narrow(box, feature, 1 if code == 0 else allowed & ~1)
            at = int(test["left"] if goes_left else test["right"])
        better = int(tree.tests["side"][at]) == 0
        steps.append(Step(tuple(_format_box(box, binning, names)), better))
        for feature, allowed in box.items():
            _narrow(everywhere, feature, allowed)
        cell = int(tree.cells["left" if better else "right"][cell])
    return steps, everywhere


def _narrow(box: Box, feature: int, allowed: int) -> None:
    box[feature] = box.get(feature, -1) & allowed


class _Ladder:
    """The strata that each row reaches if only one feature changes, by rung.

    Rungs are the intervals between the thresholds of the tests on a number, in ascending order,
    or the levels of a category.
    """

    def __init__(
        self, model: TreeRanker, table: Table, codes: Codes, feature: int, n_jobs: int
    ) -> None:
        binning, tree = model._binning, model.tree_
        assert isinstance(tree, RankTree)
        self.feature, self.name = feature, table.names[feature]
        self.levels = binning.levels[feature]
        self.scores = model.partition_.scores
        if self.levels is None:
            tests = tree.tests[(tree.tests["left"] >= 0) & (tree.tests["feature"] == feature)]
            cuts = np.unique(tests["cut"])
            # A cut at 0 or at the last code separates missing from known values.
            cuts = cuts[(cuts >= 1) & (cuts <= len(binning.thresholds[feature]))]
            self.bounds = binning.thresholds[feature][cuts - 1]
            rungs = np.append(cuts, int(binning.n_codes[feature]) - 1)
            values = table.matrix[:, feature] if table.matrix is not None else None
            column = table.columns[feature].values if values is None else values
            self.values = np.asarray(column, dtype=np.float64)
            self.rung = np.searchsorted(cuts, codes[feature], side="left")
        else:
            rungs = np.arange(1, len(self.levels) + 1)
            self.rung = codes[feature].astype(np.intp) - 1
        self.is_missing = codes[feature] == 0
        every = np.repeat(codes, len(rungs), axis=1)
        every[feature] = np.tile(rungs.astype(codes.dtype), codes.shape[1])
        reached = model._stratum[tree.apply(np.ascontiguousarray(every), n_jobs)]
        self.strata = reached.reshape(codes.shape[1], len(rungs))

    def move(self, row: int, stratum: int, up: bool) -> Move | None:
        """Return the smallest change that puts a row above, or below, a stratum."""
        reached = self.strata[row]
        there = np.flatnonzero(reached < stratum if up else reached > stratum)
        if len(there) == 0:
            return None
        by_value = self.levels is None and not self.is_missing[row]
        size = np.abs(self._changes(row)) if by_value else np.abs(reached - stratum)
        rung = int(there[np.argmin(size[there])])
        condition, value = self._format(row, rung)
        return Move(
            feature=self.name,
            condition=condition,
            value=value,
            change=float(self._changes(row)[rung]) if by_value else None,
            stratum=int(reached[rung]),
            score=float(self.scores[reached[rung]]),
        )

    def _changes(self, row: int) -> NDArray[np.float64]:
        """Change that takes a row to the near end of each rung; 0 for its own rung."""
        rungs = np.arange(len(self.bounds) + 1)
        above = np.append(-np.inf, np.nextafter(self.bounds, np.inf))  # smallest value of a rung
        upto = np.append(self.bounds, np.inf)
        goal = np.where(rungs > self.rung[row], above, upto)
        change = np.where(rungs == self.rung[row], self.values[row], goal) - self.values[row]
        return np.asarray(change)

    def _format(self, row: int, rung: int) -> tuple[str, Any]:
        """Return the condition for the stratum of a rung, and the nearest value that fulfils it."""
        if self.levels is not None:
            level = self.levels[rung]
            some = level[0] if isinstance(level, SharedLevels) else level
            return f"{self.name} is {some}", some
        same = self.strata[row] == self.strata[row, rung]
        first = rung - int(np.argmin(np.append(same[: rung + 1][::-1], False))) + 1
        last = rung + int(np.argmin(np.append(same[rung:], False))) - 1
        ends = np.concatenate([[-np.inf], self.bounds, [np.inf]])
        low, high = float(ends[first]), float(ends[last + 1])
        if np.isinf(low) and np.isinf(high):
            return f"{self.name} is known", None
        said = f"{_number(low)} < {self.name} <= {_number(high)}"
        if np.isinf(high):
            said = f"{self.name} > {_number(low)}"
        elif np.isinf(low):
            said = f"{self.name} <= {_number(high)}"
        from_below = not self.is_missing[row] and rung > self.rung[row]
        return said, float(np.nextafter(low, np.inf)) if from_below or np.isinf(high) else high
