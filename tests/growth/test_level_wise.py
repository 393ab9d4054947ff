"""Trees grown from sums over parts of the rows are those grown on all rows together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from local_shards import LocalShards, parts_of
from random_growth import (
    SPLITTER_PARAMETERS,
    TREE_PARAMETERS,
    assert_same_tree,
    table,
    weights_of,
)

from treerank import LeafRank, TreeRank, _core
from treerank._binning.binning import code_table
from treerank._binning.code_values import code_values
from treerank._growth.level_wise import Setting, TreeSpec, grow_level_trees
from treerank._growth.shards import AllRows
from treerank._growth.trees import check_monotonic, grow_trees
from treerank._input.validation import Table, validate_training_data
from treerank._plans.treerank import plan_tree
from treerank._trees.ranking_tree import tree_from_core

pytestmark = pytest.mark.core


def grow_both(model, x, y, weight, cuts, gathered_rows, histogram_bytes=2**27):
    """Trees of all rows together, and from sums over parts of them."""
    data = validate_training_data(model, x, y, weight, model.categorical_features)
    options = plan_tree(model, data.table)
    coded = code_table(data.table, data.weights, 255, 1)
    monotonic = check_monotonic(model.monotonic_cst, data.table.names, coded.binning)
    [together] = grow_trees(coded, data, monotonic, options, None, 1, 0)
    scale = data.weights.scale
    setting = Setting(
        coded.binning.n_codes, coded.binning.is_categorical, monotonic, len(data.classes),
        len(data.labels),
        code_values(coded) if options.missing == "cell_mean" else None, gathered_rows, 50.0,
        histogram_bytes,
    )  # fmt: skip
    parts = LocalShards(parts_of(coded.codes, data, [min(c, len(data.labels)) for c in cuts]))
    spec = TreeSpec(AllRows(), options.for_core(scale, data.weights.design_effect), 0)
    [arrays] = grow_level_trees(parts, [spec], setting)
    return together, tree_from_core(arrays, scale), parts


options = st.fixed_dictionaries(
    {
        **TREE_PARAMETERS,
        "tournament_gain": st.sampled_from(["vus", "local"]),
        "missing": st.sampled_from(["learned", "cell_mean"]),
    }
)
splitters = st.builds(
    LeafRank, **SPLITTER_PARAMETERS, max_leaf_nodes=st.sampled_from([None, None, 3])
)


@examples(150)
@given(
    st.integers(20, 300),
    st.integers(2, 4),
    st.integers(0, 10_000),
    options,
    splitters,
    st.sampled_from(["none", "whole", "broken"]),
    st.lists(st.integers(0, 300), max_size=3),
    st.sampled_from([0, 10, 60, 1000]),
    st.sampled_from([2**27, 10_000]),
)
def test_any_cut_of_the_rows_gives_the_tree_of_all_rows(
    n, n_classes, seed, parameters, splitter, weights, cuts, gathered_rows, histogram_bytes
):
    x, y = table(n, n_classes, seed)
    weight = weights_of(weights, n, seed)
    model = TreeRank(splitter, pruning=None, shrinkage=None, **parameters)
    one, other, _ = grow_both(model, x, y, weight, sorted(cuts), gathered_rows, histogram_bytes)
    assert_same_tree(one, other)


def a_growth(n_features=2):
    codes = np.full(n_features, 4, dtype=np.int32)
    options = plan_tree(TreeRank(), Table(10, ["a"] * n_features, None, []))
    return _core.LevelGrowth(
        codes, np.zeros(n_features, np.uint8), np.zeros(n_features, np.int8),
        options.for_core(1.0, 1.0), np.array([5.0, 5.0]), 0, None, 0.0, 2**20,
    )  # fmt: skip


def test_arrays_that_do_not_fit_are_refused():
    labels, cells = np.zeros(3, np.uint8), np.zeros(3, np.int32)
    root = np.array([[0, 0, 1]], np.int32).view(np.uint8)
    nowhere = np.array([[-1, 0, 1]], np.int32).view(np.uint8)
    with pytest.raises(ValueError, match="no such cell"):
        _core.place_rows(labels, None, None, cells, nowhere)
    with pytest.raises(ValueError, match="too many repeats"):
        _core.place_rows(labels, np.full(3, 40, np.uint8), None, cells, root)
    nothing = np.empty((0, 40), np.uint8), np.empty((0, 32), np.uint8)
    with pytest.raises(ValueError, match="do not fit together"):
        _core.trial_weights(
            np.ones((2, 3), np.uint8), labels, None, None, cells, np.zeros(1, np.int32),
            np.zeros(2, np.int32), *nothing, 2,
        )  # fmt: skip
    with pytest.raises(ValueError, match="histograms of another size"):
        a_growth().give(np.zeros((1, 3), np.uint64))


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [("tests", "feature", 9), ("tests", "left", 99), ("cells", "left", 99),
     ("cells", "worse_class", 7), ("cells", "last_test", 99)],
)  # fmt: skip
def test_a_damaged_tree_does_not_go_on(array, field, value):
    x, y = table(60, 2, 0, n_features=2)
    model = TreeRank(max_depth=1, pruning=None, shrinkage=None).fit(x, y)
    tree = model.unpruned_tree_
    cells, tests = tree.cells.copy(), tree.tests.copy()
    {"cells": cells, "tests": tests}[array][field][0] = value
    arrays = (
        cells.view(np.uint8).reshape(len(cells), -1), tree.counts.ravel(),
        tests.view(np.uint8).reshape(len(tests), -1), np.empty((0, 32), np.uint8), np.empty(0),
    )  # fmt: skip
    with pytest.raises(ValueError, match="do not fit together"):
        a_growth().resume(arrays, 1, np.empty(0, np.int32))
