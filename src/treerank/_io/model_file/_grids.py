"""Store trees split by dyadic grids in model files. Other splitters in Python are code."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning
from treerank._binning.encoding import Encoding
from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._rank_trees import check_cells, read_counts, read_records
from treerank._trees.ranking_tree import CELL
from treerank._trees.splitter_tree import CellSplit, SplitterTree, format_splitter
from treerank.splitters import Box, DyadicGrid

CELL_COLUMNS = ("left", "right", "worse_class", "better_class", "auc_gain")


def pack_encoding(encoding: Encoding) -> dict[str, Any]:
    """Return how to convert a table to the matrix that the grids divide."""
    return {
        "median": encoding.median,
        "low": encoding.box.low,
        "high": encoding.box.high,
        "two_valued": encoding.box.two_valued,
    }


def unpack_encoding(node: Node, binning: Binning) -> Encoding:
    """Reverse of `pack_encoding`. The feature of each column follows from the binning."""
    fields = node.fields("median", "low", "high", "two_valued")
    n_features = len(binning.levels)
    median = fields["median"].array("<f8", (n_features,), finite=False)
    is_category = binning.is_categorical.astype(bool)
    if np.isinf(median).any() or not np.array_equal(np.isnan(median), is_category):
        raise fields["median"].error("a number for each number, and NaN for each category")
    n_columns = [
        1 + bool(missing) if levels is None else len(levels)
        for levels, missing in zip(binning.levels, binning.has_missing, strict=True)
    ]
    feature = np.repeat(np.arange(n_features), n_columns)
    low, high = (fields[name].array("<f8", (len(feature),)) for name in ("low", "high"))
    if (low > high).any():
        raise fields["low"].error("lower ends that are not above the upper ones")
    two_valued = fields["two_valued"].array("|b1", (len(feature),))
    return Encoding(median, feature, Box(low, high, two_valued))


def pack_grid_trees(trees: list[SplitterTree]) -> dict[str, Any]:
    """Return concatenated trees, column by column. Each grid divides the box of the encoding."""
    splits = [split for tree in trees for split in tree.splits]
    for split in splits:
        if type(split.splitter) is not DyadicGrid:
            raise ValueError(
                f"Got cells that are split by {format_splitter(split.splitter)}, an object of "
                "Python; a model file holds trees split by LeafRank or DyadicGrid, and no "
                "code. Keep this model with pickle or skops."
            )
    cells = np.concatenate([tree.cells for tree in trees])
    return {
        "sizes": np.array([tree.n_cells for tree in trees], dtype="<i8"),
        "cells": {name: np.array(cells[name]) for name in CELL_COLUMNS},
        "counts": np.concatenate([tree.counts for tree in trees]),
        "grids": _pack_splits(splits, len(trees[0].encoding.feature)),
    }


def _pack_splits(splits: list[CellSplit], n_columns: int) -> dict[str, Any]:
    every = np.arange(n_columns)
    columns = [every if split.columns is None else split.columns for split in splits]
    grids = [split.splitter for split in splits]
    return {
        "resolution": np.array([grid.resolution for grid in grids], dtype="<i4"),
        "turned": np.array([split.turned for split in splits], dtype=bool),
        "elsewhere": np.array([grid.elsewhere_ for grid in grids], dtype=bool),
        "n_columns": np.array([len(chosen) for chosen in columns], dtype="<i8"),
        "columns": np.concatenate([every[:0], *columns]).astype("<i4"),
        "n_cubes": np.array([len(grid.cubes_) for grid in grids], dtype="<i8"),
        "cubes": np.concatenate([every[:0], *(grid.cubes_ for grid in grids)]).astype("<i8"),
        "is_better": np.concatenate([every[:0] > 0, *(grid.is_better_ for grid in grids)]),
    }


def unpack_grid_trees(node: Node, encoding: Encoding, n_classes: int) -> list[SplitterTree]:
    """Reverse of `pack_grid_trees`. Checks that each grid can number the cube of any row."""
    fields = node.fields("sizes", "cells", "counts", "grids")
    cells = read_records(fields["cells"], CELL, CELL_COLUMNS)
    cells["first_test"] = cells["last_test"] = -1
    sizes = _sizes(fields["sizes"], len(cells))
    counts = read_counts(fields["counts"], len(cells), n_classes)
    splits = _unpack_splits(fields["grids"], encoding)
    if len(sizes) < 1 or len(splits) != int((cells["left"] >= 0).sum()):
        raise node.error("a tree, and a grid for each cell that is split")
    trees, remaining = [], iter(splits)
    for cells_of, counts_of in zip(_parts(cells, sizes), _parts(counts, sizes), strict=True):
        check_cells(cells_of, n_classes, fields["cells"])
        own = list(islice(remaining, int((cells_of["left"] >= 0).sum())))
        trees.append(SplitterTree(cells_of, counts_of, own, encoding))
    return trees


def _sizes(node: Node, total: int, n: int | None = None) -> NDArray[np.int64]:
    """Sizes of concatenated parts."""
    sizes = node.array("<i8", (n,), low=1, high=2**40)
    if sum(sizes.tolist()) != total:
        raise node.error(f"sizes that add up to {total}")
    return sizes


def _parts(array: NDArray[Any], sizes: NDArray[np.int64]) -> list[NDArray[Any]]:
    return [part.copy() for part in np.split(array, np.cumsum(sizes)[:-1])] if len(sizes) else []


def _unpack_splits(node: Node, encoding: Encoding) -> list[CellSplit]:
    fields = node.fields(
        "resolution", "turned", "elsewhere", "n_columns", "columns", "n_cubes", "cubes", "is_better"
    )
    resolution = fields["resolution"].array("<i4", (None,), low=1)
    n = len(resolution)
    turned, elsewhere = (fields[name].array("|b1", (n,)) for name in ("turned", "elsewhere"))
    n_all = len(encoding.feature)
    columns = fields["columns"].array("<i4", (None,), low=0, high=n_all - 1)
    cubes = fields["cubes"].array("<i8", (None,), low=0)
    better = fields["is_better"].array("|b1", cubes.shape)
    columns_of = _parts(columns, _sizes(fields["n_columns"], len(columns), n))
    n_cubes = _sizes(fields["n_cubes"], len(cubes), n)
    cubes_of, better_of = _parts(cubes, n_cubes), _parts(better, n_cubes)
    splits = []
    for i in range(n):
        if not (np.diff(columns_of[i]) > 0).all() or not (np.diff(cubes_of[i]) > 0).all():
            raise ModelFileError(f"Got columns or cubes at {node.path} that do not ascend.")
        chosen = None if len(columns_of[i]) == n_all else columns_of[i].astype(np.intp)
        grid = _grid(
            int(resolution[i]), encoding.box if chosen is None else encoding.box.columns(chosen)
        )
        grid.cubes_, grid.is_better_, grid.elsewhere_ = (
            cubes_of[i],
            better_of[i],
            bool(elsewhere[i]),
        )
        splits.append(CellSplit(grid, chosen, bool(turned[i])))
    return splits


def _grid(resolution: int, box: Box) -> DyadicGrid:
    """Return the grid of a box; raise if a cube number does not fit into 63 bits."""
    grid = DyadicGrid(resolution)
    grid._box, grid._bits = box, grid._bits_of(box)
    return grid
