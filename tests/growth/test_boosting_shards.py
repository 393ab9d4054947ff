"""Boosting from sums over shards: the trees of rows in one place, to the bit."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from local_shards import CallsHere, parts_of
from random_growth import weights_of

pytest.importorskip("dask")
pd = pytest.importorskip("pandas")

from treerank import BoostedTreeRank, _core  # noqa: E402
from treerank._binning.category_statistics import code_training_data  # noqa: E402
from treerank._growth import boosting_choice  # noqa: E402
from treerank._growth import boosting_shards as tasks  # noqa: E402
from treerank._growth.boosting import BoostingRows, boosting_units  # noqa: E402
from treerank._growth.boosting_bags import boost_bags  # noqa: E402
from treerank._growth.boosting_choice import choose_trees  # noqa: E402
from treerank._growth.boosting_fit import boost, hold_out  # noqa: E402
from treerank._growth.exact_sums import ExactSums  # noqa: E402
from treerank._input.validation import validate_training_data  # noqa: E402
from treerank._input.weights import Weights  # noqa: E402
from treerank._plans import boosting as boosting_plan  # noqa: E402
from treerank._plans.boosting import plan_boosting, size_of  # noqa: E402
from treerank.dask import _boosting_rows  # noqa: E402
from treerank.dask._boosting_checkpoint import BoostingCheckpoint  # noqa: E402
from treerank.dask._boosting_rows import boosting_rows  # noqa: E402
from treerank.dask._collections import CodedShards  # noqa: E402


def table(n, n_classes, seed, n_levels=12):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=list("abc"))
    x["kind"] = rng.choice([f"k{i}" for i in range(n_levels)], size=n)
    x["flag"] = rng.random(n) < 0.3
    noise = x["a"] + np.abs(x["b"]) + (x["kind"].str.len() > 2) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(noise, np.arange(1, n_classes) / n_classes), noise)
    y[:n_classes] = np.arange(n_classes)
    x = x.mask(rng.random(x.shape) < 0.05)
    return x, y


def two_roads(parameters, x, y, weight, cuts):
    """Rows in memory and the same rows in shards, their binning and the plan of a fit."""
    model = BoostedTreeRank(random_state=3, **parameters)
    data = validate_training_data(model, x, y, weight, "from_dtype")
    coded = code_training_data(data, 255, model.categories, 1)
    units, scale = boosting_units(data.weights)
    effect, n_classes = data.weights.design_effect, len(data.classes)
    rank = data.labels.astype(np.intp)
    memory = BoostingRows(coded.codes, rank, units, scale, effect, n_classes)
    cuts = sorted(min(cut, len(y)) for cut in cuts)
    shards = parts_of(coded.codes, data, cuts)
    whole = CodedShards(
        shards, [0, *cuts], data.table.names, data.classes, data.class_rows, coded.binning, None,
        len(y), data.weights.scale, effect,
    )  # fmt: skip
    sharded = boosting_rows(CallsHere(), whole, BoostingCheckpoint(None, ""))
    return memory, sharded, coded.binning, plan_boosting(model, size_of(data), coded.binning, False)


def assert_same_boosting(one, other):
    assert one.start == other.start
    assert np.array_equal(one.validation_scores, other.validation_scores)
    assert (one.trees is None) == (other.trees is None)
    if one.trees is not None:
        for name, mine in vars(one.trees).items():
            theirs = getattr(other.trees, name)
            assert mine is theirs or np.array_equal(mine, theirs), name
    for mine, theirs in zip(one.scored.arrays(), other.scored.arrays(), strict=True):
        assert np.array_equal(mine, theirs)


@examples(25)
@given(
    st.integers(20, 300),
    st.integers(2, 4),
    st.lists(st.integers(0, 300), max_size=4),
    st.sampled_from(["none", "whole", "broken", "huge"]),
    st.fixed_dictionaries(
        {
            "max_depth": st.integers(1, 3),
            "max_leaf_nodes": st.sampled_from([None, None, 3, 7]),
            "leafrank_depth": st.integers(1, 3),
            "subsample": st.sampled_from([1.0, 0.6]),
            "max_features": st.sampled_from([None, 2]),
            "leaf_values": st.sampled_from(["leaf", "stratum"]),
            "categories": st.sampled_from(["levels", "statistics"]),
            "monotonic_cst": st.sampled_from([None, {"a": 1, "b": -1}]),
            "min_samples_leaf": st.sampled_from([1, 5, 0.1]),
        }
    ),
    st.integers(0, 1000),
)
def test_any_shards_give_the_trees_of_memory(n, n_classes, cuts, weights, parameters, seed):
    x, y = table(n, n_classes, seed)
    weight = weights_of(weights, n, seed)
    memory, sharded, binning, plan = two_roads(
        {"n_estimators": 4, **parameters}, x, y, weight, cuts
    )
    one = boost(memory, None, binning, plan, None)
    assert_same_boosting(one, boost(sharded, None, binning, plan, None))


@pytest.mark.parametrize("cut", [0, 1, 2, 4])
def test_shards_round_gradients_as_the_core_does(cut):
    # Rounded, the curvature of the score that is farther from 0 is the larger one, and has another
    # exponent: the core goes by the score that is nearest to 0.
    near, far = -1.4901285761869777e-08, -2.5808291421177715e-08
    scores, labels = np.array([far, near, 0.7, -1.3]), np.array([0, 1, 1, 1], dtype=np.uint8)
    parts = []
    for rows in (slice(0, cut), slice(cut, 4)):
        of_rows = labels[rows]
        shard = SimpleNamespace(labels=of_rows, n_rows=len(of_rows), weights=Weights(units=None))
        parts.append(tasks.derive(shard, scores[rows], None, None)[1])
    found = tasks.Extent.joined(parts)
    share = 1 / (1 + np.exp(near))
    assert found.second == share * (1 - share) < 0.25
    assert found.first == pytest.approx(1 / (1 + np.exp(-1.3)), rel=1e-12)
    assert found.units == 4


@pytest.mark.parametrize("n_bytes", [1, 12_000])
def test_histograms_are_asked_for_a_few_at_a_time(monkeypatch, n_bytes):
    x, y = table(400, 2, 0)
    parameters = {"n_estimators": 2, "max_depth": 3, "leafrank_depth": 4, "min_samples_leaf": 1}
    memory, sharded, binning, plan = two_roads(
        parameters | {"max_features": None}, x, y, None, [150]
    )
    most = max(1, n_bytes // (24 * int(binning.n_codes.sum())))
    asked, answer = [], tasks.answer
    monkeypatch.setattr(
        tasks, "answer", lambda *args: (asked.append(len(args[2].wanted)), answer(*args))[1]
    )
    usual = boost(sharded, None, binning, plan, None)
    assert max(asked) > most
    asked.clear()
    monkeypatch.setattr(_boosting_rows, "HISTOGRAM_BYTES", n_bytes)
    careful = boost(sharded, None, binning, plan, None)
    assert max(asked) <= most
    assert_same_boosting(usual, careful)
    assert_same_boosting(boost(memory, None, binning, plan, None), careful)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", ["none", "broken"])
def test_rows_held_out_choose_the_trees_of_memory(monkeypatch, n_classes, weights):
    for limit in ("MANY_ROWS", "VAST_ROWS"):
        monkeypatch.setattr(boosting_plan, limit, 300)
    monkeypatch.setattr(boosting_choice, "RACE_ROWS", 200)
    x, y = table(600, n_classes, 1)
    weight = weights_of(weights, 600, 1)
    memory, sharded, binning, plan = two_roads({}, x, y, weight, [100, 100, 420])
    plan = replace(plan, n_rounds=12)
    one, chosen = choose_trees(memory, binning, plan, None)
    other, chosen_in_shards = choose_trees(sharded, binning, plan, None)
    assert chosen == chosen_in_shards
    assert one.n_rounds == other.n_rounds
    assert len(chosen.n_trees) > 1 or n_classes > 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_and_bags_are_those_of_memory(n_classes):
    x, y = table(300, n_classes, 2)
    weight = weights_of("broken", 300, 2)
    parameters = {"n_estimators": 6, "early_stopping": True, "n_iter_no_change": 2}
    memory, sharded, binning, plan = two_roads(parameters, x, y, weight, [40, 180])
    one = boost(*hold_out(memory, plan, 0.2), binning, plan, None)
    assert_same_boosting(one, boost(*hold_out(sharded, plan, 0.2), binning, plan, None))
    memory, sharded, binning, plan = two_roads(
        {"n_estimators": 3, "subsample": 0.7, "n_bags": 2}, x, y, weight, [40, 180]
    )
    one = boost_bags(memory, binning, plan, None)
    assert_same_boosting(one, boost_bags(sharded, binning, plan, None))


def test_scores_computed_anew_are_those_that_were_moved(monkeypatch):
    x, y = table(200, 3, 4)
    memory, sharded, binning, plan = two_roads({"n_estimators": 7}, x, y, None, [60])
    monkeypatch.setattr(_boosting_rows, "FRESH_TREES", 3)
    one = boost(memory, None, binning, plan, None)
    assert_same_boosting(one, boost(sharded, None, binning, plan, None))


def test_sums_do_not_depend_on_the_order_nor_on_parts():
    rng = np.random.default_rng(0)
    values, units = rng.normal(size=1000), rng.integers(1, 2**29, size=1000)
    sums = ExactSums(int(units.sum()), 4.0)
    whole = sums.of(values, units)
    order = rng.permutation(1000)
    assert sums.of(values[order], units[order]) == whole
    assert sums.of(values[:300], units[:300]) + sums.of(values[300:], units[300:]) == whole
    assert sums.number(whole) == pytest.approx(values @ units, rel=1e-6)
    assert sums.number(sums.of(np.full(1000, 9.0), units)) == 4.0 * units.sum()  # no overflow


def growth(**changes):
    options = {
        "max_depth": 2, "leafrank_depth": 2, "min_weight_leaf": 1, "independent_weight": 1.0,
        "l2": 1.0, "learning_rate": 0.1, "by_stratum": False,
    }  # fmt: skip
    given_ = {
        "n_codes": np.array([4, 4], dtype=np.int32), "categorical": np.zeros(2, dtype=np.uint8),
        "monotonic": np.zeros(2, dtype=np.int8), "chosen": np.array([0, 1], dtype=np.int32),
        "options": options, "gradient_unit": 1.0, "hessian_unit": 1.0, "weight": 10,
        "histogram_bytes": 1000,
    }  # fmt: skip
    return _core.SummedBoosting(**(given_ | changes))


def test_core_refuses_requests_and_answers_that_do_not_fit():
    for changes in (
        {"chosen": np.array([2], dtype=np.int32)},
        {"chosen": np.array([], dtype=np.int32)},
        {"gradient_unit": 0.0},
        {"monotonic": np.zeros(1, dtype=np.int8)},
    ):
        with pytest.raises(ValueError, match=r"expected|no such"):
            growth(**changes)
    tree = growth()
    with pytest.raises(ValueError, match="still growing"):
        tree.tree()
    with pytest.raises(ValueError, match="no such request"):
        tree.answer(np.zeros(24, dtype=np.int64), None)
    tree.request()
    for sums, squares in ((np.zeros(9, dtype=np.int64), None), (np.zeros(24, dtype=np.int64),) * 2):
        with pytest.raises(ValueError, match=r"fit the request|no such request"):
            tree.answer(sums, squares)
    codes, rows = np.ones((2, 3), dtype=np.uint8), np.array([33, 65], dtype=np.uint32)
    starts, nothing = np.array([0, 2]), np.empty((0, 32), dtype=np.uint8)
    steps = np.zeros((1, 20), dtype=np.uint8)
    steps.view(np.int32)[:, [0, 3, 4]] = -1, 5, -1  # all to a slot that is not there
    with pytest.raises(ValueError, match="no such slot"):
        _core.step_rows(codes, rows, starts, steps, nothing, 2)
    gradients, slots = np.zeros((3, 2), dtype=np.int32), np.array([1], dtype=np.int32)
    n_codes = np.array([4, 4], dtype=np.int32)
    with pytest.raises(ValueError, match="no such slot"):
        _core.count_gradients(codes, gradients, None, rows, starts, slots, n_codes, n_codes, -1)
    with pytest.raises(ValueError, match="fit together"):
        _core.count_gradients(
            codes, gradients[:2], None, rows, starts, slots, n_codes, n_codes[:0], -1
        )
