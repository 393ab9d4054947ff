"""Concordance: the share of pairs of different ordered classes that a score puts in order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats

from ._input import OrderedSample, check_level, check_ordered
from ._parameter_docs import insert_shared_docs
from ._structural import Spread, interval_within_unit
from ._ties import group_weights, tie_groups


@dataclass(frozen=True, slots=True)
class ConcordanceInterval:
    """A concordance with its confidence interval."""

    concordance: float
    lower: float
    upper: float
    standard_error: float
    level: float


@insert_shared_docs
def concordance_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    labels: Any = None,
) -> ConcordanceInterval:
    """Concordance of a score with ordered classes (Harrell's C), with a confidence interval.

    The concordance is the probability that, of two random rows of different classes, the one of the
    higher class has the higher score, with ties counted as 1/2 (Somers' D is 2 C - 1). A random
    score has a concordance of 1/2 for any number of classes; with two classes it is the AUC. All
    rows contribute, so that a class of a few rows does not make it uncertain, unlike the VUS.

    Parameters
    ----------
    {ordered_y}
    {s}
    sample_weight : array-like of shape (n,), optional
        Sampling weights: how many cases of the population a row stands for.
    {level}
    {labels}

    Returns
    -------
    ConcordanceInterval
        `concordance`, `lower`, `upper`, `standard_error`, `level`.

    References
    ----------
    Newson (2002), "Parameters behind nonparametric statistics: Kendall's tau, Somers' D and median
    differences", Stata Journal 2: the variance of a ratio of U-statistics.

    Examples
    --------
    >>> from treerank.metrics import concordance_interval
    >>> found = concordance_interval([1, 1, 1, 2, 2, 2, 3, 3, 3], [1, 2, 4, 3, 5, 6, 2, 7, 8])
    >>> round(found.concordance, 3), round(found.lower, 3), round(found.upper, 3)
    (0.796, 0.28, 0.975)
    """
    level = check_level(level)
    sample = check_ordered(y, s, sample_weight, labels)
    agreeing, comparable = pair_weights(sample)
    total = float(sample.weight @ comparable)
    value = float(sample.weight @ agreeing) / total
    spread = spread_of_ratio(agreeing - value * comparable, total, sample)
    lower, upper, error = interval_within_unit(value, spread, level)
    return ConcordanceInterval(value, lower, upper, error, level)


def pair_weights(sample: OrderedSample) -> tuple[Floats, Floats]:
    """Return the weight of other classes' rows in order with each row, and of all of them."""
    order, group = tie_groups(sample.score)
    code = sample.code[order]
    weights = group_weights(group, code, sample.weight[order], sample.classes.size)
    below = np.cumsum(weights, axis=1) - weights / 2
    total = weights.sum(axis=1)
    above = total[:, np.newaxis] - below
    in_order = np.cumsum(below, axis=0) - below
    in_order += np.cumsum(above[::-1], axis=0)[::-1] - above
    agreeing = np.empty(order.size)
    agreeing[order] = in_order[code, group]
    return agreeing, (total.sum() - total)[sample.code]


def spread_of_ratio(deviation: Floats, total: float, sample: OrderedSample) -> Spread:
    """Return the spread of a share of pairs from the deviation of each row's pairs from it.

    Each pair counts for both of its rows, hence the factor 2.
    """
    weight = sample.weight
    n = float(weight.sum() ** 2 / (weight @ weight))
    influence = 2 * weight * deviation / total
    error = float(np.sqrt(influence @ influence * n / max(n - 1, 1)))
    by_class = np.bincount(sample.code, weights=weight)
    others = n * float(1 - by_class.max() / by_class.sum())
    return Spread(error, max(n - 1, 1), others)
