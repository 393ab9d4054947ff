"""Trees as attributes of ONNX's operator TreeEnsemble: nodes, and one number at each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank.export._walks import END, IN_SET, MISSING_GOES_LEFT, Walks

ML_OPSET = 5  # the first that has TreeEnsemble
# Cells that are merged and split again are written once for each path to them, up to this many
# nodes in total, or this many per slot of the model.
MOST_NODES, MOST_COPIES = 1_000_000, 4
# Runtimes read a tree by a recursive function.
MOST_LEVELS = 400
# Columns of zeros and ones that represent the category sets.
MOST_SETS = 1_000
# Nodes per operator: about as many as fit into the CPU cache.
MOST_TOGETHER = 4_000
LEQ, SUM, NO_TRANSFORM = 0, 1, 0


@dataclass(frozen=True)
class Expanded:
    """Nodes of all trees, leaves included, each with a single path to it."""

    slot: NDArray[np.int64]
    child: NDArray[np.int64]  # left child, the right one is next; -1 at a leaf
    roots: NDArray[np.int64]
    totals: NDArray[Any]  # sums of steps along the path


def expand(walks: Walks, step: NDArray[Any]) -> Expanded | None:
    """Expand every path to every slot, level by level; None if there are too many."""
    limit = max(MOST_NODES, MOST_COPIES * len(walks.kind))
    n_sets = len(np.unique(walks.set_of[walks.kind == IN_SET]))
    if walks.depth > MOST_LEVELS or n_sets > MOST_SETS:
        return None
    at, total = walks.roots, step[walks.roots]
    slots, children, totals, n_nodes = [], [], [], len(at)
    while len(at):
        asks = walks.kind[at] != END
        child = np.full(len(at), -1, dtype=np.int64)
        child[asks] = n_nodes + 2 * np.arange(asks.sum())
        slots.append(at)
        children.append(child)
        totals.append(total)
        first = walks.follows[at[asks]]
        at = np.stack([first, first + 1], axis=1).ravel()
        total = np.repeat(total[asks], 2) + step[at]
        n_nodes += len(at)
        if n_nodes > limit:
            return None
    return Expanded(
        np.concatenate(slots),
        np.concatenate(children),
        np.arange(walks.n_trees),
        np.concatenate(totals),
    )


def parts_of(expanded: Expanded) -> Iterator[Expanded]:
    """Split the trees into parts of few nodes, in order.

    Adding up the sums of parts is another order of summation than tree by tree. If rounding could
    make a difference, each tree is a part of its own.
    """
    tree = _tree_of_node(expanded)
    sizes = np.bincount(tree)
    most = MOST_TOGETHER if _adds_exactly(expanded) else 0
    if len(tree) <= MOST_TOGETHER:  # a single part sums in the order of the trees
        yield expanded
        return
    first = 0
    for last in range(1, len(sizes) + 1):
        if last == len(sizes) or sizes[first : last + 1].sum() > most:
            yield _part(expanded, np.flatnonzero((tree >= first) & (tree < last)), first, last)
            first = last


def _tree_of_node(expanded: Expanded) -> NDArray[np.int64]:
    """Tree of each node. Nodes are in level order, parents before their children."""
    tree = np.empty(len(expanded.slot), dtype=np.int64)
    tree[expanded.roots] = np.arange(len(expanded.roots))
    parents = np.flatnonzero(expanded.child >= 0)
    for level in _levels(expanded, parents):
        for side in (0, 1):
            tree[expanded.child[level] + side] = tree[level]
    return tree


def _levels(expanded: Expanded, parents: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Split the parents, which are in order, so that no part has both a node and its child."""
    first = 0
    while first < len(parents):
        last = int(np.searchsorted(parents, expanded.child[parents[first]]))
        yield parents[first:last]
        first = last


def _adds_exactly(expanded: Expanded) -> bool:
    """Whether sums of the numbers at the leaves are exact in doubles, in any order."""
    totals = expanded.totals[expanded.child < 0].astype(np.float64)
    totals = np.abs(totals[totals != 0])
    if not len(totals):
        return True
    mantissa, exponent = np.frexp(totals)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = exponent - 53 + np.frexp((whole & -whole).astype(np.float64))[1] - 1
    highest = np.frexp(totals.max() * len(expanded.roots))[1]
    return bool(highest - lowest.min() <= 53)


