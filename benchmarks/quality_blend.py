"""Whether a blend of forest and boosting ranks better than the better of the two."""

from collections.abc import Iterable
from functools import partial
from statistics import mean
from textwrap import fill
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from benchmarks.common import fingerprint, remember
from treerank import BoostedTreeRank, RankingForest

FOREST, BOOSTING = "RankingForest", "BoostedTreeRank"
BLEND, BAGGED_BLEND = "mean of their ranks", "the same with boosting bagged"
N_BAGS, BAG_SHARE = 4, 0.7
# A class of its own has to bring this much.
WORTH_A_CLASS = 0.001


def blend(X: Any, y: Any, folds: Iterable[tuple[Any, Any]]) -> dict[str, float]:
    """AUC of the two, and of the mean of their ranks, over the folds."""
    found = []
    for train, test in folds:
        rows, new = X.iloc[train], X.iloc[test]
        bags = [
            BoostedTreeRank(n_bags=1, subsample=BAG_SHARE, random_state=s) for s in range(N_BAGS)
        ]
        forest = RankingForest().fit(rows, y[train]).score_samples(new)
        boosted = BoostedTreeRank().fit(rows, y[train]).score_samples(new)
        bagged = np.mean([bag.fit(rows, y[train]).score_samples(new) for bag in bags], axis=0)
        scores = {
            FOREST: forest, BOOSTING: boosted,
            BLEND: rankdata(forest) + rankdata(boosted),
            BAGGED_BLEND: rankdata(forest) + rankdata(bagged),
        }  # fmt: skip
        found.append({name: float(roc_auc_score(y[test], s)) for name, s in scores.items()})
    return {name: mean(fold[name] for fold in found) for name in found[0]}


def remember_blend(key: str, X: Any, y: Any, folds: list[tuple[Any, Any]]) -> dict[str, float]:
    """Return `blend`, from the cache where it has been measured with this code."""
    measured: dict[str, float] = remember(
        f"{key}-blend-{fingerprint()}", partial(blend, X, y, folds)
    )
    return measured


def verdict(blends: dict[str, dict[str, float]]) -> str:
    """Say in words what blending brings, by means over the sets."""
    auc = {name: mean(found[name] for found in blends.values()) for name in (
        FOREST, BOOSTING, BLEND, BAGGED_BLEND)}  # fmt: skip
    gain = max(auc[BLEND], auc[BAGGED_BLEND]) - max(auc[FOREST], auc[BOOSTING])
    worth = "earns" if gain >= WORTH_A_CLASS else "does not earn"
    words = (
        f"On the {len(blends)} sets of 1,000 rows and more, all folds, the mean of the ranks of "
        f"`{FOREST}` and `{BOOSTING}` has an AUC of {auc[BLEND]:.4f}, and "
        f"{auc[BAGGED_BLEND]:.4f} where boosting is the mean of {N_BAGS} models on {BAG_SHARE:.0%} "
        f"of the rows each; `{FOREST}` alone has {auc[FOREST]:.4f}. A blend ({gain:+.4f}) {worth} "
        f"a class of its own, for which we ask {WORTH_A_CLASS}."
    )
    return fill(words, 100)
