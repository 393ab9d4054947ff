"""NBTree (Kohavi, 1996): a tree with a naive Bayes classifier in each leaf; two classes only.

A node is split where the cross-validated accuracy of naive Bayes in the two parts beats that in
the whole by more than 5 % of its errors, and the node has 30 rows. Numbers are cut into bins by the
entropy rule of Fayyad and Irani, anew in each node.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
LEAST_ROWS = 30
LEAST_ERROR_REDUCTION = 0.05

Floats = NDArray[np.float64]


def entropy(positive: Any, total: Any) -> Any:
    """Entropy in bits of two classes."""
    p = positive / np.maximum(total, 1)
    q = 1 - p
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(np.nan_to_num(p * np.log2(p)) + np.nan_to_num(q * np.log2(q)))


def best_cut(values: Floats, cumulated: NDArray[np.intp]) -> tuple[int, float] | None:
    """Place in sorted values after which to cut, and the entropy left; None if all are equal."""
    n = len(values)
    places = np.flatnonzero(values[1:] > values[:-1]) + 1
    if len(places) == 0:
        return None
    left = cumulated[places] - cumulated[0]
    right = cumulated[n] - cumulated[places]
    rest = places * entropy(left, places) + (n - places) * entropy(right, n - places)
    best = int(np.argmin(rest))
    return int(places[best]), float(rest[best] / n)


def discretise(values: Floats, y: NDArray[np.intp]) -> Floats:
    """Cut points of one feature by the minimum description length of Fayyad and Irani."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    cumulated = np.concatenate([[0], np.cumsum(y[order])])
    cuts: list[float] = []
    pending = [(0, len(values))]
    while pending:
        first, last = pending.pop()
        n = last - first
        found = best_cut(values[first:last], cumulated[first : last + 1]) if n > 1 else None
        if found is None:
            continue
        place, rest = first + found[0], found[1]
        parts = [(first, last), (first, place), (place, last)]
        positives = [int(cumulated[b] - cumulated[a]) for a, b in parts]
        sizes = [b - a for a, b in parts]
        entropies = [float(entropy(p, s)) for p, s in zip(positives, sizes, strict=True)]
        kinds = [1 + (0 < p < s) for p, s in zip(positives, sizes, strict=True)]
        terms = [k * e for k, e in zip(kinds, entropies, strict=True)]
        delta = np.log2(3.0 ** kinds[0] - 2) - (terms[0] - terms[1] - terms[2])
        if entropies[0] - rest > (np.log2(n - 1) + delta) / n:
            cuts.append((values[place - 1] + values[place]) / 2)
            pending += parts[1:]
    return np.sort(cuts)


@dataclass
class NaiveBayes:
    """Naive Bayes over bins, with one case added to each."""

    cuts: list[Floats]
    log_odds: Floats  # by bin, the bins of all features side by side
    prior: float

    def score(self, X: Floats) -> Floats:
        """Log odds of the positive class."""
        return one_hot(X, self.cuts) @ self.log_odds + self.prior


def one_hot(X: Floats, cuts: list[Floats]) -> NDArray[np.float32]:
    """Indicator of each bin of each feature that has more than one."""
    columns = [
        np.searchsorted(c, X[:, j])[:, np.newaxis] == np.arange(len(c) + 1)
        for j, c in enumerate(cuts)
        if len(c)
    ]
    if not columns:
        return np.zeros((len(X), 1), dtype=np.float32)
    return np.concatenate(columns, axis=1).astype(np.float32)


def bins_of_columns(cuts: list[Floats]) -> Floats:
    """For each column of `one_hot`, how many bins its feature has."""
    sizes = [len(c) + 1 for c in cuts if len(c)]
    return np.repeat(sizes, sizes).astype(np.float64) if sizes else np.ones(1)


def log_odds(counts: Any, mass: Any, bins: Floats) -> Any:
    """Log odds by bin from counts (…, classes, bins) and class masses (…, classes)."""
    table = np.log((counts + 1) / (mass[..., np.newaxis] + bins))
    return table[..., 1, :] - table[..., 0, :]


def log_prior(mass: Any) -> Any:
    """Log odds of the classes."""
    return np.log((mass[..., 1] + 1) / (mass[..., 0] + 1))


