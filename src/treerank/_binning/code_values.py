"""What a missing value counts as where it is not learned: the mean of its cell.

The core knows codes only, so it is told the mean of the values behind each code. The mean
of a cell is then the mean of these over its rows: exact while every value has a code of
its own, and within the width of a bin otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Coded

Floats = NDArray[np.float64]


def code_values(coded: Coded) -> Floats:
    """Mean, and upper end, of the values behind every code, feature after feature.

    By the rows that decide the thresholds. Codes of categories, of missing values, and those
    without a row have no mean; 0 stands for it, and is never used. Shape (2, total number of
    codes).
    """
    parts = []
    binning, sample = coded.binning, coded.sample
    for j, (n_codes, thresholds) in enumerate(
        zip(binning.n_codes, binning.thresholds, strict=True)
    ):
        part = np.zeros((2, n_codes))
        if binning.levels[j] is None:
            part[0, 1:] = _bin_means(sample.values(j), sample.weights, thresholds)
            part[1, 1:] = np.append(thresholds, np.inf)
        elif j in binning.by_statistic:  # its codes are in order, and are their own values
            part[:] = np.arange(n_codes)
        parts.append(part)
    return np.ascontiguousarray(np.hstack(parts))


def _bin_means(values: Floats, units: NDArray[np.int64] | None, thresholds: Floats) -> Floats:
    """Weighted mean of the values in each bin.

    Summed over the distinct values in ascending order, each with its exact weight, so that
    neither the order of the rows matters nor whether a row is repeated or has a weight.
    """
    known = ~np.isnan(values)
    distinct, place = np.unique(values[known], return_inverse=True)
    means = np.zeros(len(thresholds) + 1)
    if len(distinct) == 0:
        return means
    weight = np.bincount(place, weights=None if units is None else units[known]).astype(np.float64)
    bins = np.searchsorted(thresholds, distinct, side="left")
    first = np.flatnonzero(np.append(True, np.diff(bins) > 0))
    last = np.append(first[1:], len(bins)) - 1
    mean = np.add.reduceat(weight * distinct, first) / np.add.reduceat(weight, first)
    # Rounding must not carry a mean out of its bin: a single value is its own mean.
    means[bins[first]] = np.clip(mean, distinct[first], distinct[last])
    return means
