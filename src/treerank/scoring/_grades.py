"""Grades: a score cut into a few ranges whose event rates differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank._input.frames import frame_of
from treerank._input.parameters import check_integer, check_number, invalid_parameter
from treerank._input.types import Floats
from treerank._input.warn import warn
from treerank.metrics._input import OrderedSample, check_level, check_ordered, check_scores
from treerank.metrics._proportion import normal_quantile, rows_per_weight, weighted_share_limits
from treerank.scoring._optimal_cuts import GradeLimits, best_cuts
from treerank.scoring._steps import candidate_cuts, class_counts, step_of

MAX_RANGES = 100  # maximum number of ranges that grades are merged from


class Grades(BaseEstimator):
    """Cut a score optimally into a few grades whose event rates differ.

    Neighbouring ranges of the score, or neighbouring strata of a tree, are merged such that the
    event rate rises from grade to grade, each grade differs from the next at a chosen level, none
    is too small or too large, and the AUC of the grades is the largest that this allows. The
    optimum is found by dynamic programming. With more than two classes, the mean class replaces the
    event rate, and the mean AUC over all pairs of classes replaces the AUC.

    Fit it to scores of rows that the model was not trained on; :class:`Scorecard` does so.

    Parameters
    ----------
    max_grades : int, default=7
        Maximum number of grades.
    min_share, max_share : float, default=0.02 and 1.0
        Smallest and largest share of the rows in a grade.
    level : float or None, default=0.95
        Confidence level at which a grade must differ from the next, by Pearson's test of two
        proportions; with None, a higher rate is enough.
    names : sequence of str or None, default=None
        Names, best grade first; if there are more names than grades, the first ones are used. By
        default 1, 2, ….
    reverse : bool, default=False
        Whether the best grade has the lowest scores instead of the highest, as in credit risk,
        where the event is a default.
    cuts : array-like of float or None, default=None
        Scores at which a grade begins, as in a master scale; if given, nothing is optimised.

    Attributes
    ----------
    cuts_ : array of shape (n_grades - 1,)
        Scores at which grades begin, ascending: a score belongs to the grade of the largest cut
        that it reaches.
    names_ : list of str
        Names of the grades, best first.
    counts_ : array of shape (n_grades, n_classes)
        Weight of each class in each grade, best first.
    label_order_ : array of shape (n_classes,)
        The classes, worst first.

    References
    ----------
    Navas-Palencia (2020), "Optimal binning: mathematical programming formulation",
    arXiv:2001.08025, which bins a feature instead of a score.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.scoring import Grades
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(2 - score))
    >>> grades = Grades(max_grades=4, names=["A", "B", "C", "D"], reverse=True).fit(score, y)
    >>> print(grades.to_frame()[["grade", "rows", "event_rate"]].round(3).to_string(index=False))
    grade   rows  event_rate
        A 1240.0       0.041
        B 1400.0       0.125
        C  880.0       0.240
        D  480.0       0.442
    >>> grades.predict([-2.0, 0.0, 2.0]).tolist()
    ['A', 'B', 'D']
    """

    def __init__(
        self,
        max_grades: int = 7,
        *,
        min_share: float = 0.02,
        max_share: float = 1.0,
        level: float | None = 0.95,
        names: Sequence[str] | None = None,
        reverse: bool = False,
        cuts: ArrayLike | None = None,
    ) -> None:
        self.max_grades = max_grades
        self.min_share = min_share
        self.max_share = max_share
        self.level = level
        self.names = names
        self.reverse = reverse
        self.cuts = cuts

    cuts_: Floats
    names_: list[str]
    counts_: Floats
    label_order_: NDArray[Any]

    def fit(
        self,
        s: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        candidates: ArrayLike | None = None,
        labels: Any = None,
    ) -> Self:
        """Choose the grades.

        Parameters
        ----------
        s : array-like of shape (n,)
            Scores of rows that the model was not trained on; the event is likelier at higher ones.
        y : array-like of shape (n,)
            Labels of two or more ordered classes.
        sample_weight : array-like of shape (n,), optional
            Sampling weights: a row is one observation whatever its weight.
        candidates : array-like, optional
            Scores at which a grade may begin. By default the borders of up to 100 ranges of about
            equal weight; for a tree, pass the borders of its strata.
        labels : array-like, optional
            The classes in order, if it is not the order of their values.

        Returns
        -------
        self
        """
        names, limits = self._names(), self._limits()
        sample = check_ordered(y, s, sample_weight, labels)
        score = sample.score.astype(np.float64)
        if self.cuts is not None:
            cuts = _check_cuts("cuts", self.cuts)
        elif candidates is not None:
            cuts = _check_cuts("candidates", candidates)
        else:
            cuts = candidate_cuts(score, sample.weight, MAX_RANGES)
        if self.cuts is None:
            cuts = _chosen(cuts, _counts(cuts, sample), limits, rows_per_weight(sample.weight))
        counts = _counts(cuts, sample)
        names = names[: len(counts)] if names else [str(k + 1) for k in range(len(counts))]
        if len(names) < len(counts):
            raise ValueError(
                f"Got {len(names)} names for {len(counts)} grades; expected a name for each."
            )
        best_first = counts if self.reverse else counts[::-1]
        _check_not_empty(best_first, names)
        self.cuts_, self.names_, self.counts_ = cuts, names, best_first
        self.label_order_, self._rows_per_weight = sample.classes, rows_per_weight(sample.weight)
        return self

    def _names(self) -> list[str]:
        """Return the given names; empty if the grades are to be numbered."""
        if not isinstance(self.reverse, bool | np.bool_):
            raise invalid_parameter("reverse", self.reverse, "True or False")
        if self.names is None:
            return []
        names = [self.names] if isinstance(self.names, str) else [str(n) for n in self.names]
        if len(set(names)) < len(names):
            raise invalid_parameter("names", names, "names that all differ")
        if self.cuts is None and len(names) < self.max_grades:
            raise ValueError(
                f"Got {len(names)} names for up to {self.max_grades} grades; expected a name for "
                "each. Add names, or lower max_grades."
            )
        return names

    def _limits(self) -> tuple[int, float, float, float]:
        max_grades = check_integer("max_grades", self.max_grades, 2)
        least = check_number("min_share", self.min_share)
        most = check_number("max_share", self.max_share)
        if not 0 <= least <= most <= 1:
            raise ValueError(
                f"Got min_share={self.min_share!r} and max_share={self.max_share!r}; expected "
                "0 <= min_share <= max_share <= 1."
            )
        z = 0.0 if self.level is None else normal_quantile(check_level(self.level))
        return max_grades, least, most, z

    def apply(self, s: ArrayLike) -> NDArray[np.intp]:
        """Return the index of the grade of each score; grade 0 is the best."""
        check_is_fitted(self)
        step = step_of(self.cuts_, check_scores(s))
        return step if self.reverse else len(self.cuts_) - step

    def predict(self, s: ArrayLike) -> NDArray[Any]:
        """Return the name of the grade of each score."""
        return np.asarray(np.array(self.names_, dtype=object)[self.apply(s)])

    def columns(
        self,
        s: ArrayLike | None = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        level: float = 0.95,
    ) -> dict[str, Any]:
        """Return the table of :meth:`to_frame`, column by column."""
        check_is_fitted(self)
        counts, share = self.counts_, self._rows_per_weight
        if s is not None:
            sample = check_ordered(y, s, sample_weight, self.label_order_)
            grade = self.apply(sample.score)
            counts = class_counts(
                grade, sample.code, sample.weight, len(self.names_), len(self.label_order_)
            )
            share = rows_per_weight(sample.weight)
        return _table(self, counts, share, check_level(level))

    def to_frame(
        self,
        s: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        level: float = 0.95,
        backend: str | None = None,
    ) -> Any:
        """Return a table of the grades, best first: scores, rows, event rates and intervals.

        Parameters
        ----------
        s, y, sample_weight : array-like, optional
            Rows to count. By default those of the fit, on which the grades were chosen to differ;
            other rows give an unbiased table.
        level : float, default=0.95
            Confidence level of Wilson's intervals.
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        return frame_of(self.columns(s, y, sample_weight, level=level), backend)


