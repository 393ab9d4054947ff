"""Store RankingForest in model files."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._forest import RankingForest
from treerank._growth.forest import ForestPlan
from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._features import (
    INPUT,
    pack_input,
    unpack_input,
)
from treerank._io.model_file._grids import (
    pack_encoding,
    pack_grid_trees,
    unpack_encoding,
    unpack_grid_trees,
)
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._rank_trees import check_tests, pack_sets
from treerank._plans.forest import AGGREGATIONS
from treerank._select.plan_race import ForestChoice
from treerank._select.rank_aggregation import RankAggregation
from treerank._trees.packed_forest import ForestArrays, Sampling
from treerank._trees.ranking_tree import (
    CATEGORICAL,
    MISSING_RIGHT,
    NEXT_MASK,
    NO_CUT,
    SLOT,
    as_bytes,
    as_records,
)
from treerank._trees.splitter_forest import SplitterForest
from treerank.metrics import AucInterval, VusInterval

# Kinds of slots: the end of a walk, tests of a number that send missing values left or right, and
# tests of a category set.
END, MISSING_GOES_LEFT, MISSING_GOES_RIGHT, IN_SET = range(4)
INTERVAL = ("lower", "upper", "standard_error", "level")


def pack_forest(model: RankingForest) -> dict[str, Any]:
    """Return everything that `fit` has set."""
    packed = {
        **pack_input(model),
        "ranks": None if model._ranks is None else _pack_ranks(model._ranks),
        "growth": {
            "rows": model._plan.n_rows,
            "seed": model._plan.sampling.seed,
            "plan": _pack_choice(model.plan_),
        },
        "shrinkage": model.shrinkage_,
        "out_of_bag": None,
    }
    if isinstance(model._trees, ForestArrays):
        packed["trees"] = pack_trees(model._trees)
        packed["unfolded"] = None
        packed["importances"] = model.feature_importances_
        packed["importances_std"] = model.feature_importances_std_
        # Trees of columns would need the order of the levels, too: they are grown again.
        if isinstance(model._before_shrinkage, ForestArrays) and not model._binning.ordered:
            packed["unfolded"] = _pack_before_shrinkage(model._before_shrinkage)
    else:
        packed["grids"] = _pack_grids(model)
    if hasattr(model, "oob_decision_function_"):
        measured = getattr(model, "oob_auc_interval_", None) or model.oob_vus_interval_
        interval = asdict(measured)
        worth = interval["auc" if isinstance(measured, AucInterval) else "vus"]
        packed["out_of_bag"] = {
            "scores": model.oob_decision_function_,
            "interval": np.array([worth, *(interval[name] for name in INTERVAL)]),
        }
    return packed


def unpack_forest(node: Node, model: RankingForest) -> None:
    """Restore the attributes that `fit` had set."""
    by_grids = isinstance(node.value, dict) and "grids" in node.value
    kept = ["grids"] if by_grids else ["trees", "unfolded", "importances", "importances_std"]
    fields = node.fields(*INPUT, "ranks", "growth", "shrinkage", "out_of_bag", *kept)
    n_features = len(unpack_input(fields, model))
    n_cuts = len(model.label_order_) - 1
    model.shrinkage_ = fields["shrinkage"].number(low=0.0)
    model._encoding = model._before_shrinkage = model._ranks = None
    if by_grids:
        _unpack_grids(fields["grids"], model)
    else:
        _unpack_slots(fields, model, n_features)
    if not fields["ranks"].is_null:
        model._ranks = _unpack_ranks(fields["ranks"], model._trees.n_trees, n_cuts)
    model._plan = _unpack_plan(fields["growth"], model)
    if not fields["out_of_bag"].is_null:
        _unpack_out_of_bag(fields["out_of_bag"], model)


def _unpack_slots(fields: dict[str, Node], model: RankingForest, n_features: int) -> None:
    """Restore trees that the core has grown."""
    trees = unpack_trees(fields["trees"], model._binning, len(model.label_order_) - 1)
    model._trees = trees
    if not fields["unfolded"].is_null:
        model._before_shrinkage = _unpack_before_shrinkage(fields["unfolded"], trees)
    model.feature_importances_ = fields["importances"].array("<f8", (n_features,), low=0.0)
    model.feature_importances_std_ = fields["importances_std"].array("<f8", (n_features,), low=0.0)


def _unpack_out_of_bag(node: Node, model: RankingForest) -> None:
    fields = node.fields("scores", "interval")
    model.oob_decision_function_ = fields["scores"].array("<f8", (None,), finite=False)
    numbers = fields["interval"].array("<f8", (1 + len(INTERVAL),), low=0.0, high=1.0)
    if len(model.label_order_) == 2:
        model.oob_auc_interval_ = AucInterval(*numbers.tolist())
        model.oob_auc_ = model.oob_auc_interval_.auc
    else:
        model.oob_vus_interval_ = VusInterval(*numbers.tolist())
        model.oob_vus_ = model.oob_vus_interval_.vus


def _pack_grids(model: RankingForest) -> dict[str, Any]:
    """Return trees split by grids. Their values follow from the counts, shrinkage and scale."""
    forest = model._trees
    assert isinstance(forest, SplitterForest)
    assert model._encoding is not None
    return {
        "encoding": pack_encoding(model._encoding),
        "trees": pack_grid_trees(forest.trees),
        "by_rank": forest.by_rank,
        "cut_weights": forest.cut_weights,
        "scale": float(forest.scale),
        "warm": model._before_shrinkage is not None,
    }


def _unpack_grids(node: Node, model: RankingForest) -> None:
    fields = node.fields("encoding", "trees", "by_rank", "cut_weights", "scale", "warm")
    model._encoding = unpack_encoding(fields["encoding"], model._binning)
    n_classes = len(model.label_order_)
    trees = unpack_grid_trees(fields["trees"], model._encoding, n_classes)
    weights = fields["cut_weights"].array("<f8", (n_classes - 1,), low=0.0)
    before_shrinkage = SplitterForest(trees, fields["by_rank"].flag(), weights)
    model._trees = before_shrinkage.bake_shrinkage(
        model.shrinkage_, fields["scale"].number(low=0.0)
    )
    model._before_shrinkage = before_shrinkage if fields["warm"].flag() else None


def _pack_before_shrinkage(trees: ForestArrays) -> dict[str, Any]:
    """Return the state for warm starts: steps and weights before shrinkage is applied."""
    return {
        "step": trees.step,
        "layers": trees.layers,
        "mass": trees.weight,
        "steps": trees.steps,
        "strengths": np.array(trees.shrinkages, dtype="<f8"),
    }


def _unpack_before_shrinkage(node: Node, shrunken: ForestArrays) -> ForestArrays:
    fields = node.fields("step", "layers", "mass", "steps", "strengths")
    n, n_cuts = len(shrunken.step), len(shrunken.cut_weights)
    weight = fields["mass"].array("<f4", (n,), low=0)
    if not (weight > 0).all():
        raise fields["mass"].error("masses above 0")
    shrinkages = fields["strengths"].array("<f8", (None,), low=0.0)
    steps = None
    if not fields["steps"].is_null:
        steps = fields["steps"].array("<f4", (len(shrinkages), n_cuts, n))
    return replace(
        shrunken,
        step=fields["step"].array("<f4", (n,)),
        layers=_unpack_layers(fields["layers"], n_cuts, n),
        weight=weight,
        at_end=None,
        steps=steps,
        shrinkages=tuple(shrinkages.tolist()),
    )


def _unpack_cuts(fields: dict[str, Node], n_cuts: int | None, n: int) -> dict[str, Any]:
    """Return steps and weights of the splits of the classes in two; none for a sum of trees."""
    if n_cuts is not None:
        weights = fields["cut_weights"].array("<f8", (n_cuts,), low=0.0)
        return {"layers": _unpack_layers(fields["layers"], n_cuts, n), "cut_weights": weights}
    for name in ("layers", "cut_weights"):
        if not fields[name].is_null:
            raise fields[name].error("null")
    return {}


def _unpack_layers(node: Node, n_cuts: int, n: int) -> Any:
    """Steps for each split of the classes in two; None for two classes, and for ranks."""
    return None if node.is_null else node.array("<f4", (n_cuts, n))


def _pack_choice(choice: ForestChoice) -> dict[str, Any]:
    tried = [{"name": name, "oob_auc": auc} for name, auc in choice.oob_auc.items()]
    return {"name": choice.name, "tried": tried, "trees": choice.n_trees}


def _unpack_choice(node: Node) -> ForestChoice:
    fields = node.fields("name", "tried", "trees")
    tried = [item.fields("name", "oob_auc") for item in fields["tried"].items()]
    oob_auc = {item["name"].text(): item["oob_auc"].number(0.0, 1.0) for item in tried}
    return ForestChoice(fields["name"].text(), oob_auc, fields["trees"].integer(0, 2**31))


def _unpack_plan(node: Node, model: RankingForest) -> ForestPlan:
    """Return what a warm start needs to know of the last fit; parameters give the rest."""
    fields = node.fields("rows", "seed", optional=["plan"])
    model.plan_ = ForestChoice("not known", {}, 0)  # not written by version 0.1.0
    if "plan" in fields:
        model.plan_ = _unpack_choice(fields["plan"])
    return ForestPlan(
        name=model.plan_.name,
        kinds=[],
        splitter=None,
        kind_of=np.empty(0, dtype=np.uint8),
        sampling=Sampling(False, 0, fields["seed"].integer(0, 2**64 - 1)),
        value="path" if model._ranks is None else "rank",
        shrinkages=[model.shrinkage_],
        n_rows=fields["rows"].integer(1, 2**40),
        verbose=0,
    )


def pack_trees(trees: ForestArrays) -> dict[str, Any]:
    """Slots of all trees, column by column."""
    slots = as_records(trees.slots, SLOT)
    is_end = slots["cut"] == NO_CUT
    in_set = (slots["next"] & CATEGORICAL) != 0
    shift = ((slots["next"] & MISSING_RIGHT) != 0) & ~in_set
    kind = np.where(shift, MISSING_GOES_RIGHT, MISSING_GOES_LEFT)
    kind = np.where(is_end, END, np.where(in_set, IN_SET, kind)).astype("|u1")
    cut = np.where(is_end | in_set, 0, slots["cut"].astype(np.int64) + shift)
    return {
        "starts": trees.starts,
        "kind": kind,
        "feature": np.where(is_end, 0, slots["feature"]).astype("<u2"),
        "cut": cut.astype("<u2"),
        "next": (slots["next"] & NEXT_MASK).astype("<u4"),
        "set": trees.set_of,
        "category_sets": pack_sets(trees.category_sets),
        "step": trees.step,
        "layers": trees.layers,
        "cut_weights": trees.cut_weights,
        "at_end": trees.at_end,
        "importance": trees.importance,
        "left_share": trees.left_share,
    }


def unpack_trees(node: Node, binning: Binning, n_cuts: int | None) -> ForestArrays:
    """Reverse of `pack_trees`. Checks that every walk stays inside the arrays and ends.

    `n_cuts` is the number of splits of the classes in two; None for trees that are summed.
    """
    fields = node.fields(
        "starts", "kind", "feature", "cut", "next", "set", "category_sets", "step", "layers",
        "cut_weights", "at_end", "importance", optional=("left_share",),
    )  # fmt: skip
    starts = fields["starts"].array("<i8", (None,))
    n_trees = len(starts) - 1
    if n_trees < 1 or starts[0] != 0 or not (np.diff(starts) > 0).all():
        raise fields["starts"].error("ascending starts from 0")
    n = int(starts[-1])
    kind = fields["kind"].array("|u1", (n,), high=IN_SET)
    feature = fields["feature"].array("<u2", (n,)).astype(np.int64)
    cut = fields["cut"].array("<u2", (n,)).astype(np.int64)
    follows = fields["next"].array("<u4", (n,)).astype(np.int64)
    set_of = fields["set"].array("<i4", (None,))
    if len(set_of) not in (0, n):
        raise fields["set"].error("a set for each slot, or none")
    sets = fields["category_sets"].array("<u4", (None, 8))
    _check_walks(starts, kind, follows, node)
    asks = kind != END
    in_set = kind == IN_SET
    if in_set.any() and len(set_of) == 0:
        raise fields["set"].error("a set for each slot")
    check_tests(
        feature[asks], cut[asks], in_set[asks].astype(np.uint8),
        (kind[asks] == MISSING_GOES_LEFT).astype(np.uint8),
        set_of[asks] if len(set_of) else np.full(int(asks.sum()), -1), sets, binning, node,
    )  # fmt: skip
    shift = kind == MISSING_GOES_RIGHT
    slots = np.zeros(n, dtype=SLOT)
    slots["next"] = follows
    slots["next"] |= np.where(shift, MISSING_RIGHT, 0).astype(np.uint32)
    slots["next"] |= np.where(in_set, CATEGORICAL, 0).astype(np.uint32)
    slots["feature"] = np.where(asks, feature, 0)
    slots["cut"] = np.where(asks, np.where(in_set, 0, cut - shift), NO_CUT)
    return ForestArrays(
        starts=starts,
        slots=as_bytes(slots),
        step=fields["step"].array("<f4", (n,)),
        **_unpack_cuts(fields, n_cuts, n),
        weight=None,
        set_of=set_of,
        category_sets=as_bytes(sets),
        importance=fields["importance"].array("<f8", (n_trees, len(binning.levels)), low=0.0),
        at_end=fields["at_end"].array("|u1", (n_trees,), high=1),
        left_share=_unpack_shares(fields.get("left_share"), n),
    )


def _unpack_shares(node: Node | None, n: int) -> Any:
    """Share of the weight that each slot sends left; not written by version 0.1.0."""
    return None if node is None or node.is_null else node.array("<f4", (n,), low=0.0, high=1.0)


def _check_walks(
    starts: NDArray[np.int64], kind: NDArray[np.uint8], follows: NDArray[np.int64], node: Node
) -> None:
    """Check that walks go forward within their tree, and end at slots that point to themselves."""
    own = np.arange(len(kind)) - np.repeat(starts[:-1], np.diff(starts))
    size = np.repeat(np.diff(starts), np.diff(starts))
    ends = kind == END
    if size.max() > int(NEXT_MASK):
        raise ModelFileError(f"Got a tree at {node.path} with too many slots.")
    if (follows[ends] != own[ends]).any():
        raise ModelFileError(f"Got a walk at {node.path} that does not end where it says.")
    on = ~ends
    if (follows[on] <= own[on]).any() or (follows[on] + 1 >= size[on]).any():
        raise ModelFileError(f"Got a walk at {node.path} that leaves its tree.")


def _pack_ranks(ranks: RankAggregation) -> dict[str, Any]:
    names = ("reference", "places", "knots", "shares")
    packed: dict[str, Any] = {name: getattr(ranks, name) for name in names}
    return {"kind": ranks.kind, "cut": ranks.cut, **packed}


def _unpack_ranks(node: Node, n_trees: int, n_cuts: int) -> RankAggregation:
    fields = node.fields("kind", "cut", "reference", "places", "knots", "shares")
    kind = fields["kind"].choice(*AGGREGATIONS[1:])
    reference = fields["reference"].array("<f4", (n_trees, None))
    if (reference.shape[1] > 0) != (kind == "kendall"):
        raise fields["reference"].error("reference rows for 'kendall', and for it alone")
    knots = fields["knots"].array("<f8", (None,))
    if len(knots) < 1 or (np.diff(knots) < 0).any():
        raise fields["knots"].error("one or more knots, ascending")
    return RankAggregation(
        kind=kind,
        reference=np.ascontiguousarray(reference),
        places=fields["places"].array("<f8", (reference.shape[1],)),
        knots=knots,
        shares=fields["shares"].array("<f8", (n_cuts, len(knots)), low=0.0, high=1.0),
        cut=fields["cut"].number(),
        training_scores=np.empty(0),
    )
