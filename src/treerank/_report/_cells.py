"""The tree and its nested subtrees: each cell that can be a stratum, and each step of pruning."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker, rank_leaves
from treerank._growth.trees import check_monotonic
from treerank._input.parameters import check_n_jobs
from treerank._input.types import FittedClassifier, Floats
from treerank._input.validation import feature_names
from treerank._reading.rules import cell_rules, side_rule
from treerank._report._order import adjusted_level, format_apart, rate_difference
from treerank._report._sample import ScoredRows
from treerank._select.pruning import PruningPath
from treerank._select.quality import ranking_quality
from treerank._treerank import TreeRank
from treerank._trees.ranking_tree import CellTree, RankTree
from treerank._trees.splitter_tree import SplitterTree, format_splitter
from treerank.metrics._proportion import rows_per_weight, weighted_share_limits
from treerank.metrics._ties import auc_of_checked, class_weights

# The slider omits subtrees with more strata than this, unless the model itself has more. If there
# are more steps than this, it shows evenly spaced ones.
MAX_STRATA = 120
MAX_STEPS = 60
MAX_RULE = 800  # most characters of the rule of a cell that is not a stratum of the model
LONG_RULE = 500  # longer rules are collapsed (characters)


@dataclass(frozen=True)
class Step:
    """One of the nested subtrees.

    Attributes
    ----------
    leaves : array
        Cells that are its strata, best first.
    scores : array
    judged, training : float
        AUC (VUS for more than two classes) on the evaluation rows, and on the training rows.
    cross_validated, error : float or None
        AUC (VUS) by cross-validation during the fit, with its standard error.
    """

    leaves: NDArray[np.intp]
    scores: Floats
    judged: float
    training: float
    cross_validated: float | None
    error: float | None


@dataclass(frozen=True)
class CellView:
    """The cells of the largest subtree that is shown.

    Attributes
    ----------
    tree : CellTree
    judged : array of shape (n_cells, n_classes)
        Class counts of the evaluation rows. Those of the training rows are in the tree.
    shown : array of bool
        Cells of the largest subtree.
    steps : list of Step
    chosen : int
        The step that is the model.
    level : float
    rows_per_weight : float
    """

    tree: CellTree
    judged: Floats
    shown: NDArray[np.bool_]
    is_split: NDArray[np.bool_]
    steps: list[Step]
    chosen: int
    level: float
    rows_per_weight: float


def view_cells(
    model: FittedClassifier, sample: ScoredRows, level: float, is_held_out: bool = False
) -> CellView | None:
    """Return the cells of a ranking tree; None for other models.

    Held-out scores come from the trees of the folds, which have other cells. Held-out rows are
    therefore counted by their position in the ranking, and subtrees larger than the model are
    omitted.
    """
    if not isinstance(model, TreeRanker):
        return None
    tree, path, chosen = _nested(model)
    judged = (
        _place(model, tree, path, chosen, sample) if is_held_out else _count(model, tree, sample)
    )
    collapsed_at = tree.sequence[1]
    n_leaves = np.array([1 + np.sum(collapsed_at > k) for k in range(len(tree.sequence[0]))])
    first = int(np.flatnonzero(n_leaves <= max(MAX_STRATA, n_leaves[chosen]))[0])
    first = chosen if is_held_out else first
    numbers = np.arange(first, len(n_leaves))
    if len(numbers) > MAX_STEPS:
        even = np.rint(np.linspace(first, len(n_leaves) - 1, MAX_STEPS)).astype(int)
        numbers = np.unique(np.append(even, chosen))
    steps = [_step(model, tree, path, judged, int(k)) for k in numbers]
    return CellView(
        tree=tree,
        judged=judged,
        shown=_reachable(tree, first),
        is_split=collapsed_at > first,
        steps=steps,
        chosen=int(np.flatnonzero(numbers == chosen)[0]),
        level=level,
        rows_per_weight=rows_per_weight(sample.weight),
    )


def _nested(model: TreeRanker) -> tuple[CellTree, PruningPath | None, int]:
    """Return the tree whose cost-complexity subtrees are shown, and which of them is the model."""
    path = getattr(model, "pruning_path_", None)
    if isinstance(model, TreeRank) and isinstance(path, PruningPath) and model.pruning == "cv":
        return model.unpruned_tree_, path, path.chosen
    return model.tree_, None, 0


def _count(model: TreeRanker, tree: CellTree, sample: ScoredRows) -> Floats:
    """Class counts of the evaluation rows in all cells."""
    n_jobs = check_n_jobs(model.n_jobs)
    cell = tree.apply(tree.encode(sample.rows, model._binning, n_jobs), n_jobs)
    place = cell.astype(np.intp) * tree.n_classes + sample.code
    counts = np.bincount(place, weights=sample.weight, minlength=tree.n_cells * tree.n_classes)
    leaf_counts = counts.reshape(tree.n_cells, tree.n_classes).astype(np.float64)
    return tree.cell_counts(leaf_counts)


def _place(
    model: TreeRanker, tree: CellTree, path: PruningPath | None, chosen: int, sample: ScoredRows
) -> Floats:
    """Count held-out rows in the strata of the model by their position in the ranking.

    A stratum gets the held-out rows whose quantiles in the ranking are those of its training rows.
    Ties across the edge of a stratum are divided, and counts are rounded if rows have no weights.
    """
    step = _step(model, tree, path, np.ones((tree.n_cells, tree.n_classes)), chosen)
    ends = np.cumsum(tree.counts[step.leaves].sum(axis=1)) / tree.counts[0].sum()
    _, weights = class_weights(sample.score, sample.code, sample.weight, tree.n_classes)
    found = np.cumsum(weights[:, ::-1], axis=1)
    taken = np.append(0.0, found.sum(axis=0)) / found[:, -1].sum()
    cumulated = np.array([np.interp(ends, taken, np.append(0.0, row)) for row in found])
    cumulated[:, -1] = found[:, -1]
    if not sample.is_weighted:
        cumulated = np.rint(cumulated)
    leaf_counts = np.zeros((tree.n_cells, tree.n_classes))
    leaf_counts[step.leaves] = np.diff(cumulated, axis=1, prepend=0.0).T
    return _sum_up(tree, leaf_counts)


def _sum_up(tree: CellTree, counts: Floats) -> Floats:
    """Add the counts of cells to those above them. Cells below a stratum stay empty."""
    parent: NDArray[np.int32] = tree.cells["parent"]
    for cell in range(tree.n_cells - 1, 0, -1):  # preorder: children come after their parent
        counts[parent[cell]] += counts[cell]
    return counts


def _reachable(tree: CellTree, k: int) -> NDArray[np.bool_]:
    """Cells of the k-th subtree: the root, and those whose parent is split in it."""
    split = tree.sequence[1] > k
    return np.append(True, split[tree.cells["parent"][1:]])


def _step(
    model: TreeRanker, tree: CellTree, path: PruningPath | None, judged: Floats, k: int
) -> Step:
    shrinkage = getattr(model, "shrinkage_", np.nan) if path is None else float(path.shrinkage[k])
    binning = model._binning
    monotonic_cst = getattr(model, "monotonic_cst", None)
    monotonic = check_monotonic(monotonic_cst, feature_names(model), binning)
    subtree = tree.subtree(tree.sequence[1] > k)
    leaves, scores, _ = rank_leaves(subtree, binning, shrinkage, monotonic)
    cells = np.flatnonzero(_reachable(tree, k))[leaves]
    return Step(
        leaves=cells,
        scores=scores,
        judged=_quality(scores, judged[cells]),
        training=_quality(scores, tree.counts[cells]),
        cross_validated=None if path is None else float(path.heldout_auc[k]),
        error=None if path is None else float(path.heldout_std_error[k]),
    )


def _quality(scores: Floats, counts: Floats) -> float:
    """AUC or VUS of cells with these scores and class counts."""
    classes = np.arange(counts.shape[1])
    of_count, of_cell = np.tile(classes, len(counts)), np.repeat(scores, len(classes))
    if len(classes) == 2:
        return auc_of_checked(of_cell, of_count, counts.ravel())
    return ranking_quality(of_count, of_cell, classes, counts.ravel())


def cell_rows(view: CellView, model: TreeRanker, names: list[str]) -> list[dict[str, Any]]:
    """Describe each shown cell, independently of the step: rule, counts, rates, ROC point."""
    tree = view.tree
    numbers = np.flatnonzero(view.shown)
    points = split_points(view)
    binning = model._binning
    if isinstance(tree, RankTree):
        rules = cell_rules(tree, binning, names, numbers)
    else:
        assert isinstance(tree, SplitterTree)
        rules = tree.rules(numbers)
    rates = _rates(view)
    kept = set(view.steps[view.chosen].leaves.tolist())
    rules = [
        rule if cell in kept else textwrap.shorten(rule, MAX_RULE, placeholder=" …")
        for cell, rule in zip(numbers.tolist(), rules, strict=True)
    ]
    rows = []
    for cell, rule in zip(numbers.tolist(), rules, strict=True):
        row = {
            "cell": cell,
            "rule": rule,
            "depth": int(tree.cells["depth"][cell]),
            "rows": float(view.judged[cell].sum()),
            "counts": view.judged[cell].tolist(),
            "training_rows": float(tree.counts[cell].sum()),
            "is_split": bool(view.is_split[cell]),
            "closes": _closes(view, cell),
        } | {name: column[cell] for name, column in rates.items()}
        row["ways"] = alternatives(rule)
        row["is_long"] = len(rule) > LONG_RULE
        row["side"] = _side(tree, model, names, cell)
        if row["is_split"]:
            row["point"] = points[cell].tolist()
        rows.append(row)
    return rows


def _rates(view: CellView) -> dict[str, list[Any]]:
    """Shares of the classes in each cell, with intervals for the top class, and in training."""
    weight = view.judged.sum(axis=1)
    events = view.judged[:, -1]
    lower, upper = weighted_share_limits(events, weight, view.rows_per_weight, view.level)
    known = np.where(weight > 0, weight, 1.0)
    rate = events / known
    training = view.tree.counts / view.tree.counts.sum(axis=1, keepdims=True)
    apart = _apart(view)
    return {
        "rate": [float(r) if m > 0 else None for r, m in zip(rate, weight, strict=True)],
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "shares": (view.judged / known[:, np.newaxis]).tolist(),
        "training_rate": training[:, -1].tolist(),
        "training_shares": training.tolist(),
        "apart": apart,
    }


def _apart(view: CellView) -> list[str | None]:
    """Describe significant differences from the training rates, adjusted for multiple strata."""
    if view.judged.shape[1] > 2:
        return [None] * len(view.judged)
    each = adjusted_level(view.level, len(view.steps[view.chosen].leaves))
    found: list[str | None] = []
    for judged, training in zip(view.judged, view.tree.counts, strict=True):
        by = None
        if judged.sum() > 0:
            by = rate_difference(judged, training, each, np.arange(2.0), (view.rows_per_weight, 1))
        found.append(format_apart(by) if by is not None and by.is_apart else None)
    return found


def split_points(view: CellView) -> Floats:
    """Point of each split on the ROC curve of the tree's own order.

    Its coordinates are the shares of the lowest and of the highest class to the left of the split.
    """
    tree, judged = view.tree, view.judged[:, [0, -1]]
    before = np.zeros_like(judged)
    points = np.zeros_like(judged)
    for cell in np.flatnonzero(tree.is_split):  # preorder: parents come first
        left, right = tree.cells["left"][cell], tree.cells["right"][cell]
        before[left] = before[cell]
        before[right] = points[cell] = before[cell] + judged[left]
    return np.asarray(points / judged[0])


def _side(tree: CellTree, model: TreeRanker, names: list[str], cell: int) -> str:
    """Rule of the side of the parent's split that leads to a cell."""
    parent = int(tree.cells["parent"][cell])
    if parent < 0:
        return "all rows"
    side = int(tree.cells["right"][parent] == cell)
    if isinstance(tree, RankTree):
        return side_rule(tree, model._binning, names, parent, side)
    assert isinstance(tree, SplitterTree)
    splitter = tree.splits[int(np.sum(tree.is_split[:parent]))].splitter
    return f"{('better', 'worse')[side]} side of the {format_splitter(splitter)}"


def alternatives(rule: str) -> list[str]:
    """Split a rule at each "or" outside of all brackets, to show one alternative per line."""
    ways, depth, start = [], 0, 0
    for i, letter in enumerate(rule):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and rule.startswith(" or ", i):
            ways.append(rule[start : i + 3])
            start = i + 4
    return [*ways, rule[start:]]


def _closes(view: CellView, cell: int) -> int:
    """Number of splits of which a leaf is the last descendant."""
    if view.is_split[cell]:
        return 0
    closes, cells = 0, view.tree.cells
    while (parent := int(cells["parent"][cell])) >= 0 and cells["right"][parent] == cell:
        closes, cell = closes + 1, parent
    return closes
