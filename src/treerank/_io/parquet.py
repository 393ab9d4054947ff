"""Fit to Parquet files: rows are encoded block by block into a memory-mapped file.

The target and the weights are read once, each feature twice: once to find thresholds and
levels, once to be encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

import treerank
from treerank import _core
from treerank._base import check_max_bins
from treerank._binning.binning import Binning, Coded, encode_levels, fit_binning
from treerank._binning.category_statistics import (
    CategoryPlan,
    features_by_statistic,
    n_codings_in,
    order_by_statistic,
)
from treerank._growth.progress import Report, progress_bar
from treerank._input import column_stats
from treerank._input.blocks import block_table, join, table_seen
from treerank._input.categories import flat_levels
from treerank._input.class_weight import refuse_class_weight
from treerank._input.column_stats import BinningSample
from treerank._input.label_blocks import LabelBlock, label_block
from treerank._input.option_types import Paths
from treerank._input.parameters import check_n_jobs
from treerank._input.validation import (
    Table,
    TrainingData,
    check_number_of_features,
    check_rows_of_classes,
    wanted_categories,
)
from treerank._input.weights import (
    Weights,
    WeightSums,
    check_has_weight,
    check_weight_block,
    join_weights,
    quantise,
    sum_weights,
)
from treerank._io.cache import find_kept, folder_for, keep, new_codes
from treerank._io.parquet_files import ParquetFiles, feature_names, import_pyarrow, open_parquet

# Format number of cached codes. Increase it when their files change.
KEPT_VERSION = 5


def open_features(
    estimator: Any, path: Paths, target: str, sample_weight: str | None, columns: Any
) -> tuple[ParquetFiles, list[str]]:
    """Find the files and the features; set the names and number of features."""
    refuse_class_weight(estimator, "with Parquet files")
    needed = [name for name in (target, sample_weight) if name is not None]
    named = [] if columns is None else [columns] if isinstance(columns, str) else list(columns)
    files = open_parquet(path, [*needed, *named])
    names = feature_names(files, target, sample_weight, columns)
    check_number_of_features(len(names))
    empty = files.schema.empty_table().select(names)
    validate_data(estimator, empty, reset=True, skip_check_array=True)
    return files, names


@dataclass(frozen=True)
class Rows:
    """Rows whose labels and weights have been read, and a function to encode their features."""

    data: TrainingData
    code: Callable[[], Coded]


@dataclass(frozen=True)
class Reading:
    """What to read, and for which estimator."""

    estimator: Any
    files: ParquetFiles
    target: str
    sample_weight: str | None
    names: list[str]
    kept: Any  # folder of cached codes, or None

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Yield rows from the cache or the files; temporary files are removed at the end."""
        n_jobs = check_n_jobs(self.estimator.n_jobs)
        if self.kept is not None:
            found = find_kept(self.kept, self.made_of, self.names, n_jobs)
            coded = None if found is None else self._with_codings(*found)
            if found is not None and coded is not None:
                yield Rows(found[0], lambda: coded)
                return
        with (
            folder_for(self.kept) as folder,
            progress_bar("reading", self.estimator.verbose) as progress,
        ):
            with self.files.unchanged():
                data, has_weight = self._labels_and_weights(n_jobs)
            yield Rows(data, lambda: self._code(folder, data, has_weight, n_jobs, progress))

    def _with_codings(self, data: TrainingData, coded: Coded) -> Coded | None:
        """Return cached codes with the codings that the estimator needs; None: some are absent."""
        binning, wanted = coded.binning, self.estimator._category_plan(data.class_rows)
        there = CategoryPlan(n_codings_in(coded.codes, binning), bool(binning.with_sets))
        is_alike = there.has_sets == wanted.has_sets and there.n_folds == wanted.n_folds
        if binning.ordered and (there.n_codings < wanted.n_codings or not is_alike):
            return None
        n_rows = wanted.n_code_rows(len(self.names), len(binning.ordered))
        return replace(coded, made=coded.codes[:n_rows])

    @property
    def wanted(self) -> set[int] | None:
        """Columns that the user declared categorical; None to infer them from the types."""
        return wanted_categories(self.estimator.categorical_features, self.names)

    @property
    def made_of(self) -> dict[str, Any]:
        """Everything that determines the codes."""
        wanted, order = self.wanted, self.estimator.label_order
        return {
            "version": KEPT_VERSION,
            "treerank": treerank.__version__,
            "files": [stamp.in_words for stamp in self.files.stamps],
            "schema": [[field.name, str(field.type)] for field in self.files.schema],
            "target": self.target,
            "sample_weight": self.sample_weight,
            "columns": self.names,
            "categories": None if wanted is None else sorted(wanted),
            "by_statistic": str(self.estimator.categories),
            "label_order": None if order is None else np.asarray(order).tolist(),
            "max_bins": str(self.estimator.max_bins),
            "sample_rows": column_stats.SAMPLE_ROWS,
        }

    def _code(
        self,
        folder: Path,
        data: TrainingData,
        has_weight: NDArray[np.bool_] | None,
        n_jobs: int,
        progress: Report | None,
    ) -> Coded:
        """Encode the features, and cache the codes if requested."""
        with self.files.unchanged():
            coded = self._write_codes(folder, data, has_weight, n_jobs, progress)
        if self.kept is not None:
            keep(folder, self.kept, self.made_of, data, coded, n_jobs)
        return coded

    def _write_codes(
        self,
        folder: Path,
        data: TrainingData,
        has_weight: NDArray[np.bool_] | None,
        n_jobs: int,
        progress: Report | None,
    ) -> Coded:
        """Read the features and write their codes into the folder."""
        max_bins = check_max_bins(self.estimator.max_bins, data.table.n_rows)
        binning, sample = self._binning(data, has_weight, max_bins, n_jobs, progress)
        levels = binning.is_categorical
        ordered = features_by_statistic(self.estimator.categories, binning)
        plan, n_features = self.estimator._category_plan(data.class_rows), len(self.names)
        shape = plan.n_code_rows(n_features, len(ordered)), data.table.n_rows
        codes = new_codes(folder, shape, binning.code_type)
        numbers = [np.empty(data.table.n_rows, dtype=np.int32) for _ in ordered]
        every = [flat_levels(binning.levels[j] or []) for j in ordered]
        for rows, block in self._blocks(has_weight, n_jobs, progress, 0.5):
            table = block_table(block, self.names, levels)
            codes[:n_features, rows] = binning.transform(table, n_jobs)
            for j, number, known in zip(ordered, numbers, every, strict=True):
                number[rows] = encode_levels(table.columns[j], known)
        coded = Coded(codes, binning, sample)
        return order_by_statistic(coded, ordered, numbers, data, max_bins, n_jobs, plan)

    def _labels_and_weights(self, n_jobs: int) -> tuple[TrainingData, NDArray[np.bool_] | None]:
        """Read the target and the weights; also return which rows have weight, None for all."""
        labels: list[LabelBlock] = []
        weights: list[NDArray[np.float64]] = []
        masks: list[NDArray[np.bool_]] = []
        n_rows = 0
        columns = [name for name in (self.target, self.sample_weight) if name is not None]
        for block in self.files.blocks(columns, n_jobs != 1):
            labels.append(label_block(block[self.target]))
            if self.sample_weight is not None:
                weight = self._weights(block[self.sample_weight], n_rows)
                masks.append(weight > 0)
                weights.append(weight if masks[-1].all() else weight[masks[-1]])
            n_rows += len(block)
        seen = labels[0].seen
        for other in labels[1:]:
            seen += other.seen
        classes = seen.classes(self.estimator.label_order)
        numbers = np.concatenate([block.numbers(classes) for block in labels])
        sums = sum(map(sum_weights, weights), WeightSums())
        has_weight = None
        if self.sample_weight is not None:
            check_has_weight(sums.n_rows > 0)
            if sums.n_rows < n_rows:
                has_weight = np.concatenate(masks)
                numbers = numbers[has_weight]
        check_rows_of_classes(numbers, classes)
        kept = slice(None) if has_weight is None else np.flatnonzero(has_weight)
        table = Table(len(numbers), self.names, None, [])
        units = _quantised(weights, sums)
        return TrainingData(table, classes, numbers, units, n_rows, kept), has_weight

    def _weights(self, column: Any, first_row: int) -> NDArray[np.float64]:
        pa, _ = import_pyarrow()
        kind = column.type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (is_number or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)):
            raise ValueError(
                f"Got sample_weight={self.sample_weight!r}, a column of type {kind}; expected "
                "numbers."
            )
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return check_weight_block(values, len(values), first_row)

    def _blocks(
        self,
        has_weight: NDArray[np.bool_] | None,
        n_jobs: int,
        progress: Report | None,
        done: float,
    ) -> Iterator[tuple[slice, Any]]:
        """Yield the row numbers and features of the rows that have weight, by block."""
        first = given = 0
        for read in self.files.blocks(self.names, n_jobs != 1):
            block = read
            if has_weight is not None:
                block = read.filter(has_weight[given : given + len(read)])
            given += len(read)
            if len(block):
                yield slice(first, first + len(block)), block
            first += len(block)
            if progress is not None:
                progress(done + 0.5 * given / self.files.n_rows)

    def _binning(
        self,
        data: TrainingData,
        has_weight: NDArray[np.bool_] | None,
        max_bins: int,
        n_jobs: int,
        progress: Report | None,
    ) -> tuple[Binning, BinningSample]:
        """Read the features and choose thresholds and levels."""
        wanted, weights = self.wanted, data.weights
        bound = _core.sample_bound(data.table.n_rows, column_stats.SAMPLE_ROWS)
        looks = []
        for rows, block in self._blocks(has_weight, n_jobs, progress, 0.0):
            units = _units(weights, rows)
            looks.append(table_seen(block, rows.start, bound, units, self.names, wanted))
        sample, seen = join(looks).finalize(self.names, wanted)
        for j, name in enumerate(self.names):
            levels = seen.weights[j]
            if levels is not None and seen.has_missing[j] and self._is_whole(name):
                # As in pandas, where integer columns with missing values become floats.
                seen.weights[j] = type(levels)({float(v): m for v, m in levels.items()})
        return fit_binning(sample, seen, max_bins, n_jobs), sample

    def _is_whole(self, name: str) -> bool:
        pa, _ = import_pyarrow()
        return bool(pa.types.is_integer(self.files.schema.field(name).type))


def _units(weights: Weights, rows: slice) -> NDArray[np.int64] | None:
    """Units of some rows. For all rows at once, they would take eight bytes per row."""
    return Weights(
        None if weights.repeats is None else weights.repeats[rows],
        None if weights.units is None else weights.units[rows],
    ).as_units


def _quantised(weights: list[NDArray[np.float64]], sums: WeightSums) -> Weights:
    """Units of all rows. Each block of weights is dropped once it is converted."""
    if not weights or sums.largest_count == 1:
        return Weights()
    parts = []
    while weights:
        parts.append(quantise(weights.pop(0), sums))
    return join_weights(parts)
