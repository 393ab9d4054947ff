"""Measures of rankings, with intervals: what scikit-learn does not have.

`sklearn.metrics` has `roc_curve`, `roc_auc_score`, `average_precision_score` and
`brier_score_loss`; they are not repeated here.
"""

from ._delong import AucInterval, auc_interval
from ._proportion import wilson_interval
from ._roc import roc_distance
from ._top import hit_rate_score, local_auc_score

__all__ = [
    "AucInterval",
    "auc_interval",
    "hit_rate_score",
    "local_auc_score",
    "roc_distance",
    "wilson_interval",
]
