"""Distance of a row to the nearest place with another decision."""

import numpy as np

from .trees import goes_left


def leaf_boxes(arrays):
    """Return (leaf, box) of plain arrays; a box has (low, high, missing allowed) by feature."""
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
    """Return the distance of the projection; infinite if the box is empty for such a row."""
    squares = 0.0
    for f, (low, high, missing) in box.items():
        if low >= high and not (missing and np.isnan(x[f])):
            return np.inf
        if not np.isnan(x[f]):
            squares += (max(low - x[f], x[f] - high, 0.0) / scale[f]) ** 2
    return np.sqrt(squares)


def distance_to_boundary(arrays, x, scale, interest):
    """Project on all leaves with another decision: Algorithms 1 and 2 of the paper."""
    boxes = leaf_boxes(arrays)
    predicted = np.argmax(arrays["value"], axis=1) == interest
    [own] = [leaf for leaf, box in boxes if is_in_box(x, box)]
    others = [box for leaf, box in boxes if predicted[leaf] != predicted[own]]
    return min(distance_to_box(x, box, scale) for box in others)


def distance_in_ranking_tree(model, x, codes, scale):
    """The same for TreeRank and LeafRank, whose features may be categorical, over all paths.

    `x` holds the numbers, `codes` the codes of all features.
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