def _check_cuts(name: str, cuts: ArrayLike) -> Floats:
    found = np.asarray(cuts, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all() or not (np.diff(found) > 0).all():
        raise ValueError(f"Got {name}={cuts!r}; expected finite numbers that rise.")
    return found


def _counts(cuts: Floats, sample: OrderedSample) -> Floats:
    """Return the weight of each class in each range, lowest scores first."""
    step = step_of(cuts, sample.score)
    return class_counts(step, sample.code, sample.weight, len(cuts) + 1, len(sample.classes))


def _chosen(
    cuts: Floats, counts: Floats, limits: tuple[int, float, float, float], share: float
) -> Floats:
    """Return the cuts of the best grades."""
    found = best_cuts(counts, GradeLimits(*limits, share))
    if found is None:
        _, least, most, _ = limits
        raise ValueError(
            f"Got no way to cut the scores into grades of {least:.1%} to {most:.1%} of the rows "
            "each; expected more grades or wider shares: raise max_grades or max_share, or lower "
            "min_share or level."
        )
    if not found:
        warn(
            "No two ranges of the score have event rates that differ enough; there is one "
            "grade. Give more rows, or lower level or min_share."
        )
    return np.asarray(cuts[np.asarray(found, dtype=np.intp) - 1])


def _check_not_empty(counts: Floats, names: list[str]) -> None:
    empty = [name for name, row in zip(names, counts, strict=True) if row.sum() == 0]
    if empty:
        raise ValueError(
            f"Got cuts that leave grade {empty[0]!r} without a row; expected rows in every grade. "
            "Leave out one of its cuts, or give more rows."
        )


def _table(grades: Grades, counts: Floats, share: float, level: float) -> dict[str, Any]:
    edges = np.concatenate([[-np.inf], grades.cuts_, [np.inf]])
    low, high = edges[:-1], edges[1:]
    if not grades.reverse:
        low, high = low[::-1], high[::-1]
    rows = counts.sum(axis=1)
    table: dict[str, Any] = {
        "grade": grades.names_,
        "from_score": low,
        "below_score": high,
        "rows": rows,
        "share_of_rows": rows / rows.sum(),
    }
    for k, label in enumerate(grades.label_order_):
        table[f"n_{label}"] = counts[:, k]
    known = np.where(rows > 0, rows, 1.0)
    shares = np.where(rows[:, np.newaxis] > 0, counts / known[:, np.newaxis], np.nan)
    if len(grades.label_order_) > 2:
        for k, label in enumerate(grades.label_order_):
            table[f"share_{label}"] = shares[:, k]
        return table
    lower, upper = weighted_share_limits(counts[:, 1], rows, share, level)
    table |= {"event_rate": shares[:, 1], "lower": lower, "upper": upper}
    return table
