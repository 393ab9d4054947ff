"""Values of the codes, for missing values that are imputed with the mean of their cell.

The core only knows codes, so it is given the mean value of each code. The mean of a cell is then
computed from these means: it is exact if every distinct value has its own code, and within the
width of a bin otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Coded
from treerank._input.types import Floats


def code_values(coded: Coded) -> Floats:
    """Return the mean value and the upper bound of every code, feature by feature.

    They are computed from the sample for the thresholds. Codes of categories, of missing values and
    without rows have no mean; theirs is set to 0, which is never used. The shape is (2, total
    number of codes).
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
        elif j in binning.ordered:  # codes are ordered, and used as values
            part[:] = np.arange(n_codes)
        parts.append(part)
    return np.ascontiguousarray(np.hstack(parts))


def _bin_means(values: Floats, units: NDArray[np.int64] | None, thresholds: Floats) -> Floats:
    """Return the weighted mean of the values in each bin.

    Distinct values are summed in ascending order, each with its exact weight, so that the result
    does not depend on the order of the rows, or on whether rows are repeated or weighted.
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
    # Rounding must not move a mean out of the range of its values: the mean of a single distinct
    # value is that value.
    means[bins[first]] = np.clip(mean, distinct[first], distinct[last])
    return means
