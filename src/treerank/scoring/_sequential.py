"""Tests that may be looked at as often as one likes, and stay within their level.

A test that is made each month at 5 % gives a false alarm within two years more likely than not. An
*e-process* E starts at 1 and has no upward drift while nothing is wrong, so that it ever reaches
1 / alpha with a probability of at most alpha (Ville's inequality), however often it is looked at.

The difference D between new rows and a baseline, estimated anew with all rows so far, has
independent increments on the scale of its information J = 1 / var(D): B = J D is a Brownian motion
in the time J, though all differences share the baseline. Averaged over the size of the change by a
normal distribution of variance 1 / rho (Robbins 1970), its likelihood ratio is::

    E = sqrt(rho / (J + rho)) exp(B^2 / (2 (J + rho)))

for a change either way. For a change upwards, over the positive half of the normal distribution, it
is 2 Phi(B / sqrt(J + rho)) times as much (Howard et al. 2021).

A change may begin in any period, and what came before it would dilute it. Therefore such a process
is begun in each period k, with the share 1 / (k (k + 1)) of the level; these shares add up to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import chi2

Floats = NDArray[np.float64]
# The average over sizes of a change is tuned for this many first periods of information.
TUNED_PERIODS = 6
# J / rho at which the boundary is tightest for levels about 5 %.
TIGHTEST = 8.0


def log_evidence(
    estimate: Floats, variance: Floats, baseline_variance: float, *, one_sided: bool
) -> Floats:
    """Log of the evidence after each period that something has changed, in whichever period.

    It ever reaches log(1 / alpha) with a probability of at most alpha while nothing has; for the
    parameters see `log_e_process`.
    """
    found = np.full(len(estimate), -np.inf)
    for k in range(len(estimate)):
        since = log_e_process(estimate[k:], variance[k:], baseline_variance, one_sided=one_sided)
        found[k:] = np.maximum(found[k:], since - np.log((k + 1) * (k + 2)))
    return found


def log_e_process(
    estimate: Floats, variance: Floats, baseline_variance: float, *, one_sided: bool
) -> Floats:
    """Log of the e-process that starts with the first period, after each period.

    Parameters
    ----------
    estimate : array of shape (n_periods,)
        Difference of each period from the baseline; NaN where a period says nothing.
    variance : array of shape (n_periods,)
        Its variance while nothing is wrong, without that of the baseline.
    baseline_variance : float
        Variance that all differences share.
    one_sided : bool
        Look for changes upwards alone.
    """
    known = np.isfinite(estimate) & np.isfinite(variance) & (variance > 0)
    if not known.any():
        return np.zeros(len(estimate))
    precision = np.where(known, 1.0 / np.where(known, variance, 1.0), 0.0)
    total = np.cumsum(precision)
    sums = np.cumsum(np.where(known, estimate, 0.0) * precision)
    # What the first period that says something holds sets the scale: it must not follow the data.
    first = variance[np.argmax(known)]
    rho = 1.0 / (baseline_variance + first / TUNED_PERIODS) / TIGHTEST
    begun = total > 0
    mean = sums / np.where(begun, total, 1.0)
    information = 1.0 / (1.0 / np.where(begun, total, 1.0) + baseline_variance)
    size = information + rho
    moved = information * mean
    found = 0.5 * np.log(rho / size) + moved**2 / (2 * size)
    if one_sided:
        found += np.log(2.0) + log_ndtr(moved / np.sqrt(size))
    return np.where(begun, found, 0.0)


def spent_level(n_periods: int, alpha: float) -> Floats:
    """Share of a level that each look may spend: they add up to it, however many there are."""
    looks = np.arange(1, n_periods + 1)
    return np.asarray(alpha * 6 / (np.pi * looks) ** 2)


def shift_p_value(expected: Floats, actual: Floats, effective: tuple[float, float]) -> float:
    """p-value of two distributions over the same bins being one, by the chi-squared test.

    `effective` are the numbers of rows that the two hold; weights are sums of them.
    """
    n, m = effective
    e, a = expected / expected.sum() * n, actual / actual.sum() * m
    pooled = (e + a) / (n + m)
    used = pooled > 0
    if used.sum() < 2:
        return 1.0
    e, a, pooled = e[used], a[used], pooled[used]
    statistic = np.sum((e - n * pooled) ** 2 / (n * pooled) + (a - m * pooled) ** 2 / (m * pooled))
    return float(chi2.sf(statistic, len(pooled) - 1))
