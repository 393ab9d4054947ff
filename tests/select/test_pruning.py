"""Pruning: the nested sequence, and the choice on rows that were not seen."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import noise, trees
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, StratifiedKFold

from treerank import LeafRank, TreeRank, _core
from treerank._select.pruning import HeldOut, _auc_of_leaves, _held_out_worth


@pytest.mark.core
@settings(deadline=None)
@given(trees())
def test_each_subtree_of_the_sequence_is_optimal_for_its_lambda(tree):
    left, right, gain = tree
    lambdas, collapsed_at = _core.cost_complexity(left, right, gain)
    subtrees = oracles.all_subtrees(left, right)
    assert lambdas[0] == 0
    assert (np.diff(lambdas) > 0).all()
    for k, low in enumerate(lambdas):
        high = lambdas[k + 1] if k + 1 < len(lambdas) else low + 1
        trial = (low + high) / 2
        mine = frozenset(np.flatnonzero(collapsed_at > k).tolist())
        worth = {s: gain[list(s)].sum() - trial * len(s) for s in subtrees}
        assert mine in worth
        assert np.isclose(worth[mine], max(worth.values()))
    assert not (collapsed_at > len(lambdas) - 1).any()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_held_out_worth_equals_scoring_the_rows(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 2)).round(1)
    y = (x[:, 0] + rng.normal(size=120) > 0).astype(int)
    y[:4] = 0, 1, 0, 1
    model = TreeRank(pruning=None, shrinkage=None, min_samples_leaf=3).fit(x[::2], y[::2])
    tree, new, labels = model.tree_, x[1::2], y[1::2]
    if len(np.unique(labels)) < 2:
        return
    cells = np.flatnonzero(model._stratum >= 0)[np.argsort(model._stratum[model._stratum >= 0])]
    at = cells[model.apply(new)]
    counts = np.zeros((tree.n_cells, 2))
    np.add.at(counts, (at, labels), 1)
    part = HeldOut(tree, tree.cell_counts(counts))
    lambdas, collapsed_at = tree.sequence
    shrinkages = np.array([np.nan, 0.0, 5.0, 100.0])
    table, brier = _held_out_worth(part, lambdas, shrinkages)
    for k in range(len(lambdas)):
        subtree = tree.subtree(collapsed_at > k)
        up = at.copy()
        while (collapsed_at[tree.cells["parent"][up]] <= k).any():
            moved = (collapsed_at[tree.cells["parent"][up]] <= k) & (up > 0)
            if not moved.any():
                break
            up[moved] = tree.cells["parent"][up[moved]]
        assert np.isclose(table[k, 0], roc_auc_score(labels, -up))
        for j, shrinkage in enumerate(shrinkages[1:], start=1):
            values = tree.shrunken_shares(shrinkage)[:, 0]
            assert np.isclose(table[k, j], roc_auc_score(labels, values[up]))
            assert np.isclose(brier[k, j], np.sum((labels - values[up]) ** 2))
        assert len(subtree.leaves) == 1 + (collapsed_at > k).sum()


def test_ties_between_cells_count_one_half():
    is_leaf = np.ones((1, 3), dtype=bool)
    counts = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 4.0]])
    values = np.array([0.2, 0.5, 0.5])
    y = np.repeat([0, 1] * 3, counts.astype(int).ravel())
    score = np.repeat(np.repeat(values, 2), counts.astype(int).ravel())
    assert np.isclose(_auc_of_leaves(is_leaf, values, counts)[0], roc_auc_score(y, score))


@pytest.mark.parametrize("parameters", [{}, {"shrinkage": None}])
def test_noise_labels_prune_to_the_root(parameters):
    roots = sum(len(TreeRank(**parameters).fit(*noise(seed)).partition_) == 1 for seed in range(50))
    assert roots >= 45


def test_a_noise_limit_of_zero_keeps_what_beats_chance_by_little():
    """Of 40 rows a weak feature cannot be told from noise by three standard errors."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 3))
    y = (x[:, 0] + 1.5 * rng.normal(size=40) > 0).astype(int)
    strict = TreeRank(min_samples_leaf=3).fit(x, y)
    loose = TreeRank(min_samples_leaf=3, noise_limit=0).fit(x, y)
    best = strict.pruning_path_.heldout_auc.max()
    assert best > 0.5
    assert len(strict.partition_) == 1
    assert len(loose.partition_) > 1
    assert loose.pruning_path_.heldout_auc[loose.pruning_path_.chosen] > 0.5


@pytest.mark.parametrize("value", [-1, np.nan, None, "3"])
def test_noise_limit_is_a_finite_number_not_below_zero(value):
    with pytest.raises(ValueError, match=r"Got noise_limit=.*; expected a finite number >= 0"):
        TreeRank(noise_limit=value).fit(*noise(0, 20))


