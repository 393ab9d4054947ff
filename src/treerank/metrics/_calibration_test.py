"""A test of calibration without groups, based on the running sum of `y - p`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, kolmogorov, ndtr

from treerank._input.types import Floats, Label

from ._calibration import check_probabilities
from ._input import BinarySample, check_binary
from ._parameter_docs import insert_shared_docs

# With at most this many distinct probabilities, the maximum is taken over so few times that its
# distribution is simulated; with more, the path is almost continuous.
_FEW_MOMENTS = 50
_DRAWS = 10_000
# Expected excess of a continuous path over its maximum at the observed times, in standard
# deviations of a step (Siegmund 1985): -zeta(1/2) / sqrt(2 pi).
_OVERSHOOT = 0.5826


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Result of a test of calibration.

    `mean` and `mean_p_value` are about calibration in the large: `mean` is the number of standard
    errors by which the observed events exceed the predicted ones. `shape` and `shape_p_value` are
    about the remaining deviations along the probabilities. `p_value` combines both.
    """

    p_value: float
    mean: float
    mean_p_value: float
    shape: float
    shape_p_value: float


@insert_shared_docs
def calibration_test(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> CalibrationTest:
    """Test whether probabilities are calibrated, without groups.

    The result of Hosmer and Lemeshow's test depends on the number of groups and on how software
    breaks ties, and deviations within a group go unnoticed. This test follows the running sum of
    `y - p` from the lowest probability to the highest [1]_. If the probabilities are calibrated,
    the sum is a random walk. Its end point measures calibration in the large, and its largest
    distance from the straight line to that end point measures the remaining deviations; the two are
    independent. Their p-values are combined by Fisher's method.

    As with any test, even small errors are significant if there are many rows: also look at
    `calibration_slope` and its limits, which show how large the errors are.

    Parameters
    ----------
    {y}
    p : array-like of shape (n,)
        Predicted probabilities of the positive class, for rows that the model was not fitted to.
    {sampling_weights}
    {pos_label}

    Returns
    -------
    CalibrationTest

    References
    ----------
    .. [1] Sadatsafavi and Petkau (2024), "Non-parametric inference on calibration of predicted
       risks", Statistics in Medicine 43.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.metrics import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> bool(calibration_test(y, p).p_value > 0.05)
    True
    >>> bool(calibration_test(y, p**2).p_value < 0.001)
    True
    """
    sample = check_binary(y, check_probabilities(p), sample_weight, pos_label, name="p")
    _check_possible(sample)
    time, path = _running_sum(sample)
    mean = float(path[-1])
    mean_p = float(2 * ndtr(-abs(mean)))
    bridge = path - time * mean
    shape = float(np.abs(bridge).max(initial=0.0))
    shape_p = _bridge_tail(shape, time)
    parts = np.log(np.maximum([mean_p, shape_p], np.finfo(float).tiny))
    # If all rows have the same probability, only calibration in the large can be tested.
    both = mean_p if len(time) < 2 else float(chdtrc(4, -2 * parts.sum()))
    return CalibrationTest(both, mean, mean_p, shape, shape_p)


def _check_possible(sample: BinarySample) -> None:
    """Raise an error for outcomes that were predicted to be impossible: no test is needed."""
    wrong = np.where(sample.positive, sample.score == 0, sample.score == 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Got p={sample.score[row]:g} for a row of the other class (row {row}); expected "
            "probabilities above 0 and below 1: what was said to be certain did not happen."
        )


def _running_sum(sample: BinarySample) -> tuple[Floats, Floats]:
    """Return the share of the variance and the standardised sum of y - p up to each probability."""
    _, place = np.unique(sample.score, return_inverse=True)
    residual = np.bincount(place, weights=sample.weight * (sample.positive - sample.score))
    variance = np.bincount(place, weights=sample.weight**2 * sample.score * (1 - sample.score))
    total = variance.sum()
    if total == 0:
        raise ValueError("Got probabilities of 0 and 1 only; expected some in between.")
    return np.cumsum(variance) / total, np.cumsum(residual) / np.sqrt(total)


def _bridge_tail(largest: float, time: Floats) -> float:
    """Return the probability that a Brownian bridge, observed at `time`, gets this far from 0."""
    if len(time) < 2:
        return 1.0
    if len(time) > _FEW_MOMENTS:
        step = np.sqrt(np.mean(np.diff(time, prepend=0.0) ** 2) / np.mean(np.diff(time)))
        return float(kolmogorov(largest + _OVERSHOOT * step))
    rng = np.random.default_rng(0)
    steps = np.sqrt(np.maximum(np.diff(time, prepend=0.0), 0.0))
    paths = np.cumsum(rng.normal(size=(_DRAWS, len(time))) * steps, axis=1)
    bridges = np.abs(paths - time * paths[:, -1:]).max(axis=1)
    return float((1 + np.sum(bridges >= largest)) / (1 + _DRAWS))
