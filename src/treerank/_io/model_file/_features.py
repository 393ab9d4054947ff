"""Store features in model files: names, thresholds and levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import MAX_LEVELS, UINT8_BINS, UINT16_BINS, Binning
from treerank._input.categories import SharedLevels, flat_levels
from treerank._input.columns import is_missing
from treerank._input.validation import feature_names
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._values import (
    SCALARS,
    pack_classes,
    pack_value,
    unpack_classes,
    unpack_value,
)

MAX_FEATURES = 65_535
INPUT = ("features", "binning", "classes")  # fields of `pack_input`


def pack_names(model: Any, names: list[str] | None = None) -> dict[str, Any]:
    """Return the names of the features, and whether the estimator was fitted to names."""
    named = hasattr(model, "feature_names_in_")
    return {"named": named, "names": feature_names(model) if names is None else names}


def unpack_names(node: Node, model: Any) -> list[str]:
    """Set the number and names of the features; return the names used in rules."""
    fields = node.fields("named", "names")
    names = [item.text() for item in fields["names"].items()]
    if not 1 <= len(names) <= MAX_FEATURES:
        raise node.error(f"1 to {MAX_FEATURES} names")
    model.n_features_in_ = len(names)
    if fields["named"].flag():
        if len(set(names)) < len(names):
            raise fields["names"].error("names that differ")
        model.feature_names_in_ = np.array(names, dtype=object)
    return names


def pack_input(model: Any, names: list[str] | None = None) -> dict[str, Any]:
    """Return what a model needs to know of its input: features, binning and classes."""
    return {
        "features": pack_names(model, names),
        "binning": _pack_binning(model._binning),
        "classes": pack_classes(model.label_order_),
    }


def unpack_input(fields: dict[str, Node], model: Any) -> list[str]:
    """Reverse of `pack_input`; return the names used in rules."""
    names = unpack_names(fields["features"], model)
    model._binning = _unpack_binning(fields["binning"], len(names))
    model.label_order_ = unpack_classes(fields["classes"])
    return names


def _pack_binning(binning: Binning) -> list[dict[str, Any]]:
    """One object per feature."""
    packed: list[dict[str, Any]] = []
    for thresholds, levels, missing in zip(
        binning.thresholds, binning.levels, binning.has_missing, strict=True
    ):
        if levels is None:
            packed.append({"kind": "number", "thresholds": thresholds, "missing": bool(missing)})
        else:
            packed.append({"kind": "category", **_pack_levels(levels), "missing": bool(missing)})
    return packed


def _unpack_binning(node: Node, n_features: int) -> Binning:
    """Reverse of `_pack_binning`."""
    items = node.items()
    if len(items) != n_features:
        raise node.error(f"{n_features} features")
    thresholds: list[NDArray[np.float64]] = []
    levels: list[list[Any] | None] = []
    missing = []
    for item in items:
        fields = item.fields("kind", "missing", optional=("thresholds", "levels", "shared"))
        if fields["kind"].choice("number", "category") == "number":
            fields = item.fields("kind", "missing", "thresholds")
            thresholds.append(_thresholds(fields["thresholds"]))
            levels.append(None)
        else:
            fields = item.fields("kind", "missing", "levels", optional=("shared",))
            thresholds.append(np.empty(0))
            levels.append(_levels(fields["levels"], fields.get("shared")))
        missing.append(fields["missing"].flag())
    binning = Binning(thresholds, levels, np.dtype(np.uint16), np.array(missing, dtype=bool))
    if int(binning.n_codes.max()) <= UINT8_BINS + 1:
        return Binning(thresholds, levels, np.dtype(np.uint8), binning.has_missing)
    return binning


def _thresholds(node: Node) -> NDArray[np.float64]:
    thresholds = node.array("<f8", (None,))
    if len(thresholds) >= UINT16_BINS or not (np.diff(thresholds) > 0).all():
        raise node.error(f"fewer than {UINT16_BINS} thresholds, ascending")
    return thresholds


def _pack_levels(levels: list[Any]) -> dict[str, Any]:
    """Return the levels by code, and which entries are tuples of levels that share a code.

    If only the last entry can be one, as for categories that are split by sets, a tuple in the
    last position means shared levels, without a field `shared`: files of earlier versions have
    no such field.
    """
    said = [pack_value(level, "a level of a category") for level in levels]
    shared = [i for i, level in enumerate(levels) if isinstance(level, SharedLevels)]
    if any(i < len(levels) - 1 for i in shared):
        return {"levels": said, "shared": shared}
    if levels and isinstance(levels[-1], tuple) and not shared:
        said[-1] = {"tuple": [said[-1]]}
    return {"levels": said}


def _levels(node: Node, shared: Node | None) -> list[Any]:
    """Reverse of `_pack_levels`."""
    levels = [unpack_value(item) for item in node.items()]
    if len(levels) > MAX_LEVELS:
        raise node.error(f"at most {MAX_LEVELS} levels")
    if shared is not None:
        for item in shared.items():
            place = item.integer(0, len(levels) - 1)
            if not isinstance(levels[place], tuple) or len(levels[place]) < 2:
                raise item.error("the place of a tuple of levels")
            levels[place] = SharedLevels(levels[place])
    elif levels and isinstance(levels[-1], tuple):
        several = len(levels[-1]) > 1
        levels[-1:] = [SharedLevels(levels[-1])] if several else levels[-1]
    single = flat_levels(levels)
    if not all(map(_is_level, single)) or len(set(single)) < len(single):
        raise node.error("levels that are numbers, text, booleans or tuples, all different")
    return levels


def _is_level(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(part is None or _is_level(part) for part in value)
    return type(value) in SCALARS and not is_missing(value)
