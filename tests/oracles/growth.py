"""Decisions of a grown tree, and substitutes for missing values."""

import numpy as np

from .splits import (
    all_gains,
    believed_weights,
    best_union,
    class_weight,
    cut_gain,
    level_weights,
)
from .trees import goes_left


def audit(tree, codes, labels, weight, options, categorical=(), stand_ins=None):
    """Check every decision of a grown tree against its definition, row by row.

    `stand_ins(rows)`, if given, returns for each feature the code that replaces missing values
    in a cell of these rows.
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


def cell_means(x, weight, rows):
    """Return the mean of each feature over a cell's known values; NaN if none is known."""
    means = []
    for column in x.T:
        known = rows[~np.isnan(column[rows])]
        total = weight[known].sum()
        means.append((column[known] * weight[known]).sum() / total if total else np.nan)
    return np.array(means)


def most_frequent(codes, weight, rows):
    """Return the known code with the largest weight in a cell, on ties the lowest; 0 for none."""
    weight_sum = np.bincount(codes[rows], weights=weight[rows])
    return int(np.argmax(weight_sum[1:])) + 1 if weight_sum[1:].any() else 0
