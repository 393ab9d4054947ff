"""The forests of the paper "Ranking forests", under the names used there."""

from __future__ import annotations

from typing import Any

from treerank._growth.splitter_choice import with_max_features
from treerank._input.parameters import check_choice
from treerank._leafrank import LeafRank

# Features drawn for a cell of the master tree, and for a node of the LeafRank tree inside it.
PRESETS: dict[str, tuple[Any, Any]] = {
    "bagging": (None, None),
    "rf1": (0.25, None),
    "rf2": (1, None),
    "rf3": (None, 0.25),
    "rf4": (None, 1),
    "rf5": (0.5, 0.25),
    "rf6": (0.25, 1),
}


def preset_settings(name: str, splitter: Any) -> tuple[Any, dict[str, Any]]:
    """Return the splitter and the other parameters of a preset."""
    check_choice("name", name, list(PRESETS))
    outer, inner = PRESETS[name]
    splitter = with_max_features(LeafRank(max_depth=6) if splitter is None else splitter, inner)
    settings = {
        "n_estimators": 50,
        "max_depth": 8,
        "max_features": outer,
        "aggregation": "mean_rank",
        "random_cut_share": 0.0 if isinstance(splitter, LeafRank) else "auto",
    }
    return splitter, settings
