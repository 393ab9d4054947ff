"""Boosting with device="cuda": the trees, the scores and the errors of the processor."""

from itertools import product

import numpy as np
import pytest
from emulated_device import EmulatedDevice, needs_emulation, put_in_blocks
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from oracles import sigmoid
from same_models import digest
from scipy.special import expit

from treerank import BoostedTreeRank, _core
from treerank._device import boosting as device_boosting
from treerank._device import choice
from treerank._device import table as device_table
from treerank._device.table import Features
from treerank._growth import boosting_device, boosting_rounds


def emulate(patch):
    """Let the kernels work without a device, on tables of any size; what they have grown."""
    patch.setattr(choice, "cuda_device", EmulatedDevice)
    patch.setattr(boosting_rounds, "LEAST_ROWS", 0)
    grown = []
    grow = device_boosting.DeviceBoosting.grow

    def counted(rounds, *rest):
        grown.append(rounds.table.n_rows)
        return grow(rounds, *rest)

    patch.setattr(device_boosting.DeviceBoosting, "grow", counted)
    return grown


@pytest.fixture
def emulated(monkeypatch):
    return emulate(monkeypatch)


def table(n_classes, seed, n=150, n_levels=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).round(1)
    x[:, 4] = rng.integers(0, n_levels, n)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + (x[:, 4] % 3 == 1) + rng.normal(size=n)
    x[rng.random(x.shape) < 0.05] = np.nan
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    weights = {"unit": None, "counts": rng.integers(1, 4, n), "fractions": rng.uniform(0.1, 2, n)}
    return x, y, weights


options = st.fixed_dictionaries(
    {
        "max_depth": st.integers(1, 3),
        "max_leaf_nodes": st.sampled_from([None, None, 3, 6]),
        "leafrank_depth": st.integers(1, 3),
        "leaf_values": st.sampled_from(["leaf", "stratum"]),
        "subsample": st.sampled_from([1.0, 0.6]),
        "max_features": st.sampled_from([None, 0.5]),
        "categorical_features": st.sampled_from([None, [4]]),
        "monotonic_cst": st.sampled_from([None, [1, 0, -1, 0, 0]]),
        "min_samples_leaf": st.sampled_from([1, 8]),
        "random_state": st.integers(0, 5),
    }
)
losses = st.sampled_from([("auto", 2), ("pairwise", 2), ("rankboost", 2), ("auto", 3)])


@needs_emulation
@given(options, losses, st.sampled_from(["unit", "counts", "fractions"]), st.integers(0, 1000))
@examples(12)
def test_a_device_boosts_the_model_of_the_processor(parameters, loss, kind, seed):
    name, n_classes = loss
    x, y, weights = table(n_classes, seed, n_levels=5 if seed % 2 else 30)
    expected = BoostedTreeRank(3, loss=name, **parameters).fit(x, y, weights[kind])
    model = BoostedTreeRank(3, loss=name, device="cuda", **parameters)
    with pytest.MonkeyPatch.context() as patch:
        n_grown = emulate(patch)
        grown = model.fit(x, y, weights[kind])
    assert set(n_grown) == {len(y)}
    assert digest(expected) == digest(grown)


@needs_emulation
@pytest.mark.parametrize("labelled", [[0, 1], [0], [1]])
def test_gradients_are_rounded_as_the_core_rounds_them(labelled):
    # Rounded, the curvature of the score that is farther from 0 is the larger one, and has another
    # exponent: what the largest is said to be decides the unit.
    near, far = -1.4901285761869777e-08, -2.5808291421177715e-08
    curvature = [sigmoid(score) * (1 - sigmoid(score)) for score in (near, far)]
    assert curvature[0] < curvature[1] == 0.25
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 9, size=(3, 200)).astype(np.uint8)
    scores = rng.choice([near, far, 0.7, -1.3], 200)
    labels = rng.choice(labelled, 200)
    features = Features(np.full(3, 9, np.int32), np.zeros(3, np.uint8), np.zeros(3, np.int8))
    tree = {
        "max_depth": 1, "leafrank_depth": 3, "min_weight_leaf": 1, "independent_weight": 1.0,
        "l2": 1.0, "learning_rate": 0.1, "by_stratum": False,
    }  # fmt: skip
    rest = (30, 1.0, None, np.arange(3, dtype=np.int32), tree)
    core = _core.BoostingRounds(
        codes, None, features.n_codes, features.categorical, features.monotonic, 1
    )
    device = boosting_device.DeviceRounds(
        EmulatedDevice(), codes, labels, None, features, scores.copy()
    )
    slots, value, _, sets, *shares = device.grow(None, None, *rest, scores)
    found = np.empty_like(scores)
    device.read_scores(found)
    trees, _ = core.boost(
        scores, labels.astype(np.uint8), 30, 1.0, None, 0, rest[3][np.newaxis], tree
    )
    assert np.array_equal(found, scores)
    if len(slots) > 1:  # trees without a split are not returned
        expected = trees[1], trees[2], *trees[4:]
        for one, other in zip((slots, value, sets, *shares), expected, strict=True):
            assert np.array_equal(one, other)


@needs_emulation
@pytest.mark.parametrize("max_bins", [255, 6000])
@pytest.mark.parametrize("n_bytes", [1, 2**29])
def test_nodes_looked_at_one_by_one_make_the_same_trees(emulated, monkeypatch, max_bins, n_bytes):
    monkeypatch.setattr(device_boosting, "HISTOGRAM_BYTES", n_bytes)
    monkeypatch.setattr(device_boosting, "SHARED_BYTES", 2000)  # for some features, not for others
    x, y, _ = table(2, 7, n=300)
    x[:, 0] += np.linspace(0, 0.01, len(x))
    parameters = {"max_depth": 3, "leafrank_depth": 2, "max_bins": max_bins, "random_state": 0}
    expected = BoostedTreeRank(2, **parameters).fit(x, y)
    model = BoostedTreeRank(2, device="cuda", **parameters).fit(x, y)
    assert len(emulated) == 2
    assert digest(expected) == digest(model)


