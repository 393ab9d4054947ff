"""Grow cell by cell, with splitters in Python, level by level through all trees at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from treerank import _core
from treerank._binning import Codes
from treerank._encoding import Encoding, Matrix
from treerank._grow import TreeRankOptions
from treerank._progress import progress_bar
from treerank._splitter_tree import CellSplit, SplitterTree
from treerank._tree import CELL
from treerank._validate import TrainingData
from treerank.splitters import Cell, ClassifierSplit, as_splitter

Chooser = Callable[[Cell], Any]


@dataclass
class Node:
    """A cell while its tree grows; weights are whole numbers of units, so sums are exact."""

    path: str
    rows: NDArray[np.intp]
    mass: tuple[int, int]  # negative, positive
    gain: float = 0.0
    split: CellSplit | None = None
    children: list[Node] = field(default_factory=list)

    def describe(self, scale: float) -> Cell:
        """Say what a user's function may know of the cell."""
        return Cell(len(self.path), self.path, len(self.rows), np.array(self.mass) / scale)


@dataclass(frozen=True)
class Sample:
    """Rows of one tree: all, or those left when a part is held out."""

    rows: Matrix
    labels: NDArray[np.uint8]
    units: NDArray[np.int64]
    scale: float
    encoding: Encoding

    @cached_property
    def pairs(self) -> int:
        """Pairs of a negative and a positive, in units."""
        positive = int(self.units[self.labels == 1].sum())
        return positive * (int(self.units.sum()) - positive)

    def node(self, path: str, rows: NDArray[np.intp]) -> Node:
        """Cell of the given rows."""
        positive = int(self.units[rows[self.labels[rows] == 1]].sum())
        return Node(path, rows, (int(self.units[rows].sum()) - positive, positive))


def grow_cell_trees(
    rows: Matrix,
    codes: Codes,
    data: TrainingData,
    encoding: Encoding,
    *,
    splitter: Any,
    options: TreeRankOptions,
    held_out: list[NDArray[Any]],
    n_jobs: int,
    verbose: int,
) -> list[SplitterTree]:
    """Grow a tree on all rows, then one without each of the parts that are held out.

    A part says for every row how much of its weight is held out, in units.
    """
    weights = data.weights
    units = weights.as_units if weights.as_units is not None else np.ones(data.table.n_rows, int)
    # Whatever a splitter does with the order of the rows, theirs follows from their content.
    hashes = _core.row_hashes(codes, data.labels, options.seed)
    order = np.lexsort([units, data.labels, *rows[::-1], hashes])
    samples, roots = [], []
    for part in [np.zeros(len(units), np.int64), *held_out]:
        left = units - part.astype(np.int64)
        sample = Sample(rows, data.labels, left, weights.scale, encoding)
        samples.append(sample)
        roots.append(sample.node("", order[left[order] > 0]))
    choose = _chooser(splitter)
    pending = list(zip(samples, roots, strict=True))
    n_rows = sum(len(root.rows) for root in roots)
    with progress_bar("growing", verbose) as progress, Parallel(n_jobs, require="sharedmem") as run:
        while pending:
            if progress is not None:
                progress(1 - sum(len(node.rows) for _, node in pending) / n_rows)
            pending = _grow_level(pending, choose, options, run)
    return [_flatten(root, encoding, weights.scale) for root in roots]


def grow_cell_tree(sample: Sample, splitter: Any, options: TreeRankOptions) -> SplitterTree:
    """Grow one tree on the rows of the sample that have weight, one cell after another."""
    root = sample.node("", np.flatnonzero(sample.units))
    choose = _chooser(splitter)
    pending = [(sample, root)]
    with Parallel(1, require="sharedmem") as run:
        while pending:
            pending = _grow_level(pending, choose, options, run)
    return _flatten(root, sample.encoding, sample.scale)


def _grow_level(
    pending: list[tuple[Sample, Node]], choose: Chooser, options: TreeRankOptions, run: Parallel
) -> list[tuple[Sample, Node]]:
    """Split the cells of a level where they can be; return their children."""
    tasks = []
    for sample, node in pending:
        if _may_split(sample, node, options):
            splitter = choose(node.describe(sample.scale))
            if splitter is not None:
                tasks.append((sample, node, as_splitter(splitter)))
    run(delayed(_split)(sample, node, splitter, options) for sample, node, splitter in tasks)
    return [(sample, child) for sample, node, _ in tasks for child in node.children]


def _may_split(sample: Sample, node: Node, options: TreeRankOptions) -> bool:
    deep = 0 <= options.max_depth <= len(node.path)
    mass = sum(node.mass) / sample.scale
    return min(node.mass) > 0 and not deep and mass >= options.min_mass_split


