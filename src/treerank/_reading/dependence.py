"""Partial dependence: the mean score when one or two features are set to given values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank import _core
from treerank._binning.binning import Binning, Codes
from treerank._input.parameters import (
    check_choice,
    check_integer,
    check_n_jobs,
    invalid_parameter,
    is_whole,
)
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._input.validation import Table, validate_rows
from treerank._trees.ranking_tree import RankTree, as_bytes

if TYPE_CHECKING:
    from treerank._base import TreeRanker

MAX_GRID = 64  # grid points per feature that the core handles in one walk


@dataclass(frozen=True)
class PartialDependence:
    """Mean score of a model when one or two features are set to the values of a grid.

    Attributes
    ----------
    features : tuple of str
        Names of the features, one or two.
    grid : tuple of arrays
        Values of each feature: numbers, or levels of a category.
    average : array of shape (len(grid[0]),) or (len(grid[0]), len(grid[1]))
        Mean over the rows.
    response : str
        What was averaged: "score" or "probability".
    """

    features: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    average: Floats
    response: str


def partial_dependence(
    model: Any,
    X: TableLike,
    features: Any,
    *,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    response: str = "score",
    sample_weight: ArrayLike | None = None,
) -> PartialDependence:
    """Average the score of a ranking tree over rows, with one or two features set to a grid.

    Equals the mean of `score_samples` over copies of the rows with the features replaced
    (section 5.2 of Clémençon, Depecker & Vayatis 2011), but passes all rows and the whole
    grid down the tree together: a test on one of the features splits the grid, any other
    test splits the rows. This costs little more than one prediction.

    Parameters
    ----------
    model : TreeRank or LeafRank
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to average over, usually the training rows.
    features : str, int, or sequence of one or two
        Names or positions of the features.
    grid_resolution : int, default=100
        Number of values of a numeric feature, evenly spaced between the percentiles. If the
        feature has no more distinct values than this, they form the grid. For a categorical
        feature, the levels do.
    percentiles : tuple of two floats, default=(0.05, 0.95)
        Ends of the grid. If both are the same value, as in a column that is mostly zero, the grid
        goes from this value to the percentiles of the distinct values.
    response : {"score", "probability"}, default="score"
        Average `score_samples`, or the probability of the last class.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the mean.

    Returns
    -------
    PartialDependence
        `features`, `grid`, `average`, `response`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.inspection import partial_dependence
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TreeRank().fit(X, y)
    >>> found = partial_dependence(model, X, "worst perimeter", response="probability")
    >>> bool(found.average[0] > found.average[-1])  # large tumours are seldom benign
    True
    """
    check_has_tests(model, " For other models see sklearn.inspection.partial_dependence.")
    check_choice("response", response, ["score", "probability"])
    resolution = check_integer("grid_resolution", grid_resolution, 2)
    low, high = _check_percentiles(percentiles)
    table = validate_rows(model, X, model._binning.is_categorical)
    chosen = find_features(table.names, features)
    binning, n_jobs = model._binning, check_n_jobs(model.n_jobs)
    weights = _check_weights(sample_weight, table.n_rows)
    grid = tuple(_grid_of(table, binning, j, resolution, low, high) for j in chosen)
    varied = [(j, _grid_codes(binning, j, values)) for j, values in zip(chosen, grid, strict=True)]
    values = _cell_values(model, response)
    codes = binning.transform(table, n_jobs)
    sums = _sum_over_grid(model.tree_, codes, weights, values, varied, n_jobs)
    total = table.n_rows if weights is None else weights.sum()
    return PartialDependence(
        tuple(table.names[j] for j in chosen), grid, np.asarray(sums / total), response
    )


def check_has_tests(model: FittedClassifier, remedy: str = "") -> None:
    """Raise unless the model is a fitted ranking tree whose splits are tests on features."""
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if not isinstance(getattr(model, "tree_", None), RankTree):
        raise ValueError(
            f"Got a {type(model).__name__}; expected a tree whose cells LeafRank splits: TreeRank "
            f"or LeafRank.{remedy}"
        )


def find_features(names: list[str], features: Any) -> list[int]:
    """Positions of one or two features that are given by name or position."""
    given = [features] if isinstance(features, str | int | np.integer) else list(features)
    expected = "one or two different features, by name or position"
    if len(given) not in (1, 2):
        raise invalid_parameter("features", features, expected)
    found = [find_feature(names, feature) for feature in given]
    if len(set(found)) < len(found):
        raise invalid_parameter("features", features, expected)
    return found


def find_feature(names: list[str], feature: Any) -> int:
    """Position of a feature that is given by name or position."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"Got feature {feature!r}; expected a column name, or a position from 0 to "
        f"{len(names) - 1}."
    )


