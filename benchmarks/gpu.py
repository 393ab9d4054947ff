"""Growing and scoring on a GPU: seconds, the same model, and what the hardware could do at best."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

import treerank
from benchmarks.common import Figure, describe, figure_table, machine, publish, targets_met
from benchmarks.gpu_boosting import boosting_figures, our_boosting
from treerank import RankingForest, TreeRank
from treerank._binning.binning import code_table
from treerank._device.cuda import CudaDevice, cuda_device
from treerank._device.device import BUDGET, Memory, upload
from treerank._growth.device_rows import BATCH
from treerank._growth.forest import ForestPlan, core_options
from treerank._growth.forest_rows import LocalForestRows
from treerank._growth.trees import TreeRankOptions
from treerank._input.validation import validate_training_data
from treerank._leafrank import LeafRank
from treerank._plans.forest import plan_forest

ROWS, HASHED_ROWS, FEATURES, TREES = 10_000_000, 1_000_000, 50, 100
QUICK = {"rows": 200_000, "hashed": 60_000, "trees": 8}
COMMAND = "python -m benchmarks gpu"
FEW_GIB = 2.3  # in which the codes do not fit beside a tree
BINS, DRAWN, UPDATES = 256, 7, 4096  # of the bare kernels: as many as a node of a forest has
WORDS = 2 * BINS * DRAWN
BARE = """
extern "C" __global__ void bare_atomics(unsigned* out) {
    __shared__ unsigned counters[WORDS];
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) counters[i] = 0;
    __syncthreads();
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < UPDATES; ++i) {
        at = at * 1664525u + 1013904223u;
        atomicAdd(counters + (at >> 8) % WORDS, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = counters[0];
}
extern "C" __global__ void copy_words(const uint4* from, uint4* to, long long n) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = from[i];
}
"""


class Data(NamedTuple):
    """Rows and their labels."""

    X: Any
    y: Any


def make_rows(n: int, seed: int = 0) -> Data:
    """Numbers of float32, column by column, and labels that some of them tell."""
    rng = np.random.default_rng(seed)
    x = np.empty((FEATURES, n), dtype=np.float32)
    for column in x:
        rng.standard_normal(n, dtype=np.float32, out=column)
    risk = x[0] + 0.7 * x[1] * x[2] + np.abs(x[3]) - 0.5 * x[4] + 0.5 * np.maximum(x[5], x[6])
    y = risk + 1.5 * rng.standard_normal(n, dtype=np.float32) > 0.9
    return Data(np.asfortranarray(x.T), y.astype(np.int64))


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds of a call, and what it gives."""
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


def digest(model: Any) -> str:
    """Hash of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        treerank.save(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def same_models(data: Data, n_trees: int) -> list[Figure]:
    """Fit on the processor and on the device; stop where the models differ."""
    figures = []
    for name, model in (
        (f"forest of {n_trees} trees", RankingForest(n_estimators=n_trees, n_jobs=-1)),
        ("one tree, TreeRank()", TreeRank(n_jobs=-1)),
        ("boosting, 100 rounds of 32 leaves", our_boosting("cpu")),
    ):
        seconds, hashes = {}, set()
        for device in ("cpu", "cuda"):
            seconds[device], fitted = timed(model.set_params(device=device).fit, *data)
            hashes.add(digest(fitted))
        if len(hashes) > 1:
            raise SystemExit(f"{name}: the device made another model")
        note = f"{seconds['cpu']:.1f} s on the processor's cores; the same model file"
        figures.append(Figure(f"{name}, {len(data.y):,} rows", seconds["cuda"], "s", note=note))
    return figures


def forest_rows(data: Data, n_trees: int, device: CudaDevice) -> tuple[LocalForestRows, Any]:
    """Coded rows and the plans of a default forest."""
    forest, n_jobs = RankingForest(n_estimators=n_trees), joblib.cpu_count()
    checked = validate_training_data(forest, *data, None, "from_dtype")
    coded = code_table(checked.table, checked.weights, 255, n_jobs)
    monotonic = np.zeros(FEATURES, dtype=np.int8)
    rows = LocalForestRows(
        coded.codes, coded.made, checked, coded.binning, None, monotonic, n_jobs, device
    )
    return rows, plan_forest(forest, checked, monotonic)


def tree_options(plan: ForestPlan) -> dict[str, Any]:
    """Options of the plan's first tree, as the core takes them."""
    options: list[dict[str, Any]] = core_options(plan, 0, 1.0, 1.0)["kinds"]
    return options[plan.kind_of[0]]


