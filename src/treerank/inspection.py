"""Inspection of fitted models: what a score depends on, and why a row is ranked where it is.

Functions that scikit-learn provides are re-exported, not reimplemented.
"""

from sklearn.inspection import permutation_importance

from treerank._reading.attributions import Attributions, attributions
from treerank._reading.dependence import PartialDependence, partial_dependence
from treerank._reading.explanation import Explanation, Move, Step, explain
from treerank._reading.importance import Importance, attribution_importance, auc_importance
from treerank._reading.reasons import Reason, reasons

__all__ = [
    "Attributions",
    "Explanation",
    "Importance",
    "Move",
    "PartialDependence",
    "Reason",
    "Step",
    "attribution_importance",
    "attributions",
    "auc_importance",
    "explain",
    "partial_dependence",
    "permutation_importance",
    "reasons",
]
