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
    """
    Returns the bound on the hashes of row indices for the sample that determines the thresholds.
    """

def sampled_rows(first_row: int, n_rows: int, bound: int, n_jobs: int = 1) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    Returns the rows of a block that are in the sample for the thresholds, counted from its first row.
    """

@overload
def find_thresholds(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], sample: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, max_bins: int, n_jobs: int) -> list: ...

@overload
def find_thresholds(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], sample: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, max_bins: int, n_jobs: int) -> list:
    """Returns the thresholds of every column, in ascending order."""

@overload
def scan_numbers(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), writable=False)], n_jobs: int) -> tuple: ...

@overload
def scan_numbers(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)], n_jobs: int) -> tuple:
    """
    Returns whether each column has missing values, and whether any value is infinite.
    """

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
    Returns a hash of each row's codes and label, whatever its position in the table.
    """

def assign_folds(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_classes: int, n_folds: int, seed: int, n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    Returns the fold of each row: the rows of a class are assigned in the order of their hashes, which is shuffled if some are equal.
    """

def rows_up_to(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Returns the rows whose hashes do not exceed the bound of their class."""

@overload
def number_labels(labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)]) -> object: ...

@overload
def number_labels(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)]) -> object:
    """
    Returns the distinct labels in ascending order and the index of each row's label among them; None if they are far apart.
    """

def count_labels(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """Counts the rows of each class number."""

def places_in_class(places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], class_size: int, has_copies: bool, seed: int, class_number: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Returns the positions by which rows of a class are assigned to folds, given their positions in the order of hashes.
    """

@overload
def grow_trees(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, n_jobs: int, progress: object | None, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None = None, n_classes: int = 2, soft: Annotated[NDArray[numpy.uint32], dict(shape=(None, None, None), order='C', writable=False)] | None = None) -> list: ...

@overload
def grow_trees(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, n_jobs: int, progress: object | None, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None = None, n_classes: int = 2, soft: Annotated[NDArray[numpy.uint32], dict(shape=(None, None, None), order='C', writable=False)] | None = None) -> list:
    """
    Grows one tree for each row of `repeats` (how often each row of the table counts), or one on all rows: [(cells, weights, tests, category sets, weights of tests)]. With `code_values`, missing values are imputed with the mean of their cell. `soft` has the units of each row in each class, for each tree.
    """

@overload
def histogram(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], repetitions: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

@overload
def histogram(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], repetitions: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Returns the counters of all features, with negatives in the low half of a word and positives in the high half.
    """

def vus_gains(cells: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], place: int, left: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Returns the increase of VUS if one of the cells (weights by class, best cell first) is split, for each better side given.
    """

def best_cut(codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], criterion: str, cell: tuple[float, float], min_weight_leaf: float, monotonic: int) -> tuple:
    """
    Returns the best cut of one feature: (gain, last code on the left, whether missing goes left).
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
    Assembles the LeafRank trees of a level from records of the outcome for each node. With two classes, this finishes the level.
    """

def place_rows(labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], roots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]) -> tuple:
    """Puts the rows of a shard into the slots of the trials: (rows, starts)."""

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
    Counts the histograms of slots: one packed word per code, or two words if `wide` or weighted.
    """

@overload
def trial_weights(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

@overload
def trial_weights(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, cell_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_classes: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Returns the weights of all classes in the leaves of every trial (nodes x classes).
    """

@overload
def grow_node(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, node: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> tuple: ...

@overload
def grow_node(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, node: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    Grows the LeafRank tree below a node whose rows are all here: (nodes, category sets, values).
    """

@overload
def grow_cell(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, cell: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], total: tuple[float, float]) -> tuple: ...

@overload
def grow_cell(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: dict, code_values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)] | None, cell: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], total: tuple[float, float]) -> tuple:
    """
    Grows the ranking tree below a cell of two classes whose rows are all here.
    """

@overload
def grow_forests(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: list, n_jobs: int, progress: object | None, n_classes: int = 2) -> list: ...

@overload
def grow_forests(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], options: list, n_jobs: int, progress: object | None, n_classes: int = 2) -> list:
    """
    Grows forests on resampled rows, one for each of the options: (starts, slots, step, weight, set of each slot, category sets, importance of each feature in each tree, share that each slot sends left).
    """

