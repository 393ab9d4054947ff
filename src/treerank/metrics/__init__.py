"""Measures of rankings, with intervals.

What scikit-learn has is imported, not written again; the rest is here.
"""

from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    roc_auc_score,
    roc_curve,
)

from ._delong import AucComparison, AucInterval, auc_interval, compare_auc
from ._ordinal import (
    VusInterval,
    ordinal_vus_score,
    pairwise_auc_scores,
    vus_interval,
    vus_scorer,
)
from ._proportion import wilson_interval
from ._roc import roc_distance
from ._top import hit_rate_score, local_auc_score

__all__ = [
    "AucComparison",
    "AucInterval",
    "VusInterval",
    "auc_interval",
    "average_precision_score",
    "brier_score_loss",
    "compare_auc",
    "hit_rate_score",
    "local_auc_score",
    "ordinal_vus_score",
    "pairwise_auc_scores",
    "roc_auc_score",
    "roc_curve",
    "roc_distance",
    "vus_interval",
    "vus_scorer",
    "wilson_interval",
]
