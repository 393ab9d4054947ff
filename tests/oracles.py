"""Slow twins: each kernel once more, written to be read."""

from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations, pairwise
from math import factorial, ldexp
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import scipy.stats

from treerank._trees.ranking_tree import SLOT


@contextmanager
def all_thresholds():
    """Trees fitted here keep every threshold they could have cut at, to be audited."""
    with patch("treerank._base.keep_used_in_trees", lambda binning, trees: (binning, trees)):
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


def odd_numbers(values):
    """Whether each column has a missing value, and whether any value is infinite."""
    missing = [any(str(v) == "nan" for v in column) for column in values.T.tolist()]
    return missing, any(abs(v) == float("inf") for v in values.ravel().tolist())


def thresholds(values, max_bins, weight=None):
    """Midpoints of neighbours, or bins of about equal weight_sum."""
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    known = ~np.isnan(values)
    distinct = np.unique(values[known])
    weight_sum = np.array([weight[known][values[known] == v].sum() for v in distinct])
    if len(distinct) <= max_bins:
        ends = range(len(distinct) - 1)
    else:
        ends = []
        is_heavy = weight_sum >= 2 * weight_sum.sum() / max_bins
        n_light = max_bins - min(2 * is_heavy.sum(), max_bins - 1)
        light = np.cumsum(np.where(is_heavy, 0, weight_sum))
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
    weight = negative + positive
    if weight == 0 or negative == 0 or positive == 0:
        return 0.0
    p = positive / weight
    if criterion == "gini":
        return weight * 2 * p * (1 - p)
    return -weight * (p * np.log2(p) + (1 - p) * np.log2(1 - p))


