"""Shapley values and interactions, over all sets of features."""

from itertools import combinations
from math import factorial

import numpy as np

from .trees import tree_mean


def path_game(trees, codes):
    """Return the value of each set of features, with the others averaged in the nodes."""
    n_trees = len(trees.starts) - 1
    return lambda follows: (
        trees.offset
        + trees.factor * sum(tree_mean(trees, tree, codes, follows) for tree in range(n_trees))
    )


def baseline_game(trees, codes, baseline):
    """Return the value of each set of features, with the others averaged over baseline rows."""
    everything = set(range(len(codes)))

    def value(follows):
        mixed = baseline.T.copy()
        mixed[:, sorted(follows)] = codes[sorted(follows)]
        return np.mean([path_game(trees, row)(everything) for row in mixed])

    return value


def shapley_values(value, n):
    """Return the mean contribution of each player over all subsets of the others."""
    every = {s: value(set(s)) for k in range(n + 1) for s in combinations(range(n), k)}
    found = np.zeros(n)
    for i in range(n):
        for s, without in every.items():
            if i not in s:
                weight = factorial(len(s)) * factorial(n - len(s) - 1) / factorial(n)
                found[i] += weight * (every[tuple(sorted({*s, i}))] - without)
    return found, every[()]


def shapley_interactions(value, n):
    """Return the Shapley interaction of each pair, halved over two entries; diagonal: the rest."""
    every = {s: value(set(s)) for k in range(n + 1) for s in combinations(range(n), k)}
    found = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        for s, neither in every.items():
            if i in s or j in s:
                continue
            both, one, other = (tuple(sorted({*s, *more})) for more in ((i, j), (i,), (j,)))
            weight = factorial(len(s)) * factorial(n - len(s) - 2) / factorial(n - 1) / 2
            found[i, j] += weight * (every[both] - every[one] - every[other] + neither)
        found[j, i] = found[i, j]
    return found + np.diag(shapley_values(value, n)[0] - found.sum(axis=1))
