"""Ranking trees: order cases so that the positive ones come first.

>>> from treerank import TreeRank
>>> model = TreeRank()
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from treerank._boosting import BoostedTreeRank
from treerank._compare import compare
from treerank._comparison import Comparison
from treerank._forest import RankingForest
from treerank._geometric import GeometricRanker
from treerank._leafrank import LeafRank
from treerank._reading.partition import OrderedPartition
from treerank._treerank import TreeRank
from treerank._two_sample import TwoSampleResult, two_sample_test

if TYPE_CHECKING:
    from treerank._io.model_file import ModelFileError, load, save
    from treerank._report import report

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


# What takes long to import and is not always needed, imported when it is first asked for.
_LATER = {
    "ModelFileError": "treerank._io.model_file",
    "load": "treerank._io.model_file",
    "report": "treerank._report",
    "save": "treerank._io.model_file",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
