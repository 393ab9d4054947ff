"""Category statistics on a cluster: sums of level counts, bitwise equal to those in memory.

Until the levels are ordered, the level numbers of the rows follow the codes of a shard, with four
bytes each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Codes, encode_levels
from treerank._binning.category_statistics import (
    FOLD_SEED,
    CategoryPlan,
    binning_by_statistic,
    content_keys,
    level_bytes,
    level_counts,
    order_levels,
)
from treerank._growth.shards import Shard
from treerank._input.categories import flat_levels
from treerank._input.validation import Table
from treerank.dask._cluster import Cluster, DaskShards
from treerank.dask._folds import place_in_order


def with_level_numbers(codes: Codes, table: Table, binning: Binning, features: list[int]) -> Codes:
    """Return codes, followed by the level numbers of the given features."""
    numbers = [
        level_bytes(encode_levels(table.columns[j], flat_levels(binning.levels[j] or [])), codes)
        for j in features
    ]
    return np.vstack([codes, *numbers])


def order_on_cluster(
    cluster: Cluster,
    shards: list[Any],
    binning: Binning,
    features: list[int],
    max_bins: int,
    n_classes: int,
    scale: float,
    plan: CategoryPlan,
) -> tuple[list[Any], Binning]:
    """Order the levels of the given features by label; return the new shards and binning."""
    keyed = [cluster.submit(_keyed, shard, len(features)) for shard in shards]
    known = [flat_levels(binning.levels[j] or []) for j in features]
    sizes, n_folds = [len(levels) for levels in known], plan.n_folds
    for coding in range(plan.n_codings):
        placed, _ = place_in_order(cluster, keyed, FOLD_SEED + coding, n_classes)
        shards = [cluster.submit(_placed, *pair) for pair in zip(shards, placed, strict=True)]
        counts = DaskShards(cluster, shards).added(_count_levels, sizes, n_classes, n_folds)
        orders = [
            order_levels(levels, count, scale, max_bins, plan.has_sets)
            for levels, count in zip(known, counts, strict=True)
        ]
        code_of = cluster.give([order.code_of for order in orders], len(shards))
        singles = [order.single_of for order in orders] if plan.has_sets and coding == 0 else []
        shards = [
            cluster.submit(_code_levels, shard, features, code_of, singles, coding, n_folds)
            for shard in shards
        ]
    coded = [cluster.submit(_without_level_numbers, shard, len(features)) for shard in shards]
    return coded, binning_by_statistic(binning, features, orders, plan.has_sets)


def _keyed(shard: Shard, n_features: int) -> Shard:
    """Return a shard with keys of the rows' content instead of their codes."""
    n_codes = len(shard.codes) - 4 * n_features
    numbers = _level_numbers(shard, n_features)
    return replace(shard, codes=content_keys(shard.codes[:n_codes], numbers, shard.labels))


def _placed(shard: Shard, keyed: Shard) -> Shard:
    return replace(shard, place=keyed.place)


def _level_numbers(shard: Shard, n_features: int) -> list[NDArray[np.int32]]:
    parts = shard.codes[len(shard.codes) - 4 * n_features :].astype(np.int32)
    shifts = np.array([0, 8, 16, 24], dtype=np.int32)[:, np.newaxis]
    return [(parts[first : first + 4] << shifts).sum(axis=0) for first in range(0, len(parts), 4)]


def _folds_of(shard: Shard, n_folds: int) -> NDArray[np.int64]:
    assert shard.place is not None
    return shard.place % n_folds


def _count_levels(
    shard: Shard, sizes: list[int], n_classes: int, n_folds: int
) -> list[NDArray[np.int64]]:
    units, fold = shard.weights.as_units, _folds_of(shard, n_folds)
    numbers = _level_numbers(shard, len(sizes))
    return [
        level_counts(number, size, fold, shard.labels, units, n_classes, n_folds)
        for number, size in zip(numbers, sizes, strict=True)
    ]


def _code_levels(
    shard: Shard,
    features: list[int],
    code_of: list[NDArray[np.uint16]],
    singles: list[NDArray[np.uint8]],
    coding: int,
    n_folds: int,
) -> Shard:
    """Return a shard with codes by the order of levels, which follow those of earlier codings.

    If `singles` are given, the codes of second columns follow those of the features.
    """
    fold, n_codes = _folds_of(shard, n_folds), len(shard.codes) - 4 * len(features)
    numbers = _level_numbers(shard, len(features))
    ordered = np.array(
        [of_level[number, fold] for number, of_level in zip(numbers, code_of, strict=True)],
        dtype=shard.codes.dtype,
    )
    if coding == 0:
        codes = shard.codes.copy()
        codes[features] = ordered
        ordered = np.array(
            [of_level[number] for number, of_level in zip(numbers, singles, strict=False)],
            dtype=shard.codes.dtype,
        ).reshape(len(singles), shard.n_rows)
    else:
        codes = shard.codes
    codes = np.vstack([codes[:n_codes], ordered, codes[n_codes:]])
    return replace(shard, codes=codes, place=None)


def _without_level_numbers(shard: Shard, n_features: int) -> Shard:
    return replace(shard, codes=shard.codes[: len(shard.codes) - 4 * n_features].copy())
