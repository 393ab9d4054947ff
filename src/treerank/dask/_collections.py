"""Convert Dask collections to shards: each partition is surveyed, then encoded, on its worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from treerank import _core
from treerank._base import check_max_bins
from treerank._binning.binning import Binning, fit_binning
from treerank._binning.category_statistics import CategoryPlan, features_by_statistic
from treerank._growth.shards import Shard
from treerank._input import column_stats
from treerank._input.blocks import TableStats, block_table, join, table_seen
from treerank._input.class_weight import refuse_class_weight
from treerank._input.column_stats import BinningSample
from treerank._input.label_blocks import LabelStats, label_block
from treerank._input.validation import Table, check_number_of_features, wanted_categories
from treerank._input.weights import (
    WeightSums,
    check_has_weight,
    check_weight_block,
    quantise,
    sum_weights,
)
from treerank.dask._category_statistics import order_on_cluster, with_level_numbers
from treerank.dask._cluster import Cluster


@dataclass(frozen=True)
class CodedShards:
    """Encoded training rows on a cluster, and common properties of all of them."""

    shards: list[Any]  # futures of Shard
    first_rows: list[int]  # index of the first row of each shard among all rows with weight
    names: list[str]
    classes: NDArray[Any]
    class_rows: NDArray[np.int64]  # number of rows with weight of each class
    binning: Binning
    sample: BinningSample
    n_rows: int
    scale: float
    design_effect: float
    n_codings: int = 1  # of categories by statistics

    @property
    def table(self) -> Table:
        """Names and number of rows, without the values."""
        return Table(self.n_rows, self.names, None, [])


@dataclass(frozen=True)
class Blocks:
    """Names of the features, and delayed partitions of rows, labels and weights (or None)."""

    names: list[str]
    blocks: list[tuple[Any, Any, Any]]
    is_weighted: bool


@dataclass(frozen=True)
class _Labelled:
    """Statistics of the labels and weights of one partition."""

    labels: LabelStats
    sums: WeightSums
    counts: NDArray[np.int64]  # rows with weight of each distinct label


def is_collection(X: Any) -> bool:
    """Whether something is a Dask DataFrame, Series or Array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def code_blocks(cluster: Cluster, estimator: Any, given: Blocks, **more: Any) -> CodedShards:
    """Bin the rows of partitions on the workers that have them; `more` are parameters of the fit.

    Each partition is computed three times, unless the collections are persisted: first its labels
    and weights, then all of it to find thresholds and levels, and again to encode it.
    """
    refuse_class_weight(estimator, "on a cluster")
    names, blocks = given.names, given.blocks
    wanted = wanted_categories(estimator.categorical_features, names)
    labelled = _compute(cluster, _look_at_labels, [(y, w) for _, y, w in blocks])
    seen = labelled[0].labels
    for other in labelled[1:]:
        seen += other.labels
    classes = seen.classes(estimator.label_order)
    sums = sum((part.sums for part in labelled), WeightSums()) if given.is_weighted else None
    sizes = [part.labels.n_rows if sums is None else part.sums.n_rows for part in labelled]
    n_rows = sum(sizes)
    check_has_weight(n_rows > 0)
    class_rows = _class_rows(labelled, classes)
    first_rows = (np.cumsum(sizes) - sizes).tolist()
    numbered = [(*block, first) for block, first in zip(blocks, first_rows, strict=True)]
    bound = _core.sample_bound(n_rows, column_stats.SAMPLE_ROWS)
    looked = _compute(cluster, _look_at_features, numbered, bound, sums, names, wanted)
    sample, columns = join(looked).finalize(names, wanted)
    max_bins = check_max_bins(estimator.max_bins, n_rows)
    binning = fit_binning(sample, columns, max_bins, 1)
    ordered = features_by_statistic(estimator.categories, binning)
    coding = cluster.give((binning, ordered, names, classes, sums), len(blocks))
    shards = _start(cluster, _code, numbered, coding)
    weights = quantise(None if sums is None else np.ones(1), sums)
    plan = CategoryPlan()
    if ordered:
        plan = estimator._category_plan(class_rows, **more)
        shards, binning = order_on_cluster(
            cluster, shards, binning, ordered, max_bins, len(classes), weights.scale, plan
        )
    return CodedShards(
        shards, first_rows, names, classes, class_rows, binning, sample, n_rows, weights.scale,
        weights.design_effect, plan.n_codings,
    )  # fmt: skip


