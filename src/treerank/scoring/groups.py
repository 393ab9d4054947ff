"""Groups: whether a model ranks some groups of rows worse than others, or places them lower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._comparison.result import holm
from treerank._input.columns import missing_mask
from treerank._input.parameters import check_number
from treerank._input.types import FittedClassifier, TableLike
from treerank.metrics._input import BinarySample, check_level
from treerank.metrics._proportion import rows_per_weight, weighted_share_limits
from treerank.metrics._ties import roc_knots
from treerank.scoring._auc_parts import PartAuc, auc_difference, part_auc
from treerank.scoring._plain import (
    PlainResult,
    format_p_value,
    format_table,
    format_value,
    known,
)
from treerank.scoring._rows import LabelledScores, check_two_classes, read_rows

MAX_GROUPS = 50
Limits = tuple[float, float]
MISSING = "(missing)"


@dataclass(frozen=True)
class GroupFigures:
    """Figures of one group; None if it has too few rows.

    Attributes
    ----------
    name : str
    rows, events : float
    rate, rate_limits : float, tuple
        Event rate.
    mean_probability : float or None
        Mean predicted probability.
    auc, auc_limits : float, tuple
        AUC within the group.
    difference, difference_limits : float, tuple
        That AUC minus the AUC within all other groups.
    p_value, p_adjusted : float
        Test of no difference; adjusted for all groups by Holm's method.
    cross_gap, cross_gap_limits : float, tuple
        Probability that an event of the group is ranked above a non-event of the others, minus the
        probability that an event of the others is ranked above a non-event of the group. Below 0,
        the group's events are missed, or its non-events taken for events, more often.
    cross_p_value, cross_p_adjusted : float
    flagged, flagged_limits, tpr, tpr_limits, fpr, fpr_limits
        Share of the rows, of the events and of the non-events at or above the threshold, if one
        was given.
    note : str
    """

    name: str
    rows: float
    events: float
    rate: float
    rate_limits: Limits
    mean_probability: float | None = None
    auc: float | None = None
    auc_limits: Limits | None = None
    difference: float | None = None
    difference_limits: Limits | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    cross_gap: float | None = None
    cross_gap_limits: Limits | None = None
    cross_p_value: float | None = None
    cross_p_adjusted: float | None = None
    flagged: float | None = None
    flagged_limits: Limits | None = None
    tpr: float | None = None
    tpr_limits: Limits | None = None
    fpr: float | None = None
    fpr_limits: Limits | None = None
    note: str = ""


@dataclass(frozen=True)
class GroupComparison(PlainResult):
    """Result of :func:`evaluate_groups`; it prints as a table.

    Attributes
    ----------
    groups : list of GroupFigures
        Largest group first.
    cross_auc : list of lists
        Entry [i][j] is the probability that an event of group i is ranked above a non-event of
        group j, with its limits, as (auc, lower, upper); None if there is no such pair.
    curves : dict
        ROC curve (fpr, tpr) of each group that has both classes.
    threshold : float or None
    level : float
    """

    groups: list[GroupFigures]
    cross_auc: list[list[tuple[float, float, float] | None]]
    curves: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    threshold: float | None
    level: float

    def __repr__(self) -> str:
        flagged = self.threshold is not None
        head = ["group", "rows", "rate", "AUC", "interval", "- others", "p", "cross gap", "p"]
        lines = [head + ["flagged", "TPR", "FPR"] * flagged]
        for g in self.groups:
            line = [
                g.name,
                f"{g.rows:,.10g}",
                f"{g.rate:.1%}",
                format_value(g.auc, ".3f"),
                "" if g.auc_limits is None else "{:.3f} to {:.3f}".format(*g.auc_limits),
                format_value(g.difference, "+.3f"),
                format_p_value(g.p_adjusted),
                format_value(g.cross_gap, "+.3f"),
                format_p_value(g.cross_p_adjusted),
            ]
            lines.append(
                line + [format_value(v, ".1%") for v in (g.flagged, g.tpr, g.fpr)] * flagged
            )
        notes = [f"{g.name}: {g.note}" for g in self.groups if g.note]
        note = f"{self.level:.0%} intervals; p of AUC and cross gap by Holm over the groups"
        return "\n".join([*format_table(lines), *notes, note])


def evaluate_groups(
    model: FittedClassifier,
    X: TableLike,
    y: ArrayLike,
    groups: ArrayLike,
    *,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> GroupComparison:
    """Measure a binary model in each group of rows, and compare the groups.

    For each group: event rate and AUC, with intervals, and ROC curve; the AUC within the group
    against that within all others; and *cross-group* AUCs, of the events of one group against the
    non-events of another, because a model may rank well within each group and yet place one group
    below the other [1]_. p-values are adjusted for the number of groups by Holm's method.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or any binary classifier.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted to.
    y : array-like of shape (n_samples,)
    groups : array-like of shape (n_samples,)
        Group of each row; missing values are a group of their own. At most 50 groups.
    threshold : float, optional
        Rows with at least this score are flagged; adds flagged share, TPR and FPR of each group.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights, as in :func:`treerank.metrics.auc_interval`.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    GroupComparison

    References
    ----------
    .. [1] N. Kallus, A. Zhou, "The fairness of risk scores beyond classification: bipartite ranking
       and the xAUC metric", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import TreeRank
    >>> from treerank.scoring import evaluate_groups
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> region = np.where(rng.random(2000) < 0.5, "north", "south")
    >>> signal = np.where(region == "north", 2.0, 0.3) * X[:, 0]
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-signal))).astype(int)
    >>> model = TreeRank(max_depth=3).fit(X[:1000], y[:1000])
    >>> found = evaluate_groups(model, X[1000:], y[1000:], region[1000:])
    >>> {g.name: round(g.auc, 1) for g in found.groups}
    {'north': 0.8, 'south': 0.6}
    """
    check_two_classes(model, "a comparison of groups")
    level = check_level(level)
    if threshold is not None:
        threshold = check_number("threshold", threshold, -np.inf)
    rows = read_rows(model, X, y, sample_weight)
    names, number = read_groups(groups, len(rows.code))
    kept = rows.weight > 0
    return compare_parts(rows.take(np.flatnonzero(kept)), names, number[kept], threshold, level)


def read_groups(groups: ArrayLike, n_rows: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the groups, and the index of each row's group."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(
            f"Got groups of shape {values.shape} for {n_rows} rows; expected one per row."
        )
    missing = missing_mask(values)
    words = np.where(missing, MISSING, values.astype(str))
    names, number = np.unique(words, return_inverse=True)
    if len(names) > MAX_GROUPS:
        raise ValueError(
            f"Got {len(names):,} groups; expected at most {MAX_GROUPS}: put values together, such "
            "as ages into ranges."
        )
    return [str(name) for name in names.tolist()], number.astype(np.intp)


def compare_parts(
    rows: LabelledScores,
    names: list[str],
    number: NDArray[np.intp],
    threshold: float | None,
    level: float,
) -> GroupComparison:
    """Compare groups of rows that have been scored, largest first."""
    sizes = np.bincount(number, rows.weight, len(names))
    order = [int(k) for k in np.argsort(-sizes, kind="stable") if sizes[k] > 0]
    masks = [number == k for k in order]
    found = [
        _figures(names[k], rows, mask, threshold, level)
        for k, mask in zip(order, masks, strict=True)
    ]
    adjusted = [
        holm(np.array([f[key] for f in found], dtype=float))  # NaN for None
        for key in ("p_value", "cross_p_value")
    ]
    groups = [
        GroupFigures(**f, p_adjusted=known(adjusted[0][i]), cross_p_adjusted=known(adjusted[1][i]))
        for i, f in enumerate(found)
    ]
    cross = [[_limits_of(part_auc(rows, a, b, level)) for b in masks] for a in masks]
    curves = {
        g.name: _curve(rows, mask)
        for g, mask in zip(groups, masks, strict=True)
        if g.auc is not None
    }
    return GroupComparison(groups, cross, curves, threshold, level)


def _limits_of(found: PartAuc | None) -> tuple[float, float, float] | None:
    return None if found is None else (found.auc, found.lower, found.upper)


def _curve(rows: LabelledScores, mask: NDArray[np.bool_]) -> Any:
    part = rows.take(np.flatnonzero(mask))
    return roc_knots(BinarySample(part.code == 1, part.score, part.weight))[:2]


def _figures(
    name: str, rows: LabelledScores, mask: NDArray[np.bool_], threshold: float | None, level: float
) -> dict[str, Any]:
    """Return the figures of one group against all others."""
    part = rows.take(np.flatnonzero(mask))
    events = float(part.weight[part.code == 1].sum())
    rate, rate_limits = _share(part.weight, part.code == 1, level)
    found: dict[str, Any] = {
        "name": name,
        "rows": float(part.weight.sum()),
        "events": events,
        "rate": rate,
        "rate_limits": rate_limits,
        "p_value": None,
        "cross_p_value": None,
    }
    if part.probability is not None:
        found["mean_probability"] = float(np.average(part.probability, weights=part.weight))
    if threshold is not None:
        found |= _flagged(part, threshold, level)
    own = part_auc(rows, mask, mask, level)
    if own is None:
        found["note"] = f"no {'events' if events == 0 else 'non-events'}, so that there is no AUC"
        return found
    found |= {"auc": own.auc, "auc_limits": (own.lower, own.upper)}
    others = part_auc(rows, ~mask, ~mask, level)
    if others is not None:
        difference, lower, upper, p_value = auc_difference(own, others, level)
        found |= {"difference": difference, "difference_limits": (lower, upper)}
        found["p_value"] = p_value
    over, under = part_auc(rows, mask, ~mask, level), part_auc(rows, ~mask, mask, level)
    if over is not None and under is not None:
        gap, lower, upper, p_value = auc_difference(over, under, level)
        found |= {"cross_gap": gap, "cross_gap_limits": (lower, upper), "cross_p_value": p_value}
    return found


def _flagged(part: LabelledScores, threshold: float, level: float) -> dict[str, Any]:
    """Return the shares of the group at or above a threshold."""
    flagged = part.score >= threshold
    found: dict[str, Any] = {}
    for name, mask in (
        ("flagged", np.ones(len(flagged), dtype=bool)),
        ("tpr", part.code == 1),
        ("fpr", part.code == 0),
    ):
        if mask.any():
            share, limits = _share(part.weight[mask], flagged[mask], level)
            found |= {name: share, f"{name}_limits": limits}
    return found


def _share(
    weight: NDArray[np.float64], mask: NDArray[np.bool_], level: float
) -> tuple[float, Limits]:
    """Return a share of the weight, with Wilson's limits."""
    total, part = float(weight.sum()), float(weight[mask].sum())
    lower, upper = weighted_share_limits(part, total, rows_per_weight(weight), level)
    return part / total, (float(lower), float(upper))
