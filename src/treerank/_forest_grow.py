"""What a forest is to be, made of its parameters and the size of the data; and its growth."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from treerank import _core
from treerank._binning import Binning, Codes
from treerank._classes import ranking_quality
from treerank._encoding import Encoding
from treerank._forest_arrays import ForestArrays, Sampling, forest_from_core
from treerank._forest_rows import ForestRows, Trees, Unseen
from treerank._grow import TreeRankOptions
from treerank._grow_cells import is_function
from treerank._leafrank import LeafRank
from treerank._params import (
    check_choice,
    check_count_or_share,
    check_integer,
    check_max_features,
    check_number,
    complain,
)
from treerank._progress import progress_bar
from treerank._seed import seed_of
from treerank._splitter_forest import SplitterForest, grow_splitter_forest
from treerank._tree import cut_weights, upper_shares
from treerank._treerank import check_splitter
from treerank._validate import TrainingData, TrainingSize, class_sizes
from treerank.splitters import as_splitter

AGGREGATIONS = ["posterior", "mean_rank", "median_rank", "kendall"]
# Strengths of shrinkage that "oob" chooses from; and what stands in where it cannot choose.
STRENGTHS = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
USUAL_STRENGTH = 10.0
# Out-of-bag scores are means over fewer trees; a factor outside of these would follow their noise.
SCALES = (1.0, 10.0)
# Rows that decide among them: as many as tell their AUCs apart.
CHOOSING_ROWS = 10_000
# From this many rows on a tree is one LeafRank tree, grown to the end.
WHOLE_TREES = 20_000
# Half of the trees have random cuts up to twice as many rows, then a share that falls.
RANDOM_CUT_ROWS = 5_000
# Where splitters other than LeafRank stop by default, as they do in TreeRank.
SPLITTER_DEPTH, SPLITTER_LEAF = 10, 5


@dataclass(frozen=True)
class ForestPlan:
    """Everything that decides a forest but the data."""

    kinds: list[TreeRankOptions]  # exact trees, trees with random cuts
    splitter: Any  # None: LeafRank, grown by the core
    kind_of: NDArray[np.uint8]
    sampling: Sampling
    value: str  # what a tree says of a row: "path", "monotone" or "rank"
    strengths: list[float]
    n_rows: int
    verbose: int

    @property
    def by_value(self) -> bool:
        """Whether trees give shares of positives rather than ranks."""
        return self.value != "rank"


def plan_forest(
    forest: Any, data: TrainingSize, monotonic: NDArray[np.int8], seed: int | None
) -> ForestPlan:
    """Check the parameters of a forest and fill in what follows the size of the data."""
    n_rows = data.table.n_rows
    check_choice("aggregation", forest.aggregation, AGGREGATIONS)
    check_choice("bootstrap", forest.bootstrap, [True, False])
    check_choice("oob_score", forest.oob_score, [True, False])
    n_trees = check_integer("n_estimators", forest.n_estimators, 1)
    assert n_trees is not None
    sampling = _sampling(forest, n_rows, seed_of(forest.random_state) if seed is None else seed)
    by_rank = forest.aggregation != "posterior"
    value = "rank" if by_rank else "monotone" if monotonic.any() else "path"
    if forest.oob_score and not sampling.leaves_rows_out(n_rows):
        raise ValueError(
            "Got oob_score=True with bootstrap=False; expected bootstrap=True, or max_samples "
            "below the number of rows, so that trees leave rows out."
        )
    splitter = _other_splitter(forest, monotonic)
    kinds = (
        _kinds(forest, data, value, sampling.seed)
        if splitter is None
        else [_cell_options(forest, data, sampling.seed)]
    )
    share = 0.0 if splitter is not None else forest.random_cut_share
    return ForestPlan(
        kinds=kinds,
        splitter=splitter,
        kind_of=_kind_of(share, n_trees, n_rows),
        sampling=sampling,
        value=value,
        strengths=_strengths(forest, value, sampling.leaves_rows_out(n_rows)),
        n_rows=n_rows,
        verbose=int(forest.verbose),
    )


def _sampling(forest: Any, n_rows: int, seed: int) -> Sampling:
    given = forest.max_samples
    if given is None:
        return Sampling(bool(forest.bootstrap), n_rows if forest.bootstrap else 0, seed)
    expected = f"None, an integer from 2 to {n_rows} (the rows), or a share in (0, 1]"
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise complain("max_samples", given, expected)
    if isinstance(given, numbers.Integral):
        n_draws = int(given)
    else:
        if not 0 < float(given) <= 1:
            raise complain("max_samples", given, expected)
        n_draws = round(float(given) * n_rows)
    if n_draws < 2:
        raise ValueError(
            f"Got max_samples={given!r}, which draws {n_draws} of {n_rows} rows: too few to hold "
            f"both classes; expected {expected}."
        )
    if n_draws > n_rows:
        raise complain("max_samples", given, expected)
    return Sampling(bool(forest.bootstrap), n_draws, seed)


def _kind_of(share: Any, n_trees: int, n_rows: int) -> NDArray[np.uint8]:
    """1 for each tree with random cuts, spread evenly, whatever the number of trees."""
    if isinstance(share, str):
        check_choice("random_cut_share", share, ["auto"])
        share = min(0.5, RANDOM_CUT_ROWS / n_rows)
    share = check_number("random_cut_share", share)
    if share > 1:
        raise complain("random_cut_share", share, "a share from 0 to 1")
    steps = np.floor(np.arange(n_trees + 1) * share + 1e-9)
    return np.asarray(np.diff(steps), dtype=np.uint8)


def _strengths(forest: Any, value: str, leaves_rows_out: bool) -> list[float]:
    given = forest.shrinkage
    if given is None:
        return [0.0]
    if not isinstance(given, str):
        return [check_number("shrinkage", given)]
    check_choice("shrinkage", given, ["oob", None])
    if value == "rank":
        return [0.0]
    if not leaves_rows_out:
        raise ValueError(
            "Got shrinkage='oob' with bootstrap=False; expected bootstrap=True, max_samples below "
            "the number of rows, or a number for shrinkage."
        )
    return STRENGTHS


def default_splitter(n_rows: int, value: str, n_classes: int) -> LeafRank:
    """Splitter that follows the size of the data and what a tree is asked for.

    Cells that are merged and split again make the better trees of few rows; from WHOLE_TREES
    rows on, one tree grown to the end is as good, several times faster, and smaller. Ranks and
    monotone values are constant on strata, of which a single split makes but two; and of more
    than two classes a single split tells but two apart.
    """
    if n_rows >= WHOLE_TREES and value == "path" and n_classes == 2:
        return LeafRank(max_depth=None, min_samples_leaf=3, max_features="sqrt")
    return LeafRank(max_depth=3, min_samples_leaf=3, max_features="sqrt")


def _kinds(forest: Any, data: TrainingSize, value: str, seed: int) -> list[TreeRankOptions]:
    """Options of the exact trees and of those with random cuts."""
    n_rows, n_features = data.table.n_rows, data.table.n_features
    splitter, leaf = forest.splitter, forest.min_samples_leaf
    if splitter is None:
        splitter = default_splitter(n_rows, value, len(data.classes))
        if leaf is not None:
            splitter.set_params(min_samples_leaf=leaf)
    exact = check_splitter(splitter, "RankingForest")._options(n_rows, n_features)
    if exact.pruning:
        raise ValueError(
            "Got splitter=LeafRank(pruning='cv') in a RankingForest; expected pruning=None: a row "
            "drawn twice would be on both sides of a fold, and forests live on deep trees."
        )
    least = check_count_or_share("min_samples_leaf", 1 if leaf is None else leaf, n_rows)
    depth: Any = forest.max_depth
    if isinstance(depth, str):
        check_choice("max_depth", depth, ["auto", None])
        depth = 1 if exact.max_depth < 0 and exact.max_leaf_nodes < 0 and value == "path" else None
    checked = check_integer("max_depth", depth, 1, none=True)
    options = TreeRankOptions(
        leafrank=exact,
        max_depth=-1 if checked is None else checked,
        min_mass_leaf=least,
        min_mass_split=2.0,
        min_auc_gain=0.0,
        max_features=check_max_features("max_features", forest.max_features, n_features),
        seed=seed,
        **_tournament(forest),
    )
    return [options, replace(options, leafrank=replace(exact, random_cuts=True))]


def _other_splitter(forest: Any, monotonic: NDArray[np.int8]) -> Any:
    """Splitter of the forest if it is not LeafRank's; else None."""
    splitter = forest.splitter
    if splitter is None or isinstance(splitter, LeafRank):
        return None
    if not is_function(splitter):
        as_splitter(splitter)
    if monotonic.any():
        raise ValueError(
            f"Got monotonic_cst with splitter={splitter!r}; expected None: only LeafRank can keep "
            "monotone constraints."
        )
    share = forest.random_cut_share
    if not (isinstance(share, str) and share == "auto") and check_number("random_cut_share", share):
        raise ValueError(
            f"Got random_cut_share={share!r} with splitter={splitter!r}; expected 'auto' or 0: "
            "only LeafRank has random cuts."
        )
    return splitter


