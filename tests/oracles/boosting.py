"""Gradients of boosting, and the trees grown on them."""

from math import factorial, ldexp
from typing import NamedTuple

import numpy as np

from .splits import believed


def fixed_point(values, bits):
    """Return integers of at most `bits` bits, and the power of two that 1 stands for."""
    unit = float(np.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - bits))
    return np.rint(values / unit).astype(np.int32), unit


def logistic_derivatives(scores, labels):
    """Return both derivatives of the negative log-likelihood, for scores that are log-odds."""
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-scores))
    return share - labels, share * (1 - share)


def sigmoid(x):
    """Return 1 / (1 + exp(-x)) by the operations of the core, one at a time."""
    below = max(x if x < 0 else -x, -708.0)
    k = float(np.rint(below * 1.4426950408889634))
    r = (below - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    series = 1 / factorial(13)
    for n in range(12, -1, -1):
        series = series * r + 1 / factorial(n)
    e = ldexp(series, int(k))
    return (e if x < 0 else 1.0) / (1 + e)


class GradientRows(NamedTuple):
    """Rows of a gradient tree; sums are weighted sums over `rows`."""

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
        """Return twice the decrease of the loss, to second order, at the value within bounds."""
        slope = self.slope(rows) if slope is None else slope
        curvature = max(self.curvature(rows) + self.options["l2"], 1e-3)
        free = -slope / curvature
        value = np.clip(free, *bounds)
        if value == free:
            return slope * slope / curvature
        return -2 * slope * value - curvature * value**2

    def gain_of_parts(self, left, right, bounds, sign, slopes):
        """Return the gain of two parts; `slopes` are their shrunken gradients, or None."""
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
        """Return the shrunken gradient of each level, and the value that ranks it, by code."""
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
        """Return the bounds of two sides, the second of which must not be below the first."""
        middle = (self.value(worse, bounds) + self.value(better, bounds)) / 2
        return (bounds[0], middle), (middle, bounds[1])


def boosted_tree_values(data, rows, chosen):
    """Return the value of every row of the table in the tree grown on `rows`."""
    everyone = np.arange(data.codes.shape[1])
    values = np.empty(len(everyone))
    free = (-np.inf, np.inf)
    values[:] = data.value(np.asarray(rows), free)
    cells = [(np.asarray(rows), everyone, free, 0)]
    splits = [_gradient_split(data, *cells[0], chosen)]
    waiting = [0]
    # The order of the cells matters only if the number of strata is limited.
    for _ in range(1, data.options.get("max_leaf_nodes") or 10**9):
        waiting = [number for number in waiting if splits[number] is not None]
        if not waiting:
            break
        best = max(waiting, key=lambda number: (splits[number][0], -number))
        waiting.remove(best)
        _, halves, of_half = splits[best]
        for half, limits in zip(halves, of_half, strict=True):
            here, there = (np.concatenate([leaf[k] for leaf in half]) for k in range(2))
            # The value of a row is that of the last leaf, or stratum, that it reached.
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
    """Return how a cell is split: (gain of all tests inside, halves, their bounds), or None."""
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
    """Sort leaves by value and cut the order where the gain is highest."""
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
    """Collect a cell's leaves, left to right: (rows grown on, rows that reach it, bounds)."""
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
    """Two tests have the same gain up to the last digits, so that either may be chosen."""


def _best_gradient_test(data, rows, chosen, bounds):
    """Return the test with the highest gain: (feature, whether each code goes left, gain)."""
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
    """Yield all tests of a feature that split the rows, in the order in which they are tried."""
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
        # A cut in a gap between codes that occur is placed in the middle of the gap.
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
    """Send codes that do not occur to the side of most rows."""
    weight = data.sums(rows[goes_left[codes]])[2]
    goes_left[unseen] = 2 * weight > data.sums(rows)[2]
