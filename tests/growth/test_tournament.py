"""Ordered classes: the tournament of pairs, its trees and what is read off them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import graded
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from treerank import LeafRank, TreeRank, _core
from treerank._binning.binning import code_table
from treerank._growth.trees import LeafRankOptions, TreeRankOptions
from treerank._input.validation import Table
from treerank._input.weights import Weights
from treerank._trees.ranking_tree import tree_from_core
from treerank.metrics._ordinal import vus_of_weights

pytestmark = pytest.mark.core


def vus(counts):
    """VUS of cells, best first."""
    return vus_of_weights(np.ascontiguousarray(np.asarray(counts, dtype=float)[::-1].T))


@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@pytest.mark.parametrize(
    "settings_",
    [
        {},
        {"splitter": LeafRank(max_depth=4), "pruning": None},
        {"splitter": LeafRank(max_depth=3, max_features=2), "max_features": 2},
        {"missing": "cell_mean", "n_jobs": 2},
        {"monotonic_cst": [1, 0, 0, 0], "splitter": LeafRank(max_depth=3)},
        {"max_bins": 8, "shrinkage": None},
    ],
    ids=str,
)
def test_two_classes_grow_the_same_tree_alone_and_in_a_tournament(monkeypatch, settings_, weights):
    """Of three classes, one without rows, the cells of a depth are grown together."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(1_200, 4)).round(1)
    x[rng.random(x.shape) < 0.05] = np.nan
    y = (np.nan_to_num(x[:, 0] * x[:, 1]) + rng.normal(size=len(x)) > 0).astype(int)
    weight = {
        None: None,
        "whole": rng.integers(1, 5, len(x)),
        "fractional": rng.random(len(x)),
    }[weights]
    grow, n_compared = _core.grow_trees, []

    def compare(*args):
        *rest, n_classes, soft = args
        assert n_classes == 2
        none = None if soft is None else np.dstack([soft, np.zeros_like(soft[:, :, :1])])
        alone, together = grow(*rest, 2, soft), grow(*rest, 3, none)
        for one, other in zip(alone, together, strict=True):
            a, b = tree_from_core(one, 1.0), tree_from_core(other, 1.0)
            for name in ("parent", "left", "right", "depth", "first_test", "last_test"):
                assert np.array_equal(a.cells[name], b.cells[name])
            assert np.array_equal(a.counts, b.counts[:, :2])
            assert np.array_equal(a.tests, b.tests)
            n_compared.append(a.n_cells)
        return alone

    monkeypatch.setattr(_core, "grow_trees", compare)
    TreeRank(**settings_).fit(x, y, sample_weight=weight)
    assert max(n_compared) > 10


def candidates(x, y, inside, pairs):
    """Better side of the best split of each pair, grown as a tree of two classes, for all rows."""
    table = Table(len(x), ["a", "b"], x, [])
    coded = code_table(table, Weights(), 255, n_jobs=1)
    binning, codes = coded.binning, coded.codes
    leafrank = LeafRankOptions("gini", 1, -1, 1.0, 2.0, -1)
    options = TreeRankOptions(leafrank, 1, 1.0, 2.0, 0.0, -1, 0)
    for worse, better in pairs:
        repeats = (inside & np.isin(y, (worse, better))).astype(np.uint8)[np.newaxis]
        [arrays] = _core.grow_trees(
            codes, (y == better).astype(np.uint8), repeats, None, binning.n_codes,
            binning.is_categorical, np.zeros(2, np.int8), options.for_core(1.0, 1.0), 1, None,
        )  # fmt: skip
        tree = tree_from_core(arrays, 1.0)
        if tree.n_cells == 3:
            yield inside & (tree.apply(codes) == 1)


