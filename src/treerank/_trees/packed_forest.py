"""The trees of a forest as concatenated fixed-width arrays, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Codes
from treerank._device.codes import DeviceCodes
from treerank._device.device import Device
from treerank._device.scoring import PackedTrees, score_on_device, score_there
from treerank._input.weighted_sum import weighted_sum


@dataclass(frozen=True)
class Sampling:
    """How the rows of a tree are drawn; if `n_draws` is 0, each tree uses every row once."""

    replace: bool
    n_draws: int
    seed: int

    def leaves_rows_out(self, n_rows: int) -> bool:
        """Whether trees have out-of-bag rows."""
        return self.n_draws > 0 and (self.replace or self.n_draws < n_rows)

    def design_effect(self, n_rows: int) -> float:
        """Rows of a tree per independent row: rows drawn repeatedly add no information."""
        return 1.0 + (self.n_draws - 1) / n_rows if self.replace and self.n_draws > 0 else 1.0

    def counts(self, tree: int, n_rows: int) -> NDArray[np.uint8]:
        """Return how often each row was drawn for a tree."""
        return self.some_counts(tree, n_rows, 0, n_rows)

    def some_counts(self, tree: int, n_all: int, first: int, n: int) -> NDArray[np.uint8]:
        """Return how often each of the rows ``first, ..., first + n - 1`` was drawn for a tree."""
        return np.asarray(_core.draw_counts(vars(self), tree, n_all, first, n))


@dataclass(frozen=True)
class ForestArrays:
    """Packed trees: tree t consists of the slots ``starts[t]:starts[t + 1]``.

    A slot has eight bytes: the next slot, and the feature and cut of its test. A row that reaches
    slot s adds ``step[s] / (1 + shrinkage / weight[s])`` to its value. Once the shrinkage has been
    chosen, `bake_shrinkage` combines `step` and `weight` into one number. If every slot of a tree
    can be reached in one way only, the end of a walk then has the whole value (`at_end`).
    """

    starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    step: NDArray[np.float32]
    weight: Any  # float32; None once the shrinkage is baked in
    set_of: NDArray[np.int32]
    category_sets: NDArray[np.uint8]
    importance: NDArray[np.float64]  # trees x features
    at_end: Any = None  # uint8, one per tree; None until the shrinkage is baked in
    # float32, one per slot: share of the training weight that its test sends left, needed for
    # attributions. None in files written by versions that did not store it.
    left_share: Any = None
    # Steps of the share above each class but the last (layers x slots); `step` is their mean,
    # weighted by `cut_weights`. None for two classes, where `step` is the only layer.
    layers: Any = None
    cut_weights: Any = None
    # With monotone constraints, shrinkage is part of pooling the strata: the steps for every
    # shrinkage (shrinkages x layers x slots) are stored until one is chosen.
    steps: Any = None
    shrinkages: tuple[float, ...] = ()

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(v.nbytes for v in vars(self).values() if hasattr(v, "nbytes"))

    def size(self, tree: int) -> str:
        """Describe the size of a tree."""
        return f"{self.starts[tree + 1] - self.starts[tree]} slots"

    def bake_shrinkage(self, shrinkage: float, scale: float = 1.0, n_jobs: int = 1) -> ForestArrays:
        """Combine `step` and `weight` into one number per slot, for the given shrinkage.

        Steps are multiplied by `scale`, except for the share at the root, where every walk starts.
        """
        if self.steps is not None:
            return self._at_shrinkage(shrinkage).bake_shrinkage(0.0, scale, n_jobs)

        def folded(step: NDArray[np.float32]) -> Any:
            return _core.bake_shrinkage(
                self.starts, self.slots, step, self.weight, self.set_of,
                self.category_sets, float(shrinkage), float(scale), n_jobs,
            )  # fmt: skip

        layers = self.layers
        if layers is not None:
            layers = np.array([folded(np.ascontiguousarray(layer))[0] for layer in layers])
        step, at_end = folded(self.step)
        return replace(self, step=step, layers=layers, weight=None, at_end=at_end)

    def _at_shrinkage(self, shrinkage: float) -> ForestArrays:
        """Return the same trees with the steps for one shrinkage only."""
        steps = self.steps[self.shrinkages.index(shrinkage)]
        return replace(self, steps=None, shrinkages=(), **_layered(steps, self.cut_weights))

    def _folded(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        return self.starts, self.slots, self.step, self.set_of, self.category_sets, self.at_end

    def mean(self, codes: Codes, n_jobs: int, device: Device | None = None) -> NDArray[np.float64]:
        """Return the mean value of each row over the trees."""
        return self.total(codes, n_jobs, device) / self.n_trees

    def total(
        self, codes: Codes | DeviceCodes, n_jobs: int, device: Device | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of each row's values over the trees; on the CPU if `device` is None."""
        if isinstance(codes, DeviceCodes):
            assert device is not None
            return score_there(device, self.packed, codes)
        if device is not None:
            return score_on_device(device, self.packed, codes)
        return np.asarray(_core.score_forest(*self._folded(), codes, n_jobs))

    @property
    def packed(self) -> PackedTrees:
        """The trees in the form that a device takes."""
        return PackedTrees(*self._folded())

    def upper_shares(self, codes: Codes, n_jobs: int) -> NDArray[np.float64]:
        """Return the mean share above each class but the last: rows x (classes - 1)."""
        layers = [self.step] if self.layers is None else self.layers
        means = [replace(self, step=np.ascontiguousarray(layer)).mean(codes, n_jobs)
                 for layer in layers]  # fmt: skip
        return np.column_stack(means)

    def each(self, codes: Codes, n_jobs: int) -> NDArray[np.float32]:
        """Return the value of each row in each tree: trees x rows."""
        flat = _core.score_forest_each(*self._folded(), codes, n_jobs)
        return np.asarray(flat.reshape(self.n_trees, -1))

    def apply(self, codes: Codes, n_jobs: int) -> NDArray[np.int32]:
        """Return the slot in which each row ends in each tree: trees x rows."""
        flat = _core.apply_forest(*self._folded(), codes, n_jobs)
        return np.asarray(flat.reshape(self.n_trees, -1))

    def out_of_bag(
        self,
        codes: Codes,
        sampling: Sampling,
        rows: NDArray[np.uint32],
        shrinkages: list[float],
        n_jobs: int,
        *,
        first_tree: int = 0,
        block: tuple[int, int] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return sums over the trees that did not draw a row, rows x shrinkages, and their number.

        Values are relative to the share at the root of each tree, which depends on its sample.
        `first_tree` is the number of the first of these trees in their forest. If the codes are
        those of a block, `block` is (number of all rows, index of its first row).
        """
        if self.steps is not None:
            columns = [
                self._at_shrinkage(shrinkage).out_of_bag(
                    codes, sampling, rows, [0.0], n_jobs, first_tree=first_tree, block=block
                )
                for shrinkage in shrinkages
            ]
            return np.hstack([sums for sums, _ in columns]), columns[0][1]
        n_all, first = block or (codes.shape[1], 0)
        sums, n_trees = _core.score_out_of_bag(
            self.starts, self.slots, self.step, self.weight, self.set_of, self.category_sets, codes,
            vars(sampling), rows, shrinkages, n_jobs, None, n_all, first,
            first_tree,
        )  # fmt: skip
        return sums.reshape(len(rows), -1), n_trees

    def out_of_bag_by_feature(
        self,
        codes: Codes,
        sampling: Sampling,
        rows: NDArray[np.uint32],
        shrinkage: float,
        n_jobs: int,
        *,
        first_tree: int = 0,
        block: tuple[int, int] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return `out_of_bag` for one shrinkage, divided by the feature tested before each step."""
        n_all, first = block or (codes.shape[1], 0)
        sums, n_trees = _core.score_out_of_bag_by_feature(
            self.starts, self.slots, self.step, self.weight, self.set_of, self.category_sets, codes,
            vars(sampling), rows, shrinkage, n_jobs, n_all, first, first_tree,
        )  # fmt: skip
        return sums.reshape(len(rows), -1), n_trees

    def tree(self, number: int) -> ForestArrays:
        """Return a view of a single tree."""
        return self.some_trees(number, number + 1)

    def some_trees(self, first: int, last: int) -> ForestArrays:
        """Return a view of the trees ``first, ..., last - 1``."""
        at = slice(int(self.starts[first]), int(self.starts[last]))
        return replace(
            self,
            starts=self.starts[first : last + 1] - self.starts[first],
            slots=self.slots[at],
            step=self.step[at],
            layers=None if self.layers is None else np.ascontiguousarray(self.layers[:, at]),
            weight=None if self.weight is None else self.weight[at],
            set_of=self.set_of[at] if len(self.set_of) else self.set_of,
            importance=self.importance[first:last],
            at_end=None if self.at_end is None else self.at_end[first:last],
            left_share=None if self.left_share is None else self.left_share[at],
            steps=None if self.steps is None else self.steps[:, :, at],
        )

    def joined(self, more: ForestArrays) -> ForestArrays:
        """Append more trees of the same forest; the shrinkage must not be baked in yet."""
        assert self.weight is not None
        assert more.weight is not None
        return join_forests([self, more])


def mean_out_of_bag(sums: NDArray[np.float64], n_trees: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return means from sums over trees; NaN for rows that every tree has drawn."""
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / n_trees[:, np.newaxis])


def join_forests(forests: list[ForestArrays]) -> ForestArrays:
    """Concatenate the trees of one or more forests, and renumber their category sets."""

    def joined(name: str) -> Any:
        parts = [getattr(forest, name) for forest in forests]
        return None if any(part is None for part in parts) else np.concatenate(parts, axis=-1)

    sizes = np.concatenate([np.diff(forest.starts) for forest in forests])
    return ForestArrays(
        starts=np.cumsum(np.append(0, sizes), dtype=np.int64),
        slots=np.concatenate([forest.slots for forest in forests]),
        step=joined("step"),
        weight=joined("weight"),
        set_of=_join_sets(forests),
        category_sets=np.concatenate([forest.category_sets for forest in forests]),
        importance=np.concatenate([forest.importance for forest in forests]),
        at_end=joined("at_end"),
        left_share=joined("left_share"),
        layers=joined("layers"),
        cut_weights=forests[0].cut_weights,
        steps=joined("steps"),
        shrinkages=forests[0].shrinkages,
    )


def _join_sets(forests: list[ForestArrays]) -> NDArray[np.int32]:
    """Return the index of each slot's category set; those of a forest follow the one before."""
    if not any(len(forest.set_of) for forest in forests):
        return forests[0].set_of
    parts, first = [], 0
    for forest in forests:
        has_sets = len(forest.set_of) > 0
        own = forest.set_of if has_sets else np.full(len(forest.slots), -1, dtype=np.int32)
        parts.append(np.where(own >= 0, own + first, -1).astype(np.int32))
        first += len(forest.category_sets)
    return np.concatenate(parts)


def take_rows(codes: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Return the codes of some rows, in the layout that the core expects."""
    return np.ascontiguousarray(codes[:, rows])


def forest_from_core(
    arrays: tuple[Any, ...],
    n_columns: int,
    cut_weights: NDArray[np.float64],
    shrinkages: tuple[float, ...],
) -> ForestArrays:
    """Wrap the arrays of the core; `shrinkages` is not empty if each has steps of its own."""
    starts, slots, step, weight, set_of, sets, importance, left_share = arrays
    steps = step.reshape(-1, len(slots))
    n_layers = len(cut_weights) if len(steps) > 1 else 1
    trees = ForestArrays(
        starts, slots, steps[0], weight, set_of, sets, importance.reshape(-1, n_columns),
        cut_weights=cut_weights, left_share=left_share,
    )  # fmt: skip
    trees = replace(trees, **_layered(steps[:n_layers], cut_weights))
    if len(shrinkages) == 0:
        return trees
    return replace(trees, steps=steps.reshape(len(shrinkages), n_layers, -1), shrinkages=shrinkages)


def _layered(layers: NDArray[np.float32], cut_weights: NDArray[np.float64]) -> dict[str, Any]:
    """Return the steps of the score, and those of its layers if there are several."""
    if len(layers) == 1:
        return {"step": np.ascontiguousarray(layers[0]), "layers": None}
    return {"step": weighted_sum(layers, cut_weights).astype(np.float32), "layers": layers}
