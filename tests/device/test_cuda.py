"""What the emulation shows, once more on a GPU; skipped where there is none."""

import numpy as np
import pytest
from device_models import MODELS, table
from same_models import digest
from sklearn.base import clone

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank._device import table as device_table
from treerank._device.cuda import cuda_device
from treerank._device.device import download, upload
from treerank._device.staging import LEAST_BYTES
from treerank._device.table import put_table
from treerank._growth import boosting_device, boosting_rounds, device_rows
from treerank._input import device_arrays


def reason_without_device():
    try:
        cuda_device()
    except (ImportError, RuntimeError) as error:
        return str(error)
    return ""


needs_device = pytest.mark.skipif(
    bool(reason_without_device()), reason=f"no GPU: {reason_without_device()}"
)


@needs_device
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_gpu_makes_the_same_model(monkeypatch, name, n_classes, weighted):
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    x, y, weight = table(n_classes, 20_000)
    weight = weight if weighted else None
    expected = clone(MODELS[name]).fit(x, y, weight)
    model = clone(MODELS[name]).set_params(device="cuda").fit(x, y, weight)
    assert np.array_equal(model.score_samples(x), expected.score_samples(x))
    assert digest(expected) == digest(model)


@needs_device
@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
@pytest.mark.parametrize("leafrank_depth", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_a_gpu_boosts_the_same_model(monkeypatch, loss, leafrank_depth, weighted, subsample):
    monkeypatch.setattr(boosting_rounds, "LEAST_ROWS", 0)
    x, y, weight = table(2, 20_000)
    x[:, 3] = np.round(20 * np.nan_to_num(x[:, 3])).clip(0, 40)
    models = [
        BoostedTreeRank(
            10, loss=loss, leafrank_depth=leafrank_depth, max_depth=3, subsample=subsample,
            categorical_features=[3], monotonic_cst=[1, 0, 0, 0], random_state=0, device=device,
        ).fit(x, y, weight if weighted else None)
        for device in ("cpu", "cuda")
    ]  # fmt: skip
    assert digest(models[0]) == digest(models[1])


@needs_device
@pytest.mark.parametrize("name", ["forest", "deep forest", "tree", "boosting"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_that_does_not_fit_goes_through_in_blocks(monkeypatch, name, weighted):
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    monkeypatch.setattr(boosting_rounds, "LEAST_ROWS", 0)
    monkeypatch.setattr(device_table, "LEAST_BLOCK_ROWS", 1000)
    x, y, weight = table(2, 20_000)
    weight = weight if weighted else None
    model = {**MODELS, "boosting": BoostedTreeRank(5, leafrank_depth=3, random_state=0)}[name]
    expected = clone(model).fit(x, y, weight)
    put = []

    def put_one(device, codes, labels, units, features, beside):
        one = 4 + 2 * 4 + 8
        beside = device.free_bytes - len(y) * (1 if units is None else 9) - 3000 * one
        put.append(put_table(device, codes, labels, units, features, beside))
        return put[-1]

    for module in (device_rows, boosting_device):
        monkeypatch.setattr(module, "put_table", put_one)
    fitted = clone(model).set_params(device="cuda").fit(x, y, weight)
    assert put
    assert not any(some.is_whole for some in put)
    assert digest(expected) == digest(fitted)


@needs_device
@pytest.mark.parametrize(
    "model", [TreeRank(), BoostedTreeRank(10), BoostedTreeRank(10, early_stopping=True)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_a_gpu_codes_stay_there(monkeypatch, model, weighted):
    for module in (device_rows, boosting_rounds, device_arrays):
        monkeypatch.setattr(module, "LEAST_ROWS", 0)
    x, y, weight = table(2, 30_000)
    weight = weight if weighted else None
    models = [
        clone(model).set_params(random_state=0, device=device).fit(x, y, weight)
        for device in ("cpu", "cuda")
    ]
    assert digest(models[0]) == digest(models[1])


@needs_device
def test_large_arrays_arrive_whole():
    device = cuda_device()
    values = np.arange(3 * LEAST_BYTES // 8 + 5)
    memory = upload(device, values)
    assert np.array_equal(download(device, memory, values.dtype, len(values)), values)
    pinned = device.host_bytes(values.nbytes)
    device.read(memory, pinned)
    assert np.array_equal(pinned.view(values.dtype), values)


@needs_device
@pytest.mark.parametrize("library", ["torch", "cupy", "jax.numpy"])
@pytest.mark.parametrize("model", [BoostedTreeRank(20), RankingForest(n_estimators=10)])
def test_arrays_of_other_libraries_are_used_where_they_are(library, model):
    others = pytest.importorskip(library)
    x, y, _ = table(2, 60_000)
    x = x.astype(np.float32)
    expected = clone(model).set_params(random_state=0).fit(x, y)
    there = others.asarray(x, device="cuda") if library == "torch" else others.asarray(x)
    fitted = clone(model).set_params(random_state=0, device="cuda").fit(there, y)
    assert digest(expected) == digest(fitted)
    assert np.array_equal(fitted.score_samples(there), expected.score_samples(x))


@needs_device
@pytest.mark.parametrize("model", [BoostedTreeRank(20), RankingForest(n_estimators=30)])
def test_a_gpu_gives_the_same_scores(model):
    x, y, _ = table(2, 5_000)
    fitted = model.fit(x, y)
    expected = fitted.score_samples(x)
    assert np.array_equal(fitted.set_params(device="cuda").score_samples(x), expected)
