"""Derives the options of a tree from its parameters and the size of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._growth.splitter_choice import as_splitter
from treerank._growth.splitter_trees import is_function
from treerank._growth.trees import TreeRankOptions
from treerank._input.focus import WHOLE, check_focus
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
from treerank._input.validation import Table
from treerank._leafrank import DATA_PARAMETERS, LeafRank
from treerank._select.penalty import USUAL_CONSTANTS, StructuralPenalty, check_penalty_bounds
from treerank._select.pruning import SHRINKAGES
from treerank.splitters import DyadicGrid


def plan_tree(model: Any, table: Table) -> TreeRankOptions:
    """Check the parameters, and convert them to options of the core."""
    check_choice("pruning", model.pruning, ["cv", "penalty", None])
    _penalty_constant(model)
    check_penalty_bounds(model.penalty_bounds)
    check_choice("one_standard_error", model.one_standard_error, [True, False])
    check_number("noise_limit", model.noise_limit)
    check_verbose(model.verbose)
    depth = check_integer("max_depth", model.max_depth, 1, none=True)
    n_rows, n_features = table.n_rows, table.n_features
    leafrank = leafrank_of(model)
    focus = check_focus(model.focus, n_classes=2)
    return TreeRankOptions(
        leafrank=None if leafrank is None else leafrank._options(n_rows, n_features),
        max_depth=-1 if depth is None else depth,
        min_weight_leaf=check_count_or_share("min_samples_leaf", model.min_samples_leaf, n_rows),
        min_weight_split=check_count_or_share("min_samples_split", model.min_samples_split, n_rows),
        min_auc_gain=check_number("min_auc_gain", model.min_auc_gain),
        max_features=check_max_features(model.max_features, n_features),
        seed=seed_of(model.random_state),
        missing=check_choice("missing", model.missing, ["learned", "cell_mean"]),
        focus=WHOLE if focus is None else focus.for_core,
        **tournament_of(model),
    )


def tournament_of(model: Any) -> dict[str, Any]:
    """Return the options of the tournament between the splits of a cell."""
    choices = {"tournament": ["adjacent", "all"], "tournament_gain": ["vus", "local"]}
    return {
        name: check_choice(name, getattr(model, name), among) for name, among in choices.items()
    }


def penalty_of(model: Any, n_features: int, n_classes: int) -> StructuralPenalty:
    """Return the penalty for the splitter: tests of LeafRank, or cubes of a grid."""
    if n_classes > 2:
        raise ValueError(
            f"Got pruning='penalty' with {n_classes} classes; expected two, for which "
            "its theorem holds. Use pruning='cv'."
        )
    if not isinstance(model.splitter, LeafRank | DyadicGrid | None):
        raise ValueError(
            f"Got pruning='penalty' with splitter={model.splitter!r}; expected LeafRank or "
            "DyadicGrid: the penalty counts tests or cubes. Use pruning='cv'."
        )
    return StructuralPenalty(
        constant=_penalty_constant(model),
        bounds=check_penalty_bounds(model.penalty_bounds),
        n_features=n_features,
        resolution=getattr(model.splitter, "resolution", None),
    )


def _penalty_constant(model: Any) -> float:
    if isinstance(model.penalty_constant, str):
        if model.penalty_constant != "auto":
            expected = "a finite number >= 0 or 'auto'"
            raise invalid_parameter("penalty_constant", model.penalty_constant, expected)
        return USUAL_CONSTANTS["cubes" if isinstance(model.splitter, DyadicGrid) else "tests"]
    return check_number("penalty_constant", model.penalty_constant)


def leafrank_of(model: Any) -> LeafRank | None:
    """Return the LeafRank that the core grows, or None for Python splitters."""
    splitter = LeafRank() if model.splitter is None else model.splitter
    if not isinstance(splitter, LeafRank):
        if not is_function(splitter):
            as_splitter(splitter)
        if model.monotonic_cst is not None:
            raise ValueError(
                f"Got monotonic_cst with splitter={splitter!r}; expected None: only LeafRank "
                "can keep monotone constraints."
            )
        return None
    return check_splitter(splitter, model, "TreeRank")


def shrinkages_of(model: Any) -> NDArray[np.float64]:
    """Return the amounts of shrinkage to try; NaN stands for the order of the tree."""
    if model.shrinkage is None:
        return np.array([np.nan])
    if isinstance(model.shrinkage, str):
        check_word("shrinkage", model.shrinkage, "cv", "a finite number >= 0 or None")
        return SHRINKAGES
    return np.array([check_number("shrinkage", model.shrinkage)])


def softens(model: Any) -> bool:
    """Whether the tree is grown to soft labels if there are not too many rows."""
    choice = check_choice("soft_labels", model.soft_labels, ["auto", True, False])
    has_leafrank = model.splitter is None or isinstance(model.splitter, LeafRank)
    if choice is True and not (has_leafrank and model.pruning == "cv"):
        raise ValueError(
            "Got soft_labels=True; expected LeafRank as the splitter and pruning='cv' with it."
        )
    return choice is True or (choice == "auto" and model.splitter is None and model.pruning == "cv")


def check_splitter(splitter: Any, model: Any, owner: str) -> LeafRank:
    """Check that the splitter is a LeafRank without data parameters, which its owner sets.

    A seed beside one of the owner is let be, and not used: scikit-learn's ensembles, such as
    BaggingClassifier, seed an estimator and all estimators inside it.
    """
    if not isinstance(splitter, LeafRank):
        raise ValueError(f"Got splitter={splitter!r}; expected None or a LeafRank.")
    for name in DATA_PARAMETERS:
        if name == "random_state" and model.random_state is not None:
            continue
        given = getattr(splitter, name)
        is_default = isinstance(given, str) and given in ("auto", "from_dtype", "learned")
        if given is not None and not is_default:
            expected = f"set {name} on {owner} instead"
            if not hasattr(model, name):
                expected = f"expected the default, as {owner} has no {name}"
            raise ValueError(f"Got splitter=LeafRank({name}={given!r}); {expected}.")
    return splitter
