"""Build trees from arrays of nodes in scikit-learn's format, after checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from treerank._binning.binning import encode_levels
from treerank._input.categories import SharedLevels
from treerank._input.columns import Column, frame_column, is_missing
from treerank._input.frames import check_numeric
from treerank._input.types import TableLike
from treerank._trees.axis_tree import (
    ANY_OTHER,
    NO_SETS,
    AxisTree,
    build_axis_tree,
    new_nodes,
)

EXPECTED = (
    "a DecisionTreeClassifier, a TreeRank or LeafRank, a Pipeline that ends in one of them, a "
    "mapping of arrays (children_left, children_right, feature, threshold, value), or the text of "
    "a J48 tree"
)


_NODE_ARRAYS = ("children_left", "children_right", "feature", "threshold")
_OPTIONAL_ARRAYS = (
    "weighted_n_node_samples", "missing_go_to_left", "classes", "feature_names", "n_features",
    "input_dtype",
)  # fmt: skip


@dataclass(frozen=True)
class TreeSource(ABC):
    """A tree, and how to convert a table to the numbers that it tests."""

    tree: AxisTree

    @abstractmethod
    def read(self, X: TableLike) -> NDArray[np.float64]:
        """Return the rows as numbers, with categories as codes and NaN for missing values."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Names of the features that the tree tests."""


@dataclass(frozen=True)
class ArraySource(TreeSource):
    """A tree given as arrays or as text.

    Columns of a data frame are found by name if the tree has feature names. `ordered` is whether
    an array, whose columns have no names, is accepted too.
    """

    given_names: list[str] | None
    ordered: bool

    def read(self, X: TableLike) -> NDArray[np.float64]:
        """Return the rows as numbers, with levels as the codes of the J48 text."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if self.given_names is not None and isinstance(frame, nw.DataFrame):
            self._check_names(frame, self.given_names)
            if not self.tree.single_precision:
                return self._read_frame(frame, self.given_names)
            # A tree of scikit-learn: columns are converted as scikit-learn does.
            X = frame.select(self.given_names).to_native()
        if not self.ordered:
            raise ValueError(
                f"Got X of type {type(X).__name__}; expected a data frame with the columns "
                f"{', '.join(self.names)}: the tree knows its features by name."
            )
        check_numeric(X, "the tree")
        rows = np.asarray(check_array(X, dtype=np.float64, ensure_all_finite="allow-nan"))
        if rows.shape[1] != self.tree.n_features:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the tree is expecting "
                f"{self.tree.n_features} features as input."
            )
        return rows

    @staticmethod
    def _check_names(frame: nw.DataFrame[Any], names: list[str]) -> None:
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ValueError(
                f"Got a data frame without the columns {', '.join(absent)}; expected all that the "
                f"tree tests: {', '.join(names)}."
            )

    def _read_frame(self, frame: nw.DataFrame[Any], names: list[str]) -> NDArray[np.float64]:
        levels = self.tree.levels
        wanted = {j for j, known in enumerate(levels) if known is not None}
        columns = []
        for j, name in enumerate(names):
            column = frame_column(frame[name], name, j, wanted, fitted=True)
            known = levels[j]
            columns.append(column.values if known is None else _level_codes(column, known))
        return np.column_stack(columns).astype(np.float64, copy=False)

    @property
    def names(self) -> list[str]:
        """The feature names of the tree, or x0, x1, …."""
        return self.given_names or [f"x{j}" for j in range(self.tree.n_features)]


def _level_codes(column: Column, levels: list[Any]) -> NDArray[np.float64]:
    """Return the codes of levels; NaN for missing and unknown levels."""
    codes = encode_levels(column, levels)
    if levels and isinstance(levels[-1], SharedLevels) and levels[-1] == ANY_OTHER:
        known = np.array([not is_missing(value) for value in column.values])
        codes[known & (codes == 0)] = len(levels)
    return np.where(codes == 0, np.nan, codes)


def from_node_arrays(
    arrays: Mapping[str, Any],
    counts: NDArray[np.float64],
    predicted: NDArray[np.intp],
    n_features: int,
    **facts: Any,
) -> AxisTree:
    """Build a tree from arrays with one entry per node. The leaf of a node has its number."""
    nodes = new_nodes(len(arrays["children_left"]))
    inner = np.asarray(arrays["children_left"]) >= 0
    nodes["leaf"] = np.where(inner, -1, np.arange(len(nodes)))
    own = ("left", "right", "feature", "threshold", "missing_left")
    for name, given in zip(own, (*_NODE_ARRAYS, "missing_go_to_left"), strict=True):
        nodes[name][inner] = np.asarray(arrays[given])[inner]
    return build_axis_tree(
        nodes, NO_SETS, [None] * n_features, counts=counts, predicted=predicted, **facts
    )


def _whole(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round counts that are not integers only because of rounding in shares times totals."""
    whole = np.rint(counts)
    return np.where(np.isclose(counts, whole, rtol=1e-9, atol=1e-9), whole, counts)


