"""Growth of trees with Python splitters, level by level in all trees together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

from treerank import _core
from treerank._binning.binning import Codes
from treerank._binning.encoding import Encoding, Matrix
from treerank._growth.progress import progress_bar
from treerank._growth.splitter_choice import as_splitter
from treerank._growth.splitter_warnings import warn_once
from treerank._growth.trees import TreeRankOptions
from treerank._input.focus import CoreFocus
from treerank._input.validation import TrainingData
from treerank._select.folds import Folds
from treerank._trees.ranking_tree import CELL
from treerank._trees.splitter_tree import CellSplit, SplitterTree
from treerank.splitters import Cell, ClassifierSplit

Chooser = Callable[[Cell], Any]
# Above this depth, cells below the top of the focus are split, too, as in the core.
DEPTH_BELOW_TOP = 5


@dataclass
class Node:
    """A cell while its tree grows; weights are integers in units, so that sums are exact."""

    path: str
    rows: NDArray[np.intp]
    weight: NDArray[np.int64]  # by class, worst first
    gain: float = 0.0
    pair: tuple[int, int] = (-1, -1)
    split: CellSplit | None = None
    children: list[Node] = field(default_factory=list)

    def describe(self, scale: float) -> Cell:
        """Return the description of the cell that is passed to a user's function."""
        return Cell(len(self.path), self.path, len(self.rows), self.weight / scale)


@dataclass(frozen=True)
class TreeRows:
    """Rows of one tree: all rows, or those that are not held out."""

    rows: Matrix
    labels: NDArray[np.uint8]
    units: NDArray[np.int64]
    scale: float
    encoding: Encoding
    n_classes: int

    def node(self, path: str, rows: NDArray[np.intp]) -> Node:
        """Return the cell of the given rows."""
        weight = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(weight, self.labels[rows], self.units[rows])
        return Node(path, rows, weight)


@dataclass(frozen=True)
class Candidate:
    """A split of a cell for a pair of classes, and its two parts, the better one first."""

    pair: tuple[int, int]
    split: CellSplit
    parts: tuple[Node, Node]


@dataclass
class Growth:
    """A tree while it grows: its leaf cells, best first, and those that may still be split."""

    sample: TreeRows
    root: Node
    leaves: list[Node]
    pending: list[Node]


def grow_cell_trees(
    rows: Matrix,
    codes: Codes,
    data: TrainingData,
    encoding: Encoding,
    *,
    splitter: Any,
    options: TreeRankOptions,
    folds: Folds | None,
    n_jobs: int,
    verbose: int,
) -> list[SplitterTree]:
    """Grow a tree on all rows, then one without the rows of each fold."""
    weights = data.weights
    units = weights.of_rows(data.table.n_rows)
    # Rows are ordered by their content, so that splitters do not depend on the given order.
    hashes = _core.row_hashes(codes, data.labels, options.seed, n_jobs)
    order = np.lexsort([units, data.labels, *rows[::-1], hashes])
    samples = [units]
    if folds is not None:
        samples += [np.where(folds.fold != fold, units, 0) for fold in range(folds.n_folds)]
    trees = []
    for left in samples:
        sample = TreeRows(rows, data.labels, left, weights.scale, encoding, len(data.classes))
        root = sample.node("", order[left[order] > 0])
        trees.append(Growth(sample, root, [root], [root]))
    choose = _chooser(splitter)
    n_rows = sum(len(tree.root.rows) for tree in trees)
    with (
        warn_once(splitter),
        threadpool_limits(1, user_api="blas"),  # cells are small: more threads would only wait
        progress_bar("growing", verbose) as progress,
        Parallel(n_jobs, require="sharedmem") as run,
    ):
        while any(tree.pending for tree in trees):
            if progress is not None:
                left_over = sum(len(node.rows) for tree in trees for node in tree.pending)
                progress(1 - left_over / n_rows)
            _grow_level(trees, choose, options, run)
    return [_flatten(tree.root, encoding, weights.scale) for tree in trees]


def grow_cell_tree(sample: TreeRows, splitter: Any, options: TreeRankOptions) -> SplitterTree:
    """Grow one tree on the rows of positive weight, one cell after another."""
    root = sample.node("", np.flatnonzero(sample.units))
    tree = Growth(sample, root, [root], [root])
    choose = _chooser(splitter)
    with Parallel(1, require="sharedmem") as run:
        while tree.pending:
            _grow_level([tree], choose, options, run)
    return _flatten(root, sample.encoding, sample.scale)


