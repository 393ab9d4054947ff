"""LeafRank(pruning="cv"): the tree inside a cell, cut back on rows that it has not seen."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from random_growth import core_options

from treerank import LeafRank, RankingForest, TreeRank, _core
from treerank._trees.ranking_tree import tree_from_core
from treerank.datasets import make_uniform_mixture


def grow(codes, labels, units, settings, *, wide=False, categorical=0):
    """One tree of the core; `wide`: by weights of 64 bits rather than repeats."""
    p = len(codes)
    repeats, weights = (None, units) if wide else (units.astype(np.uint8)[np.newaxis], None)
    is_categorical = np.zeros(p, np.uint8)
    is_categorical[p - categorical :] = 1
    [grown] = _core.grow_trees(
        codes, labels, repeats, weights, np.full(p, 16, np.int32), is_categorical,
        np.zeros(p, np.int8), settings, 1, None,
    )  # fmt: skip
    return tree_from_core(grown, 1.0)


def sample(n, p, seed, n_codes, signal, most):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, size=(p, n)).astype(np.uint8)
    labels = (codes[0] * signal + rng.normal(size=n) * n_codes > n_codes * signal / 2).astype(
        np.uint8
    )
    labels[:2] = 0, 1
    return codes, labels, rng.integers(1, most + 1, size=n)


def kept_tests(tree, cell=0):
    """Tests of a cell's LeafRank tree, or None for a cell that is not split."""
    if tree.cells["left"][cell] < 0:
        return None
    tests = tree.tests[tree.cells["first_test"][cell] : tree.cells["last_test"][cell]]
    return sorted(oracles.readable_test(tree, test) for test in tests[tests["left"] >= 0])


@pytest.mark.core
@examples(100)
@given(
    st.integers(6, 150), st.integers(1, 3), st.integers(0, 2**32 - 1), st.integers(3, 12),
    st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([1, 3]), st.booleans(), st.booleans(),
    st.sampled_from([0, 1]), st.sampled_from(_core.CRITERIA), st.sampled_from([-1, 1]),
)  # fmt: skip
def test_no_subtree_is_kept_but_the_one_that_held_out_rows_choose(
    n, p, seed, n_codes, signal, most, wide, random_cuts, categorical, criterion, max_features
):
    codes, labels, units = sample(n, p, seed, n_codes, signal, most)
    drawn = {"random_cuts": random_cuts, "criterion": criterion, "max_features": max_features}
    unpruned = core_options(False, **drawn)

    def grow_one(counts):
        tree = grow(codes, labels, counts, unpruned, wide=wide, categorical=categorical)
        return tree if tree.is_split[0] else None

    pruned = core_options(True, **drawn)
    tree = grow(codes, labels, units, pruned, wide=wide, categorical=categorical)
    slow = oracles.prune_leafrank(grow_one, codes, labels, units)
    assert (kept_tests(tree) or []) == (slow or [])


@pytest.mark.core
@examples(30)
@given(st.integers(30, 200), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0]))
def test_every_cell_of_a_tree_is_pruned_by_its_own_rows(n, seed, signal):
    codes, labels, units = sample(n, 3, seed, 9, signal, 2)
    tree = grow(codes, labels, units, core_options(True, master_depth=3))
    cells = [np.array([oracles.walk(tree, codes, row) for row in range(n)])]
    while cells[-1].any():
        cells.append(tree.cells["parent"][cells[-1]].clip(0))
    for cell in np.flatnonzero(tree.cells["depth"] < 3):
        rows = np.flatnonzero(np.any([at == cell for at in cells], axis=0))
        mine = np.ascontiguousarray(codes[:, rows]), labels[rows]

        def grow_one(counts, mine=mine):
            found = grow(*mine, counts, core_options(False))
            return found if found.is_split[0] else None

        if len(np.unique(mine[1])) < 2:
            continue
        slow = oracles.prune_leafrank(grow_one, *mine, units[rows])
        assert (kept_tests(tree, cell) or []) == (slow or [])


