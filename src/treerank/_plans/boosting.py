"""What boosting is to be, made of its parameters and the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
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
# Of trees whose best cells are split first, where `max_depth` does not say; and of their strata.
MOST_DEPTH, MOST_LEAF_NODES = 256, 2**30
# Below this many rows five folds take turns to choose the trees; then three, and then one.
MANY_ROWS, VAST_ROWS, FOLDS_OF_MANY = 5_000, 50_000, 3
# Defaults: a fixed number of trees and step size where no rows can be held out; else as many
# trees as those ask for, up to a limit. Of many rows the steps are larger, and so they are while
# trees are being chosen.
USUAL_TREES, FEW_ROWS_RATE = 200, 0.05
MOST_TREES, MANY_ROWS_RATE = 1_500, 0.1
# Of the rarest class, or the rows held out would say too little.
LEAST_OF_CLASS = 50
# Sizes of trees to choose from, and the place of the usual one.
SHAPES = (TreeShape(1, 1), TreeShape(1, 2), TreeShape(2, 2), TreeShape(3, 3), TreeShape(4, 4))
USUAL_SHAPE = 2
# Where nothing chooses: from this many rows on, and beyond two classes, deeper trees than usual.
DEEP_ROWS, DEEP_SHAPE = 20_000, TreeShape(2, 3)
# Added to the curvature of a leaf: grades ask for larger steps than two classes do, and so do
# models whose mean is taken.
L2_OF_TWO, L2_OF_BAGS, L2_OF_MORE = 5.0, 2.0, 1.0
# Bags of small tables with two classes: how many, the share of their rows that each tree is grown
# on, and how many rows of the rarest class a table needs.
BAGS_OF_FEW, SUBSAMPLE_OF_BAGS, LEAST_TO_BAG = 5, 0.7, 10
# That all rows together can have.
LARGEST_WEIGHT = 2**52


@dataclass(frozen=True)
class BoostingSize(TrainingSize):
    """What is known of the training rows, wherever they are."""

    class_rows: NDArray[np.int64]  # rows of each class
    weight: float  # of all rows


def size_of(data: TrainingData) -> BoostingSize:
    """Size of rows in memory."""
    units = data.weights.as_units
    weight = data.table.n_rows if units is None else units.sum() / data.weights.scale
    return BoostingSize(data.table, data.classes, data.class_rows, float(weight))


def plan_boosting(
    model: Any, data: BoostingSize, binning: Binning, is_validated: bool
) -> BoostingPlan:
    """Check the parameters and fill in what follows the data.

    `is_validated`: rows are given that say when to stop.
    """
    focus = check_focus(model.focus, len(data.classes))
    check_choice("early_stopping", model.early_stopping, [True, False])
    check_choice("leaf_values", model.leaf_values, ["stratum", "leaf"])
    check_choice("warm_start", model.warm_start, [True, False])
    stops = bool(model.early_stopping) or is_validated
    n_bags = _bags(model, data, stops)
    patience = check_integer("n_iter_no_change", model.n_iter_no_change, 1)
    assert patience is not None
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
        subsample=_subsample(model, n_bags),
        n_chosen=check_max_features("max_features", model.max_features, data.table.n_features),
        monotonic=check_monotonic(model.monotonic_cst, data.table.names, binning),
        by_stratum=model.leaf_values == "stratum",
        patience=patience if stops else 0,
        choice=choice,
        seed=seed_of(model.random_state),
        n_jobs=check_n_jobs(model.n_jobs),
        focus=focus,
        device=device_of(model.device),
        n_bags=n_bags,
        orders_rows=n_bags > 1 and data.table.n_rows < MANY_ROWS,
    )  # fmt: skip


def _losses(model: Any, focus: Focus | None) -> tuple[str, ...]:
    """Losses to choose from with a focus; where nothing chooses, it is the last.

    Pairs of the top mostly do better there than the likelihood of all rows, but not always.
    """
    if model.loss != "auto":
        return (model.loss,)
    return ("logistic",) if focus is None else ("logistic", "pairwise")


def _l2(model: Any, data: BoostingSize, n_bags: int) -> float:
    """Added to the curvature of a leaf."""
    usual = L2_OF_MORE if len(data.classes) > 2 else L2_OF_BAGS if n_bags > 1 else L2_OF_TWO
    return _auto_number("l2_regularization", model.l2_regularization, usual)


def _subsample(model: Any, n_bags: int) -> float:
    """Share of the rows that a tree is grown on."""
    usual = SUBSAMPLE_OF_BAGS if n_bags > 1 else 1.0
    share = _auto_number("subsample", model.subsample, usual)
    if not 0 < share <= 1:
        raise invalid_parameter("subsample", model.subsample, "a share in (0, 1]")
    return share


def _bags(model: Any, data: BoostingSize, stops: bool) -> int:
    """Number of bags; where nothing is said of them, several for few rows of two classes."""
    rarest = int(data.class_rows.min())
    if _is_auto("n_bags", model.n_bags):
        is_open = _is_auto("n_estimators", model.n_estimators) and not (stops or model.warm_start)
        is_small = len(data.classes) == 2 and data.table.n_rows < MANY_ROWS
        return BAGS_OF_FEW if is_open and is_small and rarest >= LEAST_TO_BAG else 1
    n_bags = check_integer("n_bags", model.n_bags, 1)
    assert n_bags is not None
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
    """How rows held out are to choose the trees; None: the parameters or few rows forbid it."""
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
    # Other AUCs are too noisy to choose the size of trees, and the number where rows are few.
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
    # The rows held out judge models that stand alone, whether there will be bags or not: each of
    # several may have more trees than alone.
    l2, subsample = _l2(model, data, 1), _subsample(model, 1)
    return ChoicePlan(shapes, usual, by_loss, n_held, rate, l2, subsample, losses)


def _rounds(
    model: Any, data: BoostingSize, stops: bool, choice: ChoicePlan | None
) -> tuple[int, float]:
    """Trees at most, and the learning rate."""
    given, rate = model.n_estimators, model.learning_rate
    if isinstance(given, str):
        given = MOST_TREES if choice or stops else USUAL_TREES
    n_rounds = check_integer("n_estimators", given, 1)
    assert n_rounds is not None
    has_many = choice is not None and data.table.n_rows >= MANY_ROWS
    step = _auto_number("learning_rate", rate, MANY_ROWS_RATE if has_many else FEW_ROWS_RATE)
    if step == 0:
        raise invalid_parameter("learning_rate", rate, "a number > 0")
    return n_rounds, step


def _shape(model: Any, data: BoostingSize) -> TreeShape:
    """Size of the trees that is given, or usual."""
    is_deep = data.table.n_rows >= DEEP_ROWS or len(data.classes) > 2
    usual = DEEP_SHAPE if is_deep else SHAPES[USUAL_SHAPE]
    n_leaves = check_integer("max_leaf_nodes", model.max_leaf_nodes, 2, none=True)
    if n_leaves is not None:  # ordinary trees, as deep as they become
        usual = TreeShape(min(n_leaves - 1, MOST_DEPTH), 1, min(n_leaves, MOST_LEAF_NODES))
    depths = {
        name: getattr(usual, name)
        if _is_auto(name, getattr(model, name))
        else check_depth(name, getattr(model, name))
        for name in ("max_depth", "leafrank_depth")
    }
    return usual._replace(**depths)


def _is_auto(name: str, given: Any) -> bool:
    if isinstance(given, str):
        check_choice(name, given, ["auto"])
        return True
    return False


def _auto_number(name: str, given: Any, usual: float) -> float:
    return usual if _is_auto(name, given) else check_number(name, given)


def check_depth(name: str, depth: Any) -> int:
    """Return the depth of a weak learner, which is shallow by its nature."""
    whole = is_whole(depth) and 1 <= depth <= MAX_DEPTH
    if not whole:
        raise invalid_parameter(name, depth, f"an integer from 1 to {MAX_DEPTH}")
    return int(depth)
