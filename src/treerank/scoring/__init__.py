"""From a score to a decision: judge a model on new rows, watch it, compare groups and models."""

from .challenger import Challenge, NetBenefit, SwapSet, challenge
from .evaluation import Evaluation, evaluate
from .groups import GroupComparison, GroupFigures, evaluate_groups
from .monitoring import Monitoring, SequentialTest, monitor
from .segments import Segment, WeakSegments, weak_segments

__all__ = [
    "Challenge",
    "Evaluation",
    "GroupComparison",
    "GroupFigures",
    "Monitoring",
    "NetBenefit",
    "Segment",
    "SequentialTest",
    "SwapSet",
    "WeakSegments",
    "challenge",
    "evaluate",
    "evaluate_groups",
    "monitor",
    "weak_segments",
]
