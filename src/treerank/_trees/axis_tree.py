"""A common representation of axis-parallel trees from any source, for geometric ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._input.categories import SharedLevels
from treerank._trees.ranking_tree import as_bytes

# Same layout as the struct of the core (src/core/geometric/geometric.hpp).
NODE = np.dtype(
    [
        ("threshold", "<f8"), ("left", "<i4"), ("right", "<i4"), ("feature", "<i4"),
        ("category_set", "<i4"), ("leaf", "<i4"), ("missing_left", "u1"), ("known", "u1"),
        ("unused", "<u2"),
    ]
)  # fmt: skip
NO_SETS = np.empty((0, 4), dtype=np.uint64)

# Leaves of a LeafRank tree that lead to the same cell share the subtree below it. Expanded into a
# tree, they may give a very large number of boxes.
MAX_NODES = 4_000_000

Levels = list[list[Any] | None]
# As the last level of a feature, stands for all levels that are not listed.
ANY_OTHER = SharedLevels()


@dataclass
class Side:
    """The values of a feature in a box: low < x <= high or a set of codes; and maybe missing."""

    low: float = -np.inf
    high: float = np.inf
    codes: frozenset[int] | None = None
    missing: bool = True


@dataclass(frozen=True)
class AxisTree:
    """A classification tree in which every test uses one feature.

    Parameters
    ----------
    nodes : array of NODE records
        In preorder, without empty boxes. Left if ``x <= threshold``, or if the code of the
        level is in the category set.
    category_sets : array of shape (n_sets, 4), uint64
        Codes that go left, one bit per code.
    counts : array of shape (n_leaves, n_classes) or None
        Training weight of each class in each leaf; None if the source does not provide it.
    predicted : array of shape (n_leaves,)
        Index of the class that each leaf predicts.
    classes : array of shape (n_classes,)
    levels : list
        For each feature, its levels by code (from 1), or None if it is numeric.
    single_precision : bool
        Whether the tree converts rows to float32, as scikit-learn's trees do.
    takes_missing : bool
        Whether the tree defines where missing values go.
    """

    nodes: NDArray[Any]
    category_sets: NDArray[np.uint64]
    counts: NDArray[np.float64] | None
    predicted: NDArray[np.intp]
    classes: NDArray[Any]
    levels: Levels
    single_precision: bool
    takes_missing: bool

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.levels)

    def see(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows in the precision of the tree; raise if it cannot handle them."""
        if not self.takes_missing and np.isnan(rows).any():
            row, feature = np.argwhere(np.isnan(rows))[0].tolist()
            raise ValueError(
                f"Got NaN, a missing value or an unknown level (first: row {row}, feature "
                f"{feature}); expected none: the tree does not say where to send it."
            )
        if not self.single_precision:
            return np.ascontiguousarray(rows)
        with np.errstate(over="ignore"):
            seen = rows.astype(np.float32).astype(np.float64, order="C")
        if np.isinf(seen).any():
            raise ValueError("Input X contains a value too large for dtype('float32').")
        return seen

    def find_boundary(
        self,
        seen: NDArray[np.float64],
        scale: NDArray[np.float64],
        interest: NDArray[np.bool_],
        n_jobs: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """Return each row's leaf, and the distance and node of the nearest box decided otherwise.

        `interest` tells for each leaf whether it predicts the class of interest.
        """
        return _core.find_boundary(
            as_bytes(self.nodes), as_bytes(self.category_sets), interest.astype(np.uint8), seen,
            scale, n_jobs,
        )  # fmt: skip

    def apply(self, seen: NDArray[np.float64], n_jobs: int) -> NDArray[np.int32]:
        """Return the leaf of each row."""
        nowhere = np.zeros(len(self.predicted), dtype=bool)  # no boundary to search for
        return self.find_boundary(seen, np.ones(self.n_features), nowhere, n_jobs)[0]

    def reached_leaves(self) -> NDArray[np.int32]:
        """Return the leaves that rows without missing values can reach."""
        known = (self.nodes["left"] < 0) & (self.nodes["known"] == 1)
        return np.unique(self.nodes["leaf"][known])

    def box(self, node: int) -> dict[int, Side]:
        """Return the values of each tested feature in the box of a node."""
        box: dict[int, Side] = {}
        while node > 0:
            parent = int(self._parents[node])
            test = self.nodes[parent]
            feature, left = int(test["feature"]), bool(test["left"] == node)
            side = box.setdefault(feature, Side())
            side.missing &= bool(test["missing_left"]) == left
            if test["category_set"] >= 0:
                codes = self._codes(int(test["category_set"]), feature, left)
                side.codes = codes if side.codes is None else side.codes & codes
            elif left:
                side.high = min(side.high, float(test["threshold"]))
            else:
                side.low = max(side.low, float(test["threshold"]))
            node = parent
        return box

    @cached_property
    def _parents(self) -> NDArray[np.intp]:
        parents = np.full(len(self.nodes), -1)
        inner = np.flatnonzero(self.nodes["left"] >= 0)
        parents[self.nodes["left"][inner]] = inner
        parents[self.nodes["right"][inner]] = inner
        return parents

    def _codes(self, number: int, feature: int, left: bool) -> frozenset[int]:
        """Return the codes that a categorical test sends to one side."""
        levels = self.levels[feature]
        assert levels is not None
        words = [int(word) for word in self.category_sets[number]]
        return frozenset(
            code
            for code in range(1, len(levels) + 1)
            if (words[code >> 6] >> (code & 63) & 1 == 1) == left
        )


def build_axis_tree(
    nodes: NDArray[Any],
    category_sets: NDArray[np.uint64],
    levels: Levels,
    *,
    max_nodes: int | None = None,
    **facts: Any,
) -> AxisTree:
    """Expand a graph of tests into a tree, without empty boxes and with shared nodes duplicated.

    `facts` are the other fields of `AxisTree`.
    """
    limit = MAX_NODES if max_nodes is None else min(max_nodes, MAX_NODES)
    n_codes = [0 if known is None else len(known) + 1 for known in levels]
    largest = max(n_codes, default=0)
    if largest > _core.MAX_CATEGORY_CODES:
        raise ValueError(
            f"Got a tree with a feature of {largest - 1} levels; expected at most "
            f"{_core.MAX_CATEGORY_CODES - 1}."
        )
    try:
        records: Any = _core.expand_boxes(
            as_bytes(nodes), as_bytes(category_sets), np.array(n_codes, dtype=np.int32), limit
        )
    except ValueError as error:
        hint = ""
        if "too many boxes" in str(error):
            hint = f" (more than {limit:,} nodes); use a LeafRank of smaller max_depth"
        raise ValueError(f"Got a tree that cannot be used: {error}{hint}.") from None
    return AxisTree(records.view(NODE).ravel(), category_sets, levels=levels, **facts)


def new_nodes(n_nodes: int) -> NDArray[Any]:
    """Return records of leaves without an index, to be filled in."""
    nodes = np.zeros(n_nodes, dtype=NODE)
    for name in ("left", "right", "feature", "category_set", "leaf"):
        nodes[name] = -1
    return nodes
