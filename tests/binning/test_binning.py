"""Thresholds and codes, against their slow twins."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from hypothesis_examples import examples

from treerank import _core

pytestmark = pytest.mark.core

numbers = st.one_of(
    st.sampled_from([np.nan, -0.0, 0.0, 1.0, -1.0, 2.5, 1e300, -1e300, 5e-324, 1.0 + 2**-52]),
    st.floats(allow_nan=True, allow_infinity=False),
    st.integers(-5, 5).map(float),
)
columns = arrays(np.float64, st.integers(1, 60), elements=numbers)


def find(values, max_bins, weights=None, n_jobs=1):
    sample = np.arange(len(values), dtype=np.uint32)
    return _core.find_thresholds(values[:, np.newaxis], sample, weights, max_bins, n_jobs)[0]


def encode(values, cuts, dtype=np.uint16):
    codes = np.empty((1, len(values)), dtype=dtype)
    _core.encode(values[:, np.newaxis], [cuts], codes, 1)
    return codes[0]


@given(columns, st.integers(2, 20))
def test_thresholds_equal_their_slow_twin(values, max_bins):
    assert np.array_equal(find(values, max_bins), oracles.thresholds(values, max_bins))


@given(columns, st.integers(2, 20), st.randoms(use_true_random=False))
def test_weighted_thresholds_equal_those_of_repeated_rows(values, max_bins, random):
    repeats = np.array([random.randint(1, 4) for _ in values], dtype=np.int64)
    cuts = find(values, max_bins, repeats)
    assert np.array_equal(cuts, find(np.repeat(values, repeats), max_bins))
    assert np.array_equal(cuts, oracles.thresholds(values, max_bins, repeats))


@given(columns, st.integers(2, 300))
def test_codes_equal_their_slow_twin(values, max_bins):
    cuts = find(values, max_bins)
    assert np.array_equal(encode(values, cuts), oracles.encode(values, cuts))


@given(columns, st.integers(2, 20))
def test_no_more_bins_than_asked_for(values, max_bins):
    assert len(find(values, max_bins)) < max_bins


@given(columns)
def test_every_distinct_value_has_its_own_code_when_there_is_room(values):
    codes = encode(values, find(values, 65_535))
    known = values[~np.isnan(values)]
    assert len(np.unique(codes[codes > 0])) == len(np.unique(known))


@given(columns, st.integers(2, 20))
def test_codes_keep_the_order_of_values(values, max_bins):
    known = np.sort(values[~np.isnan(values)])
    assert (np.diff(encode(known, find(values, max_bins)).astype(int)) >= 0).all()


def test_a_value_that_fills_half_the_rows_keeps_the_bins_for_the_rest():
    values = np.concatenate([np.zeros(5_000), np.linspace(1, 2, 5_000)])
    cuts = find(values, 100)
    assert len(cuts) > 90
    assert cuts[0] == 0.5


@examples(20)
@given(st.integers(1, 500), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_any_layout_of_the_table_gives_the_same_codes(n, p, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).round(1)
    x[rng.random((n, p)) < 0.1] = np.nan
    sample = np.arange(n, dtype=np.uint32)
    results = []
    for table in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x.astype(np.float32)):
        for n_jobs in (1, 3):
            cuts = _core.find_thresholds(table, sample, None, 16, n_jobs)
            codes = np.empty((p, n), dtype=np.uint8)
            _core.encode(table, cuts, codes, n_jobs)
            results.append(codes)
    assert all(np.array_equal(results[0], codes) for codes in results[1:])


def threshold_sample(n_rows, limit):
    return _core.sampled_rows(0, n_rows, _core.sample_bound(n_rows, limit))


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 3000))
def test_blocks_of_rows_make_up_the_sample(n_rows, limit, cut):
    cut = min(cut, n_rows)
    bound = _core.sample_bound(n_rows, limit)
    parts = [_core.sampled_rows(0, cut, bound), cut + _core.sampled_rows(cut, n_rows - cut, bound)]
    sample = threshold_sample(n_rows, limit)
    assert np.array_equal(np.concatenate(parts), sample)
    assert np.array_equal(_core.sampled_rows(0, n_rows, bound, 3), sample)
    assert len(sample) == min(n_rows, limit)


def test_the_sample_of_rows_is_spread_and_of_the_size_asked_for():
    sample = threshold_sample(100_000, 1_000)
    assert len(sample) == len(np.unique(sample)) == 1_000
    assert abs(sample.mean() - 50_000) < 5_000
    first = threshold_sample(50_000, 1_000)
    assert np.isin(sample[sample < 50_000], first).all()


def test_equal_rows_have_equal_hashes_wherever_they_stand():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(4, 500)).astype(np.uint8)
    labels = rng.integers(0, 2, size=500).astype(np.uint8)
    order = rng.permutation(500)
    hashes = _core.row_hashes(codes, labels, 7)
    moved = _core.row_hashes(np.ascontiguousarray(codes[:, order]), labels[order], 7)
    assert np.array_equal(hashes[order], moved)
    distinct = np.unique(np.vstack([codes, labels]), axis=1).shape[1]
    assert len(np.unique(hashes)) == distinct
    assert not np.array_equal(hashes, _core.row_hashes(codes, labels, 8))


@given(
    st.sampled_from([np.int64, np.int32, np.int8, np.uint8]), st.integers(-(2**31), 2**31 - 1),
    st.lists(st.integers(0, 300), max_size=40),
)  # fmt: skip
def test_labels_are_numbered_like_their_slow_twin(dtype, first, steps):
    limits = np.iinfo(dtype)
    first = max(min(first, limits.max), limits.min)
    labels = np.array([min(first + step, limits.max) for step in steps], dtype=dtype)
    found, expected = _core.number_labels(labels), oracles.number_labels(labels.tolist())
    assert (found is None) == (expected is None)
    if found is not None:
        assert found[0].dtype == dtype
        assert [part.tolist() for part in found] == list(expected)


def test_labels_at_both_ends_of_their_type_are_numbered():
    ends = np.iinfo(np.int64)
    assert _core.number_labels(np.array([ends.min, ends.max])) is None
    found = _core.number_labels(np.array([ends.max, ends.max - 255]))
    assert found[0].tolist() == [ends.max - 255, ends.max]
    assert found[1].tolist() == [1, 0]


@given(st.lists(st.integers(0, 4), max_size=50), st.integers(2, 7))
def test_labels_are_counted(labels, n_classes):
    expected = np.bincount(np.array(labels, dtype=np.intp), minlength=n_classes)
    assert np.array_equal(_core.count_labels(np.array(labels, dtype=np.uint8), n_classes), expected)


@pytest.mark.parametrize("n", [0, 1, 200_000])
def test_rows_up_to_a_bound_of_their_class_are_found(n):
    rng = np.random.default_rng(n)
    hashes = rng.integers(0, 2**64, n, dtype=np.uint64)
    labels = rng.integers(0, 3, n).astype(np.uint8)
    bounds = np.array([2**62, 0, 2**64 - 1], dtype=np.uint64)
    expected = oracles.rows_up_to(hashes.tolist(), labels.tolist(), bounds.tolist())
    for n_jobs in (1, 3):
        assert _core.rows_up_to(hashes, labels, bounds, n_jobs).tolist() == expected
    with pytest.raises(ValueError, match="another length"):
        _core.rows_up_to(hashes, np.zeros(n + 1, np.uint8), bounds, 1)


def test_shapes_that_do_not_agree_are_refused():
    codes = np.empty((2, 10), dtype=np.uint8)
    with pytest.raises(ValueError, match="shapes"):
        _core.encode(np.zeros((10, 1)), [np.empty(0)], codes, 1)
    with pytest.raises(TypeError):
        _core.encode(np.zeros((10, 2), dtype=int), [np.empty(0)] * 2, codes, 1)


@given(
    n=st.integers(0, 40), p=st.integers(1, 4), n_odd=st.integers(0, 3),
    layout=st.sampled_from(["rows", "columns", "strided", "float32"]), n_jobs=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(60)
def test_missing_and_infinite_numbers_are_found_in_any_layout(n, p, n_odd, layout, n_jobs, seed):
    rng = np.random.default_rng(seed)
    n = 700 * n  # some tables of several tasks
    values = rng.normal(size=(n, p))
    for _ in range(n_odd if n else 0):
        values[rng.integers(n), rng.integers(p)] = rng.choice([np.nan, np.inf, -np.inf, 1e300])
    if layout == "float32":
        values = np.clip(values, -1e30, 1e30, out=values, where=abs(values) < np.inf)
        values = values.astype(np.float32)
    elif layout == "columns":
        values = np.asfortranarray(values)
    elif layout == "strided":
        values = np.repeat(values, 2, axis=1)[:, ::2]
    missing, infinite = _core.scan_numbers(values, n_jobs)
    wanted_missing, wanted_infinite = oracles.odd_numbers(values)
    assert missing.astype(bool).tolist() == wanted_missing
    assert infinite == wanted_infinite
