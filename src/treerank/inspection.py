"""Read a fitted model: what its score depends on, and why a row is where it is.

What scikit-learn has is imported, not written again.
"""

from sklearn.inspection import permutation_importance

from treerank._reading.attributions import Attributions, attributions
from treerank._reading.dependence import PartialDependence, partial_dependence
from treerank._reading.explanation import Explanation, Move, Step, explain
from treerank._reading.reasons import Reason, reasons

__all__ = [
    "Attributions",
    "Explanation",
    "Move",
    "PartialDependence",
    "Reason",
    "Step",
    "attributions",
    "explain",
    "partial_dependence",
    "permutation_importance",
    "reasons",
]
