"""Ranking trees: order cases so that the positive ones come first.

>>> from treerank import TreeRank
>>> model = TreeRank()
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treerank._boosting import BoostedTreeRank
    from treerank._comparison.compare import compare
    from treerank._comparison.result import Comparison
    from treerank._comparison.two_sample import TwoSampleResult, two_sample_test
    from treerank._forest import RankingForest
    from treerank._geometric import GeometricRanker
    from treerank._io.model_file import ModelFileError, load, save
    from treerank._leafrank import LeafRank
    from treerank._reading.partition import OrderedPartition
    from treerank._report import report
    from treerank._treerank import TreeRank

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


# The module of each public name. Names are imported on first access, so that the help of the
# command line does not have to wait for scikit-learn, which takes a second to import.
_DEFINED_IN = {
    "BoostedTreeRank": "_boosting",
    "Comparison": "_comparison.result",
    "GeometricRanker": "_geometric",
    "LeafRank": "_leafrank",
    "ModelFileError": "_io.model_file",
    "OrderedPartition": "_reading.partition",
    "RankingForest": "_forest",
    "TreeRank": "_treerank",
    "TwoSampleResult": "_comparison.two_sample",
    "compare": "_comparison.compare",
    "load": "_io.model_file",
    "report": "_report",
    "save": "_io.model_file",
    "two_sample_test": "_comparison.two_sample",
}
_MODULES = [
    "approximation", "baselines", "consensus", "datasets", "export", "inspection", "metrics",
    "plots", "scoring", "splitters",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"treerank.{name}")
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"treerank.{_DEFINED_IN[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_DEFINED_IN, *_MODULES})
