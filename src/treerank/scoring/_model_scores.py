"""The scale of a model's scores, and where they may be cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from treerank._base import TreeRanker
from treerank._forest import RankingForest
from treerank._input.types import FittedClassifier, Floats
from treerank.scoring._grades import MAX_RANGES
from treerank.scoring._steps import candidate_cuts, cut_between


def partition_of(model: FittedClassifier) -> Any:
    """Return the strata of a tree; raise an error for other models."""
    if not isinstance(model, TreeRanker):
        raise ValueError(
            f"Got a Scorecard of a {type(model).__name__}; expected one of a TreeRank or LeafRank: "
            "many trees have no strata."
        )
    return model.partition_


def strata_scores(model: FittedClassifier) -> Floats | None:
    """Return the distinct scores of the strata of a tree, ascending; None for other models."""
    return np.unique(model.partition_.scores) if isinstance(model, TreeRanker) else None


def grade_cuts(
    model: FittedClassifier, steps: tuple[Floats, Any] | None, scores: Floats, weight: Floats
) -> Floats:
    """Return the scores at which a grade may begin: between strata, and where points change."""
    strata = strata_scores(model)
    if strata is not None:
        return cut_between(strata[:-1], strata[1:])
    cuts = candidate_cuts(scores, weight, MAX_RANGES)
    if steps is None or len(steps[0]) == 0:
        return cuts
    return np.unique(steps[0][np.searchsorted(steps[0], cuts).clip(max=len(steps[0]) - 1)])


def scale_of(model: FittedClassifier) -> str:
    """Return the scale of a model's scores, as in `Calibrator`."""
    if isinstance(model, TreeRanker):
        shares = model._posterior[:, -1]
        return "posterior" if np.allclose(model.partition_.scores + 0.5, shares) else "score"
    if isinstance(model, RankingForest):
        return "posterior" if model._ranks is None else "score"
    scores = ("score_samples", "decision_function")
    return "score" if any(hasattr(model, name) for name in scores) else "probability"