def _cell_options(forest: Any, data: TrainingSize, seed: int) -> TreeRankOptions:
    """Limits of a tree whose cells are split in Python."""
    depth: Any = forest.max_depth
    if isinstance(depth, str):
        check_choice("max_depth", depth, ["auto", None])
        depth = SPLITTER_DEPTH
    checked = check_integer("max_depth", depth, 1, none=True)
    leaf = SPLITTER_LEAF if forest.min_samples_leaf is None else forest.min_samples_leaf
    n_rows, n_features = data.table.n_rows, data.table.n_features
    return TreeRankOptions(
        leafrank=None,
        max_depth=-1 if checked is None else checked,
        min_mass_leaf=check_count_or_share("min_samples_leaf", leaf, n_rows),
        min_mass_split=2.0,
        min_auc_gain=0.0,
        max_features=check_max_features("max_features", forest.max_features, n_features),
        seed=seed,
        **_tournament(forest),
    )


def _tournament(forest: Any) -> dict[str, Any]:
    return {
        "tournament": check_choice("tournament", forest.tournament, ["adjacent", "all"]),
        "tournament_gain": check_choice(
            "tournament_gain", forest.tournament_gain, ["vus", "local"]
        ),
    }


def grow_forest(
    rows: NDArray[Any],
    data: TrainingData,
    binning: Binning,
    encoding: Encoding | None,
    monotonic: NDArray[np.int8],
    plan: ForestPlan,
    before: Trees | None,
    n_jobs: int,
) -> Trees:
    """Grow the trees of the plan that are not there yet.

    `rows` are codes, or with an encoding the matrix that it makes.
    """
    first = 0 if before is None else before.n_trees
    if before is not None and isinstance(before, SplitterForest) != (encoding is not None):
        raise ValueError(
            "Got another kind of splitter with warm_start=True; expected that of the first fit."
        )
    if before is not None and first == len(plan.kind_of):
        return before
    if encoding is None:
        trees = _grow_in_core(rows, data, binning, monotonic, plan, first, n_jobs)
        return before.joined(trees) if isinstance(before, ForestArrays) else trees
    grown = grow_splitter_forest(
        rows, data, encoding, splitter=plan.splitter, options=plan.kinds[0],
        sampling=plan.sampling, numbers=range(first, len(plan.kind_of)),
        by_rank=not plan.by_value, n_jobs=n_jobs, verbose=plan.verbose,
    )  # fmt: skip
    return before.joined(grown) if isinstance(before, SplitterForest) else grown


