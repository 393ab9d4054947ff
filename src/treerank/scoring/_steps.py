"""Step functions of a score: grades and points, the same in Python and in SQL."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.types import Floats


def cut_between(low: Floats, high: Floats) -> Floats:
    """Return scores that separate neighbours: above the lower one, at most the higher one."""
    middle = low / 2 + high / 2
    return np.asarray(np.where(middle > low, middle, high))


def step_of(cuts: Floats, scores: ArrayLike) -> NDArray[np.intp]:
    """Return the index of the step of each score: how many cuts it reaches."""
    return np.searchsorted(cuts, np.asarray(scores, dtype=np.float64), side="right")


def candidate_cuts(scores: Floats, weight: Floats, n_ranges: int) -> Floats:
    """Return cuts between distinct scores, for at most `n_ranges` ranges of about equal weight."""
    values, place = np.unique(scores, return_inverse=True)
    cuts = cut_between(values[:-1], values[1:])
    if len(values) <= n_ranges:
        return cuts
    done = np.cumsum(np.bincount(place, weights=weight))
    ends = np.flatnonzero(np.diff(np.floor(done / done[-1] * n_ranges - 1e-9)))
    return np.asarray(cuts[ends])


def class_counts(
    step: NDArray[np.intp], code: NDArray[np.intp], weight: Floats, n_steps: int, n_classes: int
) -> Floats:
    """Return the weight of each class on each step."""
    size = n_steps * n_classes
    counts = np.bincount(step * n_classes + code, weights=weight, minlength=size)
    return counts.astype(np.float64).reshape(n_steps, n_classes)
