"""Structural AUC maximisation: the best of all subtrees, and the penalties of the paper."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import noise, trees
from sklearn.base import clone

from treerank import LeafRank, TreeRank, _core
from treerank._select.penalty import StructuralPenalty, prune_by_penalty
from treerank.datasets import make_uniform_mixture
from treerank.splitters import DyadicGrid


@pytest.mark.core
@settings(deadline=None)
@given(trees(), st.integers(1, 20), st.floats(0, 3), st.floats(0.1, 1))
def test_no_subtree_is_worth_more(tree, most, constant, power):
    left, right, gain = tree
    penalty = constant * np.arange(1, most + 1, dtype=float) ** power
    gains, split = _core.penalised_subtree(left, right, gain, penalty)
    slow, best = oracles.best_penalised(left, right, gain, penalty)
    assert len(gains) == min(most, max(slow))
    assert np.allclose(gains, [slow[k + 1] for k in range(len(gains))])
    mine = frozenset(np.flatnonzero(split).tolist())
    assert mine in oracles.all_subtrees(left, right)
    assert np.isclose(gain[list(mine)].sum() - penalty[len(mine)], best)


def grown(seed=0, n=400, **parameters):
    x, _ = noise(seed, n)
    y = (x[:, 0] + x[:, 1] + np.random.default_rng(seed + 1).normal(size=n) > 0.5).astype(int)
    return x, y, TreeRank(pruning="penalty", shrinkage=None, **parameters).fit(x, y)


@pytest.mark.parametrize("constant", [0.0, 0.001, 0.01, 0.05])
def test_the_chosen_tree_is_the_best_of_the_path(constant):
    _, _, model = grown(penalty_constant=constant)
    path = model.pruning_path_
    worth = path.train_auc - path.penalty
    assert len(model.partition_) == path.n_leaves[path.chosen]
    assert np.isclose(model.partition_.auc(), path.train_auc[path.chosen])
    assert worth[path.chosen] == worth.max()
    assert np.argmax(worth) == path.chosen


def test_sizes_left_out_of_the_path_could_not_win():
    _, _, model = grown(penalty_constant=0.05)
    tree, path = model.unpruned_tree_, model.pruning_path_
    assert len(path.n_leaves) < len(tree.leaves)
    penalty = StructuralPenalty(0.05, None, 5)
    costs = penalty.of(np.arange(1, len(tree.leaves) + 1), tree)
    gains, split = _core.penalised_subtree(
        *(np.ascontiguousarray(tree.cells[f]) for f in ("left", "right", "auc_gain")), costs
    )
    assert split.sum() == path.chosen
    assert np.array_equal(0.5 + gains[: len(path.n_leaves)], path.train_auc)


def test_some_best_subtrees_are_not_nested():
    """The nested sequence would miss them: here three leaves are not two and one more."""
    left = np.array([1, 2, -1, -1, 5, 6, -1, -1, -1], np.int32)
    right = np.array([4, 3, -1, -1, 8, 7, -1, -1, -1], np.int32)
    gain = np.array([0.1, 0.05, 0, 0, 0.01, 0.2, 0, 0, 0])
    lambdas, collapsed_at = _core.cost_complexity(left, right, gain)
    nested = {int((collapsed_at > k).sum()) + 1 for k in range(len(lambdas))}
    gains, _ = _core.penalised_subtree(left, right, gain, np.zeros(5))
    assert np.allclose(gains, [0, 0.1, 0.15, 0.31, 0.36])
    assert 3 not in nested


def test_penalties_are_those_of_the_proposition():
    x, y, model = grown(penalty_constant=1.0, splitter=LeafRank(max_depth=2))
    tree = model.unpruned_tree_
    n, q, cuts = len(y), x.shape[1], 3
    k = np.array([1, 2, 7])
    low, high = 0.2, 0.6
    found = StructuralPenalty(1.0, (low, high), q).of(k, tree)
    # 16 ((n + 1) q)^(2 K cuts) is too large for a float: its logarithm, term by term.
    log_n = np.array([np.log(16) + sum([np.log((n + 1) * q)] * (2 * i * cuts)) for i in k])
    assert np.allclose(found, np.sqrt(32 * (log_n + k) / n) / (low * (1 - high)))
    cubes = StructuralPenalty(1.0, (low, high), 2, resolution=2).of(k, tree)
    ways = np.array([float(i) ** 2 ** (2 * 2) for i in k])  # each of 16 cubes in one of K leaves
    assert np.allclose(cubes, np.sqrt((np.log(4 * ways) + k) / (2 * n)) / (low * (1 - high)))


def test_the_theorem_as_it_stands_prunes_to_the_root():
    _, _, model = grown(penalty_constant=1.0)
    assert len(model.partition_) == 1
    assert model.pruning_path_.chosen == 0


def test_no_constant_no_pruning():
    _, _, model = grown(penalty_constant=0.0)
    assert len(model.tree_.leaves) == len(model.unpruned_tree_.leaves)


def test_noise_is_pruned_to_the_root_and_signal_is_kept():
    roots = 0
    for seed in range(20):
        model = TreeRank(pruning="penalty", shrinkage=None).fit(*noise(seed))
        roots += len(model.partition_) == 1
    assert roots >= 18
    _, _, model = grown(n=2_000)
    assert 3 <= len(model.partition_) <= 12
    assert model.score(*grown(seed=7, n=2_000)[:2]) > 0.75


def test_shrinkage_is_chosen_on_trees_pruned_alike():
    x, y, _ = grown(n=600)
    plain = TreeRank(pruning="penalty", shrinkage=None).fit(x, y)
    shrunk = TreeRank(pruning="penalty").fit(x, y)
    assert len(shrunk.partition_) == len(plain.partition_)
    assert shrunk.shrinkage_ >= 0
    assert shrunk.pruning_path_.chosen == plain.pruning_path_.chosen


def test_weights_equal_repeated_rows_under_a_penalty():
    x, y, _ = grown(n=200)
    weight = np.random.default_rng(0).integers(1, 4, size=200)
    model = TreeRank(pruning="penalty", shrinkage=2.0)
    a = clone(model).fit(x, y, sample_weight=weight)
    b = clone(model).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(a.score_samples(x), b.score_samples(x))


@pytest.mark.parametrize(
    "bounds", [(0.0, 0.5), (0.5, 1.0), (0.6, 0.4), (0.2,), 0.3, ("a", "b"), (True, 0.5)]
)
def test_impossible_bounds_are_refused(bounds):
    x, y = noise(0)
    with pytest.raises(ValueError, match=r"Got penalty_bounds=.*0 < low <= high < 1"):
        TreeRank(pruning="penalty", penalty_bounds=bounds).fit(x, y)


@pytest.mark.parametrize("bounds", [(0.6, 0.9), (0.05, 0.3)])
def test_bounds_that_the_rows_contradict_are_refused(bounds):
    x, y = noise(0, 2_000)
    with pytest.raises(
        ValueError, match=r"Got penalty_bounds=.*share of positives in the training"
    ):
        TreeRank(pruning="penalty", penalty_bounds=bounds).fit(x, y)


def test_bounds_that_chance_explains_are_taken():
    x, y = noise(0, 2_000)
    share = y.mean()
    bounds = (share + 0.01, share + 0.2)
    assert TreeRank(pruning="penalty", penalty_bounds=bounds).fit(x, y).pruning_path_ is not None


@pytest.mark.parametrize("constant", [-1, np.inf, np.nan, True])
def test_an_impossible_constant_is_refused(constant):
    with pytest.raises(ValueError, match=r"Got penalty_constant=.*; expected a finite number >= 0"):
        TreeRank(pruning="penalty", penalty_constant=constant).fit(*noise(0))


def test_a_constant_in_words_is_refused():
    with pytest.raises(
        ValueError, match=r"Got penalty_constant='best'; expected a finite number >= 0 or"
    ):
        TreeRank(pruning="penalty", penalty_constant="best").fit(*noise(0))


@pytest.mark.parametrize("resolution", [1, 2, 3])
def test_the_grid_has_a_constant_of_its_own(resolution):
    """Noise to the root, a level set kept; with LeafRank's constant noise would be kept."""
    roots = {"auto": 0, 0.05: 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.random((500, 2)), rng.integers(0, 2, size=500)
        for constant in roots:
            model = TreeRank(
                DyadicGrid(resolution), pruning="penalty", penalty_constant=constant, shrinkage=None
            ).fit(x, y)
            roots[constant] += len(model.partition_) == 1
    assert roots["auto"] >= 18
    assert roots[0.05] <= 4


def test_a_grid_of_more_cubes_than_a_float_can_count_is_pruned_to_the_root():
    rng = np.random.default_rng(0)
    x, y = np.zeros((50, 300)), rng.integers(0, 2, size=50)
    x[:, :2] = rng.random((50, 2))
    model = TreeRank(DyadicGrid(5), pruning="penalty", shrinkage=None).fit(x, y)
    assert len(model.partition_) == 1


def test_the_grid_keeps_what_is_there():
    sample = make_uniform_mixture(2_000, random_state=0)
    model = TreeRank(DyadicGrid(1), pruning="penalty", shrinkage=None).fit(sample.X, sample.y)
    assert 2 <= len(model.partition_) <= 4
    new = make_uniform_mixture(20_000, random_state=1)
    assert model.score(new.X, new.y) > sample.truth.auc - 0.04


def test_wider_bounds_penalise_more():
    x, y, model = grown()
    wide = TreeRank(pruning="penalty", penalty_bounds=(0.1, 0.9)).fit(x, y)
    assert (wide.pruning_path_.penalty[0] > model.pruning_path_.penalty[0]).all()
    assert len(wide.partition_) <= len(model.partition_)
    tree, _ = prune_by_penalty(model.unpruned_tree_, StructuralPenalty(0.05, (0.1, 0.9), 5))
    assert len(tree.leaves) == len(wide.partition_)
