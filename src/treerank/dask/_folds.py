"""Folds on a cluster: the rows of all shards are assigned in one order, that of their hashes.

The order is by class and hash, shuffled if there are equal rows, like `assign_folds` in memory. A
bucket holds the rows of all shards whose hashes start with the same bits; one task sorts them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._growth.shards import Shard
from treerank._input.parameters import check_integer, invalid_parameter, is_whole
from treerank._select.folds import warn_of_tiny_class
from treerank.dask._cluster import Cluster

MAX_BITS = 6  # of a hash, as the bucket number: about two buckets per worker, at most 64


@dataclass(frozen=True)
class Keys:
    """Sort keys of the rows of one shard in one bucket."""

    labels: NDArray[np.uint8]
    hashes: NDArray[np.uint64]
    units: NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """Converts the position of a row in its bucket to its position in its class."""

    seed: int
    offsets: NDArray[np.int64]  # buckets x classes: number of rows in earlier buckets
    sizes: NDArray[np.int64]  # rows of each class
    has_copies: NDArray[np.bool_]  # classes with equal rows


def assign_folds_on_cluster(
    cluster: Cluster, shards: list[Any], cv: Any, seed: int, classes: NDArray[Any]
) -> tuple[list[Any], int]:
    """Return shards with the positions of their rows, and the number of folds, maybe below 2."""
    if not is_whole(cv):
        raise invalid_parameter("cv", cv, "an integer >= 2: rows are on the workers of a cluster")
    wanted = check_integer("cv", cv, 2)
    placed, sizes = place_in_order(cluster, shards, seed, len(classes))
    n_folds = min(wanted, int(sizes.min()))
    if n_folds < 2:
        warn_of_tiny_class(classes, sizes)
        return shards, n_folds
    return placed, n_folds


def place_in_order(
    cluster: Cluster, shards: list[Any], seed: int, n_classes: int
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return shards with the position of each row in its class, and the sizes of the classes."""
    bits = min(MAX_BITS, max(1, 2 * cluster.n_workers - 1).bit_length())
    submit = cluster.submit
    keys = [submit(bucket_keys, shard, seed, bits) for shard in shards]
    ranked = [
        submit(rank_bucket, [submit(_item, key, b) for key in keys], n_classes)
        for b in range(1 << bits)
    ]
    counted = np.array(cluster.result([submit(itemgetter(1), bucket) for bucket in ranked]))
    totals, copies = counted[:, 0], counted[:, 1]
    has_copies = np.any(copies, axis=0)
    order = Order(seed, np.cumsum(totals, axis=0) - totals, totals.sum(axis=0), has_copies)
    placed = [
        submit(place_rows, shard, [submit(_place, bucket, i) for bucket in ranked], bits, order)
        for i, shard in enumerate(shards)
    ]
    return placed, order.sizes


def _item(keys: list[Keys], number: int) -> Keys:
    return keys[number]


def _place(ranked: Any, number: int) -> Any:
    return ranked[0][number]


def _buckets(shard: Shard, seed: int, bits: int) -> tuple[NDArray[np.uint64], list[NDArray[Any]]]:
    """Return the hashes of the rows, and the rows of each bucket."""
    hashes = _core.row_hashes(shard.codes, shard.labels, seed)
    bucket = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=1 << bits))
    return hashes, np.split(order, ends[:-1])


def bucket_keys(shard: Shard, seed: int, bits: int) -> list[Keys]:
    """Return the sort keys of a shard's rows, by bucket."""
    hashes, buckets = _buckets(shard, seed, bits)
    units = shard.weights.of_rows(shard.n_rows)
    return [Keys(shard.labels[rows], hashes[rows], units[rows]) for rows in buckets]


def rank_bucket(
    pieces: list[Keys], n_classes: int
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return each row's position in its class and bucket, by shard; rows and copies by class."""
    labels = np.concatenate([piece.labels for piece in pieces])
    hashes = np.concatenate([piece.hashes for piece in pieces])
    units = np.concatenate([piece.units for piece in pieces])
    order = np.lexsort([units, hashes, labels])
    total = np.bincount(labels, minlength=n_classes)
    before = np.cumsum(total) - total
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - before[labels[order]]
    ends = np.cumsum([len(piece.labels) for piece in pieces])
    labels, hashes = labels[order], hashes[order]
    is_copy = (hashes[1:] == hashes[:-1]) & (labels[1:] == labels[:-1])
    copies = np.bincount(labels[1:][is_copy], minlength=n_classes)
    return np.split(place, ends[:-1]), [total, copies]


def place_rows(shard: Shard, places: list[NDArray[np.int64]], bits: int, order: Order) -> Shard:
    """Return the shard with the position of each row in its class."""
    _, buckets = _buckets(shard, order.seed, bits)
    place = np.empty(shard.n_rows, dtype=np.int64)
    for b, rows in enumerate(buckets):
        place[rows] = places[b] + order.offsets[b][shard.labels[rows]]
    for k, size in enumerate(order.sizes.tolist()):
        rows = np.flatnonzero(shard.labels == k)
        has_copies = bool(order.has_copies[k])
        place[rows] = _core.places_in_class(place[rows], size, has_copies, order.seed, k)
    return replace(shard, place=place)
