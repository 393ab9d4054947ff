"""How well a model ranks labelled rows: AUC, or VUS for more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._input.label_order import class_codes, label_order_of
from treerank._input.types import FittedClassifier, FittedRanker


def measure_of(model: FittedClassifier) -> str:
    """Return the name of the measure."""
    return "AUC" if len(model.classes_) == 2 else "VUS"


def interval_of(model: FittedClassifier, labels: Any, scores: Any, weights: Any) -> Any:
    """Return the measure of the scores, with its interval."""
    from treerank.metrics import auc_interval, vus_interval  # noqa: PLC0415 (slow to import)

    measure: Any = auc_interval if len(model.classes_) == 2 else vus_interval
    return measure(class_codes(labels, label_order_of(model)), scores, sample_weight=weights)


def format_interval(measure: str, found: Any) -> str:
    """Format a measure with its interval."""
    value = getattr(found, measure.lower())
    return f"{value:.3f} ({found.level:.0%} interval {found.lower:.3f} to {found.upper:.3f})"


def quality_of(model: FittedRanker, rows: Any) -> dict[str, Any]:
    """Return the quality on labelled rows, and the number of rows of each class, for JSON."""
    measure, classes = measure_of(model).lower(), label_order_of(model)
    found = interval_of(model, rows.labels, model.score_samples(rows.features), rows.weights)
    return {
        "rows": len(rows.labels),
        "classes": classes,
        "counts": {str(label): int(np.sum(rows.labels == label)) for label in classes},
        measure: getattr(found, measure),
        "lower": found.lower,
        "upper": found.upper,
        "level": found.level,
    }
