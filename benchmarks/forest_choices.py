"""Settings of the forest, one changed at a time, on noisy tables none of which is a judging table.

Prints a table; the figures on the page docs/results/forest_choices.md come from it.
"""

from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.common import fingerprint, markdown_table, remember
from benchmarks.noisy_sets import NAMES, load_noisy
from benchmarks.real_sets import one_hot
from benchmarks.tuned_rivals import BY_OOB, N_TREES, OutOfBagForest
from treerank import LeafRank, RankingForest

SIZE = 2_000
DRAWS = 2
LARGEST_TEST = 5_000
SEED = 15_485
DEFAULT = "features weighed, as by default"
PLAIN = "features not weighed"


def cells(**changed: Any) -> RankingForest:
    """Forest of merged cells as by default, but for what is changed."""
    usual = {"max_depth": 3, "min_samples_leaf": 3, "max_features": "sqrt"}
    return RankingForest(LeafRank(**(usual | changed)))


OURS: dict[str, Callable[[], RankingForest]] = {
    PLAIN: RankingForest,
    "10 rows per leaf": partial(cells, min_samples_leaf=10),
    "40 rows per leaf": partial(cells, min_samples_leaf=40),
    "half of the features": partial(cells, max_features=0.5),
    "LeafRank of depth 2": partial(cells, max_depth=2),
    "entropy instead of Gini": partial(cells, criterion="entropy"),
    "deep trees, 10 rows per leaf": partial(cells, max_depth=None, min_samples_leaf=10),
    "no tree with random cuts": partial(RankingForest, random_cut_share=0.0),
    "random cuts in every tree": partial(RankingForest, random_cut_share=1.0),
    "samples of 30 % of the rows": partial(RankingForest, max_samples=0.3),
}
RIVALS: dict[str, Callable[[], Any]] = {
    BY_OOB: lambda: one_hot(OutOfBagForest(random_state=SEED)),
    "ExtraTrees": lambda: one_hot(
        ExtraTreesClassifier(N_TREES, min_samples_leaf=3, random_state=SEED)
    ),
}


def divide(y: Any, draw: int) -> tuple[Any, Any]:
    """Rows to learn from and to judge by."""
    mixed = np.random.RandomState([SEED, SIZE, draw]).permutation(len(y))
    n_train = min(SIZE, int(0.7 * len(y)))
    return mixed[:n_train], mixed[n_train:][:LARGEST_TEST]


def evaluate(model: str, name: str, draw: int) -> dict[str, float]:
    """AUC on new rows, features not weighed; of the defaults also with their features weighed."""
    X, y = load_noisy(name)
    train, test = divide(y, draw)
    if model in RIVALS:
        fitted = RIVALS[model]().fit(X.iloc[train], y[train])
        return {model: float(roc_auc_score(y[test], fitted.predict_proba(X.iloc[test])[:, 1]))}
    forest = OURS[model]().set_params(random_state=draw).fit(X.iloc[train], y[train])
    # Features are not weighed where the shrinkage is given.
    plain = OURS[model]().set_params(random_state=draw, shrinkage=forest.shrinkage_)
    found = {model: plain.fit(X.iloc[train], y[train])}
    if model == PLAIN:
        found[DEFAULT] = forest
    return {
        what: float(roc_auc_score(y[test], one.score_samples(X.iloc[test])))
        for what, one in found.items()
    }


def measure(model: str, name: str) -> dict[str, float]:
    """Means over the draws, remembered."""
    draws = []
    for draw in range(DRAWS):
        key = f"forest_choices-{SEED}-{name}-{draw}-{model.replace(' ', '_')}"
        key += "" if model in RIVALS else f"-{fingerprint()}"
        draws.append(remember(key, partial(evaluate, model, name, draw)))
    return {what: mean(one[what] for one in draws) for what in draws[0]}


def run(quick: bool) -> None:
    """Measure and print; `quick`: four tables and the defaults alone."""
    names = NAMES[:4] if quick else NAMES
    auc: dict[str, list[float]] = {}
    for model in [PLAIN] if quick else [*OURS, *RIVALS]:
        for name in names:
            for what, value in measure(model, name).items():
                auc.setdefault(what, []).append(value)
    rows = []
    for what, values in auc.items():
        lead = np.array(values) - np.array(auc[PLAIN])
        rows.append([
            what, f"{np.mean(values):.4f}", f"{lead.mean():+.4f}",
            f"{lead.std() / np.sqrt(len(lead)):.4f}", str((lead > 0).sum()), str((lead < 0).sum()),
            f"{lead.min():+.4f}",
        ])  # fmt: skip
    header = ["setting", "AUC", "lead", "standard error", "wins", "losses", "worst"]
    print(markdown_table(header, rows, "lrrrrrr"))
