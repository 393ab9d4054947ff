"""Soft labels in the core: a row that counts in all classes, compared with copies of the row."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_examples import examples
from random_growth import assert_same_tree, core_options

from treerank import _core
from treerank._trees.ranking_tree import tree_from_core

pytestmark = pytest.mark.core


def sample(n, n_classes, seed, most, p=4, n_codes=12):
    """Codes whose last feature is a category, and units of each row in each class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, size=(p, n)).astype(np.uint8)
    grade = np.minimum(codes[0] * n_classes // n_codes, n_classes - 1)
    units = rng.integers(0, most + 1, size=(n, n_classes)).astype(np.uint32)
    units[np.arange(n), grade] += np.uint32(most)
    units[rng.random(n) < 0.1] = 0
    return codes, units


def grow(codes, labels, settings, *, weights=None, soft=None, n_classes=2, n_jobs=1):
    p = len(codes)
    is_categorical = np.zeros(p, np.uint8)
    is_categorical[-1] = 1
    grown = _core.grow_trees(
        codes, labels.astype(np.uint8), None, weights, np.full(p, 16, np.int32), is_categorical,
        np.zeros(p, np.int8), settings, n_jobs, None, None, n_classes, soft,
    )  # fmt: skip
    return [tree_from_core(arrays, 1.0) for arrays in grown]


def grow_copies(codes, units, settings):
    """Grow on a copy of each row for each class, whose weights are the units of the row."""
    n, n_classes = units.shape
    labels = np.repeat(np.arange(n_classes), n)
    weights = units.T.ravel().astype(np.int64)
    copies = np.ascontiguousarray(np.tile(codes, n_classes))
    return grow(copies, labels, settings, weights=weights, n_classes=n_classes)[0]


@examples(100)
@given(
    st.integers(4, 150), st.integers(2, 5), st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 900]),
    st.sampled_from(_core.CRITERIA), st.sampled_from([1, 2, 4]), st.sampled_from([-1, 2]),
    st.booleans(), st.sampled_from(["all", "adjacent"]), st.integers(1, 3),
)  # fmt: skip
def test_soft_labels_do_what_a_copy_of_the_row_for_each_class_does(
    n, n_classes, seed, most, criterion, depth, max_features, random_cuts, tournament, n_jobs
):
    codes, units = sample(n, n_classes, seed, most)
    assume((units.sum(axis=0) > 0).all())
    settings = core_options(
        False, 4, criterion=criterion, max_depth=depth, random_cuts=random_cuts,
        max_features=max_features,
    )  # fmt: skip
    settings["tournament"] = tournament
    labels = units.argmax(axis=1)
    more = np.stack([units, units[::-1]])
    soft = grow(codes, labels, settings, soft=more, n_classes=n_classes, n_jobs=n_jobs)
    assert_same_tree(soft[0], grow_copies(codes, units, settings))
    settings["first_tree"] = 1
    assert_same_tree(soft[1], grow_copies(codes, np.ascontiguousarray(units[::-1]), settings))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_a_small_cell_keep_their_soft_labels_when_they_are_moved_together(n_classes):
    codes, units = sample(60_000, n_classes, 0, 100, p=10)
    settings = core_options(False, 5, max_depth=2)
    [soft] = grow(
        codes, units.argmax(axis=1), settings, soft=units[np.newaxis], n_classes=n_classes
    )
    assert soft.n_cells > 20
    assert_same_tree(soft, grow_copies(codes, units, settings))


@examples(60)
@given(
    st.integers(6, 150), st.integers(2, 3), st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 900]),
    st.booleans(),
)  # fmt: skip
def test_labels_that_are_not_soft_do_what_weights_do(n, n_classes, seed, most, pruning):
    codes, units = sample(n, n_classes, seed, most)
    labels = units.argmax(axis=1)
    weights = units.sum(axis=1)
    hard = np.where(np.arange(n_classes) == labels[:, np.newaxis], weights[:, np.newaxis], 0)
    assume((hard.sum(axis=0) > 0).all())
    settings = core_options(pruning, 3)
    [soft] = grow(
        codes, labels, settings, soft=hard[np.newaxis].astype(np.uint32), n_classes=n_classes
    )
    [plain] = grow(codes, labels, settings, weights=weights.astype(np.int64), n_classes=n_classes)
    assert_same_tree(soft, plain)


def test_pruning_inside_a_cell_counts_a_row_in_both_classes():
    codes, units = sample(400, 2, 1, 500, n_codes=16)
    settings = core_options(True, 1)
    labels = units.argmax(axis=1)
    [tree] = grow(codes, labels, settings, soft=units[np.newaxis])
    assert tree.n_cells == 3
    assert 1 < len(tree.tests) < 15
    even = np.full_like(units, 250)
    [root] = grow(codes, labels, settings, soft=even[np.newaxis])
    assert root.n_cells == 1


def test_soft_labels_that_do_not_fit_are_refused():
    codes, units = sample(20, 2, 0, 3)
    labels, settings = units.argmax(axis=1), core_options(False, 1)
    with pytest.raises(ValueError, match="each tree, row and class"):
        grow(codes, labels, settings, soft=units[np.newaxis, :-1])
    with pytest.raises(ValueError, match="each tree, row and class"):
        grow(codes, labels, settings, soft=units[np.newaxis], n_classes=3)
    with pytest.raises(ValueError, match="neither repeats nor weights"):
        grow(codes, labels, settings, weights=np.ones(20, np.int64), soft=units[np.newaxis])
    heavy = np.full((1, 20, 2), 2**32 // 40 + 1, np.uint32)
    with pytest.raises(ValueError, match="less than 2\\^32"):
        grow(codes, labels, settings, soft=heavy)
    with pytest.raises(TypeError):
        grow(codes, labels, settings, soft=units[np.newaxis].astype(np.int64))
