"""From a score to a decision: grades, points and probabilities, and how well they hold up."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treerank.scoring._calibrator import Calibrator
    from treerank.scoring._grades import Grades
    from treerank.scoring._points import Points
    from treerank.scoring._scorecard import Scorecard
    from treerank.scoring._validation import Validation, validate
    from treerank.scoring.challenger import Challenge, NetBenefit, SwapSet, challenge
    from treerank.scoring.evaluation import Evaluation, evaluate
    from treerank.scoring.groups import GroupComparison, GroupFigures, evaluate_groups
    from treerank.scoring.monitoring import Monitoring, SequentialTest, monitor
    from treerank.scoring.segments import Segment, WeakSegments, weak_segments

# Imported on first use, because model files need only some of them.
_HOME = {
    "Calibrator": "_calibrator",
    "Challenge": "challenger",
    "Evaluation": "evaluation",
    "Grades": "_grades",
    "GroupComparison": "groups",
    "GroupFigures": "groups",
    "Monitoring": "monitoring",
    "NetBenefit": "challenger",
    "Points": "_points",
    "Scorecard": "_scorecard",
    "Segment": "segments",
    "SequentialTest": "monitoring",
    "SwapSet": "challenger",
    "Validation": "_validation",
    "WeakSegments": "segments",
    "challenge": "challenger",
    "evaluate": "evaluation",
    "evaluate_groups": "groups",
    "monitor": "monitoring",
    "validate": "_validation",
    "weak_segments": "segments",
}
__all__ = [
    "Calibrator",
    "Challenge",
    "Evaluation",
    "Grades",
    "GroupComparison",
    "GroupFigures",
    "Monitoring",
    "NetBenefit",
    "Points",
    "Scorecard",
    "Segment",
    "SequentialTest",
    "SwapSet",
    "Validation",
    "WeakSegments",
    "challenge",
    "evaluate",
    "evaluate_groups",
    "monitor",
    "validate",
    "weak_segments",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
