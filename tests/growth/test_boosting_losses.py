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


def new_rounds(codes, n_jobs):
    shape = np.full(20, 30, dtype=np.int32), np.zeros(20, np.uint8), np.zeros(20, np.int8)
    return _core.BoostingRounds(codes, None, *shape, n_jobs)


TREE = STUMP | {"max_depth": 3, "min_weight_leaf": 2, "learning_rate": 0.3}
FEATURES = np.arange(20, dtype=np.int32)


def boost_in_core(codes, scores, labels, n_jobs):
    """Return the trees of three rounds of the core, the scores after them, and if it goes on."""
    scores, chosen = scores.copy(), np.tile(FEATURES, (3, 1))
    rounds = new_rounds(codes, n_jobs)
    trees, goes_on = rounds.boost(scores, labels, 20, 1.0, None, 0, chosen, TREE)
    return trees, scores, goes_on


def boost_by_definition(codes, scores, labels):
    """Return slots and values of the trees of three rounds on derivatives of the definition."""
    rounds, scores, slots, values = new_rounds(codes, 1), scores.copy(), [], []
    for _ in range(3):
        derivatives = oracles.logistic_derivatives(scores, labels)
        tree = rounds.grow(*derivatives, 20, 1.0, None, FEATURES, TREE, scores)
        if tree is None:
            break
        if len(tree[0]) > 1:
            slots.append(tree[0])
            values.append(tree[1])
    return slots, values, scores


@pytest.mark.parametrize(("n", "spread"), [(1, 1.0), (300, 0.0), (5_003, 2.0), (9_000, 400.0)])
def test_logistic_gradients_of_the_core_are_those_of_the_definition(n, spread):
    case = logistic_case(n, n, spread)
    (starts, found_slots, found_values, *_), scores, _ = boost_in_core(*case, 1)
    slots, values, wanted = boost_by_definition(*case)
    assert np.array_equal(np.diff(starts), [len(tree) for tree in slots])
    if slots:
        assert np.array_equal(found_slots, np.concatenate(slots))
        np.testing.assert_allclose(found_values, np.concatenate(values), rtol=1e-6)
    np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-9)


@examples(20)
@given(n=st.integers(20_000, 60_000), seed=st.integers(0, 1000))
def test_rounds_are_the_same_to_the_bit_for_any_number_of_threads(n, seed):
    case = logistic_case(n, seed, 1.5)
    alone, scores, _ = boost_in_core(*case, 1)
    for n_jobs in (2, 5):
        shared, same_scores, _ = boost_in_core(*case, n_jobs)
        assert all(np.array_equal(a, b) for a, b in zip(alone, shared, strict=True))
        assert np.array_equal(scores, same_scores)


@pytest.mark.parametrize("labels", [np.zeros(6, np.uint8), np.ones(6, np.uint8)])
def test_logistic_gradients_of_rows_all_in_order_leave_nothing_to_learn(labels):
    codes = np.arange(6, dtype=np.uint8)[np.newaxis] % 3
    shape = np.array([3], dtype=np.int32), np.zeros(1, np.uint8), np.zeros(1, np.int8)
    rounds = _core.BoostingRounds(codes, None, *shape, 1)
    scores = np.where(labels == 1, 1e4, -1e4)
    chosen = np.zeros((2, 1), dtype=np.int32)
    trees, goes_on = rounds.boost(scores, labels, 30, 1.0, None, 0, chosen, STUMP)
    assert np.array_equal(trees[0], [0])
    assert not goes_on
    assert np.array_equal(scores, np.where(labels == 1, 1e4, -1e4))
