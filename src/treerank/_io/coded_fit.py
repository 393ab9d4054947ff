"""Fit an estimator to codes: of a table in memory, or of Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._base import check_max_bins
from treerank._binning.binning import Coded
from treerank._binning.category_statistics import CategoryPlan, code_training_data
from treerank._input.option_types import Paths
from treerank._input.parameters import check_n_jobs
from treerank._input.stages import record_stages, stage
from treerank._input.types import TableLike
from treerank._input.validation import TrainingData, all_or_nothing, validate_training_data
from treerank._io.parquet import Reading, open_features
from treerank._leafrank import LeafRank


class CodedFit:
    """Mixin to fit an estimator to codes: of a table in memory, or of files (`fit_parquet`)."""

    verbose: int

    def _plan_fit(self, data: TrainingData) -> Any:
        """Check the parameters, given labels and weights, and plan the fit."""
        raise NotImplementedError

    def _fit_coded(self, data: TrainingData, coded: Coded, plan: Any) -> None:
        """Fit to the encoded rows."""
        raise NotImplementedError

    def _category_plan(self, class_rows: NDArray[np.int64]) -> CategoryPlan:
        """Return how categories by statistics are encoded, given the rows per class."""
        return CategoryPlan()

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
                how = self._category_plan(data.class_rows, **more)
                coded = code_training_data(data, max_bins, self._categories(), n_jobs, how)
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
            reading = Reading(self, files, target, sample_weight, names, cache_dir)
            with reading.rows() as rows:
                plan = self._plan_fit(rows.data)
                with stage("read and bin"):
                    coded = rows.code()
                self._fit_coded(rows.data, coded, plan)
        return self