def cut_gain(criterion, left, right, cell):
    """Decrease of impurity, classes weighted alike within the cell; |Delta| for "auc"."""
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
    """Every way to part a node by one numeric feature: (cut, missing left, left, right)."""
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
    """Share of its deviation from the node's mean that each level of a category keeps.

    `rows` and `deviation` have the rows of each level and the sum of their deviations, each of
    which has this variance. Levels differ by chance, by (levels - 1) rows / (rows - 1) variances
    in all if rows were dealt out to them at random; `n_free` of these are not charged. What they
    differ by beyond that is the variance between levels, and a level's mean is then estimated as
    that of a normal sample with a normal prior.
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
    """Masses of levels (levels x classes), their shares moved towards those of the node."""
    rows, share = weights.sum(axis=1), weights[:, 1].sum() / weights.sum()
    deviation = weights[:, 1] - share * rows
    positive = share * rows + believed(rows, deviation, share * (1 - share)) * deviation
    return np.column_stack([rows - positive, positive])


def best_union(weights, cell):
    """Largest beta - alpha over all unions of leaves: every leaf that adds is in it."""
    return np.maximum(weights[:, 1] / cell[1] - weights[:, 0] / cell[0], 0).sum()


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
        weight_sum = class_weight(labels, weight, rows[c])
        assert np.allclose(weight_sum, tree.counts[c])
        if cell["left"] < 0:
            continue
        seen = codes
        if stand_ins is not None:
            seen = np.where(codes == 0, np.array(stand_ins(rows[c]))[:, np.newaxis], codes)
        sides = audit_leafrank(tree, c, seen, labels, weight, rows[c], options, categorical)
        left = class_weight(labels, weight, sides[0])
        total = class_weight(labels, weight, rows[0])
        delta = (weight_sum[0] * left[1] - weight_sum[1] * left[0]) / (total[0] * total[1])
        assert np.isclose(cell["auc_gain"], delta / 2)
        assert delta / 2 > options["min_auc_gain"]
        rows[cell["left"]], rows[cell["right"]] = sides


def audit_leafrank(tree, c, codes, labels, weight, rows, options, categorical):
    """Check one LeafRank tree; return the rows of its left and right side."""
    cell = class_weight(labels, weight, rows)
    here = {int(tree.cells["first_test"][c]): rows}
    leaves = []
    for at in range(tree.cells["first_test"][c], tree.cells["last_test"][c]):
        test = tree.tests[at]
        weight_sum = class_weight(labels, weight, here[at])
        assert np.allclose(weight_sum, [test["negative"], test["positive"]])
        gains = all_gains(codes, labels, weight, here[at], cell, options, categorical)
        best = max(gains.values(), default=0.0)
        if test["left"] < 0:
            leaves.append((at, here[at], weight_sum))
            if options["max_depth"] is None:
                assert best <= 1e-9 * cell.prod() or weight_sum.min() == 0
            continue
        feature = int(test["feature"])
        left = np.array([goes_left(tree, test, int(codes[feature, r])) for r in here[at]], bool)
        here[int(test["left"])], here[int(test["right"])] = here[at][left], here[at][~left]
        parts = [class_weight(labels, weight, here[int(test[side])]) for side in ("left", "right")]
        if feature in categorical:
            occupied, weights = level_weights(codes[feature], labels, weight, here[at])
            weights = believed_weights(weights)
            is_left = np.array([goes_left(tree, test, int(code)) for code in occupied])
            parts = [weights[is_left].sum(axis=0), weights[~is_left].sum(axis=0)]
        gain = cut_gain(options["criterion"], *parts, cell)
        assert np.isclose(gain, best, rtol=1e-9), (feature, gain, best)
        first = min(f for f, g in gains.items() if np.isclose(g, best, rtol=1e-12, atol=0))
        assert feature == first or np.isclose(gains[feature], gains[first], rtol=1e-9)
    value = best_union(np.array([m for _, _, m in leaves]), cell)
    sides = [np.sort(np.concatenate([r for at, r, _ in leaves if tree.tests["side"][at] == side]))
             for side in (0, 1)]  # fmt: skip
    weight_sum = class_weight(labels, weight, sides[0])
    assert np.isclose(weight_sum[1] / cell[1] - weight_sum[0] / cell[0], value)
    return sides


def all_gains(codes, labels, weight, rows, cell, options, categorical):
    """Best gain of each feature that has an admissible test."""
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
    """Codes that occur in some rows, and the weight of each class that they have."""
    occupied = np.unique(column[rows])
    return occupied, np.array(
        [class_weight(labels, weight, rows[column[rows] == code]) for code in occupied]
    )


def class_weight(labels, weight, rows):
    return np.array([weight[rows][labels[rows] == k].sum() for k in (0, 1)], dtype=float)


def number_labels(labels):
    """Distinct labels in their order, and the place of each; None where they are far apart."""
    distinct = sorted(set(labels))
    if distinct and distinct[-1] - distinct[0] >= 256:
        return None
    return distinct, [distinct.index(label) for label in labels]


def rows_up_to(hashes, labels, bounds):
    """Rows whose hashes are up to the bound of their class."""
    return [i for i, (h, k) in enumerate(zip(hashes, labels, strict=True)) if h <= bounds[k]]


def folds(hashes, labels, units, n_folds, seed):
    """Rows of each class assigned to folds 0, 1, ... by hash; ties: the lighter, then the first.

    With equal rows in a class their places are shuffled before.
    """
    fold = np.empty(len(hashes), dtype=np.int32)
    weight = np.ones(len(hashes)) if units is None else units
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        order = sorted(rows.tolist(), key=lambda i: (hashes[i], weight[i], i))
        places = range(len(order))
        if len(set(hashes[rows].tolist())) < len(rows):
            key = _key(_key(seed, 0x73687566666C65), int(k))
            places = [shuffled(place, len(order), key) for place in places]
            assert sorted(places) == list(range(len(order)))
        fold[order] = np.array(places) % n_folds
    return fold


def shuffled(number, size, key):
    """A permutation of the numbers below `size`: a Feistel network of four rounds."""
    half = ((size - 1).bit_length() + 1) // 2
    while True:
        high, low = divmod(number, 1 << half)
        for step in range(4):
            high, low = low, high ^ (_mix(low ^ _key(key, step)) & ((1 << half) - 1))
        number = (high << half) | low
        if number < size:
            return number


def leaves_at(tree, step):
    """Which cells are leaves of the subtree at this step of the nested sequence."""
    split = tree.sequence[1] > step
    is_leaf = ~split
    is_leaf[1:] &= split[tree.cells["parent"][1:]]
    return is_leaf


def concordance(y, s, weight=None):
    """Share of the pairs of different classes in order, pair by pair; ties count one half."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    agreeing = total = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] < y[j]:
                total += weight[i] * weight[j]
                agreeing += weight[i] * weight[j] * ((s[i] < s[j]) + 0.5 * (s[i] == s[j]))
    return agreeing / total


def vus_of_cells(values, counts):
    """AUC, or VUS beyond two classes, of cells in which scores are tied.

    f[j] is the weight of chains of the first j classes among the cells so far, worst first; m
    classes in a row from cells of one value count 1 / m!.
    """
    n_classes = counts.shape[1]
    f = [Fraction(1)] + [Fraction(0)] * n_classes
    total = [Fraction(float(n)) for n in counts.sum(axis=0)]
    for value in np.unique(values):
        tied = [Fraction(float(n)) for n in counts[values == value].sum(axis=0)]
        for j in range(n_classes, 0, -1):
            product = Fraction(1)
            for i in range(j - 1, -1, -1):
                product *= tied[i] / total[i] / (j - i)
                f[j] += f[i] * product
    return float(f[-1])


def top_of_cells(values, counts, focus):
    """Local or partial AUC of scored cells (negatives, positives), tie by tie in fractions.

    `focus`: "rows" or "negatives", and two rates.
    """
    kind, low, high = focus
    total = [Fraction(float(c)) for c in counts.sum(axis=0)]
    size = (lambda n, p: n) if kind == "negatives" else (lambda n, p: n + p)

    def until(share):
        room, a, b, area = Fraction(float(share)) * size(*total), Fraction(0), Fraction(0), 0
        for value in sorted(set(values.tolist()), reverse=True):
            n, p = (Fraction(float(c)) for c in counts[values == value].sum(axis=0))
            part = min(Fraction(1), room / size(n, p)) if size(n, p) else Fraction(room > 0)
            area += part * n / total[0] * (b + part * p / total[1] / 2)
            a, b, room = a + part * n / total[0], b + part * p / total[1], room - part * size(n, p)
        return a, b, area

    a, b, area = until(high)
    if kind == "rows":
        return float(b * (1 - a) + area)
    return float((area - until(low)[2]) / (Fraction(high) - Fraction(low)))


