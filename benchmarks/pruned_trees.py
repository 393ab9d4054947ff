"""Trees for the study of geometric ranking: unpruned, pruned on held-out rows, cost-complexity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from treerank import _core

Arrays = dict[str, Any]


def grow(X: Any, y: Any) -> Arrays:
    """Unpruned tree with at least two rows in a leaf, as plain arrays."""
    cart = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    tree = cart.fit(X, y).tree_
    return {
        "children_left": tree.children_left.copy(),
        "children_right": tree.children_right.copy(),
        "feature": tree.feature.copy(),
        "threshold": tree.threshold.copy(),
        "value": np.rint(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, np.newaxis]),
        "n_features": X.shape[1],
        "input_dtype": "float32",
    }


def n_leaves(tree: Arrays) -> int:
    """Count the leaves that the root leads to."""
    count, pending = 0, [0]
    while pending:
        node = pending.pop()
        left, right = tree["children_left"][node], tree["children_right"][node]
        count += int(left < 0)
        pending += [] if left < 0 else [left, right]
    return count


def counts_in_nodes(tree: Arrays, X: Any, y: Any) -> NDArray[np.float64]:
    """Rows of each class in each node."""
    left, right = tree["children_left"], tree["children_right"]
    counts = np.zeros(tree["value"].shape)
    at = np.zeros(len(X), dtype=np.intp)
    rows, X = np.arange(len(X)), X.astype(np.float32)
    while len(rows):
        np.add.at(counts, (at[rows], y[rows]), 1)
        rows = rows[left[at[rows]] >= 0]
        node = at[rows]
        goes_left = X[rows, tree["feature"][node]] <= tree["threshold"][node]
        at[rows] = np.where(goes_left, left[node], right[node])
    return counts


def cut_below(tree: Arrays, is_leaf: NDArray[np.bool_]) -> Arrays:
    """Make leaves of the marked nodes."""
    children = ("children_left", "children_right")
    return tree | {name: np.where(is_leaf, -1, tree[name]) for name in children}


def prune_on_held_out(tree: Arrays, X: Any, y: Any) -> Arrays:
    """Reduced-error pruning: from the bottom up, a node that does no worse as a leaf is one."""
    left, right = tree["children_left"], tree["children_right"]
    held_out = counts_in_nodes(tree, X, y)
    majority = tree["value"].argmax(axis=1)
    errors = held_out.sum(axis=1) - held_out[np.arange(len(left)), majority]
    best, is_leaf = errors.copy(), left < 0
    for node in range(len(left) - 1, -1, -1):  # children come after parents
        if left[node] >= 0:
            best[node] = best[left[node]] + best[right[node]]
            if errors[node] <= best[node]:
                best[node], is_leaf[node] = errors[node], True
    return cut_below(tree, is_leaf)


def collapse_steps(tree: Arrays) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Weakest-link pruning by training errors: alphas, and the step that collapses each node."""
    left, right, value = tree["children_left"], tree["children_right"], tree["value"]
    risk = (value.sum(axis=1) - value.max(axis=1)) / value[0].sum()
    inner = left >= 0
    gain = np.where(inner, risk - risk[left] - risk[right], 0.0)
    return _core.cost_complexity(left.astype(np.int32), right.astype(np.int32), gain)


def held_out_errors(
    tree: Arrays, X: Any, y: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Alphas of the nested subtrees and the errors of each on other rows."""
    alphas, step = collapse_steps(tree)
    left = tree["children_left"]
    counts = counts_in_nodes(tree, X, y)
    errors = counts.sum(axis=1) - counts[np.arange(len(left)), tree["value"].argmax(axis=1)]
    # A node is a leaf from its own step (a leaf from the start) until one above it collapses.
    start = np.where(left < 0, 0, step)
    stop = np.full(len(left), len(alphas))
    for node in range(len(left)):
        if left[node] >= 0:
            for child in (left[node], tree["children_right"][node]):
                stop[child] = min(stop[node], step[node])
    total = np.zeros(len(alphas) + 1)
    live = start < stop
    np.add.at(total, start[live], errors[live])
    np.add.at(total, stop[live], -errors[live])
    return alphas, np.cumsum(total[:-1])


def prune_by_cost(tree: Arrays, X: Any, y: Any, rows: NDArray[np.intp]) -> Arrays:
    """Cost-complexity pruning, alpha by five-fold cross-validation; of equals the smallest tree.

    `rows` may name a row of X several times; its copies share a fold.
    """
    alphas, step = collapse_steps(tree)
    middle = np.sqrt(alphas * np.append(alphas[1:], 2 * alphas[-1] + 1))
    errors = np.zeros(len(alphas))
    distinct = np.unique(rows)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for _, held_out in folds.split(distinct, y[distinct]):
        outside = np.isin(rows, distinct[held_out])
        train, test = rows[~outside], rows[outside]
        fold_alphas, fold_errors = held_out_errors(grow(X[train], y[train]), X[test], y[test])
        errors += fold_errors[np.searchsorted(fold_alphas, middle, side="right") - 1]
    chosen = len(errors) - 1 - int(np.argmin(errors[::-1]))
    return cut_below(tree, (step <= chosen) | (tree["children_left"] < 0))
