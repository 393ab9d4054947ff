"""Encodes a table as a numeric matrix, for splitters other than LeafRank.

Numbers are kept; missing ones are replaced by the median of the training rows, and a feature with
missing values in the training rows is followed by an indicator column (1 for missing). A category
is one-hot encoded; a missing or unknown level gives zeros only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, encode_levels
from treerank._input.validation import Table
from treerank._input.weights import Weights
from treerank.splitters import Box

Matrix = NDArray[np.float64]  # columns x rows, like codes


@dataclass(frozen=True)
class Encoding:
    """The fitted encoding.

    `median` is NaN for a category, `feature` has the index of the feature behind each column of
    the matrix, and `box` is the range of the columns.
    """

    median: NDArray[np.float64]
    feature: NDArray[np.intp]
    box: Box

    def transform(self, table: Table, binning: Binning) -> Matrix:
        """Return the matrix of the given rows."""
        return _encode(table, binning, self.median)[0]


def fit_encoding(table: Table, binning: Binning, weights: Weights) -> tuple[Encoding, Matrix]:
    """Fit the encoding to the training rows, and encode them."""
    units = weights.of_rows(table.n_rows)
    median = np.full(table.n_features, np.nan)
    for j in np.flatnonzero(~binning.is_categorical.astype(bool)):
        median[j] = _median(_numbers(table, int(j)), units)
    matrix, feature = _encode(table, binning, median)
    if len(feature) == 0:
        raise ValueError(
            f"Got a table whose columns ({', '.join(map(repr, table.names[:6]))}) have no value at "
            "all; expected some, for the splitter to learn from. Drop them, or use LeafRank."
        )
    return Encoding(median, feature, Box.around(matrix.T)), matrix


def _encode(
    table: Table, binning: Binning, median: NDArray[np.float64]
) -> tuple[Matrix, NDArray[np.intp]]:
    columns: list[NDArray[np.float64]] = []
    feature: list[int] = []
    for j in range(table.n_features):
        block = _encode_feature(table, binning, j, median[j])
        columns += block
        feature += [j] * len(block)
    return np.array(columns), np.array(feature, dtype=np.intp)


def _encode_feature(
    table: Table, binning: Binning, j: int, median: float
) -> list[NDArray[np.float64]]:
    levels = binning.levels[j]
    if levels is not None:
        codes = encode_levels(table.columns[j], levels)
        return [(codes == code).astype(np.float64) for code in range(1, len(levels) + 1)]
    values = _numbers(table, j)
    missing = np.isnan(values)
    filled = np.where(missing, median, values)
    return [filled, missing.astype(np.float64)] if binning.has_missing[j] else [filled]


def _numbers(table: Table, j: int) -> NDArray[np.float64]:
    values = table.matrix[:, j] if table.matrix is not None else table.columns[j].values
    return np.asarray(values, dtype=np.float64)


def _median(values: NDArray[np.float64], units: NDArray[np.int64]) -> float:
    """Return the lower weighted median of the known values, or 0 if there are none."""
    known = ~np.isnan(values)
    if not known.any():
        return 0.0
    values, units = values[known], units[known]
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(units[order])
    return float(values[order][np.searchsorted(2 * upto, upto[-1])])
