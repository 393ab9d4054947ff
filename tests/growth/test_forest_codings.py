"""Trees of a forest that see category statistics of different folds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import RankingForest
from treerank._binning.category_statistics import (
    CategoryPlan,
    code_training_data,
    with_coding,
)
from treerank._growth.forest_codings import TREES_PER_CODING, tree_blocks
from treerank._growth.forest_rows import LocalForestRows
from treerank._growth.progress import part_of
from treerank._input.validation import validate_training_data
from treerank._plans.forest import plan_categories
from treerank._trees.ranking_tree import NO_CUT, SLOT


def shops(n=700, n_levels=300, seed=0):
    """Text of many levels that matter, a number, and labels."""
    rng = np.random.default_rng(seed)
    level, x = rng.integers(0, n_levels, n), rng.normal(size=n)
    score = rng.normal(size=n_levels)[level] + 0.5 * x + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"shop": [f"shop {v}" for v in level], "x": x}), (score > 0).astype(int)


@examples(60)
@given(st.integers(0, 90), st.integers(0, 60), st.integers(1, 7))
def test_blocks_hold_every_tree_once_and_codings_do_not_depend_on_their_number(first, n, n_codings):
    blocks = tree_blocks(first, first + n, n_codings)
    numbers = [t for block in blocks for t in range(block.first, block.last)]
    assert numbers == list(range(first, first + n))
    coding_of = {t: block.coding for block in blocks for t in range(block.first, block.last)}
    for number, coding in coding_of.items():
        assert coding == (0 if n_codings == 1 else number // TREES_PER_CODING % n_codings)


def coded(X, y, n_codings):
    """Return training data and its codes."""
    data = validate_training_data(RankingForest(), X, y, None, "from_dtype")
    return data, code_training_data(data, 255, "auto", 1, CategoryPlan(n_codings))


def grown_on(data, codes, n_trees):
    """Return a forest on these codes that keeps its trees as they are before shrinkage."""
    model = RankingForest(n_estimators=n_trees, warm_start=True, oob_score=True)
    model._fit_coded(data, codes, None)
    return model


@pytest.mark.parametrize("n_trees", [9, 3 * TREES_PER_CODING + 2])
def test_trees_are_those_of_forests_that_have_their_coding_alone(n_trees):
    data, every = coded(*shops(), 3)
    whole = grown_on(data, every, n_trees)._before_shrinkage
    alone = [
        grown_on(data, replace(every, made=with_coding(every.codes, every.binning, k)), n_trees)
        for k in range(3)
    ]
    for coding, first, last in tree_blocks(0, n_trees, 3):
        found = whole.some_trees(first, last)
        for k in range(3):
            expected = alone[k]._before_shrinkage.some_trees(first, last)
            same = found.slots.shape == expected.slots.shape and np.array_equal(
                found.step, expected.step
            )
            assert same == (k == coding)


def test_out_of_bag_rows_have_the_codes_that_a_tree_was_grown_on():
    X, y = shops(300)
    data, every = coded(X, y, 3)
    model = grown_on(data, every, 20)
    rows = LocalForestRows(
        every.codes, every.codes, data, every.binning, None, np.zeros(2, dtype=np.int8), 1
    )
    trees, sampling, numbers = model._before_shrinkage, model._plan.sampling, np.arange(300)
    sums, n_trees = np.zeros(300), np.zeros(300)
    for coding, first, last in tree_blocks(0, 20, 3):
        codes = with_coding(every.codes, every.binning, coding)
        for number in range(first, last):
            unseen = sampling.counts(number, 300) == 0
            tree = trees.tree(number).bake_shrinkage(20.0)
            sums[unseen] += (tree.each(codes, 1)[0] - tree.step[0])[unseen]
            n_trees += unseen
    found = rows.unseen(trees, sampling, numbers, [20.0])
    np.testing.assert_allclose(found.means[:, 0], sums / n_trees, atol=1e-6)
    by_feature = rows.unseen_by_feature(trees, sampling, numbers, 20.0)
    np.testing.assert_allclose(by_feature.means.sum(axis=1), sums / n_trees, atol=1e-6)


def test_a_tree_sees_the_order_or_the_single_levels():
    X, y = shops(2_000)
    X["agent"] = np.random.default_rng(1).permutation(X["shop"].to_numpy())
    model = RankingForest(n_estimators=20, warm_start=True).fit(X, y)
    assert model._binning.columns.feature.tolist() == [0, 1, 2, 0, 2]
    trees, seen = model._before_shrinkage, []
    for _, first, last in tree_blocks(0, 20, 3):
        slots = np.ascontiguousarray(trees.some_trees(first, last).slots).view(SLOT).ravel()
        seen.append(set(slots["feature"][slots["cut"] != NO_CUT].tolist()))
    assert seen == [{0, 1, 2}, {1, 3, 4}, {0, 1, 2}]


def test_noise_has_an_out_of_bag_auc_of_a_half():
    aucs = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, _ = shops(3_000, seed=seed)
        X["agent"] = rng.permutation(X["shop"].to_numpy())
        model = RankingForest(n_estimators=40, oob_score=True)
        aucs.append(model.fit(X[["shop", "agent"]], rng.integers(0, 2, 3_000)).oob_auc_)
    assert np.mean(aucs) < 0.512


def test_a_forest_that_grows_later_is_the_forest_grown_at_once():
    X, y = shops(400)
    at_once = RankingForest(n_estimators=20, random_state=1).fit(X, y)
    later = RankingForest(n_estimators=3, random_state=1, warm_start=True).fit(X, y)
    later.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(later.score_samples(X), at_once.score_samples(X))
    threads = RankingForest(n_estimators=20, random_state=1, n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(threads.score_samples(X), at_once.score_samples(X))


def test_the_number_of_codings_follows_rows_and_trees():
    few, many = np.array([20_000, 20_000]), np.array([25_000, 25_000])
    assert plan_categories(RankingForest(), few) == (25, True)
    assert plan_categories(RankingForest(n_estimators=2), few) == (2, True)
    assert plan_categories(RankingForest(n_estimators=33), few) == (5, True)
    assert plan_categories(RankingForest(), many) == (1, True)
    assert plan_categories(RankingForest(aggregation="mean_rank"), few) == (1, False)
    assert plan_categories(RankingForest(categories="statistics"), few) == (25, False)
    with pytest.raises(ValueError, match="Got n_estimators=0"):
        RankingForest(n_estimators=0).fit(*shops(100))


def test_the_progress_of_a_block_is_its_part_of_the_whole():
    shown = []
    part = part_of(shown.append, 8, 16, 20)
    for share in (0.0, 0.5, 1.0):
        part(share)
    assert shown == pytest.approx([0.4, 0.6, 0.8])
    assert part_of(None, 8, 16, 20) is None
