"""Fit to Parquet files: rows are encoded block by block into a memory-mapped file.

The target and the weights are read once, each feature twice: once to find thresholds and
levels, once to be encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

import treerank
from treerank import _core
from treerank._base import check_max_bins
from treerank._binning.binning import Binning, Coded, encode_levels, fit_binning
from treerank._binning.category_statistics import (
    code_training_data,
    features_by_statistic,
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
from treerank._input.stages import record_stages, stage
from treerank._input.types import TableLike
from treerank._input.validation import (
    Table,
    TrainingData,
    all_or_nothing,
    check_number_of_features,
    check_rows_of_classes,
    validate_training_data,
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
from treerank._leafrank import LeafRank

# Format number of cached codes. Increase it when their files change.
KEPT_VERSION = 3


class CodedFit:
    """Mixin to fit an estimator to codes: of a table in memory, or of files (`fit_parquet`)."""

    verbose: int

    def _plan_fit(self, data: TrainingData) -> Any:
        """Check the parameters, given labels and weights, and plan the fit."""
        raise NotImplementedError

    def _fit_coded(self, data: TrainingData, coded: Coded, plan: Any) -> None:
        """Fit to the encoded rows."""
        raise NotImplementedError

    def _fit_table(
        self: Any, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, **more: Any
    ) -> None:
        """Validate, bin and fit a table in memory; `more` is passed to `_fit_coded`."""
        with all_or_nothing(self), record_stages(self.verbose):
            with stage("validate"):
                data = validate_training_data(
                    self, X, y, sample_weight, self.categorical_features,
                    label_order=self.label_order,
                )  # fmt: skip
                plan, n_jobs = self._plan_fit(data), check_n_jobs(self.n_jobs)
                max_bins = check_max_bins(self.max_bins, data.table.n_rows)
            with stage("bin"):
                coded = code_training_data(data, max_bins, self._categories(), n_jobs)
            self._fit_coded(data, coded, plan, **more)

    def _categories(self: Any) -> Any:
        """How categories are split. Splitters other than LeafRank get one column per level."""
        splitter = getattr(self, "splitter", None)
        if isinstance(splitter, LeafRank | None):
            return self.categories
        if self.categories == "statistics":
            raise ValueError(
                f"Got categories='statistics' with splitter={splitter!r}; expected 'auto' or "
                "'levels': only LeafRank splits categories by statistics."
            )
        return "levels"

    def fit_parquet(
        self,
        path: Paths,
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        cache_dir: Any = None,
    ) -> Self:
        """Fit to Parquet files, which may be larger than the memory.

        The model is the same as with `fit` on the same rows. Rows are read block by block and
        encoded, mostly with one byte per value, into a memory-mapped file. Features are read
        twice, the target and the weights once. Needs pyarrow.

        Parameters
        ----------
        path : str, path or list of these
            A file, a folder (with its subfolders) or a pattern such as ``"data/*.parquet"``,
            read in sorted order; or a list, read in its order.
        target : str
            Column with the labels.
        sample_weight : str, optional
            Column with the weights.
        columns : sequence of str, optional
            Features. By default all other columns.
        cache_dir : path, optional
            Folder in which the encoded rows are kept: another fit to the same files with the
            same target, weights, columns, categories and `max_bins` does not read the files
            again. Damaged codes are computed again, with a warning. By default, the codes are in
            a temporary folder that is removed when the fit ends.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the files do not hold one table, or change while they are read.
        OSError
            If the disk has no space for the codes.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_breast_cancer
        >>> from treerank import TreeRank
        >>> table = load_breast_cancer(as_frame=True).frame
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table[:300].to_parquet(f"{folder}/a.parquet")
        ...     table[300:].to_parquet(f"{folder}/b.parquet")
        ...     model = TreeRank().fit_parquet(f"{folder}/*.parquet", target="target")
        >>> model.n_features_in_
        30
        """
        with all_or_nothing(self), record_stages(self.verbose):
            splitter = getattr(self, "splitter", None)
            if not isinstance(splitter, LeafRank | None):
                raise ValueError(
                    f"Got splitter={splitter!r} in fit_parquet; expected None or a LeafRank: other "
                    "splitters need the values themselves, and only their codes are kept. Use fit."
                )
            files, names = open_features(self, path, target, sample_weight, columns)
            reading = _Reading(self, files, target, sample_weight, names, cache_dir)
            with reading.rows() as rows:
                plan = self._plan_fit(rows.data)
                with stage("read and bin"):
                    coded = rows.code()
                self._fit_coded(rows.data, coded, plan)
        return self


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
class _Rows:
    """Rows whose labels and weights have been read, and a function to encode their features."""

    data: TrainingData
    code: Callable[[], Coded]


@dataclass(frozen=True)
class _Reading:
    """What to read, and for which estimator."""

    estimator: Any
    files: ParquetFiles
    target: str
    sample_weight: str | None
    names: list[str]
    kept: Any  # folder of cached codes, or None

    @contextmanager
    def rows(self) -> Iterator[_Rows]:
        """Yield rows from the cache or the files; temporary files are removed at the end."""
        n_jobs = check_n_jobs(self.estimator.n_jobs)
        if self.kept is not None:
            found = find_kept(self.kept, self.made_of, self.names, n_jobs)
            if found is not None:
                yield _Rows(found[0], lambda: found[1])
                return
        with (
            folder_for(self.kept) as folder,
            progress_bar("reading", self.estimator.verbose) as progress,
        ):
            with self.files.unchanged():
                data, has_weight = self._labels_and_weights(n_jobs)
            yield _Rows(data, lambda: self._code(folder, data, has_weight, n_jobs, progress))

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
        codes = new_codes(folder, (data.table.n_features, data.table.n_rows), binning.code_type)
        levels = binning.is_categorical.astype(bool).tolist()
        ordered = features_by_statistic(self.estimator.categories, binning)
        numbers = [np.empty(data.table.n_rows, dtype=np.int32) for _ in ordered]
        every = [flat_levels(binning.levels[j] or []) for j in ordered]
        for rows, block in self._blocks(has_weight, n_jobs, progress, 0.5):
            table = block_table(block, self.names, levels)
            codes[:, rows] = binning.transform(table, n_jobs)
            for j, number, known in zip(ordered, numbers, every, strict=True):
                number[rows] = encode_levels(table.columns[j], known)
        coded = Coded(codes, binning, sample)
        return order_by_statistic(coded, ordered, numbers, data, max_bins, n_jobs)

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
