"""Monitoring: whether a model still performs, period by period, as it did on a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.columns import missing_mask
from treerank._input.frames import take_rows_of
from treerank._input.label_order import class_codes, label_order_of
from treerank._input.labels import check_known_labels, labels_as_array
from treerank._input.parameters import invalid_parameter
from treerank._input.types import FittedClassifier
from treerank._input.warn import warn
from treerank._report._sample import target_name
from treerank.metrics._input import check_level, check_weights
from treerank.scoring._drift import ColumnDrift, ScoredTable, column_drifts, score_drift
from treerank.scoring._period_order import read_periods
from treerank.scoring._periods import Baseline, PeriodFigures, measure_baseline, measure_period
from treerank.scoring._plain import PlainResult, format_table, format_value
from treerank.scoring._rows import check_two_classes, score_rows
from treerank.scoring._scorecard import unwrap
from treerank.scoring._sequential import log_evidence
from treerank.scoring._training_rows import are_training_rows

# The tests of AUC, calibration and score share the level of the whole monitoring.
N_TESTS = 3


@dataclass(frozen=True)
class SequentialTest:
    """One of the tests that can raise an alarm.

    Attributes
    ----------
    name : str
    question : str
        The question that it answers.
    evidence : list of float
        After each period: the largest likelihood ratio so far against "nothing has changed"; for
        the score, 1 / p-value, corrected for earlier looks.
    threshold : float
        Evidence from which an alarm is raised.
    raised_in : str or None
        Period in which the alarm was raised.
    """

    name: str
    question: str
    evidence: list[float]
    threshold: float
    raised_in: str | None


@dataclass(frozen=True)
class Monitoring(PlainResult):
    """Result of :func:`monitor`.

    Attributes
    ----------
    status : str
        "alarm" if a sequential test has rejected that nothing has changed; "watch" if a column has
        moved, has new levels, or has another share of missing values; otherwise "steady".
    alarms, watches : list of str
        The reasons, in words.
    tests : list of SequentialTest
    baseline : PeriodFigures
    periods : list of PeriodFigures
        Rows, events, rate, AUC and calibration of each period.
    score : ColumnDrift
        Stability of the score.
    columns : list of ColumnDrift
        Stability of each column, those that moved most first.
    classes : list
        Non-event and event.
    level, alpha : float
        Confidence level of the intervals; level of the alarms, over all periods and tests.
    model : str
        Name of the model's class.
    target : str
        Name of the labels; empty if they have none.
    """

    status: str
    alarms: list[str]
    watches: list[str]
    tests: list[SequentialTest]
    baseline: PeriodFigures
    periods: list[PeriodFigures]
    score: ColumnDrift
    columns: list[ColumnDrift]
    classes: list[Any]
    level: float
    alpha: float
    model: str
    target: str = ""

    def to_html(self, out: Any = "monitor.html", title: str | None = None) -> Path | str:
        """Write one self-contained HTML page; return its text if `out` is None."""
        from treerank._report._monitor import monitor_page  # noqa: PLC0415 - it needs jinja2

        return monitor_page(self, out, title)

    def __repr__(self) -> str:
        lines = [["period", "rows", "events", "rate", "expected", "AUC", "interval", "PSI"]]
        indices = [None, *self.score.index]
        for figures, index in zip([self.baseline, *self.periods], indices, strict=True):
            lines.append(
                [
                    figures.name,
                    f"{figures.rows:,.10g}",
                    format_value(figures.events, ",.10g"),
                    format_value(figures.rate, ".2%"),
                    format_value(figures.expected_rate, ".2%"),
                    format_value(figures.auc, ".4f"),
                    "" if figures.auc is None else "{:.3f} to {:.3f}".format(*figures.auc_limits),
                    format_value(index, ".3f"),
                ]
            )
        text = format_table(lines)
        text += [f"alarm: {said}" for said in self.alarms]
        text += [f"watch: {said}" for said in self.watches]
        return "\n".join([*text, f"status: {self.status}"])


def monitor(
    model: FittedClassifier,
    baseline: Any,
    new: Any,
    periods: Any,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    target: str | None = None,
) -> Monitoring:
    """Monitor a binary model in use, period by period, for drift and decline.

    For each period: the population stability index (PSI) of the score and of every column against
    the baseline, shares of missing values and new levels; for rows with labels, the event rate, the
    AUC and the calibration, with intervals. Three sequential tests raise alarms: the AUC has
    fallen, the probabilities no longer fit, the score has moved by a PSI of 0.25 or more. They are
    made for frequent looks: while nothing has changed, the probability that any of them *ever*
    raises an alarm is at most `alpha`, however many periods there are [1]_ [2]_. The uncertainty of
    the baseline is allowed for. Probabilities are first recalibrated on the baseline, so that what
    is found is a change since then.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or any binary classifier.
    baseline : tuple (X, y) or (X, y, sample_weight)
        Rows with labels that the model was **not** fitted to: on its training rows a model looks
        too good, and every later month looks like a decline.
    new : tuple (X,), (X, y) or (X, y, sample_weight)
        Rows since then. Labels that are not known yet are None or NaN.
    periods : array-like of shape (n_new,)
        Period of each new row, such as its month. Periods follow each other in the order of an
        ordered categorical; otherwise dates and numbers by value, text that names months or
        quarters, such as ``Jan`` or ``Q3 2025``, by the calendar, and other text by the letters
        and the numbers in it, so that ``week 2`` comes before ``week 10``.
    level : float, default=0.95
        Confidence level of the intervals.
    alpha : float, default=0.05
        Level of the alarms, over all periods and tests.
    target : str, optional
        Name of the labels, for the page; by default the name of `y` of the baseline, if it has one.

    Returns
    -------
    Monitoring
        It prints as a table; `status` says whether to act, `to_html` writes a page, `to_dict`
        returns plain data.

    References
    ----------
    .. [1] H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
       Mathematical Statistics 41, 1970.
    .. [2] S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric,
       nonasymptotic confidence sequences", Annals of Statistics 49, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import TreeRank
    >>> from treerank.scoring import monitor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = (rng.random(3000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    >>> model = TreeRank(max_depth=3).fit(X[:1000], y[:1000])
    >>> month = np.repeat(["2026-01", "2026-02"], 500)
    >>> monitor(model, (X[1000:2000], y[1000:2000]), (X[2000:], y[2000:]), month).status
    'steady'
    """
    check_two_classes(model, "monitoring")
    level = check_level(level)
    if not 0 < alpha < 1:
        raise invalid_parameter("alpha", alpha, "a number between 0 and 1, such as 0.05")
    before = _read(model, baseline, "baseline", (2, 3))
    after = _read(model, new, "new", (1, 2, 3))
    names, number = read_periods(periods, len(after.weight))
    known = after.weight > 0
    after, number = after.take(known), number[known]
    before = before.take(before.weight > 0)
    _check_baseline(model, before.code)
    _warn_of_training_rows(model, before)
    reference = measure_baseline(before, level)
    figures = [
        measure_period(name, after.take(np.flatnonzero(number == k)), reference, level)
        for k, name in enumerate(names)
    ]
    drift = score_drift(before, after, number, len(names), alpha / N_TESTS)
    columns = column_drifts(model, before, after, number, len(names), alpha)
    tests = _tests(reference, figures, drift, alpha / N_TESTS)
    alarms = [_alarm(test) for test in tests if test.raised_in is not None]
    watches = [said for column in columns for said in column.watches(names)]
    return Monitoring(
        status="alarm" if alarms else "watch" if watches else "steady",
        alarms=alarms,
        watches=watches,
        tests=tests,
        baseline=reference.figures,
        periods=figures,
        score=drift,
        columns=columns,
        classes=label_order_of(model).tolist(),
        level=level,
        alpha=alpha,
        model=type(model).__name__,
        target=target_name(baseline[1], target),
    )


def _read(model: FittedClassifier, given: Any, name: str, lengths: tuple[int, ...]) -> ScoredTable:
    """Check a table with its labels and weights, and score it."""
    if not isinstance(given, tuple | list) or len(given) not in lengths:
        expected = "a tuple (X, y) or (X, y, sample_weight)" + ", or (X,)" * (1 in lengths)
        raise invalid_parameter(name, type(given).__name__, expected)
    score, probability = score_rows(model, given[0])
    code = np.full(len(score), -1, dtype=np.intp)
    if len(given) > 1 and given[1] is not None:
        labels = np.asarray(labels_as_array(given[1]))
        if labels.shape != (len(score),):
            raise ValueError(
                f"Got labels of shape {labels.shape} in {name} for {len(score)} rows; expected one "
                "a row, None where it is not known."
            )
        there = np.flatnonzero(~missing_mask(labels))
        if len(there):
            classes = label_order_of(model)
            wanted = np.array(labels[there].tolist())  # no object dtype without missing labels
            code[there] = class_codes(check_known_labels(wanted, classes), classes)
    weight = check_weights(given[2] if len(given) > 2 else None, len(score))
    return ScoredTable(given[0], code, weight, score, probability)


def _check_baseline(model: FittedClassifier, code: NDArray[Any]) -> None:
    """Check that every row of the baseline has a label, and that both classes occur."""
    n_lacking = int((code < 0).sum())
    if n_lacking:
        raise ValueError(
            f"Got a baseline of {len(code):,} rows, {n_lacking:,} of them without a label; "
            "expected a label for each row: drop those without one."
        )
    if len(np.unique(code)) < 2:
        raise ValueError(
            "Got a baseline with labels of one class; expected some of "
            f"{model.classes_[0]!s} and of {model.classes_[1]!s}."
        )


def _warn_of_training_rows(model: FittedClassifier, baseline: ScoredTable) -> None:
    """Warn if the baseline certainly consists of the training rows of a tree or forest."""
    X = baseline.X if baseline.rows is None else take_rows_of(baseline.X, baseline.rows)
    labels = label_order_of(model)[baseline.code]
    if are_training_rows(unwrap(model)[0], X, labels, baseline.weight):
        warn(
            "Got a baseline of the rows that the model was fitted to; expected rows that it has "
            "not seen: on training rows its AUC is too good, and every later period looks like a "
            "decline."
        )


def _tests(
    reference: Baseline, figures: list[PeriodFigures], drift: ColumnDrift, alpha: float
) -> list[SequentialTest]:
    """Return the evidence of each sequential test after each period."""
    names = [f.name for f in figures]
    fallen = log_evidence(
        np.array([np.nan if f.auc is None else reference.auc - f.auc for f in figures]),
        np.array([reference.auc_variance(f) for f in figures]),
        reference.auc_error**2,
        one_sided=True,
    )
    shifted = log_evidence(
        np.array([f.shift for f in figures], dtype=float),  # NaN for None
        np.array([np.nan if f.shift_error is None else f.shift_error**2 for f in figures]),
        reference.shift_error**2,
        one_sided=False,
    )
    moved = -np.log(np.maximum(drift.spent_p_value, 1e-300))
    moved = np.where(np.array(drift.index) >= drift.moved_from, moved, 0.0)
    said = [
        ("AUC", "has the AUC fallen below the baseline's?", fallen),
        ("calibration", "do events come more or less often than at the baseline?", shifted),
        ("score", "has the distribution of the score moved by a PSI of 0.25 or more?", moved),
    ]
    return [_test(name, question, log, names, alpha) for name, question, log in said]


def _test(
    name: str, question: str, log: NDArray[np.float64], names: list[str], alpha: float
) -> SequentialTest:
    highest = np.maximum.accumulate(np.minimum(log, 690.0))  # the largest double is about e^709
    over = highest >= -np.log(alpha)
    raised = names[int(np.argmax(over))] if over.any() else None
    return SequentialTest(name, question, np.exp(highest).tolist(), 1 / alpha, raised)


def _alarm(test: SequentialTest) -> str:
    what = {
        "AUC": "the AUC has fallen below that of the baseline",
        "calibration": "the probabilities no longer fit the events",
        "score": "the distribution of the score has moved",
    }[test.name]
    return f"{what} (first certain in {test.raised_in})"