def with_share(plan: ForestPlan, share: Any, name: str) -> ForestPlan:
    """The plan with LeafRank of another number of features."""
    splitter = LeafRank(max_depth=None, min_samples_leaf=1, max_features=share)
    exact = splitter._options(plan.n_rows, FEATURES)
    kinds: list[TreeRankOptions] = [replace(kind, leafrank=exact) for kind in plan.kinds]
    return replace(plan, name=name, kinds=kinds)


def grown_forests(data: Data, n_trees: int, device: CudaDevice) -> list[Figure]:
    """Growth alone, of the two plans that a default forest mostly chooses."""
    rows, plans = forest_rows(data, n_trees, device)
    transfer, _ = timed(rows._on_device.table_for, tree_options(plans[0]))
    usual, half = plans[0], with_share(plans[0], 0.5, "deep trees, half of the features")
    size = f"{n_trees} trees, {len(data.y):,} rows"
    figures = [Figure(f"table of {len(data.y):,} rows to the device", transfer, "s")]
    for plan in (usual, half):
        seconds, trees = timed(rows.grow, plan, None)
        note = f"{len(trees.slots) / n_trees / 1e6:.2f} million slots per tree"
        figures += [
            Figure(f"{size}: growth ({plan.name})", seconds, "s", 5.0, note=note),
            Figure("the same with the table's transfer", seconds + transfer, "s", 8.0),
        ]
    return figures


def block_figures(data: Data, device: CudaDevice) -> list[Figure]:
    """Growth with so little memory that the table goes through in blocks."""
    rows, plans = forest_rows(data, BATCH, device)
    os.environ[BUDGET] = str(FEW_GIB)
    try:
        seconds, _ = timed(rows.grow, plans[0], None)
    finally:
        del os.environ[BUDGET]
    [table] = rows._on_device._tables
    name = f"{BATCH} trees, {len(data.y):,} rows: growth in {FEW_GIB} GiB of GPU memory"
    if table.is_whole:
        return [Figure(name, seconds, "s", note="all rows fit")]
    return [Figure(name, seconds, "s", note=f"blocks of {table.block_rows:,} rows")]


def whole_fits(data: Data, n_trees: int, device: CudaDevice) -> list[Figure]:
    """Fits and scores as a user sees them, checking and coding of the rows included."""
    size = f"{len(data.y):,} rows"
    tree_seconds, _ = timed(TreeRank(n_jobs=-1, device="cuda").fit, *data)
    forest = RankingForest(n_estimators=n_trees, n_jobs=-1, device="cuda")
    forest_seconds, _ = timed(forest.fit, *data)
    scoring, _ = timed(forest.score_samples, data.X)
    codes, n_jobs = forest._codes(data.X)
    walking, _ = timed(forest._trees.total, codes, n_jobs, device)
    return [
        Figure(f"TreeRank().fit, {size}", tree_seconds, "s", 1.0,
               note="checking and coding of the rows, six trees, pruning"),
        Figure(f"RankingForest(n_estimators={n_trees}).fit, {size}", forest_seconds, "s",
               note=f"chose {forest.plan_.name}; out-of-bag rows are scored on the processor"),
        Figure(f"score_samples, {size}, {n_trees} trees", scoring, "s", 1.0,
               note="checking and coding of the rows included"),
        Figure(f"the same of codes, {size}", walking, "s", 1.0, note="transfers included"),
    ]  # fmt: skip


class DeviceRows:
    """A table in the device's memory, as CuPy or PyTorch would hold it."""

    def __init__(self, device: CudaDevice, values: Any) -> None:
        self.memory, self.shape = upload(device, values.T), values.shape
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "version": 3,
            "data": (self.memory.address, False),
            "strides": (values.itemsize, values.itemsize * len(values)),
        }  # fmt: skip


def device_array_figures(data: Data, device: CudaDevice) -> list[Figure]:
    """The same of a table that is on the device already."""
    there = DeviceRows(device, data.X)
    fitting, model = timed(our_boosting("cuda").fit, there, data.y)
    scoring, _ = timed(model.score_samples, there)
    tree, _ = timed(TreeRank(n_jobs=-1, device="cuda").fit, there, data.y)
    size = f"{len(data.y):,} rows that are on the device"
    return [
        Figure(f"BoostedTreeRank.fit, {size}", fitting, "s"),
        Figure("score_samples of them, 100 boosted trees", scoring, "s"),
        Figure(f"TreeRank().fit, {size}", tree, "s", 1.0),
    ]


