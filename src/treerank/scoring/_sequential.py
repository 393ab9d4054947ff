"""Sequential tests that keep their level however often they are looked at.

A test that is repeated each month at 5% more likely than not gives a false alarm within two years.
An *e-process* E starts at 1 and has no upward drift while nothing is wrong, so the probability that
it ever reaches 1 / alpha is at most alpha (Ville's inequality), however often it is looked at.

The difference D between new rows and a baseline, re-estimated with all rows so far, has
independent increments on the scale of its information J = 1 / var(D): B = J D is a Brownian motion
in time J, although all differences share the baseline. Averaged over the size of the change by a
normal distribution of variance 1 / rho (Robbins 1970), its likelihood ratio is::

    E = sqrt(rho / (J + rho)) exp(B^2 / (2 (J + rho)))

for a change in either direction. For an upward change, averaged over the positive half of the
normal distribution, it is 2 Phi(B / sqrt(J + rho)) times as large (Howard et al. 2021).

A change may begin in any period, and earlier periods would dilute it. Therefore such a process is
started in each period k, with the share 1 / (k (k + 1)) of the level; these shares add up to 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from treerank._input.types import Floats

# The average over sizes of a change is tuned to the information of this many first periods.
TUNED_PERIODS = 6
# J / rho at which the boundary is tightest for levels of about 5%.
TIGHTEST = 8.0


def log_evidence(
    estimate: Floats, variance: Floats, baseline_variance: float, *, one_sided: bool
) -> Floats:
    """Return the log of the evidence, after each period, that something changed in some period.

    While nothing has changed, it ever reaches log(1 / alpha) with a probability of at most alpha.
    See `log_e_process` for the parameters.
    """
    found = np.full(len(estimate), -np.inf)
    for k in range(len(estimate)):
        since = log_e_process(estimate[k:], variance[k:], baseline_variance, one_sided=one_sided)
        found[k:] = np.maximum(found[k:], since - np.log((k + 1) * (k + 2)))
    return found


def log_e_process(
    estimate: Floats, variance: Floats, baseline_variance: float, *, one_sided: bool
) -> Floats:
    """Return the log of the e-process that starts with the first period, after each period.

    Parameters
    ----------
    estimate : array of shape (n_periods,)
        Difference of each period from the baseline; NaN if a period has no information.
    variance : array of shape (n_periods,)
        Its variance while nothing has changed, without that of the baseline.
    baseline_variance : float
        Variance that all differences share.
    one_sided : bool
        Whether to look for upward changes only.
    """
    known = np.isfinite(estimate) & np.isfinite(variance) & (variance > 0)
    if not known.any():
        return np.zeros(len(estimate))
    precision = np.where(known, 1.0 / np.where(known, variance, 1.0), 0.0)
    total = np.cumsum(precision)
    sums = np.cumsum(np.where(known, estimate, 0.0) * precision)
    # The first period with information sets the scale, which must not be adapted to the data.
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
    """Return the part of a level that each look may spend; all parts add up to at most `alpha`."""
    looks = np.arange(1, n_periods + 1)
    return np.asarray(alpha * 6 / (np.pi * looks) ** 2)