def _grow_in_core(
    codes: Codes,
    data: TrainingData,
    binning: Binning,
    monotonic: NDArray[np.int8],
    plan: ForestPlan,
    first: int,
    n_jobs: int,
) -> ForestArrays:
    options = core_options(plan, first, data.weights.scale, data.weights.design_effect)
    with progress_bar("growing", plan.verbose) as progress:
        grown = _core.grow_forest(
            codes, data.labels, data.weights.as_units, binning.n_codes, binning.is_categorical,
            monotonic, options, n_jobs, progress, len(data.classes),
        )  # fmt: skip
    return wrap_forest(grown, plan, data.table.n_features, class_sizes(data))


def core_options(
    plan: ForestPlan, first: int, scale: float, design_effect: float
) -> dict[str, Any]:
    """Options of the trees from the first on, as the core takes them."""
    effect = design_effect * plan.sampling.design_effect(plan.n_rows)
    return {
        "kinds": [kind.for_core(scale, effect) for kind in plan.kinds],
        "kind_of": plan.kind_of[first:],
        "first_tree": first,
        "sampling": vars(plan.sampling),
        "value": plan.value,
        "shrinkages": plan.strengths,
        "scale": scale,
    }


def wrap_forest(
    arrays: tuple[Any, ...], plan: ForestPlan, n_features: int, sizes: NDArray[np.float64]
) -> ForestArrays:
    """Trees as the core gives them, with what the plan says of them."""
    pooled = tuple(plan.strengths) if plan.value == "monotone" else ()
    return forest_from_core(arrays, n_features, cut_weights(sizes), pooled)