class TimedKernels:
    """Kernels that are waited for, and their seconds by name."""

    def __init__(self, device: CudaDevice, kernels: Any, seconds: dict[str, float]) -> None:
        self.device, self.kernels, self.seconds = device, kernels, seconds

    def launch(self, name: str, *arguments: Any, **more: Any) -> None:
        """Run a kernel alone."""
        self._wait()
        start = time.perf_counter()
        self.kernels.launch(name, *arguments, **more)
        self._wait()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def _wait(self) -> None:
        self.device.check(self.device.driver.cuCtxSynchronize())


def kernel_seconds(device: CudaDevice, call: Callable[[], Any]) -> dict[str, float]:
    """Seconds of each kernel in a call that has been made before."""
    seconds: dict[str, float] = {}
    kept = dict(device._kernels)
    for program, kernels in kept.items():
        device._kernels[program] = TimedKernels(device, kernels, seconds)
    try:
        call()
    finally:
        device._kernels.update(kept)
    return seconds


def kernel_figures(data: Data, device: CudaDevice) -> list[Figure]:
    """Seconds of the kernels of one batch of trees, which says what the rest waits for."""
    rows, plans = forest_rows(data, BATCH, device)
    rows.grow(plans[0], None)
    whole, _ = timed(rows.grow, plans[0], None)
    seconds = kernel_seconds(device, partial(rows.grow, plans[0], None))
    parts = {
        "large nodes": [name for name in seconds if name.endswith("_large")],
        "nodes of middle size": ["grow_mid"],
        "nodes of at most 32 rows": ["grow_tiny"],
    }
    note = ", ".join(
        f"{what} {sum(seconds[name] for name in names):.2f} s" for what, names in parts.items()
    )
    size = f"{BATCH} trees, {len(data.y):,} rows"
    return [
        Figure(
            f"{size}: growth ({plans[0].name})", whole, "s", note="one batch, nothing beside it"
        ),
        Figure("of which kernels", sum(seconds.values()), "s", note=note),
    ]


