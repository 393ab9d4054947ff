"""Training and scoring on a Dask cluster: the same models as in memory, to the bit."""

from treerank.dask._boosting import DaskBoostedTreeRank
from treerank.dask._cluster import ClusterError
from treerank.dask._estimators import DaskRankingForest, DaskTreeRank

__all__ = ["ClusterError", "DaskBoostedTreeRank", "DaskRankingForest", "DaskTreeRank"]
