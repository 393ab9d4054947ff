"""Growth of a forest whose cells are split by Python objects, one joblib task per tree."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

from treerank._binning.encoding import Encoding, Matrix
from treerank._growth.progress import progress_bar
from treerank._growth.splitter_choice import as_splitter
from treerank._growth.splitter_trees import (
    TreeRows,
    check_tells_rows_apart,
    grow_cell_tree,
    is_function,
)
from treerank._growth.splitter_warnings import Caught, gather_in_worker, warn_once
from treerank._growth.trees import TreeRankOptions
from treerank._input.validation import TrainingData, class_sizes
from treerank._input.weights import Weights
from treerank._trees.packed_forest import Sampling
from treerank._trees.ranking_tree import cut_weights
from treerank._trees.splitter_forest import SplitterForest
from treerank._trees.splitter_tree import SplitterTree


def grow_splitter_forest(
    rows: Matrix,
    data: TrainingData,
    encoding: Encoding,
    *,
    splitter: Any,
    options: TreeRankOptions,
    sampling: Sampling,
    numbers: range,
    by_rank: bool,
    n_jobs: int,
    verbose: int,
) -> SplitterForest:
    """Grow the trees with the given indices, each in one joblib task.

    Tasks run in processes, because most splitters hold the GIL; ``joblib.parallel_config`` can
    change that. A tree depends only on its index, not on the process that grows it.
    """
    trees = []
    with (
        warn_once(splitter) as caught,
        threadpool_limits(1, user_api="blas"),  # cells are small: more threads would only wait
        progress_bar("growing", verbose) as progress,
    ):
        run = Parallel(n_jobs, prefer="processes", return_as="generator")
        jobs = (
            delayed(_grow)(
                rows,
                data.labels,
                len(data.classes),
                data.weights,
                encoding,
                splitter,
                options,
                sampling,
                number,
                os.getpid(),
            )
            for number in numbers
        )
        for tree, warned in run(jobs):
            caught.extend(warned)
            trees.append(replace(tree, encoding=encoding))  # shared, not one copy per process
            if progress is not None:
                progress(len(trees) / len(numbers))
    whole = all(tree.n_cells == 1 for tree in trees)
    if whole and options.max_features < 0 and not is_function(splitter):
        check_tells_rows_apart(as_splitter(splitter), encoding)
    return SplitterForest(trees, by_rank, cut_weights(class_sizes(data)))


def _grow(
    rows: Matrix,
    labels: NDArray[np.uint8],
    n_classes: int,
    weights: Weights,
    encoding: Encoding,
    splitter: Any,
    options: TreeRankOptions,
    sampling: Sampling,
    number: int,
    parent: int,
) -> tuple[SplitterTree, list[Caught]]:
    n_rows = rows.shape[1]
    units = weights.of_rows(n_rows)
    if sampling.n_draws > 0:
        units = units * sampling.counts(number, n_rows)
    state = np.random.SeedSequence(options.seed, spawn_key=(number,)).generate_state(1, np.uint64)
    sample = TreeRows(rows, labels, units, weights.scale, encoding, n_classes)
    in_worker = os.getpid() != parent
    with (
        gather_in_worker(parent) as caught,
        threadpool_limits(1 if in_worker else None, user_api="blas"),
    ):
        tree = grow_cell_tree(sample, splitter, replace(options, seed=int(state[0])))
    return tree, caught