def held_out_worth(tree, counts, tried, shrinkage, focus=None):
    """AUC and Brier score for each lambda, every subtree scored anew.

    `counts`: those of the held-out rows in all cells. A NaN shrinkage stands for the tree's own
    order.
    """
    aucs, briers = [], []
    for step in np.searchsorted(tree.sequence[0], tried, side="right") - 1:
        leaves = np.flatnonzero(leaves_at(tree, step))
        shares = tree.shrunken_shares(0.0 if np.isnan(shrinkage) else shrinkage)[leaves]
        values = -leaves if np.isnan(shrinkage) else shares @ tree.cut_weights
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
    """Code with the largest weight among a cell's known values, on ties the lowest; 0 for none."""
    weight_sum = np.bincount(codes[rows], weights=weight[rows])
    return int(np.argmax(weight_sum[1:])) + 1 if weight_sum[1:].any() else 0


def _mix(x):
    """The finaliser of splitmix64."""
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def _key(parent, branch):
    return _mix(parent ^ _mix(branch))


def draw_counts(seed, tree, n_draws, n, replace, block_rows=65536):
    """How often each row is drawn: draws are shared out over blocks by halves, then made."""
    key = _key(_key(seed, 0x73616D706C65), tree)
    sizes = [min(block_rows, n - first) for first in range(0, n, block_rows)]
    counts = []
    for block, draws in enumerate(_share_out(key, n_draws, sizes, 0, replace)):
        block_key = _key(_key(key, 0), block)
        mine = np.zeros(sizes[block], dtype=int)
        if replace:
            for i in range(draws):
                bits = _mix((block_key + i // 2) % 2**64)
                half = bits >> 32 if i % 2 == 0 else bits % 2**32
                row = half * sizes[block] >> 32
                while mine[row] == 15:
                    row = (row + 1) % sizes[block]
                mine[row] += 1
        else:
            by_key = sorted(range(sizes[block]), key=lambda row: _key(block_key, row))
            mine[by_key[:draws]] = 1
        counts.append(mine)
    return counts


def _share_out(key, draws, sizes, first, replace):
    """Draws of each block; every draw is followed on its own."""
    if len(sizes) == 1:
        return [draws]
    half = (2 * first + len(sizes)) // 2 - first
    left, total = sum(sizes[:half]), sum(sizes)
    split = _key(_key(key, 1), first + half)
    if replace:
        n_left = _count_below(draws, Fraction(left, total), split)
        n_left = min(max(n_left, draws - 15 * (total - left)), 15 * left)
    else:
        few = 2 * draws <= total
        room = left
        for i in range(draws if few else total - draws):
            room -= ((_mix((split + i) % 2**64) >> 32) * (total - i) >> 32) < room
        n_left = left - room if few else room
    return _share_out(key, n_left, sizes[:half], first, replace) + _share_out(
        key, draws - n_left, sizes[half:], first + half, replace
    )


def _count_below(n, share, key):
    """How many of n numbers lie below the share: bit by bit, 64 numbers to a word."""
    undecided, below, word = n, 0, 0
    while undecided and share:
        share *= 2
        digit = int(share >= 1)
        share -= digit
        bits = []
        for _ in range(0, undecided, 64):
            random = _mix((key + word) % 2**64)
            bits += [random >> k & 1 for k in range(64)]
            word += 1
        bits = bits[:undecided]
        below += sum(bit < digit for bit in bits)
        undecided = sum(bit == digit for bit in bits)
    return below


def path_values(tree, codes, shrinkage):
    """Share of positives along each row's path, every step of it shrunk, LeafRank's included."""
    tests = tree.tests
    weight = tests["negative"] + tests["positive"]
    share = tests["positive"] / np.where(weight > 0, weight, 1)
    values = []
    for row in range(codes.shape[1]):
        value = tree.counts[0, 1] / tree.counts[0].sum()
        cell = 0
        while tree.cells["left"][cell] >= 0:
            node = tree.cells["first_test"][cell]
            while tests["left"][node] >= 0:
                left = goes_left(tree, tests[node], codes[tests["feature"][node], row])
                child = tests["left" if left else "right"][node]
                value += (share[child] - share[node]) / (1 + shrinkage / weight[node])
                node = child
            cell = tree.cells["left" if tests["side"][node] == 0 else "right"][cell]
        values.append(value)
    return np.array(values)


def node_weights(tree, codes, labels, weight):
    """Weight of each class that reaches each LeafRank node, row by row."""
    tests = tree.tests
    weights = np.zeros((len(tests), 2))
    for row in range(codes.shape[1]):
        cell = 0
        while tree.cells["left"][cell] >= 0:
            node = tree.cells["first_test"][cell]
            weights[node, labels[row]] += weight[row]
            while tests["left"][node] >= 0:
                left = goes_left(tree, tests[node], codes[tests["feature"][node], row])
                node = tests["left" if left else "right"][node]
                weights[node, labels[row]] += weight[row]
            cell = tree.cells["left" if tests["side"][node] == 0 else "right"][cell]
    return weights


def prune_leafrank(grow, codes, labels, units, n_folds=5):
    """Tests that pruning keeps of a LeafRank tree, by trying every subtree at every lambda.

    `grow(units)` grows the tree of one cell and returns it, or None; a row counts as often as
    `units` says. Rows are dealt out to the folds in their order, each with all its units, each
    class alone.
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
        out = _dealt(labels, units, n_folds, fold)
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
    """Every subtree with its beta - alpha, where each leaf in which that is positive goes left."""
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
    """Smallest of the subtrees with the largest worth less lambda times leaves."""
    lam = Fraction(lam)
    most = max(s.worth - lam * s.leaves for s in subtrees)
    return min((s for s in subtrees if s.worth - lam * s.leaves == most), key=_leaves_of).kept


def _leaves_of(subtree):
    return subtree.leaves


def _drop(large, small):
    return float((large.worth - small.worth) / (large.leaves - small.leaves))


def _smallest_best(subtrees):
    """Subtrees that are the best for some lambda, largest first."""
    named = {s.kept: s for s in subtrees}
    path = [named[_best_at(subtrees, 0)]]
    while path[-1].kept:
        smaller = [s for s in subtrees if s.leaves < path[-1].leaves]
        slope = min((path[-1].worth - s.worth) / (path[-1].leaves - s.leaves) for s in smaller)
        path.append(named[_best_at(subtrees, slope)])
    return path


def _dealt(labels, units, n_folds, fold):
    """Units of each row that a fold holds out."""
    out, turn = np.zeros_like(units), [0, 0]
    for row in np.flatnonzero(units):
        if turn[labels[row]] % n_folds == fold:
            out[row] = units[row]
        turn[labels[row]] += 1
    return out


def _on_the_left(tree, kept, codes, labels, out):
    """Held-out weight that falls into leaves with at least as large a share of the positives."""
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
    """Number of the subtree: within one standard error of the best, if that is no noise."""
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
    """What a test asks and of how many rows, whatever its place in the arrays."""
    asks = tree.category_sets[test["cut"]].tolist() if test["categorical"] else [int(test["cut"])]
    numbers = [int(test[f]) for f in ("feature", "missing_left", "negative", "positive")]
    return [*numbers, *asks]


def leaf_boxes(arrays):
    """(leaf, box) of a tree of plain arrays; a box has (low, high, missing allowed) by feature."""
    boxes = []
    pending = [(0, {})]
    while pending:
        node, box = pending.pop()
        if arrays["children_left"][node] < 0:
            boxes.append((node, box))
            continue
        feature, cut = arrays["feature"][node], arrays["threshold"][node]
        low, high, missing = box.get(feature, (-np.inf, np.inf, True))
        goes_left = bool(arrays["missing_go_to_left"][node])
        left = (low, min(high, cut), missing and goes_left)
        right = (max(low, cut), high, missing and not goes_left)
        pending.append((arrays["children_left"][node], {**box, feature: left}))
        pending.append((arrays["children_right"][node], {**box, feature: right}))
    return boxes


def is_in_box(x, box):
    return all(
        missing if np.isnan(x[f]) else low < x[f] <= high for f, (low, high, missing) in box.items()
    )


def distance_to_box(x, box, scale):
    """Distance of the projection; infinite to a box that is empty for such a row."""
    squares = 0.0
    for f, (low, high, missing) in box.items():
        if low >= high and not (missing and np.isnan(x[f])):
            return np.inf
        if not np.isnan(x[f]):
            squares += (max(low - x[f], x[f] - high, 0.0) / scale[f]) ** 2
    return np.sqrt(squares)


def distance_to_boundary(arrays, x, scale, interest):
    """Projection on all leaves that are decided otherwise: Algorithms 1 and 2 of the paper."""
    boxes = leaf_boxes(arrays)
    predicted = np.argmax(arrays["value"], axis=1) == interest
    [own] = [leaf for leaf, box in boxes if is_in_box(x, box)]
    others = [box for leaf, box in boxes if predicted[leaf] != predicted[own]]
    return min(distance_to_box(x, box, scale) for box in others)


def distance_in_ranking_tree(model, x, codes, scale):
    """The same for TreeRank and LeafRank, whose features may be categories, by all paths.

    `x` has numbers, `codes` the codes of all features.
    """
    tree, binning = model.tree_, model._binning
    ends = []
    pending = [(0, -1, [set(range(n)) for n in binning.n_codes])]
    while pending:
        cell, node, box = pending.pop()
        if not all(box):
            continue
        if node < 0 and tree.cells["left"][cell] < 0:
            ends.append((model.partition_.scores[model._stratum[cell]] > 0, box))
            continue
        node = tree.cells["first_test"][cell] if node < 0 else node
        test = tree.tests[node]
        if test["left"] < 0:
            child = tree.cells["left" if test["side"] == 0 else "right"][cell]
            pending.append((child, -1, box))
            continue
        f = test["feature"]
        left = {c for c in box[f] if goes_left(tree, test, c)}
        for child, side in ((test["left"], left), (test["right"], box[f] - left)):
            pending.append((cell, child, [*box[:f], side, *box[f + 1 :]]))
    [own] = [side for side, box in ends if all(c in b for c, b in zip(codes, box, strict=True))]
    return min(
        _distance_to_codes(binning, x, codes, box, scale) for side, box in ends if side != own
    )


def _distance_to_codes(binning, x, codes, box, scale):
    squares = 0.0
    for f, allowed in enumerate(box):
        known = sorted(allowed - {0})
        if codes[f] == 0:
            continue
        if not known:
            return np.inf
        if binning.levels[f] is not None:
            squares += codes[f] not in allowed
            continue
        ends = np.concatenate([[-np.inf], binning.thresholds[f], [np.inf]])
        low, high = ends[known[0] - 1], ends[known[-1]]
        squares += (max(low - x[f], x[f] - high, 0.0) / scale[f]) ** 2
    return np.sqrt(squares)


def fixed_point(values, bits):
    """Integers of at most `bits` bits, and the power of two that 1 stands for."""
    unit = float(np.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - bits))
    return np.rint(values / unit).astype(np.int32), unit


def logistic_derivatives(scores, labels):
    """First and second derivatives of minus the log-likelihood, the scores being log-odds."""
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-scores))
    return share - labels, share * (1 - share)


class GradientRows(NamedTuple):
    """Rows of a gradient tree: sums are over `rows`, weighted."""

    codes: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    weight: np.ndarray
    categorical: tuple
    monotonic: tuple
    options: dict

    def sums(self, rows):
        weight = self.weight[rows]
        return (
            int(np.sum(self.gradient[rows] * weight)),
            int(np.sum(self.hessian[rows] * weight)),
            int(np.sum(weight)),
        )

    def curvature(self, rows):
        return self.sums(rows)[1] * self.options["hessian_unit"]

    def slope(self, rows):
        return self.sums(rows)[0] * self.options["gradient_unit"]

    def value(self, rows, bounds):
        curvature = max(self.curvature(rows) + self.options["l2"], 1e-3)
        return np.clip(-self.slope(rows) / curvature, *bounds)

    def gain(self, rows, bounds, slope=None):
        """Twice the fall of the loss, to second order, at the value within the bounds."""
        slope = self.slope(rows) if slope is None else slope
        curvature = max(self.curvature(rows) + self.options["l2"], 1e-3)
        free = -slope / curvature
        value = np.clip(free, *bounds)
        if value == free:
            return slope * slope / curvature
        return -2 * slope * value - curvature * value**2

    def gain_of_parts(self, left, right, bounds, sign, slopes):
        """Gain of two parts; `slopes` are what is believed of their gradients, or None."""
        for part in (left, right):
            if self.sums(part)[2] < self.options["min_weight_leaf"] or self.curvature(part) < 1e-3:
                return 0.0
        low, high = (self.value(part, bounds) for part in (left, right))
        if sign * (high - low) < 0 or (sign and high == low):
            return 0.0
        one, other = slopes or (self.slope(left), self.slope(right))
        whole = self.gain(np.concatenate([left, right]), bounds, one + other)
        return self.gain(left, bounds, one) + self.gain(right, bounds, other) - whole

    def believed_slopes(self, feature, rows):
        """What is believed of the gradient of each level, by code, and how it ranks the level."""
        mean = self.slope(rows) / max(self.curvature(rows), 1e-3)
        codes = self.codes[feature, rows]
        levels = {code: rows[codes == code] for code in np.unique(codes)}
        unit = self.options["independent_weight"]
        size = np.array([self.sums(level)[2] / unit for level in levels.values()])
        curvature = np.array([self.curvature(level) for level in levels.values()])
        deviation = np.array([self.slope(level) for level in levels.values()]) - mean * curvature
        own = np.array([self.slope([row]) - mean * self.curvature([row]) for row in rows])
        weight = self.weight[rows].astype(float)
        variance = (unit**2 * (own / weight) ** 2 * weight).sum() / weight.sum()
        deviation = believed(size, deviation, variance) * deviation
        value = deviation / np.maximum(curvature + self.options["l2"], 1e-3)
        slope = dict(zip(levels, mean * curvature + deviation, strict=True))
        return slope, dict(zip(levels, value, strict=True))

    def bounds_between(self, worse, better, bounds):
        """Bounds of two sides of which the second must not lie below the first."""
        middle = (self.value(worse, bounds) + self.value(better, bounds)) / 2
        return (bounds[0], middle), (middle, bounds[1])


def boosted_tree_values(data, rows, chosen):
    """Value of every row of the table in the tree grown on `rows`."""
    everyone = np.arange(data.codes.shape[1])
    values = np.empty(len(everyone))
    free = (-np.inf, np.inf)
    values[:] = data.value(np.asarray(rows), free)
    cells = [(np.asarray(rows), everyone, free, 0)]
    splits = [_gradient_split(data, *cells[0], chosen)]
    waiting = [0]
    # The order of the cells matters only where the number of strata is limited.
    for _ in range(1, data.options.get("max_leaf_nodes") or 10**9):
        waiting = [number for number in waiting if splits[number] is not None]
        if not waiting:
            break
        best = max(waiting, key=lambda number: (splits[number][0], -number))
        waiting.remove(best)
        _, halves, of_half = splits[best]
        for half, limits in zip(halves, of_half, strict=True):
            here, there = (np.concatenate([leaf[k] for leaf in half]) for k in range(2))
            # A row's value is that of the last leaf, or stratum, it came by.
            for leaf, reaching, of_leaf in half:
                step = data.value(leaf, of_leaf)
                if data.options["by_stratum"]:
                    step = data.value(here, limits)
                values[reaching] = np.clip(step, *limits)
            waiting.append(len(cells))
            cells.append((here, there, limits, cells[best][3] + 1))
            splits.append(_gradient_split(data, *cells[-1], chosen))
    return values


def _gradient_split(data, mine, reaching, bounds, depth, chosen):
    """How a cell may be split: (gain of all tests inside, halves, their bounds), or None."""
    if depth == data.options["max_depth"]:
        return None
    leaves, tested = [], []
    _gradient_leaves(data, (mine, reaching, bounds), chosen, 0, leaves, tested)
    constrained = any(data.monotonic[feature] for feature, _ in tested)
    halves = _gradient_halves(data, leaves, bounds, constrained)
    if halves is None:
        return None
    better, worse = (np.concatenate([leaf[0] for leaf in half]) for half in halves)
    of_half = (bounds, bounds)
    if constrained:
        of_half = data.bounds_between(worse, better, bounds)[::-1]
    return sum(gain for _, gain in tested), halves, of_half


def _gradient_halves(data, leaves, bounds, constrained):
    """Put leaves in order of value and cut them where the gain is highest."""
    value = [data.value(leaf[0], leaf[2]) for leaf in leaves]
    order = sorted(range(len(leaves)), key=lambda i: (-value[i], i))
    cuts = [
        ([leaves[i] for i in order[:k]], [leaves[i] for i in order[k:]])
        for k in range(1, len(leaves))
        if not constrained or value[order[k - 1]] != value[order[k]]
    ]

    def gain(cut):
        return sum(data.gain(np.concatenate([leaf[0] for leaf in half]), bounds) for half in cut)

    return max(cuts, key=gain, default=None)


def _gradient_leaves(data, at, chosen, depth, leaves, tested):
    """Leaves of the tree inside a cell, left to right: (rows grown on, that reach it, bounds)."""
    mine, reaching, bounds = at
    found = None
    if depth < data.options["leafrank_depth"]:
        found = _best_gradient_test(data, mine, chosen, bounds)
    if found is None:
        leaves.append(at)
        return
    feature, goes_left, gain = found
    tested.append((feature, gain))
    is_left, reaches_left = (goes_left[data.codes[feature, rows]] for rows in (mine, reaching))
    limits = (bounds, bounds)
    if data.monotonic[feature] > 0:
        limits = data.bounds_between(mine[is_left], mine[~is_left], bounds)
    elif data.monotonic[feature] < 0:
        limits = data.bounds_between(mine[~is_left], mine[is_left], bounds)[::-1]
    for side, of_side in zip((True, False), limits, strict=True):
        part = mine[is_left == side], reaching[reaches_left == side], of_side
        _gradient_leaves(data, part, chosen, depth + 1, leaves, tested)


class AmbiguousTieError(Exception):
    """Two tests gain the same but for the last digits, so that either may be taken."""


def _best_gradient_test(data, rows, chosen, bounds):
    """The test of the highest gain, as (feature, whether each code goes left, gain)."""
    best, found, gains = 1e-10, None, []
    for feature in chosen:
        slope = data.believed_slopes(feature, rows)[0] if data.categorical[feature] else None
        for goes_left in _gradient_tests(data, rows, feature):
            is_left = goes_left[data.codes[feature, rows]]
            slopes = slope and [
                sum(s for code, s in slope.items() if goes_left[code] == side)
                for side in (True, False)
            ]
            gain = data.gain_of_parts(
                rows[is_left], rows[~is_left], bounds, data.monotonic[feature], slopes
            )
            gains.append(gain)
            if gain > best:
                best, found = gain, (feature, goes_left, gain)
    if any(gain != best and abs(gain - best) < 1e-12 * best for gain in gains):
        raise AmbiguousTieError
    return found


def _gradient_tests(data, rows, feature):
    """Yield all tests of a feature that part the rows, in the order they are looked at."""
    codes = data.codes[feature, rows]
    n_codes = data.codes[feature].max() + 1
    seen = np.unique(codes)
    if data.categorical[feature]:
        value = data.believed_slopes(feature, rows)[1]
        levels = sorted(seen, key=lambda code: (value[code], code))
        for k in range(1, len(levels)):
            left = np.isin(np.arange(n_codes), levels[:k])
            _send_with_most(left, ~np.isin(np.arange(n_codes), seen), data, rows, codes)
            yield left
        return
    known = seen[seen > 0]
    for i, code in enumerate(known):
        # A cut in a gap between codes that occur is put in its middle.
        cut = code + (known[i + 1] - 1 - code) // 2 if i + 1 < len(known) else code
        right = np.arange(n_codes) <= cut
        right[0] = False
        left = right.copy()
        left[0] = True
        if seen[0] > 0:
            _send_with_most(right, np.arange(n_codes) == 0, data, rows, codes)
            yield right
        else:
            yield right
            yield left


def _send_with_most(goes_left, unseen, data, rows, codes):
    """Send codes that do not occur the way of most rows."""
    weight = data.sums(rows[goes_left[codes]])[2]
    goes_left[unseen] = 2 * weight > data.sums(rows)[2]


def tree_mean(trees, tree, codes, follows):
    """Mean value of a tree when some features follow a row, the others its training weights."""
    start, end = trees.starts[tree], trees.starts[tree + 1]
    slots = np.ascontiguousarray(trees.slots[start:end]).view(SLOT).ravel()

    def walk(at, total):
        total = np.float32(total + np.float32(trees.step[start + at]))
        if slots[at]["next"] == at:
            return trees.step[start + at] if trees.at_end[tree] else float(total)
        ahead = int(slots[at]["next"] & 0x3FFFFFFF)
        if slots[at]["feature"] in follows:
            return walk(ahead + (not slot_goes_left(trees, start + at, codes)), total)
        share = trees.left_share[start + at]
        return share * walk(ahead, total) + (1 - share) * walk(ahead + 1, total)

    return walk(0, np.float32(0))


def slot_goes_left(trees, at, codes):
    slot = trees.slots[at].view(SLOT)[0]
    code = int(codes[slot["feature"]])
    if slot["next"] >> 31:
        return bool(trees.category_sets[trees.set_of[at], code // 8] >> (code % 8) & 1)
    missing_right = slot["next"] >> 30 & 1
    if code == 0:
        return not missing_right
    return code <= int(slot["cut"]) + missing_right


def tested_cuts(trees):
    """Feature and cut of each slot that tests a number; None of the others."""
    found = []
    for slot in np.ascontiguousarray(trees.slots).view(SLOT).ravel():
        cut, follows = int(slot["cut"]), int(slot["next"])
        number = cut != 0xFFFF and not follows >> 31
        found.append((int(slot["feature"]), cut + (follows >> 30 & 1)) if number else None)
    return found


def baked_values(trees, shrinkage, scale):
    """Sum that a walk has added at each slot, the steps shrunk and scaled; and the single steps.

    Nothing for a slot that several ways lead to.
    """
    one = np.float32
    slots = np.ascontiguousarray(trees.slots).view(SLOT).ravel()
    sums = [None] * len(slots)
    steps = [
        one(np.float64(step * one(scale)) / (1 + shrinkage / np.float64(weight)))
        for step, weight in zip(trees.step, trees.weight, strict=True)
    ]
    for start, end in pairwise(trees.starts):
        steps[start] = one(trees.step[start] / (1 + shrinkage / np.float64(trees.weight[start])))
        sums[start] = steps[start]
        ways = np.zeros(end - start, dtype=int)
        for at in range(end - start):
            ahead = int(slots[start + at]["next"] & 0x3FFFFFFF)
            if ahead == at:
                continue
            for to in (ahead, ahead + 1):
                ways[to] += 1
                alone = ways[to] == 1 and sums[start + at] is not None
                sums[start + to] = steps[start + to] + sums[start + at] if alone else None
    return sums, steps


def path_game(trees, codes):
    """Value of each set of features: the others are averaged in the nodes."""
    n_trees = len(trees.starts) - 1
    return lambda follows: (
        trees.offset
        + trees.factor * sum(tree_mean(trees, tree, codes, follows) for tree in range(n_trees))
    )


def baseline_game(trees, codes, baseline):
    """Value of each set of features: the others are those of a baseline row, on average."""
    everything = set(range(len(codes)))

    def value(follows):
        mixed = baseline.T.copy()
        mixed[:, sorted(follows)] = codes[sorted(follows)]
        return np.mean([path_game(trees, row)(everything) for row in mixed])

    return value


def shapley_values(value, n):
    """Mean contribution of each player over all subsets of the others."""
    every = {s: value(set(s)) for k in range(n + 1) for s in combinations(range(n), k)}
    found = np.zeros(n)
    for i in range(n):
        for s, without in every.items():
            if i not in s:
                weight = factorial(len(s)) * factorial(n - len(s) - 1) / factorial(n)
                found[i] += weight * (every[tuple(sorted({*s, i}))] - without)
    return found, every[()]


def shapley_interactions(value, n):
    """Shapley interaction index of each pair, half in both places; the rest on the diagonal."""
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


def level_statistic(level, fold, labels, weight, row):
    """Mean of the shares above each class, of rows of a row's level in other folds, shrunk.

    None: no such row. `row` None: of every level, by all rows.
    """
    others = np.ones(len(level), dtype=bool) if row is None else fold != fold[row]
    others &= level > 0
    grade = np.mean([labels > k for k in range(labels.max())], axis=0)
    rank = 0.5 + (grade - np.average(grade[others], weights=weight[others])) / 2
    groups = {k: np.flatnonzero(others & (level == k)) for k in np.unique(level[others])}
    size = {k: weight[rows].sum() for k, rows in groups.items()}
    mean = {k: (weight[rows] * rank[rows]).sum() / size[k] for k, rows in groups.items()}
    n = sum(size.values())
    overall = sum(size[k] * mean[k] for k in groups) / n
    amount = max(n, 1.0)
    if len(groups) >= 2 and n > len(groups):
        within = sum(
            (weight[rows] * (rank[rows] - mean[k]) ** 2).sum() for k, rows in groups.items()
        ) / (n - len(groups))
        spread = sum(size[k] * (mean[k] - overall) ** 2 for k in groups)
        between = (spread - (len(groups) - 1) * within) / (n - sum(s**2 for s in size.values()) / n)
        amount = float(np.clip(within / between, 1.0, n)) if between > 0 else n
    shrunk = {k: (size[k] * mean[k] + amount * overall) / (size[k] + amount) for k in groups}
    return shrunk if row is None else shrunk.get(level[row])


def best_grades(counts, max_grades, min_share, max_share, z):
    """Try every way to cut ranges (class counts, lowest first) into grades.

    Return the largest mean AUC of all pairs of classes, and the cuts that have it; -inf if none do.
    """
    counts = np.asarray(counts, dtype=float)
    n, total = len(counts), counts.sum()
    best = -np.inf, None
    for n_cuts in range(min(max_grades, n)):
        for cuts in combinations(range(1, n), n_cuts):
            grades = [part.sum(axis=0) for part in np.split(counts, cuts)]
            shares = [grade.sum() / total for grade in grades]
            if min(shares) < min_share - 1e-9 or max(shares) > max_share + 1e-9:
                continue
            if any(grade.sum() == 0 for grade in grades):
                continue
            if all(_rises(low, high, z) for low, high in pairwise(grades)):
                found = _mean_auc(grades)
                if found > best[0] + 1e-12:
                    best = found, list(cuts)
    return best


def _rises(low, high, z):
    """Whether the mean class rises by this many standard errors."""
    values = [np.repeat(np.arange(len(g)), g.astype(int)) for g in (low, high)]
    difference = values[1].mean() - values[0].mean()
    error = np.sqrt(np.concatenate(values).var() * sum(1 / len(v) for v in values))
    return difference > 1e-12 and difference >= z * error


def _mean_auc(grades):
    """Mean, over pairs of classes, of the share of their pairs that the grades order rightly."""
    areas = []
    for a, b in combinations(range(len(grades[0])), 2):
        won = sum(
            grades[i][a] * grades[j][b] * ((j > i) + 0.5 * (i == j))
            for i in range(len(grades))
            for j in range(len(grades))
        )
        areas.append(won / sum(g[a] for g in grades) / sum(g[b] for g in grades))
    return np.mean(areas)


def mixture_evidence(estimates, variances, baseline_variance, rho, one_sided):
    """Likelihood ratio of "changed by d" against "unchanged", averaged over d by quadrature.

    The differences of the periods share the noise of the baseline; d is normal of variance
    1 / rho, or its positive half.
    """
    covariance = np.diag(variances) + baseline_variance
    density = scipy.stats.multivariate_normal(cov=covariance)
    scale = rho**-0.5
    d = np.linspace(0 if one_sided else -12 * scale, 12 * scale, 40_001)
    weight = scipy.stats.norm.pdf(d, scale=scale) * (2 if one_sided else 1)
    ratio = np.exp(density.logpdf(np.asarray(estimates) - d[:, None]) - density.logpdf(estimates))
    return float(np.trapezoid(weight * ratio, d))


def sigmoid(x):
    """1 / (1 + exp(-x)) by the operations of the core, one at a time."""
    below = max(x if x < 0 else -x, -708.0)
    k = float(np.rint(below * 1.4426950408889634))
    r = (below - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    series = 1 / factorial(13)
    for n in range(12, -1, -1):
        series = series * r + 1 / factorial(n)
    e = ldexp(series, int(k))
    return (e if x < 0 else 1.0) / (1 + e)
