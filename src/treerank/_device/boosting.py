"""Boosting rounds on a device: gradients, histograms, cuts, partitions and scores.

Only the cuts are copied back. The core decides which nodes are open and which cuts are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._device.device import Memory, addresses, check_room, download, record_ranges, upload
from treerank._device.scoring import PackedTrees, PlacedTrees
from treerank._device.table import DeviceTable

FloatArray = NDArray[np.float64]


def _whole_numbers(*names: str) -> list[tuple[str, str]]:
    return [(name, "<i8") for name in names]


MOVE = np.dtype(_whole_numbers("from", "to", "n", "from_buffer", "to_buffer"))
COUNT = np.dtype(_whole_numbers("first", "n", "buffer", "counted", "whole", "rest"))
OPEN_NODE = np.dtype(
    [
        *_whole_numbers("first", "n", "buffer", "histogram", "gradient", "hessian", "weight"),
        ("lower", "<f8"), ("upper", "<f8"),
    ]
)  # fmt: skip
STEP = np.dtype([*_whole_numbers("first", "n", "buffer"), ("value", "<f8")])
CUT_BYTES, SUM_BYTES, SQUARES_BYTES, LEVELS_BYTES = 88, 24, 24, 8200
BOOSTING = np.dtype(
    [
        *_whole_numbers(
            "codes", "stride", "block", "units", "n_codes", "categorical", "monotonic", "rows0",
            "rows1", "rows2", "rows3", "gradients", "chosen", "offsets", "n_chosen", "size",
            "levels", "squares", "square_shift", "min_weight",
        ),
        ("gradient_unit", "<f8"), ("hessian_unit", "<f8"), ("l2", "<f8"),
        ("independent_weight", "<f8"),
    ]
)  # fmt: skip
GROUP = np.dtype(
    [(name, "<i4") for name in ("first_chunk", "n_chunks", "first_start", "first_bin", "n_bins")]
)
DERIVATIVES = np.dtype(_whole_numbers("first", "second", "scores", "labels"))

COUNT_THREADS, PARTITION_THREADS, SEARCH_THREADS, THREADS = 768, 256, 512, 256
MOST_COUNTED_ROWS = 2**16  # per block, so that sums of 16-bit halves fit into 32 bits
LEAST_COUNTED_ROWS = 2**11
ROWS_PER_BLOCK = 2**14
SHARED_BYTES = 96 * 1024  # of counters
CHUNK_BYTES = 16  # of a row's codes that are read at once
MOST_STARTS = 512  # codes in the chunks of a group
BLOCKS_PER_PROCESSOR = 8  # among which the counted rows are divided
HISTOGRAM_BYTES = 2**29  # of nodes that are searched together, approximately
FREE_LEVELS = 7  # levels of a category with at most this many codes are not shrunk


class Units(NamedTuple):
    """The unit of rounded gradients and hessians; 0 if all of them are 0."""

    gradient: float
    hessian: float


class Groups(NamedTuple):
    """Features that are counted together, and whether their counters fit into shared memory."""

    groups: NDArray[Any]  # GROUP
    starts: NDArray[np.int32]  # first bin for each code of a row's chunks, by group; -1: none
    is_shared: bool
    shared_bytes: int


def memory_of(n_rows: int) -> int:
    """Bytes that boosting needs in addition to the codes of the rows."""
    return 48 * n_rows + HISTOGRAM_BYTES


class DeviceBoosting:
    """The table, the scores, and the rows of the tree that is being grown."""

    def __init__(self, table: DeviceTable, scores: FloatArray) -> None:
        self.table, self.device = table, table.device
        device, n = table.device, table.n_rows
        self.scores = upload(device, scores)
        self.gradients = device.empty(8 * n)
        self.rows = [device.empty(4 * n) for _ in range(4)]
        self.largest = device.empty(24)
        self.given: list[Memory] = []  # derivatives computed by the host
        self.histograms = _Histograms(table)
        self.blocks = min(-(-n // THREADS), 8 * device.n_processors)
        self.n_searched = 4 * device.n_processors  # nodes searched at once
        has_levels = bool(table.features.categorical.any())
        warps = self.n_searched * SEARCH_THREADS // 32
        self.levels = device.empty(LEVELS_BYTES * warps) if has_levels else None
        self.boosting = np.zeros(1, dtype=BOOSTING)
        for name, value in {
            "units": table.units, "n_codes": table.n_codes,
            "categorical": table.categorical, "monotonic": table.monotonic,
            "rows0": self.rows[0], "rows1": self.rows[1], "rows2": self.rows[2],
            "rows3": self.rows[3], "gradients": self.gradients, "levels": self.levels,
        }.items():  # fmt: skip
            self.boosting[name] = addresses([value])[0]
        self.boosting["stride"] = table.stride

    def read_scores(self, scores: FloatArray) -> None:
        """Copy the scores of all rows to a host array."""
        self.device.read(self.scores, scores)

    def round_gradients(self, given: tuple[FloatArray, FloatArray] | None, bits: int) -> Units:
        """Compute the rounded gradients of all rows, from `given` or from the logistic loss."""
        table, device, launch = self.table, self.device, self.table.kernels.launch
        derivatives = np.zeros(1, dtype=DERIVATIVES)
        if given is None:
            derivatives["scores"], derivatives["labels"] = addresses([self.scores, table.labels])
        else:
            if not self.given:
                self.given = [device.empty(8 * table.n_rows) for _ in range(2)]
            for memory, values in zip(self.given, given, strict=True):
                device.write(memory, values)
            derivatives["first"], derivatives["second"] = addresses(self.given)
        n, at = np.int64(table.n_rows), self.largest
        device.fill(at, 0, 24)
        if given is None:
            launch("extreme_scores", self.blocks, THREADS, self.scores, table.labels, n, at)
            largest = _largest_logistic(download(device, self.largest, np.uint64, 3))
        else:
            launch("largest_derivatives", self.blocks, THREADS, derivatives, n, self.largest)
            largest = download(device, self.largest, np.float64, 2)
        units = Units(*(_core.gradient_unit(float(value), bits) for value in largest))
        if units.gradient > 0 and units.hessian > 0:
            launch(
                "round_derivatives", self.blocks, THREADS, derivatives, n,
                np.float64(units.gradient), np.float64(units.hessian), self.gradients,
            )  # fmt: skip
        return units

    def grow(
        self,
        growth: _core.BoostedGrowth,
        drawn: NDArray[np.uint32] | None,
        chosen: NDArray[np.int32],
        options: dict[str, Any],
        units: Units,
        scale: float,
    ) -> Any:
        """Grow a tree on the drawn rows and features. Return it as the core's tuple."""
        n_rows, features, boosting = self._place_rows(drawn), self.table.features, self.boosting
        offsets = np.cumsum([0, *features.n_codes[chosen]]).astype(np.int32)
        size = int(offsets[-1])
        groups = group_features(chosen, offsets, self.table.code_bytes, self.table.is_wide)
        parcel = Parcel(self.device, chosen, offsets, groups.groups, groups.starts)
        boosting["chosen"], boosting["offsets"] = parcel.places[:2]
        boosting["n_chosen"], boosting["size"] = len(chosen), size
        boosting["gradient_unit"], boosting["hessian_unit"] = (unit / scale for unit in units)
        boosting["l2"], boosting["min_weight"] = options["l2"], options["min_weight_leaf"]
        boosting["independent_weight"] = options["independent_weight"]
        self.histograms.begin(size)
        tree = _GrowingTree(self, growth, groups, parcel.places[2:])
        root = np.zeros(1, dtype=COUNT)
        root["n"], root["whole"], root["rest"] = n_rows, -1, -1
        first = tree.count_root(root, int(offsets[1]))
        growth.start(
            options, units.gradient / scale, units.hessian / scale, n_rows, first,
            max(1, HISTOGRAM_BYTES // (SUM_BYTES * size)),
        )  # fmt: skip
        boosting["square_shift"] = growth.square_shift
        is_many = (features.categorical[chosen] != 0) & (features.n_codes[chosen] > FREE_LEVELS)
        while tree.step(bool(is_many.any())):
            pass
        return growth.finish()

    def _place_rows(self, drawn: NDArray[np.uint32] | None) -> int:
        """Put the rows of a tree into the first buffer."""
        if drawn is not None:
            self.device.write(self.rows[0], drawn)
            return len(drawn)
        n = self.table.n_rows
        self.table.kernels.launch("number_rows", self.blocks, THREADS, self.rows[0], np.int64(n))
        return n

    def add_steps(self, growth: _core.BoostedGrowth) -> None:
        """Add the values of the last tree to the scores of its training rows."""
        steps = growth.steps().view(STEP).reshape(-1)
        if not len(steps):
            return
        cut = record_ranges(steps, ROWS_PER_BLOCK)
        parcel = Parcel(self.device, steps, cut)
        self.table.kernels.launch(
            "add_steps", len(cut), THREADS, self.boosting, *parcel.places, ROWS_PER_BLOCK,
            self.scores,
        )  # fmt: skip

    def add_trees(self, trees: PackedTrees) -> None:
        """Add the values of trees to the scores of all rows."""
        table = self.table
        placed = PlacedTrees(self.device, trees)
        for block in table.blocks():
            placed.walk(
                table.kernels, np.uint64(block.codes + block.first * table.row_bytes), table.stride,
                block.last - block.first, np.uint64(self.scores.address + 8 * block.first),
            )  # fmt: skip

    def row_blocks(self) -> Iterator[None]:
        """Make the kernels read one block of rows after another."""
        for block in self.table.blocks():
            self.boosting["codes"] = block.codes
            self.boosting["block"] = block.described.view(np.int64)
            yield


def _largest_logistic(found: NDArray[np.uint64]) -> FloatArray:
    """Largest derivatives of the logistic loss, from the extreme scores found by the device."""
    top = np.uint64(1) << np.uint64(63)
    bits = np.where(found >= top, found ^ top, ~found)
    scores = bits.view(np.float64) * [-1.0, 1.0, -1.0]
    first, second = np.empty(3), np.empty(3)
    _core.logistic_derivatives(scores, np.array([1, 0, 0], dtype=np.uint8), first, second)
    return np.array([np.abs(first[:2]).max(), second[2]])


def group_features(
    chosen: NDArray[np.int32], offsets: NDArray[np.int32], code_bytes: int, is_wide: bool
) -> Groups:
    """Divide the features into groups whose counters fit into shared memory.

    The features of a group are in adjacent chunks of a row's codes, in as few as possible.
    """
    bytes_each = SUM_BYTES if is_wide else 20
    most, chunk = SHARED_BYTES // bytes_each, CHUNK_BYTES // code_bytes
    is_shared = int(np.diff(offsets).max()) <= most
    cuts, first = [0], 0
    for place in range(1, len(chosen)):
        is_full = is_shared and offsets[place + 1] - offsets[first] > most
        n_chunks = chosen[place] // chunk - chosen[first] // chunk + 1
        is_next = n_chunks > 1 and offsets[place] - offsets[first] > most // 2
        if is_full or is_next or n_chunks * chunk > MOST_STARTS:
            cuts.append(place)
            first = place
    cuts.append(len(chosen))
    groups = np.zeros(len(cuts) - 1, dtype=GROUP)
    starts: list[NDArray[np.int32]] = []
    for group, first, last in zip(groups, cuts[:-1], cuts[1:], strict=True):
        group["first_chunk"] = chosen[first] // chunk
        group["n_chunks"] = chosen[last - 1] // chunk - group["first_chunk"] + 1
        group["first_start"] = sum(len(some) for some in starts)
        group["first_bin"], group["n_bins"] = offsets[first], offsets[last] - offsets[first]
        of_codes = np.full(int(group["n_chunks"]) * chunk, -1, dtype=np.int32)
        of_codes[chosen[first:last] - group["first_chunk"] * chunk] = (
            offsets[first:last] - offsets[first]
        )
        starts.append(of_codes)
    shared = int(groups["n_bins"].max()) * bytes_each if is_shared else 0
    return Groups(groups, np.concatenate(starts), is_shared, shared)


class Parcel:
    """Several arrays, copied to the device in one transfer."""

    def __init__(self, device: Any, *arrays: NDArray[Any]) -> None:
        parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
        starts = np.cumsum([0, *(-(-len(part) // 16) * 16 for part in parts)])
        together = np.zeros(int(starts[-1]), dtype=np.uint8)
        for start, part in zip(starts, parts, strict=False):
            together[start : start + len(part)] = part
        self.memory = upload(device, together)
        self.places = [np.uint64(self.memory.address + int(start)) for start in starts[:-1]]


class _Histograms:
    """Histograms by number. Allocated when first needed, and reused for the next trees."""

    def __init__(self, table: DeviceTable) -> None:
        self.device = table.device
        self.n_bytes = SUM_BYTES * int(table.features.n_codes.sum())
        self.size = 0
        self.blocks: list[Memory] = []
        self.address = np.empty(0, dtype=np.int64)

    def begin(self, size: int) -> None:
        """Set the number of sums in a histogram of the next tree."""
        self.size = size

    def addresses_of(self, numbers: NDArray[np.int64], n_histograms: int) -> NDArray[np.int64]:
        """Return the addresses of histograms; 0 for number -1."""
        missing = n_histograms - len(self.address)
        if missing > 0:
            check_room(
                self.device, missing * self.n_bytes, f"{n_histograms:,} histograms of gradients",
                "Fit smaller trees, or set device='cpu'.",
            )  # fmt: skip
            self.blocks.append(self.device.empty(missing * self.n_bytes))
            more = self.blocks[-1].address + self.n_bytes * np.arange(missing)
            self.address = np.concatenate([self.address, more])
        return np.where(numbers < 0, 0, self.address[numbers])


class _GrowingTree:
    """One growing tree: does on the device what the core requests next."""

    def __init__(
        self, at: DeviceBoosting, growth: _core.BoostedGrowth, groups: Groups, places: list[Any]
    ) -> None:
        self.at, self.growth, self.groups, self.places = at, growth, groups, places
        self.device, self.launch = at.device, at.table.kernels.launch

    def count_root(self, root: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
        """Count the histogram of all rows; return their sum."""
        jobs, ranges, rows = self._count_jobs(root, 1)
        self._count(root, Parcel(self.device, jobs, ranges), len(ranges), rows)
        sums = np.empty(3 * n_codes, dtype=np.int64)  # by code of the first feature
        self.device.read(self.at.histograms.blocks[0], sums)
        return np.asarray(sums.reshape(-1, 3).sum(axis=0))

    def step(self, judges_levels: bool) -> bool:
        """Do the next step of the growth; return False if the tree is complete."""
        growth = self.growth
        moves = growth.moves().view(MOVE).reshape(-1)
        counts = growth.counts().view(COUNT).reshape(-1)
        nodes = growth.nodes().view(OPEN_NODE).reshape(-1).copy()
        n_histograms = growth.n_histograms
        move_cut = record_ranges(moves, ROWS_PER_BLOCK, "from")
        jobs, count_cut, counted_rows = self._count_jobs(counts, n_histograms)
        nodes["histogram"] = self.at.histograms.addresses_of(nodes["histogram"], n_histograms)
        node_cut = record_ranges(nodes, ROWS_PER_BLOCK)
        parcel = Parcel(self.device, moves, move_cut, jobs, count_cut, nodes, node_cut)
        places = parcel.places
        boosting = self.at.boosting
        self.launch("move_rows", len(move_cut), THREADS, boosting, *places[:2], ROWS_PER_BLOCK)
        if not len(nodes):
            return False
        self._count(counts, parcel, len(count_cut), counted_rows, 2)
        cuts = self.device.empty(CUT_BYTES * len(nodes))
        squares = self._squares(nodes, places[4:], len(node_cut)) if judges_levels else None
        boosting["squares"] = addresses([squares])[0]
        self.launch(
            "search_gradients", min(len(nodes), self.at.n_searched), SEARCH_THREADS, boosting,
            places[4], len(nodes), cuts,
        )  # fmt: skip
        for _ in self.at.row_blocks():
            self.launch(
                "partition_boosted", len(node_cut), PARTITION_THREADS, boosting, places[4], cuts,
                places[5], ROWS_PER_BLOCK,
            )  # fmt: skip
        found = download(self.device, cuts, np.uint8, CUT_BYTES * len(nodes))
        growth.take(found.reshape(len(nodes), CUT_BYTES))
        return True

    def _count_jobs(
        self, counts: NDArray[Any], n_histograms: int
    ) -> tuple[NDArray[Any], NDArray[np.uint32], int]:
        """Return the jobs with addresses, their ranges of rows, and the rows per range."""
        jobs = counts.copy()
        for name in ("counted", "whole", "rest"):
            jobs[name] = self.at.histograms.addresses_of(counts[name], n_histograms)
        n_groups = len(self.groups.groups)
        wanted = BLOCKS_PER_PROCESSOR * self.device.n_processors
        share = int(counts["n"].sum()) * n_groups // max(wanted, 1)
        rows = int(np.clip(share, LEAST_COUNTED_ROWS, MOST_COUNTED_ROWS))
        return jobs, record_ranges(jobs, rows), rows

    def _count(
        self, counts: NDArray[Any], parcel: Parcel, n_ranges: int, rows: int, first: int = 0
    ) -> None:
        if not len(counts):
            return
        jobs, ranges = parcel.places[first : first + 2]
        boosting, groups = self.at.boosting, self.groups
        all_bins = (-(-self.at.histograms.size // THREADS), len(counts))
        self.launch("clear_gradients", all_bins, THREADS, boosting, jobs)
        for _ in self.at.row_blocks():
            self.launch(
                "count_gradients", (n_ranges, len(groups.groups)), COUNT_THREADS, boosting,
                jobs, ranges, rows, *self.places, int(groups.is_shared),
                self.at.table.row_bytes // 4, shared_bytes=groups.shared_bytes,
            )  # fmt: skip
        self.launch("subtract_gradients", all_bins, THREADS, boosting, jobs)

    def _squares(self, nodes: NDArray[Any], places: list[Any], n_ranges: int) -> Memory:
        """Sum the squared gradients in each node, which the shrinkage of levels needs."""
        squares = self.device.empty(SQUARES_BYTES * len(nodes))
        self.device.fill(squares, 0, SQUARES_BYTES * len(nodes))
        self.launch(
            "square_gradients", n_ranges, THREADS, self.at.boosting, *places[:2],
            ROWS_PER_BLOCK, squares,
        )  # fmt: skip
        return squares
