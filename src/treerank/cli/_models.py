"""Access to models for commands, without importing scikit-learn before one is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import treerank
from treerank._input.types import FittedClassifier


def load_model(path: Path, threads: int) -> tuple[Any, Any]:
    """Load a model that is to score rows; return it, and the ranking model in it."""
    loaded = treerank.load(path)
    ranker, _ = unwrap(loaded)
    if hasattr(ranker, "n_jobs"):
        ranker.set_params(n_jobs=threads)
    return loaded, ranker


def unwrap(model: FittedClassifier) -> tuple[Any, Any]:
    """Return the ranking model, and the scorecard around it or None."""
    from treerank.scoring._scorecard import unwrap as taken_apart  # noqa: PLC0415

    return taken_apart(model)
