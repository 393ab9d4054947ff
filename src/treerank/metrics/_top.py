"""Metrics for the top of a ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import auc as area

from treerank._input.types import Floats, Label

from ._input import BinarySample, check_binary, check_rate
from ._parameter_docs import insert_shared_docs
from ._ties import cumulated_weights


@insert_shared_docs
def local_auc_score(
    y: ArrayLike,
    s: ArrayLike,
    *,
    rate: float = 0.1,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """AUC of the top `rate` of the ranking.

    Let (a, b) be the point where the ROC curve meets the control line `rate = p b + (1 - p) a`,
    where p is the share of positives. The local AUC is `b (1 - a)` plus the area under the curve up
    to a [1]_: the probability that a positive is in the top and ahead of a negative. It grows from
    0 to the AUC as `rate` goes to 1. A tie across the line is split by interpolation, so that the
    top never holds more than `rate` of the rows.

    Parameters
    ----------
    {y}
    {s}
    {rate}
    {weights}
    {pos_label}

    Returns
    -------
    float

    References
    ----------
    .. [1] Clémençon and Vayatis (2007), "Ranking the best instances", Journal of Machine Learning
       Research 8.

    Examples
    --------
    >>> from treerank.metrics import local_auc_score
    >>> local_auc_score([0, 1, 0, 1], [1, 2, 3, 4], rate=0.5)
    0.5
    >>> local_auc_score([0, 1, 0, 1], [1, 2, 3, 4], rate=1)
    0.75
    """
    rate = check_rate(rate)
    return local_auc_of(check_binary(y, s, sample_weight, pos_label), rate)


def local_auc_of(sample: BinarySample, rate: float) -> float:
    """Return the local AUC of rows that have been checked."""
    negative, positive, _ = cumulated_weights(sample)
    a, b = _cut_at_rate(negative, positive, rate)
    a, b = a / negative[-1], b / positive[-1]
    return float(b[-1] * (1 - a[-1]) + area(a, b))


@insert_shared_docs
def hit_rate_score(
    y: ArrayLike,
    s: ArrayLike,
    *,
    rate: float = 0.1,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Share of positives among the top `rate` of the ranking.

    If a tie crosses the cut, its rows share the remaining places in proportion.

    Parameters
    ----------
    {y}
    {s}
    {rate}
    {weights}
    {pos_label}

    Returns
    -------
    float

    Examples
    --------
    >>> from treerank.metrics import hit_rate_score
    >>> hit_rate_score([0, 1, 0, 1, 1], [1, 2, 3, 4, 5], rate=0.4)
    1.0
    >>> hit_rate_score([0, 1, 0, 1], [7, 7, 7, 7], rate=0.1)
    0.5
    """
    rate = check_rate(rate)
    sample = check_binary(y, s, sample_weight, pos_label)
    negative, positive, _ = cumulated_weights(sample)
    _, hits = _cut_at_rate(negative, positive, rate)
    return float(min(hits[-1] / (rate * (negative[-1] + positive[-1])), 1.0))


def _cut_at_rate(negative: Floats, positive: Floats, rate: float) -> tuple[Floats, Floats]:
    """Truncate the cumulative weights where they reach the share `rate` of all rows."""
    called = negative + positive
    top = rate * called[-1]
    keep = int(np.searchsorted(called, top))
    ends = np.interp(top, called, negative), np.interp(top, called, positive)
    return np.append(negative[:keep], ends[0]), np.append(positive[:keep], ends[1])