def read_arrays(arrays: Mapping[str, Any]) -> TreeSource:
    """Return the tree given by plain arrays, as in scikit-learn."""
    absent = [name for name in (*_NODE_ARRAYS, "value") if name not in arrays]
    if absent:
        raise ValueError(f"Got a tree without {', '.join(absent)}; expected {EXPECTED}.")
    unknown = sorted(set(arrays) - {*_NODE_ARRAYS, "value", *_OPTIONAL_ARRAYS})
    if unknown:
        raise ValueError(
            f"Got a tree with {', '.join(map(repr, unknown))}; expected "
            f"{', '.join((*_NODE_ARRAYS, 'value', *_OPTIONAL_ARRAYS))} only."
        )
    checked = _check_node_arrays(arrays)
    value = checked["value"]
    names = arrays.get("feature_names")
    tested = checked["feature"][checked["children_left"] >= 0]
    n_features = arrays.get("n_features", len(names) if names is not None else None)
    if n_features is None:
        raise ValueError("Got a tree without n_features; expected it, or feature_names.")
    if len(tested) and tested.max() >= n_features:
        raise ValueError(f"Got a test of feature {tested.max()} in a tree of {n_features}.")
    classes = np.asarray(arrays.get("classes", np.arange(value.shape[1])))
    if len(classes) != value.shape[1]:
        raise ValueError(f"Got {len(classes)} classes; expected {value.shape[1]}, as in value.")
    missing = "missing_go_to_left" in arrays
    checked.setdefault("missing_go_to_left", np.zeros(len(value), dtype=np.uint8))
    size = checked.get("weighted_n_node_samples", np.ones(len(value)))
    tree = from_node_arrays(
        checked,
        counts=_whole(value * size[:, np.newaxis]),
        predicted=value.argmax(axis=1),
        classes=classes,
        n_features=int(n_features),
        single_precision=np.dtype(arrays.get("input_dtype", np.float64)) == np.float32,
        takes_missing=missing,
    )
    return ArraySource(tree, None if names is None else [str(name) for name in names], ordered=True)


def _check_node_arrays(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays converted, checked for equal lengths, children, features and values."""
    kinds = {
        "children_left": np.int64, "children_right": np.int64, "feature": np.int64,
        "threshold": np.float64, "value": np.float64, "weighted_n_node_samples": np.float64,
        "missing_go_to_left": np.uint8,
    }  # fmt: skip
    checked = {
        name: np.asarray(arrays[name], dtype=kinds[name]) for name in kinds if name in arrays
    }
    value = checked["value"]
    if value.ndim == 3 and value.shape[1] == 1:  # the shape in scikit-learn
        value = checked["value"] = value[:, 0, :]
    if value.ndim != 2 or value.shape[1] < 2:
        raise ValueError(
            f"Got value of shape {value.shape}; expected (n_nodes, n_classes), at least two "
            "classes: a regression tree has no decision boundary."
        )
    lengths = {name: len(array) for name, array in checked.items()}
    if len(set(lengths.values())) != 1 or any(
        a.ndim != 1 for a in checked.values() if a is not value
    ):
        raise ValueError(f"Got arrays of different lengths: {lengths}; expected one entry a node.")
    inner = checked["children_left"] >= 0
    if (inner != (checked["children_right"] >= 0)).any():
        raise ValueError("Got a node with one child only; expected two, or -1 for both.")
    children = np.concatenate([checked["children_left"][inner], checked["children_right"][inner]])
    if len(children) and children.max() >= len(value):
        raise ValueError(
            f"Got a child with the number {children.max()}; expected numbers below {len(value)}, "
            "the number of nodes."
        )
    if inner.any() and checked["feature"][inner].min() < 0:
        raise ValueError("Got a test of feature -1; expected numbers from 0.")
    if np.isnan(checked["threshold"][inner]).any():  # infinity separates missing from known values
        raise ValueError("Got a threshold that is NaN; expected numbers.")
    if not np.isfinite(value).all() or value.min() < 0:
        raise ValueError("Got value with NaN, infinite or negative entries; expected class counts.")
    return checked
