"""Tests whether strata violate their order, or differ from the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank._report._render import area
from treerank.metrics._proportion import newcombe_limits, normal_quantile, wilson_for_share


@dataclass(frozen=True)
class Difference:
    """A difference of two event rates, or of two mean classes, with its limits."""

    value: float
    lower: float
    upper: float

    @property
    def is_apart(self) -> bool:
        """Whether the limits exclude 0."""
        return self.lower > 0 or self.upper < 0


@dataclass(frozen=True)
class Break:
    """A stratum that is better than the one `above` it, and by how much."""

    above: int
    by: Difference


def class_values(classes: NDArray[Any]) -> Floats:
    """Numbers to average: the classes themselves if they are ascending numbers, or else 0, 1, …."""
    if np.asarray(classes).dtype.kind in "iuf" and (np.diff(classes) > 0).all():
        return np.asarray(classes, dtype=np.float64)
    return np.arange(len(classes), dtype=np.float64)


def rate_difference(
    one: Floats,
    other: Floats,
    level: float,
    values: Floats,
    per_weight: tuple[float, float] = (1.0, 1.0),
) -> Difference:
    """Rate of `one` minus that of `other`, from class counts; mean class if more than two classes.

    The limits are Newcombe's for two classes, which combine Wilson's, and normal limits for the
    mean class. `per_weight` is the number of rows per unit of weight.
    """
    if len(one) == 2:
        return _newcombe(one, other, level, per_weight)
    (mean, variance), (base, base_variance) = (
        mean_class(counts, values, rows)
        for counts, rows in zip((one, other), per_weight, strict=True)
    )
    half = normal_quantile(level) * float(np.sqrt(variance + base_variance))
    value = mean - base
    return Difference(value, value - half, value + half)


def _newcombe(
    one: Floats, other: Floats, level: float, per_weight: tuple[float, float]
) -> Difference:
    rate, base = (float(counts[-1] / counts.sum()) for counts in (one, other))
    limits = wilson_for_share(rate, float(one.sum()) * per_weight[0], level)
    base_limits = wilson_for_share(base, float(other.sum()) * per_weight[1], level)
    return Difference(rate - base, *newcombe_limits(rate, limits, base, base_limits))


def mean_limits(
    counts: Floats, values: Floats, level: float, per_weight: float
) -> tuple[float, float, float] | None:
    """Mean class with its limits; None without rows."""
    if counts.sum() == 0:
        return None
    mean, variance = mean_class(counts, values, per_weight)
    half = normal_quantile(level) * float(np.sqrt(variance))
    return mean, max(mean - half, float(values[0])), min(mean + half, float(values[-1]))


def mean_class(counts: Floats, values: Floats, per_weight: float) -> tuple[float, float]:
    """Mean class, and the variance of that mean.

    For the variance, one row spread evenly over the classes is added. Otherwise, it would be 0 for
    a few rows of a single class.
    """
    share = counts / counts.sum()
    n = float(counts.sum()) * per_weight
    smoothed = (share * n + 1 / len(counts)) / (n + 1)
    centre = float(smoothed @ values)
    return float(share @ values), float(smoothed @ (values - centre) ** 2) / n


def adjusted_level(level: float, n_tests: int) -> float:
    """Level of each of several intervals, such that all hold together at `level` (Bonferroni)."""
    return 1 - (1 - level) / max(n_tests, 1)


def rank_breaks(
    counts: Floats, values: Floats, level: float = 0.95, per_weight: float = 1.0
) -> list[Break | None]:
    """Find strata (class counts, best first) that are significantly better than the one before.

    Each stratum is compared with the last one before it that has rows. The limits of all
    comparisons hold simultaneously. None means that there is no significant violation.
    """
    filled = np.flatnonzero(counts.sum(axis=1) > 0)
    each = adjusted_level(level, len(filled) - 1)
    breaks: list[Break | None] = [None] * len(counts)
    for above, here in pairwise(filled.tolist()):
        by = rate_difference(counts[here], counts[above], each, values, (per_weight, per_weight))
        if by.lower > 0:
            breaks[here] = Break(above, by)
    return breaks


def format_break(found: Break, names: list[str], two_classes: bool) -> str:
    """Describe by how much a stratum or grade is better than the one before it."""
    scale, digits, unit = (100, 1, " points") if two_classes else (1, 2, "")
    by, lower, upper = (
        area(scale * v, digits) for v in (found.by.value, found.by.lower, found.by.upper)
    )
    return f"breaks the order: {by}{unit} above {names[found.above]} ({lower} to {upper})"


def format_apart(found: Difference) -> str:
    """Describe by how much a rate differs from that of the training rows."""
    value, lower, upper = (area(100 * v, 1) for v in (found.value, found.lower, found.upper))
    sign = "+" if found.value > 0 else ""
    return f"apart: {sign}{value} points ({lower} to {upper})"