@examples(25)
@given(st.integers(0, 10_000), st.integers(3, 5), st.sampled_from(["all", "adjacent"]))
def test_the_winner_adds_most_to_the_vus_of_the_whole_partition(seed, n_classes, tournament):
    """Replays the growth, cell by cell, best first, with trees of two classes as candidates."""
    x, y = graded(90, n_classes, seed, n_features=2)
    model = TreeRank(
        max_depth=3, pruning=None, shrinkage=None, min_samples_leaf=1, tournament=tournament
    ).fit(x, y)
    tree = model.unpruned_tree_
    inside = {0: np.ones(len(y), dtype=bool)}
    partition = [0]
    for depth in range(3):
        for cell in [c for c in partition if tree.cells["depth"][c] == depth]:
            counts = [np.bincount(y[inside[c]], minlength=n_classes) for c in partition]
            at = partition.index(cell)
            present = np.flatnonzero(counts[at])
            pairs = itertools.combinations(present, 2)
            if tournament == "adjacent":
                pairs = itertools.pairwise(present)
            gains = []
            for left in candidates(x, y, inside[cell], pairs):
                part = np.bincount(y[left], minlength=n_classes)
                if 0 < part.sum() < counts[at].sum():
                    after = [*counts[:at], part, counts[at] - part, *counts[at + 1 :]]
                    gains.append(vus(after) - vus(counts))
            best = max(gains, default=0.0)
            if tree.cells["left"][cell] < 0:
                assert best < 1e-12
                continue
            assert tree.cells["auc_gain"][cell] == pytest.approx(best, abs=1e-12)
            left, right = tree.cells["left"][cell], tree.cells["right"][cell]
            below = model._stratum  # leaves carry their place in the ranking
            inside[left] = inside[cell] & np.isin(model.apply(x), below[_leaves_below(tree, left)])
            inside[right] = inside[cell] & ~inside[left]
            assert np.array_equal(tree.counts[left], np.bincount(y[inside[left]], None, n_classes))
            partition[at : at + 1] = [left, right]


def _leaves_below(tree, cell):
    if tree.cells["left"][cell] < 0:
        return [cell]
    return [
        leaf for side in ("left", "right") for leaf in _leaves_below(tree, tree.cells[side][cell])
    ]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6])
@pytest.mark.parametrize("gain", ["vus", "local"])
def test_gains_add_up_to_the_vus(n_classes, gain):
    x, y = graded(400, n_classes)
    model = TreeRank(pruning=None, shrinkage=None, tournament_gain=gain).fit(x, y)
    gains = model.tree_.cells["auc_gain"].sum()
    assert model.partition_.vus() == pytest.approx(1 / math.factorial(n_classes) + gains)
    assert model.score(x, y) == pytest.approx(model.partition_.vus())
    assert len(model.partition_) > 5


def test_pruning_by_vus_equals_pruning_by_gains_for_three_classes():
    x, y = graded(400, 3)
    tree = TreeRank(pruning=None, shrinkage=None).fit(x, y).tree_
    left, right = (np.ascontiguousarray(tree.cells[side]) for side in ("left", "right"))
    lambdas, collapsed_at = _core.vus_complexity(left, right, tree.counts)
    assert np.allclose(lambdas, tree.sequence[0], atol=1e-12)
    assert np.array_equal(collapsed_at, tree.sequence[1])


def test_every_step_of_pruning_collapses_the_split_that_adds_least_vus_a_leaf():
    x, y = graded(150, 5, seed=3)
    tree = TreeRank(pruning=None, shrinkage=None).fit(x, y).tree_
    lambdas, collapsed_at = tree.sequence
    for k in range(len(lambdas) - 1):
        now = tree.subtree(collapsed_at > k)
        shrinkages = []
        for cell in np.flatnonzero(now.is_split):
            keep = now.is_split.copy()
            keep[cell] = False
            smaller = now.subtree(keep)
            lost = vus(now.counts[now.leaves]) - vus(smaller.counts[smaller.leaves])
            shrinkages.append(lost / (len(now.leaves) - len(smaller.leaves)))
        assert lambdas[k + 1] == pytest.approx(max(min(shrinkages), lambdas[k]), abs=1e-12)


@pytest.mark.parametrize(
    "settings_",
    [
        {},
        pytest.param(
            {"splitter": LogisticRegression(), "max_depth": 2, "cv": 3},
            marks=pytest.mark.not_sanitized,
        ),
    ],
)
def test_threads_row_order_and_repeated_rows_do_not_matter(settings_):
    x, y = graded(400, 4)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, len(y))
    model = TreeRank(**settings_).fit(x, y, sample_weight=weight)
    order = rng.permutation(len(y))
    shuffled = TreeRank(n_jobs=2, **settings_).fit(x[order], y[order], weight[order])
    assert np.array_equal(model.score_samples(x), shuffled.score_samples(x))
    unpruned = TreeRank(**settings_, pruning=None, shrinkage=3.0)
    weighted = clone(unpruned).fit(x, y, sample_weight=weight)
    repeated = clone(unpruned).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighted.score_samples(x), repeated.score_samples(x))
