"""Pictures of rankings; they need matplotlib (``pip install 'treerank-ml[plot]'``).

A display holds arrays; ``plot(ax=None)`` draws them and can be called again.
"""

from treerank.plots._class_rank import ClassRankDisplay
from treerank.plots._level_sets import LevelSetDisplay
from treerank.plots._partial_dependence import PartialDependenceDisplay
from treerank.plots._roc import RocDisplay
from treerank.plots._roc_surface import RocSurfaceDisplay
from treerank.plots._tree import TreeDisplay

__all__ = [
    "ClassRankDisplay",
    "LevelSetDisplay",
    "PartialDependenceDisplay",
    "RocDisplay",
    "RocSurfaceDisplay",
    "TreeDisplay",
]
