"""Training rows of a forest: growth of trees on them, and out-of-bag scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Codes
from treerank._binning.category_statistics import n_codings_in
from treerank._binning.encoding import Encoding
from treerank._device.codes import MadeThere
from treerank._device.device import Device
from treerank._growth.device_rows import DeviceRows
from treerank._growth.forest import ForestPlan, Trees, grow_forest, grow_in_core
from treerank._growth.forest_codings import codes_to_grow_on, score_out_of_bag, tree_blocks
from treerank._growth.progress import part_of, progress_bar
from treerank._input.validation import TrainingData, class_sizes
from treerank._input.weights import Weights
from treerank._select.rank_aggregation import RankAggregation
from treerank._trees.packed_forest import ForestArrays, Sampling, mean_out_of_bag
from treerank._trees.splitter_forest import SplitterForest


@dataclass(frozen=True)
class Unseen:
    """Some rows, and means over the trees that did not draw them: rows x shrinkages."""

    means: NDArray[np.float64]  # NaN for a row that every tree has drawn
    labels: NDArray[np.uint8]
    units: NDArray[np.int64] | None

    @classmethod
    def of_rows(
        cls,
        means: NDArray[np.float64],
        labels: NDArray[np.uint8],
        weights: Weights,
        rows: NDArray[np.integer[Any]],
    ) -> Unseen:
        """Return the means of some rows, with their labels and weights, out of those of all."""
        return cls(means, labels[rows], weights.take(rows).as_units)


class ForestRows(Protocol):
    """Interface of the training rows of a forest, wherever they are."""

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Total weight of each class, in units."""

    @property
    def scale(self) -> float:
        """Units per weight of 1."""

    @property
    def n_jobs(self) -> int:
        """Number of threads of this process."""

    def grow(self, plan: ForestPlan, before: Trees | None) -> Trees:
        """Grow the trees of the plan that are not in `before`."""

    def grow_each(self, plans: list[ForestPlan]) -> list[Trees]:
        """Grow the trees of each plan."""

    def unseen(
        self, trees: Trees, sampling: Sampling, rows: NDArray[np.int64], shrinkages: list[float]
    ) -> Unseen:
        """Return the out-of-bag means of the rows with these indices."""

    def unseen_by_feature(
        self, trees: ForestArrays, sampling: Sampling, rows: NDArray[np.int64], shrinkage: float
    ) -> Unseen:
        """Return the out-of-bag means for one shrinkage, divided by feature: rows x features."""

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of the rows as given to `fit`; NaN for rows of weight 0."""

    def rank_aggregation(
        self, kind: str, trees: Trees, sampling: Sampling
    ) -> tuple[RankAggregation, Unseen]:
        """Return the consensus of the rankings, and its scores of the training rows."""


@dataclass(frozen=True)
class LocalForestRows:
    """Rows as arrays: codes, or the matrix that Python splitters take."""

    rows: NDArray[Any]
    made: Codes | MadeThere  # the codes in host memory, or on the device that computed them
    data: TrainingData
    binning: Binning
    encoding: Encoding | None  # None: the rows are codes
    monotonic: NDArray[np.int8]  # of each column
    n_jobs: int
    device: Device | None = None  # None: the CPU

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, worst first."""
        return self.data.classes

    @cached_property
    def _on_device(self) -> DeviceRows | None:
        if self.device is None or self.encoding is not None:
            return None
        return DeviceRows(
            self.device, self.made, self.data, self.binning, self.monotonic,
            self.data.weights.as_units,
        )  # fmt: skip

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Total weight of each class, in units."""
        return class_sizes(self.data)

    @property
    def scale(self) -> float:
        """Units per weight of 1."""
        return self.data.weights.scale

    def grow(self, plan: ForestPlan, before: Trees | None) -> Trees:
        """Grow the trees of the plan that are not in `before`."""
        first, n_trees = 0 if before is None else before.n_trees, len(plan.kind_of)
        trees = before
        with progress_bar("growing", plan.verbose if self.encoding is None else 0) as report:
            for block in tree_blocks(first, n_trees, self._n_codings):
                rows = self._with_coding(block.coding)
                so_far = replace(plan, kind_of=plan.kind_of[: block.last])
                part = part_of(report, block.first - first, block.last - first, n_trees - first)
                trees = grow_forest(
                    rows.rows, self.data, self.binning, self.encoding, self.monotonic, so_far,
                    trees, self.n_jobs, rows._on_device, part,
                )  # fmt: skip
        assert trees is not None
        return trees

    def grow_each(self, plans: list[ForestPlan]) -> list[Trees]:
        """Grow the trees of each plan; the core grows all in one go to keep all threads busy."""
        if self.encoding is not None or self._n_codings > 1:
            return [self.grow(plan, None) for plan in plans]
        with progress_bar("growing", plans[0].verbose) as report:
            return list(
                grow_in_core(
                    self.rows, self.data, self.binning, self.monotonic, plans, 0, self.n_jobs,
                    self._on_device, report,
                )
            )  # fmt: skip

    @property
    def _n_codings(self) -> int:
        if self.encoding is not None:
            return 1
        return n_codings_in(self.rows, self.binning)

    def _with_coding(self, number: int) -> LocalForestRows:
        """Return the rows with one of the codings of categories, if there are several."""
        if self._n_codings == 1:
            return self
        codes = codes_to_grow_on(self.rows, self.binning, number)
        return replace(self, rows=codes, made=codes)

    def unseen(
        self, trees: Trees, sampling: Sampling, rows: NDArray[np.int64], shrinkages: list[float]
    ) -> Unseen:
        """Return the out-of-bag means of the rows with these indices."""
        numbers = rows.astype(np.uint32)
        if isinstance(trees, SplitterForest):
            found = trees.out_of_bag(self.rows, sampling, numbers, shrinkages, self.n_jobs)
            return self._with_labels(mean_out_of_bag(*found), rows)
        means = score_out_of_bag(
            ForestArrays.out_of_bag, trees, self.rows, self.binning, sampling, numbers, shrinkages,
            self.n_jobs,
        )  # fmt: skip
        return self._with_labels(means, rows)

    def unseen_by_feature(
        self, trees: ForestArrays, sampling: Sampling, rows: NDArray[np.int64], shrinkage: float
    ) -> Unseen:
        """Return the out-of-bag means for one shrinkage, divided by feature: rows x features."""
        parts = score_out_of_bag(
            ForestArrays.out_of_bag_by_feature, trees, self.rows, self.binning, sampling,
            rows.astype(np.uint32), shrinkage, self.n_jobs,
        )  # fmt: skip
        return self._with_labels(parts, rows)

    def _with_labels(self, means: NDArray[np.float64], rows: NDArray[np.int64]) -> Unseen:
        return Unseen.of_rows(means, self.data.labels, self.data.weights, rows)

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of the rows as given to `fit`; NaN for rows of weight 0."""
        given = np.full(self.data.given_rows, np.nan)
        given[self.data.kept] = scores
        return given

    def rank_aggregation(
        self, kind: str, trees: Trees, sampling: Sampling
    ) -> tuple[RankAggregation, Unseen]:
        """Return the consensus of the rankings, and its scores of the training rows."""
        data = self.data
        ranks = RankAggregation.fit(
            kind, trees, self.rows, data, sampling, self.n_jobs, bool(self.monotonic.any())
        )
        scores = ranks.training_scores[:, np.newaxis]
        return ranks, Unseen(scores, data.labels, data.weights.as_units)
