"""Slow twins: each kernel once more, written to be read."""

from contextlib import contextmanager
from itertools import combinations
from unittest.mock import patch

import numpy as np


@contextmanager
def all_thresholds():
    """Trees fitted here keep every threshold they could have cut at, to be audited."""
    with patch("treerank._ranker.keep_used_in_trees", lambda binning, trees: (binning, trees)):
        yield


def auc(y, score, weight=None):
    """Mann-Whitney over all pairs, ties counted 1/2."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    total = area = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            pair = weight[i] * weight[j]
            total += pair
            area += pair * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    return area / total


def thresholds(values, max_bins, weight=None):
    """Midpoints of neighbours, or bins of about equal mass."""
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    known = ~np.isnan(values)
    distinct = np.unique(values[known])
    mass = np.array([weight[known][values[known] == v].sum() for v in distinct])
    if len(distinct) <= max_bins:
        ends = range(len(distinct) - 1)
    else:
        ends = []
        is_heavy = mass >= 2 * mass.sum() / max_bins
        n_light = max_bins - min(2 * is_heavy.sum(), max_bins - 1)
        light = np.cumsum(np.where(is_heavy, 0, mass))
        done = 0
        for i in range(len(distinct) - 1):
            bins = np.floor(light[i] * n_light / light[-1])
            if is_heavy[i] or is_heavy[i + 1] or bins > done:
                ends.append(i)
            done = max(done, bins)
    return np.array([between(distinct[i], distinct[i + 1]) for i in ends])


def between(low, high):
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def encode(values, cuts):
    """0 for missing, else 1 + the number of thresholds below the value."""
    return np.array([0 if np.isnan(v) else 1 + sum(v > t for t in cuts) for v in values])


def histogram(codes, labels, rows, n_codes):
    """Counts by feature, code and class."""
    result = np.zeros((len(codes), n_codes, 2), dtype=int)
    for f, column in enumerate(codes):
        for row in rows:
            result[f, column[row], labels[row]] += 1
    return result


def impurity(criterion, negative, positive):
    mass = negative + positive
    if mass == 0 or negative == 0 or positive == 0:
        return 0.0
    p = positive / mass
    if criterion == "gini":
        return mass * 2 * p * (1 - p)
    return -mass * (p * np.log2(p) + (1 - p) * np.log2(1 - p))


def cut_gain(criterion, left, right, cell):
    """Decrease of impurity, classes weighted alike within the cell; |Delta| for "auc"."""
    if criterion == "auc":
        node = left + right
        return abs(left[1] * node[0] - node[1] * left[0])
    cost = np.array([cell[1], cell[0]], dtype=float)
    left, right = left * cost, right * cost
    return (
        impurity(criterion, *(left + right))
        - impurity(criterion, *left)
        - impurity(criterion, *right)
    )


def all_cuts(codes, masses):
    """Every way to part a node by one numeric feature: (cut, missing left, left, right)."""
    total = masses.sum(axis=0)
    values = [c for c in codes if c > 0]
    for missing_left in (True, False):
        if not missing_left and codes[0] != 0:
            continue
        for cut in values:
            left_codes = [(0 < c <= cut) or (c == 0 and missing_left) for c in codes]
            left = masses[left_codes].sum(axis=0)
            if 0 < left.sum() < total.sum():
                yield cut, missing_left, left, total - left


def best_union(masses, cell):
    """Largest beta - alpha over all unions of leaves: every leaf that adds is in it."""
    return np.maximum(masses[:, 1] / cell[1] - masses[:, 0] / cell[0], 0).sum()


def all_subtrees(left, right, cell=0):
    """Every pruned subtree, as the set of its split cells."""
    if left[cell] < 0:
        return [frozenset()]
    return [frozenset()] + [
        frozenset({cell}) | a | b
        for a in all_subtrees(left, right, left[cell])
        for b in all_subtrees(left, right, right[cell])
    ]


def walk(tree, codes, row):
    """Leaf cell of one row, test by test."""
    cell = 0
    while tree.cells["left"][cell] >= 0:
        at = tree.cells["first_test"][cell]
        while tree.tests["left"][at] >= 0:
            test = tree.tests[at]
            at = (
                test["left"]
                if goes_left(tree, test, int(codes[test["feature"], row]))
                else test["right"]
            )
        side = tree.tests["side"][at]
        cell = tree.cells["left"][cell] if side == 0 else tree.cells["right"][cell]
    return cell


def goes_left(tree, test, code):
    if test["categorical"]:
        words = tree.category_sets[test["cut"]]
        return bool(int(words[code // 64]) >> (code % 64) & 1)
    if code == 0:
        return bool(test["missing_left"])
    return code <= test["cut"]


def audit(tree, codes, labels, weight, options, categorical=(), stand_ins=None):
    """Check every decision of a grown tree against its definition, row by row.

    `stand_ins(rows)`, if given, names for each feature the code that missing counts as in
    a cell of these rows.
    """
    rows = {0: np.arange(codes.shape[1])}
    for c, cell in enumerate(tree.cells):
        mass = class_mass(labels, weight, rows[c])
        assert np.allclose(mass, tree.counts[c])
        if cell["left"] < 0:
            continue
        seen = codes
        if stand_ins is not None:
            seen = np.where(codes == 0, np.array(stand_ins(rows[c]))[:, np.newaxis], codes)
        sides = audit_leafrank(tree, c, seen, labels, weight, rows[c], options, categorical)
        left = class_mass(labels, weight, sides[0])
        total = class_mass(labels, weight, rows[0])
        delta = (mass[0] * left[1] - mass[1] * left[0]) / (total[0] * total[1])
        assert np.isclose(cell["auc_gain"], delta / 2)
        assert delta / 2 > options["min_auc_gain"]
        rows[cell["left"]], rows[cell["right"]] = sides


def audit_leafrank(tree, c, codes, labels, weight, rows, options, categorical):
    """Check one LeafRank tree; return the rows of its left and right side."""
    cell = class_mass(labels, weight, rows)
    here = {int(tree.cells["first_test"][c]): rows}
    leaves = []
    for at in range(tree.cells["first_test"][c], tree.cells["last_test"][c]):
        test = tree.tests[at]
        mass = class_mass(labels, weight, here[at])
        assert np.allclose(mass, [test["negative"], test["positive"]])
        gains = all_gains(codes, labels, weight, here[at], cell, options, categorical)
        best = max(gains.values(), default=0.0)
        if test["left"] < 0:
            leaves.append((at, here[at], mass))
            if options["max_depth"] is None:
                assert best <= 1e-9 * cell.prod() or mass.min() == 0
            continue
        feature = int(test["feature"])
        left = np.array([goes_left(tree, test, int(codes[feature, r])) for r in here[at]], bool)
        here[int(test["left"])], here[int(test["right"])] = here[at][left], here[at][~left]
        parts = [class_mass(labels, weight, here[int(test[side])]) for side in ("left", "right")]
        gain = cut_gain(options["criterion"], *parts, cell)
        assert np.isclose(gain, best, rtol=1e-9), (feature, gain, best)
        first = min(f for f, g in gains.items() if np.isclose(g, best, rtol=1e-12, atol=0))
        assert feature == first or np.isclose(gains[feature], gains[first], rtol=1e-9)
    value = best_union(np.array([m for _, _, m in leaves]), cell)
    sides = [np.sort(np.concatenate([r for at, r, _ in leaves if tree.tests["side"][at] == side]))
             for side in (0, 1)]  # fmt: skip
    mass = class_mass(labels, weight, sides[0])
    assert np.isclose(mass[1] / cell[1] - mass[0] / cell[0], value)
    return sides


def all_gains(codes, labels, weight, rows, cell, options, categorical):
    """Best gain of each feature that has an admissible test."""
    gains = {}
    for f, column in enumerate(codes):
        occupied = np.unique(column[rows])
        masses = np.array([class_mass(labels, weight, rows[column[rows] == v]) for v in occupied])
        if f in categorical:
            parts = [
                (masses[list(s)].sum(axis=0), masses.sum(axis=0) - masses[list(s)].sum(axis=0))
                for size in range(1, len(masses))
                for s in combinations(range(len(masses)), size)
            ]
        else:
            parts = [(left, right) for _, _, left, right in all_cuts(occupied, masses)]
        least = options["min_samples_leaf"]
        found = [
            cut_gain(options["criterion"], left, right, cell)
            for left, right in parts
            if left.sum() >= least and right.sum() >= least
        ]
        if found:
            gains[f] = max(found)
    return gains


def class_mass(labels, weight, rows):
    return np.array([weight[rows][labels[rows] == k].sum() for k in (0, 1)], dtype=float)


def best_penalised(left, right, gain, penalty):
    """Largest gain for every number of leaves, and the best of gain - penalty, by enumeration."""
    gains = {}
    for subtree in all_subtrees(left, right):
        leaves = len(subtree) + 1
        gains[leaves] = max(gains.get(leaves, 0.0), gain[list(subtree)].sum())
    worth = {k: g - penalty[k - 1] for k, g in gains.items() if k <= len(penalty)}
    return gains, max(worth.values())


def cell_means(x, weight, rows):
    """Mean of each feature over the known values of a cell's rows; NaN where none is known."""
    means = []
    for column in x.T:
        known = rows[~np.isnan(column[rows])]
        total = weight[known].sum()
        means.append((column[known] * weight[known]).sum() / total if total else np.nan)
    return np.array(means)


