"""Champion and challenger: what would change if one model replaced another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from treerank._input.label_order import label_order_of
from treerank._input.types import Floats, TableLike
from treerank.metrics import brier_score_loss, compare_auc
from treerank.metrics._delong import AucComparison
from treerank.metrics._input import check_level, check_rate
from treerank.metrics._proportion import (
    newcombe_limits,
    normal_quantile,
    rows_per_weight,
    wilson_for_share,
)
from treerank.scoring._plain import (
    PlainResult,
    format_p_value,
    format_table,
    format_value,
)
from treerank.scoring._rows import LabelledScores, check_two_classes, read_rows

Limits = tuple[float, float]
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class SwapSet:
    """Rows that are flagged by both models, by one of them, or by neither.

    Attributes
    ----------
    name : str
        "both", "champion only" (swapped out), "challenger only" (swapped in) or "neither".
    rows, events : float
    rate, rate_limits : float or None, tuple or None
        Event rate with Wilson's limits; None without rows.
    """

    name: str
    rows: float
    events: float
    rate: float | None
    rate_limits: Limits | None


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit per row of acting on probabilities of at least `threshold`, for both models.

    `difference` is the challenger's minus the champion's, with its limits.
    """

    threshold: float
    champion: float
    challenger: float
    call_all: float
    difference: float
    difference_limits: Limits


@dataclass(frozen=True)
class Challenge(PlainResult):
    """Result of :func:`challenge`; it prints as a report of a few lines.

    Attributes
    ----------
    names : list of str
        Champion and challenger.
    rows, events : float
    auc : AucComparison
        Challenger against champion on the same rows (DeLong's paired test).
    brier : tuple of two floats or None
        Brier scores of champion and challenger, if both give probabilities.
    share : float
        Share of the rows that each model flags.
    swap_sets : list of SwapSet
    swap_difference, swap_limits, swap_p_value : float, tuple, float, or None
        Event rate of the rows swapped in minus that of the rows swapped out. None if either set is
        empty.
    found : tuple of two floats
        Share of the events that champion and challenger flag.
    net_benefit : list of NetBenefit
        Empty unless both models give probabilities.
    level : float
    """

    names: list[str]
    rows: float
    events: float
    auc: AucComparison
    brier: tuple[float, float] | None
    share: float
    swap_sets: list[SwapSet]
    swap_difference: float | None
    swap_limits: Limits | None
    swap_p_value: float | None
    found: tuple[float, float]
    net_benefit: list[NetBenefit]
    level: float

    def __repr__(self) -> str:
        auc = self.auc
        lines = [
            f"{self.rows:,.10g} rows, {self.events:,.10g} events",
            f"AUC of {self.names[1]} {auc.auc1:.4f}, of {self.names[0]} {auc.auc2:.4f}: "
            f"{auc.difference:+.4f} ({self.level:.0%} interval {auc.lower:+.4f} to "
            f"{auc.upper:+.4f}, p {format_p_value(auc.p_value)})",
        ]
        if self.brier is not None:
            lines.append(f"Brier score {self.brier[1]:.4f} against {self.brier[0]:.4f}")
        lines += ["", f"flagged: the top {self.share:.0%} of each model", *self._swaps()]
        if self.net_benefit:
            lines += ["", *format_table(self._benefits(), left=0)]
        return "\n".join(lines)

    def _swaps(self) -> list[str]:
        table = [["flagged by", "rows", "events", "event rate", "interval"]]
        for part in self.swap_sets:
            limits = part.rate_limits
            table.append(
                [
                    part.name,
                    f"{part.rows:,.1f}".removesuffix(".0"),
                    f"{part.events:,.1f}".removesuffix(".0"),
                    format_value(part.rate, ".1%"),
                    "" if limits is None else f"{limits[0]:.1%} to {limits[1]:.1%}",
                ]
            )
        lines = format_table(table)
        if self.swap_difference is not None and self.swap_limits is not None:
            lines.append(
                f"swapped in less swapped out: {self.swap_difference:+.1%} "
                f"({self.swap_limits[0]:+.1%} to {self.swap_limits[1]:+.1%}, "
                f"p {format_p_value(self.swap_p_value or 0.0)})"
            )
        return [*lines, f"events found: {self.found[1]:.1%} against {self.found[0]:.1%}"]

    def _benefits(self) -> list[list[str]]:
        lines = [["threshold", "net benefit", "champion's", "of calling all", "difference"]]
        for b in self.net_benefit:
            low, high = b.difference_limits
            lines.append(
                [
                    f"{b.threshold:.0%}",
                    f"{b.challenger:.4f}",
                    f"{b.champion:.4f}",
                    f"{b.call_all:.4f}",
                    f"{b.difference:+.4f} ({low:+.4f} to {high:+.4f})",
                ]
            )
        return lines


