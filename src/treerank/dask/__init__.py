"""Training and scoring on a Dask cluster, with models bitwise equal to those in memory."""

from treerank.dask._boosting import DaskBoostedTreeRank
from treerank.dask._cluster import ClusterError
from treerank.dask._estimators import DaskRankingForest, DaskTreeRank

__all__ = ["ClusterError", "DaskBoostedTreeRank", "DaskRankingForest", "DaskTreeRank"]
