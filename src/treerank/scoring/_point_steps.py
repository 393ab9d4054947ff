"""Points as a step function of the score: the same integers in Python and in a database."""

from __future__ import annotations

import numpy as np

from treerank._input.types import Floats
from treerank.scoring._calibrator import Calibrator
from treerank.scoring._points import Points, Whole, check_scale, distinct_points
from treerank.scoring._steps import cut_between

MAX_STEPS = 20_000
HALVINGS = 120  # until the ends of any interval are neighbouring doubles


def steps_of_strata(scale: Points, calibrator: Calibrator, scores: Floats) -> tuple[Floats, Whole]:
    """Return the cuts of the score and the points of each step, for a model with few scores.

    Strata with different scores get different points, the nearest integers that differ.
    """
    values = np.unique(scores)
    exact = scale.exact(calibrator.decision_function(values))
    check_scale(exact)
    return cut_between(values[:-1], values[1:]), distinct_points(exact)


def steps_of_range(
    scale: Points, calibrator: Calibrator, low: float, high: float
) -> tuple[Floats, Whole]:
    """Return the cuts at which rounded points change, and the points of each step.

    A cut is the smallest double whose points are nearer to the next integer.
    """
    sign = -1.0 if scale.reverse else 1.0

    def rising(score: Floats) -> Floats:
        return sign * scale.exact(calibrator.decision_function(score))

    ends = rising(np.array([low, high]))
    check_scale(ends)
    first, last = np.rint(ends).astype(np.int64)
    if last - first > MAX_STEPS:
        raise ValueError(
            f"Got a scale of {last - first:,} points from end to end; expected at most "
            f"{MAX_STEPS:,}. Lower pdo."
        )
    if first == last:
        return np.empty(0), np.array([sign * first]).astype(np.int64)
    wanted = np.arange(first, last) + 0.5
    below, above = np.full(len(wanted), low), np.full(len(wanted), high)
    for _ in range(HALVINGS):
        middle = below / 2 + above / 2
        reached = rising(middle) >= wanted
        above, below = np.where(reached, middle, above), np.where(reached, below, middle)
    return above, (sign * np.arange(first, last + 1)).astype(np.int64)
