"""Attributions: divide the score of a row among the features."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Codes
from treerank._input.parameters import check_choice, check_integer, check_n_jobs
from treerank._input.types import Floats, TableLike
from treerank._input.validation import Table, validate_rows
from treerank._reading.tree_sums import TreeSum, tree_sum

# For trees with too many paths: the number of random orders of the features, over all trees, and
# the maximum for one tree. Each order is followed by its reverse.
N_ORDERS = 400
MOST_ORDERS = 64


@dataclass(frozen=True)
class Attributions:
    """Contribution of each feature to the score of each row.

    Attributes
    ----------
    values : array of shape (n_samples, n_features)
        The values of a row and `expected_value` sum to the score of the row.
    expected_value : float
        The score when nothing is known about a row: the mean over the training rows, or over the
        baseline.
    interactions : array of shape (n_samples, n_features, n_features) or None
        Interaction values of pairs of features, half of each on either side of the diagonal. The
        diagonal has what a feature contributes by itself. Each row of the matrix sums to the
        feature's value.
    data : array of shape (n_samples, n_features)
        The rows as passed; an array of objects if there are categorical features.
    feature_names : list of str
    method : {"path-dependent", "interventional"}
    exact : bool
        False if the values of some trees were estimated, because these have too many paths and
        features; see `attributions`.
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
        """Return a `shap.Explanation` for the plots of shap, which must be installed."""
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
    """Divide the score of each row among the features, so that the parts sum to the score.

    Computes Shapley values: the contribution of a feature to the score, averaged over all orders
    in which the features of the row become known. Features that are not known yet are averaged
    out, either with the training weights in the nodes of the trees (path-dependent, as in
    TreeSHAP [1]_) or over the rows of a baseline (interventional).

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted, with LeafRank as the splitter. A forest must have ``aggregation="posterior"`` or
        ``"mean_rank"``.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to explain.
    baseline : array-like or data frame of shape (n_rows, n_features), optional
        Rows to compare with, for example a sample of the population, or of the approved cases.
        About a hundred rows are enough; the time grows with their number. By default, the
        training weights stored in the model are used instead.
    interactions : bool, default=False
        Also compute the interaction values of pairs of features.
    max_paths : int, default=20_000
        Used without a baseline only. Cells that are merged and split again are reached by many
        paths. For a tree with more paths than this, or with more than 1,000 tests on a path, the
        values are computed from the values of all subsets of its features if there are at most
        ``max_paths / 16`` subsets (by default, up to ten features). For all other such trees, they
        are estimated from the contributions along random orders of the features, about 400 over all
        trees. Estimated values still sum to the score, and `exact` is False. With a baseline, all
        values are exact, and no path may have more than 1,000 tests.

    Returns
    -------
    Attributions
        `values`, `expected_value` and `interactions`, with the rows that they belong to.

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
    limit = check_integer("max_paths", max_paths, 1)
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
    """Return the values, the pairs, the expected value, and whether they are exact."""
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
    """Number of random orders to draw per tree: the more trees, the fewer."""
    n_trees = len(trees.starts) - 1
    return min(MOST_ORDERS, 2 * -(-N_ORDERS // (2 * n_trees)))


def _check_paths(trees: TreeSum, max_paths: int) -> None:
    starts, slots, _, set_of, sets, at_end = trees.walks
    paths = _core.estimated_paths(starts, slots, set_of, sets, at_end, max_paths)
    if len(paths):
        raise ValueError(
            f"Got interactions=True and a tree with {paths.max():,.0f} paths to its merged cells "
            f"and many features; expected at most max_paths={max_paths:,} paths, and 1,000 tests "
            "on each. Give a baseline: against one, the number of paths does not matter."
        )


def rows_of(model: Any, X: TableLike | Table, name: str) -> Table:
    """Validate rows; an error names the argument that they were passed as."""
    try:
        return validate_rows(model, X, model._binning.is_categorical)
    except ValueError as error:
        if name == "X":
            raise
        raise ValueError(f"Got a {name} that does not fit the model: {error}") from None


def _baseline_codes(model: Any, baseline: Any, n_jobs: int) -> Codes:
    codes: Codes = model._binning.transform(rows_of(model, baseline, "baseline"), n_jobs)
    return codes


def data_of(table: Table) -> NDArray[Any]:
    """Return the rows as an array of numbers, or of objects if there are categories."""
    if table.matrix is not None:
        return np.asarray(table.matrix, dtype=np.float64)
    if not table.is_categorical.any():
        columns = [np.asarray(column.values, dtype=np.float64) for column in table.columns]
        return np.column_stack(columns)
    data = np.empty((table.n_rows, table.n_features), dtype=object)
    for j, column in enumerate(table.columns):
        data[:, j] = np.fromiter(column.values, object, table.n_rows)
    return data
