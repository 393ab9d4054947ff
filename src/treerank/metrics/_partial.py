"""The partial AUC over a range of false positive rates, with a confidence interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats, Label

from ._delong import AucInterval
from ._input import BinarySample, check_binary, check_level, check_rate
from ._parameter_docs import insert_shared_docs
from ._structural import interval_within_unit, spread_of_mean
from ._ties import tie_groups


class Region(NamedTuple):
    """The part of the unit square in which area counts: a range of FPRs, and a minimum TPR."""

    min_fpr: float
    max_fpr: float
    min_tpr: float

    @property
    def width(self) -> float:
        """Width of the range of false positive rates."""
        return self.max_fpr - self.min_fpr

    @property
    def size(self) -> float:
        """Area under a perfect curve in the region."""
        return self.width * (1 - self.min_tpr)

    def standardised(self, share: float) -> float:
        """Put a share of the region on McClish's scale: 1/2 for chance, 1 for a perfect curve."""
        start = min(max(self.min_fpr, self.min_tpr), self.max_fpr)
        chance = ((self.max_fpr - self.min_tpr) ** 2 - (start - self.min_tpr) ** 2) / 2 / self.size
        chance = max(chance, 0.0) if self.max_fpr > self.min_tpr else 0.0
        return (1 + (share - chance) / (1 - chance)) / 2


