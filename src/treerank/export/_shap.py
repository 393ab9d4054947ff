"""Trees as the dict that `shap.TreeExplainer` accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._input.parameters import check_integer
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._input.validation import Table, validate_rows
from treerank._trees.ranking_tree import RankTree, as_bytes
from treerank.export._walks import (
    END,
    IN_SET,
    MISSING_GOES_LEFT,
    Walks,
    check_exportable,
    walks_of,
)

# Weight of a node that no row reaches; not 0, since SHAP divides by weights.
LEAST_WEIGHT = 1e-9


def to_dict(
    model: FittedClassifier, X: TableLike | None = None, *, max_nodes: int = 1_000_000
) -> dict[str, Any]:
    """Convert the trees to plain arrays, in the format that `shap.TreeExplainer` accepts.

    Cells that are merged and split again are written once for each path to them. Rows to be
    explained must be converted by :func:`to_matrix`, which replaces categories by codes.

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted, with LeafRank as the splitter. A forest must have ``aggregation="posterior"`` or
        ``"mean_rank"``.
    X : array-like or data frame, optional
        Rows that are counted in every node, which SHAP's path-dependent values need. By default,
        the training counts of a tree are used. Forests and boosted trees do not keep them, and
        need rows.
    max_nodes : int, default=1_000_000
        Maximum number of nodes. A default forest of few rows has many paths to its cells; one with
        ``LeafRank(max_depth=1)`` or ``LeafRank(max_depth=None)`` has one path to each.

    Returns
    -------
    dict
        `trees`, each with `children_left`, `children_right`, `children_default`, `feature`,
        `threshold`, `value` and `node_sample_weight`; `base_offset`; types and output for SHAP.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.export import to_dict, to_matrix
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = TreeRank().fit(X, y)
    >>> trees = to_dict(model)["trees"]
    >>> len(trees), trees[0]["node_sample_weight"][0].item()
    (1, 569.0)
    >>> import shap  # doctest: +SKIP
    >>> shap.TreeExplainer(to_dict(model)).shap_values(to_matrix(model, X))  # doctest: +SKIP
    """
    limit = check_integer("max_nodes", max_nodes, 1)
    walks = walks_of(model)
    if isinstance(model, TreeRanker):
        trees = [_expand_tree(model, limit)]
    elif X is None:
        raise ValueError(
            f"Got X=None with a {type(model).__name__}, which keeps no counts; expected rows to be "
            "counted in its nodes, such as those of the training."
        )
    else:
        trees = _expand_forest(walks, limit)
    if X is not None:
        rows = to_matrix(model, X)
        for tree in trees:
            tree.count(rows)
    return {
        "trees": [tree.as_dict(1.0 / walks.divisor) for tree in trees],
        "base_offset": -walks.offset,
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "objective": "squared_error",
        "tree_output": "raw_value",
    }


def to_matrix(model: Any, X: TableLike) -> Floats:
    """Convert rows to numbers: NaN for a missing number, codes instead of levels.

    Code 0 means a missing or unknown level, code i the i-th level of the model.

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)

    Returns
    -------
    array of shape (n_samples, n_features)
    """
    check_exportable(model)
    binning = model._binning
    table = validate_rows(model, X, binning.is_categorical)
    if table.matrix is not None:
        return table.matrix.astype(np.float64)
    codes = binning.transform(table)
    columns = [
        codes[j].astype(np.float64) if binning.is_categorical[j] else _numbers(table, j)
        for j in range(table.n_features)
    ]
    return np.column_stack(columns)


def _numbers(table: Table, j: int) -> Floats:
    return np.asarray(table.columns[j].values, dtype=np.float64)


@dataclass
class _Tree:
    """A tree that is built node by node. A leaf has no children."""

    limit: int
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    default: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)

    def node(self, weight: float = 0.0) -> int:
        """Add a leaf, which may become a split."""
        if len(self.left) >= self.limit:
            raise ValueError(
                f"Got a model of more than {self.limit:,} nodes when every way to a cell is "
                "written out; expected fewer. Use a splitter of one test, LeafRank(max_depth=1), "
                "or one tree for all, LeafRank(max_depth=None), or a larger max_nodes; "
                "or let treerank.inspection.attributions(model, X).to_shap() compute the values."
            )
        for column, start in (
            (self.left, -1), (self.right, -1), (self.default, -1), (self.feature, -1),
            (self.threshold, 0.0), (self.value, 0.0), (self.weight, weight),
        ):  # fmt: skip
            column.append(start)  # type: ignore[arg-type]
        return len(self.left) - 1

    def split(
        self, at: int, feature: int, threshold: float, missing_left: bool, left: int, right: int
    ) -> None:
        """Turn a leaf into a split."""
        self.left[at], self.right[at] = left, right
        self.feature[at], self.threshold[at] = feature, threshold
        self.default[at] = left if missing_left else right

    def count(self, rows: Floats) -> None:
        """Count rows in every node."""
        left, right = np.array(self.left), np.array(self.right)
        default, feature = np.array(self.default), np.array(self.feature)
        threshold = np.array(self.threshold)
        counts = np.zeros(len(left))
        at = np.zeros(len(rows), dtype=np.intp)
        inside = np.arange(len(rows))
        while len(inside):
            counts += np.bincount(at[inside], minlength=len(left))
            inside = inside[left[at[inside]] >= 0]
            node = at[inside]
            values = rows[inside, feature[node]]
            side = np.where(values <= threshold[node], left[node], right[node])
            at[inside] = np.where(np.isnan(values), default[node], side)
        self.weight = np.maximum(counts, LEAST_WEIGHT).tolist()

    def as_dict(self, factor: float) -> dict[str, Any]:
        """Return the arrays for SHAP."""
        return {
            "children_left": np.array(self.left, dtype=np.int32),
            "children_right": np.array(self.right, dtype=np.int32),
            "children_default": np.array(self.default, dtype=np.int32),
            "feature": np.array(self.feature, dtype=np.int32),
            "threshold": np.array(self.threshold),
            "value": np.array(self.value)[:, np.newaxis] * factor,
            "node_sample_weight": np.array(self.weight),
        }


def _ask_set(
    tree: _Tree, at: int, feature: int, member: NDArray[np.bool_], weight: float
) -> list[tuple[int, bool]]:
    """Split a node by runs of codes; return the leaves, and whether each is in the set."""
    changes = np.flatnonzero(np.diff(member)) + 0.5
    ends = []
    inside = bool(member[0])
    for border in changes.tolist():
        left, right = tree.node(weight), tree.node(weight)
        tree.split(at, feature, border, inside, left, right)
        ends.append((left, inside))
        at, inside = right, not inside
    return [*ends, (at, inside)]


def _expand_tree(model: TreeRanker, limit: int) -> _Tree:
    """Expand a ranking tree: each leaf of a LeafRank tree leads to a copy of its cell.

    A copy has the part of the cell's weight that arrives by its path.
    """
    source = model.tree_
    assert isinstance(source, RankTree)
    binning = model._binning
    sets = as_bytes(source.category_sets)
    members = np.unpackbits(sets, axis=1, bitorder="little").astype(bool)
    negative: NDArray[np.float64] = source.tests["negative"]
    positive: NDArray[np.float64] = source.tests["positive"]
    weight_sum = negative + positive
    cell_weight = source.counts.sum(axis=1)
    tree = _Tree(limit)
    stack = [(tree.node(), 0, -1, float(cell_weight[0]))]
    while stack:
        at, cell, number, weight = stack.pop()
        tree.weight[at] = max(weight, LEAST_WEIGHT)
        if number < 0:  # arrives at a cell
            if not source.is_split[cell]:
                tree.value[at] = float(model.partition_.scores[model._stratum[cell]])
                continue
            number = int(source.cells["first_test"][cell])
        test = source.tests[number]
        if test["left"] < 0:
            child = int(source.cells["left" if test["side"] == 0 else "right"][cell])
            stack.append((at, child, -1, weight))
            continue
        children = int(test["left"]), int(test["right"])
        share = [weight * float(weight_sum[c] / max(weight_sum[number], 1e-300)) for c in children]
        feature, cut = int(test["feature"]), int(test["cut"])
        if test["categorical"]:
            n_codes = int(binning.n_codes[feature])
            ends = _ask_set(tree, at, feature, members[cut, :n_codes], weight)
            many = [sum(inside == side for _, inside in ends) for side in (True, False)]
            for end, inside in ends:
                side = 0 if inside else 1
                stack.append((end, cell, children[side], share[side] / many[side]))
        else:
            thresholds = binning.thresholds[feature]
            inner = 1 <= cut <= len(thresholds)
            value = float(thresholds[cut - 1]) if inner else -np.inf if cut < 1 else np.inf
            left, right = tree.node(), tree.node()
            tree.split(at, feature, value, bool(test["missing_left"]), left, right)
            stack += [(right, cell, children[1], share[1]), (left, cell, children[0], share[0])]
    return tree


def _expand_forest(walks: Walks, limit: int) -> list[_Tree]:
    """Expand the trees of a forest; each path has its own sum."""
    trees = []
    for root in walks.roots.tolist():
        tree = _Tree(limit)
        stack = [(tree.node(), root, walks.step[root])]
        while stack:
            at, slot, total = stack.pop()
            if walks.kind[slot] == END:
                tree.value[at] = float(total)
                continue
            feature, follows = int(walks.feature[slot]), int(walks.follows[slot])
            sums = [total + walks.step[follows], total + walks.step[follows + 1]]
            if walks.kind[slot] == IN_SET:
                n_codes = int(walks.binning.n_codes[feature])
                member = walks.members[walks.set_of[slot], :n_codes]
                for end, inside in _ask_set(tree, at, feature, member, 0.0):
                    stack.append((end, follows + (not inside), sums[not inside]))
            else:
                left, right = tree.node(), tree.node()
                missing_left = bool(walks.kind[slot] == MISSING_GOES_LEFT)
                tree.split(at, feature, float(walks.threshold[slot]), missing_left, left, right)
                stack += [(right, follows + 1, sums[1]), (left, follows, sums[0])]
        limit -= len(tree.left)
        trees.append(tree)
    return trees
