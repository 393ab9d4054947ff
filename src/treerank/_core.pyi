"""
The compiled core: binning, growing, pruning and scoring of ranking trees.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def instruction_set() -> str:
    """The instruction set of the hot loops: 'avx512', 'avx2' or 'base'."""

MAX_ROWS: int = 134217728

MAX_FEATURES: int = 65535

MAX_CLASSES: int = 32

MAX_REPEAT: int = 15

MAX_CATEGORY_CODES: int = 256

CRITERIA: tuple = ('gini', 'entropy', 'auc', 'hellinger')

def sample_bound(n_rows: int, limit: int) -> int:
    """Largest hash of a row's number with which it decides the thresholds."""

def sampled_rows(first_row: int, n_rows: int, bound: int, n_jobs: int = 1) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    The rows of a block that decide the thresholds, counted from its first row.
    """

@overload
def find_thresholds(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], sample: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, max_bins: int, n_jobs: int) -> list: ...

@overload
def find_thresholds(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], sample: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, max_bins: int, n_jobs: int) -> list:
    """Thresholds of every column, ascending."""

@overload
def scan_numbers(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], n_jobs: int) -> tuple: ...

@overload
def scan_numbers(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], n_jobs: int) -> tuple:
    """Whether each column has missing values, and whether any is infinite."""

@overload
def encode(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], thresholds: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C')], n_jobs: int) -> None: ...

@overload
def encode(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], thresholds: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C')], n_jobs: int) -> None: ...

@overload
def encode(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], thresholds: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C')], n_jobs: int) -> None: ...

@overload
def encode(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], thresholds: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C')], n_jobs: int) -> None:
    """Writes the codes of all columns into `codes` (features x rows)."""

@overload
def row_hashes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], seed: int, n_jobs: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

@overload
def row_hashes(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], seed: int, n_jobs: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    A hash of each row's codes and label, the same wherever the row stands.
    """

def assign_folds(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_classes: int, n_folds: int, seed: int, n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The fold of each row: rows of a class are assigned in the order of hashes, shuffled where some are equal.
    """

def rows_up_to(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Rows whose hashes are up to the bound of their class."""

@overload
def number_labels(labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)]) -> object:
    """
    Distinct labels, ascending, and the place of each row's; None where they are far apart.
    """

def count_labels(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Rows of each class number."""

def places_in_class(places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], class_size: int, has_copies: bool, seed: int, class_number: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Places by which rows of a class are assigned to folds, from those in the order of hashes.
    """

@overload
def grow_trees(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, n_jobs: int, progress: object | None, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None = None, n_classes: int = 2) -> list: ...

@overload
def grow_trees(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, n_jobs: int, progress: object | None, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None = None, n_classes: int = 2) -> list:
    """
    Grows one tree for each row of `repeats` (how often each row of the table counts), or one on all rows: [(cells, weights, tests, category sets, weights of tests)]. With `code_values` missing counts as the mean of its cell.
    """

@overload
def histogram(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], repetitions: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

@overload
def histogram(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], repetitions: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Counters of all features, negatives in the low half of a word, positives in the high.
    """

def vus_gains(cells: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], place: int, left: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    What splitting one of the cells (weights by class, best cell first) adds to VUS, for each better side given.
    """

def best_cut(codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], criterion: str, cell: tuple[float, float], min_weight_leaf: float, monotonic: int) -> tuple:
    """
    The best cut of one feature: (gain, last code on the left, missing goes left).
    """

