"""Pruning: the nested sequence, and the choice on rows that were not seen."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import noise, table_of, trees
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, StratifiedKFold

from treerank import LeafRank, TreeRank, _core
from treerank._input.focus import WHOLE
from treerank._input.weights import Weights
from treerank._select.pruning import HeldOut, held_out_worth


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


@pytest.mark.core
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([1.0, 1.0, 0.37]))
@examples(40)
def test_worth_along_the_path_equals_scoring_every_subtree_anew(seed, n_classes, unit):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(90, 2)).round(1)
    signal = x[:, 0] + rng.normal(size=90)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    tree = TreeRank(pruning=None, shrinkage=None, min_samples_leaf=3).fit(x, y).tree_
    held_out = np.zeros((tree.n_cells, n_classes))
    # Few rows, so that many cells are empty; cells are tied where shares are.
    held_out[tree.leaves] = rng.poisson(0.7, size=(len(tree.leaves), n_classes))
    held_out[tree.leaves[0]] += 1
    counts = tree.cell_counts(unit * held_out)
    lambdas = tree.sequence[0]
    tried = np.concatenate([lambdas, np.sqrt(lambdas[:-1] * lambdas[1:]), [np.inf]])
    shrinkages = np.array([np.nan, 0.0, 5.0, 1e9])
    auc, brier = held_out_worth([HeldOut(tree, counts)] * 2, tried, shrinkages, n_jobs=2)
    assert np.array_equal(auc[0], auc[1])
    for j, shrinkage in enumerate(shrinkages):
        expected, squares = oracles.held_out_worth(tree, counts, tried, shrinkage)
        if n_classes == 2 and unit == 1:  # whole numbers: to the bit
            assert auc[0, :, j].tolist() == expected.tolist()
        np.testing.assert_allclose(auc[0, :, j], expected, rtol=1e-12)
        if not np.isnan(shrinkage):
            np.testing.assert_allclose(brier[0, :, j], squares, rtol=1e-10)


def test_worth_along_the_path_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)).round(1)
    y = (x[:, 0] * x[:, 1] + rng.normal(size=400) > 0).astype(int)
    model = TreeRank(pruning=None, shrinkage=None, min_samples_leaf=3).fit(x[::2], y[::2])
    tree, new, labels = model.tree_, x[1::2], y[1::2]
    cells = np.flatnonzero(model._stratum >= 0)[np.argsort(model._stratum[model._stratum >= 0])]
    at = cells[model.apply(new)]
    counts = np.zeros((tree.n_cells, 2))
    np.add.at(counts, (at, labels), 1)
    part = HeldOut(tree, tree.cell_counts(counts))
    lambdas = tree.sequence[0]
    auc, brier = held_out_worth([part], lambdas, np.array([np.nan, 5.0]), n_jobs=1)
    values = tree.shrunken_shares(5.0)[:, 0]
    for k in range(len(lambdas)):
        is_leaf = oracles.leaves_at(tree, k)
        leaf = at.copy()
        while not is_leaf[leaf].all():
            leaf = np.where(is_leaf[leaf], leaf, tree.cells["parent"][leaf])
        assert np.isclose(auc[0, k, 0], roc_auc_score(labels, -leaf))
        assert np.isclose(auc[0, k, 1], roc_auc_score(labels, values[leaf]))
        assert np.isclose(brier[0, k, 1], np.sum((labels - values[leaf]) ** 2))


@pytest.mark.core
def test_subtrees_that_are_not_nested_are_refused():
    def paths(left, right, collapsed_at):
        n = len(left)
        arrays = [[np.array(a, dtype=np.int32)] for a in (left, right, collapsed_at)]
        return _core.held_out_paths(
            *arrays, [np.ones((n, 2))], [np.zeros((1, n))], [np.zeros((1, n, 1))], 1, WHOLE
        )

    auc, brier = paths([1, -1, -1], [2, -1, -1], [1, 0, 0])[0]
    assert auc.tolist() == [0.5, 0.5]
    assert len(brier) == 2
    for left, right, collapsed_at in [
        ([1, -1, -1], [3, -1, -1], [1, 0, 0]),  # no such cell
        ([0, -1, -1], [2, -1, -1], [1, 0, 0]),  # its own child
        ([1, -1, -1], [2, -1, -1], [1, 2, 0]),  # a child that outlasts its parent
        ([1, -1, -1], [2, -1, -1], [0, 0, 0]),
        ([1, -1, -1], [2, -1, -1], [-1, 0, 0]),
    ]:
        with pytest.raises(ValueError, match="not nested"):
            paths(left, right, collapsed_at)
    with pytest.raises(ValueError, match="different lengths"):
        paths([-1, -1], [-1], [0])


@pytest.mark.core
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 7), st.booleans())
@examples(30)
def test_rows_are_assigned_to_folds_in_the_order_of_their_hashes(seed, n_classes, n_folds, big):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(70_000, 140_000)) if big and seed % 8 == 0 else int(rng.integers(1, 400))
    codes = rng.integers(0, 3, size=(2, n)).astype(np.uint16 if seed % 2 else np.uint8)
    labels = rng.integers(0, n_classes, n).astype(np.uint8)
    units = rng.integers(1, 4, n) if seed % 3 else None
    hashes = _core.row_hashes(codes, labels, seed)
    expected = oracles.folds(hashes, labels, units, n_folds, seed)
    for n_jobs in (1, 3):
        found = _core.assign_folds(hashes, labels, units, n_classes, n_folds, seed, n_jobs)
        assert np.array_equal(found, expected)


def test_noise_in_rows_that_are_often_equal_is_not_learned():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 40, size=(1_500, 1)).astype(float), rng.integers(0, 2, 1_500)
        assert len(TreeRank().fit(x, y).partition_) == 1


@pytest.mark.core
@pytest.mark.parametrize("categorical", [False, True])
def test_weights_of_leaves_are_those_of_the_rows_that_end_in_them(categorical):
    rng = np.random.default_rng(3)
    n = 40_000
    x = rng.integers(0, 12, size=(n, 3)).astype(float)
    y = (x[:, 0] % 5 + x[:, 1] + 3 * rng.normal(size=n) > 8).astype(int)
    chosen = [0, 1] if categorical else None
    model = TreeRank(LeafRank(max_depth=2), max_depth=5, pruning=None, shrinkage=None,
                     categorical_features=chosen)  # fmt: skip
    tree = model.fit(x, y).tree_
    codes, labels = model._binning.transform(table_of(model, x)), y.astype(np.uint8)
    cells = tree.apply(codes)
    repeats = rng.integers(0, 3, n).astype(np.uint8)
    for weights in (Weights(), Weights(repeats=repeats), Weights(units=repeats * np.int64(2**40))):
        units = np.ones(n, dtype=np.int64) if weights.as_units is None else weights.as_units
        expected = np.zeros((tree.n_cells, 2), dtype=np.int64)
        np.add.at(expected, (cells, labels), units)
        folds = rng.integers(-1, 3, n).astype(np.int32)
        for n_jobs in (1, 3):
            assert np.array_equal(tree.leaf_weights(codes, labels, weights, n_jobs), expected)
            of_folds = tree.held_out_weights([tree] * 3, codes, labels, weights, folds, n_jobs)
            for fold, found in enumerate(of_folds):
                wanted = np.zeros((tree.n_cells, 2), dtype=np.int64)
                held = folds == fold
                np.add.at(wanted, (cells[held], labels[held]), units[held])
                assert np.array_equal(found, wanted)


@pytest.mark.core
@settings(deadline=None)
@given(st.lists(trees(), max_size=6), st.integers(1, 4))
def test_sequences_of_several_trees_are_those_of_each(several, n_jobs):
    left, right, gain = ([tree[k] for tree in several] for k in range(3))
    found = _core.cost_complexities(left, right, gain, n_jobs)
    for tree, (lambdas, collapsed_at) in zip(several, found, strict=True):
        alone = _core.cost_complexity(*tree)
        assert np.array_equal(lambdas, alone[0])
        assert np.array_equal(collapsed_at, alone[1])


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
    model = TreeRank(soft_labels=False).fit(x, y)
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
