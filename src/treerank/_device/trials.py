"""Grow LeafRank trees on a device, those of many cells and trees together, level by level.

The device draws features, counts rows, searches for the best tests and partitions the rows. Only
the tests are copied back. Large nodes are shared by many blocks, mid-sized nodes have one block
each, and one warp grows everything below a node with at most 32 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._device.device import (
    Kernels,
    addresses,
    check_room,
    download,
    row_ranges_of,
    upload,
)
from treerank._device.records import Records
from treerank._device.source import Program
from treerank._device.table import DeviceTable, RowBlock

TRIAL = np.dtype(
    [
        ("cell_negative", "<f8"), ("cell_positive", "<f8"), ("tree", "<i8"),
        ("first_feature", "<i8"), ("n_features", "<i8"), ("random_cuts", "<i8"),
    ]
)  # fmt: skip
NODE = np.dtype(
    [
        ("first", "<u4"), ("last", "<u4"), ("trial", "<i4"), ("depth", "<i4"), ("record", "<i4"),
        ("attempt", "<i4"), ("buffer", "<i4"), ("unused", "<i4"), ("key", "<u8"),
        ("negative", "<f8"), ("positive", "<f8"), ("lower", "<f8"), ("upper", "<f8"),
    ]
)  # fmt: skip
LARGE_BYTES, LEVELS_BYTES = 312, 18456
_POINTERS = (
    "codes", "stride", "block", "units", "n_codes", "categorical", "monotonic", "n_features",
    "max_codes", "rows0", "rows1", "trials", "trial_features", "trees", "n_records", "records",
    "sets", "set_capacity", "counters", "next_mid", "next_large", "tiny", "tiny_rows", "mid_rows",
    "draws", "levels", "wide_histograms", "criterion", "max_depth", "max_features",
)  # fmt: skip
GROWTH = np.dtype(
    [(name, "<i8") for name in _POINTERS]
    + [(name, "<f8") for name in ("min_weight_leaf", "min_weight_split", "independent_weight")]
)
N_MID, N_LARGE, N_TINY, N_SETS, N_LOST, N_COUNTERS = 0, 1, 2, 3, 4, 16

MID_THREADS, TINY_THREADS, LARGE_THREADS = 128, 128, 256
# Units that a block may count in shared memory if weights are small integers: 16 bits per class. A
# row has up to 15 units, and a block counts few enough rows of a large node.
MOST_PACKED, MOST_REPEATS = 2**16 - 1, 15
ROWS_PER_BLOCK = 4096  # of a large node
SHARED_BYTES, MOST_SHARED_BYTES = 28 * 1024, 48 * 1024  # of counters: several features, or one
LANE_CODES = 4  # counters that a thread takes at once; a feature's are padded to a multiple
MOST_LINE_BYTES = 128  # of a row's codes, to be staged in shared memory
HISTOGRAM_BYTES = 512 * 2**20  # of large nodes at once
OTHER_BYTES = 256 * 2**20  # upper limit for the buffers of all warps
BLOCKS_PER_PROCESSOR = 16
GINI = 0  # number of the Gini criterion
SHALLOW = 24  # below this max_depth, the depth limits the number of nodes


@dataclass(frozen=True)
class Sizes:
    """Most rows of tiny and of mid-sized nodes, and most tiny nodes that are deferred."""

    tiny_rows: int = 32
    mid_rows: int = 16384
    tiny_at_once: int = 2**20


@dataclass(frozen=True)
class Limits:
    """Options of LeafRank, in the form of the core, shared by all trials."""

    criterion: int
    max_depth: int
    max_features: int
    min_weight_leaf: float
    min_weight_split: float
    independent_weight: float


@dataclass(frozen=True)
class Trials:
    """The trials of a level, grouped by tree, with their rows in the first buffer."""

    trials: NDArray[Any]  # TRIAL
    features: NDArray[np.uint16]  # lists of all trials, concatenated
    roots: NDArray[Any]  # NODE
    weights: NDArray[np.float64]  # total of all trials of each tree
    n_trees: int


class TrialGrower:
    """Grows the trials of one level after another in the same memory."""

    def __init__(
        self, table: DeviceTable, limits: Limits, n_rows: int, sizes: Sizes | None = None
    ) -> None:
        self.table, self.limits, self.n_rows = table, limits, n_rows
        self.sizes = Sizes() if sizes is None else sizes
        device = table.device
        self.n_blocks = device.n_processors * BLOCKS_PER_PROCESSOR
        if table.features.categorical.any():
            self.n_blocks = device.n_processors * 4
        warps = self.n_blocks * LARGE_THREADS // 32
        self.max_codes = -(-int(table.features.n_codes.max()) // LANE_CODES) * LANE_CODES
        most_mid = n_rows // (self.sizes.tiny_rows + 1) + 1
        most_large = n_rows // (min(_least_large(self.sizes), table.block_rows) + 1) + 1
        self.tiny_room = self.sizes.tiny_at_once + 2 * (most_mid + most_large)
        check_room(
            device, memory_of(n_rows, self.sizes) + sum(table.gathered_bytes),
            f"trees of {n_rows:,} rows together", "Fit to fewer rows, or set device='cpu'.",
        )  # fmt: skip
        self.gathered = [
            device.empty(n_bytes) if n_bytes else None for n_bytes in table.gathered_bytes
        ]
        self.rows = [device.empty(4 * n_rows) for _ in range(2)]
        self.mid = [device.empty(NODE.itemsize * most_mid) for _ in range(2)]
        self.large = [device.empty(NODE.itemsize * most_large) for _ in range(2)]
        self.tiny = device.empty(NODE.itemsize * self.tiny_room)
        self.counters = device.empty(4 * N_COUNTERS)
        self.draws = device.empty(4 * warps * table.n_features)
        self.levels = self.wide_histograms = None
        if table.features.categorical.any():
            self.levels = device.empty(LEVELS_BYTES * warps)
        if self._together == 0:
            self.wide_histograms = device.empty(self.n_blocks * self._feature_bytes)

    @property
    def _feature_bytes(self) -> int:
        """Size of a block's counters for one feature."""
        return self.max_codes * (self.table.count_bytes if self.table.is_wide else 4)

    @property
    def _together(self) -> int:
        """Number of features whose counters fit into shared memory; 0: not even one."""
        one = self._feature_bytes
        if one > MOST_SHARED_BYTES:
            return 0
        return min(max(1, SHARED_BYTES // one), self._most_drawn)

    @property
    def _most_drawn(self) -> int:
        wanted = self.limits.max_features
        return self.table.n_features if wanted < 0 else min(wanted, self.table.n_features)

    @property
    def _shared_bytes(self) -> int:
        return self._together * self._feature_bytes

    def kernels_for(self, trials: Trials) -> Kernels:
        """Return the kernels for these trials; plain ones if they are sufficient."""
        table = self.table
        features = table.features
        is_plain = self.limits.criterion == GINI and not (
            features.categorical.any() or features.monotonic.any()
            or trials.trials["random_cuts"].any()
        )  # fmt: skip
        return table.device.kernels(Program(table.code_bytes, table.is_wide, bool(is_plain)))

    def grow(self, trials: Trials) -> tuple[list[NDArray[np.uint8]], NDArray[np.uint8]]:
        """Grow all trials. Return the records of each tree, and the category sets.

        The records are overwritten when this thread grows the next trials.
        """
        level = _Level(self, trials)
        if self.table.is_whole:
            level.grow(trials.roots)
        else:
            for some in level.split_in_blocks(trials.roots):
                level.gather(some)
                level.grow(some)
        return level.records.bring(level.n_sets())


def memory_of(n_rows: int, sizes: Sizes | None = None) -> int:
    """Bytes needed to grow trees of `n_rows` rows in total, without their records."""
    sizes = Sizes() if sizes is None else sizes
    nodes = sizes.tiny_at_once + 4 * (
        n_rows // (sizes.tiny_rows + 1) + n_rows // (_least_large(sizes) + 1)
    )
    return 8 * n_rows + NODE.itemsize * nodes + HISTOGRAM_BYTES + OTHER_BYTES


def _least_large(sizes: Sizes) -> int:
    """A large node has more rows than this: it is large by its rows or by its units."""
    return min(sizes.mid_rows, MOST_PACKED // MOST_REPEATS)


class _Level:
    """The open nodes while the trials of one level grow."""

    def __init__(self, grower: TrialGrower, trials: Trials) -> None:
        self.grower, self.trials = grower, trials
        self.device, self.kernels = grower.table.device, grower.kernels_for(trials)
        self.side = self.n_mid = self.n_large = self.n_tiny = 0
        self.blocks: Callable[[], Iterable[RowBlock]] = grower.table.blocks
        device = self.device
        self.records = self._make_records()
        self.memory = [upload(device, trials.trials), upload(device, trials.features)]
        self.growth = self._describe()
        device.fill(grower.counters, 0, 4 * N_COUNTERS)

    def grow(self, nodes: NDArray[Any]) -> None:
        """Grow everything below nodes; the codes of their rows must be on the device."""
        grower = self.grower
        n_rows, tiny, mid = _n_rows(nodes), grower.sizes.tiny_rows, grower.sizes.mid_rows
        fits = grower.table.is_wide | (nodes["negative"] + nodes["positive"] <= MOST_PACKED)
        is_tiny, is_mid = n_rows <= tiny, (n_rows <= mid) & fits
        parts = [nodes[is_mid & ~is_tiny], nodes[~is_mid & ~is_tiny], nodes[is_tiny]]
        self.side = 0  # which of the two lists has the open nodes
        self.n_mid, self.n_large, self.n_tiny = (len(part) for part in parts)
        for memory, part in zip((grower.mid[0], grower.large[0], grower.tiny), parts, strict=True):
            if len(part):
                self.device.write(memory, np.ascontiguousarray(part))
        self.growth["tiny_rows"], self.growth["mid_rows"] = tiny, mid
        [block] = self.blocks()
        self._set_block(block)
        while self.n_mid or self.n_large:
            self.step()
        self.grow_tiny()

    def split_in_blocks(self, nodes: NDArray[Any]) -> list[NDArray[Any]]:
        """Split nodes until the rows of each fit into a block. Return these nodes in groups.

        The blocks of all rows are copied twice for each step: to count and to partition the rows.
        """
        grower, most = self.grower, self.grower.table.block_rows
        is_large = _n_rows(nodes) > most
        large, small = nodes[is_large], [nodes[~is_large]]
        self.growth["tiny_rows"] = self.growth["mid_rows"] = most  # no node is mid-sized
        self.growth["next_large"] = grower.large[0].address
        while len(large):
            self.device.write(grower.counters, np.zeros(3, dtype=np.uint32))
            self._split_all(large)
            found = self._read_counters()
            large = download(self.device, grower.large[0], NODE, int(found[N_LARGE]))
            small.append(download(self.device, grower.tiny, NODE, int(found[N_TINY])))
        return _groups(np.concatenate(small), most)

    def gather(self, nodes: NDArray[Any]) -> None:
        """Gather the codes of the nodes' rows in a table of their own."""
        grower, table, launch = self.grower, self.grower.table, self.kernels.launch
        codes, units = grower.gathered
        assert codes is not None
        n_rows = _n_rows(nodes)
        starts = upload(self.device, (np.cumsum(n_rows) - n_rows).astype(np.uint32))
        at_hand = upload(self.device, nodes)
        cut = row_ranges_of(nodes["first"], nodes["last"], ROWS_PER_BLOCK)
        given = at_hand, upload(self.device, cut), ROWS_PER_BLOCK, starts
        self.growth["units"] = addresses([table.units])[0]
        for block in table.blocks():
            self._set_block(block)
            launch(
                "gather_codes", len(cut), LARGE_THREADS, self.growth, *given, table.row_bytes // 4,
                codes,
            )  # fmt: skip
        launch("number_gathered", len(cut), LARGE_THREADS, self.growth, *given, units)
        self.growth["units"] = addresses([units])[0]
        self.blocks = lambda: [RowBlock(codes.address, 0, int(n_rows.sum()))]

    def _set_block(self, block: RowBlock) -> None:
        self.growth["codes"], self.growth["block"] = block.codes, block.described.view(np.int64)

    def _make_records(self) -> Records:
        """Allocate records. A node with a record weighs at least twice the minimum of a leaf."""
        trials, limits = self.trials, self.grower.limits
        tree = trials.trials["tree"][trials.roots["trial"]]
        n_roots = np.bincount(tree, minlength=trials.n_trees)
        rows = np.bincount(tree, weights=_n_rows(trials.roots), minlength=trials.n_trees)
        by_weight = trials.weights / max(limits.min_weight_leaf, 1e-300)
        capacity = n_roots + 2 * np.minimum(rows, by_weight).astype(np.int64) + 2
        if 0 <= limits.max_depth < SHALLOW:
            capacity = np.minimum(capacity, n_roots << limits.max_depth)
        has_categories = bool(self.grower.table.features.categorical.any())
        return Records(self.device, capacity, n_roots, has_categories)

    def _describe(self) -> NDArray[Any]:
        """Return everything that the kernels work on, as their argument."""
        grower, table, limits = self.grower, self.grower.table, self.grower.limits
        growth = np.zeros(1, dtype=GROWTH)
        values: dict[str, Any] = {
            "stride": table.stride, "units": table.units,
            "n_codes": table.n_codes, "categorical": table.categorical,
            "monotonic": table.monotonic, "n_features": table.n_features,
            "max_codes": grower.max_codes, "rows0": grower.rows[0], "rows1": grower.rows[1],
            "trials": self.memory[0], "trial_features": self.memory[1],
            "counters": grower.counters, "tiny": grower.tiny, "draws": grower.draws,
            "levels": grower.levels,
            "wide_histograms": grower.wide_histograms, **self.records.described, **vars(limits),
        }  # fmt: skip
        for name, value in values.items():
            is_number = isinstance(value, int | float)
            growth[name] = value if is_number else addresses([value])[0]
        return growth

    def step(self) -> None:
        """Split the open nodes, and open their children."""
        grower, side = self.grower, self.side
        self.growth["next_mid"] = grower.mid[1 - side].address
        self.growth["next_large"] = grower.large[1 - side].address
        # New tiny nodes are appended to the list, so its counter starts at its length.
        if self.n_tiny > grower.sizes.tiny_at_once:
            self.grow_tiny()
        self.device.write(grower.counters, np.array([0, 0, self.n_tiny], dtype=np.uint32))
        if self.n_large:
            self._split_all(download(self.device, grower.large[side], NODE, self.n_large))
        if self.n_mid:
            self.kernels.launch(
                "grow_mid", min(self.n_mid, grower.n_blocks), MID_THREADS, self.growth,
                grower.mid[side], self.n_mid, grower._together, shared_bytes=grower._shared_bytes,
            )  # fmt: skip
        found = self._read_counters()
        self.n_mid, self.n_large, self.n_tiny = (int(found[i]) for i in (N_MID, N_LARGE, N_TINY))
        self.side = 1 - side

    def _split_all(self, nodes: NDArray[Any]) -> None:
        """Split large nodes, as many at once as there is memory for their histograms."""
        grower = self.grower
        one = grower._most_drawn * grower.max_codes * grower.table.count_bytes
        at_once = max(1, HISTOGRAM_BYTES // one)
        for first in range(0, len(nodes), at_once):
            self._split_some(nodes[first : first + at_once], one)

    def _split_some(self, nodes: NDArray[Any], histogram_bytes: int) -> None:
        grower, device, n = self.grower, self.device, len(nodes)
        most, together = grower._most_drawn, grower._together
        at_hand = upload(device, nodes)
        large = device.empty(LARGE_BYTES * n)
        drawn = device.empty(2 * most * n)
        histograms = device.empty(histogram_bytes * n)
        device.fill(histograms, 0, histogram_bytes * n)
        cut = row_ranges_of(nodes["first"], nodes["last"], ROWS_PER_BLOCK)
        ranges = upload(device, cut)
        launch, growth, threads = self.kernels.launch, self.growth, LARGE_THREADS
        warps = threads // 32
        blocks = min(-(-n // warps), grower.n_blocks)
        launch("draw_large", blocks, threads, growth, at_hand, n, large, drawn, most)
        for block in self.blocks():
            self._set_block(block)
            launch(
                "count_large", (len(cut), -(-most // max(together, 1))), threads, growth,
                large, drawn, most, ranges, ROWS_PER_BLOCK, together, histograms,
                shared_bytes=grower._shared_bytes,
            )  # fmt: skip
        launch(
            "search_large", min(n, grower.n_blocks), threads, growth, large, drawn, most, n,
            histograms,
        )  # fmt: skip
        for block in self.blocks():
            self._set_block(block)
            launch("partition_large", len(cut), threads, growth, large, ranges, ROWS_PER_BLOCK)
        launch("open_large", -(-n // threads), threads, growth, large, n)

    def grow_tiny(self) -> None:
        """Grow everything below the deferred tiny nodes."""
        table = self.grower.table
        blocks = min(-(-self.n_tiny // (TINY_THREADS // 32)), self.grower.n_blocks)
        words = table.row_bytes // 4 if table.row_bytes <= MOST_LINE_BYTES else 0
        self.kernels.launch(
            "grow_tiny", blocks, TINY_THREADS, self.growth, self.n_tiny, words,
            shared_bytes=4 * (words | 1) * TINY_THREADS if words else 0,
        )  # fmt: skip
        self.n_tiny = 0

    def _read_counters(self) -> NDArray[np.uint32]:
        counters = download(self.device, self.grower.counters, np.uint32, N_COUNTERS)
        if counters[N_LOST]:
            raise RuntimeError(f"{counters[N_LOST]} records did not fit: please report this fault")
        return counters

    def n_sets(self) -> int:
        """Number of category sets in the tests."""
        return int(self._read_counters()[N_SETS])


def _n_rows(nodes: NDArray[Any]) -> NDArray[np.int64]:
    first: NDArray[np.uint32] = nodes["first"]
    last: NDArray[np.uint32] = nodes["last"]
    return last.astype(np.int64) - first


def _groups(nodes: NDArray[Any], most: int) -> list[NDArray[Any]]:
    """Divide nodes, each of at most `most` rows, into groups of at most `most` rows in total."""
    ends = np.cumsum(_n_rows(nodes))
    groups, first, done = [], 0, 0
    while first < len(nodes):
        last = int(np.searchsorted(ends, done + most, side="right"))
        groups.append(nodes[first:last])
        first, done = last, int(ends[last - 1])
    return groups
