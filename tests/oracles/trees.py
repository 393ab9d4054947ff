"""Walks through trees, by cells and by slots."""

from itertools import pairwise

import numpy as np

from treerank._trees.ranking_tree import SLOT


def walk(tree, codes, row):
    """Return the leaf cell of one row, test by test."""
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


def path_values(tree, codes, shrinkage):
    """Return the share of positives along each row's path, shrunk at every step and test."""
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
    """Return the weight of each class that reaches each LeafRank node, row by row."""
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


def tree_mean(trees, tree, codes, follows):
    """Return a tree's mean value if some features follow a row, the others training weights."""
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
    """Return feature and cut of each slot with a numeric test; None for the other slots."""
    found = []
    for slot in np.ascontiguousarray(trees.slots).view(SLOT).ravel():
        cut, follows = int(slot["cut"]), int(slot["next"])
        number = cut != 0xFFFF and not follows >> 31
        found.append((int(slot["feature"]), cut + (follows >> 30 & 1)) if number else None)
    return found


def baked_values(trees, shrinkage, scale):
    """Return the sum that a walk has at each slot, from shrunken and scaled steps, and the steps.

    The sum is None for a slot that can be reached in several ways.
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


def sums_of_leaves(left, right, leaf_counts):
    """Return the counts of each cell: the sum over the leaf cells below it."""

    def leaves(cell):
        return [cell] if left[cell] < 0 else leaves(left[cell]) + leaves(right[cell])

    return np.array([leaf_counts[leaves(cell)].sum(axis=0) for cell in range(len(left))])


def shrunken_walk(parent, weight, share, shrinkage):
    """Return the share of each cell: that of the root, and a shrunken change at each step down."""
    values = []
    for cell in range(len(parent)):
        path = [cell]
        while parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        value = share[0].copy()
        for up, down in pairwise(path[::-1]):
            value += (share[down] - share[up]) / (1 + shrinkage / weight[up])
        values.append(value)
    return np.array(values)
