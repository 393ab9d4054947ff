"""A test of calibration without groups: the running sum of what was predicted too low."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, kolmogorov, ndtr

from treerank._input.types import Label

from ._calibration import check_probabilities
from ._input import BinarySample, FloatArray, check_binary
from ._parameter_docs import insert_shared_docs

# With no more different probabilities than this, the largest sum is taken over so few moments
# that its distribution is drawn; with more, a path between them is as good as continuous.
_FEW_MOMENTS = 50
_DRAWS = 10_000
# How far beyond the moments of a random walk its path would have gone on average, in steps
# (Siegmund 1985): minus zeta(1/2) over the square root of 2 pi.
_OVERSHOOT = 0.5826


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """A test of calibrated probabilities.

    `mean` and `mean_p_value` are of calibration in the large (standard errors by which events
    exceed what was predicted), `shape` and `shape_p_value` of what is left over along the
    probabilities; `p_value` is of both together.
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

    Hosmer and Lemeshow's test asks for groups: its verdict depends on how many there are and on
    how software breaks ties, and differences within a group are not seen. This one follows the
    running sum of `y - p` from the lowest probability to the highest [1]_. If the probabilities
    hold, it is a random walk; its end tells of calibration in the large, and the largest distance
    from the straight line to its end of the rest, independently. Both go into one p-value by
    Fisher's method.

    With many rows even small errors are significant, as with any test: read it together with
    `calibration_slope` and its limits, which say how large they are.

    Parameters
    ----------
    {y}
    p : array-like of shape (n,)
        Predicted probabilities of the positive class, of rows that the model was not fitted to.
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
    # With one probability for all rows nothing is left over, and the end is all there is.
    both = mean_p if len(time) < 2 else float(chdtrc(4, -2 * parts.sum()))
    return CalibrationTest(both, mean, mean_p, shape, shape_p)


def _check_possible(sample: BinarySample) -> None:
    """Refuse outcomes that were said to be impossible: no test is needed."""
    wrong = np.where(sample.positive, sample.score == 0, sample.score == 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Got p={sample.score[row]:g} for a row of the other class (row {row}); expected "
            "probabilities above 0 and below 1: what was said to be certain did not happen."
        )


def _running_sum(sample: BinarySample) -> tuple[FloatArray, FloatArray]:
    """Sum of y - p up to each probability over its standard deviation, and the variance so far."""
    _, place = np.unique(sample.score, return_inverse=True)
    residual = np.bincount(place, weights=sample.weight * (sample.positive - sample.score))
    variance = np.bincount(place, weights=sample.weight**2 * sample.score * (1 - sample.score))
    total = variance.sum()
    if total == 0:
        raise ValueError("Got probabilities of 0 and 1 only; expected some in between.")
    return np.cumsum(variance) / total, np.cumsum(residual) / np.sqrt(total)


def _bridge_tail(largest: float, time: FloatArray) -> float:
    """Chance that a Brownian bridge, looked at at these times, goes as far from zero."""
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
