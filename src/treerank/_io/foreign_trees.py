"""Sources of trees for geometric ranking, and how each of them reads a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from treerank._base import TreeRanker
from treerank._input.frames import check_numeric
from treerank._input.parameters import invalid_parameter
from treerank._input.types import TableLike
from treerank._input.validation import feature_names, validate_rows
from treerank._io.node_arrays import (
    _NODE_ARRAYS,
    EXPECTED,
    TreeSource,
    _level_codes,
    _whole,
    from_node_arrays,
)
from treerank._trees.axis_tree import (
    AxisTree,
    build_axis_tree,
    new_nodes,
)
from treerank._trees.ranking_tree import RankTree
from treerank._trees.splitter_tree import SplitterTree, format_splitter


@dataclass(frozen=True)
class ScikitLearnSource(TreeSource):
    """A DecisionTreeClassifier, by itself or behind transformers."""

    estimator: Any
    front: Any

    def read(self, X: TableLike) -> NDArray[np.float64]:
        """Return the transformed rows as numbers."""
        if self.front is not None:
            X = self.front.transform(X)
        check_numeric(X, type(self.estimator).__name__)
        rows = validate_data(
            self.estimator, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return np.asarray(rows)

    @property
    def names(self) -> list[str]:
        """Names of the features after the transformers."""
        return feature_names(self.estimator)


@dataclass(frozen=True)
class RankerSource(TreeSource):
    """A ranking tree of this library, by itself or behind transformers."""

    model: TreeRanker
    front: Any

    def read(self, X: TableLike) -> NDArray[np.float64]:
        """Return the rows as numbers, with levels as codes of the model."""
        if self.front is not None:
            X = self.front.transform(X)
        binning = self.model._binning
        table = validate_rows(self.model, X, binning.is_categorical)
        if table.matrix is not None:
            return table.matrix.astype(np.float64)
        columns = [
            column.values if levels is None else _level_codes(column, levels)
            for column, levels in zip(table.columns, binning.levels, strict=True)
        ]
        return np.column_stack(columns).astype(np.float64, copy=False)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return feature_names(self.model)


def split_off_front(tree: Any) -> tuple[Any, Any]:
    """Return (transformers or None, the tree itself), without any `FrozenEstimator` around them."""
    while isinstance(tree, FrozenEstimator):
        tree = tree.estimator
    if not isinstance(tree, Pipeline):
        return None, tree
    front = tree[:-1] if len(tree.steps) > 1 else None
    inner_front, last = split_off_front(tree[-1])
    if inner_front is not None:
        raise invalid_parameter(
            "tree", tree, "a Pipeline whose last step is a tree, not another Pipeline"
        )
    return front, last


def takes_missing(tree: Any) -> bool:
    """Whether a tree, and all transformers before it, accept missing values."""
    if isinstance(tree, FrozenEstimator):
        return takes_missing(tree.estimator)
    if isinstance(tree, Pipeline):
        return all(takes_missing(step) for _, step in tree.steps if step != "passthrough")
    if isinstance(tree, BaseEstimator):
        return bool(get_tags(tree).input_tags.allow_nan)
    return isinstance(tree, Mapping) and "missing_go_to_left" in tree


def check_has_boundary(tree: Any) -> None:
    """Raise for models that have no decision boundary for geometric ranking."""
    if isinstance(tree, DecisionTreeRegressor):
        raise invalid_parameter(
            "tree", tree, "a classifier: a regression tree has no decision boundary"
        )
    if not isinstance(tree, DecisionTreeClassifier | TreeRanker):
        raise invalid_parameter("tree", tree, EXPECTED)


def read_estimator(estimator: Any, max_nodes: int | None = None) -> TreeSource:
    """Return the tree of a fitted estimator."""
    front, tree = split_off_front(estimator)
    check_has_boundary(tree)
    if isinstance(tree, TreeRanker):
        return RankerSource(_from_ranker(tree, max_nodes), tree, front)
    return ScikitLearnSource(_from_scikit_learn(tree), tree, front)


def _from_scikit_learn(estimator: DecisionTreeClassifier) -> AxisTree:
    if estimator.n_outputs_ != 1:
        raise ValueError(f"Got a tree of {estimator.n_outputs_} outputs; expected one.")
    arrays = estimator.tree_
    value = arrays.value[:, 0, :]
    return from_node_arrays(
        {name: getattr(arrays, name) for name in _NODE_ARRAYS}
        | {"missing_go_to_left": arrays.missing_go_to_left},
        counts=_whole(value * arrays.weighted_n_node_samples[:, np.newaxis]),
        predicted=value.argmax(axis=1),
        classes=estimator.classes_,
        n_features=estimator.n_features_in_,
        single_precision=True,
        takes_missing=bool(get_tags(estimator).input_tags.allow_nan),
    )


def arrays_of(estimator: DecisionTreeClassifier) -> dict[str, Any]:
    """Return a fitted tree of scikit-learn as the plain arrays that `read_arrays` accepts."""
    tree = estimator.tree_
    arrays = {name: np.array(getattr(tree, name)) for name in _NODE_ARRAYS}
    arrays["value"] = tree.value[:, 0, :].copy()
    arrays["weighted_n_node_samples"] = np.array(tree.weighted_n_node_samples)
    if get_tags(estimator).input_tags.allow_nan:
        arrays["missing_go_to_left"] = np.array(tree.missing_go_to_left)
    facts = {"classes": estimator.classes_, "n_features": estimator.n_features_in_}
    if hasattr(estimator, "feature_names_in_"):
        facts["feature_names"] = estimator.feature_names_in_
    return {**arrays, **facts, "input_dtype": np.dtype(np.float32)}


def _from_ranker(model: TreeRanker, max_nodes: int | None) -> AxisTree:
    tree, binning = model.tree_, model._binning
    if isinstance(tree, SplitterTree):
        kinds = sorted({format_splitter(split.splitter) for split in tree.splits})
        raise ValueError(
            f"Got a tree whose cells are split by {', '.join(kinds) or 'a splitter'}; expected "
            "tests of one feature each (LeafRank): an oblique tree has no boxes to measure the "
            "distance to."
        )
    assert isinstance(tree, RankTree)
    nodes = _nodes_of_ranker(tree, binning.thresholds)
    stratum = np.where(tree.is_split, 0, model._stratum)
    return build_axis_tree(
        nodes,
        tree.category_sets,
        binning.levels,
        counts=tree.counts,
        predicted=model._class_of_cell[stratum],
        classes=model.label_order_,
        single_precision=False,
        takes_missing=True,
        max_nodes=max_nodes,
    )


def _nodes_of_ranker(tree: RankTree, thresholds: list[NDArray[np.float64]]) -> NDArray[Any]:
    """Return the graph of the LeafRank tests, then the cells. Walks start at node 0."""
    cells, tests = tree.cells, tree.tests
    split = np.flatnonzero(tree.is_split)
    owner = np.zeros(len(tests), dtype=np.intp)
    for cell in split:
        owner[cells["first_test"][cell] : cells["last_test"][cell]] = cell
    # A walk that reaches a cell continues with its first test, or ends at a leaf cell.
    at_cell = 1 + len(tests) + np.arange(tree.n_cells)
    at_cell[split] = 1 + cells["first_test"][split]
    at_test = 1 + np.arange(len(tests))
    ends = tests["left"] < 0
    side: NDArray[np.int32] = tests["side"]
    left: NDArray[np.int32] = cells["left"]
    right: NDArray[np.int32] = cells["right"]
    child = np.where(side == 0, left[owner], right[owner])
    at_test[ends] = at_cell[child[ends]]

    nodes = new_nodes(1 + len(tests) + tree.n_cells)
    nodes["leaf"][1 + len(tests) :] = np.arange(tree.n_cells)
    inner = tests[~ends]
    records = nodes[1 : 1 + len(tests)][~ends]
    for name in ("left", "right"):
        test: NDArray[np.int32] = inner[name]
        records[name] = at_test[test]
    records["feature"] = inner["feature"]
    categorical = inner["categorical"] == 1
    sets = inner["cut"][categorical]
    records["category_set"][categorical] = sets
    records["missing_left"] = inner["missing_left"]
    records["missing_left"][categorical] = tree.category_sets[sets, 0] & np.uint64(1)
    for feature in np.unique(inner["feature"][~categorical]):
        # Code 0 is missing: a cut there, or after the last bin, separates it from all numbers.
        ends_of_bins = np.concatenate([[-np.inf], thresholds[feature], [np.inf]])
        here = (inner["feature"] == feature) & ~categorical
        cut = np.minimum(inner["cut"][here], len(ends_of_bins) - 1)
        records["threshold"][here] = ends_of_bins[cut]
    nodes[1 : 1 + len(tests)][~ends] = records
    nodes[0] = nodes[at_cell[0]]
    return nodes