def held_out_hits(
    indicators: NDArray[np.float32], bins: Floats, y: NDArray[np.intp], sides: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Right answers of naive Bayes under cross-validation, for each way to part the rows.

    `sides` (rows x ways) has the part of each row; one classifier learns in each part.
    """
    n, n_ways = sides.shape
    fold = np.random.default_rng(0).permutation(n) % N_FOLDS
    group = (np.arange(n_ways) * 2 + sides) * N_FOLDS + fold[:, np.newaxis]
    member = np.zeros((n, n_ways * 2 * N_FOLDS * 2), dtype=np.float32)
    np.put_along_axis(member, group * 2 + y[:, np.newaxis], 1, axis=1)
    shape = (n_ways * 2, N_FOLDS, 2)
    counts = (member.T @ indicators).reshape(*shape, -1)
    mass = member.sum(axis=0).reshape(shape)
    counts = counts.sum(axis=1, keepdims=True) - counts  # of the other folds
    mass = mass.sum(axis=1, keepdims=True) - mass
    odds = log_odds(counts, mass, bins).astype(np.float32)
    scores = indicators @ odds.reshape(-1, odds.shape[-1]).T + log_prior(mass).ravel()
    answer = np.take_along_axis(scores, group, axis=1) > 0
    return np.asarray((answer == (y == 1)[:, np.newaxis]).sum(axis=0))


@dataclass
class Node:
    """A test with two parts, or a leaf with its classifier."""

    feature: int = -1
    threshold: float = 0.0
    left: "Node | None" = None
    right: "Node | None" = None
    classifier: NaiveBayes | None = None


class NBTree:
    """Naive Bayes in the leaves of a tree."""

    def fit(self, X: Floats, y: NDArray[np.intp]) -> "NBTree":
        """Grow the tree; labels are 0 and 1."""
        self.root = self._grow(X, y)
        return self

    def _grow(self, X: Floats, y: NDArray[np.intp]) -> Node:
        cuts = [discretise(column, y) for column in X.T]
        indicators, bins = one_hot(X, cuts), bins_of_columns(cuts)
        mass = np.bincount(y, minlength=2).astype(np.float64)
        counts = np.stack([(1 - y) @ indicators, y @ indicators])
        leaf = Node(classifier=NaiveBayes(cuts, log_odds(counts, mass, bins), log_prior(mass)))
        if len(y) < LEAST_ROWS or not 0 < y.sum() < len(y):
            return leaf
        candidates = self._candidates(X, y)
        errors = len(y) - held_out_hits(indicators, bins, y, np.zeros((len(y), 1), dtype=np.intp))
        if not candidates or errors[0] == 0:
            return leaf
        sides = np.column_stack([X[:, j] > t for j, t in candidates]).astype(np.intp)
        rest = len(y) - held_out_hits(indicators, bins, y, sides)
        best = int(np.argmin(rest))
        if (errors[0] - rest[best]) / errors[0] < LEAST_ERROR_REDUCTION:
            return leaf
        feature, threshold = candidates[best]
        left = sides[:, best] == 0
        return Node(
            feature, threshold, self._grow(X[left], y[left]), self._grow(X[~left], y[~left])
        )

    def _candidates(self, X: Floats, y: NDArray[np.intp]) -> list[tuple[int, float]]:
        """Best cut of each feature that has one."""
        found = []
        for j, column in enumerate(X.T):
            order = np.argsort(column, kind="stable")
            values = column[order]
            cut = best_cut(values, np.concatenate([[0], np.cumsum(y[order])]))
            if cut is not None:
                found.append((j, float(values[cut[0] - 1] + values[cut[0]]) / 2))
        return found

    def score(self, X: Floats) -> Floats:
        """Log odds of the positive class."""
        scores = np.empty(len(X))
        pending = [(self.root, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if node.classifier is not None:
                scores[rows] = node.classifier.score(X[rows])
                continue
            left = X[rows, node.feature] <= node.threshold
            assert node.left is not None
            assert node.right is not None
            pending += [(node.left, rows[left]), (node.right, rows[~left])]
        return scores

    def n_leaves(self) -> int:
        """Count the leaves."""
        count, pending = 0, [self.root]
        while pending:
            node = pending.pop()
            count += node.classifier is not None
            pending += [child for child in (node.left, node.right) if child is not None]
        return count