def challenge(
    champion: Any,
    challenger: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    X_challenger: Any = None,
    share: float = 0.1,
    thresholds: Any = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> Challenge:
    """Compare a model with the one that it may replace, on rows that neither has seen.

    The AUCs are compared by DeLong's paired test. The *swap sets* show what would change: with the
    same share of rows flagged, which rows are swapped out and in, and how many events are among
    them. If both models give probabilities, their net benefit is compared at several thresholds:
    the events found minus the false alarms, weighted by the odds of the threshold.

    Rows with equal scores across the cut share the remaining places, so that both models flag
    exactly the same share; with few strata the counts are therefore not integers. Ties are broken
    in the same way for both models: a row of which they flag different parts is swapped only by
    the difference, and a model has no swaps with itself.

    Parameters
    ----------
    champion, challenger : fitted estimators
        Models of this library, or binary classifiers, with the same classes.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that neither has been fitted to.
    y : array-like of shape (n_samples,)
    X_challenger : array-like or data frame, optional
        The same rows with the columns of the challenger, if they differ.
    share : float, default=0.1
        Share of the rows that are flagged, those with the highest scores.
    thresholds : array-like, optional
        Threshold probabilities for the net benefit; by default 0.05, 0.1, 0.2, 0.3 and 0.5.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights, as in :func:`treerank.metrics.auc_interval`.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Challenge

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import RankingForest, TreeRank
    >>> from treerank.scoring import challenge
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree, forest = TreeRank().fit(X[:300], y[:300]), RankingForest().fit(X[:300], y[:300])
    >>> found = challenge(tree, forest, X[300:], y[300:], share=0.5)
    >>> [part.name for part in found.swap_sets]
    ['both', 'champion only', 'challenger only', 'neither']
    """
    level, share = check_level(level), check_rate(share, "share")
    at = _check_thresholds(thresholds)
    for model in (champion, challenger):
        check_two_classes(model, "champion and challenger")
    orders = [label_order_of(model).tolist() for model in (champion, challenger)]
    if orders[0] != orders[1]:
        raise ValueError(
            f"Got models of the classes {orders[0]} and {orders[1]}; "
            "expected the same classes in the same order."
        )
    rows = [
        read_rows(champion, X, y, sample_weight),
        read_rows(challenger, X if X_challenger is None else X_challenger, y, sample_weight),
    ]
    kept = np.flatnonzero(rows[0].weight > 0)
    names = [type(champion).__name__, type(challenger).__name__]
    if names[0] == names[1]:
        names = ["champion", "challenger"]
    return compare_scores([part.take(kept) for part in rows], names, share, at, level)


def _check_thresholds(thresholds: Any) -> Floats:
    at = np.asarray(THRESHOLDS if thresholds is None else thresholds, dtype=np.float64)
    at = np.atleast_1d(at)
    if at.ndim != 1 or not np.all((at > 0) & (at < 1)):
        raise ValueError(f"Got thresholds={thresholds!r}; expected numbers between 0 and 1.")
    return at


def compare_scores(
    rows: list[LabelledScores], names: list[str], share: float, at: Floats, level: float
) -> Challenge:
    """Compare two models on rows that have been scored."""
    code, weight = rows[0].code, rows[0].weight
    if len(np.unique(code)) < 2:
        raise ValueError(
            "Got rows of one class alone; expected events and non-events, to say how well they are "
            "told apart."
        )
    auc = compare_auc(code, rows[1].score, rows[0].score, sample_weight=weight, level=level)
    flags = [_flags(part.score, weight, share) for part in rows]
    sets = _swap_sets(flags, code, weight, level)
    events = float(weight[code == 1].sum())
    brier, benefit = None, []
    p = rows[0].probability, rows[1].probability
    if p[0] is not None and p[1] is not None:
        both = p[0], p[1]
        scores = [brier_score_loss(code, part, sample_weight=weight) for part in both]
        brier = (float(scores[0]), float(scores[1]))
        benefit = [_net_benefit(float(t), both, code, weight, level) for t in at]
    difference, limits, p_value = _swap_test(sets[2], sets[1], rows_per_weight(weight), level)
    return Challenge(
        names=names,
        rows=float(weight.sum()),
        events=events,
        auc=auc,
        brier=brier,
        share=share,
        swap_sets=sets,
        swap_difference=difference,
        swap_limits=limits,
        swap_p_value=p_value,
        found=(
            float((weight * flags[0])[code == 1].sum()) / events,
            float((weight * flags[1])[code == 1].sum()) / events,
        ),
        net_benefit=benefit,
        level=level,
    )


def _flags(score: Floats, weight: Floats, share: float) -> Floats:
    """Return how much of each row is flagged: ties across the cut share the remaining places."""
    values, place = np.unique(-score, return_inverse=True)
    at = np.bincount(place, weight, len(values))
    before = np.cumsum(at) - at
    left = share * weight.sum() - before
    return np.asarray(np.clip(left / at, 0.0, 1.0)[place])


def _swap_sets(
    flags: list[Floats], code: NDArray[np.intp], weight: Floats, level: float
) -> list[SwapSet]:
    a, b = flags
    both = np.minimum(a, b)  # one order breaks the ties of both models
    per_weight = rows_per_weight(weight)
    found = []
    for name, part in (
        ("both", both),
        ("champion only", a - both),
        ("challenger only", b - both),
        ("neither", 1 - np.maximum(a, b)),
    ):
        rows, events = float(weight @ part), float((weight * part)[code == 1].sum())
        rate, limits = None, None
        if rows > 0:
            rate = min(events / rows, 1.0)
            limits = wilson_for_share(rate, rows * per_weight, level)
        found.append(SwapSet(name, rows, events, rate, limits))
    return found


def _swap_test(
    inside: SwapSet, outside: SwapSet, per_weight: float, level: float
) -> tuple[float | None, Limits | None, float | None]:
    """Return the difference of two event rates, Newcombe's limits and the pooled z test."""
    if inside.rate is None or outside.rate is None:
        return None, None, None
    assert inside.rate_limits is not None
    assert outside.rate_limits is not None
    difference = inside.rate - outside.rate
    limits = newcombe_limits(inside.rate, inside.rate_limits, outside.rate, outside.rate_limits)
    n, m = inside.rows * per_weight, outside.rows * per_weight
    pooled = (inside.rate * n + outside.rate * m) / (n + m)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    p_value = 1.0 if error == 0 else float(2 * ndtr(-abs(difference) / error))
    return difference, limits, p_value


def _net_benefit(
    threshold: float,
    p: tuple[Floats, Floats],
    code: NDArray[np.intp],
    weight: Floats,
    level: float,
) -> NetBenefit:
    """Return the net benefit of both models: 1 per flagged event, minus the odds per non-event."""
    worth = np.where(code == 1, 1.0, -threshold / (1 - threshold))
    by_row = [worth * (part >= threshold) for part in p]
    share = weight / weight.sum()
    means = [float(share @ part) for part in by_row]
    gap = by_row[1] - by_row[0]
    difference = means[1] - means[0]
    error = float(np.sqrt(np.sum((share * (gap - difference)) ** 2)))
    half = normal_quantile(level) * error
    return NetBenefit(
        threshold=threshold,
        champion=means[0],
        challenger=means[1],
        call_all=float(share @ worth),
        difference=difference,
        difference_limits=(difference - half, difference + half),
    )
