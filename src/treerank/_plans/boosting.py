"""Derives the boosting plan from the parameters and the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._binning.category_statistics import CategoryPlan
from treerank._device.choice import device_of
from treerank._growth.boosting import BoostingPlan, ChoicePlan, TreeShape
from treerank._growth.boosting_choice import N_FOLDS
from treerank._growth.trees import check_monotonic
from treerank._input.focus import Focus, check_focus
from treerank._input.parameters import (
    check_choice,
    check_integer,
    check_max_features,
    check_n_jobs,
    check_number,
    invalid_parameter,
    is_whole,
)
from treerank._input.seed import seed_of
from treerank._input.validation import TrainingData, TrainingSize

MAX_DEPTH = 20
# For trees grown best-first: maximum depth if `max_depth` is not given, and maximum number of
# strata.
MOST_DEPTH, MOST_LEAF_NODES = 256, 2**30
# Below MANY_ROWS rows, each of five folds is held out in turn to choose the trees; below VAST_ROWS,
# FOLDS_OF_MANY of them; above, one.
MANY_ROWS, VAST_ROWS, FOLDS_OF_MANY = 5_000, 50_000, 3
# Defaults. If no rows can be held out, the number of trees is fixed; otherwise held-out rows choose
# it, up to MOST_TREES. The learning rate is larger with many rows, and while trees are chosen.
USUAL_TREES, FEW_ROWS_RATE = 200, 0.05
MOST_TREES, MANY_ROWS_RATE = 1_500, 0.1
# Minimum number of rows of the rarest class; with fewer, held-out rows would not tell enough.
LEAST_OF_CLASS = 50
# Tree sizes to choose from, and the index of the default.
SHAPES = (TreeShape(1, 1), TreeShape(1, 2), TreeShape(2, 2), TreeShape(3, 3), TreeShape(4, 4))
USUAL_SHAPE = 2
# If neither is chosen: fewer and smaller trees with two classes and fewer than LEAST_OF_CLASS rows
# of one. If the size is not chosen: deeper trees from this many rows on, and for more than two
# classes.
FEW_TREES, FEW_SHAPE = 100, SHAPES[1]
DEEP_ROWS, DEEP_SHAPE = 20_000, TreeShape(2, 3)
# L2 regularization, added to the hessian of a leaf. More than two classes need larger steps than
# two, and so do bags, whose mean is taken.
L2_OF_TWO, L2_OF_BAGS, L2_OF_MORE = 5.0, 2.0, 1.0
# Bagging of two-class tables with fewer than VAST_ROWS rows: number of bags, and minimum number of
# rows of the rarest class.
USUAL_BAGS, LEAST_TO_BAG = 10, 10
# Share of the rows of a bag that each tree is grown on, below MANY_ROWS rows and from there on.
SUBSAMPLE_OF_FEW, SUBSAMPLE_OF_MANY = 0.7, 0.85
# Maximum total weight of all rows.
LARGEST_WEIGHT = 2**52


@dataclass(frozen=True)
class BoostingSize(TrainingSize):
    """Size of the training rows, wherever they are."""

    class_rows: NDArray[np.int64]  # number of rows of each class
    weight: float  # total weight


def size_of(data: TrainingData) -> BoostingSize:
    """Return the size of rows in memory."""
    units = data.weights.as_units
    weight = data.table.n_rows if units is None else units.sum() / data.weights.scale
    return BoostingSize(data.table, data.classes, data.class_rows, float(weight))


def plan_boosting(
    model: Any, data: BoostingSize, binning: Binning, is_validated: bool
) -> BoostingPlan:
    """Check the parameters, and resolve those that depend on the data.

    `is_validated` tells whether validation rows for early stopping were given.
    """
    focus = check_focus(model.focus, len(data.classes))
    check_choice("early_stopping", model.early_stopping, [True, False])
    check_choice("leaf_values", model.leaf_values, ["stratum", "leaf"])
    check_choice("warm_start", model.warm_start, [True, False])
    stops = bool(model.early_stopping) or is_validated
    n_bags = _bags(model, data.class_rows, stops)
    patience = check_integer("n_iter_no_change", model.n_iter_no_change, 1)
    shape = _shape(model, data)
    choice = _choice(model, data, stops, focus)
    n_rounds, rate = _rounds(model, data, stops, choice)
    for name in ("min_samples_leaf", "validation_fraction"):
        if check_number(name, getattr(model, name)) == 0:
            raise invalid_parameter(name, getattr(model, name), "a number > 0")
    if model.validation_fraction >= 1:
        raise invalid_parameter(
            "validation_fraction", model.validation_fraction, "a share in (0, 1)"
        )
    least = float(model.min_samples_leaf)
    if least > LARGEST_WEIGHT:
        raise invalid_parameter("min_samples_leaf", model.min_samples_leaf, "at most 2**52")
    return BoostingPlan(
        loss=_losses(model, focus)[-1],
        n_rounds=n_rounds,
        learning_rate=rate,
        max_depth=shape.max_depth,
        leafrank_depth=shape.leafrank_depth,
        max_leaf_nodes=shape.max_leaf_nodes,
        min_samples_leaf=least if least >= 1 else least * data.weight,
        l2=_l2(model, data, n_bags),
        subsample=_subsample(model, data, n_bags),
        n_chosen=check_max_features(model.max_features, binning.n_columns),
        monotonic=binning.columns.signs(
            check_monotonic(model.monotonic_cst, data.table.names, binning)
        ),
        by_stratum=model.leaf_values == "stratum",
        patience=patience if stops else 0,
        choice=choice,
        seed=seed_of(model.random_state),
        n_jobs=check_n_jobs(model.n_jobs),
        focus=focus,
        device=device_of(model.device),
        n_bags=n_bags,
        orders_rows=n_bags > 1 and data.table.n_rows < VAST_ROWS,
    )  # fmt: skip


def _losses(model: Any, focus: Focus | None) -> tuple[str, ...]:
    """Return the losses to choose from; the last one is used if no rows are held out.

    With a focus, pairs of rows near the top mostly rank the top better than the likelihood of all
    rows does, but not always.
    """
    if model.loss != "auto":
        return (model.loss,)
    return ("logistic",) if focus is None else ("logistic", "pairwise")


def _l2(model: Any, data: BoostingSize, n_bags: int) -> float:
    """Return the L2 regularization, which is added to the hessian of a leaf."""
    usual = L2_OF_MORE if len(data.classes) > 2 else L2_OF_BAGS if n_bags > 1 else L2_OF_TWO
    return _auto_number("l2_regularization", model.l2_regularization, usual)


def _subsample(model: Any, data: BoostingSize, n_bags: int) -> float:
    """Return the proportion of the rows that each tree is grown on."""
    of_bags = SUBSAMPLE_OF_FEW if data.table.n_rows < MANY_ROWS else SUBSAMPLE_OF_MANY
    usual = of_bags if n_bags > 1 else 1.0
    share = _auto_number("subsample", model.subsample, usual)
    if not 0 < share <= 1:
        raise invalid_parameter("subsample", model.subsample, "a share in (0, 1]")
    return share


def plan_categories(model: Any, class_rows: NDArray[np.int64], is_validated: bool) -> CategoryPlan:
    """Return how categories by statistics are encoded: with few rows, differently for each bag."""
    n_bags = _bags(model, class_rows, bool(model.early_stopping) or is_validated)
    n_codings = n_bags if class_rows.sum() < VAST_ROWS else 1
    return CategoryPlan(n_codings, has_sets=model.categories == "auto")


def _bags(model: Any, class_rows: NDArray[np.int64], stops: bool) -> int:
    """Return the number of bags; by default, several unless there are very many rows."""
    rarest = int(class_rows.min())
    if _is_auto("n_bags", model.n_bags):
        is_open = _is_auto("n_estimators", model.n_estimators) and not (stops or model.warm_start)
        is_small = len(class_rows) == 2 and class_rows.sum() < VAST_ROWS
        return USUAL_BAGS if is_open and is_small and rarest >= LEAST_TO_BAG else 1
    n_bags = check_integer("n_bags", model.n_bags, 1)
    _check_bags(n_bags, stops, model.warm_start, rarest)
    return n_bags


def _check_bags(n_bags: int, stops: bool, warm_start: bool, rarest: int) -> None:
    for name, given in (("early stopping or X_val", stops), ("warm_start=True", warm_start)):
        if n_bags > 1 and given:
            raise ValueError(
                f"Got n_bags={n_bags} with {name}; expected n_bags=1: the bags of a fit have the "
                "same number of trees, which is chosen before them."
            )
    if n_bags > 1 and rarest < 2:
        raise ValueError(
            f"Got n_bags={n_bags} and one row of the rarest class; expected at least 2, since each "
            "bag leaves rows out, or n_bags=1."
        )


def _choice(model: Any, data: BoostingSize, stops: bool, focus: Focus | None) -> ChoicePlan | None:
    """Return how held-out rows choose the trees; None if parameters or few rows prevent that."""
    if not _is_auto("n_estimators", model.n_estimators):
        return None
    if model.warm_start:
        raise ValueError(
            "Got n_estimators='auto' with warm_start=True; expected a number of trees to go on to."
        )
    if stops:
        return None
    has_many = data.table.n_rows >= MANY_ROWS
    losses = _losses(model, focus)
    by_loss = len(data.classes) == 2 and "logistic" in losses
    # Otherwise the AUC decides, which is too noisy to choose the size of the trees and, with few
    # rows, their number.
    chooses_shape = by_loss or focus is not None
    if data.class_rows.min() < LEAST_OF_CLASS or not (chooses_shape or has_many):
        return None
    shapes: tuple[TreeShape, ...] = (_shape(model, data),)
    usual = 0
    if (
        chooses_shape
        and _is_auto("max_depth", model.max_depth)
        and _is_auto("leafrank_depth", model.leafrank_depth)
        and model.max_leaf_nodes is None
    ):
        shapes, usual = SHAPES, USUAL_SHAPE
    rate = _auto_number("learning_rate", model.learning_rate, MANY_ROWS_RATE)
    is_vast = data.table.n_rows >= VAST_ROWS or not chooses_shape
    n_held = 1 if is_vast else FOLDS_OF_MANY if has_many else N_FOLDS
    # Trials use the settings of a single model even if there are bags: when several models are
    # averaged, each may have more trees than it would alone.
    l2, subsample = _l2(model, data, 1), _subsample(model, data, 1)
    # Where features outnumber rows, large trees seldom win, and take long to try.
    is_wide = data.table.n_features > data.table.n_rows
    return ChoicePlan(shapes, usual, is_wide, by_loss, n_held, rate, l2, subsample, losses)


def _rounds(
    model: Any, data: BoostingSize, stops: bool, choice: ChoicePlan | None
) -> tuple[int, float]:
    """Return the maximum number of trees, and the learning rate."""
    given, rate = model.n_estimators, model.learning_rate
    if isinstance(given, str):
        usual = FEW_TREES if _has_few(model, data) else USUAL_TREES
        given = MOST_TREES if choice or stops else usual
    n_rounds = check_integer("n_estimators", given, 1)
    has_many = choice is not None and data.table.n_rows >= MANY_ROWS
    step = _auto_number("learning_rate", rate, MANY_ROWS_RATE if has_many else FEW_ROWS_RATE)
    if step == 0:
        raise invalid_parameter("learning_rate", rate, "a number > 0")
    return n_rounds, step


def _shape(model: Any, data: BoostingSize) -> TreeShape:
    """Return the given or default size of the trees."""
    is_deep = data.table.n_rows >= DEEP_ROWS or len(data.classes) > 2
    usual = DEEP_SHAPE if is_deep else SHAPES[USUAL_SHAPE]
    if _has_few(model, data):
        usual = FEW_SHAPE
    n_leaves = check_integer("max_leaf_nodes", model.max_leaf_nodes, 2, none=True)
    if n_leaves is not None:  # ordinary trees of any depth
        usual = TreeShape(min(n_leaves - 1, MOST_DEPTH), 1, min(n_leaves, MOST_LEAF_NODES))
    depths = {
        name: getattr(usual, name)
        if _is_auto(name, getattr(model, name))
        else check_depth(name, getattr(model, name))
        for name in ("max_depth", "leafrank_depth")
    }
    return usual._replace(**depths)


def _has_few(model: Any, data: BoostingSize) -> bool:
    """Whether there are so few rows of a class that trees should be few and small."""
    is_small = len(data.classes) == 2 and data.class_rows.min() < LEAST_OF_CLASS
    is_logistic = _losses(model, model.focus)[-1] == "logistic"
    return bool(is_small) and is_logistic and _is_auto("n_estimators", model.n_estimators)


def _is_auto(name: str, given: Any) -> bool:
    if isinstance(given, str) and given != "auto":
        raise invalid_parameter(name, given, "'auto' or a number")
    return isinstance(given, str)


def _auto_number(name: str, given: Any, usual: float) -> float:
    return usual if _is_auto(name, given) else check_number(name, given)


def check_depth(name: str, depth: Any) -> int:
    """Check the depth of a weak learner."""
    whole = is_whole(depth) and 1 <= depth <= MAX_DEPTH
    if not whole:
        raise invalid_parameter(name, depth, f"an integer from 1 to {MAX_DEPTH}")
    return int(depth)
