"""Access to models for commands, without importing scikit-learn before one is loaded."""

from __future__ import annotations

from typing import Any

from treerank._input.types import FittedClassifier


def unwrap(model: FittedClassifier) -> tuple[Any, Any]:
    """Return the ranking model, and the scorecard around it or None."""
    from treerank.scoring._scorecard import unwrap as taken_apart  # noqa: PLC0415

    return taken_apart(model)