def open_collections(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Blocks:
    """Return the partitions of Dask collections; set the names and number of features."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    names = _check_features(estimator, X)
    blocks = _aligned_blocks(X, y, sample_weight)
    return Blocks(names, blocks, sample_weight is not None)


def _check_features(estimator: Any, X: Any) -> list[str]:
    """Set the names and number of features; return the names."""
    if not is_collection(X) or getattr(X, "ndim", 2) != 2:
        raise TypeError(
            f"Got X of type {type(X).__name__}; expected a Dask DataFrame or a Dask Array of two "
            f"dimensions. For data in memory use {estimator._local.__name__}."
        )
    is_frame = hasattr(X, "columns")
    n_features = len(X.columns) if is_frame else X.shape[1]
    if not is_frame and np.isnan(n_features):
        raise ValueError(
            "Got a Dask Array of unknown width; expected a known number of columns: call "
            "compute_chunk_sizes() on it."
        )
    check_number_of_features(n_features)
    shown = X._meta if is_frame else np.empty((1, n_features))
    validate_data(estimator, shown, reset=True, skip_check_array=True)
    if is_frame:
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(n_features)]


def _aligned_blocks(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return delayed partitions of rows, labels and weights that belong together."""
    given = [part for part in (X, y, sample_weight) if part is not None]
    if all(hasattr(part, "npartitions") and not hasattr(part, "rechunk") for part in given):
        return _aligned_frames(X, y, sample_weight)
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
    blocks = _blocks(X)
    labels = _blocks_like(X, y, "y", len(blocks))
    weights = [None] * len(blocks)
    if sample_weight is not None:
        weights = _blocks_like(X, sample_weight, "sample_weight", len(blocks))
    return list(zip(blocks, labels, weights, strict=True))


def _aligned_frames(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return partitions of data frames, which are taken from one expression.

    Otherwise, Dask might fuse the partitions of some columns and not of others. One expression is
    optimised as a whole, and so are its partitions.
    """
    import dask.dataframe as dd  # noqa: PLC0415 (an extra)
    import pandas as pd  # noqa: PLC0415
    from dask.delayed import delayed  # noqa: PLC0415

    for name, other in (("y", y), ("sample_weight", sample_weight)):
        if other is not None and other.npartitions != X.npartitions:
            raise _other_partitions(name, other.npartitions, X.npartitions)
    frames: Any = dd  # without types
    packed = frames.map_partitions(
        _pack, X, y, sample_weight, align_dataframes=False, enforce_metadata=False,
        meta=pd.Series([], dtype=object),
    )  # fmt: skip
    unpack = delayed(_unpack, pure=False)
    return [
        (unpack(part, 0), unpack(part, 1), None if sample_weight is None else unpack(part, 2))
        for part in packed.to_delayed()
    ]


def _pack(X: Any, y: Any, weight: Any) -> Any:
    import pandas as pd  # noqa: PLC0415

    return pd.Series([(X, y, weight)], dtype=object)


def _unpack(packed: Any, number: int) -> Any:
    return packed.iloc[0][number]


def _other_partitions(name: str, n_blocks: int, expected: int) -> ValueError:
    return ValueError(
        f"Got {name} in {n_blocks} partitions and X in {expected}; expected the same rows in each: "
        "take both from one collection, or repartition."
    )


def _blocks_like(X: Any, other: Any, name: str, n_blocks: int) -> list[Any]:
    """Return the partitions of labels or weights, divided like X."""
    if not is_collection(other):
        raise TypeError(
            f"Got {name} of type {type(other).__name__}; expected a Dask Series or Array with the "
            "partitions of X."
        )
    if hasattr(other, "rechunk") and hasattr(X, "rechunk"):
        rows = X.chunks[0]
        if not np.isnan(np.array(rows + other.chunks[0], dtype=float)).any():
            if sum(rows) != other.shape[0]:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"{sum(rows)} rows of X, {other.shape[0]} of {name}."
                )
            other = other.rechunk({0: rows})
    blocks = _blocks(other)
    if len(blocks) != n_blocks:
        raise _other_partitions(name, len(blocks), n_blocks)
    return blocks


def _blocks(collection: Any) -> list[Any]:
    if hasattr(collection, "rechunk"):
        return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))
    return list(collection.to_delayed(optimize_graph=False))  # optimizing might fuse partitions


def _start(cluster: Cluster, function: Any, blocks: list[Any], *shared: Any) -> list[Any]:
    """Compute each partition and call a function on it; return futures."""
    from dask.delayed import delayed  # noqa: PLC0415 (an extra)

    call = delayed(function, pure=False)
    calls = [call(number, *block, *shared) for number, block in enumerate(blocks)]
    return list(cluster.client.compute(calls))


def _compute(cluster: Cluster, function: Any, blocks: list[Any], *shared: Any) -> list[Any]:
    return list(cluster.result(_start(cluster, function, blocks, *shared)))


# The functions from here on run on a worker, once for each partition.
def _look_at_labels(number: int, y: Any, weight: Any) -> _Labelled:
    block = label_block(_one_column(y, number, "y"))
    n_rows = block.seen.n_rows
    checked = None
    if weight is not None:
        checked = _check_weights(number, weight, n_rows)
    kept = block.places if checked is None else block.places[checked > 0]
    if block.seen.n_missing:
        kept = kept[:0]
    counts = np.bincount(kept, minlength=len(block.seen.distinct))
    sums = WeightSums() if checked is None else sum_weights(checked[checked > 0])
    return _Labelled(block.seen, sums, counts)


def _check_weights(number: int, weight: Any, n_rows: int) -> NDArray[np.float64]:
    try:
        return check_weight_block(_one_column(weight, number, "sample_weight"), n_rows)
    except ValueError as error:
        raise ValueError(f"In partition {number}: {error}") from None


def _one_column(values: Any, number: int, name: str) -> Any:
    if getattr(values, "ndim", 1) == 2:
        if values.shape[1] != 1:
            raise ValueError(
                f"Got {name} with {values.shape[1]} columns in partition {number}; expected one."
            )
        return values.iloc[:, 0] if hasattr(values, "iloc") else values[:, 0]
    return values


def _class_rows(labelled: list[_Labelled], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of rows with weight of each class, and check that there are some."""
    total = dict.fromkeys(classes.tolist(), 0)
    for part in labelled:
        for label, count in zip(part.labels.distinct.tolist(), part.counts.tolist(), strict=True):
            total[label] = total.get(label, 0) + count
    for label, count in total.items():
        if count == 0:
            raise ValueError(
                f"Got no row of positive weight with class {label!r}; expected some of every class."
            )
    return np.array([total[label] for label in classes.tolist()])


def _rows_with_weight(number: int, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights of a partition, without the rows of zero weight."""
    y = _one_column(y, number, "y")
    if len(X) != len(y):
        raise ValueError(
            f"Got {len(X)} rows of X and {len(y)} labels in partition {number}; expected as many: "
            "take both from one collection."
        )
    if weight is None:
        return X, y, None
    checked = _check_weights(number, weight, len(X))
    kept = checked > 0
    if kept.all():
        return X, y, checked
    return _take(X, kept), _take(y, kept), checked[kept]


def _take(values: Any, kept: NDArray[np.bool_]) -> Any:
    found = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if found is values:
        return values[kept]
    return found[np.flatnonzero(kept).tolist()].to_native()


def _look_at_features(
    number: int, X: Any, y: Any, weight: Any, first_row: int,
    bound: Any, sums: WeightSums | None, names: list[str], wanted: set[int] | None,
) -> TableStats:  # fmt: skip
    _check_columns(number, X, names)
    X, _, weight = _rows_with_weight(number, X, y, weight)
    units = quantise(weight, sums).as_units
    return table_seen(X, first_row, bound, units, names, wanted)


def _check_columns(number: int, X: Any, names: list[str]) -> None:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    found = [str(name) for name in frame.columns]
    if found == names:
        return
    missing = [name for name in names if name not in found]
    what = f"no column {missing[0]!r}" if missing else f"the columns {found[:6]}"
    raise ValueError(
        f"Got {what} in partition {number}; expected {names[:6]}{', …' if len(names) > 6 else ''}: "
        "the same columns, in the same order, in every partition."
    )


def _code(number: int, X: Any, y: Any, weight: Any, first_row: int, coding: Any) -> Shard:
    binning, ordered, names, classes, sums = coding
    X, y, weight = _rows_with_weight(number, X, y, weight)
    table = block_table(X, names, binning.is_categorical)
    labels = label_block(y).numbers(classes)
    codes = with_level_numbers(binning.transform(table), table, binning, ordered)
    return Shard(codes, labels, quantise(weight, sums), first_row)
