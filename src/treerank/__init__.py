"""Ranking trees: order cases so that the positive ones come first.

>>> from treerank import TreeRank
>>> model = TreeRank()
"""

from importlib.metadata import version as _version

from treerank._boosting import BoostedTreeRank
from treerank._compare import compare
from treerank._comparison import Comparison
from treerank._forest import RankingForest
from treerank._geometric import GeometricRanker
from treerank._leafrank import LeafRank
from treerank._model_file import ModelFileError, load, save
from treerank._partition import OrderedPartition
from treerank._report import report
from treerank._treerank import TreeRank
from treerank._two_sample import TwoSampleResult, two_sample_test

__version__ = _version("treerank-ml")
__all__ = [
    "BoostedTreeRank",
    "Comparison",
    "GeometricRanker",
    "LeafRank",
    "ModelFileError",
    "OrderedPartition",
    "RankingForest",
    "TreeRank",
    "TwoSampleResult",
    "__version__",
    "compare",
    "load",
    "report",
    "save",
    "two_sample_test",
]