def _check_percentiles(percentiles: Any) -> tuple[float, float]:
    try:
        low, high = (float(p) for p in percentiles)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        raise invalid_parameter("percentiles", percentiles, "two shares, 0 <= low < high <= 1")
    return low, high


def _check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"Got sample_weight of shape {weights.shape}; expected {n_rows} finite weights that "
            "are not negative, and not all zero."
        )
    return weights


def _grid_of(
    table: Table, binning: Binning, j: int, resolution: int, low: float, high: float
) -> NDArray[Any]:
    """Grid values of a feature. Levels that share a code form one value."""
    levels = binning.levels[j]
    if levels is not None:
        return np.fromiter(levels, object, len(levels))
    values = table.matrix[:, j] if table.matrix is not None else table.columns[j].values
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) == 0:
        raise ValueError(f"Got column {table.names[j]!r} without a known value; expected some.")
    distinct = np.unique(known)
    if len(distinct) <= resolution:
        return distinct
    first, last = np.quantile(known, [low, high])
    if first == last:
        ends = np.quantile(distinct, [low, high])
        first, last = min(first, ends[0]), max(last, ends[1])
    return np.linspace(first, last, resolution)


def _grid_codes(binning: Binning, j: int, grid: NDArray[Any]) -> NDArray[np.uint16]:
    if binning.levels[j] is not None:
        return np.arange(1, len(grid) + 1, dtype=np.uint16)
    return (1 + np.searchsorted(binning.thresholds[j], grid, side="left")).astype(np.uint16)


def _cell_values(model: TreeRanker, response: str) -> Floats:
    """Response of each leaf cell. Inner cells have 0, which is not used."""
    by_stratum = model.partition_.scores if response == "score" else model._posterior[:, -1]
    values = np.zeros(model.tree_.n_cells)
    leaves = model.tree_.leaves
    values[leaves] = by_stratum[model._stratum[leaves]]
    return values


def alike_codes(tree: RankTree, j: int, codes: NDArray[Any]) -> NDArray[np.intp]:
    """Number the codes of a feature so that codes that no test separates share a number."""
    tests = tree.tests[(tree.tests["left"] >= 0) & (tree.tests["feature"] == j)]
    if tests["categorical"].any():
        return np.unique(codes, return_inverse=True)[1]
    known = np.searchsorted(np.unique(tests["cut"]), codes, side="left") + 1
    return np.asarray(np.unique(np.where(codes == 0, 0, known), return_inverse=True)[1])


def _sum_over_grid(
    tree: RankTree,
    codes: Codes,
    weights: Floats | None,
    values: Floats,
    varied: list[tuple[int, NDArray[np.uint16]]],
    n_jobs: int,
) -> Floats:
    """Sum over the rows for the whole grid, with one walk per block of 64 x 64 grid points."""
    slots, target = tree.flat
    sets = as_bytes(tree.category_sets)
    places, distinct = [], []
    for j, grid in varied:
        place = alike_codes(tree, j, grid)
        places.append(place)
        distinct.append(grid[np.unique(place, return_index=True)[1]])
    if len(varied) == 1:
        distinct.append(np.zeros(1, dtype=np.uint16))
    features = [*(j for j, _ in varied), -1][:2]
    table = np.empty((len(distinct[0]), len(distinct[1])))
    for a in range(0, len(distinct[0]), MAX_GRID):
        for b in range(0, len(distinct[1]), MAX_GRID):
            first, second = distinct[0][a : a + MAX_GRID], distinct[1][b : b + MAX_GRID]
            sums = _core.sum_over_rows(
                slots, target, sets, codes, weights, values, features[0], first, features[1],
                second, n_jobs,
            )  # fmt: skip
            table[a : a + MAX_GRID, b : b + MAX_GRID] = sums.reshape(len(first), len(second))
    return table[np.ix_(*places)] if len(varied) == 2 else table[places[0], 0]
