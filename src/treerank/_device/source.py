"""Source text of the kernels, and their names."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

# In order of dependency. First the files that grow LeafRank trees.
GROWTH_PARTS = (
    "types", "random", "gain", "cuts", "levels", "children", "grow_mid", "grow_large", "grow_tiny",
)  # fmt: skip
OTHER_PARTS = (
    "cells", "score", "gradients", "count_gradients", "newton", "numbers", "rows",
)  # fmt: skip
# Files that the core includes too, so that results are bitwise equal. They come after the types.
SHARED = ("random", "gain", "level_evidence", "newton", "sigmoid")
GROWTH_KERNELS = (
    "draw_large", "count_large", "search_large", "partition_large", "open_large", "gather_codes",
    "number_gathered", "grow_mid", "grow_tiny",
)  # fmt: skip
OTHER_KERNELS = (
    "pack_rows", "place_trials", "partition_cells", "weigh_trials", "weigh_classes", "transpose",
    "score_rows", "largest_derivatives", "extreme_scores", "round_derivatives", "number_rows",
    "clear_gradients", "count_gradients", "subtract_gradients", "partition_boosted", "move_rows",
    "add_steps", "square_gradients", "search_gradients", "survey_numbers", "gather_numbers",
    "encode_numbers", "hash_rows", "take_rows", "weigh_held_out",
)  # fmt: skip


class Program(NamedTuple):
    """The kernels for one type of code, with or without weights.

    A plain program can only grow trees without categories, constraints and random cuts, by the
    Gini criterion.
    """

    code_bytes: int
    wide: bool = False
    plain: bool = False

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return GROWTH_KERNELS if self.plain else GROWTH_KERNELS + OTHER_KERNELS

    @property
    def definitions(self) -> dict[str, str]:
        """Macros that the text expects to be defined."""
        code = {1: "u8", 2: "u16"}[self.code_bytes]
        return {"CODE": code, "WIDE": str(int(self.wide)), "PLAIN": str(int(self.plain))}

    @property
    def text(self) -> str:
        """Source text of the kernels."""
        return _text(GROWTH_PARTS if self.plain else GROWTH_PARTS + OTHER_PARTS)


@cache
def _text(parts: tuple[str, ...]) -> str:
    folder = files("treerank._device") / "kernels"
    types, *others = (folder / f"{part}.cuh" for part in parts)
    shared = (folder / "shared" / f"{part}.hpp" for part in SHARED)
    return "\n".join(text.read_text(encoding="utf-8") for text in (types, *shared, *others))
