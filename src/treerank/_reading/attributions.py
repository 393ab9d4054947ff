"""Attributions: a score shared out over the features, exactly."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Codes
from treerank._input.parameters import check_choice, check_integer, check_n_jobs
from treerank._input.types import TableLike
from treerank._input.validation import Table, validate_rows
from treerank._reading.tree_sums import TreeSum, tree_sum

Floats = NDArray[np.float64]
# Random orders of the features, over all trees, where trees have too many paths; and most for a
# tree. Each order comes with its reverse.
N_ORDERS = 400
MOST_ORDERS = 64


@dataclass(frozen=True)
class Attributions:
    """What each feature adds to the score of each row.

    Attributes
    ----------
    values : array of shape (n_samples, n_features)
        Together with `expected_value` they sum to the score of the row.
    expected_value : float
        The score when nothing is known of a row: the mean over the training rows, or over the
        baseline.
    interactions : array of shape (n_samples, n_features, n_features) or None
        Of pairs of features, each half in both places; on the diagonal what a feature adds by
        itself. A row of the matrix sums to the feature's value.
    data : array of shape (n_samples, n_features)
        The rows as they were given; of objects where there are categories.
    feature_names : list of str
    method : {"path-dependent", "interventional"}
    exact : bool
        False where some trees have too many paths and features and were estimated; see
        `attributions`.
    """

    values: Floats
    expected_value: float
    interactions: Floats | None
    data: NDArray[Any]
    feature_names: list[str]
    method: str
    exact: bool

    def __len__(self) -> int:
        return len(self.values)

    @property
    def scores(self) -> Floats:
        """Score of each row: the expected value plus the row's attributions."""
        return np.asarray(self.expected_value + self.values.sum(axis=1))

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, for the plots of that library, which must be installed."""
        try:
            shap = importlib.import_module("shap")
        except ImportError:
            raise ImportError(
                "to_shap() needs the package shap; install it, or use the displays of "
                "treerank.plots."
            ) from None
        return shap.Explanation(
            values=self.values,
            base_values=np.full(len(self), self.expected_value),
            data=self.data,
            feature_names=self.feature_names,
        )


def attributions(
    model: Any,
    X: TableLike | Table,
    baseline: Any = None,
    *,
    interactions: bool = False,
    max_paths: int = 20_000,
) -> Attributions:
    """Divide the score of each row among the features, so that the parts sum to it.

    Shapley values: what a feature adds to the score, averaged over all orders in which the
    features of the row become known. Features that are not known are averaged out, by the
    training rows in the nodes of the trees (path-dependent, as in TreeSHAP [1]_), or over the
    rows of a baseline (interventional).

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted, with LeafRank as the splitter; a forest with ``aggregation="posterior"`` or
        ``"mean_rank"``.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to explain.
    baseline : array-like or data frame of shape (n_rows, n_features), optional
        Rows to compare with: a sample of the population, or those that were approved. A hundred
        or so will do; time grows with their number. By default the training weights that the
        model keeps.
    interactions : bool, default=False
        Also compute the values of pairs of features.
    max_paths : int, default=20_000
        Without a baseline: cells that are merged and split again are reached by many paths. A
        tree with more paths than this is computed from the values of all sets of its features
        if these sets are few: ``max_paths / 16`` or fewer, which by default are trees of ten
        features. Other such trees are estimated from the contributions along random orders of
        the features, some 400 over all trees; they sum to the score all the same, and `exact` is
        False. Against a baseline all trees are exact.

    Returns
    -------
    Attributions
        `values`, `expected_value`, `interactions`, and what they belong to.

    References
    ----------
    .. [1] S. Lundberg et al., "From local explanations to global understanding with explainable
       AI for trees", Nature Machine Intelligence 2, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import RankingForest
    >>> from treerank.inspection import attributions
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RankingForest(n_estimators=20).fit(X, y)
    >>> found = attributions(model, X[:5], baseline=X[::10])
    >>> found.values.shape
    (5, 30)
    >>> bool(abs(found.scores - model.score_samples(X[:5])).max() < 1e-9)
    True
    """
    check_choice("interactions", interactions, [True, False])
    limit = check_integer("max_paths", max_paths, 1) or 1
    trees = tree_sum(model)
    table = rows_of(model, X, "X")
    n_jobs = check_n_jobs(model.n_jobs)
    codes = model._binning.transform(table, n_jobs)
    if trees is None:
        raw, expected, exact = np.zeros(codes.T.shape), float(model._start), True
        pairs = np.zeros((*raw.shape, raw.shape[1])) if interactions else None
    else:
        against = None if baseline is None else _baseline_codes(model, baseline, n_jobs)
        raw, pairs, expected, exact = _attribute(trees, codes, against, interactions, limit, n_jobs)
    return Attributions(
        values=raw,
        expected_value=expected,
        interactions=pairs,
        data=data_of(table),
        feature_names=table.names,
        method="path-dependent" if baseline is None else "interventional",
        exact=exact,
    )


def _attribute(
    trees: TreeSum,
    codes: Codes,
    baseline: Codes | None,
    interactions: bool,
    max_paths: int,
    n_jobs: int,
) -> tuple[Floats, Floats | None, float, bool]:
    """Values, pairs, the expected value, and whether they are exact."""
    p, n = codes.shape
    if baseline is not None:
        flat, expected, exact = _core.attribute_baseline(
            *trees.walks, codes, baseline, interactions, n_jobs
        )
    elif trees.left_share is None:
        raise ValueError(
            "Got a model saved by version 0.1.0, which did not keep the training weights of its "
            "trees; expected a baseline to compare with, or a model that is fitted again."
        )
    else:
        if interactions:
            _check_paths(trees, max_paths)
        flat, expected, exact = _core.attribute_paths(
            *trees.walks,
            trees.left_share,
            codes,
            interactions,
            max_paths,
            _orders_of(trees),
            n_jobs,
        )
    found = flat * trees.factor
    expected = expected * trees.factor + trees.offset
    if not interactions:
        return found.reshape(n, p), None, expected, exact
    pairs = found.reshape(n, p, p)
    return pairs.sum(axis=2), pairs, expected, exact


def _orders_of(trees: TreeSum) -> int:
    """Orders to draw for a tree: few where many trees share the work."""
    n_trees = len(trees.starts) - 1
    return min(MOST_ORDERS, 2 * -(-N_ORDERS // (2 * n_trees)))


def _check_paths(trees: TreeSum, max_paths: int) -> None:
    starts, slots, _, set_of, sets, at_end = trees.walks
    paths = _core.estimated_paths(starts, slots, set_of, sets, at_end, max_paths)
    if len(paths):
        raise ValueError(
            f"Got interactions=True and a tree with {paths.max():,.0f} paths to its merged cells "
            f"and many features; expected at most max_paths={max_paths:,} paths. Give a baseline: "
            "against one, interactions are exact for any tree."
        )


def rows_of(model: Any, X: TableLike | Table, name: str) -> Table:
    """Check rows; an error says which argument they are."""
    try:
        return validate_rows(model, X, model._binning.is_categorical.astype(bool).tolist())
    except ValueError as error:
        if name == "X":
            raise
        raise ValueError(f"Got a {name} that does not fit the model: {error}") from None


def _baseline_codes(model: Any, baseline: Any, n_jobs: int) -> Codes:
    codes: Codes = model._binning.transform(rows_of(model, baseline, "baseline"), n_jobs)
    return codes


def data_of(table: Table) -> NDArray[Any]:
    """Rows as an array: numbers, or objects where there are categories."""
    if table.matrix is not None:
        return np.asarray(table.matrix, dtype=np.float64)
    if not table.is_categorical.any():
        columns = [np.asarray(column.values, dtype=np.float64) for column in table.columns]
        return np.column_stack(columns)
    data = np.empty((table.n_rows, table.n_features), dtype=object)
    for j, column in enumerate(table.columns):
        data[:, j] = np.fromiter(column.values, object, table.n_rows)
    return data
