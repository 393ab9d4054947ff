"""Optimism of the apparent performance, and instability of the predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._report._pictures import Picture
from treerank.scoring._plain import known
from treerank.scoring._validation import Validation

MAX_ROWS = 60  # whose limits are drawn


def validation_part(found: Validation | None, level: float) -> dict[str, Any] | None:
    """Table of optimism and picture of instability; None without a validation."""
    if found is None:
        return None
    table = found.columns()
    columns = [name for name in table if name != "measure"]
    return {
        "n_boot": found.n_boot,
        "rows": [
            {"measure": name} | {c: known(table[c][k]) for c in columns}
            for k, name in enumerate(found.names)
        ],
        "what": "probability" if found.is_probability else "score",
        "mape": float(found.mape.mean()),
        "picture": _picture(found, level),
    }


def _picture(found: Validation, level: float) -> Picture:
    """Draw limits of the bootstrap predictions, for rows spread over the ranking."""
    order = np.argsort(found.prediction, kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, MAX_ROWS).astype(np.intp))]
    lower, upper = (limit[shown] for limit in found.limits(level))
    own = found.prediction[shown]
    low, high = float(min(lower.min(), own.min())), float(max(upper.max(), own.max()))
    if found.is_probability:
        low, high = 0.0, min(1.0, 1.05 * high)
    what = "probability" if found.is_probability else "score"
    picture = Picture(
        f"Instability: {what} by models of bootstrap samples against that of the model",
        f"predicted {what}",
        f"{what} by bootstrap models",
        x_range=(low, high),
        y_range=(low, high),
    )
    picture.line([low, high], [low, high], "chance")
    picture.whiskers(own, lower, upper)
    return picture