def most_frequent(codes, weight, rows):
    """Code with the largest mass among a cell's known values, on ties the lowest; 0 for none."""
    mass = np.bincount(codes[rows], weights=weight[rows])
    return int(np.argmax(mass[1:])) + 1 if mass[1:].any() else 0


def _mix(x):
    """The finaliser of splitmix64."""
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def bootstrap_rows(seed, tree, n_draws, n):
    """The row that each draw of a tree falls on: a function of (seed, tree, draw) alone."""
    key = seed
    for branch in (0x73616D706C65, tree):
        key = _mix(key ^ _mix(branch))
    return [((_mix((key + i) % 2**64) >> 32) * n) >> 32 for i in range(n_draws)]


def path_values(tree, codes, shrinkage):
    """Share of positives along each row's path, every step of it shrunk, LeafRank's included."""
    tests = tree.tests
    mass = tests["negative"] + tests["positive"]
    share = tests["positive"] / np.where(mass > 0, mass, 1)
    values = []
    for row in range(codes.shape[1]):
        value = tree.counts[0, 1] / tree.counts[0].sum()
        cell = 0
        while tree.cells["left"][cell] >= 0:
            node = tree.cells["first_test"][cell]
            while tests["left"][node] >= 0:
                left = goes_left(tree, tests[node], codes[tests["feature"][node], row])
                child = tests["left" if left else "right"][node]
                value += (share[child] - share[node]) / (1 + shrinkage / mass[node])
                node = child
            cell = tree.cells["left" if tests["side"][node] == 0 else "right"][cell]
        values.append(value)
    return np.array(values)


def node_masses(tree, codes, labels, weight):
    """Weight of each class that reaches each LeafRank node, row by row."""
    tests = tree.tests
    masses = np.zeros((len(tests), 2))
    for row in range(codes.shape[1]):
        cell = 0
        while tree.cells["left"][cell] >= 0:
            node = tree.cells["first_test"][cell]
            masses[node, labels[row]] += weight[row]
            while tests["left"][node] >= 0:
                left = goes_left(tree, tests[node], codes[tests["feature"][node], row])
                node = tests["left" if left else "right"][node]
                masses[node, labels[row]] += weight[row]
            cell = tree.cells["left" if tests["side"][node] == 0 else "right"][cell]
    return masses
