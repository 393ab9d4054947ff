"""Weak segments: where a model ranks badly, found on some rows and checked on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._comparison.result import holm
from treerank._input.frames import open_frame, take_rows_of
from treerank._input.parameters import check_integer, invalid_parameter
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._leafrank import LeafRank
from treerank._treerank import TreeRank
from treerank.metrics import roc_auc_score
from treerank.metrics._delong import both_placements
from treerank.metrics._input import BinarySample, check_level
from treerank.metrics._structural import Spread
from treerank.scoring._auc_parts import Mask, PartAuc, auc_difference, part_auc
from treerank.scoring._plain import (
    PlainResult,
    format_p_value,
    format_table,
    format_value,
    known,
)
from treerank.scoring._recalibration import fit_recalibration, recalibrated
from treerank.scoring._rows import LabelledScores, check_two_classes, read_rows

MIN_CLASS = 20  # minimum number of events, and of non-events, to search and to check


@dataclass(frozen=True)
class Segment:
    """A segment of the rows, and how the model ranks within it on rows not used to find it.

    Attributes
    ----------
    rule : str
        Rule that selects the rows of the segment.
    rows, events : float
        Weight of its held-out rows, and of the events among them.
    auc, auc_limits : float, tuple
        AUC within the segment; None if it has only one class.
    expected : float or None
        AUC that the mix of rows in the segment would have if the probabilities, recalibrated on the
        search rows, fitted as well as they do elsewhere; for a model without probabilities, the AUC
        within the other rows.
    difference, difference_limits : float, tuple
        AUC minus the expected AUC.
    p_value, p_adjusted : float
        Test of no difference; adjusted for all segments by Holm's method.
    is_weak : bool
        Whether the AUC is significantly lower after the adjustment.
    """

    rule: str
    rows: float
    events: float
    auc: float | None
    auc_limits: tuple[float, float] | None
    expected: float | None
    difference: float | None
    difference_limits: tuple[float, float] | None
    p_value: float | None
    p_adjusted: float | None
    is_weak: bool


@dataclass(frozen=True)
class WeakSegments(PlainResult):
    """Result of :func:`weak_segments`; it prints as a table.

    Attributes
    ----------
    segments : list of Segment
        The one that ranks worst on the search rows first.
    auc : float
        AUC of all held-out rows.
    n_rows : int
        Number of held-out rows.
    level : float
    """

    segments: list[Segment]
    auc: float
    n_rows: int
    level: float

    def __repr__(self) -> str:
        lines = [["segment", "rows", "events", "AUC", "expected", "difference", "p", "weak"]]
        for s in self.segments:
            lines.append(
                [
                    s.rule if len(s.rule) <= 60 else f"{s.rule[:59]}…",
                    f"{s.rows:,.10g}",
                    f"{s.events:,.10g}",
                    format_value(s.auc, ".3f"),
                    format_value(s.expected, ".3f"),
                    format_value(s.difference, "+.3f"),
                    format_p_value(s.p_adjusted),
                    "weak" if s.is_weak else "",
                ]
            )
        note = f"checked on {self.n_rows:,} rows that did not find them (AUC {self.auc:.3f})"
        return "\n".join([*format_table(lines), note + "; p by Holm"])


def weak_segments(
    model: FittedClassifier,
    X: TableLike,
    y: ArrayLike,
    *,
    features: Any = None,
    max_depth: int = 2,
    min_share: float = 0.05,
    test_share: float = 0.5,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    random_state: int = 0,
) -> WeakSegments:
    """Find where a model ranks badly, and check the findings on other rows.

    The residual of a row is the share of pairs that it gets wrong: an event below non-events, a
    non-event above events. Rows with middling scores naturally get many pairs wrong, so the share
    is compared with the one expected from the row's probability. On some of the rows, a small
    ranking tree of `max_depth` levels searches for segments in which more goes wrong than expected.
    On the other rows, the AUC within each segment is compared with the AUC that its mix of
    probabilities would give [1]_ if they fitted as well as elsewhere. p-values are adjusted for the
    number of segments.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or any binary classifier.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model was not fitted to.
    y : array-like of shape (n_samples,)
    features : array-like or data frame of shape (n_samples, n_columns), optional
        Columns that describe the segments; the model need not use them. By default `X`.
    max_depth : int, default=2
        Depth of the small tree, which has at most ``2 ** max_depth`` segments.
    min_share : float, default=0.05
        Minimum share of the rows in a segment.
    test_share : float, default=0.5
        Share of the rows that are used to check the segments.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights.
    level : float, default=0.95
        Confidence level; a segment can be weak if its adjusted p-value is below 1 minus this.
    random_state : int, default=0
        Seed of the random division of the rows.

    Returns
    -------
    WeakSegments

    References
    ----------
    .. [1] D. van Klaveren, M. Gönen, E. Steyerberg, Y. Vergouwe, "A new concordance measure for
       risk prediction models in external validation settings", Statistics in Medicine 35, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import TreeRank
    >>> from treerank.scoring import weak_segments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> signal = np.where(X[:, 1] > 1, 0.0, 2.0) * X[:, 0]
    >>> y = (rng.random(6000) < 1 / (1 + np.exp(-signal))).astype(int)
    >>> model = TreeRank(max_depth=3).fit(X[:2000, :1], y[:2000])
    >>> found = weak_segments(model, X[2000:, :1], y[2000:], features=X[2000:], max_depth=1)
    >>> [(s.is_weak, s.rule) for s in found.segments][0]
    (True, 'x1 > 1.00184')
    """
    check_two_classes(model, "a search for weak segments")
    level = check_level(level)
    depth = check_integer("max_depth", max_depth, 1)
    for name, share in (("min_share", min_share), ("test_share", test_share)):
        if not 0 < share < 1:
            raise invalid_parameter(name, share, "a share between 0 and 1")
    seed = check_integer("random_state", random_state, 0)
    rows = read_rows(model, X, y, sample_weight)
    table: Any = X if features is None else features
    if len(table) != len(rows.code):
        raise ValueError(f"Got {len(table)} rows of features for {len(rows.code)} rows of X.")
    options = SearchOptions(depth, min_share, test_share, level, seed)
    return search_segments(rows, table, options)


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search; the names are those of `weak_segments`."""

    max_depth: int = 2
    min_share: float = 0.05
    test_share: float = 0.5
    level: float = 0.95
    seed: int = 0


