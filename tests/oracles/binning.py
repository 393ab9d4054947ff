"""Thresholds, codes of values, indices of labels, statistics of categories."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np


@contextmanager
def all_thresholds():
    """Let trees fitted in this context keep every threshold they could have used, for audits."""
    with patch("treerank._base.keep_used_in_trees", lambda binning, trees: (binning, trees)):
        yield


def odd_numbers(values):
    """Return whether each column has a missing value, and whether any value is infinite."""
    missing = [any(str(v) == "nan" for v in column) for column in values.T.tolist()]
    return missing, any(abs(v) == float("inf") for v in values.ravel().tolist())


def thresholds(values, max_bins, weight=None):
    """Return midpoints between neighbours, or between bins of about equal weight."""
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
    """Return 0 for missing values, otherwise 1 plus the number of thresholds below the value."""
    return np.array([0 if np.isnan(v) else 1 + sum(v > t for t in cuts) for v in values])


def number_labels(labels):
    """Return the distinct labels in order and the index of each; None if they are far apart."""
    distinct = sorted(set(labels))
    if distinct and distinct[-1] - distinct[0] >= 256:
        return None
    return distinct, [distinct.index(label) for label in labels]


def rows_up_to(hashes, labels, bounds):
    """Return the rows whose hashes do not exceed the bound of their class."""
    return [i for i, (h, k) in enumerate(zip(hashes, labels, strict=True)) if h <= bounds[k]]


def level_statistic(level, fold, labels, weight, row):
    """Return the shrunken mean grade of a row's level, over rows in other folds.

    The grade of a row is the mean of whether it is above each class. Returns None if there is no
    such row. If `row` is None, returns the statistic of every level, over all rows.
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