def test_path_reports_every_subtree():
    x, _ = noise(1, 600)
    y = (x[:, 0] + np.random.default_rng(2).normal(size=600) > 0).astype(int)
    model = TreeRank().fit(x, y)
    path = model.pruning_path_
    assert path.n_leaves[0] == len(model.unpruned_tree_.leaves)
    assert path.n_leaves[-1] == 1
    assert (np.diff(path.n_leaves) < 0).all()
    assert (np.diff(path.train_auc) < 0).all()
    assert path.train_auc[-1] == 0.5
    assert path.n_leaves[path.chosen] == len(model.partition_)
    assert np.isclose(
        path.train_auc[0], TreeRank(pruning=None, shrinkage=None).fit(x, y).partition_.auc()
    )
    assert path.heldout_auc[-1] == 0.5
    assert 0.6 < path.heldout_auc[path.chosen] < path.train_auc[0]


def test_one_standard_error_gives_a_smaller_tree_within_one_standard_error():
    x, _ = noise(3, 1_000)
    y = (x[:, 0] + x[:, 1] + 2 * np.random.default_rng(4).normal(size=1_000) > 0).astype(int)
    best = TreeRank(shrinkage=None).fit(x, y)
    small = TreeRank(shrinkage=None, one_standard_error=True).fit(x, y)
    assert len(small.partition_) < len(best.partition_)
    path, k = best.pruning_path_, best.pruning_path_.chosen
    worth = small.pruning_path_.heldout_auc[small.pruning_path_.chosen]
    assert worth >= path.heldout_auc[k] - path.heldout_std_error[k]


def test_pruned_tree_is_part_of_the_unpruned_one():
    x, _ = noise(5, 800)
    y = (x[:, 0] * x[:, 1] + np.random.default_rng(6).normal(size=800) > 0).astype(int)
    model = TreeRank(splitter=LeafRank(max_depth=3)).fit(x, y)
    full = TreeRank(splitter=LeafRank(max_depth=3), pruning=None, shrinkage=None).fit(x, y)
    pairs = np.unique(np.column_stack([full.apply(x), model.apply(x)]), axis=0)
    assert len(pairs) == len(full.partition_)
    assert np.array_equal(
        np.bincount(model.apply(x)), model.partition_.counts.sum(axis=1).astype(int)
    )


def test_shrinkage_pulls_shares_towards_the_root():
    x, _ = noise(7, 500)
    y = (x[:, 0] + np.random.default_rng(8).normal(size=500) > 0).astype(int)
    spread = [
        np.ptp(TreeRank(pruning=None, shrinkage=s).fit(x, y).predict_proba(x)[:, 1])
        for s in (0.0, 10.0, 100.0, 1e6)
    ]
    assert spread[0] == 1.0
    assert (np.diff(spread) < 0).all()
    assert spread[-1] < 0.01


def test_strata_scores_fall_from_the_first_to_the_last():
    x, _ = noise(9, 500)
    y = (x[:, 0] + np.random.default_rng(10).normal(size=500) > 0).astype(int)
    for shrinkage in ("cv", 3.0, None):
        model = TreeRank(shrinkage=shrinkage).fit(x, y)
        assert (np.diff(model.partition_.scores) <= 0).all()
        assert np.array_equal(model.score_samples(x), model.partition_.scores[model.apply(x)])
        assert np.isclose(model.partition_.auc(), model.score(x, y))


def test_a_splitter_of_scikit_learn_gives_the_folds():
    x, _ = noise(11, 200)
    y = (x[:, 0] > 0).astype(int)
    model = TreeRank(cv=StratifiedKFold(4)).fit(x, y)
    assert model.pruning_path_ is not None
    groups = np.arange(200) % 3
    assert TreeRank(cv=PredefinedSplit(groups)).fit(x, y).score(x, y) > 0.9
    with pytest.raises(ValueError, match="every row just once"):
        TreeRank(cv=ShuffleSplit(3, random_state=0)).fit(x, y)
    with pytest.raises(ValueError, match="lacks a class"):
        TreeRank(cv=PredefinedSplit(y)).fit(x, y)


def test_a_class_of_one_row_cannot_be_held_out():
    x, _ = noise(12, 50)
    y = np.zeros(50, dtype=int)
    y[0] = 1
    with pytest.warns(UserWarning, match="cross-validation needs two of each"):
        model = TreeRank().fit(x, y)
    assert model.pruning_path_ is None


def test_a_tree_of_the_root_alone_is_no_trouble():
    x, y = noise(13, 100)
    model = TreeRank(min_auc_gain=0.49).fit(x, y)
    assert len(model.partition_) == 1
    assert (model.apply(x) == 0).all()
    assert model.feature_importances_.tolist() == [0.0] * 5
