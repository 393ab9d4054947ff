"""Training on a Dask cluster: rounds, what a round costs, and the parts of a billion rows."""

import os
import signal
import time
from typing import Any

import numpy as np
from dask import array as da
from distributed import Client, LocalCluster

from benchmarks.common import Figure, Times, describe, figure_table, machine, publish, targets_met
from treerank import LeafRank, TreeRank, _core
from treerank._binning.binning import code_table
from treerank._growth import shards
from treerank._input.validation import validate_training_data
from treerank._trees.packed_forest import Sampling
from treerank.dask import DaskRankingForest, DaskTreeRank, _cluster, _rows

ROWS, QUICK_ROWS = 1_000_000, 40_000
FEATURES = 20
SMALL_ROWS = 4_000  # next to no work: what is left is the cluster
FOREST_ROWS = 40_000
ROUNDS_ALLOWED = 60
SECONDS_A_ROUND = 0.1
TREES = 16
COMMAND = "python -m benchmarks cluster"
DEEP: dict[str, Any] = {
    "splitter": LeafRank(max_depth=6), "max_depth": 8, "pruning": None, "shrinkage": None,
}  # fmt: skip


def make_rows(n_rows: int) -> tuple[Any, Any]:
    """Numbers, some missing, and a label that some of them decide."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((n_rows, FEATURES), dtype=np.float32)
    risk = x[:, :4].sum(axis=1) + x[:, 4] * x[:, 5] + 2 * rng.standard_normal(n_rows)
    x[rng.random(n_rows) < 0.1, 6] = np.nan
    return x, (risk > 2).astype(np.int8)


def on_cluster(x: Any, y: Any, n_parts: int = 4) -> tuple[Any, Any]:
    """The same as Dask Arrays."""
    rows = -(-len(x) // n_parts)
    return da.from_array(x, chunks=(rows, -1)), da.from_array(y, chunks=rows)


def same_tree(one: Any, other: Any) -> bool:
    """Whether two trees are the same to the bit."""
    names = ("cells", "counts", "tests")
    mine, theirs = one.unpruned_tree_, other.unpruned_tree_
    return all(np.array_equal(getattr(mine, n), getattr(theirs, n)) for n in names)


def timed(fit: Any) -> tuple[Any, Times]:
    """Model and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    model = fit()
    return model, Times(time.perf_counter() - wall, time.process_time() - cpu)


class Everywhere:
    """Keep all growth on the cluster's rounds: no cell is brought to one worker."""

    def __enter__(self) -> None:
        self.share, _rows.GATHERED_SHARE = _rows.GATHERED_SHARE, 0.0

    def __exit__(self, *_: object) -> None:
        _rows.GATHERED_SHARE = self.share


def rounds(client: Client) -> list[Figure]:
    """How often a fit waits for the cluster, and for how long where there is no work."""
    x, y = make_rows(SMALL_ROWS)
    parts = on_cluster(x, y, 2)
    DaskTreeRank(client=client, max_depth=2).fit(*parts)  # workers import the library
    with Everywhere():
        tree, took = timed(lambda: DaskTreeRank(client=client, **DEEP).fit(*parts))
        local, alone = timed(lambda: TreeRank(**DEEP).fit(x, y))
    usual = DaskTreeRank(client=client, **DEEP).fit(*parts)
    parts = on_cluster(*make_rows(FOREST_ROWS), 2)
    one, many = (
        DaskRankingForest(client=client, n_estimators=n, random_state=0).fit(*parts).n_rounds_
        for n in (1, TREES)
    )
    each = (took.wall - alone.wall) / tree.n_rounds_
    return [
        Figure("rounds of one tree (depth 8, LeafRank depth 6)", tree.n_rounds_, "",
               ROUNDS_ALLOWED, note="every node on the cluster"),
        Figure("the same, small cells grown by one worker", usual.n_rounds_),
        Figure("overhead of a round", 1000 * each, "ms", 1000 * SECONDS_A_ROUND,
               note=f"{SMALL_ROWS:,} rows, {tree.n_rounds_} rounds in {took.wall:.1f} s"),
        Figure(f"rounds of a forest of {TREES} trees, times those of one",
               many / one, "", 4.0, note=f"{many} and {one} rounds, {FOREST_ROWS:,} rows"),
        Figure("the same tree as in memory", float(same_tree(tree, local)), "", 1.0, "at least"),
    ]  # fmt: skip


def speed(client: Client, n_rows: int) -> tuple[list[Figure], dict[str, float]]:
    """Rows a second of a tree on two workers, with and without a worker that is killed."""
    x, y = make_rows(n_rows)
    parts = [part.persist() for part in on_cluster(x, y)]
    local, alone = timed(lambda: TreeRank(**DEEP).fit(x, y))
    tree, took = timed(lambda: DaskTreeRank(client=client, **DEEP).fit(*parts))
    pruned, took_pruned = timed(lambda: DaskTreeRank(client=client).fit(*parts))
    pruned_alone, alone_pruned = timed(lambda: TreeRank().fit(x, y))
    parts = on_cluster(x, y)
    killed, took_killed = timed(lambda: _fit_and_kill(client, parts))
    same = same_tree(tree, local) and same_tree(pruned, pruned_alone) and same_tree(killed, local)
    return [
        Figure("one tree, 2 workers", took.wall, "s", note=f"{n_rows:,} x {FEATURES}, "
               f"{tree.n_rounds_} rounds; {alone.wall:.1f} s in memory on one thread"),
        Figure("default tree, pruned by five folds, 2 workers", took_pruned.wall, "s",
               note=f"{pruned.n_rounds_} rounds; {alone_pruned.wall:.1f} s in memory"),
        Figure("one tree, one worker killed during the fit", took_killed.wall, "s",
               note="not persisted: lost partitions are computed again"),
        Figure("the same trees as in memory", float(same), "", 1.0, "at least"),
    ], {"one tree": took.wall, "in memory": alone.wall}  # fmt: skip


