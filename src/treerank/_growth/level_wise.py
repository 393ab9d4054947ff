"""Growth of trees from sums over shards of the rows, level by level and all trees in lockstep.

Each round requests the histograms of the current nodes from every shard and sums them. The trees
are the same as those that the core grows on all rows together, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._growth.progress import Report
from treerank._growth.shards import Command, Features, Job, Request, RowSelection
from treerank._trees.ranking_tree import Records, as_bytes, as_records, tree_from_core

# Same layout as the structs of the core (src/core/grow/level_growth.hpp, leafrank_frontier.hpp).
ROOT = np.dtype([("cell", "<i4"), ("worse_class", "<i4"), ("better_class", "<i4")])
GATHERED_NODE = np.dtype(
    [
        ("node", "<i4"), ("depth", "<i4"), ("key", "<u8"), ("lower", "<f8"), ("upper", "<f8"),
        ("trial", "<i4"), ("unused", "<i4"), ("negative", "<f8"), ("positive", "<f8"),
        ("cell_negative", "<f8"), ("cell_positive", "<f8"),
    ]
)  # fmt: skip
GATHERED_CELL = np.dtype([("cell", "<i4"), ("depth", "<i4"), ("key", "<u8")])
# Maximum size of the histograms of one round; larger ones are requested in several rounds.
HISTOGRAM_BYTES = 128 * 2**20


class Shards(Protocol):
    """Interface of the shards of the rows, wherever they are."""

    def class_weights(self, samples: list[RowSelection], n_classes: int) -> list[NDArray[np.int64]]:
        """Return the units of each class in the rows of each tree, summed over the shards."""

    def ask(self, request: Request, afresh: bool) -> list[Any]:
        """Send a request to all shards and sum the answers; `afresh`: rows are placed anew."""

    def grow_gathered(
        self, jobs: list[Job], sizes: list[float], features: Features, code_values: Any
    ) -> list[tuple[Any, ...]]:
        """Gather the rows of each job in one place and grow it."""


@dataclass(frozen=True)
class TreeSpec:
    """One tree: its rows, its options (in the form that the core takes) and its index."""

    sample: RowSelection
    options: dict[str, Any]
    number: int


@dataclass(frozen=True)
class Setting:
    """Settings that all trees share."""

    n_codes: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    monotonic: NDArray[np.int8]
    n_classes: int
    n_rows: int
    code_values: Any = None
    # Cells and nodes with at most this many rows are gathered and grown in one place. The number of
    # rows is estimated from the weight, assuming that every row has the mean weight. At most
    # `moved_rows` rows are gathered at a time.
    gathered_rows: float = 0.0
    moved_rows: float = float("inf")
    histogram_bytes: int = HISTOGRAM_BYTES

    @property
    def features(self) -> Features:
        """The features in the form that the core takes."""
        return self.n_codes, self.categorical, self.monotonic


Checkpoint = Callable[[Any], None]  # takes the state of a batch of trees after each depth


def grow_level_trees(
    shards: Shards,
    specs: Sequence[TreeSpec],
    setting: Setting,
    checkpoint: Checkpoint | None = None,
    resumed: Any = None,
    progress: Report | None = None,
) -> list[tuple[Any, ...]]:
    """Grow a batch of trees; each is returned as arrays of the core, with weights in units."""
    batch = _Batch(shards, list(specs), setting)
    if resumed is not None:
        batch.resume(resumed)
    while not batch.done:
        batch.grow_level()
        if checkpoint is not None:
            checkpoint(batch.state())
        if progress is not None:
            progress(batch.share_done)
    batch.grow_gathered_cells()
    return [growth.tree() for growth in batch.growths]


class _Batch:
    """Trees that grow in lockstep."""

    def __init__(self, shards: Shards, specs: list[TreeSpec], setting: Setting) -> None:
        self.shards, self.specs, self.setting = shards, specs, setting
        weights = shards.class_weights([spec.sample for spec in specs], setting.n_classes)
        self.totals = [weight.astype(np.float64) for weight in weights]
        self.wide = max(float(total.sum()) for total in self.totals) >= 2.0**32
        self.growths = [
            _core.LevelGrowth(
                *setting.features, spec.options, total, spec.number, setting.code_values,
                setting.gathered_rows * self._units_of_row(total),
                setting.histogram_bytes // len(specs),
            )
            for spec, total in zip(specs, self.totals, strict=True)
        ]  # fmt: skip

    def _units_of_row(self, total: NDArray[np.float64]) -> float:
        return float(total.sum()) / self.setting.n_rows

    @property
    def done(self) -> bool:
        return all(growth.done for growth in self.growths)

    @property
    def share_done(self) -> float:
        """Share of the weight, over all trees, whose cells are finished or gathered."""
        total = sum(float(total.sum()) for total in self.totals)
        return 1.0 - sum(growth.open_weight for growth in self.growths) / total

    def state(self) -> list[tuple[Any, ...]]:
        """Return arrays from which growth can resume: trees, depths, gathered cells."""
        return [
            (
                g.tree(),
                g.depth,
                np.ascontiguousarray(as_records(g.gathered_cells(), GATHERED_CELL)["cell"]),
            )
            for g in self.growths
        ]

    def resume(self, state: list[tuple[Any, ...]]) -> None:
        for growth, arrays in zip(self.growths, state, strict=True):
            growth.resume(*arrays)

    def grow_level(self) -> None:
        """Split the cells of one depth in all trees."""
        for growth in self.growths:
            if not growth.done:
                growth.start_level()
        self._rounds()
        self._grow_gathered_nodes()
        weights = self._trial_weights()
        for growth, weight in zip(self.growths, weights, strict=True):
            if not growth.done:
                growth.finish_level(weight)

    def _rounds(self) -> None:
        """Request histograms and find tests until no open node is left."""
        commands = [self._place(i) for i in range(len(self.growths))]
        afresh = True
        while any(command is not None for command in commands):
            self._ask_within_budget(commands, afresh)
            afresh = False
            commands = [self._step(i) for i in range(len(self.growths))]

    def _place(self, i: int) -> Command | None:
        growth = self.growths[i]
        if growth.done or len(growth.roots()) + len(growth.gathered_roots()) == 0:
            return None
        return self._placing(i, growth.roots(), growth.gathered_roots(), growth.wanted())

    def _placing(self, i: int, roots: Any, gathered_roots: Any, wanted: Any) -> Command:
        tree = tree_from_core(self.growths[i].tree(), 1.0)
        return Command(tree, self.specs[i].sample, roots, gathered_roots, wanted=wanted)

    def _step(self, i: int) -> Command | None:
        growth = self.growths[i]
        if growth.done or growth.n_slots == 0:
            return None
        growth.advance()
        if growth.n_step_slots == 0:
            return None
        return Command(
            steps=growth.steps(), step_sets=growth.step_sets(),
            n_slots=(growth.n_slots, growth.n_step_slots), wanted=growth.wanted(),
        )  # fmt: skip

    def _ask_within_budget(self, commands: list[Command | None], afresh: bool) -> None:
        """Request as many histograms at a time as the budget allows, and pass them to the trees."""
        size = int(self.setting.n_codes.sum())
        at_once = max(1, self.setting.histogram_bytes // (16 * size * len(commands)))
        longest = max(len(o.wanted) for o in commands if o is not None and o.wanted is not None)
        for first in range(0, max(longest, 1), at_once):
            some = [_some_wanted(command, first, at_once) for command in commands]
            for growth, counts in zip(self.growths, self._ask(some, afresh), strict=True):
                if counts is not None and len(counts):
                    words = 2 if counts.dtype == np.int64 else 1
                    growth.give(counts.reshape(-1, words * size))
            afresh = False

    def _ask(self, commands: list[Command | None], afresh: bool) -> list[Any]:
        request = Request(commands, self.setting.n_codes, self.setting.n_classes, self.wide)
        return self.shards.ask(request, afresh)

    def _grow_gathered_nodes(self) -> None:
        """Grow the LeafRank trees below nodes with few rows."""
        jobs, sizes = [], []
        for i, growth in enumerate(self.growths):
            if growth.done:
                continue
            nodes = growth.gathered_nodes()
            records = as_records(nodes, GATHERED_NODE)
            for slot, record in enumerate(records):
                features = growth.trial_features(int(record["trial"]))
                jobs.append(self._job(i, slot, nodes, features))
                sizes.append(float(record["negative"] + record["positive"]))
        for job, grown in zip(jobs, self._grow_gathered(jobs, sizes), strict=True):
            self.growths[job.tree].graft_node(job.record, *grown)

    def grow_gathered_cells(self) -> None:
        """Grow the trees below cells with few rows, which do not depend on other cells."""
        commands: list[Command | None] = []
        jobs, sizes = [], []
        nothing = np.empty((0, ROOT.itemsize), dtype=np.uint8)
        for i, growth in enumerate(self.growths):
            cells = growth.gathered_cells()
            roots = np.zeros(len(cells), dtype=ROOT)
            roots["cell"], roots["better_class"] = as_records(cells, GATHERED_CELL)["cell"], 1
            commands.append(None)
            if len(cells) == 0:
                continue
            wanted = np.empty(0, dtype=np.int32)
            gathered = as_bytes(roots)
            command = commands[i] = self._placing(i, nothing, gathered, wanted)
            assert command.tree is not None
            cell: NDArray[np.int32] = roots["cell"]
            for slot in range(len(cells)):
                jobs.append(self._job(i, slot, cells, None))
                sizes.append(float(command.tree.counts[cell[slot]].sum()))
        if not jobs:
            return
        self._ask(commands, afresh=True)
        for job, grown in zip(jobs, self._grow_gathered(jobs, sizes), strict=True):
            self.growths[job.tree].graft_cell(job.slot, grown)

    def _job(self, i: int, slot: int, records: Records, features: Any) -> Job:
        negative, positive = self.totals[i][0], self.totals[i][-1]
        return Job(
            i, slot, records[slot : slot + 1], self.specs[i].options, features,
            (float(negative), float(positive)),
        )  # fmt: skip

    def _grow_gathered(self, jobs: list[Job], sizes: list[float]) -> list[tuple[Any, ...]]:
        """Grow jobs, as many at a time as the limit on gathered rows allows."""
        setting = self.setting
        rows = [size / self._units_of_row(self.totals[job.tree])
                for job, size in zip(jobs, sizes, strict=True)]  # fmt: skip
        grown: list[tuple[Any, ...]] = []
        while len(grown) < len(jobs):
            first = len(grown)
            fits = np.cumsum(rows[first:]) <= setting.moved_rows
            last = first + max(1, int(np.argmin(fits)) if not fits.all() else len(fits))
            grown += self.shards.grow_gathered(
                jobs[first:last], rows[first:last], setting.features, setting.code_values
            )
        return grown

    def _trial_weights(self) -> list[Any]:
        """Return the weights of all classes in the leaves of the trials; None for two classes."""
        grown = [None if g.done else g.grown_trials() for g in self.growths]
        if self.setting.n_classes == 2:
            return [None] * len(grown)
        commands: list[Command | None] = []
        for i, (growth, trials) in enumerate(zip(self.growths, grown, strict=True)):
            nothing = np.empty((0, ROOT.itemsize), dtype=np.uint8)
            command = None
            if trials is not None and growth.n_trials:
                placing = self._placing(i, nothing, nothing, None)
                command = replace(placing, trials=trials)
            commands.append(command)
        if not any(command is not None for command in commands):
            return [np.empty(0, dtype=np.int64)] * len(grown)
        empty = np.empty(0, dtype=np.int64)
        return [empty if weight is None else weight for weight in self._ask(commands, afresh=True)]


def _some_wanted(command: Command | None, first: int, at_once: int) -> Command | None:
    """Return a command for some of the histograms; rows are moved only with the first ones."""
    if command is None or command.wanted is None:
        return command
    slots = command.wanted[first : first + at_once]
    if first == 0:
        return replace(command, wanted=slots)
    return Command(wanted=slots) if len(slots) else None
