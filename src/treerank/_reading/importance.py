"""Global feature importance with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._input.frames import frame_of, open_frame
from treerank._input.label_order import label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.parameters import check_integer
from treerank._input.seed import seed_of
from treerank._input.types import FittedClassifier, Floats, RandomStateLike, TableLike
from treerank._input.validation import feature_names
from treerank._reading.attributions import attributions, rows_of
from treerank._reading.reasons import check_groups
from treerank._reading.tree_sums import tree_sum
from treerank._select.scores import ranking_scores
from treerank.metrics._delong import difference_limits
from treerank.metrics._input import check_level, check_ordered
from treerank.metrics._ordinal import _placements
from treerank.metrics._structural import Spread, spread_of_mean

DRAWS_AT_ONCE = 64


@dataclass(frozen=True)
class Importance:
    """How much a model depends on each feature, or group of features.

    Attributes
    ----------
    names : list of str
        Features or groups, the most important first.
    values : array
    lower, upper : arrays
        Limits of the confidence intervals.
    level : float
        Their confidence level.
    kind : str
        What the values measure.
    """

    names: list[str]
    values: Floats
    lower: Floats
    upper: Floats
    level: float
    kind: str

    def __len__(self) -> int:
        return len(self.names)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, one row per feature or group, the most important first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        columns = {"feature": self.names, "importance": self.values}
        return frame_of({**columns, "lower": self.lower, "upper": self.upper}, backend)


def attribution_importance(
    model: FittedClassifier,
    X: TableLike,
    baseline: Any = None,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    random_state: RandomStateLike = 0,
) -> Importance:
    """Mean absolute attribution of each feature, with intervals from a bootstrap of the rows.

    Measures how far a feature moves scores, in either direction: what the model does, not
    whether it is right.

    Parameters
    ----------
    model, X, baseline
        As in :func:`attributions`.
    groups : mapping of str to sequence of features, optional
        Features whose attributions are added up before the absolute value is taken.
    n_bootstrap : int, default=1000
        Number of bootstrap samples.
    level : float, default=0.95
    random_state : int, RandomState or None, default=0

    Returns
    -------
    Importance

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.inspection import attribution_importance
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = attribution_importance(TreeRank().fit(X, y), X)
    >>> bool(found.lower[0] < found.values[0] < found.upper[0])
    True
    """
    level = check_level(level)
    n_draws = check_integer("n_bootstrap", n_bootstrap, 2)
    tree_sum(model)  # raises for models that have no attributions
    table = rows_of(model, X, "X")
    members = check_groups(groups, table.names)
    found = attributions(model, table, baseline)
    sizes = np.column_stack([np.abs(found.values[:, at].sum(axis=1)) for at in members.values()])
    rng = np.random.default_rng(seed_of(random_state))
    n = len(sizes)
    means = []
    for first in range(0, n_draws, DRAWS_AT_ONCE):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(DRAWS_AT_ONCE, n_draws - first))
        means.append(counts @ sizes / n)
    tail = (1 - level) / 2
    lower, upper = np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0)
    values = sizes.mean(axis=0)
    return _sorted(members, values, lower, upper, level, "mean absolute attribution")


def auc_importance(
    model: FittedClassifier,
    X: TableLike,
    y: ArrayLike,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    n_repeats: int = 5,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: RandomStateLike = 0,
) -> Importance:
    """Loss of AUC on held-out rows when a feature, or a group, is shuffled, with intervals.

    The columns of a group are shuffled together: if redundant columns are shuffled one by one,
    each is replaced by the others, and all appear unimportant. The intervals are those of
    DeLong's paired comparison, widened by the variance over the repetitions. With more than two
    classes, the VUS is used instead of the AUC.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or any binary classifier with scores.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted to.
    y : array-like of shape (n_samples,)
        Their labels.
    groups : mapping of str to sequence of features, optional
    n_repeats : int, default=5
        Number of times that each feature is shuffled.
    level : float, default=0.95
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState or None, default=0

    Returns
    -------
    Importance

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.inspection import auc_importance
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TreeRank().fit(X[::2], y[::2])
    >>> found = auc_importance(model, X[1::2], y[1::2])
    >>> len(found), found.kind
    (30, 'loss of AUC')
    """
    check_is_fitted(model)
    level = check_level(level)
    repeats = check_integer("n_repeats", n_repeats, 1)
    classes = label_order_of(model)
    labels = check_known_labels(y, classes)
    frame = open_frame(X)
    names = feature_names(model, frame)
    members = check_groups(groups, names)
    rng = np.random.default_rng(seed_of(random_state))

    def score(at: list[int], order: NDArray[np.intp] | None) -> Floats:
        rows = X if order is None else _shuffled(X if frame is None else frame, at, order)
        return ranking_scores(model, rows)

    judged = labels, classes, sample_weight
    return importance_by_shuffling(score, members, judged, repeats, level, rng)


def importance_by_shuffling(
    score: Callable[[list[int], NDArray[np.intp] | None], Floats],
    members: dict[str, list[int]],
    judged: tuple[NDArray[Any], NDArray[Any], Any],
    n_repeats: int,
    level: float,
    rng: np.random.Generator,
) -> Importance:
    """Loss of AUC or VUS when groups of columns are shuffled.

    `score` takes the columns and the order; None scores the rows as they are. `judged` holds the
    labels, the classes in order, and the weights.
    """
    labels, classes, sample_weight = judged
    orders = [rng.permutation(len(labels)) for _ in range(n_repeats)]

    def placed(at: list[int], order: NDArray[np.intp] | None) -> tuple[Floats, Any]:
        sample = check_ordered(labels, score(at, order), sample_weight, classes)
        return _placements(sample), sample

    whole, sample = placed([], None)
    top = sample.code == sample.classes.size - 1
    limits = []
    for at in members.values():
        lost = np.array([whole - placed(at, order)[0] for order in orders])
        losses = np.average(lost[:, top], axis=1, weights=sample.weight[top])
        limits.append(_limits(lost.mean(axis=0), losses, sample, level))
    values, lower, upper = np.array(limits).T
    kind = "loss of AUC" if len(classes) == 2 else "loss of VUS"
    return _sorted(members, values, lower, upper, level, kind)


def _limits(lost: Floats, losses: Floats, sample: Any, level: float) -> tuple[float, float, float]:
    """Return the mean loss and its limits, from the variance over rows and over repetitions."""
    value = float(losses.mean())
    spread = spread_of_mean(lost - value, sample.code, sample.weight)
    if len(losses) > 1:
        shuffling = losses.var(ddof=1) / len(losses)
        error = float(np.sqrt(spread.error**2 + shuffling))
        spread = Spread(error, spread.freedom, spread.smaller_class)
    if not lost.any():  # a column that the model does not use
        return 0.0, 0.0, 0.0
    lower, upper, _, _ = difference_limits(value, spread, level)
    return value, lower, upper


def _shuffled(X: TableLike, at: list[int], order: NDArray[np.intp]) -> Any:
    """Return the rows with the columns `at` reordered."""
    if isinstance(X, nw.DataFrame):
        if X.implementation.is_pandas_like():  # with_columns() would align them by the index
            rows = X.to_native().copy()
            for j in at:
                rows[rows.columns[j]] = rows[rows.columns[j]].array[order]
            return rows
        moved = X[order.tolist(), :]
        return X.with_columns([moved[X.columns[j]] for j in at]).to_native()
    rows = np.array(X)
    rows[:, at] = rows[order][:, at]
    return rows


def _sorted(
    members: dict[str, list[int]], values: Floats, lower: Floats, upper: Floats, level: float,
    kind: str,
) -> Importance:  # fmt: skip
    order = np.argsort(-values, kind="stable")
    names = list(members)
    return Importance(
        [names[j] for j in order], values[order], lower[order], upper[order], level, kind
    )
