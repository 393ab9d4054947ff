"""Boosting on a cluster, with trees bitwise equal to those in memory."""

from __future__ import annotations

from typing import Any, Self

from treerank._boosting import BoostedTreeRank
from treerank._growth.boosting_validation import check_validation
from treerank._growth.losses import LOSS_NAMES
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_choice
from treerank._plans.boosting import BoostingSize, plan_boosting
from treerank.dask._base import OnCluster, takes_parameters_of
from treerank.dask._boosting_checkpoint import BoostingCheckpoint
from treerank.dask._boosting_rows import boosting_rows
from treerank.dask._cluster import Cluster
from treerank.dask._collections import Blocks, code_blocks, is_collection
from treerank.dask._estimators import check_on_processor, fit_digest


@takes_parameters_of(BoostedTreeRank)
@insert_shared_docs
class DaskBoostedTreeRank(OnCluster, BoostedTreeRank):
    """Rank by a sum of shallow ranking trees, from rows on a Dask cluster.

    The trees are bitwise equal to those that :class:`~treerank.BoostedTreeRank` learns from the
    same rows in memory, whatever the partitions and the number of workers, and even if workers
    are lost. Each tree waits for the cluster once for the gradients and once for each level of
    its cells and of the trees inside them; with `max_leaf_nodes`, once for each cell that it
    splits.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        As for :class:`~treerank.BoostedTreeRank`. With "auto", the size of the trees is chosen in
        this process, on up to 50,000 rows, and their number on all rows of the cluster.
    {client}
    {checkpoint}
    **parameters
        All parameters of :class:`~treerank.BoostedTreeRank`; `loss` must be "auto" or "logistic",
        `focus` None and `warm_start` False. With early stopping, or more than two classes, scores
        are copied to this process, eight bytes per row. Bags of fewer than 50,000 rows are grown
        in this process. `n_jobs` is only used for data in memory.

    Attributes
    ----------
    n_rounds_ : int
        Number of times that the fit has waited for the cluster.
    n_estimators_, plan_, feature_importances_, ... :
        As for :class:`~treerank.BoostedTreeRank`.

    Examples
    --------
    >>> from distributed import Client
    >>> from treerank.dask import DaskBoostedTreeRank
    >>> import dask.array as da
    >>> from treerank.datasets import make_gaussians_20d
    >>> data = make_gaussians_20d(1000, "easy", random_state=0)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     X, y = da.from_array(data.X, chunks=(250, -1)), da.from_array(data.y, chunks=250)
    ...     model = DaskBoostedTreeRank(10, client=client).fit(X, y).to_local()
    >>> model
    BoostedTreeRank(n_estimators=10)
    """

    _local = BoostedTreeRank
    n_rounds_: int

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit on the cluster.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
        y : Dask Series or Array of shape (n_samples,)
            Must have the partitions of X.
        sample_weight : Dask Series or Array of shape (n_samples,), optional
        X_val, y_val : array-like or Dask collections, optional
            Rows that decide when to stop, as for :class:`~treerank.BoostedTreeRank`; Dask
            collections are copied to this process.
        sample_weight_val : array-like or Dask collection, optional
            Weights of these rows.

        Returns
        -------
        self
        """
        given = (X_val, y_val, sample_weight_val)
        check_validation(*given)
        here = tuple(part.compute() if is_collection(part) else part for part in given)
        self._fit_collections(X, y, sample_weight, validation=here)
        return self

    def _fit_blocks(
        self, cluster: Cluster, blocks: Blocks, validation: Any = (None, None, None)
    ) -> None:
        coded = code_blocks(cluster, self, blocks, validation=validation)
        checkpoint = BoostingCheckpoint(self.checkpoint, fit_digest(self, cluster, coded))
        rows = boosting_rows(cluster, coded, checkpoint)
        weight = float(rows.class_units.sum() / rows.scale)
        size = BoostingSize(coded.table, coded.classes, coded.class_rows, weight)
        plan = plan_boosting(self, size, coded.binning, validation[0] is not None)
        self._binning, self.label_order_ = coded.binning, coded.classes
        self.loss_ = plan.loss
        self._keep(self._boost(rows, self._validation_rows(*validation), plan, None))
        checkpoint.close()
        self.n_rounds_ = cluster.n_rounds

    def _check_distributable(self) -> None:
        check_choice("loss", self.loss, ["auto", *LOSS_NAMES])
        check_on_processor(self.device)
        if self.loss not in ("auto", "logistic"):
            raise ValueError(
                f"Got loss={self.loss!r}; expected 'auto' or 'logistic': pairs need all rows, and "
                "on a cluster no process has them all. Use BoostedTreeRank."
            )
        if self.focus is not None:
            raise ValueError(
                f"Got focus={self.focus!r}; expected None: which rows are at the top is known only "
                "where all of them are. Use BoostedTreeRank, or DaskRankingForest."
            )
        if self.warm_start:
            raise ValueError(
                "Got warm_start=True; expected False: on a cluster trees are not kept for a later "
                "fit. Use BoostedTreeRank."
            )
