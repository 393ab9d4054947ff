"""Boosting with max_leaf_nodes: the cell that gains most is split first."""

import numpy as np
import pytest
from boosted_trees import sample
from sklearn.base import clone

import treerank
from treerank import BoostedTreeRank

pytestmark = pytest.mark.core


@pytest.mark.parametrize("leafrank_depth", [1, 2])
@pytest.mark.parametrize("monotonic_cst", [None, [1, 0, 0, -1, 0, 0]])
def test_cells_split_best_first_are_the_same_for_any_number_of_threads(
    leafrank_depth, monotonic_cst
):
    X, y = sample(40_000)
    settings = {
        "max_leaf_nodes": 13, "leafrank_depth": leafrank_depth, "monotonic_cst": monotonic_cst,
        "random_state": 0,
    }  # fmt: skip
    alone = BoostedTreeRank(3, n_jobs=1, **settings).fit(X, y)
    for n_jobs in (3, 16):
        shared = BoostedTreeRank(3, n_jobs=n_jobs, **settings).fit(X, y)
        assert np.array_equal(alone._trees.slots, shared._trees.slots)
        assert np.array_equal(alone.score_samples(X), shared.score_samples(X))


def test_best_first_trees_survive_clone_and_a_model_file(tmp_path):
    X, y = sample(700)
    model = BoostedTreeRank(2, max_leaf_nodes=300, min_samples_leaf=1, random_state=0).fit(X, y)
    assert model.plan_.max_depth == 256  # no more levels than this, where max_depth does not say
    treerank.save(model, tmp_path / "model.treerank")
    loaded = treerank.load(tmp_path / "model.treerank")
    assert loaded.plan_ == model.plan_
    assert loaded.max_leaf_nodes == 300
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    again = clone(model).fit(X, y)
    assert np.array_equal(again.score_samples(X), model.score_samples(X))


def test_a_number_of_strata_leaves_the_number_of_trees_to_rows_held_out():
    X, y = sample(600)
    model = BoostedTreeRank(max_leaf_nodes=6, random_state=0).fit(X, y)
    assert list(model.plan_.n_trees.items()) == [((5, 1), model.n_estimators_)]
    assert model.plan_.max_leaf_nodes == 6


def test_best_first_stops_at_max_leaf_nodes_and_without_a_limit_is_depth_by_depth():
    X, y = sample(2_000)
    settings = {"n_estimators": 1, "leaf_values": "stratum", "random_state": 0}
    for n_strata in (2, 5, 12):
        model = BoostedTreeRank(max_leaf_nodes=n_strata, **settings).fit(X, y)
        assert len(np.unique(model.score_samples(X))) == n_strata
        assert model.plan_.max_leaf_nodes == n_strata
    for leafrank_depth in (1, 2):
        depths = {"max_depth": 3, "leafrank_depth": leafrank_depth}
        plain = BoostedTreeRank(**settings, **depths).fit(X, y)
        limitless = BoostedTreeRank(max_leaf_nodes=100, **settings, **depths).fit(X, y)
        assert np.array_equal(plain._trees.slots, limitless._trees.slots)
        assert np.array_equal(plain.score_samples(X), limitless.score_samples(X))
