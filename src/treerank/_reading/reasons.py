"""Reasons: the features that moved a row down, or up, most, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._growth.trees import check_monotonic
from treerank._input.columns import is_missing
from treerank._input.parameters import check_choice, check_integer, check_number, is_whole
from treerank._input.types import FittedRanker, TableLike
from treerank._reading.attributions import Attributions, attributions, data_of, rows_of
from treerank._reading.tree_sums import tree_sum
from treerank._reading.usual_values import UsualValues, format_value, usual_values

# Most rows of the reference that a row is compared with, spread evenly over the ranking.
MOST_ROWS = 128
# Share of the baseline that counts as the best if the model has no strata.
BEST_SHARE = 0.1
REFERENCES = ("population", "approved", "best")

Groups = dict[str, list[int]]


@dataclass(frozen=True)
class Reason:
    """One reason why a row is not ranked higher (or lower).

    Attributes
    ----------
    feature : str
        Name of the feature, or of the group of features.
    attribution : float
        Contribution to the score: negative for ``direction="down"``, positive for ``"up"``.
    value : number, level or None
        The row's value of the feature; for a group, of its most important feature.
    text : str
        The value and what is usual, or the text given in `codes`.
    code : str or None
        The code given in `codes`.
    """

    feature: str
    attribution: float
    value: Any
    text: str
    code: str | None = None

    def __str__(self) -> str:
        return self.text if self.code is None else f"{self.code} {self.text}"


def reasons(
    model: FittedRanker,
    X: TableLike,
    n: int = 4,
    *,
    baseline: Any = None,
    reference: str = "population",
    cutoff: float = 0.0,
    direction: str = "down",
    groups: Mapping[str, Sequence[Any]] | None = None,
    codes: Mapping[Any, Any] | None = None,
) -> list[list[Reason]]:
    """Return, for each row, the features that moved it down, or up, most.

    Reasons are the attributions of the row against a reference, the largest first. A feature
    that works in the row's favour is never a reason, nor is one whose value contradicts a
    monotone constraint: if the score can only rise with a feature, a row above the median of the
    reference is not told that the feature is too low.

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted; see :func:`attributions`.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to give reasons for.
    n : int, default=4
        Maximum number of reasons per row.
    baseline : array-like or data frame, optional
        Rows from which the reference is taken, such as the training rows. If None, rows are
        compared with the mean over the training rows, and reasons do not say what is usual.
    reference : {"population", "approved", "best"}, default="population"
        Compare with all rows of the baseline, with those on the better side of the cut-off, or
        with those in the best stratum (for a model of many trees, the best tenth).
    cutoff : float, default=0.0
        Score that separates the approved from the others.
    direction : {"down", "up"}, default="down"
        Which direction is worse. If the last class is the bad one (a default, a disease), a high
        score is bad: use "up" for what raised the score. The approved and the best rows are then
        those with low scores.
    groups : mapping of str to sequence of features, optional
        Features that form one reason; their attributions are summed. Each feature without a
        group is a reason of its own.
    codes : mapping, optional
        Maps a feature or group to a code, or to a pair (code, text). The text replaces the
        generated one.

    Returns
    -------
    list of list of Reason
        One list for each row, the strongest reason first; ``str(reason)`` gives its text.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import RankingForest
    >>> from treerank.inspection import reasons
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["worst perimeter", "worst texture", "worst smoothness"]]
    >>> model = RankingForest(n_estimators=20).fit(X, y)
    >>> [found] = reasons(model, X[:1], n=1, baseline=X)
    >>> print(found[0])
    worst perimeter 184.6; half of the population have at most 97.66
    """
    n = check_integer("n", n, 1)
    check_choice("reference", reference, list(REFERENCES))
    check_choice("direction", direction, ["down", "up"])
    check_number("cutoff", cutoff, -np.inf)
    if baseline is None and reference != "population":
        raise ValueError(
            f"Got reference={reference!r} without a baseline; expected rows to take it from."
        )
    tree_sum(model)  # raises for models that have no attributions
    table = rows_of(model, X, "X")
    members = check_groups(groups, table.names)
    texts = _check_codes(codes, members)
    sign = -1.0 if direction == "down" else 1.0
    usual: list[UsualValues] | None = None
    rows = None
    if baseline is not None:
        rows, usual = _reference_rows(model, baseline, reference, float(cutoff), sign)
    found = attributions(model, table, rows)
    contradicts = _contradictions(model, found, usual, sign)
    return _choose(found, members, contradicts, usual, texts, sign, n)


def reasons_both_ways(
    model: FittedRanker, X: TableLike, n: int, baseline: Any
) -> dict[str, list[list[Reason]]]:
    """Return reasons in both directions from one computation, against all rows of a baseline."""
    rows, usual = _reference_rows(model, baseline, "population", 0.0, -1.0)
    found = attributions(model, X, rows)
    members = check_groups(None, found.feature_names)
    return {
        way: _choose(found, members, _contradictions(model, found, usual, sign), usual, {}, sign, n)
        for way, sign in (("up", 1.0), ("down", -1.0))
    }


def _reference_rows(
    model: Any, baseline: Any, reference: str, cutoff: float, sign: float
) -> tuple[Any, list[UsualValues]]:
    """Return the rows to compare with, and the usual values among all rows of the reference."""
    table = rows_of(model, baseline, "baseline")
    better = -sign * model.score_samples(table)  # higher is better in either direction
    chosen = np.arange(table.n_rows)
    called = "the population"
    if reference == "approved":
        chosen, called = np.flatnonzero(better >= -sign * cutoff), "the approved"
        if len(chosen) == 0:
            side = "at or above" if sign < 0 else "at or below"
            raise ValueError(
                f"Got a baseline without a row {side} cutoff={cutoff:g}; expected some rows that "
                "are approved."
            )
    elif reference == "best":
        count = 1 if hasattr(model, "partition_") else max(round(BEST_SHARE * len(better)), 1)
        chosen, called = np.flatnonzero(better >= np.sort(better)[-count]), "the best"
    data = data_of(table)[chosen]
    usual = [
        usual_values(name, data[:, j], bool(is_category), called)
        for j, (name, is_category) in enumerate(
            zip(table.names, model._binning.is_categorical, strict=True)
        )
    ]
    order = chosen[np.argsort(better[chosen], kind="stable")]
    if len(order) > MOST_ROWS:
        places = (np.arange(MOST_ROWS) + 0.5) * len(order) / MOST_ROWS
        order = order[places.astype(np.intp)]
    return table.take(np.sort(order)), usual


def check_groups(groups: Mapping[str, Sequence[Any]] | None, names: list[str]) -> Groups:
    """Positions of the features of each group. Each other feature is a group of its own."""
    members: Groups = {}
    taken: dict[int, str] = {}
    if groups is not None and not isinstance(groups, Mapping):
        raise ValueError(f"Got groups={groups!r}; expected a mapping of names to features.")
    for group, features in (groups or {}).items():
        alone = isinstance(features, str) or not isinstance(features, Iterable)
        listed = [features] if alone else list(features)
        if len(listed) == 0:
            raise ValueError(f"Got group {group!r} without a feature; expected one or more.")
        members[str(group)] = []
        for feature in listed:
            at = _position(feature, names, f"in group {group!r}")
            if at in taken:
                raise ValueError(
                    f"Got feature {names[at]!r} in groups {taken[at]!r} and {group!r}; expected "
                    "each feature in one group at most."
                )
            taken[at] = str(group)
            members[str(group)].append(at)
    for j, name in enumerate(names):
        if j not in taken:
            if name in members:
                raise ValueError(
                    f"Got group {name!r} and a feature of that name outside it; expected another "
                    "name for the group."
                )
            members[name] = [j]
    return members


def _position(feature: Any, names: list[str], where: str) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and 0 <= int(feature) < len(names):
        return int(feature)
    raise ValueError(
        f"Got feature {feature!r} {where}; expected a column of the model, by name or by a "
        f"position from 0 to {len(names) - 1}."
    )


def _check_codes(
    codes: Mapping[Any, Any] | None, members: Groups
) -> dict[str, tuple[str, str | None]]:
    """Code and text of each feature or group that has them."""
    table: dict[str, tuple[str, str | None]] = {}
    if codes is not None and not isinstance(codes, Mapping):
        raise ValueError(f"Got codes={codes!r}; expected a mapping of features to codes.")
    for name, entry in (codes or {}).items():
        if name not in members:
            raise ValueError(
                f"Got a code for {name!r}; expected a group, or a feature that is in none."
            )
        if isinstance(entry, str) or is_whole(entry):
            table[name] = str(entry), None
            continue
        pair = list(entry) if isinstance(entry, Sequence) else []
        if len(pair) != 2:
            raise ValueError(
                f"Got {entry!r} as the code of {name!r}; expected a code or a pair of code and "
                "text."
            )
        table[name] = str(pair[0]), None if is_missing(pair[1]) else str(pair[1])
    return table


def _contradictions(
    model: Any, found: Attributions, usual: list[UsualValues] | None, sign: float
) -> NDArray[np.bool_]:
    """Mark values of monotone features that are no worse than the median of the reference."""
    contradicts = np.zeros(found.values.shape, dtype=bool)
    given = getattr(model, "monotonic_cst", None)
    if given is None or usual is None:
        return contradicts
    constraints = check_monotonic(given, found.feature_names, model._binning)
    for j in np.flatnonzero(constraints):
        median = usual[j].median
        if median is None:
            continue
        values = found.data[:, j].astype(np.float64)
        # A worse value lowers the score if the direction is down, and raises it if it is up.
        contradicts[:, j] = (values - median) * float(constraints[j]) * sign <= 0
    return contradicts


def _choose(
    found: Attributions,
    members: Groups,
    contradicts: NDArray[np.bool_],
    usual: list[UsualValues] | None,
    codes: dict[str, tuple[str, str | None]],
    sign: float,
    n: int,
) -> list[list[Reason]]:
    """Return the reasons for each row, strongest first."""
    against = np.where(contradicts, 0.0, sign * found.values)  # above 0: a reason
    names = list(members)
    sums = np.column_stack([against[:, at].sum(axis=1) for at in members.values()])
    order = np.argsort(-sums, axis=1, kind="stable")[:, :n]
    chosen = []
    for row, places in enumerate(order):
        listed = []
        for place in places[sums[row, places] > 0]:
            at = members[names[place]]
            j = at[int(np.argmax(against[row, at]))]
            value = found.data[row, j]
            words = (
                f"{found.feature_names[j]} {format_value(value)}"
                if usual is None
                else usual[j].words(value)
            )
            if len(at) > 1:
                words = f"{names[place]}: {words}"
            code, text = codes.get(names[place], (None, None))
            listed.append(
                Reason(
                    feature=names[place],
                    attribution=float(sign * sums[row, place]),
                    value=value.item() if isinstance(value, np.generic) else value,
                    text=text or words,
                    code=code,
                )
            )
        chosen.append(listed)
    return chosen
