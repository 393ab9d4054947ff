"""Store GeometricRanker in model files: its tree, and the scale of each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from treerank._base import TreeRanker
from treerank._geometric import GeometricRanker
from treerank._io.foreign_trees import arrays_of, read_estimator, split_off_front
from treerank._io.j48 import read_j48
from treerank._io.model_file._features import MAX_FEATURES, pack_names, unpack_names
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._tree_models import RANKERS, pack_ranker, unpack_ranker
from treerank._io.model_file._values import (
    pack_classes,
    pack_parameters,
    unpack_classes,
    unpack_parameters,
)
from treerank._io.node_arrays import ArraySource, TreeSource, read_arrays
from treerank._trees.axis_tree import NODE

# Arrays with one entry per node; the last two are optional.
NODE_ARRAYS = {
    "children_left": "<i8", "children_right": "<i8", "feature": "<i8", "threshold": "<f8",
    "value": "<f8", "weighted_n_node_samples": "<f8", "missing_go_to_left": "|u1",
}  # fmt: skip
# Memory per node of the tree that is searched, including temporary copies.
BYTES_OF_NODE = 4 * NODE.itemsize
SOMETIMES = ("weighted_n_node_samples", "missing_go_to_left")


def pack_geometric(model: GeometricRanker) -> dict[str, Any]:
    """Return everything that `fit` has set."""
    return {
        "features": pack_names(model),
        "tree": _pack_tree(model.tree_),
        "given": model.tree_ is model.tree,
        "frozen": isinstance(model.tree_, FrozenEstimator),
        "scale": model.scale_,
    }


def unpack_geometric(node: Node, model: GeometricRanker) -> None:
    """Restore the attributes that `fit` had set; all but the scale follow from the tree."""
    fields = node.fields("features", "tree", "given", "frozen", "scale")
    unpack_names(fields["features"], model)
    model._check_parameters()
    tree, source = _unpack_tree(fields["tree"])
    if fields["frozen"].flag() and not isinstance(tree, dict | str):
        tree = FrozenEstimator(tree)
    model._take_tree(tree, source)
    if fields["given"].flag():
        model.tree = tree
    model.scale_ = fields["scale"].array("<f8", (source.tree.n_features,), low=0.0)
    if not model.scale_.all():
        raise fields["scale"].error("scales above 0")


def pack_geometric_parameters(model: GeometricRanker) -> dict[str, Any]:
    """Return all parameters. A tree that was passed already fitted is stored in `fitted`."""
    if model.tree_ is not model.tree:
        return pack_parameters(model)
    return pack_parameters(GeometricRanker(**{**model.get_params(deep=False), "tree": None}))


def _pack_tree(tree: Any) -> dict[str, Any]:
    if isinstance(tree, str):
        return {"j48": tree}
    if isinstance(tree, Mapping):
        return {"arrays": _pack_arrays(tree)}
    front, last = split_off_front(tree)
    if front is not None:
        raise ValueError(
            "Got a GeometricRanker of a Pipeline, whose transformers are objects of Python; a "
            "model file holds the tree alone, and no code. Transform the rows before, or keep "
            "this model with pickle or skops."
        )
    kind: Any = type(last)
    name = kind.__name__
    if isinstance(last, TreeRanker):
        if RANKERS.get(name) is not kind:
            raise TypeError(f"Got a GeometricRanker of a {name}; expected TreeRank or LeafRank.")
        return {name: {"parameters": pack_parameters(last), "fitted": pack_ranker(last)}}
    return {"arrays": _pack_arrays(arrays_of(last))}


def _pack_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    packed: dict[str, Any] = {
        name: np.asarray(arrays[name], dtype=dtype)
        for name, dtype in NODE_ARRAYS.items()
        if name in arrays
    }
    value = packed["value"]
    packed["value"] = value[:, 0, :] if value.ndim == 3 else value
    _check_one_way(packed)
    names = arrays.get("feature_names")
    packed["n_features"] = int(arrays["n_features"] if names is None else len(names))
    packed["feature_names"] = None if names is None else [str(name) for name in names]
    packed["input_dtype"] = np.dtype(arrays.get("input_dtype", np.float64)).name
    if "classes" in arrays:
        packed["classes"] = pack_classes(np.asarray(arrays["classes"]))
    return packed


def _check_one_way(arrays: dict[str, Any]) -> None:
    """Raise if paths merge: they would be expanded, and a small file become a huge tree."""
    children = np.concatenate([arrays["children_left"], arrays["children_right"]])
    children = children[children >= 0]
    if (children == 0).any() or len(np.unique(children)) < len(children):
        raise ValueError("Got a node with two parents; expected one, and none of the first node.")


def _unpack_tree(node: Node) -> tuple[Any, TreeSource]:
    entries = node.entries()
    if len(entries) != 1:
        raise node.error("one field that says what the tree is")
    [(kind, inner)] = entries.items()
    if kind == "j48":
        return inner.text(), ArraySource(*read_j48(inner.text()), ordered=False)
    if kind == "arrays":
        arrays = _unpack_arrays(inner)
        return arrays, read_arrays(arrays)
    if kind not in RANKERS:
        raise node.error(f"one of j48, arrays, {', '.join(RANKERS)}")
    fields = inner.fields("parameters", "fitted")
    model = RANKERS[kind](**unpack_parameters(fields["parameters"], RANKERS[kind]))
    unpack_ranker(fields["fitted"], model)
    # Merged paths are expanded: a small file must not become a tree beyond the limit.
    return model, read_estimator(model, node.max_bytes // BYTES_OF_NODE)


def _unpack_arrays(node: Node) -> dict[str, Any]:
    """Return the arrays of a tree, of equal lengths and with one path to each node."""
    always = [name for name in NODE_ARRAYS if name not in SOMETIMES]
    fields = node.fields(
        *always, "n_features", "feature_names", "input_dtype", optional=(*SOMETIMES, "classes")
    )
    value = fields["value"].array("<f8", (None, None), low=0.0)
    arrays: dict[str, Any] = {"value": value}
    for name, dtype in NODE_ARRAYS.items():
        if name in fields and name != "value":
            low = 0 if name in SOMETIMES else None
            finite = name != "threshold"  # thresholds of leaves may be anything
            arrays[name] = fields[name].array(dtype, (len(value),), low=low, finite=finite)
    _check_one_way(arrays)
    arrays["n_features"] = fields["n_features"].integer(1, MAX_FEATURES)
    if not fields["feature_names"].is_null:
        names = [item.text() for item in fields["feature_names"].items()]
        if len(names) != arrays["n_features"] or len(set(names)) < len(names):
            raise fields["feature_names"].error("a name for each feature, all different")
        arrays["feature_names"] = names
    arrays["input_dtype"] = fields["input_dtype"].choice("float32", "float64")
    if "classes" in fields:
        arrays["classes"] = unpack_classes(fields["classes"])
    return arrays
