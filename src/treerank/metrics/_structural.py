"""Intervals for U-statistics of several samples from their structural components.

AUC and VUS are means over tuples with one row of every class. A row's *placement* is the share of
the tuples containing it that are in order; in each class the placements average to the measure, and
their spread within the classes gives its variance (DeLong, DeLong and Clarke-Pearson 1988, for
two classes; Hoeffding's projection for any number).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, stdtrit

from treerank._input.types import Floats, Indices

from ._proportion import normal_quantile, wilson_for_share

# Equal placements may differ in the last bit or two; a standard error below this counts as zero.
_NO_SPREAD = 1e-14


@dataclass(frozen=True, slots=True)
class Spread:
    """The precision of a mean over tuples.

    `smaller_class` is the effective number of rows of the smallest class: the sample contains that
    many disjoint tuples. `freedom` is Satterthwaite's number of degrees of freedom, which matters
    if one class is small.
    """

    error: float
    freedom: float
    smaller_class: float

    @property
    def is_unusable(self) -> bool:
        """Whether `error` cannot be used: too few rows, or placements without spread."""
        return self.smaller_class < 2 or self.error < _NO_SPREAD

    def half_width(self, level: float) -> float:
        """Return half the width of the interval on the scale of the measure."""
        return float(stdtrit(self.freedom, 0.5 + level / 2)) * self.error


def spread_of_mean(deviation: Floats, code: Indices, weight: Floats) -> Spread:
    """Return the spread of a measure from the deviations of the placements from it.

    Classes are independent, so their variances add up. A class with weights w that sum to 1 adds
    `sum w^2 d^2`, divided by the factor that makes it unbiased for exchangeable rows (1 - 1/n for
    equal weights, as in DeLong's S / n with S over n - 1), with `(sum w^2)^2 / sum w^4 - 1` degrees
    of freedom.
    """
    weight = weight / np.bincount(code, weights=weight)[code]
    w2, w3, w4 = (np.bincount(code, weights=weight**k) for k in (2, 3, 4))
    unbiased = np.maximum(1 - 2 * w3 / w2 + w2, np.finfo(float).eps)
    parts = np.bincount(code, weights=(weight * deviation) ** 2) / unbiased
    variance = float(parts.sum())
    uncertainty = float(np.sum(parts**2 / np.maximum(w2**2 / w4 - 1, 1e-9)))
    freedom = variance**2 / uncertainty if uncertainty > 0 else np.inf
    return Spread(float(np.sqrt(variance)), freedom, float(np.min(1 / w2)))


def interval_within_unit(value: float, spread: Spread, level: float) -> tuple[float, float, float]:
    """Return lower limit, upper limit and standard error of a measure between 0 and 1.

    The limits are computed on the logit scale, so that they cannot leave (0, 1). If the placements
    have no spread, Wilson's interval is used, whose width is never zero, with the upper bound
    `value (1 - value) / m` on the variance over m disjoint tuples (Birnbaum and Klose 1957 for the
    AUC).
    """
    if spread.is_unusable or not 0 < value < 1:
        lower, upper = wilson_for_share(value, spread.smaller_class, level)
        return lower, upper, (upper - lower) / (2 * normal_quantile(level))
    half = spread.half_width(level) / (value * (1 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half)), spread.error
