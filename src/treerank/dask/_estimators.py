"""Tree and forest on a cluster, bitwise equal to those in memory."""

from __future__ import annotations

from typing import Any

from treerank._forest import RankingForest
from treerank._growth import shards as tasks
from treerank._growth.trees import check_monotonic
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.validation import TrainingSize
from treerank._leafrank import LeafRank
from treerank._plans.forest import AGGREGATIONS, plan_forest
from treerank._plans.treerank import leafrank_of, plan_tree
from treerank._treerank import TreeRank
from treerank.dask._base import OnCluster, takes_parameters_of
from treerank.dask._checkpoint import GrowthCheckpoint, digest_of
from treerank.dask._cluster import Cluster, DaskShards
from treerank.dask._collections import Blocks, CodedShards, code_blocks
from treerank.dask._forest_rows import DaskForestRows, rank_aggregation_error
from treerank.dask._rows import DaskRows


@takes_parameters_of(TreeRank)
@insert_shared_docs
class DaskTreeRank(OnCluster, TreeRank):
    """Learn to rank with one tree, from rows on a Dask cluster.

    The tree is bitwise equal to the one that :class:`~treerank.TreeRank` learns from the same
    rows in memory, whatever the partitions and the number of workers, and even if workers are
    lost.

    Parameters
    ----------
    splitter : LeafRank, optional
        How a cell is split. Other splitters are not supported: they need all rows in one process.
    {client}
    {checkpoint}
    **parameters
        All parameters of :class:`~treerank.TreeRank`; `cv` must be an integer, `focus` None,
        and LeafRank's own `pruning` None. `n_jobs` is only used to score data in memory.

    Attributes
    ----------
    n_rounds_ : int
        Number of times that the fit has waited for the cluster.
    tree_, partition_, pruning_path_, ... :
        As for :class:`~treerank.TreeRank`.

    Examples
    --------
    >>> from distributed import Client
    >>> from treerank.dask import DaskTreeRank
    >>> import dask.array as da
    >>> from treerank.datasets import make_gaussians_20d
    >>> data = make_gaussians_20d(1000, "easy", random_state=0)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     X, y = da.from_array(data.X, chunks=(250, -1)), da.from_array(data.y, chunks=250)
    ...     model = DaskTreeRank(client=client).fit(X, y).to_local()
    >>> model
    TreeRank()
    """

    _local = TreeRank
    n_rounds_: int

    def _fit_blocks(self, cluster: Cluster, blocks: Blocks) -> None:
        coded = code_blocks(cluster, self, blocks)
        options = plan_tree(self, coded.table)
        monotonic = check_monotonic(self.monotonic_cst, coded.names, coded.binning)
        checkpoint = open_checkpoint(self, cluster, coded)
        self._fit_rows(DaskRows(cluster, coded, monotonic, checkpoint, self.verbose), options)
        checkpoint.close()
        self.n_rounds_ = cluster.n_rounds

    def _check_distributable(self) -> None:
        if self.focus is not None:
            raise ValueError(
                f"Got focus={self.focus!r}; expected None: on a cluster a tree is grown for all of "
                "the ranking. Use TreeRank, or DaskRankingForest."
            )
        check_on_processor(self.device)
        leafrank = leafrank_of(self)
        if leafrank is None:
            raise other_splitter_error(self.splitter, "TreeRank")
        if leafrank.pruning is not None:
            raise ValueError(
                f"Got splitter={self.splitter!r}; expected pruning=None: its folds inside each "
                "cell need all rows of the cell in one place. Use TreeRank."
            )


@takes_parameters_of(RankingForest)
@insert_shared_docs
class DaskRankingForest(OnCluster, RankingForest):
    """Learn to rank with many randomised trees, from rows on a Dask cluster.

    The forest is bitwise equal to the one that :class:`~treerank.RankingForest` learns from the
    same rows in memory. Its trees grow in lockstep, sixteen at a time, so that they share the
    rounds of the cluster.

    Parameters
    ----------
    splitter : LeafRank, optional
        How a cell is split. Other splitters are not supported: they need all rows in one process.
    {client}
    {checkpoint}
    **parameters
        All parameters of :class:`~treerank.RankingForest`; `aggregation` must be "posterior",
        `warm_start` False. `n_jobs` is only used to score data in memory.

    Attributes
    ----------
    n_rounds_ : int
        Number of times that the fit has waited for the cluster.
    oob_decision_function_ : array
        With ``oob_score=True``, as for :class:`~treerank.RankingForest`, for the rows with
        weight; in this process.
    estimators_, feature_importances_, ... :
        As for :class:`~treerank.RankingForest`.
    """

    _local = RankingForest
    n_rounds_: int

    def _fit_blocks(self, cluster: Cluster, blocks: Blocks) -> None:
        coded = code_blocks(cluster, self, blocks)
        self._binning, self._encoding = coded.binning, None
        monotonic = coded.binning.columns.signs(
            check_monotonic(self.monotonic_cst, coded.names, coded.binning)
        )
        plans = plan_forest(self, TrainingSize(coded.table, coded.classes), monotonic)
        checkpoint = open_checkpoint(self, cluster, coded)
        self._fit_rows(DaskForestRows(cluster, coded, monotonic, checkpoint), plans, None)
        checkpoint.close()
        self.n_rounds_ = cluster.n_rounds

    def _check_distributable(self) -> None:
        check_on_processor(self.device)
        if not isinstance(self.splitter, LeafRank | None):
            raise other_splitter_error(self.splitter, "RankingForest")
        if self.aggregation in AGGREGATIONS and self.aggregation != "posterior":
            raise rank_aggregation_error(self.aggregation)
        if self.warm_start:
            raise ValueError(
                "Got warm_start=True; expected False: on a cluster trees are not kept for a later "
                "fit. An interrupted fit continues from its checkpoint."
            )


def check_on_processor(device: str) -> None:
    """Raise for a device other than the CPU: workers count on their CPUs."""
    if device != "cpu":
        raise ValueError(
            f"Got device={device!r} on a cluster; expected 'cpu': workers count on their "
            "processors. A model that `to_local()` gives can be scored on a device."
        )


def other_splitter_error(splitter: Any, local: str) -> ValueError:
    """Return the error for a splitter that needs all rows of a cell in one process."""
    return ValueError(
        f"Got splitter={splitter!r}; expected None or a LeafRank: on a cluster no process has all "
        f"rows of a cell. Use {local}."
    )


def open_checkpoint(estimator: Any, cluster: Cluster, coded: CodedShards) -> GrowthCheckpoint:
    """Return the checkpoint of this fit, which rejects those of other fits."""
    return GrowthCheckpoint(estimator.checkpoint, fit_digest(estimator, cluster, coded))


def fit_digest(estimator: Any, cluster: Cluster, coded: CodedShards) -> str:
    """Digest by which the checkpoint of a fit is identified; empty without a checkpoint."""
    if estimator.checkpoint is None:
        return ""
    content = DaskShards(cluster, coded.shards).added(tasks.content)
    return digest_of(estimator, coded, content)