def has_enough_rows(rows: LabelledScores, test_share: float = 0.5) -> bool:
    """Whether both classes have enough rows to search and to check."""
    n = np.bincount(rows.code[rows.weight > 0], minlength=2)
    checks = np.rint(test_share * n)
    return bool(np.minimum(checks, n - checks).min() >= MIN_CLASS)


def search_segments(rows: LabelledScores, table: Any, options: SearchOptions) -> WeakSegments:
    """Search for weak segments among rows that have been scored."""
    level = options.level
    search, check = _divide(rows, options.test_share, options.seed)
    found_on, held_out = rows.take(search), rows.take(check)
    fit = fit_recalibration(found_on)
    expected = [_expectation(part, fit) for part in (found_on, held_out)]
    tree = _residual_tree(take_rows_of(table, search), found_on, expected[0], options)
    cell = np.asarray(tree.apply(take_rows_of(table, check)))
    whole = part_auc(held_out, np.ones(len(check), bool), np.ones(len(check), bool), level)
    assert whole is not None
    found = [
        _segment(held_out, expected[1], cell == k, rule, level)
        for k, rule in enumerate(tree.partition_.rules())
    ]
    adjusted = holm(np.array([f["p_value"] for f in found], dtype=float))  # NaN for None
    segments = [_judge(f, p, level) for f, p in zip(found, adjusted.tolist(), strict=True)]
    return WeakSegments(segments, whole.auc, len(check), level)


def _divide(rows: LabelledScores, share: float, seed: int) -> tuple[Any, Any]:
    """Return the rows to search and the rows to check, with each class divided in proportion."""
    rng = np.random.default_rng(seed)
    check = np.zeros(len(rows.code), dtype=bool)
    known = rows.weight > 0
    for k in (0, 1):
        of_class = np.flatnonzero((rows.code == k) & known)
        n_check = round(share * len(of_class))
        if min(n_check, len(of_class) - n_check) < MIN_CLASS:
            raise ValueError(
                f"Got {len(of_class)} rows of one class; expected at least {MIN_CLASS} of each, "
                "both to search and to check."
            )
        check[rng.permutation(of_class)[:n_check]] = True
    return np.flatnonzero(known & ~check), np.flatnonzero(check)