@overload
def score_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def score_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Returns the sum over the trees for each row."""

@overload
def score_forest_each(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

@overload
def score_forest_each(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """Returns the value of each row in each tree (trees x rows, flat)."""

@overload
def apply_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def apply_forest(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    Returns the slot in which each row ends in each tree (trees x rows, flat).
    """

@overload
def score_out_of_bag(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], lambdas: Sequence[float], n_jobs: int, progress: object | None, n_all: int, first: int, first_tree: int) -> tuple: ...

@overload
def score_out_of_bag(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], lambdas: Sequence[float], n_jobs: int, progress: object | None, n_all: int, first: int, first_tree: int) -> tuple:
    """
    Returns the sums over the trees that did not draw a row (rows x lambdas, flat), and the number of those trees.
    """

@overload
def score_out_of_bag_by_feature(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], shrinkage: float, n_jobs: int, n_all: int, first: int, first_tree: int) -> tuple: ...

@overload
def score_out_of_bag_by_feature(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], sampling: dict, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], shrinkage: float, n_jobs: int, n_all: int, first: int, first_tree: int) -> tuple:
    """
    The same for one amount of shrinkage, divided by the feature of each step (rows x features).
    """

def bake_shrinkage(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], shrinkage: float, scale: float, n_jobs: int) -> tuple:
    """
    Returns one number per slot and, for each tree, whether only the slot at the end of a walk counts.
    """

def used_cuts(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_cuts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    Returns whether each cut of each feature is used by a numeric test, feature by feature.
    """

def renumber_cuts(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_cuts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], new_cut: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]:
    """Returns the slots with a new number for each cut."""

def draw_counts(sampling: dict, tree: int, n_all: int, first: int, n: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Returns how often each of the given rows was drawn for a tree."""

def pack_forest(trees: list, n_classes: int, options: dict, n_features: int) -> tuple:
    """Converts trees that were grown one by one to the arrays of a forest."""

class PackedTrees:
    """Trees in the form that a forest stores, collected in batches."""

    def __init__(self) -> None: ...

    def add(self, growths: Sequence[LevelGrowth], options: dict, n_features: int, n_jobs: int) -> None:
        """Adds finished trees; their growths cannot be used afterwards."""

    def arrays(self, n_jobs: int) -> tuple:
        """Returns all trees as the arrays of a forest."""

ROWS_PER_BLOCK: int = 65536

class BoostingRounds:
    """Trees grown one after another on gradients."""

    @overload
    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> None: ...

    @overload
    def __init__(self, codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> None: ...

    def boost(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], bits: int, scale: float, sampling: dict | None, first_round: int, chosen: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', writable=False)], options: dict) -> tuple:
        """
        Grows a tree of the logistic loss for each row of `chosen` (rounds x features) and adds it to the scores, which are log-odds; labels are 0 or 1, and gradients are rounded to `bits` bits. Rows are drawn by `sampling` (None: all). Returns the trees that have a split, as the arrays of a forest, and False if nothing is left to learn.
        """

    def grow(self, first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], bits: int, scale: float, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)] | None, chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], options: dict, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')] | None) -> object:
        """
        Grows a ranking tree on `rows` (None: all), using first and second derivatives rounded to `bits` bits; `scale` units of weight make one row. If scores are given, adds the values of the tree to those of its rows. Returns None if all gradients are 0, otherwise (slots, value of each slot, cell or category set of each slot, category sets, importance, share that each slot sends left).
        """

class SummedBoosting:
    """A boosted tree that is grown from sums over shards."""

    def __init__(self, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], options: dict, gradient_unit: float, hessian_unit: float, weight: int, histogram_bytes: int) -> None: ...

    def request(self) -> object:
        """
        Returns the next request to all shards, or None if the tree is done: (steps of the rows or None, category sets, number of new slots, slots to be counted, shift of the squares).
        """

    def answer(self, sums: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], squares: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None) -> None:
        """Takes the requested sums over all shards."""

    def tree(self) -> tuple:
        """Returns the tree in the form that BoostingRounds returns."""

@overload
def count_gradients(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], gradients: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], square_shift: int) -> tuple: ...

@overload
def count_gradients(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], gradients: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], chosen: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], square_shift: int) -> tuple:
    """
    Returns the sums of gradient, hessian and weight by slot, chosen feature and code, and the sums of squares by slot (empty if the shift is negative).
    """

def logistic_derivatives(scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]) -> None:
    """
    Computes the first and second derivatives of the logistic loss with respect to the scores; labels are 0 or 1.
    """