def corner(n, seed):
    """Positives where both features are large or both small: no single test tells."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 4))
    y = (rng.random(n) < np.where((x[:, 0] > 0.5) == (x[:, 1] > 0.5), 0.85, 0.15)).astype(int)
    return x, y


def n_inner_leaves(model):
    return max(1, int((model.tree_.tests["left"] < 0).sum()))


def test_noise_is_pruned_to_few_leaves():
    sizes = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(300, 5)), rng.integers(0, 2, size=300)
        sizes.append(n_inner_leaves(LeafRank(max_depth=None, pruning="cv").fit(x, y)))
    assert np.mean(np.array(sizes) <= 2) >= 0.85
    assert np.mean(np.array(sizes) == 1) >= 0.4
    assert np.mean(sizes) <= 3


def test_what_takes_several_tests_is_kept_and_the_rest_goes():
    x, y = corner(1_500, 0)
    whole = LeafRank(max_depth=6).fit(x, y)
    model = LeafRank(max_depth=6, pruning="cv").fit(x, y)
    assert 4 <= n_inner_leaves(model) < n_inner_leaves(whole) / 2
    x_new, y_new = corner(20_000, 1)
    assert model.score(x_new, y_new) > max(0.83, whole.score(x_new, y_new))


def test_pruned_splits_rank_new_rows_better_than_deep_ones():
    gains = []
    for seed in range(5):
        train = make_uniform_mixture(1_000, random_state=seed)
        new = make_uniform_mixture(20_000, random_state=seed + 100)
        deep = TreeRank(LeafRank(max_depth=8)).fit(train.X, train.y)
        pruned = TreeRank(LeafRank(max_depth=8, pruning="cv")).fit(train.X, train.y)
        gains.append(pruned.score(new.X, new.y) - deep.score(new.X, new.y))
    assert np.mean(gains) > 0.02
    assert min(gains) > 0


def test_the_scale_of_weights_does_not_matter():
    x, y = corner(400, 4)
    weight = np.random.default_rng(1).random(len(y)) + 0.1
    a = TreeRank(LeafRank(max_depth=4, pruning="cv")).fit(x, y, sample_weight=weight)
    b = TreeRank(LeafRank(max_depth=4, pruning="cv")).fit(x, y, sample_weight=7 * weight)
    assert np.array_equal(a.apply(x), b.apply(x))
    assert len(a.partition_) > 1


@pytest.mark.parametrize("missing", ["learned", "cell_mean"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_missing_values_and_categories_are_counted_where_they_go(missing, n_jobs):
    x, y = corner(900, 5)
    x[:, 2] = np.random.default_rng(0).integers(0, 6, size=len(y))
    y = np.where(x[:, 2] == 4, 1 - y, y)
    x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    model = TreeRank(
        LeafRank(max_depth=5, pruning="cv"), categorical_features=[2], missing=missing,
        n_jobs=n_jobs, pruning=None, shrinkage=None,
    ).fit(x, y)  # fmt: skip
    assert (model.tree_.tests["categorical"] == 1).any()
    strata = model.apply(x)
    counts = [np.bincount(y[strata == k], minlength=2) for k in range(len(model.partition_))]
    assert np.array_equal(counts, model.partition_.counts)


def test_the_noise_of_equal_rows_is_not_learned():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 40, (2_000, 1)), rng.integers(0, 2, 2_000)
        model = LeafRank(max_depth=6, pruning="cv").fit(x, y)
        assert len(model.tree_.tests) <= 3  # the simplest split, or none


def test_monotone_constraints_hold_in_pruned_trees():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(1_000, 3))
    y = (x[:, 0] + np.sin(2 * x[:, 1]) + rng.normal(size=1_000) > 0).astype(int)
    model = TreeRank(LeafRank(max_depth=5, pruning="cv"), monotonic_cst=[1, 0, 0]).fit(x, y)
    assert len(model.partition_) > 2
    moved = rng.normal(size=(2_000, 3))
    higher = moved + np.array([0.7, 0, 0])
    assert (model.score_samples(higher) >= model.score_samples(moved)).all()


def test_a_function_may_choose_a_pruned_leafrank_for_some_cells():
    x, y = corner(600, 7)

    def choose(cell):
        return LeafRank(max_depth=4, pruning="cv") if cell.depth == 0 else None

    model = TreeRank(choose, shrinkage=None).fit(x, y)
    assert len(model.partition_) == 2
    assert model.score(x, y) > 0.8


def test_a_forest_refuses_pruned_splits():
    x, y = corner(100, 8)
    with pytest.raises(ValueError, match=r"Got splitter=LeafRank\(pruning='cv'\).*RankingForest"):
        RankingForest(LeafRank(pruning="cv")).fit(x, y)


@pytest.mark.parametrize("pruning", ["penalty", True, 5, "CV"])
def test_unknown_pruning_is_refused(pruning):
    x, y = corner(100, 9)
    with pytest.raises(ValueError, match=r"Got pruning=.*; expected one of 'cv', None"):
        LeafRank(pruning=pruning).fit(x, y)
