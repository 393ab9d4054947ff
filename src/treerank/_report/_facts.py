"""Facts needed to check or reproduce a report: model, data, versions, seed, parameters."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier
from treerank._report._pictures import short_name
from treerank._report._sample import ScoredRows

LIBRARIES = ("treerank-ml", "scikit-learn", "numpy", "scipy")
MAX_TEXT = 200


def facts(
    model: FittedClassifier, sample: ScoredRows, training: ScoredRows | None
) -> dict[str, Any]:
    """Collect the facts about the model and its rows."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    usual = _defaults(model)
    rows = [
        {"name": name, "value": _short(value), "is_usual": _same(value, usual.get(name))}
        for name, value in sorted(parameters.items())
    ]
    totals = sample.totals(len(model.classes_))
    return {
        "model": type(model).__name__,
        "classes": [str(label) for label in label_order_of(model)],
        "rows": len(sample.code),
        "columns": len(sample.table.names),
        "totals": totals.tolist(),
        "is_weighted": sample.is_weighted,
        "fingerprint": sample.fingerprint,
        "training_rows": None if training is None else len(training.code),
        "training_fingerprint": None if training is None else training.fingerprint,
        "versions": [("Python", platform.python_version())]
        + [(name, version(name)) for name in LIBRARIES],
        "seed": _seed(model, parameters),
        "changed": [row for row in rows if not row["is_usual"]],
        "unchanged": [row for row in rows if row["is_usual"]],
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "oob_auc": getattr(model, "oob_auc_", None),
        "oob_interval": getattr(model, "oob_auc_interval_", None),
    }


def _seed(model: FittedClassifier, parameters: dict[str, Any]) -> str:
    if "random_state" not in parameters:
        return "none: this model draws nothing"
    given = parameters["random_state"]
    if given is None and type(model).__module__.startswith("treerank."):
        return "None, which means 0"
    return _short(given)


def _defaults(model: Any) -> dict[str, Any]:
    try:
        return dict(type(model)().get_params(deep=False))
    except TypeError:  # the constructor needs arguments
        return {}


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and _short(a) == _short(b)


def _short(value: Any) -> str:
    return short_name(repr(value), MAX_TEXT)
