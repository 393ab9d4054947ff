"""Losses of boosting: their derivatives are those of the definition."""

import numpy as np
import oracles
import pytest
from boosted_trees import STUMP
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import _core
from treerank._growth.boosting import boosting_units
from treerank._growth.losses import PAIR_LOSSES, CumulativeLogistic
from treerank._input.weights import Weights

pytestmark = pytest.mark.core


def pair_loss(name, scores, rank, weight):
    """Sum over pairs, straight from the definition."""
    total = weight_sum = 0.0
    for i in range(len(rank)):
        for j in range(len(rank)):
            if rank[i] > rank[j]:
                gap = scores[j] - scores[i]
                pair = weight[i] * weight[j]
                weight_sum += pair
                total += pair * (np.logaddexp(0, gap) if name == "pairwise" else np.exp(gap))
    return weight.sum() / 2 * (total / weight_sum if name == "pairwise" else np.log(total))


@pytest.mark.parametrize("name", ["pairwise", "rankboost"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_of_pairs_is_that_of_the_definition(name, n_classes):
    rng = np.random.default_rng(0)
    rank = np.arange(24) % n_classes
    scores, weight = rng.normal(size=24), rng.uniform(0.5, 2, 24)
    first, second = PAIR_LOSSES[name](scores, rank, weight, n_classes)
    for i in range(0, 24, 5):
        step = np.zeros(24)
        step[i] = 1e-5
        up, down = (pair_loss(name, scores + s, rank, weight) for s in (step, -step))
        assert weight[i] * first[i] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)
    assert (second > 0).all()


def cut_loss(scores, constants, rank, weight):
    """Logistic losses of all cuts of the classes, each divided by U (1 - U), by the definition."""
    total = importance = 0.0
    for k, constant in enumerate(constants):
        above = rank > k
        share = np.average(above, weights=weight)
        gap = np.where(above, -(scores + constant), scores + constant)
        total += weight @ np.logaddexp(0, gap) / (share * (1 - share))
        importance += 1 / (share * (1 - share))
    return total / importance


def test_derivatives_of_cuts_are_those_of_the_definition_with_the_best_constants():
    rng = np.random.default_rng(2)
    rank, scores, units = np.arange(30) % 4, rng.normal(size=30), rng.integers(50, 200, 30)
    weight = units / 100
    loss = CumulativeLogistic(rank, units, 4)
    first, second = loss(scores)
    best = loss.cuts.constants
    for k, step in enumerate(0.05 * np.eye(3)):
        for sign in (1, -1):
            other = cut_loss(scores, best + sign * step, rank, weight)
            assert other > cut_loss(scores, best, rank, weight), k
    for i in range(0, 30, 4):
        step = np.zeros(30)
        step[i] = 1e-3
        up, at, down = (cut_loss(scores + s, best, rank, weight) for s in (step, 0 * step, -step))
        assert weight[i] * first[i] == pytest.approx((up - down) / 2e-3, rel=1e-4, abs=1e-6)
        assert weight[i] * second[i] == pytest.approx((up - 2 * at + down) / 1e-6, rel=1e-3)


def test_curvature_of_the_pairwise_loss_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    rank, scores, weight = np.arange(20) % 3, rng.normal(size=20), rng.uniform(0.5, 2, 20)
    _, second = PAIR_LOSSES["pairwise"](scores, rank, weight, 3)
    for i in range(0, 20, 3):
        step = np.zeros(20)
        step[i] = 1e-3
        values = [pair_loss("pairwise", scores + s, rank, weight) for s in (step, 0, -step)]
        bend = (values[0] - 2 * values[1] + values[2]) / 1e-6
        assert weight[i] * second[i] == pytest.approx(bend, rel=1e-3)


def test_rankboost_weights_survive_extreme_scores():
    first, second = PAIR_LOSSES["rankboost"](
        np.array([-900.0, 900.0, 0.0]), np.array([0, 1, 1]), np.ones(3), 2
    )
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()


def test_huge_weights_leave_room_for_gradients():
    units, scale = boosting_units(Weights(units=np.array([2**50, 2**49, 3])))
    assert units.sum() <= 2**40
    assert units.min() == 1
    np.testing.assert_allclose(units[:2] / scale, [2.0**50, 2.0**49])


def logistic_case(n, seed, spread):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 30, size=(20, n)).astype(np.uint8)
    scores = spread * rng.normal(size=n)
    labels = (codes[0] + 5 * rng.normal(size=n) + scores > 15).astype(np.uint8)
    return codes, scores, labels


def grow_rounds(codes, scores, labels, n_jobs, derive):
    """Return what a few rounds of the core give, and the scores after them."""
    shape = np.full(20, 30, dtype=np.int32), np.zeros(20, np.uint8), np.zeros(20, np.int8)
    rounds = _core.BoostingRounds(codes, None, *shape, n_jobs)
    options = STUMP | {"max_depth": 3, "min_weight_leaf": 2, "learning_rate": 0.3}
    scores, trees = scores.copy(), []
    for _ in range(3):
        derivatives = derive(rounds, scores, labels)
        trees.append(
            rounds.grow(*derivatives, 20, 1.0, None, np.arange(20, dtype=np.int32), options, scores)
        )
    return trees, scores


def core_derives(rounds, scores, labels):
    rounds.set_logistic_gradients(scores, labels, 20)
    return None, None


@pytest.mark.parametrize(("n", "spread"), [(1, 1.0), (300, 0.0), (5_003, 2.0), (9_000, 400.0)])
def test_logistic_gradients_of_the_core_are_those_of_the_definition(n, spread):
    case = logistic_case(n, n, spread)
    trees, scores = grow_rounds(*case, 1, core_derives)
    slow, wanted = grow_rounds(*case, 1, lambda _, *rows: oracles.logistic_derivatives(*rows))
    for tree, twin in zip(trees, slow, strict=True):
        assert (tree is None) == (twin is None)
        if tree is not None:
            assert np.array_equal(tree[0], twin[0])
            np.testing.assert_allclose(tree[1], twin[1], rtol=1e-6)
    np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-9)


@examples(20)
@given(n=st.integers(20_000, 60_000), seed=st.integers(0, 1000))
def test_rounds_are_the_same_to_the_bit_for_any_number_of_threads(n, seed):
    case = logistic_case(n, seed, 1.5)
    alone, scores = grow_rounds(*case, 1, core_derives)
    for n_jobs in (2, 5):
        shared, same_scores = grow_rounds(*case, n_jobs, core_derives)
        for tree, twin in zip(alone, shared, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(tree, twin, strict=True))
        assert np.array_equal(scores, same_scores)


@pytest.mark.parametrize("labels", [np.zeros(6, np.uint8), np.ones(6, np.uint8)])
def test_logistic_gradients_of_rows_all_in_order_leave_nothing_to_learn(labels):
    codes = np.arange(6, dtype=np.uint8)[np.newaxis] % 3
    shape = np.array([3], dtype=np.int32), np.zeros(1, np.uint8), np.zeros(1, np.int8)
    rounds = _core.BoostingRounds(codes, None, *shape, 1)
    scores = np.where(labels == 1, 1e4, -1e4)
    chosen = np.zeros(1, dtype=np.int32)
    rounds.set_logistic_gradients(scores, labels, 30)
    grown = rounds.grow(None, None, 30, 1.0, None, chosen, STUMP, scores)
    assert grown is None or len(grown[0]) == 1
    assert np.array_equal(scores, np.where(labels == 1, 1e4, -1e4))
