"""Store TreeRank and LeafRank in model files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treerank._base import TreeRanker, _Rules
from treerank._io.model_file._features import (
    INPUT,
    pack_input,
    unpack_input,
)
from treerank._io.model_file._grids import (
    pack_encoding,
    pack_grid_trees,
    unpack_encoding,
    unpack_grid_trees,
)
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._rank_trees import pack_tree, unpack_tree
from treerank._leafrank import LeafRank
from treerank._reading.partition import OrderedPartition
from treerank._select.penalty import PenaltyPath
from treerank._select.pruning import PruningPath
from treerank._select.splitter_choice import SplitterChoice
from treerank._treerank import TreeRank
from treerank._trees.ranking_tree import CellTree, RankTree
from treerank._trees.splitter_tree import SplitterTree

PATHS: dict[str, tuple[type[Any], dict[str, str]]] = {
    "cost_complexity": (
        PruningPath,
        {
            "lambdas": "<f8", "n_leaves": "<i8", "train_auc": "<f8", "heldout_auc": "<f8",
            "heldout_std_error": "<f8", "shrinkage": "<f8",
        },
    ),
    "penalty": (PenaltyPath, {"n_leaves": "<i8", "train_auc": "<f8", "penalty": "<f8"}),
}  # fmt: skip

MOST_DEPTH, MOST_LEAVES = 100, 2**31


def pack_ranker(model: TreeRanker) -> dict[str, Any]:
    """Return everything that `fit` has set."""
    rules = model.partition_._rules
    assert isinstance(rules, _Rules)
    packed = {
        **pack_input(model, rules.names),
        "tree": _pack_tree(model.tree_),
        "strata": {
            "cells": rules.leaves.astype("<i4"),
            "scores": model.partition_.scores,
            "posterior": model._posterior,
        },
    }
    if isinstance(model, TreeRank):
        packed["unpruned_tree"] = _pack_tree(model.unpruned_tree_)
        packed["shrinkage"] = "NaN" if np.isnan(model.shrinkage_) else model.shrinkage_
        packed["pruning_path"] = _pack_path(model.pruning_path_)
        choice = getattr(model, "splitter_choice_", None)
        if choice is not None:
            packed["splitter_choice"] = {name: list(value) if isinstance(value, tuple) else value
                                         for name, value in vars(choice).items()}  # fmt: skip
    if isinstance(model.tree_, SplitterTree):
        packed["encoding"] = pack_encoding(model.tree_.encoding)
    return packed


def _pack_tree(tree: CellTree) -> dict[str, Any]:
    if isinstance(tree, SplitterTree):
        return pack_grid_trees([tree])
    assert isinstance(tree, RankTree)
    return pack_tree(tree)


def unpack_ranker(node: Node, model: TreeRanker) -> None:
    """Restore the attributes that `fit` had set."""
    names = [*INPUT, "tree", "strata"]
    if isinstance(model, TreeRank):
        names += ["unpruned_tree", "shrinkage", "pruning_path"]
    fields = node.fields(*names, optional=("encoding", "splitter_choice"))
    feature_names = unpack_input(fields, model)
    read = _tree_reader(fields.get("encoding"), model)
    model.tree_ = read(fields["tree"])
    _unpack_strata(fields["strata"], model, feature_names)
    if isinstance(model, TreeRank):
        model.unpruned_tree_ = read(fields["unpruned_tree"])
        model.shrinkage_ = fields["shrinkage"].number(low=0.0, nan=True)
        model.pruning_path_ = _unpack_path(fields["pruning_path"])
        model.splitter_choice_ = None
        if "splitter_choice" in fields:
            model.splitter_choice_ = _unpack_choice(fields["splitter_choice"])


def _tree_reader(encoding: Node | None, model: TreeRanker) -> Callable[[Node], CellTree]:
    """Return a reader of trees split by LeafRank, or of trees split by grids if `encoding`."""
    n_classes = len(model.label_order_)
    if encoding is None:
        return lambda node: unpack_tree(node, model._binning, n_classes)
    columns = unpack_encoding(encoding, model._binning)

    def read(node: Node) -> CellTree:
        trees = unpack_grid_trees(node, columns, n_classes)
        if len(trees) != 1:
            raise node.error("one tree")
        return trees[0]

    return read


def _unpack_strata(node: Node, model: TreeRanker, names: list[str]) -> None:
    fields = node.fields("cells", "scores", "posterior")
    tree, n_classes = model.tree_, len(model.label_order_)
    n = len(tree.leaves)
    cells = fields["cells"].array("<i4", (n,))
    if not np.array_equal(np.sort(cells), tree.leaves):
        raise fields["cells"].error("the leaf cells, each once, best first")
    scores = fields["scores"].array("<f8", (n,))
    if (np.diff(scores) > 0).any():
        raise fields["scores"].error("scores that do not increase")
    posterior = fields["posterior"].array("<f8", (n, n_classes), low=0.0, high=1.0)
    leaves = cells.astype(np.intp)
    if not tree.counts[leaves].sum(axis=0).all():
        raise node.error("some weight of every class")
    model._stratum = np.full(tree.n_cells, -1, dtype=np.int32)
    model._stratum[leaves] = np.arange(n)
    model._posterior = posterior
    model.partition_ = OrderedPartition(
        tree.counts[leaves],
        classes=model.label_order_,
        scores=scores,
        rules=_Rules(tree, model._binning, names, leaves),
    )


def _unpack_choice(node: Node) -> SplitterChoice:
    fields = node.fields("depths", "heldout_auc", "heldout_std_error", "n_leaves", "chosen")
    depths = tuple(item.integer(1, MOST_DEPTH) for item in fields["depths"].items())
    auc = tuple(item.number(0.0, 1.0) for item in fields["heldout_auc"].items())
    error = tuple(item.number(0.0) for item in fields["heldout_std_error"].items())
    n_leaves = tuple(item.integer(1, MOST_LEAVES) for item in fields["n_leaves"].items())
    chosen = fields["chosen"].integer(1, MOST_DEPTH)
    if chosen not in depths or not len(depths) == len(auc) == len(error) == len(n_leaves):
        raise node.error("as many figures as depths, one of which is chosen")
    return SplitterChoice(depths, auc, error, n_leaves, chosen)


def _pack_path(path: PruningPath | PenaltyPath | None) -> Any:
    if path is None:
        return None
    [(name, (_, columns))] = [(k, v) for k, v in PATHS.items() if isinstance(path, v[0])]
    packed = {n: np.asarray(getattr(path, n)).astype(t) for n, t in columns.items()}
    return {"kind": name, "chosen": int(path.chosen), **packed}


def _unpack_path(node: Node) -> Any:
    if node.is_null:
        return None
    every = tuple(dict.fromkeys(n for _, columns in PATHS.values() for n in columns))
    kind = node.fields("kind", "chosen", optional=every)["kind"].choice(*PATHS)
    made, columns = PATHS[kind]
    fields = node.fields("kind", "chosen", *columns)
    size: int | None = None
    arrays = {}
    for name, dtype in columns.items():
        arrays[name] = fields[name].array(dtype, (size,), finite=False)
        size = len(arrays[name])
    return made(**arrays, chosen=fields["chosen"].integer(0, max(0, (size or 0) - 1)))


RANKERS = {"TreeRank": TreeRank, "LeafRank": LeafRank}
