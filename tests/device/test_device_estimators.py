"""Estimators with device="cuda": the same models, and errors that name what is missing."""

import sys

import numpy as np
import pytest
from device_models import MODELS, table
from emulated_device import EmulatedDevice, needs_emulation
from sklearn.base import clone

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank._device import choice, cuda
from treerank._growth import device_rows


@pytest.fixture
def emulated(monkeypatch):
    """Let the kernels work without a device, on tables of any size."""
    monkeypatch.setattr(choice, "cuda_device", EmulatedDevice)
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    monkeypatch.setattr(device_rows, "BATCH", 3)
    grown = []
    grow = device_rows.grow_on_device

    def counted(table, trees, *rest):
        grown.append(len(trees))
        return grow(table, trees, *rest)

    monkeypatch.setattr(device_rows, "grow_on_device", counted)
    return grown


@needs_emulation
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_device_makes_the_same_model_and_the_same_scores(
    emulated, tmp_path, name, n_classes, weighted
):
    x, y, weight = table(n_classes)
    weight = weight if weighted else None
    expected = clone(MODELS[name]).fit(x, y, weight)
    model = clone(MODELS[name]).set_params(device="cuda").fit(x, y, weight)
    assert bool(emulated) == (name != "tree, best first")
    assert np.array_equal(model.score_samples(x), expected.score_samples(x))
    for one, path in ((expected, "cpu"), (model, "cuda")):
        treerank.save(one, tmp_path / path)
    assert (tmp_path / "cpu").read_bytes() == (tmp_path / "cuda").read_bytes()
    assert treerank.load(tmp_path / "cuda").device == "cpu"


@needs_emulation
def test_boosted_trees_score_on_a_device(emulated):
    x, y, _ = table()
    expected = BoostedTreeRank(7, random_state=0).fit(x, y)
    model = BoostedTreeRank(7, random_state=0, device="cuda").fit(x, y)
    assert np.array_equal(model.score_samples(x), expected.score_samples(x))


@needs_emulation
def test_a_table_that_does_not_fit_is_refused_before_work_begins(monkeypatch):
    monkeypatch.setattr(choice, "cuda_device", lambda: EmulatedDevice(free_bytes=1000))
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    x, y, _ = table()
    with pytest.raises(MemoryError, match=r"a table of 260 rows and 4 features.*device='cpu'"):
        TreeRank(device="cuda").fit(x, y)


def test_small_tables_stay_on_the_processor(monkeypatch):
    monkeypatch.setattr(choice, "cuda_device", object)
    x, y, _ = table()
    model = TreeRank(LeafRank(), device="cuda").fit(x, y)
    assert np.array_equal(model.score_samples(x), TreeRank(LeafRank()).fit(x, y).score_samples(x))


@pytest.mark.parametrize("model", [TreeRank(), RankingForest(n_estimators=3), BoostedTreeRank(3)])
def test_missing_bindings_are_named(monkeypatch, model):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    cuda.cuda_device.cache_clear()
    x, y, _ = table()
    with pytest.raises(ImportError, match=r"pip install 'treerank-ml\[cuda\]'"):
        clone(model).set_params(device="cuda").fit(x, y)


class NoDriver:
    """Bindings that find no driver, or a driver that finds no GPU."""

    class CUresult:
        CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY = 0, 2

    def __init__(self, error=None):
        self.error = error

    def cuInit(self, _):  # noqa: N802
        if self.error is not None:
            raise self.error
        return (0,)

    def cuDeviceGetCount(self):  # noqa: N802
        return 0, 0


@pytest.mark.parametrize(
    ("driver", "reason"),
    [(NoDriver(RuntimeError("no libcuda")), "no libcuda"), (NoDriver(), "the driver sees none")],
)
def test_a_gpu_that_is_not_there_is_said(driver, reason):
    with pytest.raises(RuntimeError, match=rf"{reason}; expected an NVIDIA GPU.*device='cpu'"):
        cuda.CudaDevice(driver, None)


def test_compiled_kernels_are_kept_and_a_folder_that_cannot_be_written_is_no_error(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    kept = cuda.cache_folder() / "some.cubin"
    cuda._keep(kept, b"compiled")
    assert kept.read_bytes() == b"compiled"
    assert [path.name for path in kept.parent.iterdir()] == ["some.cubin"]
    cuda._keep(kept / "below a file", b"compiled")
    assert kept.read_bytes() == b"compiled"


@pytest.mark.parametrize("device", ["gpu", 0, None])
def test_unknown_devices_are_refused(device):
    x, y, _ = table()
    with pytest.raises(ValueError, match=r"expected 'cpu' or 'cuda'"):
        TreeRank(device=device).fit(x, y)


@pytest.mark.parametrize("name", ["DaskTreeRank", "DaskRankingForest"])
def test_a_cluster_refuses_a_device(name):
    dask = pytest.importorskip("treerank.dask")
    with pytest.raises(ValueError, match=r"expected 'cpu': workers count on their processors"):
        getattr(dask, name)(device="cuda")._check_distributable()
