"""From a score to a decision: grades, points, probabilities, and whether they will hold."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treerank.scoring._grades import Grades

__all__ = ["Grades"]

# Imported when they are asked for: model files need one of them, and no other.
_HOME = {"Grades": "_grades"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
