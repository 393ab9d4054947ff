"""Ranking metrics with confidence intervals.

Metrics that scikit-learn provides are re-exported, not reimplemented.
"""

from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    roc_auc_score,
    roc_curve,
)

from ._band import RocBand, roc_band
from ._calibration import CalibrationFit, calibration_slope, calibration_table
from ._calibration_test import CalibrationTest, calibration_test
from ._concordance import ConcordanceInterval, concordance_interval
from ._decision import (
    DecisionCurve,
    OperatingPoint,
    choose_cutoff,
    decision_curve,
    operating_point,
)
from ._delong import AucComparison, AucInterval, auc_interval, compare_auc
from ._ordinal import (
    VusInterval,
    ordinal_vus_score,
    pairwise_auc_scores,
    vus_interval,
    vus_scorer,
)
from ._partial import partial_auc_interval, partial_auc_score
from ._proportion import wilson_interval
from ._rankings import instability, ranking_distance
from ._roc import roc_distance
from ._scorecard import (
    cap_curve,
    gains_table,
    gini_score,
    ks_score,
    population_stability_index,
)
from ._surface import RocSurface, roc_surface
from ._top import hit_rate_score, local_auc_score
from ._top_intervals import (
    TopComparison,
    TopInterval,
    TopMeasures,
    compare_top,
    local_auc_interval,
    top_measures,
)
from ._woe import information_value, woe_table

__all__ = [
    "AucComparison",
    "AucInterval",
    "CalibrationFit",
    "CalibrationTest",
    "ConcordanceInterval",
    "DecisionCurve",
    "OperatingPoint",
    "RocBand",
    "RocSurface",
    "TopComparison",
    "TopInterval",
    "TopMeasures",
    "VusInterval",
    "auc_interval",
    "average_precision_score",
    "brier_score_loss",
    "calibration_slope",
    "calibration_table",
    "calibration_test",
    "cap_curve",
    "choose_cutoff",
    "compare_auc",
    "compare_top",
    "concordance_interval",
    "decision_curve",
    "gains_table",
    "gini_score",
    "hit_rate_score",
    "information_value",
    "instability",
    "ks_score",
    "local_auc_interval",
    "local_auc_score",
    "operating_point",
    "ordinal_vus_score",
    "pairwise_auc_scores",
    "partial_auc_interval",
    "partial_auc_score",
    "population_stability_index",
    "ranking_distance",
    "roc_auc_score",
    "roc_band",
    "roc_curve",
    "roc_distance",
    "roc_surface",
    "top_measures",
    "vus_interval",
    "vus_scorer",
    "wilson_interval",
    "woe_table",
]