def choose_strength(
    trees: Trees, rows: ForestRows, plan: ForestPlan, all_rows: bool
) -> tuple[float, float, Unseen | None]:
    """Choose the strength of the highest out-of-bag AUC or VUS, and the scale of the steps.

    With `all_rows`, also return honest out-of-bag scores of all rows.

    A score that its own row has helped to choose would flatter: each half of the rows takes
    the strength that the other half chooses.
    """
    n_rows, strengths = plan.n_rows, plan.strengths
    numbers = np.arange(0, n_rows, max(1, n_rows // CHOOSING_ROWS))
    some = rows.unseen(trees, plan.sampling, numbers, strengths)
    classes = np.arange(len(rows.sizes))

    def best(part: NDArray[np.bool_]) -> float:
        used = part & np.isfinite(some.means[:, 0])
        labels = some.labels[used]
        if len(strengths) == 1:
            return strengths[0]
        if len(np.unique(labels)) < len(classes):
            return USUAL_STRENGTH
        weight = None if some.units is None else some.units[used]
        worth = [ranking_quality(labels, m, classes, weight) for m in some.means[used].T]
        return strengths[int(np.argmax(worth))]

    chosen = best(np.ones(len(numbers), dtype=bool))
    scale = 1.0
    if len(strengths) > 1:
        scale = _scale(some, strengths.index(chosen), rows.sizes)
    if not all_rows:
        return chosen, scale, None
    second = halves(plan, numbers)
    swapped = [best(second), best(~second)]  # for the first half, the second
    everyone = np.arange(n_rows)
    seen = rows.unseen(trees, plan.sampling, everyone, [*swapped, chosen])
    base = upper_shares(rows.sizes[np.newaxis])[0] @ cut_weights(rows.sizes)
    scores = scale * _by_half(seen.means, halves(plan, everyone)) + base - 0.5
    return chosen, scale, replace(seen, means=scores[:, np.newaxis])


def _scale(some: Unseen, column: int, sizes: NDArray[np.float64]) -> float:
    """By how much to stretch the scores so that they fit the labels best, by least squares.

    Strong shrinkage may order the rows best, and leaves their shares too close together; a
    factor changes the shares and keeps the order.
    """
    worth = np.append(0.0, np.cumsum(cut_weights(sizes)))  # of each class, as the score has it
    means = some.means[:, column]
    used = np.isfinite(means)
    weight = np.ones(used.sum()) if some.units is None else some.units[used].astype(np.float64)
    target = worth[some.labels[used]] - worth @ (sizes / sizes.sum())
    spread = float(weight @ means[used] ** 2)
    if spread == 0:
        return 1.0
    return float(np.clip(weight @ (means[used] * target) / spread, *SCALES))


def halves(plan: ForestPlan, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a row is in the second of two random halves."""
    rng = np.random.default_rng([plan.sampling.seed, plan.n_rows])
    return np.asarray(rng.random(plan.n_rows) < 0.5)[rows]


def _by_half(scores: NDArray[np.float64], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """First column for one half of the rows, second for the other, on the scale of the third.

    A score keeps its rank among all rows of its column and takes the third column's score of
    that rank, so that the halves can be compared.
    """
    seen = np.isfinite(scores[:, 0])
    scale = np.sort(scores[seen, 2])
    ranks = rankdata(scores[seen, :2], axis=0) - 1.0
    own = np.where(second[seen], ranks[:, 1], ranks[:, 0])
    result = np.full(len(scores), np.nan)
    result[seen] = np.interp(own, np.arange(len(scale)), scale)
    return result
