"""The gain of a test in a node."""

from itertools import combinations

import numpy as np


def histogram(codes, labels, rows, n_codes):
    """Return counts by feature, code and class."""
    result = np.zeros((len(codes), n_codes, 2), dtype=int)
    for f, column in enumerate(codes):
        for row in rows:
            result[f, column[row], labels[row]] += 1
    return result


def impurity(criterion, negative, positive):
    weight = negative + positive
    if weight == 0 or negative == 0 or positive == 0:
        return 0.0
    p = positive / weight
    if criterion == "gini":
        return weight * 2 * p * (1 - p)
    return -weight * (p * np.log2(p) + (1 - p) * np.log2(1 - p))


def cut_gain(criterion, left, right, cell):
    """Return the decrease of impurity, with equal class weights in the cell; |Delta| for "auc"."""
    if criterion == "auc":
        node = left + right
        return abs(left[1] * node[0] - node[1] * left[0])
    cost = np.array([cell[1], cell[0]], dtype=float)
    if criterion == "hellinger":
        node = left + right
        if not node.all():
            return 0.0
        shares = np.sqrt([left / node, right / node])
        return cost @ node * ((shares[:, 1] - shares[:, 0]) ** 2).sum()
    left, right = left * cost, right * cost
    return (
        impurity(criterion, *(left + right))
        - impurity(criterion, *left)
        - impurity(criterion, *right)
    )


def all_cuts(codes, weights):
    """Yield all ways to split a node by a numeric feature: (cut, missing left, left, right)."""
    total = weights.sum(axis=0)
    values = [c for c in codes if c > 0]
    for missing_left in (True, False):
        if not missing_left and codes[0] != 0:
            continue
        for cut in values:
            left_codes = [(0 < c <= cut) or (c == 0 and missing_left) for c in codes]
            left = weights[left_codes].sum(axis=0)
            if 0 < left.sum() < total.sum():
                yield cut, missing_left, left, total - left


def believed(rows, deviation, variance, n_free=6):
    """Return the share of its deviation from the node's mean that each level of a category keeps.

    `rows` and `deviation` are the rows of each level and the sum of their deviations, each of
    which has this variance. Levels differ by chance: by (levels - 1) rows / (rows - 1) variances
    in total if rows were assigned to them at random; `n_free` of these are not subtracted. The
    remaining differences give the variance between levels, and the mean of a level is then
    estimated as that of a normal sample with a normal prior.
    """
    k, n = len(rows), rows.sum()
    charged = k - 1 - n_free
    if charged <= 0:
        return np.ones(k)
    if variance <= 0:  # rows do not differ at all
        return np.zeros(k)
    excess = (deviation**2 / rows).sum() / variance - charged * n / (n - 1)
    if excess <= 0:
        return np.zeros(k)
    between = excess * (k - 1) / charged / (n - (rows**2).sum() / n)  # in variances of a row
    return rows / (rows + 1 / between)


def believed_weights(weights):
    """Return the weights of levels (levels x classes), with shares shrunk towards the node's."""
    rows, share = weights.sum(axis=1), weights[:, 1].sum() / weights.sum()
    deviation = weights[:, 1] - share * rows
    positive = share * rows + believed(rows, deviation, share * (1 - share)) * deviation
    return np.column_stack([rows - positive, positive])


def best_union(weights, cell):
    """Return the largest beta - alpha over all unions of leaves: every leaf that adds is in it."""
    return np.maximum(weights[:, 1] / cell[1] - weights[:, 0] / cell[0], 0).sum()


def all_gains(codes, labels, weight, rows, cell, options, categorical):
    """Return the best gain of each feature that has an admissible test."""
    gains = {}
    for f, column in enumerate(codes):
        occupied, weights = level_weights(column, labels, weight, rows)
        if f in categorical:
            weights = believed_weights(weights)
            parts = [
                (weights[list(s)].sum(axis=0), weights.sum(axis=0) - weights[list(s)].sum(axis=0))
                for size in range(1, len(weights))
                for s in combinations(range(len(weights)), size)
            ]
        else:
            parts = [(left, right) for _, _, left, right in all_cuts(occupied, weights)]
        least = options["min_samples_leaf"]
        found = [
            cut_gain(options["criterion"], left, right, cell)
            for left, right in parts
            if left.sum() >= least and right.sum() >= least
        ]
        if found:
            gains[f] = max(found)
    return gains


def level_weights(column, labels, weight, rows):
    """Return the codes that occur in some rows, and the weight of each class by code."""
    occupied = np.unique(column[rows])
    return occupied, np.array(
        [class_weight(labels, weight, rows[column[rows] == code]) for code in occupied]
    )


def class_weight(labels, weight, rows):
    return np.array([weight[rows][labels[rows] == k].sum() for k in (0, 1)], dtype=float)