def _fit_and_kill(client: Client, parts: Any) -> Any:
    """Kill a worker once the fit has waited for the cluster eight times."""
    waited, done = _cluster.Cluster.result, []

    def result(self: Any, future: Any) -> Any:
        if self.n_rounds >= 8 and not done:
            done.append(True)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return waited(self, future)

    _cluster.Cluster.result = result  # type: ignore[method-assign]
    try:
        return DaskTreeRank(client=client, **DEEP).fit(*parts)
    finally:
        _cluster.Cluster.result = waited  # type: ignore[method-assign]


def pieces(n_rows: int) -> dict[str, float]:
    """What a row costs at each step of a part, in nanoseconds of one core."""
    x, y = make_rows(n_rows)
    data = validate_training_data(TreeRank(), x, y, None, None)
    coded, coding = timed(lambda: code_table(data.table, data.weights, 255, 1))
    part = shards.Shard(coded.codes, data.labels, data.weights, 0)
    tree = TreeRank(**DEEP | {"max_depth": 4}).fit(x, y).unpruned_tree_
    _, walking = timed(lambda: tree.apply(part.codes))
    cells = np.zeros(n_rows, dtype=np.int32)
    root = np.array([[0, 0, 1]], dtype=np.int32).view(np.uint8)
    (rows, starts), placing = timed(lambda: _core.place_rows(part.labels, None, None, cells, root))
    slots, n_codes = np.zeros(1, dtype=np.int32), coded.binning.n_codes
    _, counting = timed(
        lambda: _core.count_slots(part.codes, None, rows, starts, slots, n_codes, False)
    )
    _, drawing = timed(lambda: shards.Drawn(Sampling(True, n_rows, 0), 0, n_rows).counts(part))
    took = {"coding": coding, "walking": walking, "placing": placing, "counting": counting,
            "drawing": drawing}  # fmt: skip
    return {name: 1e9 * times.cpu / n_rows for name, times in took.items()}


def estimate(each: dict[str, float]) -> str:
    """Worked estimate for a billion rows on 32 workers, in Markdown."""
    rows, workers = 1e9, 32
    share = rows / workers
    coding = share * each["coding"] / 1e9
    placing = share * (each["walking"] + each["placing"]) / 1e9
    counting = share * each["counting"] / 1e9
    depths = 5  # until a cell has 1/32 of the rows
    growth = depths * (placing + 6 * counting)
    alone = share * 48 * each["counting"] / 2 / 1e9
    return (
        "## An estimate for a billion rows\n\n"
        "This is computed from the costs above; it has not been measured. With a billion rows of "
        f"{FEATURES} features on {workers} workers of one core, each worker holds "
        f"{share / 1e6:.0f} million rows: {share * FEATURES / 1e9:.2f} GB of codes and "
        f"{share * 9 / 1e9:.2f} GB for the positions of rows in one tree. Coding takes "
        f"{coding:.0f} s per worker, not counting the reading of the files. One tree of depth 8 "
        f"with LeafRank depth 6 grows {depths} levels on the cluster, each with {placing:.1f} s to "
        f"place the rows and 6 rounds of {counting:.1f} s to count them, {growth:.0f} s in total. "
        "Then each cell, with 1/32 of the rows, is sent to one worker "
        f"({share * (FEATURES + 4) / 1e9:.2f} GB per worker, network time not counted) and grown "
        f"there in {alone:.0f} s; communication adds a few seconds. The total is "
        f"{coding + growth + alone:.0f} s without reading the files. Pruning by five folds takes "
        "six times the growth."
    )


def page(figures: list[Figure], each: dict[str, float], facts: dict[str, Any]) -> str:
    """The page in Markdown."""
    costs = "\n".join(f"| {name} | {value:.1f} |" for name, value in each.items())
    return f"""# What does training on a Dask cluster cost?

A fit on a cluster gives the same model as a fit in memory, bit for bit. The table shows how many
rounds of communication it takes, and what each round costs. {targets_met(figures)}

{describe(facts, COMMAND)}

{figure_table(figures)}

## How it was measured

Two worker processes, the scheduler and the client share the cores of one machine, so these times
show the overhead of a cluster and not its gain in speed.

## What each step costs

Processor time of one core for one row of {FEATURES} features, at each step of the work on a
partition.

| step | ns per row |
|---|---:|
{costs}

"Walking" (finding the cell of each row) and "placing" (sorting the rows by cell) happen once per
level of the ranking tree. "Counting" happens once per round, for the nodes that are being split:
all rows in the first round of a level, half of them afterwards. "Drawing" happens once per level
and tree of a forest.

{estimate(each)}
"""


def run(quick: bool) -> None:
    """Measure, and publish unless it is a trial."""
    facts = machine()
    n_rows = QUICK_ROWS if quick else ROWS
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        figures = rounds(client)
        more, seconds = speed(client, n_rows)
    figures += more
    each = pieces(n_rows)
    print(figure_table(figures))
    print(estimate(each))
    if not quick:
        details = {"machine": facts, "nanoseconds a row": each, "seconds": seconds}
        publish("cluster", page(figures, each, facts), figures, details)