def bare_rates(device: CudaDevice) -> dict[str, float]:
    """Atomic additions in shared memory, and bytes copied, a second."""
    options = [f"-arch={device.architecture}", f"-DWORDS={WORDS}", f"-DUPDATES={UPDATES}"]
    driver, check = device.driver, device.check
    module = check(driver.cuModuleLoadData(np.frombuffer(device._compile(BARE, options), np.uint8)))
    functions = {
        name: check(driver.cuModuleGetFunction(module, name.encode()))
        for name in ("bare_atomics", "copy_words")
    }
    blocks, threads, n_bytes = device.n_processors * 32, 256, 2**32

    def run(name: str, *arguments: Any) -> float:
        values = [np.array(a.address if hasattr(a, "address") else a) for a in arguments]
        pointers = np.array([value.ctypes.data for value in values], dtype=np.uint64)
        best = np.inf
        for _ in range(5):
            check(driver.cuCtxSynchronize())
            start = time.perf_counter()
            check(driver.cuLaunchKernel(functions[name], blocks, 1, 1, threads, 1, 1, 0, 0,
                                        pointers.ctypes.data, 0))  # fmt: skip
            check(driver.cuCtxSynchronize())
            best = min(best, time.perf_counter() - start)
        return best

    out = device.empty(4 * blocks)
    memory: list[Memory] = [device.empty(n_bytes) for _ in range(2)]
    check(driver.cuCtxSynchronize())
    return {
        "atomics": blocks * threads * UPDATES / run("bare_atomics", out),
        "bytes": 2 * n_bytes / run("copy_words", *memory, np.int64(n_bytes // 16)),
    }


def histogram_figures(data: Data, device: CudaDevice) -> list[Figure]:
    """The rate of the histogram kernel beside the bare ones."""
    rows, plans = forest_rows(data, 1, device)
    table, n = rows._on_device.table_for(tree_options(plans[0])), len(data.y)
    rates = bare_rates(device)
    updates, seconds = count_once(table, n, DRAWN)
    gathered = n * (4 + table.stride)
    return [
        Figure("atomic additions in shared memory, bare", rates["atomics"] / 1e9, "billion/s"),
        Figure("memory copied, bare", rates["bytes"] / 1e9, "GB/s"),
        Figure(f"histogram of all rows, {DRAWN} features", updates / seconds / 1e9, "billion/s",
               note="rows in their order"),
        Figure("its share of the bare atomic rate", 100 * updates / seconds / rates["atomics"],
               "%"),
        Figure("its share of the bare memory rate", 100 * gathered / seconds / rates["bytes"],
               "%", note="a row's number and its line of codes"),
    ]  # fmt: skip


def count_once(table: Any, n: int, n_drawn: int) -> tuple[float, float]:
    """Count one node of all rows: updates, and the least seconds of several launches."""
    from treerank._device import trials as parts  # noqa: PLC0415

    device = table.device
    limits = parts.Limits(0, -1, n_drawn, 1.0, 2.0, 1.0)
    grower = parts.TrialGrower(table, limits, n)
    packed = (np.arange(n, dtype=np.uint32) << 5) | 1 | (np.arange(n, dtype=np.uint32) % 2 << 4)
    device.write(grower.rows[0], packed)
    trial = np.zeros(1, dtype=parts.TRIAL)
    trial["n_features"] = table.n_features
    root = np.zeros(1, dtype=parts.NODE)
    root["last"] = n
    features = np.arange(table.n_features, dtype=np.uint16)
    trials = parts.Trials(trial, features, root, np.array([float(n)]), 1)
    level = parts._Level(grower, trials)
    [block] = table.blocks()
    level._set_block(block)
    large, drawn = device.empty(parts.LARGE_BYTES), device.empty(2 * n_drawn)
    histograms = device.empty(n_drawn * grower.max_codes * 8)
    device.fill(histograms, 0, histograms.n_bytes)
    cut = parts.row_ranges_of(root["first"], root["last"], parts.ROWS_PER_BLOCK)
    row_ranges = upload(device, cut)
    launch, threads = table.kernels.launch, parts.LARGE_THREADS
    launch("draw_large", 1, threads, level.growth, upload(device, root), 1, large, drawn, n_drawn)
    best = np.inf
    for _ in range(5):
        device.check(device.driver.cuCtxSynchronize())
        start = time.perf_counter()
        launch(
            "count_large", (len(cut), -(-n_drawn // grower._together)), threads, level.growth,
            large, drawn, n_drawn, row_ranges, parts.ROWS_PER_BLOCK, grower._together, histograms,
            shared_bytes=grower._shared_bytes,
        )  # fmt: skip
        device.check(device.driver.cuCtxSynchronize())
        best = min(best, time.perf_counter() - start)
    return float(n) * n_drawn, best


def run(quick: bool) -> None:
    device = cuda_device()
    n, hashed, n_trees = ROWS, HASHED_ROWS, TREES
    if quick:
        n, hashed, n_trees = QUICK["rows"], QUICK["hashed"], QUICK["trees"]
    facts = machine() | {"device": device.name}
    data = make_rows(n)
    figures = [
        *same_models(Data(data.X[:hashed], data.y[:hashed]), n_trees),
        *grown_forests(data, n_trees, device),
        *kernel_figures(data, device),
        *block_figures(data, device),
        *whole_fits(data, n_trees, device),
        *boosting_figures(data, make_rows(hashed, seed=1)),
        *device_array_figures(data, device),
        *histogram_figures(data, device),
    ]
    page = f"""# How fast is growth on a GPU?

How long do fits and scores take with `device="cuda"`, on {n:,} rows of {FEATURES} numbers
(float32, in a NumPy array)? {targets_met(figures)} The models equal those grown on the processor:
their files are compared on {hashed:,} rows, and this page is only written when they agree.

{describe(facts, COMMAND)}

{figure_table(figures)}

## What the figures include

GPU: {device.name}, with kernels compiled beforehand. "Growth" starts from binned codes. It includes
the draws of rows and features, the kernels, the transfer of the splits back, and the assembly of
the trees, which have about two million slots each. With a square root of the features the processor
needs more time for that than the kernels do: two batches of eight trees are on their way at once,
so that both are busy. With half of the features there are 25 codes of a row to count and not 7, and
growth waits for the GPU.

The histogram kernel is limited by memory bandwidth and not by its additions, because each row loads
its whole line of codes and a forest uses only a few of them.

A table that does not fit goes through the GPU in blocks, once to be counted and once to be
partitioned in each level, until cells are small enough: hence the row of little GPU memory.
[The guide](../guide/gpu.md) says which steps run where.

Boosting grows ordinary trees of 32 leaves here (`max_depth=1, leafrank_depth=5`), on all features
and with the bins and the learning rate of XGBoost. Not measured: forests of other libraries on the
same GPU.
"""
    print(page)
    if not quick:
        publish("gpu", page, figures, {"machine": facts})
