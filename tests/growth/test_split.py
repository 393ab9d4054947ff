"""Histograms and the search for the best cut, against their slow twins."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import LeafRank, _core

pytestmark = pytest.mark.core


@given(
    st.integers(1, 6), st.integers(1, 80), st.integers(1, 300), st.integers(0, 2**32 - 1),
    st.sampled_from([np.uint8, np.uint16]),
)  # fmt: skip
def test_histogram_equals_its_slow_twin(p, n, n_codes, seed, dtype):
    n_codes = min(n_codes, 256) if dtype == np.uint8 else n_codes
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, size=(p, n)).astype(dtype)
    labels = rng.integers(0, 2, size=n).astype(np.uint8)
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.uint32)
    packed = _core.histogram(codes, labels, rows, np.full(p, n_codes, dtype=np.int32))
    counts = packed.reshape(p, n_codes)
    slow = oracles.histogram(codes, labels, rows, n_codes)
    assert np.array_equal(counts & 0xFFFFFFFF, slow[:, :, 0])
    assert np.array_equal(counts >> np.uint64(32), slow[:, :, 1])


def test_histograms_of_row_blocks_add_up():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 20, size=(5, 1_000)).astype(np.uint8)
    labels = rng.integers(0, 2, size=1_000).astype(np.uint8)
    n_codes = np.full(5, 20, dtype=np.int32)
    blocks = np.array_split(np.arange(1_000, dtype=np.uint32), 7)
    parts = [_core.histogram(codes, labels, rows, n_codes) for rows in blocks]
    whole = _core.histogram(codes, labels, np.arange(1_000, dtype=np.uint32), n_codes)
    assert np.array_equal(sum(parts), whole)


masses = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(lambda m: sum(m) > 0),
    min_size=1, max_size=12,
)  # fmt: skip


@given(
    masses, st.booleans(), st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
    st.integers(1, 10), st.tuples(st.integers(1, 300), st.integers(1, 300)),
)  # fmt: skip
def test_best_cut_equals_its_slow_twin(mass, missing, criterion, least, cell):
    mass = np.array(mass, dtype=float)
    codes = np.arange(len(mass), dtype=np.int32) * 3 + (0 if missing else 1)
    gain, cut, missing_left = _core.best_cut(codes, mass, criterion, cell, float(least), 0)
    found = [
        (oracles.cut_gain(criterion, left, right, np.array(cell)), c, m)
        for c, m, left, right in oracles.all_cuts(codes, mass)
        if left.sum() >= least and right.sum() >= least
    ]
    best = max((g for g, _, _ in found), default=0.0)
    scale = max(best, 1.0)
    if gain == 0:
        assert best <= 1e-7 * scale
        return
    mine = next(g for g, c, m in found if (c, m) == (cut, missing_left))
    assert np.isclose(mine, best, rtol=1e-9)


@given(masses, st.sampled_from([-1, 1]))
def test_a_constrained_cut_never_runs_against_its_sign(mass, sign):
    mass = np.array(mass, dtype=float)
    codes = np.arange(1, len(mass) + 1, dtype=np.int32)
    gain, cut, _ = _core.best_cut(codes, mass, "gini", (100.0, 50.0), 1.0, sign)
    if gain > 0:
        left, right = mass[codes <= cut].sum(axis=0), mass[codes > cut].sum(axis=0)
        share = [m[1] * 100 / (m[1] * 100 + m[0] * 50) for m in (left, right)]
        assert (share[1] - share[0]) * sign >= 0


def sums_by_side(y, left):
    return [np.bincount(y[side], minlength=2).astype(float) for side in (left, ~left)]


@examples(60)
@given(
    st.integers(0, 2**32 - 1), st.integers(150, 900), st.integers(70, 250), st.integers(1, 20),
    st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.5, 2.0]),
)  # fmt: skip
def test_no_cut_of_many_codes_beats_the_one_found(seed, n, n_values, least, missing, signal):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, 3)).astype(float)
    y = (signal * X[:, 1] / n_values + rng.normal(size=n) > 0.8).astype(int)
    y[:2] = 0, 1
    X[rng.random(X.shape) < missing] = np.nan
    score = LeafRank(max_depth=1, min_samples_leaf=least).fit(X, y).score_samples(X)
    cell = np.bincount(y).astype(float)
    cuts = [
        (X[:, f] <= value) | (np.isnan(X[:, f]) & missing_left)
        for f in range(3)
        for value in [-1.0, *np.unique(X[:, f][~np.isnan(X[:, f])])]
        for missing_left in (False, True)
    ]
    sides = [sums_by_side(y, left) for left in cuts]
    best = max(
        oracles.cut_gain("gini", left, right, cell)
        for left, right in sides
        if left.sum() >= least and right.sum() >= least
    )
    found = oracles.cut_gain("gini", *sums_by_side(y, score == score.max()), cell)
    assert np.isclose(found, best, rtol=1e-9)
