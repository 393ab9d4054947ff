"""Rows and cuts that a forest draws."""

from itertools import pairwise

import numpy as np
import oracles
import pytest
from forest_tables import as_frame, rank_trees, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import LeafRank, RankingForest, _core
from treerank._trees.packed_forest import Sampling

pytestmark = pytest.mark.core


@examples(40)
@given(st.integers(2, 400), st.floats(0, 1), st.integers(0, 2**63), st.booleans())
def test_draws_add_up(n, share, seed, replace):
    n_draws = max(1, round(share * n))
    counts = Sampling(replace, n_draws, seed).counts(3, n)
    assert counts.sum() == n_draws
    if not replace:
        assert counts.max() == 1


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(
    ("n", "n_draws"), [(2, 2), (700, 500), (65_536, 65_536), (65_537, 65_537), (150_000, 100_000)]
)
def test_draws_are_those_of_the_slow_twin(n, n_draws, replace):
    sampling = Sampling(replace, n_draws, 2**63 + 7)
    expected = oracles.draw_counts(sampling.seed, 2, n_draws, n, replace)
    assert np.array_equal(sampling.counts(2, n), np.concatenate(expected))


@pytest.mark.parametrize("replace", [True, False])
def test_a_block_is_drawn_without_the_others(replace):
    n, block = 5 * _core.ROWS_PER_BLOCK + 17, _core.ROWS_PER_BLOCK
    sampling = Sampling(replace, n // 2, 5)
    whole = sampling.counts(1, n)
    cuts = [0, 0, 17, block, block + 1, 3 * block - 1, 5 * block, n]
    for first, last in pairwise(cuts):
        mine = sampling.some_counts(1, n, first, last - first)
        assert np.array_equal(mine, whole[first:last])
    with pytest.raises(ValueError, match="no such rows"):
        sampling.some_counts(1, n, n, 1)


@pytest.mark.not_sanitized
@pytest.mark.parametrize("replace", [True, False])
def test_blocks_share_the_draws_as_chance_would(replace):
    n, block = 180_000, _core.ROWS_PER_BLOCK
    n_draws = n // 3
    sampling = Sampling(replace, n_draws, 3)
    counts = (sampling.counts(t, n).astype(int) for t in range(300))
    totals = np.array([np.add.reduceat(c, [0, block, 2 * block]) for c in counts])
    share = np.array([block, block, n - 2 * block]) / n
    variance = n_draws * share * (1 - share)
    if not replace:
        variance *= (n - n_draws) / (n - 1)
    assert (abs(totals.mean(axis=0) - n_draws * share) < 4 * np.sqrt(variance / 300)).all()
    assert (abs(totals.var(axis=0) / variance - 1) < 4 * np.sqrt(2 / 300)).all()


def test_draws_are_uniform_and_differ_between_trees():
    counts = np.array([Sampling(True, 1000, 1).counts(t, 1000) for t in range(200)])
    assert abs((counts == 0).mean() - np.exp(-1)) < 0.005
    totals = counts.sum(axis=0)  # 200 expected for each row, standard deviation 14
    assert 120 < totals.min() <= totals.max() < 280
    assert len({row.tobytes() for row in counts}) == 200


@examples(20)
@given(
    st.integers(10, 150), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]),
    st.sampled_from([0, 5]), st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
)  # fmt: skip
def test_random_cuts_part_the_rows_they_count(n, seed, missing, levels, criterion):
    x, y = table(n, 3, seed, missing, levels)
    x = as_frame(x, levels)
    model = RankingForest(
        LeafRank(criterion=criterion, max_depth=None, max_features=2),
        n_estimators=1, random_cut_share=1.0, random_state=seed, warm_start=True,
    ).fit(x, y)  # fmt: skip
    [tree] = rank_trees(model, x, y)
    codes, _ = model._codes(x)
    repeats = model._plan.sampling.counts(0, n).astype(float)
    counted = oracles.node_weights(tree, codes, y, repeats)
    reached = tree.tests[["negative", "positive"]]
    np.testing.assert_array_equal(counted[:, 0], reached["negative"])
    np.testing.assert_array_equal(counted[:, 1], reached["positive"])
    inner = tree.tests["left"] >= 0
    assert (counted[tree.tests["left"][inner]].sum(axis=1) > 0).all()
    assert (counted[tree.tests["right"][inner]].sum(axis=1) > 0).all()


def test_random_cuts_are_spread_over_the_range():
    rng = np.random.default_rng(0)
    x = rng.permutation(1000)[:, np.newaxis] / 1000.0
    y = (rng.random(1000) < 0.5).astype(int)
    model = RankingForest(
        LeafRank(max_depth=1),
        max_depth=1,
        n_estimators=120,
        random_cut_share=1.0,
        shrinkage=0.0,
        warm_start=True,
    ).fit(x, y)
    cuts = [tree.tests["cut"][0] for tree in rank_trees(model, x, y) if len(tree.tests)]
    assert np.histogram(cuts, bins=4, range=(0, 1000))[0].min() > 15