@needs_emulation
@pytest.mark.parametrize(
    ("block_rows", "kind", "subsample"),
    [(1, "fractions", 0.6), *product([7, 30, 60], ["unit", "counts", "fractions"], [1.0, 0.6])],
)
def test_a_table_in_blocks_makes_the_same_trees(emulated, monkeypatch, block_rows, kind, subsample):
    monkeypatch.setattr(device_table, "LEAST_BLOCK_ROWS", 1)
    monkeypatch.setattr(boosting_device, "put_table", put_in_blocks(block_rows))
    x, y, weights = table(2, 5, n_levels=30)
    parameters = {
        "leafrank_depth": 2, "subsample": subsample, "categorical_features": [4],
        "min_samples_leaf": 5, "random_state": 0,
    }  # fmt: skip
    expected = BoostedTreeRank(2, **parameters).fit(x, y, weights[kind])
    model = BoostedTreeRank(2, device="cuda", **parameters).fit(x, y, weights[kind])
    assert len(emulated) == 2
    assert digest(expected) == digest(model)


@needs_emulation
@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
def test_scores_come_back_where_growth_stops_early(emulated, loss):
    x, y, _ = table(2, 3)
    parameters = {"early_stopping": True, "n_iter_no_change": 1, "loss": loss, "random_state": 0}
    expected = BoostedTreeRank(8, **parameters).fit(x, y)
    model = BoostedTreeRank(8, device="cuda", **parameters).fit(x, y)
    assert emulated
    assert len(model.validation_scores_) < 8
    assert np.array_equal(model.validation_scores_, expected.validation_scores_)
    assert np.array_equal(model.predict_proba(x), expected.predict_proba(x))


@needs_emulation
def test_bags_warm_starts_and_chosen_trees_are_grown_there(emulated):
    x, y, _ = table(2, 4, n=300)
    for parameters in ({"n_bags": 2}, {"warm_start": True}):
        models = []
        for device in ("cpu", "cuda"):
            model = BoostedTreeRank(2, device=device, random_state=0, **parameters).fit(x, y)
            if "warm_start" in parameters:
                model.set_params(n_estimators=4).fit(x, y)
            models.append(model)
        assert digest(models[0]) == digest(models[1])
    assert len(emulated) == 2 * 2 + 4


@needs_emulation
def test_rows_that_do_not_fit_are_refused_before_work_begins(monkeypatch):
    monkeypatch.setattr(choice, "cuda_device", lambda: EmulatedDevice(free_bytes=2**20))
    monkeypatch.setattr(boosting_rounds, "LEAST_ROWS", 0)
    x, y, _ = table(2, 0)
    with pytest.raises(MemoryError, match=r"a fit to 150 rows.*GiB that are free.*'cpu'"):
        BoostedTreeRank(2, device="cuda").fit(x, y)


def test_small_tables_stay_on_the_processor(monkeypatch):
    monkeypatch.setattr(choice, "cuda_device", object)
    x, y, _ = table(2, 0)
    model = BoostedTreeRank(2, device="cuda", random_state=0).fit(x, y)
    model.set_params(device="cpu")
    expected = BoostedTreeRank(2, random_state=0).fit(x, y)
    assert np.array_equal(model.score_samples(x), expected.score_samples(x))


@given(st.lists(st.floats(-800, 800), min_size=1, max_size=40), st.integers(0, 1000))
@examples(50)
def test_derivatives_of_the_logistic_loss_are_those_of_the_slow_twin(scores, seed):
    scores = np.array([*scores, 0.0, -0.0, 1e-300, -30.0, 30.0])
    labels = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.uint8)
    first, second = np.empty(len(scores)), np.empty(len(scores))
    _core.logistic_derivatives(scores, labels, first, second)
    share = np.array([sigmoid(score) for score in scores])
    assert np.array_equal(first, share - labels)
    assert np.array_equal(second, share * (1 - share))
    np.testing.assert_allclose(share, expit(np.maximum(scores, -708)), rtol=1e-15)


def test_arrays_and_cuts_that_do_not_fit_are_refused():
    one = np.zeros(3)
    with pytest.raises(ValueError, match="different lengths"):
        _core.logistic_derivatives(one, np.zeros(2, dtype=np.uint8), one.copy(), one.copy())
    growth = _core.BoostedGrowth(
        np.array([3], dtype=np.int32), np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int8)
    )
    tree = {
        "max_depth": 1, "leafrank_depth": 1, "min_weight_leaf": 1, "independent_weight": 1.0,
        "l2": 0.0, "learning_rate": 1.0, "by_stratum": False,
    }  # fmt: skip
    with pytest.raises(ValueError, match="gradient, curvature and weight"):
        growth.start(tree, 1.0, 1.0, 4, np.zeros(2, dtype=np.int64), 1)
    growth.start(tree, 1.0, 1.0, 4, np.array([1, 4, 4]), 1)
    assert len(growth.nodes()) == 1
    with pytest.raises(ValueError, match="one cut per node"):
        growth.take(np.zeros((0, device_boosting.CUT_BYTES), dtype=np.uint8))
    with pytest.raises(ValueError, match="does not split its rows"):
        growth.take(np.zeros((1, device_boosting.CUT_BYTES), dtype=np.uint8))