def _split(sample: Sample, node: Node, splitter: Any, options: TreeRankOptions) -> None:
    """Fit a splitter to a cell; give it children if the AUC gains by them."""
    seed = np.random.SeedSequence(options.seed, spawn_key=tuple(node.path.encode()))
    columns = _draw_columns(sample.encoding.feature, options.max_features, seed)
    split = CellSplit(_fresh_copy(splitter, seed), columns)
    inside = sample.rows[:, node.rows]
    try:
        _fit(split, sample, node, inside)
        is_left = split.left(inside)
    except Exception as error:
        negative, positive = node.describe(sample.scale).counts
        error.add_note(
            f"{splitter!r} was splitting {f'the cell {node.path!r}' if node.path else 'the root'} "
            f"with {negative:g} negatives and {positive:g} positives."
        )
        raise
    left, right = (
        sample.node(node.path + side, node.rows[chosen])
        for side, chosen in (("L", is_left), ("R", ~is_left))
    )
    everything = not node.path and len(node.rows) == sample.rows.shape[1] and columns is None
    if everything and not (len(left.rows) and len(right.rows)):
        refuse_one_side(splitter, sample.encoding)
    gain = _auc_gain(sample, node, left)
    if gain < 0:
        left, right, gain = right, left, -gain
        left.path, right.path = right.path, left.path
        split = CellSplit(split.splitter, columns, turned=True)
    smallest = min(sum(left.mass), sum(right.mass)) / sample.scale
    if gain > options.min_auc_gain and smallest >= options.min_mass_leaf:
        node.gain, node.split, node.children = gain, split, [left, right]


def _fit(split: CellSplit, sample: Sample, node: Node, inside: Matrix) -> None:
    seen = inside if split.columns is None else inside[split.columns]
    box = sample.encoding.box
    more = {}
    if has_fit_parameter(split.splitter, "box"):
        more["box"] = box if split.columns is None else box.columns(split.columns)
    weight = sample.units[node.rows] / sample.scale
    labels = sample.labels[node.rows].astype(np.intp)
    split.splitter.fit(np.ascontiguousarray(seen.T), labels, sample_weight=weight, **more)


def _auc_gain(sample: Sample, node: Node, left: Node) -> float:
    """Half of Delta(L | C), from whole numbers (ALGORITHMS, section 3)."""
    return (node.mass[0] * left.mass[1] - node.mass[1] * left.mass[0]) / (2 * sample.pairs)


def _chooser(splitter: Any) -> Chooser:
    """Return a function of the cell, whether the user gave one or a single splitter."""
    if is_function(splitter):
        return splitter  # type: ignore[no-any-return]
    single = as_splitter(splitter)
    return lambda cell: single


def is_function(splitter: Any) -> bool:
    """Whether the splitter is chosen cell by cell."""
    return callable(splitter) and not isinstance(splitter, type) and not hasattr(splitter, "fit")


def _fresh_copy(splitter: Any, seed: np.random.SeedSequence) -> Any:
    """Return an unfitted copy whose unset seeds follow from the tree's seed and the path."""
    copy = clone(splitter, safe=False)
    if hasattr(copy, "get_params"):
        number = int(seed.generate_state(1)[0] >> 1)
        unset = [
            name
            for name, value in copy.get_params().items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        copy.set_params(**dict.fromkeys(unset, number))
    return copy


def _draw_columns(
    feature: NDArray[np.intp], max_features: int, seed: np.random.SeedSequence
) -> NDArray[np.intp] | None:
    """Columns of the features drawn for a cell; None for all."""
    n_features = int(feature.max()) + 1
    if max_features < 0 or max_features >= n_features:
        return None
    drawn = np.random.default_rng(seed).choice(n_features, max_features, replace=False)
    return np.flatnonzero(np.isin(feature, drawn))


def refuse_one_side(splitter: Any, encoding: Encoding) -> None:
    """Refuse a classifier that cannot part rows that differ; elsewhere the branch just ends."""
    if isinstance(splitter, ClassifierSplit) and (encoding.box.high > encoding.box.low).any():
        raise ValueError(
            f"Got splitter={splitter.estimator!r}, which puts all training rows into one class; "
            "expected a classifier that tells some of them apart. Scale the features in a "
            "Pipeline, or regularise less."
        )


def _flatten(root: Node, encoding: Encoding, scale: float) -> SplitterTree:
    """Cells of a grown tree in preorder."""
    cells: list[tuple[int, int, int, int, int, int, float]] = []
    counts, splits = [], []
    stack = [(root, -1)]
    while stack:
        node, parent = stack.pop()
        number = len(cells)
        if parent >= 0 and node.path[-1] == "R":
            cells[parent] = (*cells[parent][:2], number, *cells[parent][3:])
        first = number + 1 if node.children else -1
        cells.append((parent, first, -1, len(node.path), -1, -1, node.gain))
        counts.append(node.mass)
        if node.split is not None:
            splits.append(node.split)
            stack += [(child, number) for child in reversed(node.children)]
    mass = np.array(counts, dtype=np.float64)
    return SplitterTree(np.array(cells, dtype=CELL), mass / scale, splits, encoding)
