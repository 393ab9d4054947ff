"""Tables that are in a device's memory: the models and scores of the same table here."""

import ctypes

import numpy as np
import pytest
from device_models import table
from emulated_device import EmulatedDevice, needs_emulation, put_in_blocks

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, _core
from treerank._device import arrays, choice, numbers
from treerank._device import table as device_table
from treerank._device.codes import DeviceCodes, MadeThere, on_host, take_rows
from treerank._device.device import download, upload
from treerank._device.table import Features, put_table
from treerank._growth import boosting_rounds, device_rows
from treerank._input import device_arrays

DEVICE = EmulatedDevice()
MODELS = [
    TreeRank(LeafRank(max_depth=2), max_bins=64, random_state=0),
    RankingForest(n_estimators=4, random_state=0),
    RankingForest(n_estimators=3, aggregation="mean_rank", random_state=0),
    BoostedTreeRank(3, random_state=0),
]


class CudaArray:
    """What CuPy and PyTorch offer; to the emulated device all memory is its own."""

    def __init__(self, values, stream=None):
        self.values, self.shape = values, values.shape
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "version": 3, "stream": stream,
            "data": (values.ctypes.data, False),
            "strides": None if values.flags.c_contiguous else values.strides,
        }  # fmt: skip

    def __array__(self, *_, **__):
        raise TypeError("not here")


