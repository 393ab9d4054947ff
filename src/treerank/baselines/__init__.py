"""Baselines: the ranking and scoring methods that ranking trees are compared with.

AdaBoost, the only method of the papers that is not included here, is scikit-learn's
`sklearn.ensemble.AdaBoostClassifier`.
"""

from treerank.baselines._kernel_logistic import KernelLogisticRegression
from treerank.baselines._logitboost import LogitBoost
from treerank.baselines._pnorm_push import PNormPush
from treerank.baselines._rankboost import RankBoost
from treerank.baselines._ranknet import RankNet
from treerank.baselines._rankrls import RankRLS
from treerank.baselines._ranksvm import RankSVM

__all__ = [
    "KernelLogisticRegression",
    "LogitBoost",
    "PNormPush",
    "RankBoost",
    "RankNet",
    "RankRLS",
    "RankSVM",
]
