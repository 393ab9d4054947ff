"""Estimators with device="cuda": the same models, and errors that name what is missing."""

import sys

import numpy as np
import pytest
from device_models import MODELS, table
from emulated_device import EmulatedDevice, needs_emulation
from same_models import digest
from sklearn.base import clone

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank._device import choice, cuda
from treerank._device import table as device_table
from treerank._device.device import BUDGET, within_budget
from treerank._device.table import put_table
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
    assert digest(expected) == digest(model)
    treerank.save(model, tmp_path / "model")
    assert treerank.load(tmp_path / "model").device == "cpu"


@needs_emulation
@pytest.mark.parametrize("focus", [0.1, (0.0, 0.2)])
def test_a_device_leaves_cells_below_the_focus_whole_too(emulated, focus):
    x, y, _ = table()
    model = TreeRank(max_depth=9, min_samples_leaf=5, pruning=None, random_state=0)
    everywhere = clone(model).fit(x, y)
    expected = model.set_params(focus=focus).fit(x, y)
    assert len(expected.partition_.counts) < len(everywhere.partition_.counts)
    on_device = clone(model).set_params(device="cuda").fit(x, y)
    assert emulated
    assert np.array_equal(on_device.score_samples(x), expected.score_samples(x))


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
    with pytest.raises(MemoryError, match=r"a fit to 260 rows and 4 features, 260 rows at a time"):
        TreeRank(device="cuda").fit(x, y)


@needs_emulation
@pytest.mark.parametrize("name", [name for name in MODELS if name != "tree, best first"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_table_that_does_not_fit_goes_through_in_blocks(emulated, monkeypatch, name, n_classes):
    x, y, weight = table(n_classes)
    expected = clone(MODELS[name]).fit(x, y, weight)
    put = []

    def put_one(device, codes, *rest):
        *most, beside = rest
        # So much that of two trees one fits, and of the codes of both classes half.
        device = EmulatedDevice(free_bytes=beside + 9 * len(y) + 50 * 20)
        put.append(put_table(device, codes, *most, beside))
        return put[-1]

    monkeypatch.setattr(device_table, "LEAST_BLOCK_ROWS", 20)
    monkeypatch.setattr(device_rows, "put_table", put_one)
    model = clone(MODELS[name]).set_params(device="cuda").fit(x, y, weight)
    assert {table.block_rows for table in put} == {50}
    assert digest(expected) == digest(model)


@pytest.mark.parametrize(
    ("given", "free", "taken", "expected"),
    [
        (None, 5 * 2**30, 0, 5 * 2**30),
        ("8", 5 * 2**30, 2**30, 5 * 2**30),
        ("1.5", 5 * 2**30, 2**30, 2**29),
        ("1", 5 * 2**30, 2**31, 0),
    ],
)
def test_no_more_memory_is_taken_than_the_environment_allows(
    monkeypatch, given, free, taken, expected
):
    monkeypatch.delenv(BUDGET, raising=False)
    if given is not None:
        monkeypatch.setenv(BUDGET, given)
    assert within_budget(free, taken) == expected


@pytest.mark.parametrize("given", ["much", "0", "-1", "nan", "inf"])
def test_a_budget_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv(BUDGET, given)
    with pytest.raises(ValueError, match=rf"TREERANK_GPU_GIB='{given}'.*expected GiB"):
        within_budget(2**30, 0)


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
