"""What the emulation shows, once more on a GPU; skipped where there is none."""

import numpy as np
import pytest
from device_models import MODELS, table
from sklearn.base import clone

import treerank
from treerank import BoostedTreeRank, RankingForest
from treerank._device.cuda import cuda_device
from treerank._growth import device_rows


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
def test_a_gpu_makes_the_same_model(monkeypatch, tmp_path, name, n_classes, weighted):
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    x, y, weight = table(n_classes, 20_000)
    weight = weight if weighted else None
    expected = clone(MODELS[name]).fit(x, y, weight)
    model = clone(MODELS[name]).set_params(device="cuda").fit(x, y, weight)
    assert np.array_equal(model.score_samples(x), expected.score_samples(x))
    for one, path in ((expected, "cpu"), (model, "cuda")):
        treerank.save(one, tmp_path / path)
    assert (tmp_path / "cpu").read_bytes() == (tmp_path / "cuda").read_bytes()


@needs_device
@pytest.mark.parametrize("model", [BoostedTreeRank(20), RankingForest(n_estimators=30)])
def test_a_gpu_gives_the_same_scores(model):
    x, y, _ = table(2, 5_000)
    fitted = model.fit(x, y)
    expected = fitted.score_samples(x)
    assert np.array_equal(fitted.set_params(device="cuda").score_samples(x), expected)
