"""Store BoostedTreeRank in model files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._boosting import BoostedTreeRank
from treerank._growth.boosting_choice import BoostingChoice
from treerank._growth.losses import LOSS_NAMES
from treerank._input.parameters import is_whole
from treerank._io.model_file._features import (
    INPUT,
    pack_input,
    unpack_input,
)
from treerank._io.model_file._forests import pack_trees, unpack_trees
from treerank._io.model_file._nodes import Node
from treerank._plans.boosting import MOST_DEPTH, MOST_LEAF_NODES

MOST_BAGS = 2**31 - 1


def pack_boosted(model: BoostedTreeRank) -> dict[str, Any]:
    """Return everything that `fit` has set."""
    packed = {
        **pack_input(model),
        "loss": model.loss_,
        "start": float(model._start),
        "trees": None if model._trees is None else pack_trees(model._trees),
        "slopes": model._slopes,
        "intercepts": model._intercepts,
        "importances": model.feature_importances_,
        "validation_scores": getattr(model, "validation_scores_", None),
        "plan": _pack_choice(model),
    }
    if model.n_bags_ > 1:
        packed |= {"bags": model.n_bags_, "bag_sizes": model._bag_sizes}
    return packed


def unpack_boosted(node: Node, model: BoostedTreeRank) -> None:
    """Restore the attributes that `fit` had set."""
    fields = node.fields(
        *INPUT, "loss", "start", "trees", "slopes", "intercepts", "importances",
        "validation_scores", optional=["plan", "bags", "bag_sizes"],
    )  # fmt: skip
    n_features = len(unpack_input(fields, model))
    n_cuts = len(model.label_order_) - 1
    model.loss_ = fields["loss"].choice(*LOSS_NAMES)
    model._start = fields["start"].number()
    model._trees = None
    if not fields["trees"].is_null:
        model._trees = unpack_trees(fields["trees"], model._binning, None)
    model.n_bags_ = _unpack_bags(fields, model)
    model._bag_sizes = _unpack_bag_sizes(fields, model)
    model.n_estimators_ = int(model._bag_sizes.max())
    # Slopes are not negative: probabilities must not fall as the score rises.
    model._slopes = fields["slopes"].array("<f8", (n_cuts,), low=0.0)
    model._intercepts = fields["intercepts"].array("<f8", (n_cuts,))
    model.feature_importances_ = fields["importances"].array("<f8", (n_features,), low=0.0)
    if not fields["validation_scores"].is_null:
        scores = fields["validation_scores"].array("<f8", (None,), low=0.0, high=1.0)
        model.validation_scores_ = scores
    if "plan" in fields and not fields["plan"].is_null:  # not written by version 0.1.0
        model.plan_ = _unpack_choice(fields["plan"])


def _unpack_bags(fields: dict[str, Node], model: BoostedTreeRank) -> int:
    """Number of bags. Older files store it as a parameter only."""
    if "bags" in fields:
        return fields["bags"].integer(1, MOST_BAGS)
    if isinstance(model.n_bags, str):
        return 1
    if not is_whole(model.n_bags) or not 1 <= model.n_bags <= MOST_BAGS:
        raise fields["trees"].error(f"n_bags from 1 to {MOST_BAGS}, not {model.n_bags!r}")
    return int(model.n_bags)


def _unpack_bag_sizes(fields: dict[str, Node], model: BoostedTreeRank) -> NDArray[np.int64]:
    """Number of trees of each bag; older files have bags of the same size, but for the last."""
    n_trees = 0 if model._trees is None else model._trees.n_trees
    if "bag_sizes" not in fields:
        size = -(-n_trees // model.n_bags_)
        return np.diff(np.minimum(np.arange(model.n_bags_ + 1) * size, n_trees))
    sizes = fields["bag_sizes"].array("<i8", (model.n_bags_,), low=0)
    if sizes.sum() != n_trees:
        raise fields["bag_sizes"].error("as many trees as there are")
    return sizes


def _pack_choice(model: BoostedTreeRank) -> dict[str, Any] | None:
    if not hasattr(model, "plan_"):
        return None
    choice = model.plan_
    tried = [
        {"size": list(size), "loss": loss, "trees": choice.n_trees[size]}
        for size, loss in choice.held_out_loss.items()
    ]
    packed: dict[str, Any] = {"size": [choice.max_depth, choice.leafrank_depth], "tried": tried}
    if choice.max_leaf_nodes is not None:
        packed["leaves"] = choice.max_leaf_nodes
    return packed | ({"top": choice.held_out_top_loss} if choice.held_out_top_loss else {})


def _unpack_choice(node: Node) -> BoostingChoice:
    fields = node.fields("size", "tried", optional=["top", "leaves"])
    tried = [item.fields("size", "loss", "trees") for item in fields["tried"].items()]
    sizes = [_unpack_size(item["size"]) for item in tried]
    return BoostingChoice(
        *_unpack_size(fields["size"]),
        {size: item["loss"].number(0.0) for size, item in zip(sizes, tried, strict=True)},
        {size: item["trees"].integer(1, 2**31) for size, item in zip(sizes, tried, strict=True)},
        _unpack_top_losses(fields["top"]) if "top" in fields else {},
        fields["leaves"].integer(2, MOST_LEAF_NODES) if "leaves" in fields else None,
    )


def _unpack_top_losses(node: Node) -> dict[str, float]:
    """Held-out loss at the top for each loss that was tried with a focus."""
    fields = node.fields(optional=list(LOSS_NAMES))
    return {loss: item.number(0.0) for loss, item in fields.items()}


def _unpack_size(node: Node) -> tuple[int, int]:
    depths = [item.integer(1, MOST_DEPTH) for item in node.items()]
    if len(depths) != 2:
        raise node.error("two depths")
    return depths[0], depths[1]
