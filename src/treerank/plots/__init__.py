"""Plots of rankings; they need matplotlib (``pip install 'treerank-ml[plot]'``).

A display holds arrays; ``plot(ax=None)`` draws them and can be called again.
"""

from treerank.plots._attributions import (
    AttributionDependenceDisplay,
    BeeswarmDisplay,
    WaterfallDisplay,
)
from treerank.plots._calibration import CalibrationDisplay
from treerank.plots._class_rank import ClassRankDisplay
from treerank.plots._decision import DecisionCurveDisplay
from treerank.plots._gains import GainsDisplay
from treerank.plots._grades import GradesDisplay
from treerank.plots._instability import InstabilityDisplay
from treerank.plots._ks import KsDisplay
from treerank.plots._level_sets import LevelSetDisplay
from treerank.plots._partial_dependence import PartialDependenceDisplay
from treerank.plots._precision_recall import PrecisionRecallDisplay
from treerank.plots._roc import RocDisplay
from treerank.plots._roc_surface import RocSurfaceDisplay
from treerank.plots._tree import TreeDisplay

__all__ = [
    "AttributionDependenceDisplay",
    "BeeswarmDisplay",
    "CalibrationDisplay",
    "ClassRankDisplay",
    "DecisionCurveDisplay",
    "GainsDisplay",
    "GradesDisplay",
    "InstabilityDisplay",
    "KsDisplay",
    "LevelSetDisplay",
    "PartialDependenceDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "RocSurfaceDisplay",
    "TreeDisplay",
    "WaterfallDisplay",
]