def _grow_level(
    trees: list[Growth], choose: Chooser, options: TreeRankOptions, run: Parallel
) -> None:
    """Find candidates for the cells of a level in all trees together, then choose."""
    tasks = []
    for tree in trees:
        below_top = _below_top(tree, options.focus)
        for node in tree.pending:
            if id(node) in below_top or not _may_split(tree.sample, node, options):
                continue
            splitter = choose(node.describe(tree.sample.scale))
            if splitter is not None:
                splitter = as_splitter(splitter)
                pairs = _pairs(node.weight, options.tournament)
                tasks += [(tree.sample, node, splitter, pair) for pair in pairs]
    found = run(delayed(_find_candidate)(*task, options) for task in tasks)
    candidates: dict[int, list[Candidate]] = {}
    for (_, node, _, _), candidate in zip(tasks, found, strict=True):
        if candidate is not None:
            candidates.setdefault(id(node), []).append(candidate)
    for tree in trees:
        _choose_winners(tree, candidates, options)


def _choose_winners(
    tree: Growth, candidates: dict[int, list[Candidate]], options: TreeRankOptions
) -> None:
    """Split the cells of a level, from best to worst, if that is a gain.

    The VUS gain of a candidate is computed with the winners chosen so far; on ties, the pair of
    lower classes wins.
    """
    leaves: list[Node] = []
    tree.pending = []
    for i, node in enumerate(tree.leaves):
        offered = candidates.get(id(node), [])
        if offered:
            gains = _gains(tree, leaves, i, [offer.parts[0].weight for offer in offered], options)
            best = int(np.argmax(gains))
            if gains[best] > options.min_auc_gain:
                winner = offered[best]
                node.gain, node.pair, node.split = float(gains[best]), winner.pair, winner.split
                node.children = list(winner.parts)
                tree.pending += winner.parts
        leaves += node.children or [node]
    tree.leaves = leaves


def _gains(
    tree: Growth,
    better: list[Node],
    i: int,
    left: list[NDArray[np.int64]],
    options: TreeRankOptions,
) -> NDArray[np.float64]:
    """Return the VUS gain of each split of leaf i, given the weights of its better part."""
    cells = [*better, *tree.leaves[i:]]
    place = len(better)
    if options.tournament_gain == "local":
        cells, place = [tree.leaves[i]], 0
    weights = np.array([cell.weight for cell in cells], dtype=np.float64)
    total = tree.root.weight.astype(np.float64)
    return _core.vus_gains(weights, place, np.array(left, dtype=np.float64), total)


def _pairs(weight: NDArray[np.int64], tournament: str) -> list[tuple[int, int]]:
    """Return the pairs of classes present in a cell: all, or adjacent ones only."""
    present = np.flatnonzero(weight).tolist()
    return list(combinations(present, 2) if tournament == "all" else pairwise(present))


def _may_split(sample: TreeRows, node: Node, options: TreeRankOptions) -> bool:
    deep = 0 <= options.max_depth <= len(node.path)
    return not deep and node.weight.sum() / sample.scale >= options.min_weight_split


def _below_top(tree: Growth, focus: CoreFocus) -> set[int]:
    """Return the ids of cells below the top, however they are split; see src/core/grow/selector."""
    counts, _, high = focus
    if counts == "all":
        return set()
    leaves = [leaf.weight[:1] if counts == "negatives" else leaf.weight for leaf in tree.leaves]
    weight = np.array([float(leaf.sum()) for leaf in leaves])
    better = np.cumsum(weight) - weight
    return {
        id(leaf)
        for leaf, above in zip(tree.leaves, better, strict=True)
        if above >= high * weight.sum() and len(leaf.path) >= DEPTH_BELOW_TOP
    }


