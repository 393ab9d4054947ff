"""Three or more ordered classes: VUS, distribution of the classes, ROC surface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from treerank._input.types import Floats
from treerank._report._order import class_values, mean_limits
from treerank._report._pictures import Picture, short_name
from treerank._report._sample import ScoredRows
from treerank.metrics import concordance_interval, pairwise_auc_scores, roc_surface, vus_interval
from treerank.metrics._proportion import normal_quantile, rows_per_weight
from treerank.metrics._ties import class_weights

SURFACE_CELLS = 24  # squares per side of the heat map
MAX_KNOTS = 200
TENTH = 0.1
# Rows of the rarest class: with fewer, the VUS has no limits, or only rough ones.
LEAST_ROWS, ENOUGH_ROWS = 3, 10


def ordinal_summary(sample: ScoredRows, classes: NDArray[Any], level: float) -> dict[str, Any]:
    """Concordance and VUS with their intervals, mean grades, and the AUC of every pair."""
    numbers = np.arange(len(classes))
    arguments: dict[str, Any] = {"sample_weight": sample.weight, "labels": numbers}
    concordance = concordance_interval(sample.code, sample.score, level=level, **arguments)
    values, per_weight = class_values(classes), rows_per_weight(sample.weight)
    ends = []
    for direction in (-1, 1):  # the top of the ranking, then the bottom
        rows = np.argsort(direction * sample.score, kind="stable")
        kept = np.searchsorted(np.cumsum(sample.weight[rows]), TENTH * sample.weight.sum()) + 1
        counts = np.bincount(sample.code[rows[:kept]], sample.weight[rows[:kept]], len(classes))
        ends.append(mean_limits(counts.astype(np.float64), values, level, per_weight))
    return {
        "concordance": concordance.concordance,
        "concordance_limits": (concordance.lower, concordance.upper),
        "mean": mean_limits(sample.totals(len(classes)), values, level, per_weight),
        "ends": ends,
        "is_number": np.array_equal(values, np.asarray(classes)),
        "chance": 1.0 / float(np.prod(numbers + 1)),
        "pairs": _pairs(pairwise_auc_scores(sample.code, sample.score, **arguments), classes),
    } | _vus(sample, classes, level)


def _vus(sample: ScoredRows, classes: NDArray[Any], level: float) -> dict[str, Any]:
    """VUS with limits that depend on the size of the rarest class.

    The VUS is a mean over tuples with one row of each class, so a class of few rows determines the
    width of its interval: with Student's quantile, it may reach from 0 to 0.8. With three to nine
    rows, normal limits on the logit scale are used instead. In simulations at a level of 95%,
    these cover the VUS about nine times in ten. With fewer rows, there are no limits.
    """
    found = vus_interval(
        sample.code, sample.score, sample_weight=sample.weight, labels=np.arange(len(classes)),
        level=level,
    )  # fmt: skip
    rows = np.bincount(sample.code, minlength=len(classes))
    rarest = int(np.argmin(rows))
    limits: tuple[float, float] | None = (found.lower, found.upper)
    if rows[rarest] < LEAST_ROWS or not 0 < found.vus < 1:
        limits = None
    elif rows[rarest] < ENOUGH_ROWS:
        half = normal_quantile(level) * found.standard_error / (found.vus * (1 - found.vus))
        limits = float(expit(logit(found.vus) - half)), float(expit(logit(found.vus) + half))
    return {
        "vus": found.vus,
        "vus_limits": limits,
        "rarest": str(classes[rarest]),
        "rarest_rows": int(rows[rarest]),
        "is_rough": bool(rows[rarest] < ENOUGH_ROWS),
    }


def _pairs(pairs: Any, classes: NDArray[Any]) -> list[dict[str, Any]]:
    values = np.asarray(pairs, dtype=float)
    return [
        {"low": str(classes[a]), "high": str(classes[b]), "auc": float(values[a, b])}
        for a in range(len(classes))
        for b in range(a + 1, len(classes))
    ]


def class_weights_of_sample(sample: ScoredRows, n_classes: int) -> Floats:
    """Class counts along the ranking, best first, in at most as many groups as are drawn."""
    _, weights = class_weights(sample.score, sample.code, sample.weight, n_classes)
    weights = weights.T[::-1]
    if len(weights) <= MAX_KNOTS:
        return np.asarray(weights)
    share = np.cumsum(weights.sum(axis=1)) / weights.sum()
    group = np.minimum((share * MAX_KNOTS).astype(np.intp), MAX_KNOTS - 1)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return np.asarray(np.add.reduceat(weights, starts, axis=0))


def class_picture(weights: Floats) -> Picture:
    """Draw the cumulative share of each class from the top of the ranking down."""
    picture = Picture(
        "Class distributions: share of each class found against share of rows taken from the top",
        "share of rows",
        "share of the class",
    )
    picture.line([0, 1], [0, 1], "chance")
    taken = np.append(0.0, np.cumsum(weights.sum(axis=1)) / weights.sum())
    for k in range(weights.shape[1]):
        found = np.append(0.0, np.cumsum(weights[:, k]) / weights[:, k].sum())
        picture.line(taken, found, f"class class-{k % 6}", f"class-{k}")
    return picture


def surface_picture(sample: ScoredRows, classes: NDArray[Any]) -> Picture | None:
    """Heat map of the correct share of the middle class; None unless there are three classes."""
    if len(classes) != 3:
        return None
    surface = roc_surface(
        sample.code, sample.score, sample_weight=sample.weight, labels=np.arange(3),
        max_cells=SURFACE_CELLS,
    )  # fmt: skip
    low, middle, high = (str(label) for label in classes)
    picture = Picture(
        f"ROC surface: share of {middle} between two cuts, over the shares of {low} below the "
        f"lower and of {high} above the upper one",
        f"share of {short_name(low)} below the lower cut",
        f"share of {short_name(high)} above the upper cut",
    )
    heights = (surface.middle[:-1, :-1] + surface.middle[1:, :-1]) / 2
    heights = (heights + (surface.middle[:-1, 1:] + surface.middle[1:, 1:]) / 2) / 2
    for i, j in np.argwhere(heights > 0.001):
        x = float(surface.low[i]), float(surface.low[i + 1])
        y = float(surface.high[j]), float(surface.high[j + 1])
        if x[0] != x[1] and y[0] != y[1]:
            picture.rectangle(x, y, "heat", float(heights[i, j]))
    return picture
