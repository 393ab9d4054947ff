"""The kernels as one text, and what of it a host must know."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

# In this order: what is used comes before what uses it.
PARTS = (
    "types", "random", "gain", "cuts", "levels", "children", "grow_mid", "grow_large", "grow_tiny",
    "cells", "score", "gradients", "count_gradients", "newton", "numbers", "rows",
)  # fmt: skip
# What the core includes too, so that it has the same bits; it comes after the types.
SHARED = ("random", "gain", "level_evidence", "newton", "sigmoid")
KERNELS = (
    "draw_large", "count_large", "search_large", "partition_large", "open_large", "gather_codes",
    "number_gathered", "grow_mid", "grow_tiny", "pack_rows", "place_trials", "partition_cells",
    "weigh_trials", "weigh_classes", "transpose", "score_rows", "largest_derivatives",
    "extreme_scores", "round_derivatives", "number_rows", "clear_gradients", "count_gradients",
    "subtract_gradients", "partition_boosted", "move_rows", "add_steps", "square_gradients",
    "search_gradients", "survey_numbers", "gather_numbers", "encode_numbers",
    "hash_rows", "take_rows", "weigh_held_out",
)  # fmt: skip


@cache
def source() -> str:
    """Text of all kernels."""
    folder = files("treerank._device") / "kernels"
    types, *parts = (folder / f"{part}.cuh" for part in PARTS)
    shared = (folder / "shared" / f"{part}.hpp" for part in SHARED)
    return "\n".join(text.read_text(encoding="utf-8") for text in (types, *shared, *parts))


def definitions(code_bytes: int, wide: bool) -> dict[str, str]:
    """Words that the text leaves open: the type of a code, and whether rows have weights."""
    return {"CODE": {1: "u8", 2: "u16"}[code_bytes], "WIDE": str(int(wide))}
