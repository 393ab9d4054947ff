"""Trees that the kernels grow are, to the bit, those that the core grows."""

from dataclasses import replace

import numpy as np
import pytest
from emulated_device import EmulatedDevice, needs_emulation, put_in_blocks
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

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


def table(n, n_classes, seed, n_features=4, n_levels=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(1)
    x[:, -1] = rng.integers(0, n_levels, size=n)
    noise = x[:, 0] + np.abs(x[:, 1]) + (x[:, -1] % 4 == 2) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(noise, np.arange(1, n_classes) / n_classes), noise)
    x[rng.random(x.shape) < 0.05] = np.nan
    y[:n_classes] = np.arange(n_classes)
    return x, y


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
    features = Features(binning.n_codes, binning.grown_as_sets, monotonic)
    there = put(EmulatedDevice(), coded.codes, data.labels, weights.units, features)
    core_options = options.for_core(weights.scale, weights.design_effect)
    assert can_grow(core_options)
    [growth] = grow_on_device(
        there, [DeviceTree(weights.repeats, core_options, 0)], len(data.classes), 1, sizes
    )
    return expected, tree_from_core(growth.tree(), weights.scale)


def assert_same(one, other):
    for name in ("cells", "counts", "tests", "category_sets"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


SIZES = {
    "large": Sizes(4, 12, 8),
    "mid": Sizes(4, 10**9, 8),
    "tiny": Sizes(32, 40, 8),
}
options = st.fixed_dictionaries(
    {
        "max_depth": st.sampled_from([1, 3, None]),
        "min_samples_leaf": st.sampled_from([1, 5]),
        "max_features": st.sampled_from([None, 2]),
        "tournament": st.sampled_from(["all", "adjacent"]),
        "categorical_features": st.sampled_from([None, [3]]),
        "monotonic_cst": st.sampled_from([None, [1, 0, -1, 0]]),
        "random_state": st.integers(0, 5),
    }
)
splitters = st.builds(
    LeafRank,
    max_depth=st.sampled_from([1, 2, 3, None]),
    criterion=st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
    max_features=st.sampled_from([None, 1, 2]),
    min_samples_leaf=st.sampled_from([1, 4]),
)
weights = st.sampled_from(["unit", "counts", "fractions"])


def weight_of(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "counts":
        return rng.integers(0, 4, n)
    return rng.uniform(0.1, 2.0, n).round(3) if kind == "fractions" else None


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
    weight = weight_of(kind, len(y), seed)
    if weight is not None:
        weight[:n_classes] = 1
    assert_same(*grow_both(model, x, y, weight, SIZES[size], random_cuts))


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
    weight = weight_of(kind, len(y), seed)
    if weight is not None:
        weight[:n_classes] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_table, "LEAST_BLOCK_ROWS", 1)
        put = put_in_blocks(block_rows)
        assert_same(*grow_both(model, x, y, weight, SIZES[size], put=put))


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("max_bins", [255, 4000])
def test_levels_and_codes_of_many_kinds(size, max_bins):
    x, y = table(700, 2, 3, n_levels=40)
    model = TreeRank(LeafRank(max_depth=4), pruning=None, categorical_features=[3])
    assert_same(*grow_both(model, x, y, None, SIZES[size], max_bins=max_bins))