def gradient_unit(largest: float, bits: int) -> float:
    """
    Returns the real value of the integer 1 if the largest value takes this many bits; 0 if it is 0.
    """

class BoostedGrowth:
    """A boosted tree whose rows are counted and partitioned elsewhere."""

    def __init__(self, n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', writable=False)]) -> None: ...

    def start(self, options: dict, gradient_unit: float, hessian_unit: float, n_rows: int, sum: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], max_open: int) -> None: ...

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
    Returns the nodes of an axis-parallel tree or graph as a tree in preorder, without empty boxes.
    """

def find_boundary(nodes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], side_of_leaf: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> tuple:
    """
    Returns for each row: (its leaf, the distance to the nearest box of the other side, the node of that box).
    """

def sum_children(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Returns the counts of all cells (cells x classes), given those of the leaf cells.
    """

def shrink_along_paths(parent: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], shrinkages: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Returns the shares (cells x cuts) shrunk along the path from the root, for each shrinkage.
    """

def cost_complexity(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    Returns the nested subtrees: (lambdas, the step at which each cell collapses).
    """

def cost_complexities(left: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], right: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], gain: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]], n_jobs: int) -> list:
    """The same for several trees."""

def penalised_subtree(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], penalty: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    Returns the subtree that maximises gain - penalty[leaves - 1]: (largest gain by number of leaves, whether each cell is split).
    """

def vus_complexity(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]) -> tuple:
    """
    Returns the nested subtrees by VUS: (lambdas, the step at which each cell collapses).
    """

def ranking_quality(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_jobs: int, focus: tuple) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Returns the AUC of each column of scores (rows x columns, without NaN), or with a focus the local or partial AUC. Labels are 0 and 1; both classes must have weight.
    """

def held_out_paths(left: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], right: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], collapsed_at: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], weight: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]], value: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]], share: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', writable=False)]], n_jobs: int, focus: tuple) -> list:
    """
    Evaluates the nested subtrees of each tree on the rows counted in `weight` (cells x classes), for several ways to score its cells (`value`: ways x cells; `share`: ways x cells x (classes - 1), or without ways): (AUC or VUS, Brier score), each ways x subtrees. `focus`: "all", "rows" or "negatives", and two rates.
    """

def compile_tree(cells: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], tests: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], is_split: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)]) -> tuple:
    """
    Compiles a subtree for scoring: (slots, the target of each slot, the index of its test).
    """

@overload
def apply(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def apply(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """Returns the cell in which each row ends."""

@overload
def leaf_weights(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_cells: int, n_classes: int, n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

@overload
def leaf_weights(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, n_cells: int, n_classes: int, n_jobs: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Returns the weight of each class in each cell in which rows end (cells x classes).
    """

@overload
def held_out_weights(slots: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], target: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], category_sets: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, folds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_cells: Sequence[int], n_classes: int, n_jobs: int) -> list: ...

@overload
def held_out_weights(slots: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], target: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]], category_sets: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)]], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], repeats: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)] | None, units: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)] | None, folds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], n_cells: Sequence[int], n_classes: int, n_jobs: int) -> list:
    """
    The same for the rows of each fold, in the tree with the number of the fold.
    """

@overload
def sum_over_rows(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, cell_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], first: int, first_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], second: int, second_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def sum_over_rows(slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)] | None, cell_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], first: int, first_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], second: int, second_codes: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], n_jobs: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Returns, for each pair of codes of two features (-1: none), the sum over rows of the value of the cell in which a row ends with these codes.
    """

@overload
def attribute_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], left_share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], interactions: bool, max_paths: int, n_orders: int, n_jobs: int) -> tuple: ...

@overload
def attribute_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], left_share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], interactions: bool, max_paths: int, n_orders: int, n_jobs: int) -> tuple:
    """
    Returns path-dependent attributions, summed over the trees: (rows x features, or rows x features x features, flat; the expected value; whether all trees are exact).
    """

@overload
def attribute_baseline(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], baseline: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], interactions: bool, n_jobs: int) -> tuple: ...

@overload
def attribute_baseline(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], baseline: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', writable=False)], interactions: bool, n_jobs: int) -> tuple:
    """
    Returns interventional attributions relative to the rows of a baseline, in the same form.
    """

def estimated_paths(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)], slots: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], set_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)], category_sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', writable=False)], at_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], max_paths: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Returns the number of paths through each tree that is to be estimated."""