def _find_candidate(
    sample: TreeRows, node: Node, splitter: Any, pair: tuple[int, int], options: TreeRankOptions
) -> Candidate | None:
    """Fit a splitter to the rows of a pair of classes, and split all rows of the cell with it."""
    key = tuple(node.path.encode()) + (pair if sample.n_classes > 2 else ())
    seed = np.random.SeedSequence(options.seed, spawn_key=key)
    columns = _draw_columns(sample.encoding.feature, options.max_features, seed)
    split = CellSplit(_fresh_copy(splitter, seed), columns)
    chosen = node.rows[np.isin(sample.labels[node.rows], pair)]
    try:
        _fit(split, sample, chosen, pair)
        is_left = split.left(sample.rows[:, node.rows])
    except Exception as error:
        worse, better = (sample.node("", chosen).weight[list(pair)] / sample.scale).tolist()
        error.add_note(
            f"{splitter!r} was splitting {f'the cell {node.path!r}' if node.path else 'the root'} "
            f"with {worse:g} negatives and {better:g} positives."
        )
        raise
    left, right = (node.rows[side] for side in (is_left, ~is_left))
    everything = not node.path and len(node.rows) == sample.rows.shape[1] and columns is None
    if everything and not (len(left) and len(right)):
        check_tells_rows_apart(splitter, sample.encoding)
    if _delta(sample.node("", left).weight, node.weight, pair) < 0:
        left, right = right, left
        split = CellSplit(split.splitter, columns, turned=True)
    parts = sample.node(node.path + "L", left), sample.node(node.path + "R", right)
    smallest = min(int(part.weight.sum()) for part in parts) / sample.scale
    if smallest <= 0 or smallest < options.min_weight_leaf:
        return None
    return Candidate(pair, split, parts)


def _delta(left: NDArray[np.int64], cell: NDArray[np.int64], pair: tuple[int, int]) -> int:
    """Return Delta(L | C) of a pair of classes, in exact integers."""
    worse, better = pair
    return int(cell[worse]) * int(left[better]) - int(cell[better]) * int(left[worse])


def _fit(split: CellSplit, sample: TreeRows, rows: NDArray[np.intp], pair: tuple[int, int]) -> None:
    inside = sample.rows[:, rows]
    seen = inside if split.columns is None else inside[split.columns]
    box = sample.encoding.box
    more = {}
    if has_fit_parameter(split.splitter, "box"):
        more["box"] = box if split.columns is None else box.columns(split.columns)
    weight = sample.units[rows] / sample.scale
    labels = (sample.labels[rows] == pair[1]).astype(np.intp)
    split.splitter.fit(np.ascontiguousarray(seen.T), labels, sample_weight=weight, **more)


def _chooser(splitter: Any) -> Chooser:
    """Return a function from a cell to its splitter, also if the user gave a single splitter."""
    if is_function(splitter):
        return splitter  # type: ignore[no-any-return]
    single = as_splitter(splitter)
    return lambda cell: single


def is_function(splitter: Any) -> bool:
    """Whether the splitter is a function that chooses one for each cell."""
    return callable(splitter) and not isinstance(splitter, type) and not hasattr(splitter, "fit")


def _fresh_copy(splitter: Any, seed: np.random.SeedSequence) -> Any:
    """Return an unfitted copy; random states that are None are derived from tree seed and path."""
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
    """Return the columns of the features drawn for a cell; None means all."""
    n_features = int(feature.max()) + 1
    if max_features < 0 or max_features >= n_features:
        return None
    drawn = np.random.default_rng(seed).choice(n_features, max_features, replace=False)
    return np.flatnonzero(np.isin(feature, drawn))


def check_tells_rows_apart(splitter: Any, encoding: Encoding) -> None:
    """Raise if a classifier did not split the root although rows differ; other cells just end."""
    if isinstance(splitter, ClassifierSplit) and (encoding.box.high > encoding.box.low).any():
        raise ValueError(
            f"Got splitter={splitter.estimator!r}, which puts all training rows into one class; "
            "expected a classifier that tells some of them apart. Scale the features in a "
            "Pipeline, or regularise less."
        )


def _flatten(root: Node, encoding: Encoding, scale: float) -> SplitterTree:
    """Convert a grown tree to cells in preorder."""
    cells: list[tuple[int, int, int, int, int, int, int, int, float]] = []
    counts, splits = [], []
    stack = [(root, -1)]
    while stack:
        node, parent = stack.pop()
        number = len(cells)
        if parent >= 0 and node.path[-1] == "R":
            cells[parent] = (*cells[parent][:2], number, *cells[parent][3:])
        first = number + 1 if node.children else -1
        cells.append((parent, first, -1, len(node.path), -1, -1, *node.pair, node.gain))
        counts.append(node.weight)
        if node.split is not None:
            splits.append(node.split)
            stack += [(child, number) for child in reversed(node.children)]
    weight = np.array(counts, dtype=np.float64)
    return SplitterTree(np.array(cells, dtype=CELL), weight / scale, splits, encoding)