class DlpackArray:
    """What JAX offers: a capsule, which NumPy makes for memory of the processor."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        assert stream == arrays.STREAM_HERE
        return self.values.__dlpack__()

    def __array__(self, *_, **__):
        raise TypeError("not here")


KINDS = {
    "float32": lambda x: CudaArray(x.astype(np.float32)),
    "float64, columns": lambda x: CudaArray(np.asfortranarray(x)),
    "every other column": lambda x: CudaArray(np.repeat(x, 2, axis=1)[:, ::2]),
    "DLPack": lambda x: DlpackArray(x.copy()),
}


@pytest.fixture
def emulated(monkeypatch):
    monkeypatch.setattr(choice, "cuda_device", lambda: DEVICE)
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 0)
    monkeypatch.setattr(boosting_rounds, "LEAST_ROWS", 0)


def saved(model, path):
    treerank.save(model, path)
    return path.read_bytes()


@needs_emulation
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_table_on_a_device_makes_the_same_model_and_scores(emulated, tmp_path, kind, model):
    x, y, weight = table(2)
    x = x.astype(np.float32) if kind == "float32" else x
    weight[::7] = 0
    there = KINDS[kind](x)
    expected = model.set_params(device="cpu").fit(x, y, weight)
    bytes_of = saved(expected, tmp_path / "cpu")
    scores, shares = expected.score_samples(x), expected.predict_proba(x)
    model.set_params(device="cuda").fit(there, CudaArray(y), CudaArray(weight))
    assert saved(model, tmp_path / "cuda") == bytes_of
    assert np.array_equal(model.score_samples(there), scores)
    assert np.array_equal(model.predict_proba(there), shares)
    assert np.array_equal(model.score_samples(x), scores)


@needs_emulation
def test_large_arrays_are_checked_and_coded_on_the_device(emulated, monkeypatch, tmp_path):
    monkeypatch.setattr(device_arrays, "LEAST_ROWS", 100)
    coded = []
    encode = device_arrays.DeviceNumbers.encode
    monkeypatch.setattr(
        device_arrays.DeviceNumbers, "encode",
        lambda numbers, *rest: coded.append(numbers) or encode(numbers, *rest),
    )  # fmt: skip
    x, y, _ = table(3)
    model, expected = BoostedTreeRank(2, random_state=0), BoostedTreeRank(2, random_state=0)
    for values in (x, np.asfortranarray(x), x.astype(np.float32)):
        model.set_params(device="cuda").fit(values, y)
        assert saved(model, tmp_path / "a") == saved(expected.fit(values, y), tmp_path / "b")
        assert np.array_equal(model.score_samples(values), expected.score_samples(values))
    assert [len(numbers) for numbers in coded] == [len(y)] * 6
    assert [numbers._there for numbers in coded[::2]] == [None] * 3  # of fits: not kept any longer
    model.fit(x[:, ::-1], y)  # neither rows nor columns side by side
    assert len(coded) == 6


def coded_there(free_bytes=2**34):
    x = np.random.default_rng(0).normal(size=(300, 3)).round(1)
    thresholds = [np.unique(column)[:-1] for column in x.T]
    there = numbers.DeviceNumbers(EmulatedDevice(free_bytes=free_bytes), x)
    expected = np.array([np.searchsorted(*pair) + 1 for pair in zip(thresholds, x.T, strict=True)])
    return there.make_codes(thresholds, np.dtype(np.uint8)), expected.astype(np.uint8)


@needs_emulation
def test_codes_made_there_stay_there_until_they_are_needed_here():
    made, expected = coded_there()
    assert isinstance(made, MadeThere)
    assert len(made) == 3
    assert made.can_work(0)
    assert "host" not in vars(made)
    assert np.array_equal(on_host(made), expected)
    assert made.can_work(0)
    assert isinstance(coded_there(free_bytes=1000)[0], np.ndarray)  # no room: they come in parts
    assert np.array_equal(coded_there(free_bytes=1000)[0], expected)


@needs_emulation
def test_codes_made_there_are_laid_out_there():
    made, expected = coded_there()
    features = Features(np.full(3, 255, np.int32), np.zeros(3, np.uint8), np.zeros(3, np.int8))
    labels = np.zeros(300, dtype=np.uint8)
    for some in (made, expected):  # the second has to be sent
        table = put_table(EmulatedDevice(), some, labels, None, features)
        by_row = download(table.device, table.codes, np.uint8, 1200).reshape(300, 4)
        assert np.array_equal(by_row[:, :3], expected.T)
    assert not made.can_work(0)  # nobody else gets them
    assert "host" not in vars(made)
    assert np.array_equal(on_host(made), expected)  # made again


@needs_emulation
def test_codes_that_do_not_fit_come_here_before_their_memory_goes(monkeypatch):
    monkeypatch.setattr(device_table, "LEAST_BLOCK_ROWS", 1)
    made, expected = coded_there()
    monkeypatch.setattr(made, "_again", lambda: pytest.fail("made again"))
    features = Features(np.full(3, 255, np.int32), np.zeros(3, np.uint8), np.zeros(3, np.int8))
    table = put_in_blocks(50)(EmulatedDevice(), made, np.zeros(300, np.uint8), None, features)
    assert np.array_equal(table.elsewhere, expected)
    assert not made.can_work(0)


@needs_emulation
@pytest.mark.parametrize("free_bytes", [2**34, 100])  # room for the rows, or too little
def test_rows_are_taken_wherever_there_is_room(free_bytes):
    made, expected = coded_there()
    made.device.free_bytes = free_bytes
    for rows in (np.arange(0, 300, 2), np.arange(30)):
        assert np.array_equal(take_rows(made, rows), expected[:, rows])
    assert ("host" in vars(made)) == (free_bytes == 100)


@needs_emulation
@pytest.mark.parametrize("model", [MODELS[0], BoostedTreeRank(3, n_jobs=2, random_state=0)])
def test_fits_to_rows_there_do_not_bring_all_codes_here(emulated, monkeypatch, tmp_path, model):
    x, y, _ = table(2)
    x = np.nan_to_num(x)
    expected = saved(model.set_params(device="cpu").fit(x, y), tmp_path / "cpu")
    monkeypatch.setattr(MadeThere, "host", property(lambda _: pytest.fail("copied")))
    model.set_params(device="cuda").fit(CudaArray(x), y)
    assert saved(model, tmp_path / "cuda") == expected


@needs_emulation
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_rows_are_hashed_and_taken_there_as_here(dtype):
    made, codes = coded_there()
    codes = codes.astype(dtype)
    if dtype == np.uint16:
        device = EmulatedDevice()
        there = DeviceCodes(upload(device, codes), codes.shape, codes.dtype)
        made = MadeThere(device, there, None)
    labels = (np.arange(300) % 3).astype(np.uint8)
    for seed in (0, 2**40 + 3):
        expected = _core.row_hashes(codes, labels, seed, 1)
        assert np.array_equal(made.row_hashes(labels, seed), expected)
    for rows in (np.array([7, 3, 299, 3]), np.arange(300), np.arange(0)):
        assert np.array_equal(made.rows(rows), codes[:, rows])
    assert "host" not in vars(made)


@needs_emulation
def test_infinite_numbers_there_are_named(emulated):
    x, y, _ = table(2)
    x[[30, 20], 1] = np.inf
    with pytest.raises(ValueError, match=r"'x1' contains infinity in 2 of 260 rows .first: row 20"):
        TreeRank(device="cuda").fit(CudaArray(x), y)


@needs_emulation
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros((4, 2), dtype=np.int64), TypeError, "array of int64 on a GPU; expected float32"),
        (np.zeros(4), ValueError, r"shape \(4,\) on a GPU; expected rows and columns"),
        (np.zeros((0, 2)), ValueError, r"0 sample\(s\)"),
    ],
)
def test_arrays_there_that_cannot_be_used_are_refused(emulated, values, error, message):
    with pytest.raises(error, match=message):
        TreeRank(device="cuda").fit(CudaArray(values), np.arange(len(values)) % 2)


@needs_emulation
def test_another_library_is_waited_for():
    assert arrays.open_array(DEVICE, CudaArray(np.zeros((3, 2)), stream=11)).shape == (3, 2)
    assert DEVICE.waited_for == 11


@needs_emulation
def test_arrays_of_every_layout_are_read():
    whole = np.arange(24).reshape(4, 6)
    for some in (whole, whole.T, whole[:, 1::2], whole[2], whole[:, 3], whole[:0]):
        assert np.array_equal(arrays.read_array(DEVICE, CudaArray(some)), some)
    with pytest.raises(ValueError, match="backward order"):
        arrays.read_array(DEVICE, CudaArray(whole[::-1]))


def test_a_table_on_a_device_needs_a_model_that_works_there():
    x, y, _ = table(2)
    for model in (TreeRank(), BoostedTreeRank(2)):
        with pytest.raises(TypeError, match=r"expected an array of NumPy: set device='cuda'"):
            model.fit(CudaArray(x), y)


def test_capsules_of_unknown_numbers_are_refused():
    class Odd(DlpackArray):
        def __dlpack__(self, stream=None):
            return np.zeros((2, 2), dtype=np.complex64).__dlpack__()

    with pytest.raises(TypeError, match="no NumPy type"):
        arrays.open_array(DEVICE, Odd(np.zeros((2, 2))))


def test_strides_of_packed_arrays():
    assert ctypes.sizeof(arrays._DLTensor) == 48
    for shape in ((5,), (3, 4), (2, 3, 4)):
        assert arrays._packed_strides(shape, 8) == np.zeros(shape).strides
