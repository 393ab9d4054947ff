"""Category statistics: orders the levels of a category by the labels of their rows.

A category with many levels is split like a number: its codes are ordered by the share of positives
of each level (with more than two classes, by the mean of its shares above each class but the last),
shrunk towards that of all rows. The code of a training row is computed from the rows of the *other*
folds only, so that it does not depend on the row's own label. A level that the other folds do not
have is encoded as missing, like an unseen level when rows are scored; trees learn where to send
those. After growth, tests of such categories are converted to sets of levels.

Models that are averaged (bags of boosting, trees of a forest) can each have a coding of their own,
by other folds, so that the errors of the folds average out, too.

An order hides which level a row has. So that many trees can follow what single levels do, for
instance in combination with other features, they may also see such a category a second time: there,
frequent levels have a code of their own, and can be put into sets. After growth, tests in both
columns become sets of codes of one category, which distinguish frequent levels and the places of
the others.

The rows of the codes are those of all features with the first coding, followed by the second
columns, then by the categories with the second coding, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import (
    MAX_LEVELS,
    Binning,
    Coded,
    Codes,
    OrderedCategory,
    code_table,
    encode_levels,
)
from treerank._input.categories import SharedLevels, flat_levels
from treerank._input.parameters import check_choice
from treerank._input.types import Floats
from treerank._input.validation import TrainingData
from treerank._input.weighted_sum import weighted_sum

# The more folds, the more rows a statistic is computed from, but the more it tells about the label
# that it leaves out: it is low where that label is high. With several codings, the first matters
# less.
N_FOLDS, N_FOLDS_OF_SEVERAL = 5, 3
FOLD_SEED = 0x6C6576656C73  # so that these folds differ from those of pruning
ROWS_AT_ONCE = 1 << 16
# Columns with more levels than this are ordered by statistics. Sets of levels can follow
# interactions, and distinguish up to 255 levels. Beyond that, the rarest levels would have to share
# a code, and an order by statistics ranks better.
MORE_LEVELS_THAN = {"auto": MAX_LEVELS, "levels": None, "statistics": 2}
# With a second column: how many levels have a code of their own, the rows that such a level needs,
# and the number of places in the order. All codes together must not be more than MAX_LEVELS.
MOST_SINGLES, LEAST_ROWS_OF_SINGLE, PLACES = 222, 5, 32


class CategoryPlan(NamedTuple):
    """How an estimator takes categories whose levels are ordered by the labels."""

    n_codings: int = 1
    has_sets: bool = False  # in second columns

    @property
    def n_folds(self) -> int:
        """Number of folds from which the statistics of each coding are computed."""
        return N_FOLDS if self.n_codings == 1 else N_FOLDS_OF_SEVERAL

    def n_columns(self, n_features: int, n_ordered: int) -> int:
        """Return the number of columns that trees are grown on."""
        return n_features + n_ordered * self.has_sets

    def n_code_rows(self, n_features: int, n_ordered: int) -> int:
        """Return the number of rows of the codes, with all codings."""
        return self.n_columns(n_features, n_ordered) + n_ordered * (self.n_codings - 1)


def features_by_statistic(categories: Any, binning: Binning) -> list[int]:
    """Return the features whose levels are to be ordered by the labels."""
    check_choice("categories", categories, list(MORE_LEVELS_THAN))
    most = MORE_LEVELS_THAN[categories]
    if most is None:
        return []
    return [
        j for j, levels in enumerate(binning.levels) if levels and len(flat_levels(levels)) > most
    ]


def coding_rows(n_columns: int, features: list[int], number: int) -> NDArray[np.intp]:
    """Return the rows of the codes that hold the columns in one of the codings."""
    rows = np.arange(n_columns)
    if number > 0:
        rows[features] = n_columns + (number - 1) * len(features) + np.arange(len(features))
    return rows


def with_coding(codes: Codes, binning: Binning, number: int) -> Codes:
    """Return the codes of all columns, with one of the codings of those by statistics."""
    if len(codes) == binning.n_columns:
        return codes
    return codes[coding_rows(binning.n_columns, list(binning.ordered), number)]


def n_codings_in(codes: Codes, binning: Binning) -> int:
    """Return the number of codings that the rows of the codes hold."""
    return 1 + (len(codes) - binning.n_columns) // max(len(binning.ordered), 1)


def code_training_data(
    data: TrainingData,
    max_bins: int,
    categories: Any,
    n_jobs: int,
    plan: CategoryPlan = CategoryPlan(),  # noqa: B008 -- immutable
) -> Coded:
    """Bin a table in memory; `categories` tells how categories are encoded."""
    coded = code_table(data.table, data.weights, max_bins, n_jobs)
    features = features_by_statistic(categories, coded.binning)
    n_features, n_rows = data.table.n_features, data.table.n_rows
    if features and plan.n_code_rows(n_features, len(features)) > n_features:
        shape = plan.n_code_rows(n_features, len(features)), n_rows
        codes = np.empty(shape, dtype=coded.codes.dtype)
        codes[:n_features] = coded.codes
        coded = replace(coded, made=codes)
    numbers = [
        encode_levels(data.table.columns[j], flat_levels(coded.binning.levels[j] or []))
        for j in features
    ]
    return order_by_statistic(coded, features, numbers, data, max_bins, n_jobs, plan)


def order_by_statistic(
    coded: Coded,
    features: list[int],
    numbers: list[NDArray[np.int32]],
    data: TrainingData,
    max_bins: int,
    n_jobs: int,
    plan: CategoryPlan,
) -> Coded:
    """Encode features by the statistics of their levels; `numbers` has the level of each row.

    The codes must have room for all codings.
    """
    if not features:
        return coded
    codes, binning, n_features = coded.codes, coded.binning, len(coded.binning.levels)
    content = content_keys(codes[:n_features], numbers, data.labels)
    units, n_classes, n_folds = data.weights.as_units, len(data.classes), plan.n_folds
    known = [flat_levels(binning.levels[j] or []) for j in features]
    n_columns = plan.n_columns(n_features, len(features))
    for coding in range(plan.n_codings):
        seed = FOLD_SEED + coding
        hashes = _core.row_hashes(content, data.labels, seed, n_jobs)
        fold = _core.assign_folds(hashes, data.labels, units, n_classes, n_folds, seed, n_jobs)
        orders = []
        rows = coding_rows(n_columns, features, coding)[features]
        for row, number, levels in zip(rows, numbers, known, strict=True):
            counts = level_counts(number, len(levels), fold, data.labels, units, n_classes, n_folds)
            orders.append(order_levels(levels, counts, data.weights.scale, max_bins, plan.has_sets))
            codes[row] = orders[-1].code_of[number, fold]
    for row, number, order in zip(range(n_features, n_columns), numbers, orders, strict=False):
        codes[row] = order.single_of[number]
    return replace(coded, binning=binning_by_statistic(binning, features, orders, plan.has_sets))


@dataclass(frozen=True)
class LevelOrder:
    """Codes of a category that is ordered by the labels; levels count from 1, 0 means missing.

    ``code_of[level, fold]`` is the place of the level of a training row; it is 0 if the other folds
    do not have the level. ``single_of[level]`` is its code in the second column, where rare and
    missing levels share a code. `levels` lists the levels of each code, for new rows; `place` and
    `single` tell the place and the code in the second column of each.
    """

    code_of: NDArray[np.uint16]  # (levels + 1) x folds
    single_of: NDArray[np.uint8]
    levels: list[Any]
    place: NDArray[np.uint8]
    single: NDArray[np.uint8]


def content_keys(
    codes: Codes, numbers: list[NDArray[np.int32]], labels: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return an eight-byte hash of the content of each row, including levels; bytes x rows.

    Rows are processed in blocks, because their codes may not fit into memory.
    """
    hashes = np.empty(len(labels), dtype="<u8")
    for first in range(0, len(labels), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        parts = [level_bytes(number[rows], codes) for number in numbers]
        block = np.ascontiguousarray(np.vstack([codes[:, rows], *parts]))
        hashes[rows] = _core.row_hashes(block, labels[rows], FOLD_SEED)
    return np.ascontiguousarray(hashes.view(np.uint8).reshape(-1, 8).T)


def level_bytes(number: NDArray[np.int32], like: Codes) -> Codes:
    """Return the indices of levels in the form of codes, to be hashed as part of a row."""
    parts = [(number >> shift) & 0xFF for shift in (0, 8, 16, 24)]
    return np.array(parts, dtype=like.dtype)


def level_counts(
    number: NDArray[Any],
    n_levels: int,
    fold: NDArray[Any],
    labels: NDArray[np.uint8],
    units: NDArray[np.int64] | None,
    n_classes: int,
    n_folds: int,
) -> NDArray[np.int64]:
    """Return the units of each class by level and fold; those of parts of the rows can be added."""
    cell = (number.astype(np.int64) * n_folds + fold) * n_classes + labels
    counts = np.bincount(cell, weights=units, minlength=(n_levels + 1) * n_folds * n_classes)
    counts = counts.astype(np.int64).reshape(n_levels + 1, n_folds, n_classes)
    counts[0] = 0  # missing values are not a level
    return np.asarray(counts)


def order_levels(
    known: list[Any], counts: NDArray[np.int64], scale: float, max_bins: int, has_sets: bool
) -> LevelOrder:
    """Order the levels by their statistic, and choose thresholds between them.

    Only if `has_sets`, levels have a code of their own because they are frequent.
    """
    by_level = counts.sum(axis=1)
    statistic = _shrunk_means(by_level / scale)
    by_others = [_shrunk_means((by_level - counts[:, f]) / scale) for f in range(counts.shape[1])]
    every = np.arange(len(known), dtype=np.uint32)
    [cuts] = _core.find_thresholds(
        np.ascontiguousarray(statistic[1:, np.newaxis]), every, counts.sum(axis=(1, 2))[1:],
        min(max_bins, PLACES if has_sets else MAX_LEVELS), 1,
    )  # fmt: skip
    code_of = _encode(np.column_stack(by_others), cuts)
    place_of = _encode(statistic[:, np.newaxis], cuts)[:, 0].astype(np.uint8)
    single_of = _number_singles(by_level.sum(axis=1) / scale, MOST_SINGLES if has_sets else 0)
    levels, place, single = _group(known, place_of, single_of)
    return LevelOrder(code_of, single_of, levels, place, single)


def binning_by_statistic(
    binning: Binning, features: list[int], orders: list[LevelOrder], has_sets: bool
) -> Binning:
    """Return a binning in which the given features are ordered."""
    levels = list(binning.levels)
    ordered = {}
    for j, order in zip(features, orders, strict=True):
        levels[j] = order.levels
        ordered[j] = OrderedCategory(order.place, order.single if has_sets else None)
    return replace(binning, levels=levels, ordered=ordered)


def _shrunk_means(counts: Floats) -> Floats:
    """Mean grade of the rows of each level, shrunk by empirical Bayes; NaN if it has no rows.

    `counts` has shape levels x classes. Grades are evenly spaced, so that their mean is the mean of
    the shares above each class but the last: as in the VUS, all cuts between grades count the same,
    however few rows lie above one of them. For two classes, it is a linear function of the share of
    positives. The mean over all rows is 1/2, so that folds with different class shares are
    comparable.
    """
    total = counts.sum(axis=0)
    share = total / max(total.sum(), 1.0)
    above = 1 - np.cumsum(share)[:-1]  # share above each class but the last
    rank = 0.5 + (np.linspace(0, 1, len(share)) - above.mean()) / 2
    weight = counts.sum(axis=1)
    known = weight > 0
    mean = np.full(len(counts), np.nan)
    mean[known] = weighted_sum(counts[known], rank, axis=1) / weight[known]
    overall = float(weighted_sum(share, rank))
    amount = _amount_of_shrinkage(counts[known], mean[known], rank, overall)
    return np.asarray((weight * mean + amount * overall) / (weight + amount))


def _amount_of_shrinkage(counts: Floats, mean: Floats, rank: Floats, overall: float) -> float:
    """Number of rows that the overall mean counts for: variance within over that between levels.

    Estimated by the method of moments, as in an analysis of variance with groups of unequal size.
    """
    weight = counts.sum(axis=1)
    n, n_levels = float(weight.sum()), len(weight)
    if n_levels < 2 or n <= n_levels:
        return max(n, 1.0)
    within = float((counts * (rank - mean[:, np.newaxis]) ** 2).sum()) / (n - n_levels)
    spread = float(weighted_sum((mean - overall) ** 2, weight)) - (n_levels - 1) * within
    between = spread / (n - float((weight**2).sum()) / n)
    return float(np.clip(within / between, 1.0, n)) if between > 0 else n


def _encode(values: Floats, cuts: Floats) -> NDArray[np.uint16]:
    """Encode columns of values that share their thresholds; the shape is kept."""
    codes = np.empty(values.shape[::-1], dtype=np.uint16)
    _core.encode(np.ascontiguousarray(values), [cuts] * values.shape[1], codes, 1)
    return codes.T


def _number_singles(rows: Floats, most: int) -> NDArray[np.uint8]:
    """Number the most frequent levels from 1; the others share the number that follows.

    So do missing values, the first of `rows`: when rows are scored, unseen levels, which are like
    rare ones, have the same code. If no level is rare, missing values have the number 0.
    """
    frequent = np.argsort(-rows[1:], kind="stable")[:most] + 1
    frequent = np.sort(frequent[rows[frequent] >= LEAST_ROWS_OF_SINGLE])
    others = len(frequent) + 1
    numbers = np.full(len(rows), others, dtype=np.uint8)
    numbers[frequent] = np.arange(1, others)
    if len(rows) == others:
        numbers[0] = 0
    return numbers


def _group(
    known: list[Any], place_of: NDArray[np.uint8], single_of: NDArray[np.uint8]
) -> tuple[list[Any], NDArray[np.uint8], NDArray[np.uint8]]:
    """Give a code to the levels of each place that share their number, if any.

    Return the levels by code, a single level as it is and several as `SharedLevels`; and the places
    and numbers of all codes, starting with code 0 for missing values.
    """
    groups: dict[tuple[int, int], list[Any]] = {}
    keys = zip(single_of[1:].tolist(), place_of[1:].tolist(), strict=True)
    for level, key in zip(known, keys, strict=True):
        if key[1]:  # 0: a level without rows
            groups.setdefault(key, []).append(level)
    found = [groups[key] for key in sorted(groups)]
    levels = [group[0] if len(group) == 1 else SharedLevels(group) for group in found]
    single, place = np.array([(single_of[0], 0), *sorted(groups)], dtype=np.uint8).T
    return levels, place.copy(), single.copy()
