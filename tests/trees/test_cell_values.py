"""Counts and shrunken shares of all cells, compared with a walk from cell to cell."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import _core

pytestmark = pytest.mark.core


def random_tree(n_splits, seed):
    """Parent, left and right child of the cells of a binary tree, in preorder."""
    rng = np.random.default_rng(seed)
    parent, left, right = [], [], []

    def add(up, splits):
        cell = len(parent)
        parent.append(up)
        left.append(-1)
        right.append(-1)
        if splits:
            below = int(rng.integers(splits))
            left[cell] = add(cell, below)
            right[cell] = add(cell, splits - 1 - below)
        return cell

    add(-1, n_splits)
    return (np.array(some, np.int32) for some in (parent, left, right))


@examples(100)
@given(st.integers(0, 30), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_counts_and_shrunken_shares_are_those_of_the_walk(n_splits, n_classes, seed):
    parent, left, right = random_tree(n_splits, seed)
    rng = np.random.default_rng(seed)
    leaf_counts = np.where(left[:, np.newaxis] < 0, rng.random((len(left), n_classes)) + 0.1, 0)
    counts = _core.sum_children(left, right, leaf_counts).reshape(leaf_counts.shape)
    np.testing.assert_allclose(counts, oracles.sums_of_leaves(left, right, leaf_counts))
    assert np.array_equal(leaf_counts[left >= 0], np.zeros_like(leaf_counts[left >= 0]))
    share = rng.random((len(left), n_classes - 1))
    weight = counts.sum(axis=1)
    shrinkages = np.array([0.0, 3.0, 1e6])
    values = _core.shrink_along_paths(parent, weight, share, shrinkages)
    expected = [oracles.shrunken_walk(parent, weight, share, s) for s in shrinkages]
    np.testing.assert_allclose(values.reshape(3, *share.shape), expected)


def test_cells_out_of_order_are_refused():
    root = np.array([1, -1, -1], np.int32)
    counts, weight = np.ones((3, 2)), np.ones(3)
    for right in ([3, -1, -1], [-1, -1, -1], [0, -1, -1]):
        with pytest.raises(ValueError, match="children after their parent"):
            _core.sum_children(root, np.array(right, np.int32), counts)
    with pytest.raises(ValueError, match="different lengths"):
        _core.sum_children(root, root[:2], counts)
    for parent in ([-1, 0, 2], [-1, 0, -1]):
        with pytest.raises(ValueError, match="parents before their children"):
            _core.shrink_along_paths(np.array(parent, np.int32), weight, counts, weight)
    with pytest.raises(ValueError, match="different lengths"):
        _core.shrink_along_paths(np.array([-1, 0, 0], np.int32), weight[:2], counts, weight)
