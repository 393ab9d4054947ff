"""Trees of gradients: equal to their slow twin, and the same on any number of threads."""

import numpy as np
import oracles
import pytest
from boosted_trees import STUMP, grow
from hypothesis import given, reject
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import _core

pytestmark = pytest.mark.core

UNIT = 2.0**-8


@given(
    n=st.integers(2, 50), seed=st.integers(0, 10_000), n_codes=st.integers(2, 14),
    max_depth=st.integers(1, 3), leafrank_depth=st.integers(1, 3), by_stratum=st.booleans(),
    max_leaf_nodes=st.sampled_from([0, 0, 2, 3, 5, 9]),
    weighted=st.booleans(), least=st.integers(1, 4), l2=st.sampled_from([0.0, 0.5]),
    monotonic=st.sampled_from([(0, 0, 0), (1, 0, 0), (-1, 1, 0)]), n_jobs=st.integers(1, 5),
)  # fmt: skip
@examples(200)
def test_tree_equals_its_slow_twin(
    n, seed, n_codes, max_depth, leafrank_depth, by_stratum, max_leaf_nodes, weighted, least, l2,
    monotonic, n_jobs,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, size=(3, n)).astype(np.uint8)
    gradient = rng.integers(-1000, 1001, n).astype(np.int32)
    hessian = rng.integers(1, 500, n).astype(np.int32)
    weights = rng.integers(1, 4, n) if weighted else None
    rows = None
    if seed % 3:
        rows = np.sort(rng.choice(n, max(1, 3 * n // 4), replace=False)).astype(np.uint32)
    chosen = np.array([0, 2] if seed % 2 else [0, 1, 2], dtype=np.int32)
    options = {
        "max_depth": max_depth + (3 if max_leaf_nodes else 0), "max_leaf_nodes": max_leaf_nodes,
        "leafrank_depth": leafrank_depth, "min_weight_leaf": least,
        "independent_weight": 1.0, "l2": l2, "gradient_unit": UNIT, "hessian_unit": UNIT,
        "learning_rate": 1.0, "by_stratum": by_stratum,
    }  # fmt: skip
    categorical = (0, 0, 1)
    if not gradient.any():
        return
    found, _ = grow(
        codes, (gradient * UNIT, hessian * UNIT), weights, categorical, monotonic, rows, chosen,
        options, n_jobs=n_jobs,
    )  # fmt: skip
    data = oracles.GradientRows(
        codes, gradient.astype(object), hessian.astype(object),
        np.ones(n, dtype=object) if weights is None else weights.astype(object),
        categorical, monotonic, options,
    )  # fmt: skip
    grown_on = np.arange(n) if rows is None else rows.astype(int)
    try:
        wanted = oracles.boosted_tree_values(data, grown_on, chosen)
    except oracles.AmbiguousTieError:
        reject()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", [18, 20, 44, 92, 119])
def test_leaves_that_a_bound_made_equal_stay_together(seed, monkeypatch):
    # Where the best cut of the ordered leaves lies between two of equal value.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 24))
    codes = rng.integers(0, 5, size=(3, n)).astype(np.uint8)
    gradient = rng.integers(-1000, 1001, n).astype(np.int32)
    hessian = rng.integers(1, 500, n).astype(np.int32)
    options = {
        "max_depth": 1, "leafrank_depth": int(rng.integers(2, 4)), "min_weight_leaf": 1,
        "independent_weight": 1.0, "l2": float(rng.choice([0, 0.5])), "gradient_unit": UNIT,
        "hessian_unit": UNIT, "learning_rate": 1.0, "by_stratum": bool(rng.integers(2)),
    }  # fmt: skip
    found, _ = grow(
        codes, (gradient * UNIT, hessian * UNIT), None, (0, 0, 0), (1, -1, 0), None,
        np.arange(3, dtype=np.int32), options,
    )  # fmt: skip
    data = oracles.GradientRows(
        codes, gradient.astype(object), hessian.astype(object), np.ones(n, dtype=object),
        (0, 0, 0), (1, -1, 0), options,
    )  # fmt: skip
    wanted = oracles.boosted_tree_values(data, np.arange(n), np.arange(3))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    keep_together = oracles.boosting._gradient_halves
    monkeypatch.setattr(
        oracles.boosting, "_gradient_halves", lambda *a: keep_together(*a[:3], False)
    )
    assert not np.allclose(found, oracles.boosted_tree_values(data, np.arange(n), np.arange(3)))


def test_fixed_point_keeps_values_to_the_last_bit_asked_for():
    values = np.array([0.7, -0.3, 0.0, 1e-4])
    whole, unit = oracles.fixed_point(values, 30)
    assert np.abs(whole).max() <= 2**30
    np.testing.assert_allclose(whole * unit, values, atol=unit / 2)


@given(st.integers(0, 10_000), st.integers(2, 12))
@examples(50)
def test_the_core_rounds_gradients_as_its_slow_twin(seed, bits):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 9, size=(2, 60)).astype(np.uint8)
    # Halves of units: of two whole numbers as near, the even one.
    first = rng.integers(-8, 9, 60) / 2 * rng.choice([1.0, 0.3])
    second = rng.integers(1, 9, 60) / 2
    first[0] = 3.7
    rounded = [np.multiply(*oracles.fixed_point(d, bits)) for d in (first, second)]
    setting = (None, (0, 0), (0, 0), None, np.arange(2, dtype=np.int32), STUMP)
    found, _ = grow(codes, (first, second), *setting, bits=bits)
    wanted, _ = grow(codes, rounded, *setting, bits=30)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_sums_of_many_rows_are_exact_on_any_number_of_threads(weighted, dtype):
    """More rows than the counters of a block have room for, and parts of them on many threads."""
    rng = np.random.default_rng(5)
    n = 150_000
    codes = rng.integers(1, 40, size=(5, n)).astype(dtype)
    first = rng.normal(size=n) - 0.3 * (codes[3] > 17)
    second = rng.uniform(0.1, 1.0, n)
    weights = rng.integers(1, 4, n) if weighted else None
    whole = [oracles.fixed_point(d, 30) for d in (first, second)]
    weight = np.ones(n, dtype=np.int64) if weights is None else weights
    best = 0.0
    for feature in range(5):
        bins = np.zeros((2, 40), dtype=np.int64)
        for of_kind, (numbers, _) in zip(bins, whole, strict=True):
            np.add.at(of_kind, codes[feature], numbers.astype(np.int64) * weight)
        g, h = (np.cumsum(b) * unit for b, (_, unit) in zip(bins, whole, strict=True))
        gain = g**2 / (h + 1) + (g[-1] - g) ** 2 / (h[-1] - h + 1)
        cut = int(np.argmax(gain[:-1]))
        if gain[cut] > best:
            best, goes_left = gain[cut], codes[feature] <= cut
            left, right = -g[cut] / (h[cut] + 1), -(g[-1] - g[cut]) / (h[-1] - h[cut] + 1)
    wanted = np.where(goes_left, left, right).astype(np.float32)
    setting = (weights, [0] * 5, [0] * 5, None, np.arange(5, dtype=np.int32), STUMP)
    for n_jobs in (1, 2, 16):
        found, _ = grow(codes, (first, second), *setting, n_jobs=n_jobs)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("monotonic", [[0, 0, 0, 0], [1, -1, 0, 0]])
@pytest.mark.parametrize("depths", [(6, 1), (2, 4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_of_one_depth_grown_together_make_the_tree_of_one_after_another(
    depths, weighted, monotonic
):
    """Many threads share the nodes of a depth out; a thread alone grows a branch to its end."""
    rng = np.random.default_rng(7)
    n = 80_000
    codes = rng.integers(0, 30, size=(4, n)).astype(np.uint8)
    wave = np.sin(codes[0] * codes[1] / 40.0) + 0.4 * (codes[2] % 5 == 3)
    derivatives = (rng.normal(size=n) - wave, rng.uniform(0.1, 1.0, n))
    weights = rng.integers(1, 4, n) if weighted else None
    options = {**STUMP, "max_depth": depths[0], "leafrank_depth": depths[1]}
    setting = (weights, [0, 0, 1, 0], monotonic, None, np.arange(4, dtype=np.int32), options)
    values, importance = grow(codes, derivatives, *setting, n_jobs=1)
    assert len(np.unique(values)) > 3
    for n_jobs in (2, 3, 16):
        found, of_features = grow(codes, derivatives, *setting, n_jobs=n_jobs)
        assert np.array_equal(found, values)
        assert np.array_equal(of_features, importance)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_wide_table_grows_the_tree_of_the_columns_that_it_uses(weighted):
    """Rows are counted and features searched a few features at a time if there are many bins."""
    rng = np.random.default_rng(11)
    n, p = 1_500, 40
    codes = np.array([rng.permutation(n) for _ in range(p)]).astype(np.uint16)
    codes[:, rng.random(n) < 0.1] = 0  # missing in all columns
    derivatives = (rng.normal(size=n) - 2 * np.sin(codes[7] / 200.0), rng.uniform(0.1, 1.0, n))
    weights = rng.integers(1, 4, n) if weighted else None
    options = {**STUMP, "max_depth": 2, "leafrank_depth": 3}

    def grow_on(columns, n_jobs=1):
        zeros, chosen = [0] * p, np.array(columns, dtype=np.int32)
        return grow(codes, derivatives, weights, zeros, zeros, None, chosen, options, n_jobs=n_jobs)

    values, importance = grow_on(range(p))
    used = np.flatnonzero(importance)
    assert 1 < len(used) < 20
    assert np.array_equal(grow_on(used)[0], values)
    for n_jobs in (2, 16):
        assert np.array_equal(grow_on(range(p), n_jobs)[0], values)


def same_gains(seed):
    """Grow a tree on rows with two gradients only: many small cells gain the same."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 200)), int(rng.integers(1, 4))
    codes = rng.integers(0, int(rng.integers(3, 40)), size=(p, n)).astype(np.uint8)
    gradient = rng.choice([-1.0, 1.0], n)
    options = {
        "max_depth": 12, "max_leaf_nodes": int(rng.integers(4, 40)), "leafrank_depth": 1,
        "min_weight_leaf": 1, "independent_weight": 1.0, "l2": 0.0, "learning_rate": 1.0,
        "by_stratum": True,
    }  # fmt: skip
    return lambda n_jobs: grow(
        codes, (gradient, np.ones(n)), None, (0,) * p, (0,) * p, None,
        np.arange(p, dtype=np.int32), options, n_jobs=n_jobs,
    )  # fmt: skip


# In the first ones two cells gain the same, and of these the one that is made first on one thread
# is halved ahead of its turn after the other.
@pytest.mark.parametrize("seed", [500, 748, 771, 792, 1200, *range(50)])
def test_cells_halved_ahead_of_their_turn_do_not_change_the_tree(seed):
    alone = same_gains(seed)(1)
    for n_jobs in (2, 6, 16):
        shared = same_gains(seed)(n_jobs)
        np.testing.assert_array_equal(shared[0], alone[0])
        np.testing.assert_array_equal(shared[1], alone[1])


def test_core_refuses_arrays_that_do_not_fit():
    codes = np.ones((2, 5), dtype=np.uint8)
    ones, chosen = np.ones(5), np.arange(2, dtype=np.int32)
    shape = np.array([2, 2], dtype=np.int32), np.zeros(2, np.uint8), np.zeros(2, np.int8)
    with pytest.raises(ValueError, match="do not fit together"):
        _core.BoostingRounds(codes, np.ones(4, dtype=np.int64), *shape, 1)
    rounds = _core.BoostingRounds(codes, None, *shape, 1)
    rows = np.arange(5, dtype=np.uint32)
    for first, scores, bits, features in [
        (ones[:4], None, 30, chosen),
        (ones, ones[:4].copy(), 30, chosen),
        (ones, None, 31, chosen),
        (ones, None, 30, chosen[:0]),
    ]:
        with pytest.raises(ValueError, match="different lengths"):
            rounds.grow(first, ones, bits, 1.0, None, features, {}, scores)
    labels, rounds_of = np.ones(5, np.uint8), chosen[np.newaxis]
    for of_rows, of_labels, bits, features in [
        (ones[:4].copy(), labels, 30, rounds_of),
        (ones, labels[:4], 30, rounds_of),
        (ones, labels, 31, rounds_of),
        (ones, labels, 30, rounds_of[:0]),
    ]:
        with pytest.raises(ValueError, match="different lengths"):
            rounds.boost(of_rows, of_labels, bits, 1.0, None, 0, features, {})
    with pytest.raises(ValueError, match="no such feature"):
        rounds.boost(ones, labels, 30, 1.0, None, 0, rounds_of + np.int32(1), {})
    sampling = {"replace": False, "n_draws": 6, "seed": 0}
    with pytest.raises(ValueError, match="more draws than rows"):
        rounds.boost(ones, labels, 30, 1.0, sampling, 0, rounds_of, {})
    with pytest.raises(ValueError, match="no such row"):
        rounds.grow(ones, ones, 30, 1.0, rows + np.uint32(1), chosen, {}, None)
    with pytest.raises(ValueError, match="no such feature"):
        rounds.grow(ones, ones, 30, 1.0, rows, chosen - np.int32(1), {}, None)
    assert rounds.grow(np.zeros(5), ones, 30, 1.0, None, chosen, STUMP, None) is None
