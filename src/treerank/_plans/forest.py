"""Derives the plan of a forest, and alternatives to it, from parameters and size of the data."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from treerank._binning.binning import Binning
from treerank._binning.category_statistics import CategoryPlan
from treerank._growth.forest import ForestPlan
from treerank._growth.forest_codings import TREES_PER_CODING
from treerank._growth.splitter_choice import as_splitter
from treerank._growth.splitter_trees import is_function
from treerank._growth.trees import LeafRankOptions, TreeRankOptions
from treerank._input.focus import Focus, check_focus
from treerank._input.parameters import (
    check_choice,
    check_count_or_share,
    check_integer,
    check_max_features,
    check_number,
    check_verbose,
    check_word,
    invalid_parameter,
)
from treerank._input.seed import seed_of
from treerank._input.validation import TrainingSize
from treerank._leafrank import LeafRank
from treerank._plans.treerank import check_splitter, tournament_of
from treerank._trees.packed_forest import Sampling

AGGREGATIONS = ["posterior", "mean_rank", "median_rank", "kendall"]
# Amounts of shrinkage that "oob" chooses from.
SHRINKAGES = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
# From this many rows on, each tree is a single fully grown LeafRank tree.
WHOLE_TREES = 20_000
# Up to twice this many rows, half of the trees have random cuts; beyond, RANDOM_CUT_ROWS / n_rows.
RANDOM_CUT_ROWS = 5_000
# From RIVAL_ROWS rows on, other plans may be better, which out-of-bag rows decide. With fewer than
# RIVAL_TREES trees, the comparison would cost more than it gains. Merged cells take too long from
# MERGED_ROWS rows on.
RIVAL_ROWS, RIVAL_TREES, MERGED_ROWS = 10_000, 32, 50_000
# Below CODED_ROWS rows, categories by statistics have up to N_CODINGS codings, by other folds.
N_CODINGS, CODED_ROWS = 25, 50_000
# Features are weighted up to WEIGHED_FEATURES of them, below WEIGHED_ROWS rows, where each
# contributes noise that can be removed, and in larger tables if levels are ordered by statistics.
WEIGHED_ROWS, WEIGHED_FEATURES = 10_000, 200
# Default depth and minimum number of rows for splitters other than LeafRank, as in TreeRank.
SPLITTER_LIMITS = 10, 5


@dataclass(frozen=True)
class Recipe:
    """How the trees of a forest with default parameters are grown."""

    name: str
    splitter: LeafRank
    random_cut_share: Any = "auto"


def plan_forest(
    forest: Any, data: TrainingSize, monotonic: NDArray[np.int8], seed: int | None = None
) -> list[ForestPlan]:
    """Check the parameters of a forest, and resolve those that depend on the size of the data.

    The first plan is the default; any others are alternatives to compare with it. `monotonic` has
    the constraints of the columns that trees are grown on.
    """
    n_rows, n_columns = data.table.n_rows, len(monotonic)
    check_choice("aggregation", forest.aggregation, AGGREGATIONS)
    check_choice("bootstrap", forest.bootstrap, [True, False])
    check_choice("oob_score", forest.oob_score, [True, False])
    n_trees = check_integer("n_estimators", forest.n_estimators, 1)
    focus = check_focus(forest.focus, len(data.classes))
    sampling = _sampling(forest, n_rows, seed_of(forest.random_state) if seed is None else seed)
    by_rank = forest.aggregation != "posterior"
    value = "rank" if by_rank else "monotone" if monotonic.any() else "path"
    if forest.oob_score and not sampling.leaves_rows_out(n_rows):
        raise ValueError(
            "Got oob_score=True with bootstrap=False; expected bootstrap=True, or max_samples "
            "below the number of rows, so that trees leave rows out."
        )
    splitter = _other_splitter(forest, monotonic)
    usual = default_recipe(n_rows, value, len(data.classes))
    plans = []
    for recipe in [usual, *_rivals(forest, data, n_trees, sampling, value)]:
        if splitter is None:
            kinds = _kinds(forest, n_rows, n_columns, value, sampling.seed, recipe.splitter)
            share = forest.random_cut_share if recipe is usual else recipe.random_cut_share
        else:
            limits = _tree_options(forest, n_rows, n_columns, sampling.seed, None, *SPLITTER_LIMITS)
            kinds, share = [limits], 0.0
        plans.append(
            ForestPlan(
                name=recipe.name if forest.splitter is None else "the given splitter",
                kinds=kinds,
                splitter=splitter,
                kind_of=_kind_of(share, n_trees, n_rows),
                sampling=sampling,
                value=value,
                shrinkages=_shrinkages(forest, value, sampling.leaves_rows_out(n_rows)),
                n_rows=n_rows,
                verbose=check_verbose(forest.verbose),
                focus=focus,
                may_weigh_features=_may_weigh_features(forest, data, splitter, value, focus),
            )
        )
    return plans


def plan_categories(forest: Any, class_rows: NDArray[np.int64]) -> CategoryPlan:
    """Return how categories by statistics are encoded; the trees share out the codings.

    With few rows, there are at least two of them, so that the statistics do not depend on the
    number of trees. A consensus of ranks needs the same codes for all trees: they have no sets,
    since trees that see both an order and sets make the out-of-bag AUC too high.
    """
    n_trees = check_integer("n_estimators", forest.n_estimators, 1)
    if forest.aggregation != "posterior":
        return CategoryPlan()
    has_sets = forest.categories == "auto"
    if class_rows.sum() >= CODED_ROWS:
        return CategoryPlan(1, has_sets)
    return CategoryPlan(min(N_CODINGS, max(2, -(-n_trees // TREES_PER_CODING))), has_sets)


def weighs_features(plan: ForestPlan, binning: Binning) -> bool:
    """Whether out-of-bag rows determine weights of the features."""
    has_few = plan.n_rows < WEIGHED_ROWS
    return plan.may_weigh_features and (has_few or bool(binning.ordered))


def _may_weigh_features(
    forest: Any, data: TrainingSize, splitter: Any, value: str, focus: Focus | None
) -> bool:
    """Whether the parameters and the number of features allow weights of the features."""
    return (
        isinstance(forest.shrinkage, str)
        and splitter is None
        and value == "path"
        and focus is None
        and len(data.classes) == 2
        and data.table.n_features <= WEIGHED_FEATURES
    )


def _rivals(
    forest: Any, data: TrainingSize, n_trees: int, sampling: Sampling, value: str
) -> list[Recipe]:
    """Return alternatives to the default recipe, if parameters and out-of-bag rows allow them."""
    n_rows = data.table.n_rows
    nothing = (forest.splitter, forest.min_samples_leaf, forest.max_features)
    sizes = (forest.max_depth, forest.random_cut_share, forest.shrinkage)
    is_silent = all(given is None for given in nothing) and all(
        isinstance(given, str) and given == usual_value
        for given, usual_value in zip(sizes, ("auto", "auto", "oob"), strict=True)
    )
    if not is_silent or forest.warm_start or value != "path":
        return []
    if not sampling.leaves_rows_out(n_rows) or len(data.classes) > 2:
        return []
    if n_rows < RIVAL_ROWS or n_trees < RIVAL_TREES:
        return []
    rivals = [
        Recipe(
            "deep trees, 0.8 of the features, half of them with random cuts",
            LeafRank(max_depth=None, min_samples_leaf=1, max_features=0.8),
            0.5,
        )
    ]
    if n_rows < MERGED_ROWS:
        merged = LeafRank(max_depth=3, min_samples_leaf=3, max_features=0.5)
        rivals.append(Recipe("merged cells, half of the features", merged))
    else:
        deep = LeafRank(max_depth=None, min_samples_leaf=1, max_features=0.5)
        rivals.append(Recipe("deep trees, half of the features", deep))
    return rivals


def _sampling(forest: Any, n_rows: int, seed: int) -> Sampling:
    given = forest.max_samples
    if given is None:
        return Sampling(bool(forest.bootstrap), n_rows if forest.bootstrap else 0, seed)
    expected = f"None, an integer from 2 to {n_rows} (the rows), or a share in (0, 1]"
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise invalid_parameter("max_samples", given, expected)
    if isinstance(given, numbers.Integral):
        n_draws = int(given)
    else:
        if not 0 < float(given) <= 1:
            raise invalid_parameter("max_samples", given, expected)
        n_draws = round(float(given) * n_rows)
    if n_draws < 2:
        raise ValueError(
            f"Got max_samples={given!r}, which draws {n_draws} of {n_rows} rows: too few to hold "
            f"both classes; expected {expected}."
        )
    if n_draws > n_rows:
        raise invalid_parameter("max_samples", given, expected)
    return Sampling(bool(forest.bootstrap), n_draws, seed)


def _kind_of(share: Any, n_trees: int, n_rows: int) -> NDArray[np.uint8]:
    """Return 1 for each tree with random cuts and 0 for the others, evenly interleaved."""
    if isinstance(share, str):
        check_choice("random_cut_share", share, ["auto"])
        share = min(0.5, RANDOM_CUT_ROWS / n_rows)
    share = check_number("random_cut_share", share)
    if share > 1:
        raise invalid_parameter("random_cut_share", share, "a share from 0 to 1")
    steps = np.floor(np.arange(n_trees + 1) * share + 1e-9)
    return np.asarray(np.diff(steps), dtype=np.uint8)


def _shrinkages(forest: Any, value: str, leaves_rows_out: bool) -> list[float]:
    given = forest.shrinkage
    if given is None:
        return [0.0]
    if not isinstance(given, str):
        return [check_number("shrinkage", given)]
    check_word("shrinkage", given, "oob", "a finite number >= 0 or None")
    if value == "rank":
        return [0.0]
    if not leaves_rows_out:
        raise ValueError(
            "Got shrinkage='oob' with bootstrap=False; expected bootstrap=True, max_samples below "
            "the number of rows, or a number for shrinkage."
        )
    return SHRINKAGES


def default_recipe(n_rows: int, value: str, n_classes: int) -> Recipe:
    """Return the default recipe for the size of the data and the kind of value of a tree.

    With few rows, trees are better if cells are merged and split again; from WHOLE_TREES rows on, a
    single fully grown LeafRank tree is as good, several times faster, and smaller. Ranks and
    monotone values are constant on strata, however, and a single split makes only two strata. With
    more than two classes, a single split separates only two of them.
    """
    if n_rows >= WHOLE_TREES and value == "path" and n_classes == 2:
        deep = LeafRank(max_depth=None, min_samples_leaf=3, max_features="sqrt")
        return Recipe("deep trees, a square root of the features", deep)
    merged = LeafRank(max_depth=3, min_samples_leaf=3, max_features="sqrt")
    return Recipe("merged cells, a square root of the features", merged)


def _kinds(
    forest: Any, n_rows: int, n_columns: int, value: str, seed: int, usual: LeafRank
) -> list[TreeRankOptions]:
    """Return the options of the exact trees and of those with random cuts."""
    splitter, leaf = forest.splitter, forest.min_samples_leaf
    if splitter is None:
        splitter = clone(usual)
        if leaf is not None:
            splitter.set_params(min_samples_leaf=leaf)
    exact = check_splitter(splitter, forest, "RankingForest")._options(n_rows, n_columns)
    if exact.pruning:
        raise ValueError(
            "Got splitter=LeafRank(pruning='cv') in a RankingForest; expected pruning=None: a row "
            "drawn twice would be on both sides of a fold, and forests live on deep trees."
        )
    is_whole = exact.max_depth < 0 and exact.max_leaf_nodes < 0 and value == "path"
    depth = 1 if is_whole else None
    options = _tree_options(forest, n_rows, n_columns, seed, exact, depth, 1)
    return [options, replace(options, leafrank=replace(exact, random_cuts=True))]


def _other_splitter(forest: Any, monotonic: NDArray[np.int8]) -> Any:
    """Return the splitter of the forest, or None if it is LeafRank."""
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


def _tree_options(
    forest: Any,
    n_rows: int,
    n_columns: int,
    seed: int,
    leafrank: LeafRankOptions | None,
    usual_depth: int | None,
    usual_leaf: int,
) -> TreeRankOptions:
    """Return the limits of a tree; without `leafrank`, its cells are split in Python."""
    depth, leaf = forest.max_depth, forest.min_samples_leaf
    if isinstance(depth, str):
        check_word("max_depth", depth, "auto", "an integer >= 1 or None")
        depth = usual_depth
    checked = check_integer("max_depth", depth, 1, none=True)
    return TreeRankOptions(
        leafrank=leafrank,
        max_depth=-1 if checked is None else checked,
        min_weight_leaf=check_count_or_share(
            "min_samples_leaf", usual_leaf if leaf is None else leaf, n_rows
        ),
        min_weight_split=2.0,
        min_auc_gain=0.0,
        max_features=check_max_features(forest.max_features, n_columns),
        seed=seed,
        **tournament_of(forest),
    )
