"""Labels, weights and columns, seen block by block, against the same in one piece."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import _core
from treerank._binning.binning import code_table, fit_binning
from treerank._input.blocks import block_table, join, table_seen
from treerank._input.label_blocks import label_block
from treerank._input.labels import check_labels
from treerank._input.validation import _make_table
from treerank._input.weights import Weights, WeightSums, quantise, sum_weights

N = 400
cuts = st.lists(st.integers(0, N), max_size=6).map(lambda inner: [0, *sorted(inner), N])


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": rng.integers(-3, 4, n),
            "single": rng.normal(size=n).astype(np.float32),
            "text": rng.choice(["north", "south", None], n),
            "grade": pd.Categorical(rng.choice(list("pqr"), n), categories=list("rqpz")),
            "flag": rng.random(n) < 0.5,
            "maybe": rng.choice([True, False, None], n),
            "empty": [None] * n,
            "nothing": np.full(n, np.nan),
        }
    )
    frame.loc[rng.random(n) < 0.1, "number"] = np.nan
    return frame


def as_arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def code_in_blocks(pieces, names, units, wanted, max_bins=20):
    firsts = np.cumsum([0, *map(len, pieces)])
    bound = _core.sample_bound(int(firsts[-1]), 300)
    looks = [
        table_seen(piece, int(i), bound, None if units is None else units[i:j], names, wanted)
        for piece, i, j in zip(pieces, firsts, firsts[1:], strict=False)
    ]
    sample, seen = pickle.loads(pickle.dumps(join(looks))).finalize(names, wanted)
    binning = fit_binning(sample, seen, max_bins, 1)
    levels = binning.is_categorical
    codes = [binning.transform(block_table(piece, names, levels)) for piece in pieces]
    return binning, np.hstack(codes)


def assert_same(mine, theirs):
    (binning, codes), coded = mine, theirs
    assert binning.equals(coded.binning)
    assert np.array_equal(binning.has_missing, coded.binning.has_missing)
    assert np.array_equal(codes, coded.codes)


@pytest.mark.parametrize("library", [lambda frame: frame, as_arrow], ids=["pandas", "pyarrow"])
@examples(15)
@given(cuts, st.booleans())
def test_codes_do_not_depend_on_how_a_frame_is_cut(library, monkeypatch_module, cut, weighted):
    frame, names = table(), list(table())
    units = np.arange(1, N + 1) if weighted else None
    pieces = [library(frame[i:j]) for i, j in pairwise(cut)]
    whole = _make_table(N, names, None, nw.from_native(frame), None)
    expected = code_table(whole, Weights(units=units), 20, 1)
    assert_same(code_in_blocks(pieces, names, units, None), expected)


@pytest.fixture(scope="module")
def monkeypatch_module():
    patch = pytest.MonkeyPatch()
    patch.setattr("treerank._input.column_stats.SAMPLE_ROWS", 300)
    yield patch
    patch.undo()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wanted", [None, {1}])
@given(cut=cuts)
@examples(10)
def test_codes_do_not_depend_on_how_an_array_is_cut(dtype, wanted, monkeypatch_module, cut):
    matrix = table()[["number", "whole", "single"]].to_numpy(dtype)
    names = ["x0", "x1", "x2"]
    pieces = [matrix[i:j] for i, j in pairwise(cut)]
    whole = _make_table(N, names, matrix, None, wanted)
    assert_same(code_in_blocks(pieces, names, None, wanted), code_table(whole, Weights(), 20, 1))


def test_text_in_one_block_and_numbers_in_another_are_refused_with_the_row():
    blocks = [pd.DataFrame({"x": pd.Series(v, dtype=object)}) for v in ([1.5, None], [None, "a"])]
    with pytest.raises(ValueError, match=r"'x' has text in 1 of 4 rows \(first: row 3, 'a'\)"):
        code_in_blocks(blocks, ["x"], None, None)
    binning, codes = code_in_blocks(blocks, ["x"], None, {0})
    assert binning.levels == [[1.5, "a"]]
    assert codes.tolist() == [[1, 0, 0, 2]]


def test_infinity_is_refused_with_the_row_among_all():
    blocks = [pd.DataFrame({"x": v}) for v in ([1.0, 2.0], [3.0, np.inf, np.inf])]
    with pytest.raises(ValueError, match=r"infinity in 2 of 5 rows \(first: row 3\)"):
        code_in_blocks(blocks, ["x"], None, None)


def test_dates_are_refused():
    with pytest.raises(ValueError, match="'x' has type Datetime"):
        code_in_blocks([pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])})], ["x"], None, None)


LABELS = {
    "whole": np.arange(N) % 3,
    "small": (np.arange(N) % 2).astype(np.int8),
    "float": (np.arange(N) % 2).astype(float),
    "boolean": np.arange(N) % 3 == 0,
    "text": pd.Series(np.array(["bad", "good"])[np.arange(N) % 2]),
    "unicode": np.array(["bad", "good"])[np.arange(N) % 2],
    "category": pd.Series(pd.Categorical(np.array([7, 5])[np.arange(N) % 2])),
    "ordered": pd.Series(
        pd.Categorical.from_codes(np.arange(N) % 3, ["low", "mid", "high", "top"], ordered=True)
    ),
}


def blocks_of(y, cut):
    return [label_block(y[i:j]) for i, j in pairwise(cut)]


def total(blocks):
    seen = blocks[0].seen
    for block in blocks[1:]:
        seen += pickle.loads(pickle.dumps(block)).seen
    return seen


@pytest.mark.parametrize("kind", LABELS)
@given(cut=cuts)
@examples(10)
def test_classes_do_not_depend_on_the_cut(kind, cut):
    y = LABELS[kind]
    numbers, classes = check_labels(y, N, None, 32)
    blocks = blocks_of(y, cut)
    found = total(blocks).classes(None)
    assert found.dtype == classes.dtype
    assert found.tolist() == classes.tolist()
    assert np.array_equal(np.concatenate([b.numbers(found) for b in blocks]), numbers)


def test_dictionaries_of_arrow_keep_their_order():
    y = pa.DictionaryArray.from_arrays([0, 1, 2, 0], ["low", "mid", "high"], ordered=True)
    chunked = pa.chunked_array([y])
    assert label_block(chunked).seen.classes(None).tolist() == ["low", "mid", "high"]


def test_labels_follow_the_declared_order():
    blocks = blocks_of(LABELS["text"], [0, 1, 2, N])
    classes = total(blocks).classes(["good", "bad"])
    assert classes.tolist() == ["good", "bad"]
    assert blocks[0].numbers(classes).tolist() == [1]
    with pytest.raises(ValueError, match="which misses the label 'bad'"):
        total(blocks).classes(["good", "fair"])


@pytest.mark.parametrize("y", [pd.Series(["a", "b", None]), np.array([0, 1, np.nan])])
def test_missing_labels_are_refused_with_the_row_among_all(y):
    blocks = [label_block(y[:2]), label_block(y[2:]), label_block(y[1:])]
    with pytest.raises(ValueError, match=r"in 2 of 5 rows \(first: row 2\)"):
        total(blocks).classes(None)


def test_categories_in_no_order_are_refused():
    y = pd.Series(pd.Categorical(["a", "b", "c"]))
    with pytest.raises(ValueError, match="unordered categorical of the levels 'a', 'b', 'c'"):
        total(blocks_of(y, [0, 1, 3])).classes(None)


def test_labels_that_are_measures_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        label_block(np.array([0.5, 1.5]))


weights = st.lists(
    st.one_of(
        st.floats(5e-324, 1.7e308, allow_subnormal=True),
        st.floats(0.01, 10),
        st.integers(1, 20).map(float),
    ),
    min_size=1,
    max_size=40,
)


@given(weights)
def test_sums_of_weights_are_exact(values):
    mean = sum_weights(np.array(values)).mean
    assert mean == sum(map(Fraction, values)) / len(values)


@given(weights, st.integers(0, 40))
def test_units_do_not_depend_on_the_cut(values, cut):
    weight = np.array(values)
    parts = [weight[:cut], weight[cut:], weight[:0]]
    sums = sum(map(sum_weights, parts), WeightSums())
    assert sums == sum_weights(weight)
    whole = quantise(weight)
    units = [quantise(part, sums).as_units for part in parts]
    if whole.as_units is None:
        assert units == [None] * 3
    else:
        assert np.array_equal(np.concatenate(units), whole.as_units)
        assert quantise(parts[0], sums).scale == whole.scale


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=40))
def test_relative_weights_average_one(values):
    quantised = quantise(np.array([*values, 0.123456789]))
    assert math.isclose(quantised.units.mean() / quantised.scale, 1.0, rel_tol=1e-7)