@insert_shared_docs
def partial_auc_score(
    y: ArrayLike,
    s: ArrayLike,
    *,
    max_fpr: float = 0.1,
    min_fpr: float = 0.0,
    min_tpr: float = 0.0,
    standardise: bool = False,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under a part of the ROC curve, as a share of the area of a perfect score there.

    Only the false positive rates from `min_fpr` to `max_fpr` count (the one-way partial AUC), and
    there only the area above the true positive rate `min_tpr` (the two-way partial AUC [1]_). The
    area is divided by that of the region, so that it is between 0 and 1; with ``min_tpr=0`` it is
    the mean true positive rate over the range.

    Parameters
    ----------
    {y}
    {s}
    max_fpr, min_fpr : float, default=0.1, 0.0
        The range of false positive rates, within [0, 1].
    min_tpr : float in [0, 1), default=0.0
        The lowest true positive rate that is of use.
    standardise : bool, default=False
        Put the share on McClish's scale, as scikit-learn's ``roc_auc_score(max_fpr=...)`` does: 1/2
        for a random score and 1 for a perfect one [2]_.
    {weights}
    {pos_label}

    Returns
    -------
    float

    References
    ----------
    .. [1] Yang, Lu, Lyu and Hu (2019), "Two-way partial AUC and its properties", Statistical
       Methods in Medical Research 28.
    .. [2] McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9.

    Examples
    --------
    >>> from treerank.metrics import partial_auc_score
    >>> y, s = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    >>> round(partial_auc_score(y, s, max_fpr=0.5), 3)
    0.778
    >>> round(partial_auc_score(y, s, max_fpr=0.5, min_tpr=0.5), 3)
    0.556
    >>> round(partial_auc_score(y, s, max_fpr=0.5, standardise=True), 3)
    0.852
    """
    region = check_region(min_fpr, max_fpr, min_tpr)
    sample = check_binary(y, s, sample_weight, pos_label)
    share = partial_placements(sample, region)[0]
    return region.standardised(share) if standardise else share


@insert_shared_docs
def partial_auc_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    max_fpr: float = 0.1,
    min_fpr: float = 0.0,
    min_tpr: float = 0.0,
    standardise: bool = False,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> AucInterval:
    """Partial AUC, one-way or two-way, with a confidence interval, in O(n log n).

    The measure is that of `partial_auc_score`: by default the area under the ROC curve up to the
    false positive rate `max_fpr`, divided by `max_fpr`. This is the mean true positive rate over
    that range, 1 for a perfect score and `max_fpr / 2` for a random one. The variance is that of
    the two means of placements, as for the AUC [1]_: a positive counts by how far its false
    positive rate is below `max_fpr`, a negative in the top by the positives between it and the end
    of the top.

    Parameters
    ----------
    {y}
    {s}
    max_fpr, min_fpr : float, default=0.1, 0.0
        The range of false positive rates, within [0, 1]; the full range gives the AUC.
    min_tpr : float in [0, 1), default=0.0
        The lowest true positive rate that is of use.
    standardise : bool, default=False
        Put the share on McClish's scale: 1/2 for a random score and 1 for a perfect one.
    {sampling_weights}
    {level}
    {pos_label}

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
    level, region = check_level(level), check_region(min_fpr, max_fpr, min_tpr)
    sample = check_binary(y, s, sample_weight, pos_label)
    auc, deviation = partial_placements(sample, region)
    spread = spread_of_mean(deviation, sample.code, sample.weight)
    lower, upper, error = interval_within_unit(auc, spread, level)
    if standardise:
        slope = region.standardised(1.0) - region.standardised(0.0)
        auc, lower, upper = (region.standardised(value) for value in (auc, lower, upper))
        error *= slope
    return AucInterval(auc, lower, upper, error, level)


def check_region(min_fpr: float, max_fpr: float, min_tpr: float = 0.0) -> Region:
    """Check a range of false positive rates and a minimum true positive rate."""
    high = check_rate(max_fpr, "max_fpr")
    low = check_rate(min_fpr, "min_fpr") if min_fpr != 0 else 0.0
    least = check_rate(min_tpr, "min_tpr") if min_tpr != 0 else 0.0
    if low >= high:
        raise ValueError(f"Got min_fpr={min_fpr!r}; expected a rate below max_fpr={max_fpr!r}.")
    if least >= 1:
        raise ValueError(f"Got min_tpr={min_tpr!r}; expected a rate in [0, 1).")
    return Region(low, high, least)


def partial_placements(sample: BinarySample, region: Region) -> tuple[float, Floats]:
    """Return the partial AUC, and the deviation of each row's placement from the class mean.

    Nothing counts below the rate at which the curve reaches `min_tpr`, so the two-way area is the
    one-way area from there on, minus the strip below `min_tpr`. To first order, the position of
    that rate does not matter, because the curve is at `min_tpr` there.
    """
    groups = _Groups(sample)
    start = min(max(region.min_fpr, groups.fpr_at(region.min_tpr)), region.max_fpr)
    placement = groups.placements(region.max_fpr) - groups.placements(start)
    positive = sample.positive
    means = [np.average(placement[here], weights=sample.weight[here])
             for here in (positive, ~positive)]  # fmt: skip
    strip = region.min_tpr * (region.max_fpr - start)
    share = (means[0] - strip) / region.size
    deviation = (placement - np.where(positive, *means)) / region.size
    return float(np.clip(share, 0.0, 1.0)), deviation


class _Groups:
    """Groups of rows with equal scores, and the rates at which each group begins and ends."""

    def __init__(self, sample: BinarySample) -> None:
        self.order, self.group = tie_groups(sample.score)
        self.positive = sample.positive[self.order]
        weight = sample.weight[self.order]
        at_positive = np.bincount(self.group, weights=np.where(self.positive, weight, 0.0))
        at_negative = np.bincount(self.group, weights=np.where(self.positive, 0.0, weight))
        # From the highest score down; groups are numbered from the lowest score up.
        self.fpr = np.append(np.cumsum(at_negative[::-1])[::-1], 0.0) / at_negative.sum()
        self.tpr = np.append(np.cumsum(at_positive[::-1])[::-1], 0.0) / at_positive.sum()

    def fpr_at(self, tpr: float) -> float:
        """Return the lowest false positive rate at which the curve reaches `tpr`."""
        if tpr == 0:
            return 0.0
        fpr, rising = self.fpr[::-1], self.tpr[::-1]
        i = int(np.searchsorted(rising, tpr))  # the first knot that reaches it
        rise = rising[i] - rising[i - 1]
        return float(fpr[i - 1] + (tpr - rising[i - 1]) / rise * (fpr[i] - fpr[i - 1]))

    def placements(self, limit: float) -> Floats:
        """Return what each row adds to the area up to the false positive rate `limit`.

        For a positive, how far its false positive rate is below `limit`. For a negative in the top,
        minus the positives between it and the end of the top.
        """
        fpr, tpr, order, group = self.fpr, self.tpr, self.order, self.group
        start, end = fpr[1:], fpr[:-1]
        # Mean of max(limit - u, 0) over the rates u of the group.
        inside = np.clip(limit - start, 0.0, None)
        width = end - start
        short = np.minimum(width, inside)
        some = width > 0
        divisor = np.where(some, width, 1.0)
        beats = np.where(some, (inside * short - short**2 / 2) / divisor, inside)
        # Positives between a negative and the end of the top, ties halved.
        reached = np.interp(limit, fpr[::-1], tpr[::-1])
        lost = np.clip(reached - (tpr[1:] + np.minimum(tpr[:-1], reached)) / 2, 0.0, None)
        share_inside = np.where(some, short / divisor, start < limit)
        placement = np.empty(order.size)
        placement[order] = np.where(self.positive, beats[group], -(lost * share_inside)[group])
        return placement
