"""Metrics by pairs: AUC, concordance, VUS, and the top of the ranking."""

from fractions import Fraction

import numpy as np


def auc(y, score, weight=None):
    """Return the Mann-Whitney statistic over all pairs, with ties counted as 1/2."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    total = area = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            pair = weight[i] * weight[j]
            total += pair
            area += pair * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    return area / total


def concordance(y, s, weight=None):
    """Return the share of pairs of different classes in order, with ties counted as 1/2."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    agreeing = total = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] < y[j]:
                total += weight[i] * weight[j]
                agreeing += weight[i] * weight[j] * ((s[i] < s[j]) + 0.5 * (s[i] == s[j]))
    return agreeing / total


def vus_of_cells(values, counts):
    """Return the AUC, or the VUS for more than two classes, of cells with tied scores.

    f[j] is the weight of chains of the first j classes among the cells so far, worst first; m
    consecutive classes from cells of one value count 1 / m!.
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
    """Return local or partial AUC of scored cells (negatives, positives), exactly, by fractions.

    `focus` is "rows" or "negatives", and two rates.
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
