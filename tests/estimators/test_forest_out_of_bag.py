"""Out-of-bag scores, their AUC, and the shrinkage chosen by it."""

import numpy as np
import pytest
from forest_tables import rank_trees, table
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, RankingForest
from treerank._plans.forest import SHRINKAGES

pytestmark = pytest.mark.core


def test_out_of_bag_scores_use_only_trees_that_have_not_seen_the_row():
    x, y = table(120)
    model = RankingForest(n_estimators=25, shrinkage=3.0, oob_score=True, warm_start=True).fit(x, y)
    unseen = np.array([model._plan.sampling.counts(t, 120) == 0 for t in range(25)])
    values = np.array([tree.score_samples(x) for tree in model.estimators_])
    roots = [tree.counts[0] for tree in rank_trees(model, x, y)]
    change = values - np.array([[root[1] / root.sum()] for root in roots])
    with np.errstate(invalid="ignore"):
        expected = (change * unseen).sum(axis=0) / unseen.sum(axis=0) + y.mean() - 0.5
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=2e-6)
    seen = np.isfinite(expected)
    auc = roc_auc_score(y[seen], model.oob_decision_function_[seen])
    assert model.oob_auc_ == pytest.approx(auc)
    interval = model.oob_auc_interval_
    assert interval.lower < model.oob_auc_ < interval.upper


@pytest.mark.not_sanitized
@pytest.mark.parametrize("depth", [3, None])  # several ways to a slot, or one
def test_out_of_bag_sums_of_few_rows_are_those_of_all(depth):
    """Many rows look their sums up by the slot where they end, few add them up as they walk."""
    x, y = table(3_000, missing=0.1)
    splitter = LeafRank(max_depth=depth, max_features=2)
    model = RankingForest(splitter, n_estimators=6, shrinkage=1.0, warm_start=True).fit(x, y)
    codes, _ = model._codes(x)
    trees, sampling = model._before_shrinkage, model._plan.sampling
    shrinkages = [0.0, 2.0, 50.0]
    numbers = np.arange(len(y), dtype=np.uint32)
    sums, _ = trees.out_of_bag(codes, sampling, numbers, shrinkages, 2)
    for row in (0, 17, 2_999):
        alone, _ = trees.out_of_bag(codes, sampling, numbers[row : row + 1], shrinkages, 1)
        np.testing.assert_array_equal(alone[0], sums[row])


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_laid_side_by_side_make_the_same_trees(weighted):
    """Constant columns make the table so large that rows of small nodes are copied together."""
    rng = np.random.default_rng(3)
    x, y = table(20_000, 4, missing=0.05)
    x[:, 3] = rng.normal(size=len(y))
    wide = np.column_stack([x, np.zeros((len(y), 40))])
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    splitter = LeafRank(max_depth=None, min_samples_leaf=2)
    narrow, large = (
        RankingForest(splitter, n_estimators=2, max_depth=2, random_cut_share=0.5)
        .fit(table, y, sample_weight=weight)
        .score_samples(table)
        for table in (x, wide)
    )
    np.testing.assert_array_equal(narrow, large)


def test_out_of_bag_auc_of_noise_is_one_half():
    aucs = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(200, 5)), rng.integers(0, 2, size=200)
        model = RankingForest(n_estimators=60, oob_score=True, random_state=seed).fit(x, y)
        aucs.append(model.oob_auc_)
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / np.sqrt(20)
    assert abs(np.mean(aucs) - 0.5) < 0.03


@pytest.mark.not_sanitized
@pytest.mark.parametrize("aggregation", ["posterior", "mean_rank", "median_rank", "kendall"])
def test_out_of_bag_auc_foretells_the_auc_on_new_rows(aggregation):
    x, y = table(2400, seed=3)
    model = RankingForest(n_estimators=60, oob_score=True, aggregation=aggregation)
    model.fit(x[:800], y[:800])
    assert abs(model.oob_auc_ - model.score(x[800:], y[800:])) < 0.03
    assert model.score(x[800:], y[800:]) > 0.8


def test_the_shrinkage_with_the_best_out_of_bag_auc_is_chosen():
    x, y = table(250)
    model = RankingForest(n_estimators=40).fit(x, y)
    aucs = [
        RankingForest(n_estimators=40, shrinkage=s, oob_score=True).fit(x, y).oob_auc_
        for s in SHRINKAGES
    ]
    assert model.shrinkage_ == SHRINKAGES[int(np.argmax(aucs))]


def test_shrinkage_under_constraints_is_chosen_out_of_bag():
    x, y = table(300, 3)
    given = {"n_estimators": 25, "monotonic_cst": [1, 0, 0]}
    chosen = RankingForest(**given).fit(x, y)
    models = {s: RankingForest(**given, shrinkage=s, oob_score=True).fit(x, y) for s in SHRINKAGES}
    best = max(SHRINKAGES, key=lambda s: models[s].oob_auc_)
    assert chosen.shrinkage_ == best
    # The choice also stretches the scores, which keeps their order.
    assert np.corrcoef(chosen.score_samples(x), models[best].score_samples(x))[0, 1] > 1 - 1e-9
    warm = RankingForest(n_estimators=9, monotonic_cst=[1, 0, 0], warm_start=True).fit(x, y)
    warm.set_params(n_estimators=25).fit(x, y)
    assert np.array_equal(warm.score_samples(x), chosen.score_samples(x))


@pytest.mark.not_sanitized
def test_out_of_bag_auc_of_noise_is_one_half_under_constraints_too():
    aucs = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(150, 4)), rng.integers(0, 2, size=150)
        model = RankingForest(n_estimators=40, oob_score=True, monotonic_cst=[1, 0, 0, 0])
        aucs.append(model.set_params(random_state=seed).fit(x, y).oob_auc_)
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / np.sqrt(12)
