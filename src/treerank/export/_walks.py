"""The common source of all exports: the walks of a fitted model, as plain columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._base import TreeRanker
from treerank._binning.binning import Binning
from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank._input.categories import SharedLevels
from treerank._input.types import FittedClassifier, Floats, Ints
from treerank._input.validation import feature_names
from treerank._io.model_file._forests import END, IN_SET, MISSING_GOES_LEFT, pack_trees
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import RankTree, as_bytes

MAX_CODES = 256
MANY_TREES = RankingForest | BoostedTreeRank


@dataclass(frozen=True)
class Walks:
    """Trees as slots that are numbered consecutively; a walk starts at each of `roots`.

    A slot tests whether its feature is at most `threshold` (true for missing values if the kind
    is MISSING_GOES_LEFT), or whether its code is in a set. If so, the next slot is `follows`,
    otherwise the one after that; the end of a walk leads to itself. `step` is added on arrival
    at a slot. The score is the sum over the trees, divided by `divisor`, minus `offset`. For a
    forest with more than two classes, the means of `layers` are the shares above each class but
    the last.
    """

    names: list[str]
    binning: Binning
    roots: Ints
    kind: NDArray[np.uint8]
    feature: Ints
    threshold: Floats
    follows: Ints
    set_of: Ints  # -1 for a number
    members: NDArray[np.bool_]  # sets x codes
    step: NDArray[Any]  # float32 in a forest, which adds in single precision
    divisor: float  # the number of trees; 1 if they are summed (boosting)
    offset: float
    target: NDArray[np.int32] | None  # for a tree: the stratum at the end of a walk
    layers: NDArray[np.float32]  # cuts x slots; none for two classes, ranks, or one tree

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def used_features(self) -> Ints:
        """Features that the trees test."""
        return np.unique(self.feature[self.kind != END])

    def with_distinct_sets(self) -> Walks:
        """Return the same trees, with sets of the same codes stored once."""
        in_set = self.kind == IN_SET
        if not in_set.any():
            return self
        members, number = np.unique(self.members, axis=0, return_inverse=True)
        set_of = np.where(in_set, number[np.where(in_set, self.set_of, 0)], -1)
        return replace(self, members=members, set_of=set_of)

    @cached_property
    def depth(self) -> int:
        """Length of the longest walk."""
        at, steps = self.roots, 0
        while True:
            at = at[self.kind[at] != END]
            if len(at) == 0:
                return steps
            at = np.unique(np.concatenate([self.follows[at], self.follows[at] + 1]))
            steps += 1


def check_exportable(model: FittedClassifier) -> None:
    """Raise unless the model is a fitted tree, forest or boosted model of LeafRank tests."""
    if isinstance(model, TreeRanker | MANY_TREES):
        check_is_fitted(model, "classes_")
    is_tree = isinstance(getattr(model, "tree_", None), RankTree)
    if not is_tree and not isinstance(model, MANY_TREES):
        raise TypeError(
            f"Got a {type(model).__name__}; expected a TreeRank or LeafRank whose cells LeafRank "
            "splits, a RankingForest or a BoostedTreeRank."
        )


def walks_of(model: Any) -> Walks:
    """Return the walks of a tree, a forest or boosted trees."""
    check_exportable(model)
    if isinstance(model, BoostedTreeRank):
        return _walks_of_boosted(model)
    return _walks_of_forest(model) if isinstance(model, RankingForest) else _walks_of_tree(model)


def _column_names(model: Any) -> list[str]:
    """Return the names of the columns, those that rules use if there are any."""
    if isinstance(model, TreeRanker):
        rules: Any = model.partition_._rules
        return list(rules.names)
    return feature_names(model)


def _walks_of_forest(model: RankingForest) -> Walks:
    kind = "posterior" if model._ranks is None else model._ranks.kind
    if kind not in ("posterior", "mean_rank"):
        raise ValueError(
            f"Got a forest with aggregation={kind!r}; expected 'posterior' or 'mean_rank': other "
            "consensus rankings are not a sum over the trees."
        )
    if not isinstance(model._trees, ForestArrays):
        raise ValueError(
            "Got a forest whose cells are split by Python objects; expected LeafRank, whose tests "
            "can be written down."
        )
    offset = 0.5 if model._ranks is None else model._ranks.cut
    return _walks(model, model._trees, model._trees.step, offset, None)


def _walks_of_boosted(model: BoostedTreeRank) -> Walks:
    if model._trees is None:
        raise ValueError(
            "Got a BoostedTreeRank without trees, which gives all rows the same score; expected "
            "one that has learned something."
        )
    return _walks(model, model._trees, model._trees.step, -model._start, None)


def _walks_of_tree(model: TreeRanker) -> Walks:
    tree = model.tree_
    assert isinstance(tree, RankTree)
    slots, target = tree.flat
    ends = np.asarray(target)
    arrays = ForestArrays(
        starts=np.array([0, len(target)], dtype=np.int64),
        slots=np.asarray(slots),
        step=np.zeros(len(target), dtype=np.float32),
        weight=None,
        set_of=ends if len(tree.category_sets) else np.empty(0, dtype=np.int32),
        category_sets=as_bytes(tree.category_sets),
        importance=np.zeros((1, model.n_features_in_)),
        at_end=np.ones(1, dtype=np.uint8),
    )
    is_end = pack_trees(arrays)["kind"] == END
    stratum = np.where(is_end, model._stratum[np.where(is_end, ends, 0)], -1)
    scores = np.where(is_end, model.partition_.scores[np.maximum(stratum, 0)], 0.0)
    return _walks(model, arrays, scores, 0.0, stratum.astype(np.int32))


def _walks(
    model: Any, trees: ForestArrays, step: NDArray[Any], offset: float, target: Any
) -> Walks:
    packed, binning = pack_trees(trees), model._binning
    kind = packed["kind"]
    sizes = np.diff(trees.starts)
    start = np.repeat(trees.starts[:-1], sizes)
    # If only the end of a walk counts, the steps before it add nothing.
    counts = (kind == END) | np.repeat(trees.at_end == 0, sizes)
    feature = packed["feature"].astype(np.int64)
    bits = np.unpackbits(packed["category_sets"].view(np.uint8), axis=1, bitorder="little")
    set_of = packed["set"].astype(np.int64)
    if len(set_of) == 0:
        set_of = np.full(len(kind), -1, dtype=np.int64)
    layers = np.empty((0, len(kind)), dtype=np.float32)
    if trees.layers is not None:
        layers = np.where(counts, trees.layers, 0).astype(np.float32)
    return Walks(
        names=_column_names(model),
        binning=binning,
        roots=np.asarray(trees.starts[:-1], dtype=np.int64),
        kind=kind,
        feature=feature,
        threshold=_thresholds(binning, kind, feature, packed["cut"].astype(np.int64)),
        follows=packed["next"].astype(np.int64) + start,
        set_of=np.where(kind == IN_SET, set_of, -1),
        members=bits.reshape(-1, MAX_CODES).astype(bool),
        step=np.where(counts, step, 0).astype(step.dtype),
        divisor=1.0 if isinstance(model, BoostedTreeRank) else float(len(sizes)),
        offset=float(offset),
        target=target,
        layers=layers,
    )


def _thresholds(binning: Binning, kind: NDArray[np.uint8], feature: Ints, cut: Ints) -> Floats:
    """Largest value that goes left; infinite if a cut separates missing from known values."""
    size = np.array([len(t) for t in binning.thresholds], dtype=np.int64)
    start = np.cumsum(size) - size
    every = np.concatenate([*binning.thresholds, np.zeros(1)])
    place = np.clip(start[feature] + cut - 1, 0, len(every) - 1)
    inner = (cut >= 1) & (cut <= size[feature])
    values = np.where(inner, every[place], np.where(cut < 1, -np.inf, np.inf))
    return np.where((kind == END) | (kind == IN_SET), np.inf, values)


def level_kind(levels: list[Any], name: str) -> str:
    """Whether levels are text, booleans or numbers; raise if text is mixed with others."""
    members = [m for level in levels for m in members_of(level)]
    odd = next((m for m in members if not isinstance(m, str | bool | Real)), None)
    if odd is not None:
        raise ValueError(
            f"Got levels such as {odd!r} in column {name!r}; expected text, numbers or booleans, "
            "as a column of a database or of ONNX has. Fit to the column as text."
        )
    kinds = {
        "text" if isinstance(m, str) else "boolean" if isinstance(m, bool) else "number"
        for m in members
    }
    if kinds == {"boolean", "number"}:
        kinds = {"number"}
    if len(kinds) > 1:
        raise ValueError(
            f"Got text and numbers among the levels of column {name!r}; expected one kind, for a "
            "column of a database or of ONNX has one type. Fit to the column as text."
        )
    return kinds.pop() if kinds else "text"


def members_of(level: Any) -> tuple[Any, ...]:
    """Return the levels that share the code of a level."""
    return level if isinstance(level, SharedLevels) else (level,)


__all__ = [
    "END", "IN_SET", "MANY_TREES", "MISSING_GOES_LEFT", "Walks", "check_exportable",
    "level_kind", "members_of", "walks_of",
]  # fmt: skip
