"""Two importances: the paper's, read off the tests, and the AUC lost by shuffling a column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from treerank import LeafRank, RankingForest, TreeRank

MODELS = {
    "tree": TreeRank(),
    "unions of boxes": TreeRank(LeafRank(max_depth=3, pruning="cv")),
    "forest": RankingForest(n_estimators=30, random_state=0),
}


def loans(n, seed):
    """Income and home matter, income most; noise does not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "income": rng.normal(size=n),
            "home": pd.Categorical(rng.choice(["owns", "rents"], size=n)),
        }
    )
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    owns = frame["home"] == "owns"
    rate = frame["income"].fillna(0) * 2 + owns * 1.5 + rng.logistic(size=n)
    return frame, (rate > 0.75).astype(int)


@pytest.mark.parametrize("name", MODELS)
def test_shuffling_tells_what_new_rows_would_miss(name):
    model = MODELS[name].fit(*loans(1_500, 0))
    X, y = loans(1_500, 1)
    found = permutation_importance(model, X, y, n_repeats=5, random_state=0)
    noise, income, home = found.importances_mean
    assert income > 0.15
    assert income > home > 0.02
    assert abs(noise) < 0.02


@pytest.mark.parametrize("name", MODELS)
def test_an_importance_is_the_loss_of_auc(name):
    model = MODELS[name].fit(*loans(600, 0))
    X, y = loans(400, 1)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=7)
    by_auc = permutation_importance(model, X, y, scoring="roc_auc", n_repeats=3, random_state=7)
    assert found.importances == pytest.approx(by_auc.importances, abs=1e-12)
    assert (found.importances[1] > 0).all()


@pytest.mark.parametrize("splitter", [LeafRank(), LeafRank(max_depth=3, pruning="cv")])
def test_the_papers_importance_sums_squared_gains_over_all_tests(splitter):
    X, y = loans(800, 2)
    model = TreeRank(splitter, shrinkage=None).fit(X, y)
    tree = model.tree_
    total = np.bincount(y)
    slow = np.zeros(3)
    for test in tree.tests[tree.tests["left"] >= 0]:
        left = tree.tests[test["left"]]
        alpha, alpha_left = test["negative"] / total[0], left["negative"] / total[0]
        beta, beta_left = test["positive"] / total[1], left["positive"] / total[1]
        slow[test["feature"]] += ((alpha * beta_left - beta * alpha_left) / 2) ** 2
    assert model.feature_importances_ == pytest.approx(slow / slow.sum(), abs=1e-12)
    assert np.argmax(slow) == 1