def _part(expanded: Expanded, nodes: NDArray[np.int64], first: int, last: int) -> Expanded:
    child = expanded.child[nodes]
    return Expanded(
        expanded.slot[nodes],
        np.where(child < 0, -1, np.searchsorted(nodes, child)),
        np.searchsorted(nodes, expanded.roots[first:last]),
        expanded.totals[nodes],
    )


@dataclass(frozen=True)
class Nodes:
    """Trees for the operator, with one entry per node in each array; leaves have no test."""

    child: NDArray[np.int64]  # left child, the right one is next; -1 at a leaf
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    split: NDArray[np.float64]  # values at most this go left
    missing_left: NDArray[np.bool_]
    target: NDArray[np.int64]  # output column to which a leaf adds its weight
    weight: NDArray[np.float64]


def ensemble_attributes(
    onnx: Any, walks: Walks, expanded: Expanded, weights: NDArray[np.float64]
) -> dict[str, Any]:
    """Attributes of the operator; `weights` has an entry per node, used at the leaves only."""
    slot = expanded.slot
    nodes = Nodes(
        child=expanded.child,
        roots=expanded.roots,
        feature=_columns(walks)[slot],
        split=np.where(walks.kind[slot] == IN_SET, 0.5, walks.threshold[slot]),
        missing_left=walks.kind[slot] == MISSING_GOES_LEFT,
        target=np.zeros(len(slot), dtype=np.int64),
        weight=weights,
    )
    return operator_attributes(onnx, nodes, 1)


def operator_attributes(onnx: Any, nodes: Nodes, n_targets: int) -> dict[str, Any]:
    """Attributes of the operator TreeEnsemble."""
    is_leaf = nodes.child < 0
    # A tree that is a single leaf gets a node whose branches both lead to the leaf.
    single = np.flatnonzero(is_leaf[nodes.roots])
    inner = np.flatnonzero(~is_leaf)
    number = np.where(is_leaf, np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    left = np.concatenate([nodes.child[inner], nodes.roots[single]])
    right = np.concatenate([nodes.child[inner] + 1, nodes.roots[single]])
    roots = number[nodes.roots]
    roots[single] = len(inner) + np.arange(len(single))
    nothing = np.zeros(len(single))
    feature = np.concatenate([nodes.feature[inner], nothing]).astype(np.int64)
    splits = np.concatenate([nodes.split[inner], nothing])
    missing = np.concatenate([nodes.missing_left[inner], nothing]).astype(np.int64)

    def tensor(values: NDArray[Any]) -> Any:
        return onnx.numpy_helper.from_array(np.ascontiguousarray(values))

    return {
        "n_targets": n_targets,
        "aggregate_function": SUM,
        "post_transform": NO_TRANSFORM,
        "tree_roots": roots.tolist(),
        "nodes_featureids": feature.tolist(),
        "nodes_splits": tensor(splits),
        "nodes_modes": tensor(np.full(len(splits), LEQ, dtype=np.uint8)),
        "nodes_missing_value_tracks_true": missing.tolist(),
        "nodes_truenodeids": number[left].tolist(),
        "nodes_falsenodeids": number[right].tolist(),
        "nodes_trueleafs": is_leaf[left].astype(np.int64).tolist(),
        "nodes_falseleafs": is_leaf[right].astype(np.int64).tolist(),
        "leaf_targetids": nodes.target[is_leaf].tolist(),
        "leaf_weights": tensor(nodes.weight[is_leaf].astype(np.float64)),
    }


def set_tables(walks: Walks) -> dict[int, NDArray[np.float64]]:
    """For each tested category, 0 if a code is in a set and 1 if not (codes x sets)."""
    return {j: (~walks.members[sets]).T.astype(np.float64) for j, sets in _sets(walks).items()}


def _sets(walks: Walks) -> dict[int, NDArray[np.int64]]:
    in_set = walks.kind == IN_SET
    return {
        int(j): np.unique(walks.set_of[in_set & (walks.feature == j)])
        for j in np.unique(walks.feature[in_set])
    }


def _columns(walks: Walks) -> NDArray[np.int64]:
    """Column that each slot tests: that of a feature or, after these, that of a set."""
    column, n_columns = walks.feature.copy(), len(walks.names)
    for j, sets in _sets(walks).items():
        here = np.flatnonzero((walks.kind == IN_SET) & (walks.feature == j))
        column[here] = n_columns + np.searchsorted(sets, walks.set_of[here])
        n_columns += len(sets)
    return column
