"""Forests that aggregate ranks, and their probabilities."""

import numpy as np
import pytest
from forest_tables import rank_trees, table
from sklearn.linear_model import LogisticRegression

from treerank import RankingForest, consensus
from treerank._select import rank_aggregation

pytestmark = pytest.mark.core


def test_ranks_in_a_tree_are_those_of_its_strata():
    x, y = table(300)
    model = RankingForest(n_estimators=3, aggregation="mean_rank", warm_start=True).fit(x, y)
    codes, _ = model._codes(x)
    for view, tree in zip(model.estimators_, rank_trees(model, x, y), strict=True):
        weight = tree.counts.sum(axis=1)
        leaves = tree.leaves
        above = np.cumsum(weight[leaves]) - weight[leaves] / 2
        rank = dict(zip(leaves.tolist(), 1 - above / weight[0], strict=True))
        expected = [rank[cell] for cell in tree.apply(codes)]
        np.testing.assert_allclose(view.score_samples(x), expected, atol=1e-6)


def kendall_costs(x, y, n_trees):
    """Return the distances of two consensus rankings from those of the same trees."""
    forests = {
        rule: RankingForest(n_estimators=n_trees, aggregation=rule).fit(x, y)
        for rule in ("kendall", "mean_rank")
    }
    ranks = np.array([tree.score_samples(x) for tree in forests["kendall"].estimators_])
    return {
        rule: consensus.kendall_cost(model.score_samples(x), ranks)
        for rule, model in forests.items()
    }


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_kendall_is_no_worse_than_the_mean_rank_on_the_training_rows(seed):
    cost = kendall_costs(*table(150, seed=seed), n_trees=20)
    assert cost["kendall"] < cost["mean_rank"]


def test_kendall_gives_way_to_the_mean_rank_where_it_would_cost_more(monkeypatch):
    x, y = table(150)

    def upside_down(trees, codes, n_jobs):
        reference, places = ordered(trees, codes, n_jobs)
        return np.ascontiguousarray(reference[:, ::-1]), places

    ordered = rank_aggregation._reference
    mean = RankingForest(n_estimators=10, aggregation="mean_rank").fit(x, y)
    model = RankingForest(n_estimators=10, aggregation="kendall").fit(x, y)
    assert model._ranks.kind == "kendall"
    assert not np.array_equal(model.score_samples(x), mean.score_samples(x))
    monkeypatch.setattr(rank_aggregation, "_reference", upside_down)
    model.fit(x, y)
    assert np.array_equal(model.score_samples(x), mean.score_samples(x))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("aggregation", ["mean_rank", "median_rank", "kendall"])
def test_every_consensus_of_monotone_trees_is_monotone(aggregation, n_classes):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 3))
    latent = x[:, 0] + 0.7 * np.sign(x[:, 1]) * x[:, 1] ** 2 + rng.normal(size=300)
    y = np.digitize(latent, [0.3] if n_classes == 2 else [-0.7, 0.8])
    model = RankingForest(n_estimators=15, aggregation=aggregation, monotonic_cst=[1, -1, 0])
    model.fit(x, y)
    # Some training rows are those that all others are inserted among.
    steps = rng.exponential(size=(6_000, 3)) * [1, -1, 0]
    rows = np.repeat(x, 20, axis=0)
    scores = model.score_samples(rows)
    assert (model.score_samples(rows + steps) >= scores).all()
    assert (model.score_samples(rows - steps) <= scores).all()
    assert model._ranks.kind == aggregation


def test_kendall_beats_the_mean_rank_on_more_rows_than_it_orders():
    cost = kendall_costs(*table(900, 3), n_trees=10)
    assert cost["kendall"] <= cost["mean_rank"]


@pytest.mark.not_sanitized
@pytest.mark.parametrize("splitter", [None, LogisticRegression()], ids=["LeafRank", "other"])
def test_shares_are_stretched_to_fit_and_the_order_stays(splitter, monkeypatch):
    monkeypatch.setattr("treerank._plans.forest.SHRINKAGES", [200.0, 500.0])  # far too strong
    monkeypatch.setattr("treerank._plans.forest.WEIGHED_ROWS", 0)  # weights would change the order
    x, y = table(1_500, 4, seed=3)
    given = {"splitter": splitter, "n_estimators": 12, "max_depth": 4}
    chosen = RankingForest(**given).fit(x[:1000], y[:1000])
    plain = RankingForest(**given, shrinkage=chosen.shrinkage_).fit(x[:1000], y[:1000])
    stretched, shrunk = (m.predict_proba(x)[:, 1] for m in (chosen, plain))
    # A factor on what the trees add to the shares at their roots: the order stays.
    assert np.corrcoef(chosen.score_samples(x), plain.score_samples(x))[0, 1] > 1 - 1e-6
    assert stretched.std() > 1.2 * shrunk.std()
    new = slice(1000, None)
    assert np.mean((stretched[new] - y[new]) ** 2) < np.mean((shrunk[new] - y[new]) ** 2)
