"""Rows held out are weighed on a device as the core weighs them."""

import numpy as np
import pytest
from emulated_device import EmulatedDevice, needs_emulation, put_in_blocks

from treerank import LeafRank, TreeRank
from treerank._binning.binning import code_table
from treerank._device import table as device_table
from treerank._device.held_out import weigh_held_out
from treerank._device.table import Features, put_table
from treerank._growth.trees import grow_trees
from treerank._input.validation import validate_training_data
from treerank._input.weights import Weights
from treerank._plans.treerank import plan_tree

N, N_FOLDS = 400, 3


def trees_and_codes(n_classes):
    """Trees of different sizes, one of them a single cell, and the codes of their table."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 4)).round(1)
    x[:, 3] = rng.integers(0, 9, N)
    x[rng.random(x.shape) < 0.1] = np.nan
    signal = np.nan_to_num(x[:, 0]) + (x[:, 3] % 3 == 1) + rng.normal(size=N)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    trees = []
    for depth in (2, 0, 3):
        model = TreeRank(LeafRank(max_depth=2), max_depth=max(depth, 1), categorical_features=[3])
        data = validate_training_data(model, x, y, None, model.categorical_features)
        coded = code_table(data.table, data.weights, 255, 1)
        signs = np.zeros(4, dtype=np.int8)
        [tree] = grow_trees(coded, data, signs, plan_tree(model, data.table), None, 1, 0)
        trees.append(tree if depth else tree.subtree(np.zeros(tree.n_cells, dtype=bool)))
    assert len({tree.n_cells for tree in trees}) == 3
    assert trees[2].category_sets.size
    return trees, coded, data.labels


@needs_emulation
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighing", ["once", "repeats", "units"])
@pytest.mark.parametrize("put", [put_table, put_in_blocks(70)])
def test_rows_held_out_are_weighed_in_the_tree_of_their_fold(monkeypatch, n_classes, weighing, put):
    monkeypatch.setattr(device_table, "LEAST_BLOCK_ROWS", 1)
    trees, coded, labels = trees_and_codes(n_classes)
    rng = np.random.default_rng(1)
    folds = rng.integers(0, N_FOLDS, N).astype(np.int32)
    repeats = rng.integers(0, 4, N).astype(np.uint8) if weighing == "repeats" else None
    units = rng.integers(0, 2**40, N) if weighing == "units" else None
    weights = Weights(repeats=repeats, units=units)
    signs = np.zeros(4, dtype=np.int8)
    features = Features(coded.binning.columns.n_codes, coded.binning.columns.as_sets, signs)
    there = put(EmulatedDevice(), coded.codes, labels, units, features)
    found = weigh_held_out(there, [tree.for_device for tree in trees], folds, repeats, n_classes)
    for fold, (tree, some) in enumerate(zip(trees, found, strict=True)):
        held_out = weights.where(folds == fold)
        assert np.array_equal(some, tree.leaf_weights(coded.codes, labels, held_out))