def _expectation(rows: LabelledScores, fit: tuple[float, float]) -> Floats | None:
    """Return the recalibrated probability of each row; None for a model without probabilities."""
    if rows.probability is None:
        return None
    return recalibrated(rows.probability, fit, 0.0, len(rows.code))


def _residual_tree(
    X: TableLike, rows: LabelledScores, expected: Floats | None, options: SearchOptions
) -> TreeRank:
    """Rank rows by the share of pairs that they get wrong, relative to the expected share.

    Each row is in the table twice: with label 0, weighted by the expected share (the share of pairs
    it gets right, for a model without probabilities), and with label 1, weighted by the share it
    gets wrong. Both classes of the model weigh the same, so that the larger does not hide the
    smaller.
    """
    as_event, as_other = both_placements(BinarySample(rows.code == 1, rows.score, rows.weight))
    totals = np.bincount(rows.code, rows.weight)
    wrong = np.where(rows.code == 1, 1 - as_event, 1 - as_other)
    share = rows.weight / totals[rows.code]
    usual = share * (1 - wrong)
    if expected is not None:
        per_class = (
            expected * (1 - as_event) / totals[1],
            (1 - expected) * (1 - as_other) / totals[0],
        )
        usual = rows.weight * sum(per_class)
    n_rows = len(rows.code)
    twice = np.tile(np.arange(n_rows), 2)
    weight = np.concatenate([usual, share * wrong])
    label = np.repeat([0, 1], n_rows)
    least = max(1, int(options.min_share * 2 * n_rows))
    single = LeafRank(max_depth=1, min_samples_leaf=least)  # one test per split: readable rules
    tree = TreeRank(
        single, max_depth=options.max_depth, min_samples_leaf=least, pruning=None, shrinkage=None
    )
    table = X if open_frame(X) is not None else np.asarray(X)
    kept = np.flatnonzero(weight > 0)
    return tree.fit(
        take_rows_of(table, twice[kept]), label[kept], sample_weight=weight[kept] / weight.mean()
    )


def _segment(
    rows: LabelledScores, expected: Floats | None, mask: Mask, rule: str, level: float
) -> dict[str, Any]:
    """Return the AUC within a segment and the expected AUC."""
    found: dict[str, Any] = {
        "rule": rule,
        "rows": float(rows.weight[mask].sum()),
        "events": float(rows.weight[mask & (rows.code == 1)].sum()),
        "auc": None, "auc_limits": None, "expected": None, "difference": None,
        "difference_limits": None, "p_value": None,
    }  # fmt: skip
    inside = part_auc(rows, mask, mask, level)
    if inside is None:
        return found
    found |= {"auc": inside.auc, "auc_limits": (inside.lower, inside.upper)}
    outside = part_auc(rows, ~mask, ~mask, level)
    if expected is not None:
        outside = _shifted(rows, expected, mask, outside)
    if outside is not None:
        difference, lower, upper, p_value = auc_difference(inside, outside, level)
        found |= {"difference": difference, "difference_limits": (lower, upper)}
        found |= {"expected": outside.auc, "p_value": p_value}
    return found


def _shifted(
    rows: LabelledScores, expected: Floats, mask: Mask, outside: PartAuc | None
) -> PartAuc:
    """Return the AUC expected of the rows inside, shifted by how far the others are from theirs.

    No recalibration fits all rows; a misfit that remains everywhere is not a weakness of one
    segment.
    """
    usual = _model_auc(rows.score[mask], expected[mask], rows.weight[mask])
    if outside is None:
        return PartAuc(usual, usual, usual, Spread(0.0, np.inf, np.inf))
    others = _model_auc(rows.score[~mask], expected[~mask], rows.weight[~mask])
    moved = float(np.clip(usual + outside.auc - others, 0.0, 1.0))
    return PartAuc(moved, moved, moved, outside.spread)


def _model_auc(score: Floats, p: Floats, weight: Floats) -> float:
    """Return the expected AUC of rows with these scores and event probabilities."""
    labels = np.repeat([1, 0], len(score))
    both = np.concatenate([weight * p, weight * (1 - p)])
    return float(roc_auc_score(labels, np.tile(score, 2), sample_weight=both))


def _judge(found: dict[str, Any], p_adjusted: float, level: float) -> Segment:
    is_weak = p_adjusted < 1 - level and found["difference"] < 0  # not if it is NaN
    return Segment(**found, p_adjusted=known(p_adjusted), is_weak=is_weak)
