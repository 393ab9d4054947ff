"""Trees that the kernels grow are, to the bit, those that the core grows."""

from dataclasses import replace

import numpy as np
import pytest
from emulated_device import EmulatedDevice, needs_emulation, put_in_blocks
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from random_growth import SPLITTER_PARAMETERS, TREE_PARAMETERS, assert_same_tree, table

from treerank import LeafRank, TreeRank
from treerank._binning.binning import code_table
from treerank._device import table as device_table
from treerank._device.table import Features, put_table
from treerank._device.trials import Sizes
from treerank._growth.on_device import DeviceTree, can_grow, grow_on_device
from treerank._growth.trees import check_monotonic, grow_trees
from treerank._input.validation import validate_training_data
from treerank._plans.treerank import plan_tree
from treerank._trees.ranking_tree import tree_from_core

pytestmark = needs_emulation


def grow_both(model, x, y, weight, sizes, random_cuts=False, max_bins=255, put=put_table):
    data = validate_training_data(model, x, y, weight, model.categorical_features)
    options = plan_tree(model, data.table)
    if random_cuts:
        leafrank = replace(options.leafrank, random_cuts=True)
        options = replace(options, leafrank=leafrank)
    coded = code_table(data.table, data.weights, max_bins, 1)
    monotonic = check_monotonic(model.monotonic_cst, data.table.names, coded.binning)
    [expected] = grow_trees(coded, data, monotonic, options, None, 1, 0)
    binning, weights = coded.binning, data.weights
    features = Features(binning.columns.n_codes, binning.columns.as_sets, monotonic)
    there = put(EmulatedDevice(), coded.codes, data.labels, weights.units, features)
    core_options = options.for_core(weights.scale, weights.design_effect)
    assert can_grow(core_options)
    [growth] = grow_on_device(
        there, [DeviceTree(weights.repeats, core_options, 0)], len(data.classes), 1, sizes
    )
    return expected, tree_from_core(growth.tree(), weights.scale)


SIZES = {
    "large": Sizes(4, 12, 8),
    "mid": Sizes(4, 10**9, 8),
    "tiny": Sizes(32, 40, 8),
}
options = st.fixed_dictionaries(TREE_PARAMETERS)
splitters = st.builds(LeafRank, **SPLITTER_PARAMETERS)
weights = st.sampled_from(["unit", "counts", "fractions"])


def weight_of(kind, n, n_classes, seed):
    """Sample weights; a row of each class has one."""
    rng = np.random.default_rng(seed)
    if kind == "unit":
        return None
    weight = rng.integers(0, 4, n) if kind == "counts" else rng.uniform(0.1, 2.0, n).round(3)
    weight[:n_classes] = 1
    return weight


@given(
    options, splitters, weights, st.sampled_from(list(SIZES)), st.integers(2, 3),
    st.booleans(), st.integers(0, 1000),
)  # fmt: skip
@examples(25)
def test_the_kernels_grow_the_trees_of_the_core(
    parameters, splitter, kind, size, n_classes, random_cuts, seed
):
    x, y = table(120, n_classes, seed)
    model = TreeRank(splitter, pruning=None, **parameters)
    weight = weight_of(kind, len(y), n_classes, seed)
    assert_same_tree(*grow_both(model, x, y, weight, SIZES[size], random_cuts))


@given(
    options, splitters, weights, st.sampled_from(list(SIZES)), st.integers(2, 3),
    st.integers(1, 30),  # more would be the whole table where many weights are 0
    st.integers(0, 1000),
)  # fmt: skip
@examples(15)
def test_a_table_in_blocks_grows_the_same_trees(
    parameters, splitter, kind, size, n_classes, block_rows, seed
):
    x, y = table(120, n_classes, seed)
    model = TreeRank(splitter, pruning=None, **parameters)
    weight = weight_of(kind, len(y), n_classes, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_table, "LEAST_BLOCK_ROWS", 1)
        put = put_in_blocks(block_rows)
        assert_same_tree(*grow_both(model, x, y, weight, SIZES[size], put=put))


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("max_bins", [255, 4000])
def test_levels_and_codes_of_many_kinds(size, max_bins):
    x, y = table(700, 2, 3, n_levels=40)
    model = TreeRank(LeafRank(max_depth=4), pruning=None, categorical_features=[3])
    assert_same_tree(*grow_both(model, x, y, None, SIZES[size], max_bins=max_bins))