class LevelGrowth:
    """A ranking tree grown from sums over shards of the rows."""

    def __init__(self, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], tree: int, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, gathered_weight: float, histogram_bytes: int, gathers_cells: bool = True) -> None: ...

    @property
    def done(self) -> bool: ...

    @property
    def depth(self) -> int: ...

    @property
    def open_weight(self) -> float: ...

    @property
    def n_slots(self) -> int: ...

    @property
    def n_step_slots(self) -> int: ...

    @property
    def n_trials(self) -> int: ...

    def tree(self) -> tuple: ...

    def resume(self, tree: tuple, depth: int, gathered: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> None: ...

    def start_level(self) -> None: ...

    def roots(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def gathered_roots(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def wanted(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @overload
    def give(self, counts: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', writable=False)]) -> None: ...

    @overload
    def give(self, counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', writable=False)]) -> None: ...

    def advance(self) -> None: ...

    def steps(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def step_sets(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def gathered_nodes(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def trial_features(self, arg: int, /) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def graft_node(self, at: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> None: ...

    def open_cells(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def last_splits(self) -> tuple: ...

    def grown_trials(self) -> tuple: ...

    def finish_level(self, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None) -> None: ...

    def gathered_cells(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def graft_cell(self, gathered: int, tree: tuple) -> None: ...

def graft_splits(growths: Sequence[LevelGrowth], records: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> None:
    """
    Puts the LeafRank trees of a level together, of which records say node by node what became of it; of two classes this ends the level.
    """

def place_rows(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], roots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]) -> tuple:
    """Rows of a shard by the slot of each trial: (rows, starts)."""

@overload
def step_rows(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], steps: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_slots: int) -> tuple: ...

@overload
def step_rows(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], steps: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_slots: int) -> tuple:
    """
    Moves the rows of each slot as its step says, to `n_slots` slots: (rows, starts).
    """

@overload
def count_slots(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], wide: bool) -> object: ...

@overload
def count_slots(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], wide: bool) -> object:
    """
    Histograms of slots: one packed word per code, or two words where `wide` or weighted.
    """

@overload
def trial_weights(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

@overload
def trial_weights(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Weights of all classes in the leaves of every trial: nodes x classes."""

@overload
def grow_node(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, node: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> tuple: ...

@overload
def grow_node(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, node: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    The LeafRank tree below a node whose rows are all here: (nodes, category sets, values).
    """

@overload
def grow_cell(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, cell: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], total: tuple[float, float]) -> tuple: ...

@overload
def grow_cell(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, cell: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], total: tuple[float, float]) -> tuple:
    """The ranking tree below a cell of two classes whose rows are all here."""

@overload
def grow_forests(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: list, n_jobs: int, progress: object | None, n_classes: int = 2) -> list: ...

@overload
def grow_forests(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: list, n_jobs: int, progress: object | None, n_classes: int = 2) -> list:
    """
    Grows forests of trees on resampled rows, each by its options: (starts, slots, step, weight, set of each slot, category sets, importance of each feature in each tree, share that each slot sends left).
    """

@overload
def score_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def score_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The sum over the trees, for each row."""

@overload
def score_forest_each(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

@overload
def score_forest_each(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """The value in each tree: trees x rows, flat."""

@overload
def apply_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def apply_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The slot in which each row ends, in each tree: trees x rows, flat."""

@overload
def score_out_of_bag(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], lambdas: Sequence[float], n_jobs: int, progress: object | None, n_all: int, first: int) -> tuple: ...

@overload
def score_out_of_bag(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], lambdas: Sequence[float], n_jobs: int, progress: object | None, n_all: int, first: int) -> tuple:
    """
    Sums over the trees that did not draw a row (rows x lambdas, flat), and their number.
    """

@overload
def score_out_of_bag_by_feature(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], shrinkage: float, n_jobs: int, n_all: int, first: int) -> tuple: ...

@overload
def score_out_of_bag_by_feature(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], shrinkage: float, n_jobs: int, n_all: int, first: int) -> tuple:
    """
    The same for one amount of shrinkage, by the feature of each step: rows x features.
    """

def bake_shrinkage(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], shrinkage: float, scale: float, n_jobs: int) -> tuple:
    """
    One number a slot, and for each tree whether only the slot at the end counts.
    """

def used_cuts(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_cuts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    Whether a test of numbers is at each cut of each feature, feature after feature.
    """

def renumber_cuts(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_cuts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], new_cut: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]:
    """The slots with a new number for each cut."""

def draw_counts(sampling: dict, tree: int, n_all: int, first: int, n: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """How often each of some rows was drawn for a tree."""

def pack_forest(trees: list, n_classes: int, options: dict, n_features: int) -> tuple:
    """Trees that were grown one by one, as the arrays of a forest."""

class PackedTrees:
    """Trees as a forest keeps them, batch after batch."""

    def __init__(self) -> None: ...

    def add(self, growths: Sequence[LevelGrowth], options: dict, n_features: int, n_jobs: int) -> None:
        """Adds trees that have grown; their growths are used up."""

    def arrays(self, n_jobs: int) -> tuple:
        """All of them as the arrays of a forest."""

ROWS_PER_BLOCK: int = 65536

class BoostingRounds:
    """Trees grown one after another on gradients."""

    @overload
    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> None: ...

    @overload
    def __init__(self, codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> None: ...

    def set_logistic_gradients(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], bits: int) -> None:
        """
        Sets the gradients of the logistic loss, the scores being log-odds and the labels 0 or 1, rounded to `bits` bits.
        """

    def grow(self, first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, bits: int, scale: float, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)] | None, chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], options: dict, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')] | None) -> object:
        """
        A ranking tree grown on gradients and curvatures, rounded to `bits` bits (None: on those that were set last); `scale` units of weight make one row. Moves the scores of the rows it is grown on (None: all), where scores are given. None where all gradients are 0, else (slots, value of each slot, cell or category set of each slot, category sets, importance, share that each slot sends left).
        """

class SummedBoosting:
    """A tree of boosting that is grown from sums over shards."""

    def __init__(self, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], options: dict, gradient_unit: float, hessian_unit: float, weight: int, histogram_bytes: int) -> None: ...

    def request(self) -> object:
        """
        What is asked of all shards; None when the tree is done. (steps of the rows or None, category sets, slots from now on, slots to be counted, shift of the squares).
        """

    def answer(self, sums: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], squares: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None) -> None:
        """Sums over all shards of what was asked."""

    def tree(self) -> tuple:
        """The tree, as BoostingRounds gives it."""

@overload
def count_gradients(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], gradients: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], square_shift: int) -> tuple: ...

@overload
def count_gradients(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], gradients: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], square_shift: int) -> tuple:
    """
    Sums of gradient, curvature and weight by slot, chosen feature and code, and the sums of squares by slot; none of these with a shift below 0.
    """

def logistic_derivatives(scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]) -> None:
    """
    Sets first and second derivatives of the logistic loss by the scores; labels 0 or 1.
    """

class BoostedGrowth:
    """A boosted tree whose rows are counted and partitioned elsewhere."""

    def __init__(self, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)]) -> None: ...

    def start(self, options: dict, gradient_unit: float, hessian_unit: float, n_rows: int, sum: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], most_open: int) -> None: ...

    @property
    def n_histograms(self) -> int: ...

    @property
    def square_shift(self) -> int: ...

    def moves(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def counts(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def nodes(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

    def take(self, cuts: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]) -> None: ...

    def finish(self) -> tuple: ...

    def steps(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]: ...

def expand_boxes(nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], max_nodes: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]:
    """
    The nodes of an axis-parallel tree or graph as a tree in preorder, without empty boxes.
    """

def find_boundary(nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], side_of_leaf: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> tuple:
    """
    For each row: (its leaf, the distance to the nearest box of the other side, the node of that box).
    """

def cost_complexity(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    The nested subtrees: (lambdas, the step at which each cell is collapsed).
    """

def cost_complexities(left: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], right: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], gain: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], n_jobs: int) -> list:
    """The same of several trees."""

