"""The AUC up to a false positive rate, with an interval."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._delong import AucInterval
from ._input import BinarySample, FloatArray, check_binary, check_level, check_rate
from ._structural import interval_within_unit, spread_of_mean
from ._ties import tie_groups


def partial_auc_interval(
    y: Any,
    s: ArrayLike,
    *,
    max_fpr: float = 0.1,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Any = None,
) -> AucInterval:
    """Partial AUC with a confidence interval, in O(n log n).

    The area under the ROC curve up to the false positive rate `max_fpr`, divided by `max_fpr`: the
    mean true positive rate over that range, 1 for a perfect score and `max_fpr / 2` for a random
    one. The variance is that of the two means of placements, as for the AUC [1]_: a positive counts
    for how far below `max_fpr` it stands, a negative of the top for the positives between it and
    the end of the top.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two classes; the higher one is positive.
    s : array-like of shape (n,)
        Scores, higher is better.
    max_fpr : float in (0, 1], default=0.1
        The largest false positive rate that counts; 1 gives the AUC.
    sample_weight : array-like of shape (n,), optional
        Sampling weights; see `auc_interval`.
    level : float, default=0.95
        Confidence level.
    pos_label : label, optional
        The positive class, where it is not the higher one.

    Returns
    -------
    AucInterval
        `auc` (the partial one), `lower`, `upper`, `standard_error`, `level`.

    References
    ----------
    .. [1] Dodd and Pepe (2003), "Partial AUC estimation and regression", Biometrics 59.

    Examples
    --------
    >>> from treerank.metrics import partial_auc_interval
    >>> found = partial_auc_interval([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], max_fpr=0.5)
    >>> round(found.auc, 3), round(found.lower, 3), round(found.upper, 3)
    (0.778, 0.022, 0.998)
    """
    level, limit = check_level(level), check_rate(max_fpr, "max_fpr")
    sample = check_binary(y, s, sample_weight, pos_label)
    auc, deviation = _placements(sample, limit)
    spread = spread_of_mean(deviation, sample.code, sample.weight)
    lower, upper, error = interval_within_unit(auc, spread, level)
    return AucInterval(auc, lower, upper, error, level)


def _placements(sample: BinarySample, limit: float) -> tuple[float, FloatArray]:
    """Return the partial AUC, and how far each row's placement is from the mean of its class."""
    order, group = tie_groups(sample.score)
    positive, weight = sample.positive[order], sample.weight[order]
    at_positive = np.bincount(group, weights=np.where(positive, weight, 0.0))
    at_negative = np.bincount(group, weights=np.where(positive, 0.0, weight))
    # Rates at which each group of ties begins and ends, from the highest score down.
    fpr = np.append(np.cumsum(at_negative[::-1])[::-1], 0.0) / at_negative.sum()
    tpr = np.append(np.cumsum(at_positive[::-1])[::-1], 0.0) / at_positive.sum()
    start, end = fpr[1:], fpr[:-1]
    # Mean of max(limit - u, 0) over the rates u of the group.
    inside = np.clip(limit - start, 0.0, None)
    width = end - start
    short = np.minimum(width, inside)
    mean = np.where(
        width > 0, (inside * short - short**2 / 2) / np.where(width > 0, width, 1.0), inside
    )
    beats = mean / limit
    # Positives between a negative and the end of the top, ties halved.
    reached = np.interp(limit, fpr[::-1], tpr[::-1])
    lost = np.clip(reached - (tpr[1:] + np.minimum(tpr[:-1], reached)) / 2, 0.0, None) / limit
    share_inside = np.where(width > 0, short / np.where(width > 0, width, 1.0), start < limit)
    placement = np.empty(order.size)
    placement[order] = np.where(positive, beats[group], -(lost * share_inside)[group])
    means = [np.average(placement[here], weights=sample.weight[here])
             for here in (sample.positive, ~sample.positive)]  # fmt: skip
    deviation = placement - np.where(sample.positive, *means)
    return float(np.clip(means[0], 0.0, 1.0)), deviation
