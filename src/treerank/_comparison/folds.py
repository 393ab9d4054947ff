"""Folds of `compare`: stratified, by group, or forward in time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from treerank._input.columns import missing_mask
from treerank._input.labels import levels_in_order
from treerank._input.parameters import check_integer, invalid_parameter, is_whole

# Text that is sorted in time: 2024, 2024-03, 2024-03-31 12:00, 20240331, 2024-W05, 2024Q3.
YEAR_FIRST = re.compile(r"\s*\d{4}([-/.]?(\d{2}|W\d{2}|Q[1-4]))?([-/.]?\d{2})?([T ].*)?")

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def make_folds(
    labels: NDArray[np.intp],
    classes: NDArray[Any],
    cv: Any,
    n_repeats: Any,
    seed: int,
    groups: ArrayLike | None = None,
    time: Any = None,
) -> list[Fold]:
    """Return training and test rows of each fold. Every class occurs in both."""
    repeats = check_integer("n_repeats", n_repeats, 1)
    given = _codes("groups", groups, len(labels))
    when = _codes("time", _moments(time), len(labels))
    if given is not None and when is not None:
        raise ValueError("Got groups and time; expected one of them.")
    if not is_whole(cv):
        folds = _folds_of_splitter(cv, labels, repeats, given, when)
    elif when is not None:
        folds = _forward(when, check_integer("cv", cv, 2))
        _check_repeats(repeats, "time")
    elif given is not None:
        folds = _whole_groups(given, labels, check_integer("cv", cv, 2), seed)
        _check_repeats(repeats, "groups")
    else:
        folds = _stratified(labels, classes, check_integer("cv", cv, 2), repeats, seed)
    _check_classes(folds, labels, classes)
    return folds


def _codes(name: str, values: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return the index of each row's value among the sorted distinct values."""
    if values is None:
        return None
    found = np.asarray(values)
    if found.shape != (n_rows,):
        raise ValueError(f"Got {name} of shape {found.shape} for {n_rows} rows; expected one each.")
    missing = missing_mask(found)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"Got no value of {name} in row {row}; expected one for each row.")
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


def _moments(time: Any) -> Any:
    """Return times that are in order by their values; raise for text in another order."""
    levels = levels_in_order(time)
    if levels is not None:
        place = {level: k for k, level in enumerate(levels)}
        return [place.get(value) for value in np.asarray(time).tolist()]
    values = None if time is None else np.asarray(time)
    if values is not None and values.dtype.kind in "OUT":
        texts = {value for value in values.ravel().tolist() if isinstance(value, str)}
        unordered = sorted(text for text in texts if not YEAR_FIRST.fullmatch(text))
        if unordered:
            raise ValueError(
                f"Got time as text such as {unordered[0]!r}, whose order is not known; expected "
                "dates, numbers, or text with the year first, such as '2024-03-31'."
            )
    return values


def _check_repeats(repeats: int, owner: str) -> None:
    if repeats != 1:
        raise invalid_parameter("n_repeats", repeats, f"1 with {owner}")


def _stratified(
    labels: NDArray[np.intp], classes: NDArray[Any], cv: int, repeats: int, seed: int
) -> list[Fold]:
    counts = np.bincount(labels)
    if counts.min() < cv:
        raise ValueError(
            f"Got cv={cv} and {counts.min()} rows of class "
            f"{classes.tolist()[int(np.argmin(counts))]!r}; expected at least one per fold."
        )
    splitter = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    return list(splitter.split(np.zeros((len(labels), 1)), labels))


def _whole_groups(
    groups: NDArray[np.intp], labels: NDArray[np.intp], cv: int, seed: int
) -> list[Fold]:
    """Return folds that keep groups together, and are stratified as far as possible."""
    n_groups = int(groups.max()) + 1
    if n_groups < cv:
        raise ValueError(f"Got cv={cv} and {n_groups} groups; expected at least one per fold.")
    splitter = StratifiedGroupKFold(cv, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros((len(labels), 1)), labels, groups))


def _forward(when: NDArray[np.intp], cv: int) -> list[Fold]:
    """Train on all rows before a block, test on the block. Rows of equal time stay together."""
    n_times = int(when.max()) + 1
    if n_times < cv + 1:
        raise ValueError(
            f"Got cv={cv} and {n_times} different times; expected at least {cv + 1}: the first "
            "block is only learned from."
        )
    seen = np.cumsum(np.bincount(when)) / len(when)
    # Each block ends where its size is nearest to an equal share of the remaining rows.
    block = np.zeros(n_times, dtype=np.intp)
    last, done = -1, 0.0
    for k in range(cv):
        allowed = np.arange(last + 1, n_times - (cv - k))
        target = done + (1.0 - done) / (cv + 1 - k)
        end = int(allowed[np.argmin(np.abs(seen[allowed] - target))])
        block[end + 1 :] = k + 1
        last, done = end, float(seen[end])
    of_row = block[when]
    return [(np.flatnonzero(of_row < k), np.flatnonzero(of_row == k)) for k in range(1, cv + 1)]


def _folds_of_splitter(
    cv: Any, labels: NDArray[np.intp], repeats: int, groups: ArrayLike | None, when: Any
) -> list[Fold]:
    if not hasattr(cv, "get_n_splits"):
        raise invalid_parameter("cv", cv, "an integer >= 2 or a cross-validation splitter")
    if repeats != 1:
        raise invalid_parameter("n_repeats", repeats, "1 where cv is a splitter")
    if when is not None:
        raise invalid_parameter("cv", cv, "an integer with time, the number of test blocks")
    folds: list[Fold] = list(cv.split(np.zeros((len(labels), 1)), labels, groups))
    if len(folds) < 2:
        raise ValueError(f"Got {len(folds)} fold from cv={cv!r}; expected at least 2.")
    return folds


def _check_classes(folds: list[Fold], labels: NDArray[np.intp], classes: NDArray[Any]) -> None:
    """Raise if a class is missing in the training or test rows of a fold."""
    for k, parts in enumerate(folds):
        for part, kind in zip(parts, ("train", "test"), strict=True):
            if len(np.unique(labels[part])) < len(classes):
                raise ValueError(
                    f"Got a {kind} part of fold {k + 1} without some of the classes; expected "
                    "all of them: stratify the folds, or make fewer."
                )
