"""From a score to a decision: cut-offs and their operating points, net benefit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.types import Floats, Indices, Label

from ._calibration import check_probabilities
from ._input import BinarySample, check_binary, check_level
from ._parameter_docs import insert_shared_docs
from ._proportion import rows_per_weight, wilson_interval
from ._ties import cumulated_weights

_RULES = ("youden", "cost", "fpr", "share")


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Operating point of a cut-off: rows with `score >= threshold` are flagged.

    `tpr`, `fpr`: flagged share of the positives and of the negatives; `precision`: share of
    positives among the flagged rows (NaN if there are none); `share`: flagged share of all rows.
    The `_limits` are pairs (lower, upper) at the confidence `level`.
    """

    threshold: float
    tpr: float
    tpr_limits: tuple[float, float]
    fpr: float
    fpr_limits: tuple[float, float]
    precision: float
    precision_limits: tuple[float, float]
    share: float
    share_limits: tuple[float, float]
    level: float


@dataclass(frozen=True, slots=True)
class DecisionCurve:
    """Net benefit over threshold probabilities: the model, flagging everyone, flagging no one."""

    threshold: Floats
    model: Floats
    call_all: Floats
    call_none: Floats


@insert_shared_docs
def choose_cutoff(
    y: ArrayLike,
    s: ArrayLike,
    *,
    rule: str = "youden",
    rate: float | None = None,
    false_positive_cost: float = 1.0,
    false_negative_cost: float = 1.0,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> OperatingPoint:
    """Choose a cut-off and return its operating point, with intervals.

    All rules are exact over the distinct scores; on ties, the highest cut-off is chosen:

    - `"youden"`: the largest `tpr - fpr`;
    - `"cost"`: the smallest cost of the false positives and false negatives in the sample;
    - `"fpr"`: the largest tpr among cut-offs with a false positive rate of at most `rate`;
    - `"share"`: the largest flagged (approved) share of rows that is at most `rate`.

    The intervals are Wilson's for a cut-off fixed beforehand. Rates on the rows on which the
    cut-off was chosen are slightly optimistic: for unbiased rates, call `operating_point` on other
    rows.

    Parameters
    ----------
    {y}
    {s}
    rule : {"youden", "cost", "fpr", "share"}, default="youden"
        Criterion to optimise.
    rate : float in [0, 1], optional
        Limit for the rules "fpr" and "share", which require it.
    false_positive_cost, false_negative_cost : float, default=1.0
        Costs for the rule "cost".
    sample_weight : array-like of shape (n,), optional
        Weights. Integer weights are equivalent to repeated rows, except in the intervals, which
        treat them as sampling weights (see `auc_interval`).
    {level}
    {pos_label}

    Returns
    -------
    OperatingPoint
        Its `threshold` is infinite if flagging no rows is best.

    Examples
    --------
    >>> from treerank.metrics import choose_cutoff
    >>> y, s = [0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]
    >>> choose_cutoff(y, s).threshold
    6.0
    >>> choose_cutoff(y, s, rule="share", rate=0.6).share
    0.5
    """
    if rule not in _RULES:
        raise ValueError(f"Got rule={rule!r}; expected one of {list(_RULES)}.")
    level = check_level(level)
    if rule in ("fpr", "share") and (rate is None or not 0 <= rate <= 1):
        raise ValueError(f"Got rate={rate!r}; rule={rule!r} needs a number from 0 to 1.")
    costs = (false_positive_cost, false_negative_cost)
    if not (min(costs) >= 0 and 0 < max(costs) < np.inf):
        raise ValueError(f"Got costs {costs}; expected numbers >= 0, not both 0.")
    sample = check_binary(y, s, sample_weight, pos_label)
    negative, positive, scores = cumulated_weights(sample)
    if rule == "youden":
        value = positive / positive[-1] - negative / negative[-1]
    elif rule == "cost":
        value = false_negative_cost * positive - false_positive_cost * negative
    else:
        total = negative[-1] if rule == "fpr" else negative[-1] + positive[-1]
        used = negative if rule == "fpr" else negative + positive
        # A little slack, so that rounding of weighted sums does not reject an exact fit.
        allowed = used <= (rate or 0.0) * total * (1 + 1e-12)
        value = np.where(allowed, positive if rule == "fpr" else used, -1.0)
    best = int(np.argmax(value))
    threshold = np.inf if best == 0 else float(scores[best - 1])
    return _describe(sample, threshold, negative[best], positive[best], level)


@insert_shared_docs
def operating_point(
    y: ArrayLike,
    s: ArrayLike,
    threshold: float,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Label | None = None,
) -> OperatingPoint:
    """Return the operating point of a given cut-off, with Wilson's intervals.

    Parameters
    ----------
    {y}
    {s}
    threshold : float
        Rows with `s >= threshold` are flagged.
    sample_weight : array-like of shape (n,), optional
        Weights, as in `choose_cutoff`.
    {level}
    {pos_label}

    Returns
    -------
    OperatingPoint

    Examples
    --------
    >>> from treerank.metrics import operating_point
    >>> point = operating_point([0, 0, 1, 1], [1, 2, 2, 3], 2)
    >>> point.tpr, point.fpr, point.share
    (1.0, 0.5, 0.75)
    """
    level = check_level(level)
    if np.isnan(threshold):
        raise ValueError("Got threshold=nan; expected a number.")
    sample = check_binary(y, s, sample_weight, pos_label)
    called = sample.score >= threshold
    positive = sample.weight[called & sample.positive].sum()
    negative = sample.weight[called & ~sample.positive].sum()
    return _describe(sample, float(threshold), negative, positive, level)


@insert_shared_docs
def decision_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> DecisionCurve:
    """Net benefit of acting on predicted probabilities.

    Acting on probabilities of at least t implies that a false positive is t / (1 - t) times as bad
    as a missed true positive. The net benefit per row, `TP/n - FP/n * t / (1 - t)`, compares the
    model with acting on all rows and on none.

    Parameters
    ----------
    {y}
    {p}
    thresholds : array-like, optional
        Threshold probabilities in [0, 1); 0.01, 0.02, ..., 0.99 by default.
    {weights}
    {pos_label}

    Returns
    -------
    DecisionCurve
        `threshold`, `model`, `call_all`, `call_none`.

    References
    ----------
    Vickers and Elkin (2006), "Decision curve analysis: a novel method for evaluating prediction
    models", Medical Decision Making 26.

    Examples
    --------
    >>> from treerank.metrics import decision_curve
    >>> curve = decision_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], thresholds=[0.5])
    >>> curve.model, curve.call_all
    (array([0.]), array([0.]))
    """
    if thresholds is None:
        at = np.arange(1, 100) / 100
    else:
        at = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    if at.ndim != 1 or not np.all((at >= 0) & (at < 1)):
        raise ValueError(f"Got thresholds={thresholds!r}; expected numbers from 0 to below 1.")
    sample = check_binary(y, check_probabilities(p), sample_weight, pos_label, name="p")
    negative, positive, scores = cumulated_weights(sample)
    called: Indices = np.searchsorted(-scores, -at, side="right")
    total = negative[-1] + positive[-1]
    odds = at / (1 - at)
    return DecisionCurve(
        threshold=at,
        model=(positive[called] - odds * negative[called]) / total,
        call_all=(positive[-1] - odds * negative[-1]) / total,
        call_none=np.zeros(at.size),
    )


def _describe(
    sample: BinarySample, threshold: float, negative: float, positive: float, level: float
) -> OperatingPoint:
    """Return the operating point of a cut-off from the negative and positive weight it flags."""
    per_weight = rows_per_weight(sample.weight)
    positives = float(sample.weight[sample.positive].sum())
    negatives = float(sample.weight[~sample.positive].sum())
    called = float(negative + positive)

    def rate(part: float, whole: float) -> tuple[float, tuple[float, float]]:
        part = min(float(part), whole)
        lower, upper = wilson_interval(part * per_weight, whole * per_weight, level)
        return (part / whole if whole > 0 else np.nan), (float(lower), float(upper))

    tpr, tpr_limits = rate(positive, positives)
    fpr, fpr_limits = rate(negative, negatives)
    precision, precision_limits = rate(positive, called)
    share, share_limits = rate(called, positives + negatives)
    return OperatingPoint(
        threshold=threshold,
        tpr=tpr,
        tpr_limits=tpr_limits,
        fpr=fpr,
        fpr_limits=fpr_limits,
        precision=precision,
        precision_limits=precision_limits,
        share=share,
        share_limits=share_limits,
        level=level,
    )
