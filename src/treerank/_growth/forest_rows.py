"""Training rows of a forest: what trees that have not seen a row say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank._input.validation import TrainingData, class_sizes
from treerank._select.rank_aggregation import RankAggregation
from treerank._trees.packed_forest import ForestArrays, Sampling
from treerank._trees.splitter_forest import SplitterForest

Trees = ForestArrays | SplitterForest


@dataclass(frozen=True)
class Unseen:
    """Some rows, and the mean over the trees that did not draw them: rows x shrinkages."""

    means: NDArray[np.float64]  # NaN for a row that every tree has drawn
    labels: NDArray[np.uint8]
    units: NDArray[np.int64] | None


class ForestRows(Protocol):
    """What a forest asks of its training rows once its trees are grown."""

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Units of each class."""

    @property
    def scale(self) -> float:
        """Units to a weight of 1."""

    def unseen(
        self, trees: Trees, sampling: Sampling, rows: NDArray[np.int64], shrinkages: list[float]
    ) -> Unseen:
        """Out-of-bag means of the rows with these numbers."""

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of all rows as they were given; NaN for those without weight."""

    def rank_aggregation(
        self, kind: str, trees: Trees, sampling: Sampling
    ) -> tuple[RankAggregation, Unseen]:
        """Consensus of the trees' rankings, and what it says of the training rows."""


@dataclass(frozen=True)
class LocalForestRows:
    """Rows as arrays: codes, or the matrix that splitters in Python see."""

    rows: NDArray[Any]
    data: TrainingData
    n_jobs: int

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Units of each class."""
        return class_sizes(self.data)

    @property
    def scale(self) -> float:
        """Units to a weight of 1."""
        return self.data.weights.scale

    def unseen(
        self, trees: Trees, sampling: Sampling, rows: NDArray[np.int64], shrinkages: list[float]
    ) -> Unseen:
        """Out-of-bag means of the rows with these numbers."""
        numbers = rows.astype(np.uint32)
        means, _ = trees.out_of_bag(self.rows, sampling, numbers, shrinkages, self.n_jobs)
        units = self.data.weights.as_units
        return Unseen(means, self.data.labels[rows], None if units is None else units[rows])

    def as_given(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of all rows as they were given; NaN for those without weight."""
        given = np.full(self.data.given_rows, np.nan)
        given[self.data.kept] = scores
        return given

    def rank_aggregation(
        self, kind: str, trees: Trees, sampling: Sampling
    ) -> tuple[RankAggregation, Unseen]:
        """Consensus of the trees' rankings, and what it says of the training rows."""
        data = self.data
        ranks = RankAggregation.fit(kind, trees, self.rows, data, sampling, self.n_jobs)
        scores = ranks.training_scores[:, np.newaxis]
        return ranks, Unseen(scores, data.labels, data.weights.as_units)
