"""From a score to a decision: grades, points, probabilities, and whether they will hold."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treerank.scoring._calibrator import Calibrator
    from treerank.scoring._grades import Grades
    from treerank.scoring._points import Points
    from treerank.scoring._scorecard import Scorecard
    from treerank.scoring._validation import Validation, validate
    from treerank.scoring.evaluation import Evaluation, evaluate

# Imported when they are asked for: model files need some of them, and no others.
_HOME = {
    "Calibrator": "_calibrator",
    "Evaluation": "evaluation",
    "Grades": "_grades",
    "Points": "_points",
    "Scorecard": "_scorecard",
    "Validation": "_validation",
    "evaluate": "evaluation",
    "validate": "_validation",
}
__all__ = [
    "Calibrator",
    "Evaluation",
    "Grades",
    "Points",
    "Scorecard",
    "Validation",
    "evaluate",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