def penalised_subtree(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], penalty: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    The subtree of largest gain less penalty[leaves - 1]: (largest gain by leaves, whether each cell is split).
    """

def vus_complexity(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> tuple:
    """
    The nested subtrees by VUS: (lambdas, the step at which each cell is collapsed).
    """

def held_out_auc(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The AUC of each column of scores (rows x columns, without NaN); labels are 0 and 1, both with weight.
    """

def held_out_paths(left: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], right: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], collapsed_at: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], weight: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]], value: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]], share: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', writable=False)]], n_jobs: int, focus: tuple) -> list:
    """
    For each tree, what its nested subtrees are worth on the rows of `weight` (cells x classes) by several scores of its cells (`value`: ways x cells; `share`: ways x cells x classes less one, or of no ways): (AUC or VUS, Brier score), each ways x subtrees. `focus`: "all", "rows" or "negatives", and two rates.
    """

def compile_tree(cells: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], tests: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], is_split: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    Freezes a subtree for scoring: (slots, the target of each slot, the number of its test).
    """

@overload
def apply(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def apply(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The cell in which each row ends."""

@overload
def leaf_weights(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_cells: int, n_classes: int, n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

@overload
def leaf_weights(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_cells: int, n_classes: int, n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Weight of each class in each cell in which rows end (cells x classes)."""

@overload
def held_out_weights(slots: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], target: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], category_sets: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, folds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_cells: Sequence[int], n_classes: int, n_jobs: int) -> list: ...

@overload
def held_out_weights(slots: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], target: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], category_sets: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, folds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_cells: Sequence[int], n_classes: int, n_jobs: int) -> list:
    """The same of the rows of each fold, in the tree of its number."""

@overload
def sum_over_rows(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, cell_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], first: int, first_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], second: int, second_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def sum_over_rows(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, cell_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], first: int, first_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], second: int, second_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    For each pair of codes of two features (-1: none), the sum over rows of the value of the cell in which a row ends with these codes.
    """

@overload
def attribute_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], left_share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], interactions: bool, max_paths: int, n_orders: int, n_jobs: int) -> tuple: ...

@overload
def attribute_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], left_share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], interactions: bool, max_paths: int, n_orders: int, n_jobs: int) -> tuple:
    """
    Path-dependent attributions, summed over the trees: (rows x features, or rows x features x features, flat; the expected value; whether all trees are exact).
    """

@overload
def attribute_baseline(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], baseline: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], interactions: bool, n_jobs: int) -> tuple: ...

@overload
def attribute_baseline(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], baseline: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], interactions: bool, n_jobs: int) -> tuple:
    """
    Interventional attributions against the rows of a baseline, in the same form.
    """

def estimated_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], max_paths: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The number of paths through each tree that is to be estimated."""
