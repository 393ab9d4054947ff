"""Subtrees, and the choice between them."""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .draws import shuffle_key, shuffled
from .metrics import top_of_cells, vus_of_cells
from .splits import class_weight
from .trees import goes_left


def all_subtrees(left, right, cell=0):
    """Return every pruned subtree, as the set of its split cells."""
    if left[cell] < 0:
        return [frozenset()]
    return [frozenset()] + [
        frozenset({cell}) | a | b
        for a in all_subtrees(left, right, left[cell])
        for b in all_subtrees(left, right, right[cell])
    ]


def leaves_at(tree, step):
    """Return which cells are leaves of the subtree at this step of the nested sequence."""
    split = tree.sequence[1] > step
    is_leaf = ~split
    is_leaf[1:] &= split[tree.cells["parent"][1:]]
    return is_leaf


def held_out_worth(tree, counts, tried, shrinkage, focus=None):
    """Return AUC and Brier score for each lambda, with every subtree scored anew.

    `counts` are those of the held-out rows in all cells. A NaN shrinkage means the tree's own
    order.
    """
    aucs, briers = [], []
    for step in np.searchsorted(tree.sequence[0], tried, side="right") - 1:
        leaves = np.flatnonzero(leaves_at(tree, step))
        shares = tree.shrunken_shares(0.0 if np.isnan(shrinkage) else shrinkage)[leaves]
        values = -leaves if np.isnan(shrinkage) else (shares * tree.cut_weights).sum(axis=1)
        brier = 0.0
        for k, share in enumerate(shares.T):
            above = counts[leaves, k + 1 :].sum(axis=1)
            below = counts[leaves, : k + 1].sum(axis=1)
            brier += np.sum(below * share**2 + above * (1 - share) ** 2)
        whole = vus_of_cells(values, counts[leaves])
        aucs.append(whole if focus is None else top_of_cells(values, counts[leaves], focus))
        briers.append(brier)
    return np.array(aucs), np.array(briers)


def best_penalised(left, right, gain, penalty):
    """Return the largest gain by number of leaves, and the best gain - penalty, by enumeration."""
    gains = {}
    for subtree in all_subtrees(left, right):
        leaves = len(subtree) + 1
        gains[leaves] = max(gains.get(leaves, 0.0), gain[list(subtree)].sum())
    worth = {k: g - penalty[k - 1] for k, g in gains.items() if k <= len(penalty)}
    return gains, max(worth.values())


def prune_leafrank(grow, codes, labels, units, n_folds=5):
    """Return the tests that pruning keeps of a LeafRank tree, from all subtrees and lambdas.

    `grow(units)` grows the tree of one cell and returns it, or None; `units` says how often each
    row counts. Rows of each class are assigned to the folds in a shuffled order, each with all its
    units.
    """
    tree = grow(units)
    if tree is None:
        return None
    subtrees = _worths(tree)
    path = _smallest_best(subtrees)
    knots = [0.0] + [_drop(a, b) for a, b in pairwise(path)]
    tried = [np.sqrt(a * b) for a, b in pairwise(knots)] + [np.inf]
    left = np.zeros((len(path), 2))
    for fold in range(n_folds):
        out = _held_out(labels, units, n_folds, fold)
        fold_tree = grow(units - out)
        fold_worths = None if fold_tree is None else _worths(fold_tree)
        for k, lam in enumerate(tried):
            kept = _best_at(fold_worths, lam) if fold_worths and lam < np.inf else frozenset()
            left[k] += _on_the_left(fold_tree, kept, codes, labels, out)
    return _kept_tests(tree, path[_choose(left, class_weight(labels, units, slice(None)))].kept)


class _Subtree(NamedTuple):
    kept: frozenset
    worth: Fraction

    @property
    def leaves(self):
        return len(self.kept) + 1


def _worths(tree):
    """Return every subtree with its beta - alpha, if leaves in which that is positive go left."""
    tests = tree.tests
    total = [Fraction(int(tests[c][0])) for c in ("negative", "positive")]

    def worth(at):
        return max(0, int(tests["positive"][at]) / total[1] - int(tests["negative"][at]) / total[0])

    def leaves(kept, at=0):
        if at not in kept:
            return [at]
        return leaves(kept, tests["left"][at]) + leaves(kept, tests["right"][at])

    return [
        _Subtree(kept, sum(worth(at) for at in leaves(kept)))
        for kept in all_subtrees(tests["left"], tests["right"])
    ]


def _best_at(subtrees, lam):
    """Return the smallest of the subtrees with the largest worth minus lambda times leaves."""
    lam = Fraction(lam)
    most = max(s.worth - lam * s.leaves for s in subtrees)
    return min((s for s in subtrees if s.worth - lam * s.leaves == most), key=_leaves_of).kept


def _leaves_of(subtree):
    return subtree.leaves


def _drop(large, small):
    return float((large.worth - small.worth) / (large.leaves - small.leaves))


def _smallest_best(subtrees):
    """Return the subtrees that are the best for some lambda, largest first."""
    named = {s.kept: s for s in subtrees}
    path = [named[_best_at(subtrees, 0)]]
    while path[-1].kept:
        smaller = [s for s in subtrees if s.leaves < path[-1].leaves]
        slope = min((path[-1].worth - s.worth) / (path[-1].leaves - s.leaves) for s in smaller)
        path.append(named[_best_at(subtrees, slope)])
    return path


def _held_out(labels, units, n_folds, fold):
    """Return the units of each row that a fold holds out."""
    out = np.zeros_like(units)
    for label in (0, 1):
        rows = np.flatnonzero((units > 0) & (labels == label))
        for place, row in enumerate(rows):
            if shuffled(place, len(rows), shuffle_key(0, label)) % n_folds == fold:
                out[row] = units[row]
    return out


def _on_the_left(tree, kept, codes, labels, out):
    """Return the held-out weight in leaves with no smaller share of positives than of negatives."""
    weight = np.zeros(2)
    for row in np.flatnonzero(out):
        at = 0
        while at in kept:
            test = tree.tests[at]
            left = goes_left(tree, test, int(codes[test["feature"], row]))
            at = int(test["left" if left else "right"])
        is_better = tree is None or (
            tree.tests["positive"][at] * tree.tests["negative"][0]
            >= tree.tests["negative"][at] * tree.tests["positive"][0]
        )
        weight[labels[row]] += out[row] * is_better
    return weight


def _choose(left, total):
    """Return the index of the subtree: within one standard error of the best, if not noise."""
    rates = left / total
    worth = rates[:, 1] - rates[:, 0]
    root, best = len(worth) - 1, int(np.flatnonzero(worth == worth.max())[-1])
    if worth[best] <= worth[root]:
        return root
    error = np.sqrt((rates[best] * (1 - rates[best]) / total).sum())
    if worth[best] <= 3 * error:
        return root - 1 if worth[root - 1] > 0 else root
    return int(np.flatnonzero((worth >= worth[best] - error)[:root])[-1])


def _kept_tests(tree, kept):
    return sorted(readable_test(tree, tree.tests[at]) for at in kept)


def readable_test(tree, test):
    """Return what a test asks and of how many rows, whatever its position in the arrays."""
    asks = tree.category_sets[test["cut"]].tolist() if test["categorical"] else [int(test["cut"])]
    numbers = [int(test[f]) for f in ("feature", "missing_left", "negative", "positive")]
    return [*numbers, *asks]
